/** How the verdict on a failure follows from what the expectation rests on (docs/reference/bundle.md). */

import { fits } from "./matching.mjs";
import { AFTER, CHECKING } from "./script.mjs";

/** The verdict on a failure: by what it rests on, the level of the vector, and the readings that the implementation declares. */
export function verdictOf(trial, failed) {
  const { failure, difference } = failed;
  const readings = declaredReadings(trial, failed);
  if (readings.length > 0) return { status: "passed", readings };
  const isBroken = ["crashed", "hung", "flooded"].includes(failure);
  const decisions = failure === "error" ? [] : decisionsBehind(trial, failed);
  const status = isBroken ? failure : trial.vector.level === "must" ? "failed" : "tolerated";
  return { status: decisions.length > 0 && status !== "tolerated" ? "differs" : status, failure, decisions, difference };
}

/** Whether a failure is an outcome that the basis names. */
function isOutcome(name, { outcomes, values }, { failure, difference }) {
  if (difference.isOtherForm || !Object.hasOwn(outcomes, name)) return name === "=" && difference.isOtherForm === true;
  const [wanted, where, value] = outcomes[name];
  const place = failure === "events" ? difference.where.replace(/\[\d+\]$/, "") : difference.where;
  return wanted === failure && where === place && fits(values[value], withoutReasons(difference.actual));
}

/** What came, without why a message was rejected, and without the words in which a call was refused: no document says them. */
function withoutReasons(actual) {
  if (actual?.rejected?.class !== undefined) return { ...actual, rejected: true };
  return actual?.refused?.class === undefined ? actual : { ...actual, refused: { class: actual.refused.class } };
}

/** The outcomes that stand for any failure of a class: the document is silent, or allows an implementation even to end. */
const openOutcomes = (failure) => ["!", "*", ...(failure === "events" ? ["*events"] : [])];

/** The readings that the implementation declares and that explain a failure. */
export function declaredReadings({ bundle, offer, vector, each, place }, failed) {
  const declared = offer.readings ?? {};
  if (failed.failure === "hung") return [];
  for (const [key, others] of Object.entries(vector.basis?.[place || each.check] ?? {})) {
    const decisions = key.split(" ");
    for (const [name, readings] of Object.entries(others)) {
      const isMeant = openOutcomes(failed.failure).includes(name) || isOutcome(name, bundle, failed);
      const names = readings.split(" ").map((alternatives) => alternatives.split("|"));
      if (isMeant && decisions.every((decision, at) => names[at].includes(declared[decision]))) {
        return decisions.map((decision) => `${decision}: ${declared[decision]}`);
      }
    }
  }
  return [];
}

/** The decisions on which the failed expectation rests; none if the document's words require it. */
function decisionsBehind({ bundle, offer, vector, each, place }, failed) {
  const { basis = {}, clauses, steps = [] } = vector;
  const start = steps.findIndex((_, at) => `steps[${at}]` === place);
  const checking = start < 0 ? -1 : steps.findIndex(({ do: kind }, at) => at >= start && CHECKING.includes(kind));
  const table = basis[place || each.check] ?? basis[checking < 0 ? AFTER : `steps[${checking}]`] ?? {};
  const decisionsOf = (rows) => [...new Set(rows.flatMap(([key]) => key.split(" ")))];
  const hasEnded = ["crashed", "hung"].includes(failed.failure);
  const isNamed = (name) => (hasEnded ? name === "!" : isOutcome(name, bundle, failed));
  const named = decisionsOf(Object.entries(table).filter(([, others]) => Object.keys(others).some(isNamed)));
  if (named.length > 0) return named;
  const rows = Object.entries(table).filter(([, others]) => Object.keys(others).join() !== "=");
  const isOpen = rows.some(([, others]) => openOutcomes(failed.failure).some((name) => Object.hasOwn(others, name)));
  const isRandom = offer.choices !== "oracle" && each.needs.includes("choices.oracle");
  if (!hasEnded && rows.length > 0 && (isOpen || isRandom)) return decisionsOf(rows);
  return clauses.every((clause) => bundle.clauses[clause].decision) ? clauses : [];
}
