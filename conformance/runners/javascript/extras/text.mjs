/** Results as text. */

import { fits } from "../matching.mjs";

const MOST_LINES = 20; // of a stack trace
const MOST_INPUT = 400; // characters of what the codec is asked about
export const MOST_EVENTS = 20; // the last ones
const MOST_DIGITS = 60; // of the bytes of a message

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a result makes a test fail: the document's own words are violated, or a list of expected failures is out of date. */
export const isViolation = ({ status }) => ["failed", "crashed", "hung", "flooded", "stale"].includes(status);

/** A result as text: what is expected, the clauses behind it, the first difference, what happened, and where to read on. */
export function describe(bundle, { status, failure, decisions, difference, reason, input, happened = [], vector }) {
  const rests = decisions.length > 0 ? decisions : vector.clauses;
  const known = rests.filter((name) => bundle.clauses[name]);
  return [
    `${status}: ${vector.title}`,
    ...known.flatMap((name) => {
      const { level, text, read } = bundle.clauses[name];
      return [`  ${name} ${level}: ${text}`, `    in ${read}`];
    }),
    ...(reason ? [`  ${reason}`] : []),
    ...(input && difference ? [`  input: ${shorten(input, MOST_INPUT, (all) => ` (${all} characters)`)}`] : []),
    ...(difference ? [`  first difference (${failure}): ${difference.where}${offsetOf(difference)}`, ...sides(difference)] : []),
    ...(difference ? linesOf(happened) : []),
    `  read on: peerproof explain ${rests[0]}; peerproof vectors show ${vector.id}`,
  ].join("\n");
}

/** The first byte that differs. */
function offsetOf({ where, expected, actual }) {
  if (!/(^|\.)bytes$/.test(where) || typeof expected !== "string" || typeof actual !== "string") return "";
  let at = 0;
  while (at < expected.length && expected.slice(at, at + 2) === actual.slice(at, at + 2)) at += 2;
  return `, from byte ${at / 2}`;
}

/** Both sides of a difference; the stack of a crash, and the list whose order alone differs. */
function sides({ where, expected, actual, compared }) {
  const [first, ...stack] = where.startsWith("reply to ") && typeof actual === "string" ? actual.split("\n") : [actual];
  const trace = stack.length > 0 ? ["  stack", ...stack.slice(0, MOST_LINES).map((line) => `    ${line.trim()}`)] : [];
  const reordered = compared && findReordered(compared.expected, compared.actual, compared.where);
  const order = reordered ? [`    ${reordered}: the same items in another order`] : [];
  return [`    expected  ${asJson(expected)}`, `    actual    ${asJson(first)}`, ...order, ...trace];
}

/** The place of the first list that has the expected items in another order; undefined if there is none. */
function findReordered(expected, actual, where) {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (!fits(expected, actual) && fits({ multiset: expected }, actual)) return where;
    return expected.map((item, at) => findReordered(item, actual[at], `${where}[${at}]`)).find(Boolean);
  }
  if (!isObject(expected) || !isObject(actual)) return undefined;
  const members = Object.keys(expected).map((name) => findReordered(expected[name], actual[name], where ? `${where}.${name}` : name));
  return members.find(Boolean);
}

/** The lines about the last events. */
function linesOf(events) {
  if (events.length === 0) return [];
  const isAll = events.length <= MOST_EVENTS;
  return [
    `  what happened${isAll ? "" : ` (the last ${MOST_EVENTS} of ${events.length} events)`}`,
    ...events.slice(-MOST_EVENTS).map(({ at, node, what, digits, type }) => {
      const shown = digits ? `  ${cut(digits)}` : "";
      return `    ${String(at).padStart(6)} ms  ${node} ${what}${shown}${type ? `  (${type})` : ""}`;
    }),
  ];
}

/** The beginning of long digits. */
export const cut = (digits) => shorten(digits, MOST_DIGITS);

/** The beginning of a long text. */
function shorten(text, most, note = () => "") {
  const characters = [...text];
  return characters.length > most ? `${characters.slice(0, most).join("")}…${note(characters.length)}` : text;
}

/** A value as JSON in one line: members in their order, ASCII only. */
export function asJson(value) {
  if (Array.isArray(value)) return `[${value.map(asJson).join(", ")}]`;
  if (isObject(value)) return `{${Object.entries(value).map((member) => member.map(asJson).join(": ")).join(", ")}}`;
  return typeof value === "string" ? ascii(value) : String(value ?? null);
}

const ascii = (text) =>
  JSON.stringify(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** An address without quotes. */
export const word = (addr) => (typeof addr === "string" ? addr : asJson(addr));
