/** What happened in a case, for the text of its failure. */

import { ascii, isObject } from "./matching.mjs";

const MOST_EVENTS = 20; // the last ones
const MOST_DIGITS = 60; // of the bytes of a message

/** A value as JSON in one line: members in their order, ASCII only. */
export function asJson(value) {
  if (Array.isArray(value)) return `[${value.map(asJson).join(", ")}]`;
  if (isObject(value)) return `{${Object.entries(value).map((member) => member.map(asJson).join(": ")).join(", ")}}`;
  return typeof value === "string" ? ascii(value) : String(value ?? null);
}

/** An address without quotes. */
export const word = (addr) => (typeof addr === "string" ? addr : asJson(addr));

/** The beginning of long digits. */
export const cut = (digits) => (digits.length > MOST_DIGITS ? `${digits.slice(0, MOST_DIGITS)}…` : digits);

/** The lines about the last events. `kindOf` gives the type of a message, or null if that cannot be known. */
export function linesOf(events, kindOf) {
  if (events.length === 0) return [];
  const isAll = events.length <= MOST_EVENTS;
  return [
    `  what happened${isAll ? "" : ` (the last ${MOST_EVENTS} of ${events.length} events)`}`,
    ...events.slice(-MOST_EVENTS).map(({ at, node, what, digits }) => {
      const line = `    ${String(at).padStart(6)} ms  ${node}`;
      if (digits === undefined) return `${line}  ${what}`;
      const kind = digits && kindOf(digits);
      return `${line} ${what}${digits && `  ${cut(digits)}`}${kind ? `  (${kind})` : ""}`;
    }),
  ];
}
