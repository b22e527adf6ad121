/**
 * What Transit says, from bytes or from its verbose JSON form: one JavaScript value for each, whichever way it was written.
 *
 * | Transit | here |
 * | --- | --- |
 * | nil, booleans | null, true, false |
 * | integers of 64 bits | BigInt, since numbers lose what is above 2^53 |
 * | floats | numbers, also without a fraction: a counter is none [SA-64] |
 * | strings, keywords, uuids, larger integers, all else | strings in Transit's writing: `a`, `~~a`, `~:k`, `~u…` in small letters |
 * | arrays, lists | arrays |
 * | maps | Keyed |
 * | other tags | Tagged |
 */

import { refuse } from "./malformed.mjs";

/** A map: [key, value] pairs in their order. */
export class Keyed {
  constructor(entries) {
    this.entries = entries;
  }
}

/** A value under a tag such as `~#set`. */
export class Tagged {
  constructor(tag, value) {
    this.tag = tag;
    this.value = value;
  }
}

export const MAX_DEPTH = 64; // of arrays and maps in each other, the message among them [SA-65]

const MOST_DIGITS = 20; // of an integer of 64 bits

export const isTag = (value) => typeof value === "string" && value.startsWith("~#");
export const isUuid = (value) => typeof value === "string" && value.startsWith("~u");
export const isComposite = (value) => typeof value === "object" && value !== null;
export const isOf64Bits = (value) => typeof value === "bigint" && value >= -(2n ** 63n) && value < 2n ** 64n; // signed or not

// ---- strings: the table "The forms of Transit" -----------------------------------------------------------------------

const itself = (text) => text;
const float = (text) => (/^~d-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(text) ? Number(text.slice(2)) : undefined);
const UUID = /^~u[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const oneOf = (values) => (text) => values.get(text);

/** Beyond 64 bits it stays a string. */
function integer(text) {
  const [, digits] = /^~.-?([0-9]+)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return digits.length <= MOST_DIGITS && isOf64Bits(BigInt(text.slice(2))) ? BigInt(text.slice(2)) : text;
}

/** By the character behind the tilde; undefined where there is no such form. */
const FORMS = new Map([
  ["_", oneOf(new Map([["~_", null]]))],
  ["?", oneOf(new Map([["~?t", true], ["~?f", false]]))],
  ["i", integer],
  ["n", integer],
  ["d", float],
  ["u", (text) => (UUID.test(text.toLowerCase()) ? text.toLowerCase() : undefined)],
  ...[..."~^`", ..."#:$", ..."bcfmrtz"].map((form) => [form, itself]),
]);

/** The value of a string. */
export function valueOfText(text) {
  if (/^[`^]/.test(text)) {
    refuse("bad_value", `a string would have an escape: ${text}`);
  }
  const value = text.startsWith("~") ? FORMS.get(text[1])?.(text) : text;
  return value === undefined ? refuse("bad_value", `Transit has no such form: ${text}`) : value;
}

/** The string that Transit writes for a string of an application [SA-61], and back: null if the value is something else. */
export const escaped = (text) => (/^[~^`]/.test(text) ? `~${text}` : text);

export function unescaped(value) {
  if (typeof value !== "string" || (value.startsWith("~") && !/^[~^`]/.test(value.slice(1)))) {
    return null;
  }
  return value.startsWith("~") ? value.slice(1) : value;
}

// ---- what has a tag --------------------------------------------------------------------------------------------------

/** The value of an array of these items; in front of one other item, a tag makes something else of it. */
export const valueOfArray = (items) =>
  items.length === 2 && isTag(items[0]) ? valueOfTag(items[0], items[1]) : items;

/** The value of a map; one whose only key is a tag is written so for the same. */
export const valueOfMap = (entries) =>
  entries.length === 1 && isTag(entries[0][0]) ? valueOfTag(...entries[0]) : new Keyed(entries);

function valueOfTag(tag, value) {
  if (tag === "~#u") {
    return valueOfHalves(value);
  }
  return tag === "~#list" && Array.isArray(value) ? value : new Tagged(tag, value);
}

function valueOfHalves(halves) {
  if (!Array.isArray(halves) || halves.length !== 2 || !halves.every(isOf64Bits)) {
    refuse("bad_value", "the tag of a uuid wants two integers of 64 bits");
  }
  const digits = halves.map((half) => BigInt.asUintN(64, half).toString(16).padStart(16, "0")).join("");
  return `~u${digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")}`;
}

/** The halves of a uuid, signed [SA-61]. */
export function halvesOf(uuid) {
  const digits = uuid.slice(2).replaceAll("-", "");
  return [digits.slice(0, 16), digits.slice(16)].map((half) => BigInt.asIntN(64, BigInt(`0x${half}`)));
}
