import { blake2b } from "./blake2b.mjs";
import { isObject, same } from "./matching.mjs";

/** A value in the notation in which outcomes with options are hashed: texts in single quotes. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (isObject(value)) return `{${Object.entries(value).map((pair) => pair.map(literal).join(": ")).join(", ")}}`;
  return typeof value === "string" ? `'${value}'` : String(value);
}

/** Answers to random choices: those of the vector, else of a stream that depends on the seed, the site and their number. */
export class Choices {
  #count = new Map();
  #script = [];
  wrong = null; // the first question that the vector answers otherwise

  constructor(seed) {
    this.seed = seed;
  }

  script(picks = []) {
    this.#script = [...picks];
  }

  /** Returns `some` of the options, the very values: all for a permutation, one for `one`. */
  choose = (site, kind, options, some = kind === "one" ? 1 : options.length) => {
    const n = this.#count.get(site) ?? 0;
    this.#count.set(site, n + 1);
    const at = this.#script.findIndex((answer) => answer.site === site);
    if (at >= 0) {
      const [{ pick }] = this.#script.splice(at, 1);
      const picked = pick.map((one) => options.find((option) => same(option, one)));
      if (picked.length === some && !picked.includes(undefined)) return picked;
      this.wrong ??= `asked at ${site} for ${some} of ${literal(options)}, where the vector answers ${literal(pick)}`;
    }
    if (options.length === 1) return options;
    const weighed = options.map((option, index) => ({ option, weight: blake2b(`${this.seed}/${site}/${n}/${index}`, 8) }));
    weighed.sort((one, other) => (one.weight < other.weight ? -1 : 1));
    return weighed.slice(0, some).map(({ option }) => option);
  };
}
