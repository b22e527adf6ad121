/**
 * Payloads: of one value there is one form [SA-66].
 *
 * In a payload (`settled`) keys are strings in Transit's writing, a map with arrays or maps for keys is a `~#cmap`, and a float
 * without a fraction is an integer.
 */

import { refuse } from "./malformed.mjs";
import { Keyed, MAX_DEPTH, Tagged, isComposite, valueOfArray, valueOfMap, valueOfText } from "./values.mjs";

const EXACT = 2 ** 53; // from here on a float does not say which integer it is
const OUTERMOST = 3; // a payload is in a vector, and that in a message

/** The payload of what was read, which must be a map, and one that can be written again [SA-64, SA-65]. */
export function settled(data) {
  if (!(data instanceof Keyed) || data.entries.some(([key]) => isComposite(key))) {
    refuse("bad_value", "a payload is a map, and its keys are neither arrays nor maps");
  }
  if (data.reaches > MAX_DEPTH) {
    refuse("too_large", `arrays and maps nest at most ${MAX_DEPTH} deep`);
  }
  return settledValue(data);
}

function settledValue(value) {
  if (typeof value === "number") return settledFloat(value);
  if (Array.isArray(value)) return value.map(settledValue);
  if (value instanceof Tagged) return new Tagged(value.tag, settledValue(value.value));
  return value instanceof Keyed ? settledMap(value.entries) : value;
}

function settledFloat(value) {
  if (Number.isNaN(value)) return "~zNaN";
  if (!Number.isFinite(value)) return value > 0 ? "~zINF" : "~z-INF";
  return Number.isInteger(value) && Math.abs(value) < EXACT ? BigInt(value) : value;
}

function settledMap(entries) {
  const pairs = entries.map((pair) => pair.map(settledValue));
  if (pairs.some(([key]) => isComposite(key))) {
    return new Tagged("~#cmap", pairs.flat());
  }
  const keyed = new Keyed(pairs.map(([key, value]) => [keyText(key), value]));
  if (new Set(keyed.entries.map(([key]) => key)).size < pairs.length) {
    refuse("bad_value", "a key stands twice in a map");
  }
  return keyed;
}

/** A key as a string. */
function keyText(key) {
  if (key === null) return "~_";
  if (typeof key === "boolean") return key ? "~?t" : "~?f";
  if (typeof key === "bigint") return integerText(key);
  return typeof key === "number" ? `~d${floatText(key)}` : key;
}

/** The fewest digits that name a float; with an exponent if it is very large or small, and with a point otherwise. */
function floatText(value) {
  const [, digits, sign, exponent] = /^(.+)e([-+])(.+)$/.exec(value.toExponential());
  if (sign === "+" ? exponent >= 16 : exponent > 4) {
    return `${digits}e${sign}${exponent.padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

const integerText = (value) => (BigInt.asIntN(64, value) === value ? `~i${value}` : `~n${value}`);

// ---- Transit's verbose JSON ------------------------------------------------------------------------------------------

/** The JSON of a payload, or of a value in one. */
export function toJson(value) {
  if (typeof value === "bigint") {
    return Number.isSafeInteger(Number(value)) ? Number(value) : integerText(value);
  }
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Tagged) return { [value.tag]: toJson(value.value) };
  return value instanceof Keyed ? Object.fromEntries(value.entries.map(([key, item]) => [key, toJson(item)])) : value;
}

/** The payload of JSON. `entriesOf` gives the members of an object in the order of the text, which is that of the bytes. */
export function fromJson(json, entriesOf) {
  function value(json, level) {
    if (typeof json === "string") return valueOfText(json);
    if (Number.isSafeInteger(json)) return BigInt(json);
    if (typeof json === "bigint") return Number(json); // from 2^53 on an integer is a string, and this a float
    if (!isComposite(json)) return json;
    if (level > MAX_DEPTH) {
      refuse("too_large", `arrays and maps nest at most ${MAX_DEPTH} deep`);
    }
    if (Array.isArray(json)) return valueOfArray(json.map((item) => value(item, level + 1)));
    return valueOfMap(entriesOf(json).map(([key, item]) => [valueOfText(key), value(item, level + 1)]));
  }
  return settled(value(json, OUTERMOST));
}
