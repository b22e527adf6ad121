/**
 * 4. Random choices: where the protocol says "at random", the runner can choose.
 *
 * Let your implementation call `choices.pick` where it calls Math.random, and set CHOICES to "oracle". Then vectors that fix a
 * choice apply too.
 */

import { NotWritten } from "./errors.js";
import { readLine, writeLine } from "./lines.js";

/** "set" if the implementation makes its own random choices, "oracle" if it calls `choices.pick` for every one. */
export const CHOICES = "set";

/** Asks the runner for random choices in the middle of a request. */
export class Choices {
  #request = null;
  #asked = 0;

  /** Starts a request: the questions that follow carry its id. */
  begin(request) {
    this.#request = request;
    this.#asked = 0;
  }

  /**
   * Returns some of the options, in the order in which to use them. They are all numbers, or all texts; a text whose bytes are
   * not UTF-8 is a Uint8Array.
   *
   * @param {string} site the protocol's name for this choice
   * @param {Iterable<string | Uint8Array | number>} among
   * @param {number} some
   */
  pick(site, among, some = 1) {
    if (CHOICES !== "oracle") throw new NotWritten('choices.js: CHOICES is not "oracle"');
    const options = [...among].sort(byBytes);
    if (options.length < 2) return options;
    this.#asked += 1;
    const all = some >= options.length;
    const how = some === 1 ? { kind: "one" } : all ? { kind: "permutation" } : { kind: "sample", some };
    writeLine({ choice: { for: this.#request, n: this.#asked, site, of: options.map(plain), ...how } });
    return JSON.parse(readLine()).choice.pick.map((index) => options[index]);
  }
}

/** Compares numbers by size and texts by their bytes, which is not how JavaScript compares strings. */
function byBytes(one, other) {
  return typeof one === "number" ? one - other : Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Returns an option in plain form: a text whose bytes are not UTF-8 as {"hex": "fffe"}. */
function plain(option) {
  if (!(option instanceof Uint8Array)) return option;
  const bytes = Buffer.from(option);
  const text = bytes.toString("utf8");
  return bytes.equals(Buffer.from(text)) ? text : { hex: bytes.toString("hex") };
}
