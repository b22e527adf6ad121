#!/usr/bin/env node
/**
 * The adapter: requests of the suite's runner on standard input, replies on standard output (docs/how-to/write-an-adapter.md).
 * It translates, and decides nothing.
 *
 *     peerproof run --protocol scuttlebutt --impl 'node conformance/adapters/scuttlebutt-js/adapter.mjs'
 */

import { MAX_TEXT, MAX_VERSION, Malformed, decode, encode } from "./codec.mjs";
import { readLine, writeLine } from "./lines.mjs";
import { Node, Refused } from "./node.mjs";
import * as plain from "./plain.mjs";

const PROTOCOL = 1;
const QUERIES = { peers: plain.peers, view: plain.view, status: plain.status, state: plain.state };
const CAPABILITIES = ["codec", "exchange", "api.update_local", "events", "restart", "state.load"];

// ---- chance: the runner decides --------------------------------------------------------------------------------------

const asking = { id: null, n: 0 }; // the request that is being answered, and how many questions it has asked

/** Asks the runner in the middle of a request; it answers with indices into the options. */
function pick(site, kind, options) {
  asking.n += 1;
  writeLine({ choice: { for: asking.id, n: asking.n, kind, site, of: options.map(plain.textToPlain) } });
  const { choice } = JSON.parse(readLine());
  return choice.pick.map((index) => options[index]);
}

// ---- the nodes under test --------------------------------------------------------------------------------------------

const lives = new Map(); // from a handle to {addr, config, node}; a crashed one has no node
let handles = 0;

function born({ protocol, addr, config, now_ms: now }) {
  ours(protocol);
  const life = { addr: plain.textFromPlain(addr), config: config ?? {} };
  begin(life, life.config, now);
  handles += 1;
  lives.set(handles, life);
  return { handle: handles, node: life.node };
}

function begin(life, config, now) {
  life.node = new Node(life.addr, plain.configFromPlain(config), instant(now), pick);
}

function lifeOf(handle) {
  if (!lives.has(handle)) {
    throw new plain.Trouble("no_handle", `there is no node ${JSON.stringify(handle)}`);
  }
  return lives.get(handle);
}

function nodeOf(handle) {
  const { node } = lifeOf(handle);
  if (node === null) {
    throw new plain.Trouble("bad_request", `node ${handle} has crashed`);
  }
  return node;
}

function ours(protocol) {
  if (protocol !== "scuttlebutt") {
    throw new plain.Trouble("unsupported", `there is no ${protocol} here`);
  }
}

function instant(now) {
  if (!Number.isSafeInteger(now)) {
    throw new plain.Trouble("bad_request", `expected "now_ms", an integer of milliseconds: ${JSON.stringify(now)}`);
  }
  return now;
}

const acted = (node, effects) => ({ effects: effects.map(plain.effectToPlain), next_timer_ms: node.roundDue });

// ---- the ops ---------------------------------------------------------------------------------------------------------

const OPS = {
  hello({ protocol: [least, most] }) {
    if (PROTOCOL < least || PROTOCOL > most) {
      throw new plain.Trouble("version", `this adapter speaks protocol ${PROTOCOL}, not ${least} to ${most}`);
    }
    const capabilities = [...CAPABILITIES, ...Object.keys(QUERIES).map((name) => `observe.${name}`)];
    return {
      protocol: PROTOCOL,
      name: "scuttlebutt-js",
      version: "1.0.0",
      language: `JavaScript, Node ${process.versions.node}`,
      protocols: { scuttlebutt: { capabilities } },
      choices: "oracle",
    };
  },

  encode({ protocol, value }) {
    ours(protocol);
    const message = { type: value.type, entries: value.entries.map(plain.entryFromPlain) };
    for (const { version, ...texts } of message.entries) {
      if (Object.values(texts).some((text) => text.length > MAX_TEXT)) {
        return { rejected: { class: "too_large", message: `a text has at most ${MAX_TEXT} bytes` } };
      }
      if (version > MAX_VERSION) {
        return { rejected: { class: "bad_value", message: "a version has 64 bits" } };
      }
    }
    return { bytes: encode(message).toString("hex") };
  },

  decode({ protocol, bytes }) {
    ours(protocol);
    const datagram = plain.bytesFromPlain(bytes);
    try {
      const { type, entries } = decode(datagram);
      return { value: { type, entries: entries.map(plain.entryToPlain) } };
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return { rejected: { class: error.reason, message: error.message } };
    }
  },

  open(request) {
    const { handle, node } = born(request);
    return { handle, ...acted(node, []) };
  },

  load(request) {
    const { handle, node } = born(request);
    plain.restore(node, request.state, request.timers ?? []);
    return { handle, ...acted(node, []) };
  },

  recv({ handle, now_ms: now, from, bytes }) {
    const [node, datagram] = [nodeOf(handle), plain.bytesFromPlain(bytes)];
    try {
      return acted(node, node.receive(instant(now), plain.textFromPlain(from), datagram));
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return acted(node, [{ event: { name: "malformed", class: error.reason, offset: error.offset } }]);
    }
  },

  advance({ handle, now_ms: now }) {
    const node = nodeOf(handle);
    return acted(node, node.advance(instant(now)));
  },

  call({ handle, name, args }) {
    const node = nodeOf(handle);
    if (name !== "update_local") {
      throw new plain.Trouble("unsupported", `there is no call ${name}`);
    }
    const [key, value] = [plain.textFromPlain(args.key), plain.textFromPlain(args.value)];
    try {
      node.update(key, value);
      return acted(node, []);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { ...acted(node, []), refused: { class: error.reason, message: error.message } };
    }
  },

  query({ handle, what }) {
    const node = nodeOf(handle);
    if (!Object.hasOwn(QUERIES, what)) {
      throw new plain.Trouble("unsupported", `there is no query ${what}`);
    }
    return { value: QUERIES[what](node) };
  },

  crash({ handle }) {
    lifeOf(handle).node = null;
    return {};
  },

  /** A node keeps nothing over a restart: the document knows none [BX-03]. */
  restart({ handle, now_ms: now, config }) {
    const life = lifeOf(handle);
    begin(life, { ...life.config, ...config }, now);
    return acted(life.node, []);
  },

  close({ handle }) {
    lifeOf(handle);
    lives.delete(handle);
    return {};
  },

  /** Each item has an id of its own, which is what a question in the middle of the batch is for. */
  batch({ items }) {
    return { results: items.map((item) => (NOT_IN_A_BATCH.has(item.op) ? unknownOp(item.op) : answer(item))) };
  },

  bye() {
    return {};
  },
};
const NOT_IN_A_BATCH = new Set(["hello", "batch", "bye"]);

const unknownOp = (op) => ({ error: { code: "unknown_op", message: `there is no op ${op}` } });

/** The reply to a request, without its id. Whatever the request does to this program, it gets one. */
function answer(request) {
  if (!Object.hasOwn(OPS, request.op)) {
    return unknownOp(request.op);
  }
  Object.assign(asking, { id: request.id ?? null, n: 0 });
  try {
    return { ok: true, ...OPS[request.op](request) };
  } catch (error) {
    if (error instanceof plain.Trouble) {
      return { error: { code: error.code, message: error.message } };
    }
    return { error: { code: "panic", message: error.stack } };
  }
}

for (let line = readLine(); line !== null; line = readLine()) {
  const request = JSON.parse(line);
  writeLine({ id: request.id, ...answer(request) });
  if (request.op === "bye") break;
}
