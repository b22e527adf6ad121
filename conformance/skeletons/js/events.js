/**
 * 2. Events: what happens to a node, and what it does then. Call your implementation's node here.
 *
 * Time is in every event: a node reads no clock, sets no timeout and has no socket. Times are integers of milliseconds.
 */

import { NotWritten } from "./errors.js";

/**
 * What of this is claimed: add "exchange" once a node takes messages and time, then "api.NAME" for each call that it knows,
 * "events" if it tells its application what happens, "restart" if it may crash and begin again,
 * "sent", "stream" and "state.load" for the last three methods.
 */
export const CAPABILITIES = [];

/** One node. It knows nothing of others in the same process. */
export class Node {
  /** When it wants to do something by itself; null if never. */
  nextTimer = null;

  /**
   * Starts. The protocol's defaults hold for what `config` leaves out; seed what it draws by lot with `seed`, or ask `choices`.
   */
  constructor({ addr, config, seed, now, effects, choices }) {}

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

  /**
   * A connection that a peer has opened: "open", "data" (perhaps a part of a message), "eof", "reset". Answer with effects.reply
   * and effects.close. Claim "stream".
   */
  onConnection({ conn, event, data, now, effects }) {
    throw new NotWritten("connections are not written yet");
  }

  /** One in this state, where these timers run and no others; it does nothing by that. Claim "state.load". */
  static load({ addr, config, seed, state, timers, now, choices }) {
    throw new NotWritten("load is not written yet");
  }
}
