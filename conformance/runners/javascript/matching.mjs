/** Plain data against patterns: the matchers of bundles, and the first difference (docs/reference/bundle.md). */

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber = (value) => typeof value === "number" || typeof value === "bigint";

/** The integer of a number, or of up to 20 decimal digits; null if it is none. */
function integer(value) {
  const isInteger = isNumber(value) ? /^-?[0-9]+$/.test(String(value)) : typeof value === "string" && /^[0-9]{1,20}$/.test(value);
  return isInteger ? BigInt(value) : null;
}

/** Whether literals are equal; a number also equals its digits, which is how plain data holds integers of 64 bits. */
function isEqual(expected, actual) {
  if (isNumber(expected)) return (isNumber(actual) || typeof actual === "string") && String(expected) === String(actual);
  return expected === actual;
}

/** The differences that matchers find: each is called with its argument, the actual value, the names in use, and the place. */
const MATCHERS = {
  any: (_, actual, names, here) => (actual === undefined ? here : null),
  between([low, high], actual, names, here) {
    const number = integer(actual);
    return number !== null && BigInt(low) <= number && number <= BigInt(high) ? null : here;
  },
  one_of: (patterns, actual, names, here) => (patterns.some((each) => fits(each, actual, names)) ? null : here),
  same(name, actual, names, here) {
    if (!names.has(name) && actual !== undefined) names.set(name, actual);
    return names.has(name) && fits(names.get(name), actual, names) ? null : here;
  },
  multiset: (items, actual, names, here) => (Array.isArray(actual) ? firstUnpaired(items, actual, names, here, true) : here),
  contains(wanted, actual, names, here) {
    if (Array.isArray(wanted)) return Array.isArray(actual) ? firstUnpaired(wanted, actual, names, here, false) : here;
    return isObject(actual) ? firstMember(wanted, actual, Object.keys(wanted), names, here.where) : here;
  },
};

/** The first place where a value does not match a pattern, as deep as possible: {where, expected, actual}; null if it matches. */
export function firstDifference(expected, actual, names = new Map(), where = "") {
  const here = { where, expected: expected ?? null, actual: actual ?? null };
  const members = isObject(expected) ? Object.keys(expected) : [];
  if (members.length === 1 && Object.hasOwn(MATCHERS, members[0])) {
    return MATCHERS[members[0]](expected[members[0]], actual, names, here);
  }
  if (isObject(expected) && isObject(actual)) {
    return firstMember(expected, actual, [...new Set([...members, ...Object.keys(actual)])], names, where);
  }
  if (Array.isArray(expected) && Array.isArray(actual)) return firstItem(expected, actual, names, where);
  return isEqual(expected, actual) ? null : here;
}

export const fits = (expected, actual, names = new Map()) => firstDifference(expected, actual, names) === null;

/** The first difference of the named members of two objects, in the order of their names. One that is not expected must be missing. */
function firstMember(expected, actual, members, names, where) {
  for (const member of members.sort()) {
    const place = where ? `${where}.${member}` : member;
    const found = Object.hasOwn(actual, member) ? actual[member] : undefined;
    if (!Object.hasOwn(expected, member)) return { where: place, expected: null, actual: found };
    const difference = firstDifference(expected[member], found, names, place);
    if (difference) return difference;
  }
  return null;
}

/** The first difference of two lists: of an item, or where only one list has another item. */
function firstItem(expected, actual, names, where) {
  const both = Math.min(expected.length, actual.length);
  for (let at = 0; at < both; at += 1) {
    const difference = firstDifference(expected[at], actual[at], names, `${where}[${at}]`);
    if (difference) return difference;
  }
  if (expected.length === actual.length) return null;
  return { where: `${where}[${both}]`, expected: expected[both] ?? null, actual: actual[both] ?? null };
}

/** Whether each expected item can have an item of its own: takes over items by augmenting paths. */
function isPaired(expected, actual, names) {
  const owner = new Map();
  const settle = (row, tried) =>
    actual.some((item, column) => {
      if (tried.has(column) || !fits(expected[row], item, names)) return false;
      tried.add(column);
      if (owner.has(column) && !settle(owner.get(column), tried)) return false;
      owner.set(column, row);
      return true;
    });
  return expected.every((_, row) => settle(row, new Set()));
}

/** The first item that is left if each expected item takes the first one that matches; then the first that is missing. */
function firstUnpaired(expected, actual, names, { where }, isWhole) {
  if (isWhole ? expected.length === actual.length : expected.length <= actual.length) {
    if (isPaired(expected, actual, names)) return null;
  }
  const left = [...actual.keys()];
  const missing = expected.filter((wanted) => {
    const at = left.findIndex((index) => fits(wanted, actual[index], names));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  if (!isWhole || left.length === 0) return { where, expected: missing[0] ?? null, actual: null };
  return { where: `${where}[${left[0]}]`, expected: missing[0] ?? null, actual: actual[left[0]] };
}
