/** 3. Queries: what can be seen of a node from outside. A query changes nothing. */

import { NotWritten } from "./errors.js";

/** The capabilities of this file. Add "observe.NAME" for each query that `answer` knows. */
export const CAPABILITIES = [];

/**
 * Returns the answer in plain form: objects, lists, strings, numbers.
 *
 * @param {import("./events.js").Node} node
 * @param {string} what
 * @param {object} args
 */
export function answer(node, what, args) {
  throw new NotWritten(`there is no query ${what} yet`);
}
