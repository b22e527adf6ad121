/** The vectors of Scuttlebutt as tests of Node's own runner: node --test conformance/runners/javascript */

import assert from "node:assert/strict";
import test from "node:test";

import { implementation } from "../../adapters/scuttlebutt-js/plug.mjs";
import { describe, isViolation, load, run } from "./runner.mjs";

const bundle = load(new URL("testdata/scuttlebutt.json", import.meta.url));

for (const result of run(bundle, implementation)) {
  test(result.id, { skip: result.status === "skipped" && result.reason }, () => {
    assert.ok(!isViolation(result), describe(bundle, result));
  });
}
