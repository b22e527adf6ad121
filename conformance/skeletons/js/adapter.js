/**
 * The adapter: reads requests from standard input and writes replies to standard output, one JSON object a line.
 *
 * There is nothing to fill in here. It starts with `node adapter.js`; whatever your implementation logs belongs on standard error
 * (console.error).
 */

import process from "node:process";

import { CHOICES, Choices } from "./choices.js";
import * as codec from "./codec.js";
import { Effects } from "./effects.js";
import { Malformed, NotWritten, Refused } from "./errors.js";
import * as events from "./events.js";
import { readLine, writeLine } from "./lines.js";
import * as queries from "./queries.js";

const NAME = "my-node";
const VERSION = "0.1.0";
const PROTOCOL = "scuttlebutt";
const TRANSPORT = "udp";

/** The adapter cannot carry out a request; the code is one of the adapter protocol's error codes. */
class Trouble extends Error {
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

/** The node of each handle, null after a crash, and how it was opened. */
const lives = new Map();
let opened = 0;
const choices = new Choices();

function begin(life, config, now) {
  const effects = new Effects(TRANSPORT);
  life.node = new events.Node({ addr: life.addr, config, seed: life.seed, now, effects, choices });
  return outcome(life.node, effects);
}

function conceived({ protocol, addr, config = {}, seed = "" }) {
  ours(protocol);
  if (addr === undefined) {
    throw new Trouble("bad_request", "a node needs an address");
  }
  return { addr, config, seed, node: null };
}

function kept(life, begun) {
  opened += 1;
  lives.set(opened, life);
  return { handle: opened, ...begun };
}

function lifeOf(handle) {
  if (!lives.has(handle)) {
    throw new Trouble("no_handle", `there is no handle ${handle}`);
  }
  return lives.get(handle);
}

function running(handle) {
  const { node } = lifeOf(handle);
  if (node === null) {
    throw new Trouble("no_handle", `the node of handle ${handle} has crashed`);
  }
  return node;
}

function ours(protocol) {
  if (protocol !== PROTOCOL) {
    throw new Trouble("unsupported", `there is no ${protocol} here`);
  }
}

/** Bytes from their hexadecimal digits. */
function octets(digits) {
  if (typeof digits !== "string") {
    throw new Trouble("bad_request", "there are no bytes");
  }
  return Buffer.from(digits, "hex");
}

/** Returns the effects of a node, and the time of its next timer. */
const outcome = (node, effects) => ({ effects: effects.done, next_timer_ms: node.nextTimer });

const OPS = {
  /** Returns the name of the implementation, and its capabilities. */
  hello({ protocol: [least, most] }) {
    if (least > 1 || most < 1) {
      throw new Trouble("version", `this adapter speaks version 1, not ${least} to ${most}`);
    }
    const capabilities = [...codec.CAPABILITIES, ...events.CAPABILITIES, ...queries.CAPABILITIES];
    return {
      protocol: 1,
      name: NAME,
      version: VERSION,
      language: `JavaScript, Node ${process.versions.node}`,
      protocols: { [PROTOCOL]: { capabilities } },
      choices: CHOICES,
    };
  },

  encode({ protocol, value }) {
    ours(protocol);
    return { bytes: Buffer.from(codec.encode(value)).toString("hex") };
  },

  /** Decodes a message. Malformed bytes are a result, not an error. */
  decode({ protocol, bytes }) {
    ours(protocol);
    const data = octets(bytes);
    try {
      return { value: codec.decode(data) };
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return { rejected: { class: error.reason, message: error.message } };
    }
  },

  open(request) {
    const life = conceived(request);
    return kept(life, begin(life, life.config, request.now_ms));
  },

  /** Loads a node with a state. */
  load(request) {
    const life = conceived(request);
    const { state, timers = [], now_ms: now } = request;
    life.node = events.Node.load({ ...life, state, timers, now, choices });
    return kept(life, outcome(life.node, new Effects(TRANSPORT)));
  },

  /** Handles a message; a malformed one is dropped. */
  recv({ handle, from, bytes, now_ms: now }) {
    const [node, effects] = [running(handle), new Effects(TRANSPORT)];
    try {
      node.receive({ from, data: octets(bytes), now, effects });
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      console.error(`${NAME}: dropped a message: ${error.message}`);
    }
    return outcome(node, effects);
  },

  advance({ handle, now_ms: now }) {
    const [node, effects] = [running(handle), new Effects(TRANSPORT)];
    node.advance({ now, effects });
    return outcome(node, effects);
  },

  /** Handles a call of the application, which may be refused. */
  call({ handle, name, args, now_ms: now }) {
    const [node, effects] = [running(handle), new Effects(TRANSPORT)];
    try {
      node.call({ name, args, now, effects });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { ...outcome(node, effects), refused: { class: error.reason, message: error.message } };
    }
    return outcome(node, effects);
  },

  /** Handles the outcome of a message that the node sent. */
  sent({ handle, to, bytes, took_us: tookUs, now_ms: now }) {
    const [node, effects] = [running(handle), new Effects(TRANSPORT)];
    node.settle({ to, data: octets(bytes), tookUs, now, effects });
    return outcome(node, effects);
  },

  /** Handles an event of a connection that a peer opened. */
  stream({ handle, conn, event, bytes = "", now_ms: now }) {
    const [node, effects] = [running(handle), new Effects(TRANSPORT)];
    try {
      node.onConnection({ conn, event, data: octets(bytes), now, effects });
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      console.error(`${NAME}: dropped a message: ${error.message}`);
    }
    return outcome(node, effects);
  },

  query: ({ handle, what, args = {} }) => ({ value: queries.answer(running(handle), what, args) }),

  /** A node is gone; its handle is not. */
  crash({ handle }) {
    lifeOf(handle).node = null;
    return {};
  },

  /** Starts a crashed node again; the configuration has what a real node keeps on disk. */
  restart({ handle, config = {}, now_ms: now }) {
    const life = lifeOf(handle);
    return begin(life, { ...life.config, ...config }, now);
  },

  close({ handle }) {
    lifeOf(handle);
    lives.delete(handle);
    return {};
  },

  batch: ({ items }) => ({ results: items.map(answer) }),

  bye: () => ({}),
};

/** Returns the reply without its id. Every request gets a reply, even if the implementation throws. */
function answer(request) {
  if (request.id !== undefined) choices.begin(request.id); // also an item of a batch, if it may ask
  try {
    if (!Object.hasOwn(OPS, request.op)) {
      throw new Trouble("unknown_op", `there is no op ${request.op}`);
    }
    return { ok: true, ...OPS[request.op](request) };
  } catch (error) {
    if (error instanceof Trouble) {
      return { error: { code: error.code, message: error.message } };
    }
    if (error instanceof NotWritten) {
      return { error: { code: "unsupported", message: error.message } };
    }
    console.error(error);
    return { error: { code: "panic", message: String(error) } };
  }
}

for (let line = readLine(); line !== null; line = readLine()) {
  const request = JSON.parse(line);
  writeLine({ id: request.id, ...answer(request) });
  if (request.op === "bye") break;
}
