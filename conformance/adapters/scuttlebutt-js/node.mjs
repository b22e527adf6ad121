/**
 * A node: what happens to it comes in, what it does about it comes out.
 *
 * It has no socket, no clock and no dice. The time is an argument, in integers of milliseconds, chance is the function `pick`,
 * and each method returns what is to be done, in this order: `{send: {to, datagram}}` and `{event: {name, …}}`. Who is around
 * it (udp.mjs, plug.mjs) carries it out.
 */

import { MAX_TEXT, MAX_VERSION, TYPE_SIZE, decode, encode, entrySize } from "./codec.mjs";
import { delta } from "./delta.mjs";
import { Detector } from "./detector.mjs";
import { digest, lackingHere } from "./digest.mjs";
import { Store } from "./store.mjs";
import { byBytes } from "./text.mjs";

export const DEFAULTS = {
  seeds: [],
  interval: 1000, // milliseconds from round to round
  maxPayload: 1400, // bytes of a datagram, the type byte included [BA-05]
  detector: { window: 100, bootstrap: 2000, critical: 5000, down: 8000 },
};

/** An update that cannot be: the caller's fault; nothing has changed. `reason` is `too_large` or `overflow`. */
export class Refused extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

export class Node {
  #config;
  #pick;

  /**
   * A node that knows only itself, from now on. `pick(site, kind, options)` returns the options to take: with kind `one` a list
   * of one of them, with kind `permutation` all of them in a random order.
   */
  constructor(addr, config, now, pick) {
    this.addr = addr;
    this.#config = { ...DEFAULTS, ...config };
    this.#pick = pick;
    this.store = new Store(addr);
    this.detector = new Detector(this.#config.detector);
    this.roundDue = now + this.#config.interval; // the first comes one interval after the start [B-08]
  }

  /** Sets a pair of the node's own; the next digests tell. Throws Refused. */
  update(key, value) {
    const version = this.store.get(this.addr).version;
    const size = TYPE_SIZE + entrySize("delta", { addr: this.addr, key, value });
    if (key.length > MAX_TEXT || value.length > MAX_TEXT) {
      throw new Refused("too_large", `a key or value of more than ${MAX_TEXT} bytes cannot be sent`); // [BA-03]
    }
    if (size > this.#config.maxPayload) {
      throw new Refused("too_large", `the pair needs ${size} bytes, the limit is ${this.#config.maxPayload}`); // [BA-03]
    }
    if (version === MAX_VERSION) {
      throw new Refused("overflow", "there is no version after the last"); // [BA-19]
    }
    this.store.update(key, value);
  }

  /** It is now so late: does what is due, each round as at the time when it was. */
  advance(now) {
    const done = [];
    while (this.roundDue !== null && now >= this.roundDue) {
      const due = this.roundDue;
      this.roundDue = due + this.#config.interval;
      done.push(...this.#round(due));
    }
    return done;
  }

  /** A datagram came. Throws Malformed if it is no message; nothing has changed then [BA-20]. */
  receive(now, from, datagram) {
    const { type, entries } = decode(datagram);
    switch (type) {
      case "digest_request":
        return this.#onDigestRequest(now, from, entries);
      case "digest_response":
        return this.#onDigestResponse(now, from, entries);
      case "delta":
        return this.#onDelta(now, from, entries);
    }
  }

  /** Everybody of this round is asked, then the status of each peer is set [B-10, B-20]. */
  #round(now) {
    const requests = this.#targets(now).map((to) => {
      const addresses = this.#chosen("digest.order", "permutation", this.store.addresses()); // anew for each [B-22, BA-09]
      return this.#sendDigest(now, to, "digest_request", digest(this.store, addresses, this.#config.maxPayload));
    });
    const turned = this.detector.judge(now).map(({ addr, status }) => ({ event: { name: status, peer: addr } }));
    return [...requests, ...turned];
  }

  /** Partner, one unknown seed, critical peers; or all seeds if nobody is known [B-09, B-17, B-18, B-19, BA-24]. */
  #targets(now) {
    const others = this.store.others();
    const seeds = [...new Set(this.#config.seeds)].filter((seed) => !this.store.has(seed)).sort(byBytes);
    if (others.length === 0) {
      return seeds;
    }
    const partner = this.#chosen("round.partner", "one", others); // also one that is down: so it is found again [BA-25]
    const seed = this.#chosen("round.seed", "one", seeds);
    return [...partner, ...seed, ...this.detector.critical(now)]; // critical ones even if asked already [BA-31]
  }

  /** The delta first, even if it is empty; then, if there is something to ask for, a digest response [B-32, B-34, BA-32]. */
  #onDigestRequest(now, from, entries) {
    const answered = this.#answeredWithDelta(now, from, entries);
    const lacking = lackingHere(this.store, entries, this.#config.maxPayload);
    return lacking.length === 0 ? answered : [...answered, this.#sendDigest(now, from, "digest_response", lacking)];
  }

  /** Treated like a request, but answered with no digest of any kind [B-16, B-39, BA-21]. */
  #onDigestResponse(now, from, entries) {
    return this.#answeredWithDelta(now, from, entries);
  }

  /** The answer goes to where the digest came from, which does not become a known peer by that [BA-22]. */
  #answeredWithDelta(now, from, entries) {
    const joined = this.#learned(now, entries);
    return [...joined, send(from, "delta", delta(this.store, entries, this.#config.maxPayload))];
  }

  /** A sign of life of its sender, whatever is in it, and news of others [B-33, B-36, BA-23]. */
  #onDelta(now, from, entries) {
    const roundTrip = this.detector.heartbeat(from, now);
    const updates = entries.filter((entry) => this.store.merge(entry)); // told only of what changed [BA-26]
    return [
      { event: { name: "heartbeat", peer: from, round_trip: roundTrip } },
      ...updates.map(({ addr, key, value, version }) => ({ event: { name: "update", peer: addr, key, value, version } })),
    ];
  }

  /** Stores the peers of a digest that were not known [B-11]. */
  #learned(now, entries) {
    const joined = [];
    for (const { addr } of entries) {
      if (!this.store.has(addr)) {
        this.store.learn(addr);
        this.detector.watch(addr, now);
        joined.push({ event: { name: "join", peer: addr } });
      }
    }
    return joined;
  }

  #sendDigest(now, to, type, entries) {
    this.detector.digestSent(to, now);
    return send(to, type, entries);
  }

  /** Where there is no choice, chance is not asked. */
  #chosen(site, kind, options) {
    return options.length > 1 ? this.#pick(site, kind, options) : options;
  }
}

const send = (to, type, entries) => ({ send: { to, datagram: encode({ type, entries }) } });
