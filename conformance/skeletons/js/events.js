/**
 * 2. Events: what happens to a node, and how it reacts. Call your implementation's node here.
 *
 * Every event carries the time: a node reads no clock, sets no timeout and has no socket. Times are whole milliseconds.
 */

import { NotWritten } from "./errors.js";

/**
 * The capabilities of this file. Add "exchange" once `receive` and `advance` are written, "api.NAME" for each name that `call`
 * knows, "events" if the node reports events, "restart" if a node can crash and start again, and "sent", "stream" and
 * "state.load" for the last three methods.
 */
export const CAPABILITIES = [];

/** One node, independent of all others in the process. */
export class Node {
  /** The time of its next timer; null if none runs. */
  nextTimer = null;

  /**
   * Starts the node. Missing members of `config` have the protocol's defaults. For random choices, seed the generator with `seed`,
   * or ask `choices`.
   */
  constructor({ addr, config, seed, now, effects, choices }) {}

  /** Handles a message, a Buffer. May throw Malformed. */
  receive({ from, data, now, effects }) {}

  /** Runs all timers that are due up to `now`, included, and sets nextTimer. */
  advance({ now, effects }) {}

  /** Handles a call of the application. Throws Refused. */
  call({ name, args, now, effects }) {
    throw new NotWritten(`there is no call ${name} yet`);
  }

  /** Handles the outcome of a message that the node sent: its microseconds, or null if it did not arrive. Claim "sent". */
  settle({ to, data, tookUs, now, effects }) {
    throw new NotWritten("outcomes of messages are not written yet");
  }

  /**
   * Handles an event of a connection that a peer opened: "open", "data" (perhaps a part of a message), "eof" or "reset". Answer
   * with effects.reply and effects.close. Claim "stream".
   */
  onConnection({ conn, event, data, now, effects }) {
    throw new NotWritten("connections are not written yet");
  }

  /** Returns a node in this state, in which exactly these timers run. Loading has no effects. Claim "state.load". */
  static load({ addr, config, seed, state, timers, now, choices }) {
    throw new NotWritten("load is not written yet");
  }
}
