/**
 * Every case of the suite, of all protocols, as a test of Node's own runner: `node --test`, or `node --test
 * --test-name-pattern=/codec` for some of them. Cases that need what your implementation does not claim are one skipped test for each
 * layer and reason.
 *
 * The test of a case that `known-failing.txt` lists passes, with the reason beside it, as long as the case fails as listed. If the
 * case passes, its test fails, and says which line to delete. There are two choices to make here, STRICT and
 * STRICT_DECISIONS.
 */

import test, { after } from "node:test";

import { implementations } from "./implementations.js";
import { describer, groupSkipped, isFailing, load, loadKnownFailing, run, summarize, unconfirmed } from "./vectors/runner.mjs";

/** Whether a case fails also where a vector says should, as with `--strict` of `peerproof run`. */
const STRICT = false;

/**
 * Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram does
 * no harm: set it to true if you follow the decisions. Otherwise such a case differs: its test passes, and says so.
 */
const STRICT_DECISIONS = false;

const SETTINGS = {
  strict: STRICT,
  strictDecisions: STRICT_DECISIONS,
  file: "implementation.test.js",
  adapter: "peerproof run @SELECTION@ --impl '@START@'",
  knownFailing: "known-failing.txt",
};

const bundles = implementations.map(({ protocol, parse }) => load(new URL(`vectors/${protocol}.json.gz`, import.meta.url), parse));
const known = loadKnownFailing(new URL("known-failing.txt", import.meta.url), bundles);

/** Fails with this text alone: the stack would be that of this file. */
function fail(text) {
  throw Object.assign(new Error(text), { stack: text });
}

for (const problem of known.problems) {
  test(problem, () => fail(problem));
}
for (const [index, bundle] of bundles.entries()) {
  const results = [...run(bundle, implementations[index], known)];
  const selected = []; // by the pattern for names
  const describe = describer(bundle);
  for (const problem of unconfirmed(implementations[index], results)) {
    test(problem, () => fail(problem));
  }
  for (const { layer, reason, cases } of groupSkipped(results)) {
    test(`${layer}: ${cases.length} skipped`, (context) => {
      selected.push(...cases);
      context.skip(reason);
    });
  }
  for (const result of results.filter(({ status }) => status !== "skipped")) {
    const { id, status, reason, decisions } = result;
    const todo = {
      known: `known to fail: ${reason}`,
      differs:
        !STRICT_DECISIONS && `differs: only ${decisions.join(", ")} asks for more; with STRICT_DECISIONS in implementation.test.js it fails`,
    }[status];
    test(id, { todo }, (context) => {
      selected.push(result);
      if (status === "undetermined") context.skip(reason);
      if (isFailing(result, SETTINGS)) fail(describe(result));
    });
  }
  after((context) => summarize(bundle, selected, SETTINGS).forEach((line) => context.diagnostic(line)));
}
