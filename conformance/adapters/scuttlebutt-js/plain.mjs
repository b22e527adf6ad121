/**
 * Plain forms: how messages, states and events look in the JSON of the adapter protocol.
 *
 * A version is a string of decimal digits, a text a string or, if its bytes are not UTF-8, `{"hex": …}`.
 */

import { DEFAULTS } from "./node.mjs";
import { byBytes, bytesOf, fromApplication, textOf, toApplication } from "./text.mjs";

/** What was asked is impossible; `code` is that of the adapter protocol. */
export class BadRequest extends Error {
  code = "bad_request";
}

export const textToPlain = (text) => toApplication(text) ?? { hex: bytesOf(text).toString("hex") };

export function textFromPlain(plain) {
  if (typeof plain === "string") {
    return fromApplication(plain);
  }
  return textOf(bytesFromPlain(plain?.hex));
}

function bytesFromPlain(digits) {
  if (typeof digits !== "string" || !/^([0-9a-f]{2})*$/.test(digits)) {
    throw new BadRequest(`expected pairs of hexadecimal digits: ${JSON.stringify(digits)}`);
  }
  return Buffer.from(digits, "hex");
}

function versionFromPlain(plain) {
  if (!/^\d+$/.test(plain)) {
    throw new BadRequest(`expected a version: ${JSON.stringify(plain)}`);
  }
  return BigInt(plain);
}

/** An object with the members that name texts, and its version, converted; all others stay. */
const converted = (members, text, version) =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => {
      if (name === "version") return [name, version(value)];
      return [name, TEXTS.has(name) ? text(value) : value];
    }),
  );
const TEXTS = new Set(["addr", "peer", "key", "value"]);

export const entryToPlain = (entry) => converted(entry, textToPlain, String);
export const entryFromPlain = (plain) => converted(plain, textFromPlain, versionFromPlain);

/** An effect of a node, on its way to the runner. */
export function effectToPlain({ send, event }) {
  return event ? { event: entryToPlain(event) } : { send: { to: textToPlain(send.to), bytes: send.datagram } };
}

/** The configuration of a node; what is left out is as in DEFAULTS. */
export function configFromPlain({ seeds, interval, max_payload: maxPayload, detector }) {
  return {
    seeds: (seeds ?? DEFAULTS.seeds).map(textFromPlain),
    interval: interval ?? DEFAULTS.interval,
    maxPayload: maxPayload ?? DEFAULTS.maxPayload,
    detector: detector === null ? null : { ...DEFAULTS.detector, ...detector },
  };
}

// ---- what can be asked of a node -------------------------------------------------------------------------------------

export const peers = (node) => node.store.addresses().map(textToPlain);

export const status = (node) =>
  node.store.others().map((addr) => ({ addr: textToPlain(addr), status: node.detector.status(addr) }));

export function view(node) {
  const pairs = (record) => [...record.pairs.values()].sort((one, other) => byBytes(one.key, other.key));
  const records = node.store.addresses().map((addr) => node.store.get(addr));
  return records.map((record) => ({ ...entryToPlain(record), pairs: pairs(record).map(entryToPlain) }));
}

/** All that a node knows; `restore` puts it back. */
export function state(node) {
  const liveness = node.detector.windows().map(([addr, { status, last, intervals, digestSent }]) => {
    return { addr: textToPlain(addr), status, last, intervals, digest_sent: digestSent };
  });
  return { store: view(node), ...(liveness.length > 0 && { liveness }) };
}

/** Puts a fresh node into a state, with these timers and no others. */
export function restore(node, { store, liveness = [] }, timers) {
  for (const { addr, version, pairs } of store.map(entryFromPlain)) {
    node.store.learn(addr);
    const known = pairs.map(entryFromPlain).map((pair) => [pair.key, pair]);
    Object.assign(node.store.get(addr), { version, pairs: new Map(known) });
  }
  node.detector.restore(
    liveness.map(({ addr, status, last, intervals, digest_sent: digestSent }) => {
      return [textFromPlain(addr), { status, last, intervals, digestSent }];
    }),
  );
  node.roundDue = timers.find(({ timer }) => timer.type === "round")?.due_ms ?? null;
}
