/** Plain forms: how messages look in the JSON of the adapter protocol (docs/reference/messages.md). */

import { entriesOf } from "./json.mjs";
import { refuse } from "./malformed.mjs";
import * as payload from "./payload.mjs";

const COUNTERS = new Set(["restart", "tx", "target_tx", "probe_tx", "restart_counter", "tx_counter"]);

/** The plain form of a message. */
export function toPlain(message) {
  return converted(message, String, payload.toJson);
}

/** The message of a plain form, which keeps the order of its members if `json.parse` has made it. */
export function fromPlain(plain) {
  return converted(plain, counterFromPlain, (data) => payload.fromJson(data, entriesOf));
}

/** The same with its counters and payloads converted. */
function converted(record, counter, data) {
  if (Array.isArray(record)) {
    return record.map((item) => converted(item, counter, data));
  }
  if (typeof record !== "object" || record === null) {
    return record;
  }
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      if (name === "data") return [name, data(value)];
      return [name, COUNTERS.has(name) ? counter(value) : converted(value, counter, data)];
    }),
  );
}

function counterFromPlain(plain) {
  const digits = String(plain?.u64 ?? plain);
  return /^-?[0-9]+$/.test(digits) ? BigInt(digits) : refuse("bad_value", `this is no counter: ${digits.slice(0, 80)}`);
}
