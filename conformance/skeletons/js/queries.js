/** 3. Queries: what can be seen of a node, from outside. Looking changes nothing. */

import { NotWritten } from "./errors.js";

/** What of this is claimed: add "observe.NAME" for each query that is answered. */
export const CAPABILITIES = [];

/**
 * The answer in plain form: objects, lists, strings, numbers.
 *
 * @param {import("./events.js").Node} node
 * @param {string} what
 * @param {object} args
 */
export function answer(node, what, args) {
  throw new NotWritten(`there is no query ${what} yet`);
}
