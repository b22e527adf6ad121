/**
 * Serves an implementation over adapter protocol 1 (docs/how-to/write-an-adapter.md), so that `peerproof run`, `fuzz` and `doctor`
 * reach the same one. It reads requests from standard input and writes replies to standard output; logs belong on standard error.
 */

import { ordered } from "./choices.mjs";
import { ERRORS, Unsupported, invoke } from "./failure.mjs";
import { awaitLine, readLine, writeLine } from "./lines.mjs";

const PROTOCOL = 1;
const NOT_IN_A_BATCH = ["hello", "batch", "bye"];

/** The adapter cannot carry out a request; the code is one of the protocol's. */
class RequestError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * Answers requests until `bye`, or the end of the input. There may be implementations of several protocols: name and version are those
 * of the first, and so is `parse`, of those that have it.
 */
export async function serve(...implementations) {
  const server = new Server(implementations);
  const parse = implementations.find((each) => each.parse)?.parse ?? JSON.parse;
  for (let line = await awaitLine(); line !== null; line = await awaitLine()) {
    const request = requestOf(line, parse);
    writeLine(rendered(request?.id ?? null, await server.answer(request)));
    if (request?.op === "bye") break;
  }
  server.close(); // or open sockets would keep the program alive
}

/** The request of a line; null if it has none. */
function requestOf(line, parse) {
  try {
    const request = parse(line);
    return typeof request === "object" && !Array.isArray(request) ? request : null;
  } catch {
    return null;
  }
}

const trouble = (code, message) => ({ error: { code, message } });

/** A reply as JSON, which may not be able to hold what the implementation has returned. */
function rendered(id, reply) {
  try {
    return JSON.stringify({ id, ...reply });
  } catch (error) {
    return JSON.stringify({ id, ...trouble("panic", `this is no JSON: ${error.message}`) });
  }
}

class Server {
  #lives = new Map(); // handle → {node, via, isUp}
  #opened = 0;
  #asking = { id: null, n: 0 }; // the request that is being answered, and the number of its questions

  constructor(implementations) {
    this.implementations = implementations;
  }

  /** The reply to a request without its id. Every request gets one, whatever the implementation throws. */
  async answer(request) {
    if (request === null) return trouble("bad_request", "the line is not a JSON object");
    this.#asking = { id: request.id ?? null, n: 0 };
    try {
      if (!Object.hasOwn(OPS, request.op)) throw new RequestError("unknown_op", `there is no op ${request.op}`);
      return { ok: true, ...(await OPS[request.op](this, request)) };
    } catch (error) {
      const { code, message, stack } = error ?? {};
      return ERRORS.includes(code) ? trouble(code, message) : trouble("panic", String(stack ?? error));
    }
  }

  /** Asks the runner for a random choice in the middle of a request; waits for the answer. */
  choose = (site, kind, among, some) => {
    const options = ordered(among);
    if (options.length < 2) return options;
    this.#asking.n += 1;
    const { id, n } = this.#asking;
    writeLine(JSON.stringify({ choice: { for: id, n, kind, site, of: options, ...(kind === "sample" && { some }) } }));
    const { choice } = JSON.parse(readLine());
    return choice.pick.map((index) => options[index]);
  };

  of(protocol) {
    const implementation = this.implementations.find((each) => each.protocol === protocol);
    if (!implementation) throw new Unsupported(`there is no ${protocol} here`);
    return implementation;
  }

  keep(node, via) {
    this.#opened += 1;
    this.#lives.set(this.#opened, { node, via, isUp: true });
    return this.#opened;
  }

  life(handle) {
    const life = this.#lives.get(handle);
    if (!life) throw new RequestError("no_handle", `there is no handle ${JSON.stringify(handle)}`);
    return life;
  }

  node(handle) {
    const { node, isUp } = this.life(handle);
    if (!isUp) throw new RequestError("no_handle", `the node of handle ${JSON.stringify(handle)} has crashed`);
    return node;
  }

  /** What a node does about a request. */
  act(handle, method, now, ...args) {
    const reaction = invoke(this.node(handle), method, instant(now), ...args);
    return this.reacted(this.life(handle).via, reaction);
  }

  reacted(via, { effects = [], nextTimer = null, refused }) {
    const shown = effects.map(({ send, stream, event }) => {
      if (send) return { send: { via, to: send.to, bytes: digits(send.bytes) } };
      return stream ? { stream: { ...stream, bytes: stream.bytes && digits(stream.bytes) } } : { event };
    });
    return { effects: shown, next_timer_ms: nextTimer, refused };
  }

