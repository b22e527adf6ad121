#!/usr/bin/env node
/**
 * The adapter: requests of the suite's runner on standard input, replies on standard output (docs/how-to/write-an-adapter.md).
 * It translates, and decides nothing.
 *
 *     peerproof run swim -k layer:codec --impl 'node conformance/adapters/swim-js/adapter.mjs'
 */

import { readLine, writeLine } from "../scuttlebutt-js/lines.mjs";
import { parse } from "./json.mjs";
import { Malformed, decode, encode } from "./messages.mjs";
import { fromPlain, toPlain } from "./plain.mjs";

const PROTOCOL = 1;

/** The adapter cannot do what it was asked; `code` is one of the adapter protocol's. */
class Trouble extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

function ours(protocol) {
  if (protocol !== "swim") {
    throw new Trouble("unsupported", `there is no ${protocol} here`);
  }
}

function bytesOf(digits) {
  if (typeof digits !== "string" || !/^([0-9a-f]{2})*$/.test(digits)) {
    throw new Trouble("bad_request", "expected pairs of hexadecimal digits");
  }
  return Buffer.from(digits, "hex");
}

/** What the codec says, be it that there is nothing to say. */
function judged(say) {
  try {
    return say();
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { rejected: { class: error.reason, message: error.message } };
  }
}

const OPS = {
  hello({ protocol: [least, most] }) {
    if (PROTOCOL < least || PROTOCOL > most) {
      throw new Trouble("version", `this adapter speaks protocol ${PROTOCOL}, not ${least} to ${most}`);
    }
    return {
      protocol: PROTOCOL,
      name: "swim-js",
      version: "1.0.0",
      language: `JavaScript, Node ${process.versions.node}`,
      protocols: { swim: { capabilities: ["codec"] } },
    };
  },

  encode({ protocol, value }) {
    ours(protocol);
    return judged(() => ({ bytes: encode(fromPlain(value)).toString("hex") }));
  },

  decode({ protocol, bytes }) {
    ours(protocol);
    const datagram = bytesOf(bytes);
    return judged(() => ({ value: toPlain(decode(datagram)) }));
  },

  batch({ items }) {
    return { results: items.map((item) => (NOT_IN_A_BATCH.has(item.op) ? unknownOp(item.op) : answer(item))) };
  },

  bye() {
    return {};
  },
};
const NOT_IN_A_BATCH = new Set(["hello", "batch", "bye"]);
const OF_NODES = new Set("open load recv advance call query crash restart close sent stream serve".split(" "));

const unknownOp = (op) => ({ error: { code: "unknown_op", message: `there is no op ${op}` } });

/** The reply to a request, without its id. Whatever the request does to this program, it gets one. */
function answer(request) {
  if (OF_NODES.has(request.op)) {
    return { error: { code: "unsupported", message: "this is a codec, and has no nodes" } };
  }
  if (!Object.hasOwn(OPS, request.op)) {
    return unknownOp(request.op);
  }
  try {
    return { ok: true, ...OPS[request.op](request) };
  } catch (error) {
    const isTrouble = error instanceof Trouble;
    return { error: { code: isTrouble ? error.code : "panic", message: isTrouble ? error.message : error.stack } };
  }
}

for (let line = readLine(); line !== null; line = readLine()) {
  const request = parse(line);
  writeLine({ id: request.id, ...answer(request) });
  if (request.op === "bye") break;
}
