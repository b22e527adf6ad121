/**
 * 2. Events: what happens to a node, and what it does then. Call your implementation's node here.
 *
 * Time is in every event: a node reads no clock, sets no timeout and has no socket. Times are integers of milliseconds.
 */

import { NotWritten } from "./errors.js";

/**
 * What of this is claimed: add "exchange" once a node takes messages and time, then "api.NAME" for each call that it knows,
 * "events" if it tells its application what happens, "restart" if it may crash and begin again.
 */
export const CAPABILITIES = [];

/** One node. It knows nothing of others in the same process. */
export class Node {
  /** When it wants to do something by itself; null if never. */
  nextTimer = null;

  /** Starts. The protocol's defaults hold for what `config` leaves out; seed what it draws by lot with `seed`. */
  constructor({ addr, config, seed, now, effects }) {}

  /** A message, a Buffer, comes in. May throw Malformed. */
  receive({ from, data, now, effects }) {}

  /** It is `now`: do what is due up to and including this moment, and set nextTimer. */
  advance({ now, effects }) {}

  /** The application asks for something. Throws Refused. */
  call({ name, args, now, effects }) {
    throw new NotWritten(`there is no call ${name} yet`);
  }

  /** It learns of a message that it has sent: how many microseconds it took, or null if it did not arrive. Claim "sent". */
  settle({ to, data, tookUs, now, effects }) {
    throw new NotWritten("outcomes of messages are not written yet");
  }
}