  open({ protocol, case: id, node: name, addr, config = {}, now_ms: now, seed = "", state, timers }) {
    const implementation = this.of(protocol);
    if (addr === undefined) throw new RequestError("bad_request", "a node needs an address");
    const about = { id, name, addr, now: instant(now), config, seed, state, timers };
    const [node, reaction] = invoke(implementation, "open", about, this.choose);
    const via = implementation.transport;
    return { handle: this.keep(node, via), ...this.reacted(via, reaction) };
  }

  forget(handle) {
    this.life(handle).node.close?.();
    this.#lives.delete(handle);
  }

  close() {
    for (const handle of this.#lives.keys()) this.forget(handle);
  }
}

const digits = (bytes) => Buffer.from(bytes).toString("hex");

function bytesOf(text) {
  if (typeof text === "string" && /^([0-9a-f]{2})*$/.test(text)) return Buffer.from(text, "hex");
  throw new RequestError("bad_request", `expected "bytes", pairs of hexadecimal digits: ${JSON.stringify(text)?.slice(0, 80)}`);
}

function instant(now) {
  if (Number.isSafeInteger(now)) return now;
  throw new RequestError("bad_request", `expected "now_ms", an integer of milliseconds: ${JSON.stringify(now)}`);
}

const OPS = {
  hello({ implementations }, { protocol: [least, most] }) {
    if (PROTOCOL < least || PROTOCOL > most) {
      throw new RequestError("version", `this adapter speaks protocol ${PROTOCOL}, not ${least} to ${most}`);
    }
    const [{ name, version = "0", language = `JavaScript, Node ${process.versions.node}`, choices }, ...others] = implementations;
    const protocols = {};
    for (const { protocol, capabilities, events, limits, choices: own = "set" } of implementations) {
      protocols[protocol] = { capabilities, events, limits, choices: others.length > 0 ? own : undefined };
    }
    const serving = implementations.every((each) => each.sockets) ? implementations : [];
    const sockets = serving.length > 0 ? [...new Set(serving.flatMap((each) => each.sockets))] : undefined;
    const declaring = implementations.filter((each) => each.readings);
    const readings = declaring.length > 0 ? Object.assign({}, ...declaring.map((each) => each.readings)) : undefined;
    return { protocol: PROTOCOL, name, version, language, protocols, choices, sockets, readings };
  },

  decode(server, { protocol, bytes }) {
    return invoke(server.of(protocol), "decode", bytesOf(bytes));
  },

  encode(server, { protocol, value }) {
    const { bytes, rejected } = invoke(server.of(protocol), "encode", value);
    return rejected ? { rejected } : { bytes: digits(bytes) };
  },

  open: (server, request) => server.open({ ...request, state: undefined, timers: undefined }),

  load: (server, request) => server.open({ timers: [], ...request }),

  recv: (server, { handle, now_ms: now, from, bytes }) => server.act(handle, "receive", now, from, bytesOf(bytes)),

  advance: (server, { handle, now_ms: now }) => server.act(handle, "advance", now),

  call: (server, { handle, now_ms: now, name, args = {} }) => server.act(handle, "call", now, name, args),

  sent: (server, { handle, now_ms: now, to, bytes, took_us: took }) => server.act(handle, "sent", now, to, bytesOf(bytes), took),

  stream(server, { handle, now_ms: now, conn, event, bytes }) {
    return server.act(handle, "stream", now, { conn, event, bytes: bytes === undefined ? undefined : bytesOf(bytes) });
  },

  query: (server, { handle, what, args = {} }) => ({ value: invoke(server.node(handle), "query", what, args) }),

  /** The handle stays valid for `restart` and `close`. */
  crash(server, { handle }) {
    invoke(server.node(handle), "crash");
    server.life(handle).isUp = false;
  },

  restart(server, { handle, now_ms: now, config = {} }) {
    const life = server.life(handle);
    const reaction = invoke(life.node, "restart", instant(now), config);
    life.isUp = true;
    return server.reacted(life.via, reaction);
  },

  close: (server, { handle }) => server.forget(handle),

  /** Starts a node on a socket and a clock of its own, for a runner that plays its peers with sockets. */
  async serve(server, { protocol, via, bind, config = {} }) {
    if (!server.implementations.some((each) => each.serve)) throw new RequestError("unknown_op", "there is no op serve");
    const implementation = server.of(protocol);
    if (!implementation.serve) throw new Unsupported(`there is no op serve of ${protocol}`);
    const [node, addrs] = await implementation.serve({ via, bind, config });
    return { handle: server.keep(node, implementation.transport), addrs };
  },

  /** Each item has an id of its own, which is what a question in the middle of the batch is for. */
  async batch(server, { items }) {
    const results = [];
    for (const item of items) {
      const isOne = !NOT_IN_A_BATCH.includes(item?.op);
      results.push(isOne ? await server.answer(item) : trouble("unknown_op", `there is no op ${item.op} in a batch`));
    }
    return { results };
  },

  bye: () => ({}),
};
