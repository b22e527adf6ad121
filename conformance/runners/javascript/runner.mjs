/**
 * Runs the bundle of `peerproof vectors export` against an implementation in this process.
 *
 * The verdicts are those of `peerproof run`. docs/how-to/run-without-python.md shows how to plug an implementation in,
 * docs/reference/bundle.md describes bundles, and how a verdict follows from them.
 */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { CHECKS } from "./checks.mjs";
import { Trial } from "./trial.mjs";

export { Unsupported } from "./failure.mjs";

const FORMAT = 1;

/** Reads a bundle, compressed if its name ends in `.gz`. `parse` is JSON.parse, or a parser that keeps all digits and the order of members. */
export function load(path, parse = JSON.parse) {
  const data = readFileSync(path);
  const bundle = parse((path.endsWith(".gz") ? gunzipSync(data) : data).toString("utf8"));
  if (bundle.format !== FORMAT) throw new Error(`${path} has format ${bundle.format}; this runner reads ${FORMAT}`);
  return bundle;
}

/** Yields the result of each case: {id, vector, status, failure, decisions, difference, reason}. */
export function* run(bundle, implementation) {
  const hasCodec = implementation.capabilities.includes("codec");
  const decoding = [...resultsOf(bundle, implementation, hasCodec, (each) => each.check === "decode")];
  yield* resultsOf(bundle, implementation, hasCodec && !decoding.some(isViolation), () => true);
}

function* resultsOf(bundle, implementation, isTrusted, isWanted) {
  for (const vector of vectorsOf(bundle)) {
    for (const each of vector.cases.filter(isWanted)) {
      const trial = new Trial(bundle, vector, each, implementation, isTrusted);
      yield { id: each.id, vector, decisions: [], ...trial.result(CHECKS) };
    }
  }
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

/** Whether a result makes a test fail: the document's own words are violated. */
export const isViolation = ({ status }) => ["failed", "crashed", "flooded"].includes(status);

/** A result as text: what is expected, the clauses behind it, the first difference, and where to read on. */
export function describe(bundle, { status, failure, decisions, difference, reason, vector }) {
  const rests = decisions.length > 0 ? decisions : vector.clauses;
  const known = rests.filter((name) => bundle.clauses[name]);
  return [
    `${status}: ${vector.title}`,
    ...known.flatMap((name) => {
      const { level, text, read } = bundle.clauses[name];
      return [`  ${name} ${level}: ${text}`, `    in ${read}`];
    }),
    ...(reason ? [`  ${reason}`] : []),
    ...(difference ? [`  first difference (${failure}): ${difference.where}`, ...sides(difference)] : []),
    `  read on: peerproof explain ${rests[0]}; peerproof vectors show ${vector.id}`,
  ].join("\n");
}

const shown = (value) => JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
const sides = ({ expected, actual }) => [`    expected  ${shown(expected)}`, `    actual    ${shown(actual)}`];
