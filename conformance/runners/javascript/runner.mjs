/**
 * Runs the bundle of `peerproof vectors export` against an implementation in this process.
 *
 * The verdicts are those of `peerproof run`. docs/how-to/run-without-python.md shows how to plug an implementation in,
 * docs/reference/bundle.md describes bundles, and how a verdict follows from them.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

import { CHECKS } from "./checks.mjs";
import { checkReadings } from "./readings.mjs";
import { Trial } from "./trial.mjs";

export { Unsupported } from "./failure.mjs";
export { loadKnownFailing } from "./known-failing.mjs";
export { unconfirmed } from "./readings.mjs";
export { describe, groupSkipped, isFailing, isViolation } from "./report.mjs";
export { serve } from "./serve.mjs";
export { describer, summarize } from "./summary.mjs";
export { Text } from "./text.mjs";

const FORMAT = 1;
const EXPORT = "To do: write bundle and runner again, with `peerproof vectors export --output FOLDER --runner javascript`";

/**
 * Reads a bundle, compressed if its name ends in `.gz`. `file` is a path, or a URL made with `import.meta.url`. `parse` is
 * JSON.parse, or a parser that keeps all digits and the order of members.
 */
export function load(file, parse = JSON.parse) {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const bundle = contentOf(path, parse);
  if (bundle?.format === FORMAT) return bundle;
  const what = bundle?.format === undefined ? "is not a bundle of vectors" : `has format ${bundle.format}; this runner reads ${FORMAT}`;
  throw new Error(`${path} ${what}. ${EXPORT}`);
}

function contentOf(path, parse) {
  try {
    const data = readFileSync(path);
    return parse((path.endsWith(".gz") ? gunzipSync(data) : data).toString("utf8"));
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error.message}. ${EXPORT}`, { cause: error });
  }
}

/**
 * Yields the result of each case: {id, vector, status, failure, decisions, difference, reason, readings, happened}. `known` is a list
 * of expected failures (loadKnownFailing).
 */
export function* run(bundle, implementation, known) {
  checkReadings(bundle, implementation);
  const reader = readerOf(bundle, implementation);
  for (const result of resultsOf(bundle, implementation, reader, () => true)) {
    yield known ? known.applyTo(result) : result;
  }
}

function* resultsOf(bundle, implementation, reader, isWanted) {
  for (const vector of vectorsOf(bundle)) {
    for (const each of vector.cases.filter(isWanted)) {
      const trial = new Trial(bundle, vector, each, implementation, reader);
      yield { id: each.id, check: each.check, needs: each.needs, vector, decisions: [], readings: [], ...trial.result(CHECKS) };
    }
  }
}

/**
 * Runs the cases of the decoder, and of the encoder if it fails one, to know what says what a message is: {known, doubt, written}.
 * `known` has the messages of the bundle by their bytes, `doubt` is the first case that the decoder fails, `written` has the types
 * of messages whose cases the encoder passes all.
 */
function readerOf(bundle, implementation) {
  const known = new Map();
  for (const { bytes, value, exact } of [...(bundle.messages ?? []), ...bundle.vectors]) {
    if (value !== undefined && (!exact || implementation.exact)) known.set(bytes, value);
  }
  const reader = { known, doubt: null, written: new Set() };
  const isWrong = ({ check, failure }) => (check === "decode" && failure !== undefined) || failure === "accepted";
  const decoding = resultsOf(bundle, implementation, reader, ({ check }) => ["decode", "rejects"].includes(check));
  const doubt = [...decoding].find(isWrong)?.id ?? null;
  if (doubt === null) return reader;
  const encoding = [...resultsOf(bundle, implementation, { ...reader, doubt }, ({ check }) => check === "encode")];
  const types = (results) => new Set(results.map(({ vector }) => vector.value.type));
  const failed = types(encoding.filter(({ status }) => status !== "passed"));
  return { known, doubt, written: new Set([...types(encoding)].filter((type) => !failed.has(type))) };
}

/** All vectors; those of tables with their nodes, states and steps in place of numbers. */
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
