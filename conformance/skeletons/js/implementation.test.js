/**
 * Every case of the suite, of all protocols, as a test of Node's own runner: `node --test`, or `node --test
 * --test-name-pattern=/codec` for some of them.
 *
 * A case that `known-failing.txt` lists is shown as TODO as long as it fails as listed. If it passes, its test fails, and says which
 * line to delete. There is nothing to fill in here.
 */

import assert from "node:assert/strict";
import test from "node:test";

import { implementations } from "./implementations.js";
import { describe, isViolation, load, loadKnownFailing, run, unconfirmed } from "./vectors/runner.mjs";

/**
 * Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram does
 * no harm. Otherwise it differs, and is shown as TODO.
 */
const STRICT = false;

const bundles = implementations.map(({ protocol, parse }) => load(new URL(`vectors/${protocol}.json.gz`, import.meta.url), parse));
const known = loadKnownFailing(new URL("known-failing.txt", import.meta.url), bundles);

for (const problem of known.problems) {
  test(problem, () => assert.fail(problem));
}
for (const [index, bundle] of bundles.entries()) {
  const results = [...run(bundle, implementations[index], known)];
  for (const problem of unconfirmed(implementations[index], results)) {
    test(problem, () => assert.fail(problem));
  }
  for (const result of results) {
    const skip = ["skipped", "undetermined"].includes(result.status) && result.reason;
    const differs = result.status === "differs" && `differs: only ${result.decisions.join(", ")} asks for more`;
    const todo = (result.status === "known" && `known to fail: ${result.reason}`) || (!STRICT && differs);
    test(result.id, { skip, todo }, () => {
      assert.ok(!isViolation(result) && !differs, describe(bundle, result));
    });
  }
}
