/**
 * The failure detector, a phi accrual detector: silence, measured by the usual distance between signs of life [BA-28].
 *
 * A sign of life is a delta, any delta, and nothing else [BA-23]. Times and intervals are integers of milliseconds.
 */

import { byBytes } from "./text.mjs";

const LN_10 = [10n ** 13n, 4342944819033n]; // a fraction, so that every machine comes to the same answer
const THOUSANDTHS = 1000n;

/**
 * Whether phi is above a threshold, given in thousandths: silence / mean / ln 10 > threshold / 1000, multiplied out. A mean
 * below one millisecond counts as one [BA-28].
 */
export function phiExceeds(threshold, silence, intervals) {
  const sum = intervals.reduce((total, interval) => total + interval, 0);
  const total = Math.max(sum, intervals.length);
  const [numerator, denominator] = LN_10;
  return BigInt(silence) * BigInt(intervals.length) * THOUSANDTHS * denominator > BigInt(threshold) * BigInt(total) * numerator;
}

export class Detector {
  #config;
  #windows = new Map(); // from an address to {status, last, intervals, digestSent}

  /** `config` is `{window, bootstrap, critical, down}`, or null for a detector that watches nobody. */
  constructor(config) {
    this.#config = config;
  }

  /** A peer is stored: its silence counts from now, its first sample is the bootstrap interval [BA-29]. */
  watch(addr, now) {
    if (this.#config !== null) {
      this.#windows.set(addr, { status: "up", last: now, intervals: [this.#config.bootstrap], digestSent: null });
    }
  }

  /** A digest, of either kind, was sent to this address [BA-23]. */
  digestSent(addr, now) {
    const window = this.#windows.get(addr);
    if (window !== undefined) {
      window.digestSent = now;
    }
  }

  /** A delta came from this address. Returns the round-trip time if it is the first one since a digest, or null [BA-30]. */
  heartbeat(addr, now) {
    const window = this.#windows.get(addr);
    if (window === undefined) {
      return null;
    }
    const roundTrip = window.digestSent === null ? null : now - window.digestSent;
    window.intervals = [...window.intervals, now - window.last].slice(-this.#config.window);
    window.last = now;
    window.digestSent = null;
    return roundTrip;
  }

  /** The peers whose silence is critical [B-19]. */
  critical(now) {
    return this.#silent(this.#config?.critical, now);
  }

  /** Sets the status of each peer; returns those whose status is another than before. Who is heard again comes up [B-20]. */
  judge(now) {
    const down = new Set(this.#silent(this.#config?.down, now));
    const turned = [];
    for (const [addr, window] of this.windows()) {
      const status = down.has(addr) ? "down" : "up";
      if (status !== window.status) {
        window.status = status;
        turned.push({ addr, status });
      }
    }
    return turned;
  }

  /** Who is not watched is up. */
  status(addr) {
    return this.#windows.get(addr)?.status ?? "up";
  }

  /** What is remembered of each peer, by address. */
  windows() {
    return [...this.#windows].sort(([one], [other]) => byBytes(one, other));
  }

  /** Puts back what `windows` gave. */
  restore(windows) {
    this.#windows = new Map(windows);
  }

  #silent(threshold, now) {
    const silent = this.windows().filter(([, { last, intervals }]) => phiExceeds(threshold, now - last, intervals));
    return silent.map(([addr]) => addr);
  }
}
