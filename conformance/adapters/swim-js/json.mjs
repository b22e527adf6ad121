/**
 * JSON, with what `JSON.parse` forgets.
 *
 * - The order of an object's members, which is that of a payload's bytes [SA-61]: JavaScript puts members that look like small
 *   integers before all others.
 * - The last digits of an integer from 2^53 on, as in a counter.
 */

const orders = new WeakMap();

/** The [name, value] pairs of an object, in the order of the text if `parse` has made it. */
export const entriesOf = (object) => orders.get(object) ?? Object.entries(object);

/** The same as `JSON.parse`; an integer that a number cannot hold is a BigInt. */
export function parse(text) {
  let at = 0;

  function next() {
    while (" \t\r\n".includes(text[at] ?? "end")) at += 1;
    return text[at];
  }

  function skip(character) {
    if (next() !== character) {
      throw new SyntaxError(`expected ${character} at ${at} of the JSON`);
    }
    at += 1;
  }

  /** A string, a number, or a word. */
  function scalar() {
    const begin = at;
    if (text[at] === '"') {
      do at = text.indexOf('"', at + 1);
      while (at !== -1 && isEscaped(text, at));
      at = at === -1 ? text.length : at + 1;
    } else {
      while (/[-+.\w]/.test(text[at] ?? "")) at += 1;
    }
    const token = text.slice(begin, at);
    const value = JSON.parse(token);
    return /^-?[0-9]+$/.test(token) && !Number.isSafeInteger(value) ? BigInt(token) : value;
  }

  /** What is between two brackets, with commas. */
  function list(open, close, item) {
    const items = [];
    skip(open);
    while (next() !== close) {
      if (items.length > 0) skip(",");
      items.push(item());
    }
    skip(close);
    return items;
  }

  function member() {
    next();
    const name = scalar();
    skip(":");
    return [name, value()];
  }

  function value() {
    if (next() === "[") return list("[", "]", value);
    if (next() !== "{") return scalar();
    const entries = list("{", "}", member);
    const object = Object.fromEntries(entries);
    orders.set(object, entries);
    return object;
  }

  const result = value();
  if (next() !== undefined) {
    throw new SyntaxError(`something follows the JSON at ${at}`);
  }
  return result;
}

/** Whether an odd number of backslashes stands in front. */
function isEscaped(text, at) {
  let before = at;
  while (text[before - 1] === "\\") before -= 1;
  return (at - before) % 2 === 1;
}
