/**
 * The plug of scuttlebutt: what the suite can do with your implementation. Call your own code here, and nowhere else: the tests
 * (implementation.test.js) and the adapter (main.js) both use this file.
 *
 * Fill in one part after the other, and claim its capability in `capabilities`, at the end of the file. Cases that need what is not
 * claimed are skipped. Throw Unsupported for what your implementation cannot do.
 *
 * Data has the plain form of the suite: an integer of 64 bits is a string of decimal digits, read with BigInt(…); a text is a string,
 * or {hex: "fffe"} if its bytes are not UTF-8: `Text` of vectors/runner.mjs has `Text.plain(bytes)` and `Text.bytes(plain)`. Bytes
 * are Buffers.
 */

import { Unsupported } from "./vectors/runner.mjs";

/** @typedef {import("./vectors/implementation.mjs").Reaction} Reaction */

/**
 * 1. The codec: bytes to a message. A message is an object with its `type` and its members: `peerproof vectors show` of a vector of
 * the codec prints one above its bytes.
 *
 * @param {Buffer} bytes
 */
function decode(bytes) {
  // Return { value: message }. Malformed bytes are a result too; the classes are truncated, trailing, bad_type, bad_length, bad_value,
  // too_large and other. Any class passes, unless a vector fixes one.
  return { rejected: { class: "other", message: `decode is not written yet; there are ${bytes.length} bytes` } };
}

/**
 * The codec: a message to bytes.
 *
 * @param {{type: string}} message
 * @returns {{bytes: Uint8Array}}
 */
function encode(message) {
  // Return { bytes }, or { rejected: { class, message } } if there is no such message.
  throw new Unsupported(`encode is not written yet; asked for ${message.type}`);
}

/**
 * 2. Events: what happens to a node, and how it reacts. Every event has the time, in whole milliseconds: a node reads no clock, sets
 * no timeout and has no socket.
 */
class Node {
  /**
   * A new node, independent of all others. Missing members of `config` have the protocol's defaults.
   *
   * For random choices, seed a generator with `seed`. Or let the suite choose, so that vectors that fix a choice apply too: call
   * `choose(site, kind, options)` where the protocol says "at random", and set `choices` below to "oracle". It returns the chosen
   * options in the order to use: with kind "one" a list of one, with "permutation" all of them; with "sample" as many as a further
   * argument says. The page "Adapters" has the sites.
   *
   * With `state`, the node starts in this state, in which exactly these timers run: [{timer: {type}, due_ms}]. Claim "state.load" and
   * "observe.state" if your implementation can do that.
   *
   * @param {import("./vectors/implementation.mjs").About} about
   * @param {import("./vectors/implementation.mjs").Choose} choose
   */
  constructor({ addr, config, seed, now, state, timers }, choose) {
    if (state) throw new Unsupported("a node in a given state is not written yet");
  }

  /**
   * What the node has done since the last event: its effects, in order, and the time of its next timer, null if none runs.
   *
   * An effect is one of {send: {to, bytes}}, a message; {event: {name, …}}, reported to the application (claim "events");
   * {stream: {conn, event: "data", bytes}} and {stream: {conn, event: "close"}}, on a connection that a peer has opened.
   *
   * @returns {Reaction}
   */
  reaction() {
    return { effects: [], nextTimer: null };
  }

  /** Handles a message; a malformed one is dropped. */
  receive(now, from, bytes) {
    return this.reaction();
  }

  /** Runs all timers that are due up to `now`, included, each as at the time when it was due. */
  advance(now) {
    return this.reaction();
  }

  /**
   * Handles a call of the application. Claim "api.NAME". If it is refused: {...this.reaction(), refused: {class, message}}.
   *
   * @returns {Reaction}
   */
  call(now, name, args) {
    throw new Unsupported(`there is no call ${name} yet`);
  }

  /** 3. Queries: what can be seen of a node from outside, in plain form. A query changes nothing. Claim "observe.NAME". */
  query(name, args) {
    throw new Unsupported(`there is no query ${name} yet`);
  }

  /** 4. More parts: with each, more vectors apply. The node ends, without a last message. Claim "restart". */
  crash() {
    throw new Unsupported("crash is not written yet");
  }

  /**
   * It starts again, with these changes to its configuration and nothing else kept.
   *
   * @returns {Reaction}
   */
  restart(now, config) {
    throw new Unsupported("restart is not written yet");
  }

  /**
   * A message that the node sent arrived after `took` microseconds, or, with null, did not. Claim "sent".
   *
   * @returns {Reaction}
   */
  sent(now, to, bytes, took) {
    throw new Unsupported("outcomes of messages are not written yet");
  }

  /**
   * A peer has opened the connection `conn`, or there is "data", perhaps a part of a message, "eof" or "reset". Claim "stream".
   *
   * @returns {Reaction}
   */
  stream(now, { conn, event, bytes }) {
    throw new Unsupported("connections are not written yet");
  }
}

/** @type {import("./vectors/implementation.mjs").Implementation} */
export const implementation = {
  name: "my-node",
  version: "0.1.0",
  protocol: "scuttlebutt",
  transport: "udp",

  /** "codec" is claimed from the start, so that there is something to check. Next is "exchange", for `receive` and `advance`. */
  capabilities: ["codec"],

  /** "set" if the implementation makes its own random choices, "oracle" if it calls `choose` for every one. */
  choices: "set",

  decode,
  encode,

  /** Opens a node; returns it and its first reaction. */
  open(about, choose) {
    const node = new Node(about, choose);
    return [node, node.reaction()];
  },

  // 5. Optional: your own event loop, timers and sockets, for `peerproof run --transport`. Write `sockets: ["udp"]`, and
  // `async serve({ via, bind, config })`, which starts a node that listens at `bind` (HOST:PORT) and returns [node, { udp: address }].
  // It has `call` and `query` as above, `advance`, which only returns the events since the last reaction, and `close`.
};
