/**
 * Runs the vectors of a bundle against an implementation in this process, with the verdicts of `peerproof run`.
 *
 * docs/how-to/run-without-python.md shows how to plug one in, docs/reference/bundle.md describes bundles.
 */

import { runCases } from "./cases.mjs";
import { handler } from "./extras/adapter.mjs";
import { checkReadings } from "./extras/readings.mjs";
import { Recorder } from "./extras/recorder.mjs";

export { load } from "./cases.mjs";
export { Unsupported, serve } from "./extras/adapter.mjs";
export { loadKnownFailing } from "./extras/known-failing.mjs";
export { unconfirmed } from "./extras/readings.mjs";
export { describe, isViolation } from "./extras/text.mjs";

/**
 * Yields the result of each case: {id, vector, status, failure, decisions, difference, reason, readings, input, happened}. `known` is a
 * list of expected failures (loadKnownFailing).
 */
export function* run(bundle, implementation, known) {
  checkReadings(bundle, implementation);
  const recorder = new Recorder(handler(implementation));
  for (const result of runCases(bundle, implementation, recorder.handle)) {
    const isRead = result.difference !== undefined && implementation.capabilities.includes("codec");
    const shown = { ...result, ...recorder.take(isRead ? bundle.protocol : null) };
    yield known ? known.applyTo(shown) : shown;
  }
}
