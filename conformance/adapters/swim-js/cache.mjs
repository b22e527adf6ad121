/** The cache of strings that a datagram begins anew [SA-62]. */

const [DIGITS, ZERO] = [44, 48]; // of an index, and the character of the first
const LIMIT = DIGITS * DIGITS;
const SHORTEST = 4; // characters, not bytes, and not halves of one

/** Whether a string takes a place. */
function isCached(text, isKey) {
  const beginning = text.slice(0, 2 * SHORTEST); // as many characters have no more units of UTF-16
  return (isKey || /^~[:$#]/.test(text)) && [...beginning].length >= SHORTEST;
}

const digit = (index) => String.fromCharCode(ZERO + index);
const codeOf = (index) => `^${index < DIGITS ? "" : digit(Math.floor(index / DIGITS))}${digit(index % DIGITS)}`;

/** Of a writer. */
export class Written {
  #codes = new Map();

  /** What is to be written for a string: itself the first time. */
  shortened(text, isKey) {
    if (!isCached(text, isKey)) {
      return text;
    }
    const code = this.#codes.get(text);
    if (code === undefined) {
      if (this.#codes.size === LIMIT) this.#codes.clear();
      this.#codes.set(text, codeOf(this.#codes.size));
    }
    return code ?? text;
  }
}

/** Of a reader. */
export class Read {
  #texts = new Map(); // by their codes

  /** What was written, or undefined for a code that stands for nothing. */
  full(text, isKey) {
    if (text.startsWith("^")) {
      return this.#texts.get(text);
    }
    if (isCached(text, isKey)) {
      if (this.#texts.size === LIMIT) this.#texts.clear();
      this.#texts.set(codeOf(this.#texts.size), text);
    }
    return text;
  }
}
