/** The end of the tests: how many cases have which verdict, and groups of those that are not as they should be. */

import { asJson } from "./happened.mjs";
import { describe, isFailing, isUnmetShould, isViolation } from "./report.mjs";

const MOST_REASONS = 3; // of skipped cases
const MOST_GROUPS = 40; // of each kind
const MOST_WHOLE = 3; // cases with the same first difference that are described whole
const OWN_PLACE = /^(steps|setup)\[\d+\]\.|^after the last step\.|, from byte \d+$/g;

/** The ways in which cases are not as they should be, those that violate the document first: [title, whether a result is so]. */
function kindsOf({ strict, strictDecisions, file }) {
  const how = (name, isSet) => (isSet ? `they fail, since ${name} is set` : `to make that fail, set ${name} in ${file}`);
  const decisions = how("STRICT_DECISIONS", strictDecisions);
  return [
    ["violate the document", (one) => isViolation(one) && one.status !== "stale"],
    [`differ only in what a decision of the suite demands; ${decisions}`, ({ status }) => status === "differs"],
    [`are tolerated, where a vector says should; ${how("STRICT", strict)}`, isUnmetShould],
  ];
}

/**
 * The lines of the end; none without results. A single case that fails no test is shown whole. The settings: `strict` and
 * `strictDecisions`, as in `isFailing`, `file`, which has them, and perhaps `adapter`, the command that runs the vectors by peerproof,
 * and `knownFailing`, the list of expected failures for it.
 */
export function summarize(bundle, results, settings) {
  if (results.length === 0) return [];
  const { adapter, knownFailing } = settings;
  const has = (status) => results.filter((one) => one.status === status);
  const why = (status) => byCount(has(status).map(({ reason }) => `${status}: ${reason}`));
  const skipped = why("skipped").slice(0, MOST_REASONS).join("; ");
  const counts = byCount(results.map(({ status }) => status)).join(", ");
  const lines = [`${bundle.protocol}: ${results.length} cases: ${counts}${skipped && ` (${skipped})`}`];
  const [single] = results;
  if (results.length === 1) {
    const isShown = single.status === "passed" || isFailing(single, settings);
    return isShown ? lines : [...lines, ...describe(bundle, single).split("\n")];
  }
  const whole = (id) => `node --test --test-name-pattern='^${id}$'`;
  const unknown = why("undetermined");
  if (unknown.length > 0) {
    const [, doubt] = /the decoder fails (\S+): see/.exec(unknown[0]) ?? [];
    lines.push(...unknown);
    if (doubt) lines.push(`  to see it, whatever its verdict: ${whole(doubt)}`);
    if (adapter) lines.push(`  peerproof reads messages without your decoder: ${adapter}`);
  }
  const examples = [];
  for (const [title, isSo] of kindsOf(settings)) {
    const found = results.filter(isSo);
    if (found.length === 0) continue;
    examples.push(found[0].id);
    lines.push(`${found.length} ${title}:`, ...groupsOf(found));
  }
  if (examples.length > 0) {
    lines.push(`one of them whole: ${whole(examples[0])}`);
    if (adapter) lines.push(`all groups: ${adapter} --record run.jsonl; peerproof report groups run.jsonl`);
  }
  const stale = has("stale");
  if (stale.length > 0) {
    lines.push(`stale: ${stale.length === 1 ? "" : `${stale.length} cases, such as `}${stale[0].id}: ${stale[0].reason}`);
    if (adapter) lines.push(`  to remove all such lines: ${adapter} --known-failing ${knownFailing} --update-known-failing`);
  }
  return lines;
}

/** A function that describes results, in one line if three others with the same first difference have been described whole. */
export function describer(bundle) {
  const first = new Map();
  const counts = new Map();
  return (result) => {
    if (!result.difference) return describe(bundle, result);
    const { id, status, reason } = result;
    const difference = firstDifference(result);
    const count = (counts.get(difference) ?? 0) + 1;
    counts.set(difference, count);
    if (count === 1) first.set(difference, id);
    if (count <= MOST_WHOLE) return describe(bundle, result);
    return `${status}: ${id}: ${difference}, as ${first.get(difference)}${reason ? `\n  ${reason}` : ""}`;
  };
}

/** Words after their number, the most frequent first. */
export function byCount(words) {
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = [...counts].sort(([one, count], [other, next]) => next - count || (one < other ? -1 : 1));
  return sorted.map(([word, count]) => `${count} ${word}`);
}

/** A line for the results that are probably of one fault, with the first of them, the largest group first. */
function groupsOf(results) {
  const first = new Map([...results].reverse().map((one) => [firstDifference(one), one.id]));
  const lines = byCount(results.map(firstDifference)).map((line) => {
    const [, count, name] = /^(\d+) (.*)$/s.exec(line);
    return `  ${count}  ${name}, such as ${first.get(name)}`;
  });
  const more = lines.length - MOST_GROUPS;
  return more > 0 ? [...lines.slice(0, MOST_GROUPS), `  and ${more} smaller groups`] : lines;
}

/** The first difference without what is not the same in all cases of one fault: numbers, and values. */
function firstDifference({ failure, decisions, difference }) {
  const { where, expected, actual } = difference;
  const message = failure === "crashed" ? actual : actual?.error?.message;
  const typeOf = (value) => (typeof value?.type === "string" ? `${value.type} ` : "");
  let place = where.replace(OWN_PLACE, "").replace(/\d+/g, "");
  if (message !== undefined) place += `: ${String(message).split("\n")[0].replace(/\d+/g, "N")}`;
  else if (asJson(actual) === "null") place += `: ${typeOf(expected)}is missing`;
  else if (asJson(expected) === "null") place += `: ${typeOf(actual)}was not expected`;
  return `${failure}: ${place}${decisions.length > 0 ? ` [${decisions.join(", ")}]` : ""}`;
}
