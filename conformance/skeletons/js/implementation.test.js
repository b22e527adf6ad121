/**
 * Every case of the suite as a test of Node's own runner: `node --test`, or `node --test --test-name-pattern=scuttlebutt/codec` for
 * some of them.
 *
 * A case that `known-failing.txt` lists is shown as TODO as long as it fails as listed. If it passes, its test fails, and says which
 * line to delete. There is nothing to fill in here.
 */

import assert from "node:assert/strict";
import test from "node:test";

import { implementation } from "./implementation.js";
import { describe, isViolation, load, loadKnownFailing, run, unconfirmed } from "./vectors/runner.mjs";

const bundle = load(new URL("vectors/scuttlebutt.json.gz", import.meta.url), implementation.parse);
/**
 * Whether a case fails also where no document but only a decision of the suite demands more, such as that a malformed datagram does
 * no harm. Otherwise it differs, and is shown as TODO.
 */
const STRICT = false;

const known = loadKnownFailing(new URL("known-failing.txt", import.meta.url), bundle);

for (const problem of known.problems) {
  test(problem, () => assert.fail(problem));
}
const results = [...run(bundle, implementation, known)];
for (const problem of unconfirmed(implementation, results)) {
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
