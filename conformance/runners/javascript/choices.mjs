import { blake2b } from "./blake2b.mjs";
import { canonical, isObject, same } from "./matching.mjs";

/** A value in the notation in which outcomes with options are hashed: texts in single quotes. */
function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (isObject(value)) return `{${Object.entries(value).map((pair) => pair.map(literal).join(": ")).join(", ")}}`;
  return typeof value === "string" ? `'${value}'` : String(value);
}

const bytesOf = (text) => (isObject(text) ? Buffer.from(text.hex, "hex") : Buffer.from(text, "utf8"));
const compare = (one, other) => (typeof one === "number" ? one - other : Buffer.compare(bytesOf(one), bytesOf(other)));

/** The options of a question: each once, numbers by their size, texts in plain form by their bytes. */
export const ordered = (options) => [...new Map(options.map((one) => [canonical(one), one])).values()].sort(compare);

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

  /** Returns `some` of the different options, the very values: all for a permutation, one for `one`. */
  choose = (site, kind, among, wanted) => {
    const options = ordered(among);
    if (options.length < 2) return options;
    const some = { one: 1, sample: wanted }[kind] ?? options.length;
    const n = this.#count.get(site) ?? 0;
    this.#count.set(site, n + 1);
    const at = this.#script.findIndex((answer) => answer.site === site);
    if (at >= 0) {
      const [{ pick }] = this.#script.splice(at, 1);
      const picked = pick.map((one) => options.find((option) => same(option, one)));
      if (picked.length === some && !picked.includes(undefined)) return picked;
      this.wrong ??= `asked at ${site} for ${some} of ${literal(options)}, where the vector answers ${literal(pick)}`;
    }
    const weighed = options.map((option, index) => ({ option, weight: blake2b(`${this.seed}/${site}/${n}/${index}`, 8) }));
    weighed.sort((one, other) => (one.weight < other.weight ? -1 : 1));
    return weighed.slice(0, some).map(({ option }) => option);
  };
}
