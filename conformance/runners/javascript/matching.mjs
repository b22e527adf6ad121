/** Plain data against an expectation: the matchers of bundles, and the first difference (docs/reference/bundle.md). */

const NOTHING = Symbol("nothing"); // stands for a member that is not there

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

/** The text of JSON with sorted members and without other characters than ASCII: equal for equal data, and what is hashed. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(", ")}]`;
  if (isObject(value)) {
    const members = Object.keys(value).sort().map((name) => `${canonical(name)}: ${canonical(value[name])}`);
    return `{${members.join(", ")}}`;
  }
  return typeof value === "string" ? ascii(value) : String(value);
}

/** A text in JSON without other characters than ASCII. */
export const ascii = (text) =>
  JSON.stringify(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const same = (one, other) => canonical(one) === canonical(other);

/** The integer of a number, or of up to 20 decimal digits; null if it is none. */
function integer(value) {
  if (isNumber(value)) return typeof value === "bigint" || Number.isInteger(value) ? BigInt(value) : null;
  return typeof value === "string" && /^[0-9]{1,20}$/.test(value) ? BigInt(value) : null;
}

/** Whether literals are equal; an integer also equals the text of its digits, which is how plain data holds 64 bits. */
function equal(expected, actual) {
  if (isNumber(expected)) return (isNumber(actual) || typeof actual === "string") && String(expected) === String(actual);
  return expected === actual;
}

const MATCHERS = {
  *any(_, actual, bound) {
    if (actual !== NOTHING) yield bound;
  },
  *between([low, high], actual, bound) {
    const number = integer(actual);
    if (number !== null && BigInt(low) <= number && number <= BigInt(high)) yield bound;
  },
  *multiset(expected, actual, bound) {
    if (Array.isArray(actual) && actual.length === expected.length) yield* pairings(expected, actual, bound);
  },
  *contains(expected, actual, bound) {
    if (isObject(expected)) {
      if (isObject(actual)) yield* members(expected, selected(expected, actual), bound);
    } else if (Array.isArray(actual) && actual.length >= expected.length) yield* pairings(expected, actual, bound);
  },
  *one_of(expected, actual, bound) {
    for (const wanted of expected) yield* bindings(wanted, actual, bound);
  },
  *bind(name, actual, bound) {
    if (actual !== NOTHING) yield { ...bound, [name]: actual };
  },
  *ref(name, actual, bound) {
    if (Object.hasOwn(bound, name) && actual !== NOTHING && same(bound[name], actual)) yield bound;
  },
};

/** The name of the matcher that an object is, if it is one. */
function matcherOf(expected) {
  const names = isObject(expected) ? Object.keys(expected) : [];
  return names.length === 1 && Object.hasOwn(MATCHERS, names[0]) ? names[0] : null;
}

/** Yields the bindings of every way in which `actual` matches. */
export function* bindings(expected, actual, bound) {
  const name = matcherOf(expected);
  if (name) yield* MATCHERS[name](expected[name], actual, bound);
  else if (isObject(expected)) {
    if (isObject(actual)) yield* members(expected, actual, bound);
  } else if (Array.isArray(expected)) {
    if (Array.isArray(actual) && actual.length === expected.length) yield* inOrder(expected, actual, bound);
  } else if (equal(expected, actual)) yield bound;
}

export const firstBinding = (expected, actual, bound) => bindings(expected, actual, bound).next().value;
const fits = (expected, actual, bound) => firstBinding(expected, actual, bound) !== undefined;
const memberOf = (object, name) => (Object.hasOwn(object, name) ? object[name] : NOTHING);
const selected = (wanted, actual) => Object.fromEntries(Object.entries(actual).filter(([name]) => Object.hasOwn(wanted, name)));

function* members(expected, actual, bound) {
  if (Object.keys(actual).some((name) => !Object.hasOwn(expected, name))) return;
  const names = Object.keys(expected);
  yield* inOrder(names.map((name) => expected[name]), names.map((name) => memberOf(actual, name)), bound);
}

/** Depth first without recursion: a list may be longer than the stack is deep. */
function* inOrder(expected, actual, bound) {
  const ways = [[bound][Symbol.iterator]()];
  while (ways.length > 0) {
    const { value, done } = ways.at(-1).next();
    const index = ways.length - 1;
    if (done) ways.pop();
    else if (index === expected.length) yield value;
    else ways.push(bindings(expected[index], actual[index], value));
  }
}

/** Every assignment of items to expected items; an item that equals one that was tried is not tried again. */
function* pairings(expected, actual, bound) {
  if (expected.length === 0) yield bound;
  const tried = new Set();
  for (const [index, item] of actual.entries()) {
    if (tried.has(canonical(item))) continue;
    tried.add(canonical(item));
    for (const first of bindings(expected[0], item, bound)) {
      for (const all of pairings(expected.slice(1), actual.toSpliced(index, 1), first)) {
        yield all;
        if (all === bound) return; // no names are bound, so every other way is the same
      }
    }
  }
}

/**
 * The first place where `actual` does not match, as deep as possible: {where, expected, actual}; null if it matches. If it is in a list
 * with the expected items in another order, `reordered` is the place of that list.
 */
export function firstDifference(expected, actual, bound, where = "") {
  if (fits(expected, actual, bound)) return null;
  const name = matcherOf(expected);
  if ((name === "multiset" || name === "contains") && Array.isArray(expected[name]) && Array.isArray(actual)) {
    return pairingDifference(name, expected[name], actual, bound, where);
  }
  if (name === "contains" && isObject(expected[name]) && isObject(actual)) {
    return firstDifference(expected[name], selected(expected[name], actual), bound, where);
  }
  if (!name && Array.isArray(expected) && Array.isArray(actual)) {
    const both = Math.min(expected.length, actual.length);
    const reordered = isReordered(expected, actual, bound, where) && where;
    for (let index = 0; index < both; index += 1) {
      const difference = firstDifference(expected[index], actual[index], bound, `${where}[${index}]`);
      if (difference) return { ...difference, reordered: reordered || difference.reordered };
      bound = firstBinding(expected[index], actual[index], bound);
    }
    return { where: `${where}[${both}]`, expected: expected[both] ?? null, actual: actual[both] ?? null };
  }
  if (!name && isObject(expected) && isObject(actual)) {
    for (const member of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const found = memberOf(actual, member);
      const place = where ? `${where}.${member}` : member;
      if (!Object.hasOwn(expected, member)) return { where: place, expected: null, actual: found };
      const difference = firstDifference(expected[member], found, bound, place);
      if (difference) return { ...difference, actual: difference.actual === NOTHING ? null : difference.actual };
      bound = firstBinding(expected[member], found, bound);
    }
  }
  return { where, expected, actual };
}

/** Whether each expected item has an item of its own, in another order. */
const isReordered = (expected, actual, bound, where) =>
  expected.length === actual.length && pairingDifference("multiset", expected, actual, bound, where).where === where;

function pairingDifference(name, expected, actual, bound, where) {
  const left = [...actual.keys()];
  const missing = expected.filter((wanted) => {
    const place = left.findIndex((index) => fits(wanted, actual[index], bound));
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
  const surplus = name === "multiset" ? left : [];
  const at = surplus.length > 0 ? `${where}[${surplus[0]}]` : where;
  return { where: at, expected: missing[0] ?? null, actual: surplus.length > 0 ? actual[surplus[0]] : null };
}
