/**
 * Every case of the suite as a test of Node's own runner: `node --test`.
 *
 * A case that `known-failing.txt` lists is shown as TODO as long as it fails as listed. If it passes, its test fails, and says which
 * line to delete. There is nothing to fill in here.
 */

import assert from "node:assert/strict";
import test from "node:test";

import { implementation } from "./implementation.js";
import { describe, isViolation, load, loadKnownFailing, run } from "./vectors/runner.mjs";

const bundle = load(new URL("vectors/scuttlebutt.json.gz", import.meta.url), implementation.parse);
const known = loadKnownFailing(new URL("known-failing.txt", import.meta.url), bundle);

for (const problem of known.problems) {
  test(problem, () => assert.fail(problem));
}
for (const result of run(bundle, implementation, known)) {
  const skip = ["skipped", "undetermined"].includes(result.status) && result.reason;
  const todo = result.status === "known" && `known to fail: ${result.reason}`;
  test(result.id, { skip, todo }, () => {
    assert.ok(!isViolation(result), describe(bundle, result));
  });
}
