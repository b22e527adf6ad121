/**
 * The adapter: through this program `peerproof run`, `fuzz` and `doctor` reach your implementation.
 *
 * There is nothing to fill in here. Standard output is for replies: whatever your implementation logs belongs on standard error
 * (console.error).
 */

import { implementations } from "./implementations.js";
import { serve } from "./vectors/runner.mjs";

await serve(...implementations);
