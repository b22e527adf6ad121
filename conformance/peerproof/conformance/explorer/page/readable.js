// Texts as a reader wants them: nodes by their names instead of long ids, values without what only encodes them.

const LONG_ID = /(?<![0-9A-Za-z])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})(?![0-9A-Za-z])/g;
const CUT_ID = /(?<![0-9A-Za-z])([0-9a-f]{8}[0-9a-f-]*)…/g;
const QUOTED = /"(?:[^"\\]|\\.)*"(\s*:)?/g;
const IDENTIFIER = /^[A-Za-z_][\w.-]*$/;
const NUMBER = /^-?\d+$/;
const KEYWORD = /^~[:$](.+)$/; // keywords and symbols of Transit
const BARE_KEYWORD = /(?<![\w~"\\])~[:$](?=[A-Za-z])/g; // where a text is shown without its quotes
const LARGE = /^~[in](-?\d+)$/; // its large integers

const MOST_REMEMBERED = 10_000; // texts whose readable form is kept: a step shows many that the step before has shown

/** @type {Map<string, string>} */
let names = new Map();
/** @type {Map<string, string>} */
const remembered = new Map();
let isExact = false;

/** Names nodes from now on. @param {[string, string][]} known ids and names */
export function useNames(known) {
  names = new Map(known);
  remembered.clear();
}

/** Whether texts are shown as they are. @param {boolean} wanted */
export function showExact(wanted) {
  isExact = wanted;
}

/** @param {string} text @param {string} exact what is shown instead where texts are shown as they are */
export function readable(text, exact = text) {
  if (isExact) return exact;
  let shown = remembered.get(text);
  if (shown === undefined) {
    shown = makeReadable(text);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(text, shown);
  }
  return shown;
}

/** @param {string} text */
function makeReadable(text) {
  const named = unquoted(text).replace(LONG_ID, (id) => names.get(id) ?? id).replace(CUT_ID, whole);
  return named.replace(/\{u64: ?(\d+)\}/g, "$1").replace(BARE_KEYWORD, "");
}

/** Names of fields as the server has them: with ids. @param {string} field */
export function exactField(field) {
  return [...names].reduce((text, [id, name]) => text.replaceAll(`[${name}]`, `[${id}]`), field);
}

/** The name for an id of which the end is cut off, if only one begins so. @param {string} cut @param {string} begun */
function whole(cut, begun) {
  const fits = [...names].filter(([id]) => id.startsWith(begun));
  return fits.length === 1 ? `${fits[0][1]}…` : cut;
}

/** @param {string} text @returns {string} */
function unquoted(text) {
  return text.replace(QUOTED, (quoted, colon = "") => {
    const shown = plainWord(quoted.slice(0, quoted.length - colon.length), colon !== "");
    return shown === null ? quoted : `${shown}${colon}`;
  });
}

/** What a quoted text says without its quotes; null if it needs them. @param {string} literal @param {boolean} isName */
function plainWord(literal, isName) {
  let text = "";
  try {
    text = JSON.parse(literal);
  } catch {
    return null;
  }
  const encoded = KEYWORD.exec(text) ?? LARGE.exec(text);
  if (encoded) return encoded[1];
  if (NUMBER.test(text) || (isName && IDENTIFIER.test(text)) || names.has(text)) return text;
  return /^\{.*\}$|^\[.*\]$/.test(text) ? unquoted(text) : null;
}
