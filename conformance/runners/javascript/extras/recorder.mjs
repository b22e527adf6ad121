/** Keeps what happened in a case, for the text of its failure. */

import { MOST_EVENTS, asJson, cut, word } from "./text.mjs";

export class Recorder {
  #case; // whose nodes are open
  #nodes = new Map(); // the address of a node and its next timer, by handle
  #happened = [];
  #input; // of the codec

  constructor(handle) {
    this.inner = handle;
  }

  /** Returns what happened since the last case: {happened, input}; messages with their types, if a protocol is given. */
  take(protocol) {
    const taken = { happened: this.#happened, input: this.#case ? undefined : this.#input };
    const shown = protocol ? this.#happened.slice(-MOST_EVENTS) : [];
    for (const event of shown) event.type = event.digits && this.#typeOf(protocol, event.digits);
    this.#case = undefined;
    this.#happened = [];
    return taken;
  }

  /** Answers a request, and keeps what it says. */
  handle = (request, choose) => {
    if (request.case !== undefined && request.case !== this.#case) {
      this.#case = request.case;
      this.#happened = [];
    }
    const node = this.#nodes.get(request.handle) ?? { addr: request.addr };
    const note = (what, digits) => this.#happened.push({ at: request.now_ms ?? node.now ?? 0, node: word(node.addr), what, digits });
    this.#noteRequest(request, node, note);
    const reply = this.inner(request, choose);
    if (reply.handle !== undefined) this.#nodes.set(reply.handle, node);
    Object.assign(node, { timer: reply.next_timer_ms, now: request.now_ms ?? node.now });
    for (const { send, stream, event } of reply.effects ?? []) {
      if (send) note(`-> ${word(send.to)}`, send.bytes);
      if (stream?.event === "data") note(` writes on connection ${stream.conn}: ${cut(stream.bytes)}`);
      else if (stream) note(` closes connection ${stream.conn}`);
      if (event) note(` reports ${asJson(event)}`);
    }
    if (reply.refused) note(` refuses ${asJson(reply.refused)}`);
    return reply;
  };

  /** What the implementation says that a message is; undefined if it does not. */
  #typeOf(protocol, bytes) {
    return this.inner({ op: "decode", protocol, bytes }).value?.type;
  }

  #noteRequest(request, node, note) {
    const { op, from, to, bytes, value, name, args, config, now_ms: now, took_us: took, conn, event } = request;
    const arrived = took === null ? "did not arrive" : "arrived";
    const lines = {
      open: () => note(" opened"),
      load: () => note(" opened in a given state"),
      recv: () => note(`<- ${word(from)}`, bytes),
      advance: () => note(node.timer === now ? " timer" : " advanced"),
      call: () => note(` call ${name} ${asJson(args)}`),
      sent: () => note(` heard that the message to ${word(to)} ${arrived}`),
      stream: () => note(` connection ${asJson(bytes === undefined ? { conn, event } : { conn, event, bytes })}`),
      crash: () => note(" crashed"),
      restart: () => note(` restarted${config ? ` ${asJson(config)}` : ""}`),
      decode: () => (this.#input = `decode ${bytes}`),
      encode: () => (this.#input = `encode ${asJson(value)}`),
    };
    lines[op]?.();
  }
}
