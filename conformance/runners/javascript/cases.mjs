/**
 * Runs the vectors of a bundle against an implementation, with the verdicts of `peerproof run` (docs/reference/bundle.md).
 *
 * The implementation is a function that answers the requests of the adapter protocol (docs/reference/adapter.md), as plain data:
 * `handle(request, choose)` returns the reply, and `choose(question)` the indices of the options to take at a random choice.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

import { CHECKS } from "./checks.mjs";
import { Trial } from "./trial.mjs";
import { verdictOf } from "./verdict.mjs";

const FORMAT = 2;
const EXPORT = "To do: write bundle and runner again, with `peerproof vectors export --output FOLDER --runner javascript`";

/**
 * Reads a bundle, compressed if its name ends in `.gz`. `file` is a path, or a URL made with `import.meta.url`. `parse` is
 * JSON.parse, or a parser that keeps all digits and the order of members.
 */
export function load(file, parse = JSON.parse) {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  let bundle;
  try {
    const data = readFileSync(path);
    bundle = parse((path.endsWith(".gz") ? gunzipSync(data) : data).toString("utf8"));
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error.message}. ${EXPORT}`, { cause: error });
  }
  if (bundle?.format === FORMAT) return bundle;
  const what = bundle?.format === undefined ? "is not a bundle of vectors" : `has format ${bundle.format}; this runner reads ${FORMAT}`;
  throw new Error(`${path} ${what}. ${EXPORT}`);
}

/** All vectors of a bundle; those of tables with their nodes, states and steps in place of numbers. */
function* vectorsOf({ vectors, tables }) {
  yield* vectors;
  for (const table of tables) {
    const loaded = (holder) => (holder.state === undefined ? holder : { ...holder, state: table.states[holder.state] });
    const steps = table.steps.map((step) => (step.outcomes ? { ...step, outcomes: step.outcomes.map(loaded) } : step));
    for (const row of table.vectors) {
      yield { ...row, nodes: [loaded(table.nodes[row.node])], steps: row.steps.map((number) => steps[number]) };
    }
  }
}

/**
 * Yields the result of each case: {id, check, vector, status, failure, decisions, difference, reason, readings}. `offer` is what the
 * implementation offers for the protocol: capabilities, events, limits, choices, readings, and whether the bundle's parser is `exact`.
 */
export function* runCases(bundle, offer, handle) {
  const known = new Map(bundle.messages.filter(({ exact }) => !exact || offer.exact).map(({ bytes, value }) => [bytes, value]));
  const reader = { known, doubt: null, written: new Set() };
  const resultsOf = function* (isWanted) {
    for (const vector of vectorsOf(bundle)) {
      for (const each of vector.cases.filter(isWanted)) yield resultOf(new Trial(bundle, offer, handle, reader, vector, each));
    }
  };
  findDoubt(reader, resultsOf);
  yield* resultsOf(() => true);
}

/**
 * Finds what says which message some bytes are: the decoder, unless it fails a case (`doubt`). Then it is believed where the encoder
 * writes the same bytes, and passes all cases with messages of this type (`written`).
 */
function findDoubt(reader, resultsOf) {
  const isWrong = ({ check, failure }) => (check === "decode" && failure !== undefined) || failure === "accepted";
  reader.doubt = [...resultsOf(({ check }) => check === "decode" || check === "rejects")].find(isWrong)?.id ?? null;
  if (reader.doubt === null) return;
  const encoding = [...resultsOf(({ check }) => check === "encode")];
  for (const { vector } of encoding) reader.written.add(vector.value.type);
  for (const { vector, status } of encoding) if (status !== "passed") reader.written.delete(vector.value.type);
}

/** Runs a case. */
function resultOf(trial) {
  const { each, vector, readings, tolerated } = trial;
  const result = { id: each.id, check: each.check, vector, decisions: [], readings };
  const lack = lackOf(trial);
  if (lack) return { ...result, status: "skipped", reason: lack };
  try {
    CHECKS[each.check](trial);
  } catch (end) {
    if (end.status) return { ...result, status: end.status, reason: end.message };
    if (!end.failure) throw end;
    return { ...result, ...verdictOf(trial, end) };
  }
  return tolerated.length > 0 ? { ...result, status: "tolerated", reason: tolerated.join("; ") } : { ...result, status: "passed" };
}

/** Why the implementation cannot run a case; null if it can. */
function lackOf(trial) {
  const { offer, vector, each } = trial;
  const has = (need) => offer.capabilities.includes(need) || (need.startsWith("events.") && trial.isCompared(need.slice(7)));
  const lacking = each.needs.filter((need) => !has(need) && !(need === "choices.oracle" && offer.choices === "oracle"));
  if (lacking.length > 0) return `the implementation does not offer ${lacking.join(", ")}`;
  if (vector.exact && !offer.exact) return "the bundle was not read by an exact JSON parser";
  const configured = (vector.nodes ?? []).flatMap(({ config }) => Object.entries(config));
  const beyond = configured.find(([name, value]) => value > (offer.limits?.[name] ?? Infinity));
  if (beyond) return `the implementation takes at most ${offer.limits[beyond[0]]} for ${beyond[0]}`;
  const isBlind = !offer.capabilities.some((word) => word.startsWith("observe."));
  return each.check === "unchanged" && isBlind ? "the implementation offers nothing to observe" : null;
}
