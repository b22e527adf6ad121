#!/usr/bin/env node
/**
 * The adapter: serves the codec to the suite's runner over standard input and output (docs/how-to/write-an-adapter.md).
 *
 *     peerproof run swim -k layer:codec --impl 'node conformance/adapters/swim-js/adapter.mjs'
 */

import { serve } from "../../runners/javascript/runner.mjs";
import { implementation } from "./plug.mjs";

await serve(implementation);
