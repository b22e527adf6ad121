/**
 * 4. Chance: where the protocol says "at random", the runner may choose.
 *
 * Let your implementation call `choices.pick` where it calls Math.random; then CHOICES is "oracle", and vectors that fix a draw
 * apply too.
 */

import { NotWritten } from "./errors.js";
import { readLine, writeLine } from "./lines.js";

/** "oracle" if the implementation asks for every draw, "set" if it draws for itself. */
export const CHOICES = "set";

/** Asks the runner in the middle of a request. */
export class Choices {
  #request = null;
  #asked = 0;

  /** Questions are now about the request with this id. */
  begin(request) {
    this.#request = request;
    this.#asked = 0;
  }

  /**
   * Some different options, texts or numbers, in the order to use them in.
   *
   * @param {string} site a name of the protocol's
   * @param {Iterable<string | number>} among
   * @param {number} some
   */
  pick(site, among, some = 1) {
    if (CHOICES !== "oracle") throw new NotWritten('choices.js: CHOICES is not "oracle"');
    const of = [...among].sort(byBytes);
    if (of.length < 2) return of;
    this.#asked += 1;
    const all = some >= of.length;
    const how = some === 1 ? { kind: "one" } : all ? { kind: "permutation" } : { kind: "sample", some };
    writeLine({ choice: { for: this.#request, n: this.#asked, site, of, ...how } });
    return JSON.parse(readLine()).choice.pick.map((index) => of[index]);
  }
}

/** Numbers by size; texts by their bytes, which is not how JavaScript compares them. */
function byBytes(one, other) {
  return typeof one === "number" ? one - other : Buffer.compare(Buffer.from(one), Buffer.from(other));
}
