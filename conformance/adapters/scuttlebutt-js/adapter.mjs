#!/usr/bin/env node
/**
 * The adapter: requests of the suite's runner on standard input, replies on standard output (docs/how-to/write-an-adapter.md).
 * It translates, and decides nothing.
 *
 *     peerproof run scuttlebutt --impl 'node conformance/adapters/scuttlebutt-js/adapter.mjs'
 */

import { isIP } from "node:net";

import { MAX_TEXT, MAX_VERSION, Malformed, decode, encode } from "./codec.mjs";
import { awaitLine, readLine, writeLine } from "./lines.mjs";
import { Node, Refused } from "./node.mjs";
import * as plain from "./plain.mjs";
import { UdpNode, bound, joined, parted } from "./udp.mjs";

const PROTOCOL = 1;
const QUERIES = { peers: plain.peers, view: plain.view, status: plain.status, state: plain.state };
const EVENTS = ["join", "update", "heartbeat", "up", "down", "malformed"];
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

/**
 * From a handle to {addr, config, node}, where a crashed one has no node, or to {node, udp, told} of one that is served, with
 * what its application was told and the runner was not.
 */
const lives = new Map();
let handles = 0;

function kept(life) {
  handles += 1;
  lives.set(handles, life);
  return handles;
}

function born({ protocol, addr, config, now_ms: now }) {
  ours(protocol);
  const life = { addr: plain.textFromPlain(addr), config: config ?? {} };
  begin(life, life.config, now);
  return life;
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

function runningOf(handle) {
  const life = lifeOf(handle);
  if (life.node === null) {
    throw new plain.Trouble("bad_request", `node ${handle} has crashed`);
  }
  return life;
}

/** One that is served has a network of its own, and goes on running. */
function unserved(life) {
  if (life.udp) {
    throw new plain.Trouble("unsupported", "a node that is served has no recv, no crash and no restart");
  }
  return life;
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

/** What a node does about a request. What one that is served sends is on the network, and its timers are its own. */
function acted({ node, udp, told }, effects) {
  return { effects: (udp ? told.splice(0) : effects).map(plain.effectToPlain), next_timer_ms: udp ? null : node.roundDue };
}

/** A socket where the runner wants it. */
async function listening(bind) {
  const at = parted(bind);
  if (!at || !isIP(at.host)) {
    throw new plain.Trouble("bad_request", `bind: expected HOST:PORT in numbers: ${JSON.stringify(bind)}`);
  }
  try {
    return await bound(at);
  } catch (error) {
    throw new plain.Trouble("bad_request", error.message);
  }
}

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
      protocols: { scuttlebutt: { capabilities, events: EVENTS } },
      choices: "oracle",
      sockets: ["udp"],
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
    const life = born(request);
    return { handle: kept(life), ...acted(life, []) };
  },

  load(request) {
    const life = born(request);
    plain.restore(life.node, request.state, request.timers ?? []);
    return { handle: kept(life), ...acted(life, []) };
  },

  recv({ handle, now_ms: now, from, bytes }) {
    const [life, datagram] = [unserved(runningOf(handle)), plain.bytesFromPlain(bytes)];
    try {
      return acted(life, life.node.receive(instant(now), plain.textFromPlain(from), datagram));
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return acted(life, [{ event: { name: "malformed", class: error.reason, offset: error.offset } }]);
    }
  },

  /** For a node that is served time passes by itself. */
  advance({ handle, now_ms: now }) {
    const life = runningOf(handle);
    return acted(life, life.udp ? [] : life.node.advance(instant(now)));
  },

  call({ handle, name, args }) {
    const life = runningOf(handle);
    if (name !== "update_local") {
      throw new plain.Trouble("unsupported", `there is no call ${name}`);
    }
    const [key, value] = [plain.textFromPlain(args.key), plain.textFromPlain(args.value)];
    try {
      life.node.update(key, value);
      return acted(life, []);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { ...acted(life, []), refused: { class: error.reason, message: error.message } };
    }
  },

  query({ handle, what }) {
    const { node } = runningOf(handle);
    if (!Object.hasOwn(QUERIES, what)) {
      throw new plain.Trouble("unsupported", `there is no query ${what}`);
    }
    return { value: QUERIES[what](node) };
  },

  crash({ handle }) {
    unserved(lifeOf(handle)).node = null;
    return {};
  },

  /** A node keeps nothing over a restart: the document knows none [BX-03]. */
  restart({ handle, now_ms: now, config }) {
    const life = unserved(lifeOf(handle));
    begin(life, { ...life.config, ...config }, now);
    return acted(life, []);
  },

  close({ handle }) {
    lifeOf(handle).udp?.close();
    lives.delete(handle);
    return {};
  },

  /** A node on a socket and a clock of its own, for a runner that plays its peers with sockets. */
  async serve({ protocol, via, bind, config }) {
    ours(protocol);
    if (via?.length !== 1 || via[0] !== "udp") {
      throw new plain.Trouble("unsupported", `scuttlebutt comes over udp: ${JSON.stringify(via)}`);
    }
    const wanted = plain.configFromPlain(config ?? {});
    const socket = await listening(bind);
    const { address, port } = socket.address();
    const [self, told] = [joined(address, port), []];
    const udp = new UdpNode(socket, self, wanted, (events) => told.push(...events));
    return { handle: kept({ node: udp.node, udp, told }), addrs: { udp: self } };
  },

  /** Each item has an id of its own, which is what a question in the middle of the batch is for. */
  async batch({ items }) {
    const results = [];
    for (const item of items) {
      results.push(NOT_IN_A_BATCH.has(item.op) ? unknownOp(item.op) : await answer(item));
    }
    return { results };
  },

  bye() {
    return {};
  },
};
const NOT_IN_A_BATCH = new Set(["hello", "batch", "bye"]);

const unknownOp = (op) => ({ error: { code: "unknown_op", message: `there is no op ${op}` } });

/** The reply to a request, without its id. Whatever the request does to this program, it gets one. */
async function answer(request) {
  if (!Object.hasOwn(OPS, request.op)) {
    return unknownOp(request.op);
  }
  Object.assign(asking, { id: request.id ?? null, n: 0 });
  try {
    return { ok: true, ...(await OPS[request.op](request)) };
  } catch (error) {
    if (error instanceof plain.Trouble) {
      return { error: { code: error.code, message: error.message } };
    }
    return { error: { code: "panic", message: error.stack } };
  }
}

for (let line = await awaitLine(); line !== null; line = await awaitLine()) {
  const request = JSON.parse(line);
  writeLine({ id: request.id, ...(await answer(request)) });
  if (request.op === "bye") break;
}
for (const { udp } of lives.values()) {
  udp?.close(); // or the program would go on
}
