#!/usr/bin/env node
/**
 * The adapter: serves the port to the suite's runner over standard input and output (docs/how-to/write-an-adapter.md).
 *
 *     peerproof run scuttlebutt --impl 'node conformance/adapters/scuttlebutt-js/adapter.mjs'
 */

import { serve } from "../../runners/javascript/runner.mjs";
import { implementation } from "./plug.mjs";

await serve(implementation);
