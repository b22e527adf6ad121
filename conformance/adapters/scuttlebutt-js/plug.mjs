/**
 * The port as the suite sees it (docs/how-to/run-without-python.md). It translates, and decides nothing.
 *
 * adapter.mjs serves it to `peerproof run`, `fuzz` and `doctor`; the native runner calls it in the process of a test.
 */

import { isIP } from "node:net";

import { Unsupported } from "../../runners/javascript/runner.mjs";
import { MAX_TEXT, MAX_VERSION, Malformed, decode, encode } from "./codec.mjs";
import { Node, Refused } from "./node.mjs";
import * as plain from "./plain.mjs";
import { UdpNode, bound, joined, parted } from "./udp.mjs";

const QUERIES = { peers: plain.peers, view: plain.view, status: plain.status, state: plain.state };

/** What an application can do with a node. */
function called(node, name, args) {
  if (name !== "update_local") throw new Unsupported(`there is no call ${name}`);
  try {
    node.update(plain.textFromPlain(args.key), plain.textFromPlain(args.value));
    return {};
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { refused: { class: error.reason, message: error.message } };
  }
}

function queried(node, what) {
  if (!Object.hasOwn(QUERIES, what)) throw new Unsupported(`there is no query ${what}`);
  return QUERIES[what](node);
}

/** A node without network and clock; crashed and started again it is another `Node`. */
class Life {
  constructor({ addr, config, now, state, timers }, choose) {
    this.addr = plain.textFromPlain(addr);
    this.config = config;
    this.choose = choose;
    this.#begin(config, now);
    if (state) plain.restore(this.node, state, timers);
  }

  #begin(config, now) {
    const pick = (site, kind, options) => {
      const shown = options.map(plain.textToPlain);
      return this.choose(site, kind, shown).map((chosen) => options[shown.indexOf(chosen)]);
    };
    this.node = new Node(this.addr, plain.configFromPlain(config), now, pick);
  }

  reaction(effects, more = {}) {
    return { effects: effects.map(plain.effectToPlain), nextTimer: this.node.roundDue, ...more };
  }

  receive(now, from, bytes) {
    try {
      return this.reaction(this.node.receive(now, plain.textFromPlain(from), bytes));
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return this.reaction([{ event: { name: "malformed", class: error.reason, offset: error.offset } }]);
    }
  }

  advance(now) {
    return this.reaction(this.node.advance(now));
  }

  call(now, name, args) {
    return this.reaction([], called(this.node, name, args));
  }

  query(what) {
    return queried(this.node, what);
  }

  crash() {
    this.node = null;
  }

  /** A node keeps nothing over a restart: the document knows none [BX-03]. */
  restart(now, config) {
    this.#begin({ ...this.config, ...config }, now);
    return this.reaction([]);
  }
}

/** A node on a socket and a clock of its own: what it sends is on the network, and its timers are its own. */
class Served {
  #told; // what its application was told and the runner was not

  constructor(udp, told) {
    this.udp = udp;
    this.#told = told;
  }

  reaction(more = {}) {
    return { effects: this.#told.splice(0).map(plain.effectToPlain), ...more };
  }

  /** Time passes by itself. */
  advance() {
    return this.reaction();
  }

  call(now, name, args) {
    const done = called(this.udp.node, name, args);
    return this.reaction(done);
  }

  query(what) {
    return queried(this.udp.node, what);
  }

  close() {
    this.udp.close();
  }
}

/** A socket where the runner wants it. */
async function listening(bind) {
  const at = parted(bind);
  if (!at || !isIP(at.host)) {
    throw new plain.BadRequest(`bind: expected HOST:PORT in numbers: ${JSON.stringify(bind)}`);
  }
  try {
    return await bound(at);
  } catch (error) {
    throw new plain.BadRequest(error.message);
  }
}

export const implementation = {
  name: "scuttlebutt-js",
  version: "1.0.0",
  protocol: "scuttlebutt",
  transport: "udp",
  capabilities: [
    ...["codec", "exchange", "api.update_local", "events", "restart", "state.load"],
    ...Object.keys(QUERIES).map((name) => `observe.${name}`),
  ],
  events: ["join", "update", "heartbeat", "up", "down", "malformed"],
  choices: "oracle",
  sockets: ["udp"],

  decode(bytes) {
    try {
      const { type, entries } = decode(bytes);
      return { value: { type, entries: entries.map(plain.entryToPlain) } };
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return { rejected: { class: error.reason, message: error.message } };
    }
  },

  encode(value) {
    const message = { type: value.type, entries: value.entries.map(plain.entryFromPlain) };
    for (const { version, ...texts } of message.entries) {
      const isTooLong = Object.values(texts).some((text) => text.length > MAX_TEXT);
      if (isTooLong) return { rejected: { class: "too_large", message: `a text has at most ${MAX_TEXT} bytes` } };
      if (version > MAX_VERSION) return { rejected: { class: "bad_value", message: "a version has 64 bits" } };
    }
    return { bytes: encode(message) };
  },

  open(about, choose) {
    const life = new Life(about, choose);
    return [life, life.reaction([])];
  },

  async serve({ via, bind, config }) {
    if (via?.length !== 1 || via[0] !== "udp") {
      throw new Unsupported(`scuttlebutt comes over udp: ${JSON.stringify(via)}`);
    }
    const wanted = plain.configFromPlain(config);
    const socket = await listening(bind);
    const { address, port } = socket.address();
    const [self, told] = [joined(address, port), []];
    const udp = new UdpNode(socket, self, wanted, (events) => told.push(...events));
    return [new Served(udp, told), { udp: self }];
  },
};
