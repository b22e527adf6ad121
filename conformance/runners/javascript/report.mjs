/** Results as text. */

import { asJson } from "./happened.mjs";

const MOST_LINES = 20; // of a stack trace
const MOST_INPUT = 400; // characters of what the codec is asked about

/** Whether a result makes a test fail: the document's own words are violated, or a list of expected failures is out of date. */
export const isViolation = ({ status }) => ["failed", "crashed", "flooded", "stale"].includes(status);

/** Whether the vector says should, and that is not met. */
export const isUnmetShould = ({ status, failure, vector }) => status === "tolerated" && failure !== undefined && vector.level === "should";

/** Whether a result makes a test fail: also an unmet should if `strict` is set, and what differs if `strictDecisions` is. */
export const isFailing = (result, { strict, strictDecisions }) =>
  isViolation(result) || (strict && isUnmetShould(result)) || (strictDecisions && result.status === "differs");

/**
 * Skipped cases in groups: [{layer, reason, cases}], the largest first. An implementation without nodes skips thousands, for a few
 * reasons.
 */
export function groupSkipped(results) {
  const groups = new Map();
  for (const result of results) {
    const { id, reason } = result;
    if (result.status !== "skipped") continue;
    const layer = id.split("/").slice(0, 2).join("/");
    const key = `${layer} ${reason}`;
    if (!groups.has(key)) groups.set(key, { layer, reason, cases: [] });
    groups.get(key).cases.push(result);
  }
  return [...groups.values()].sort((one, other) => other.cases.length - one.cases.length);
}

/** A result as text: what is expected, the clauses behind it, the first difference, what happened, and where to read on. */
export function describe(bundle, { status, failure, decisions, difference, reason, input, happened = [], vector }) {
  if (status === "stale") return `stale: ${reason}`;
  const rests = decisions.length > 0 ? decisions : vector.clauses;
  const known = rests.filter((name) => bundle.clauses[name]);
  return [
    `${status}: ${vector.title}`,
    ...known.flatMap((name) => {
      const { level, decision, text, read } = bundle.clauses[name];
      return [`  ${name} ${decision ? "decision" : level}: ${text}`, `    in ${read}`];
    }),
    ...(reason ? [`  ${reason}`] : []),
    ...(input ? [`  input: ${shortened(input)}`] : []),
    ...(difference ? [`  first difference (${failure}): ${difference.where}`, ...sides(difference)] : []),
    ...happened,
    `  read on: peerproof explain ${rests[0]}; peerproof vectors show ${vector.id}`,
  ].join("\n");
}

/** The beginning of what the codec is asked about, and its length. */
function shortened(input) {
  const characters = [...input];
  return characters.length > MOST_INPUT ? `${characters.slice(0, MOST_INPUT).join("")}… (${characters.length} characters)` : input;
}

function sides({ expected, actual, reordered, stack }) {
  const trace = stack ? ["  stack", ...stack.split("\n").slice(0, MOST_LINES).map((line) => `    ${line.trim()}`)] : [];
  const order = reordered ? [`    ${reordered}: the same items in another order`] : [];
  return [`    expected  ${asJson(expected)}`, `    actual    ${asJson(actual)}`, ...order, ...trace];
}
