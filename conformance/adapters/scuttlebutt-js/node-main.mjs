#!/usr/bin/env node
/**
 * A node on a real UDP socket. It understands `peerproof node start scuttlebutt`, and prints what it prints: a line of JSON whenever
 * what it knows has changed.
 *
 *     peerproof node start scuttlebutt --bind 127.0.0.1:8119 --set colour=red
 *     node node-main.mjs --bind 127.0.0.1:8120 --peer 127.0.0.1:8119 --set colour=green
 *
 * Type "set colour=black", "view" or "quit".
 */

import { lookup } from "node:dns/promises";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Refused } from "./node.mjs";
import { configFromPlain, status, view } from "./plain.mjs";
import { fromApplication } from "./text.mjs";
import { UdpNode, bound, joined, parted } from "./udp.mjs";

const USAGE = 2; // exit code
const MOST_OF_A_DATAGRAM = 65507; // bytes
const text = { type: "string" };
const texts = { type: "string", multiple: true, default: [] };
const OPTIONS = {
  bind: text, // HOST:PORT, port 0 for any that is free
  advertise: text, // HOST:PORT under which others reach the node, if it is not that of --bind
  peer: texts, // HOST:PORT
  set: texts, // KEY=VALUE, a pair of its own
  interval: text, // milliseconds
  "max-payload": text, // bytes
  "detector-window": text,
  "detector-bootstrap": text, // milliseconds
  "detector-critical": text, // thousandths of phi
  "detector-down": text, // thousandths of phi
  json: { type: "boolean" }, // there is no other form; understood so that both kinds of node are started with the same words
};

function quit(code, message) {
  if (message) console.error(`node-main: ${message}`);
  process.exit(code);
}

/** The address with numbers only: what other nodes see is not what it was called here. */
async function resolved(address) {
  const { host, port } = parted(address) ?? quit(USAGE, `${address} is no HOST:PORT`);
  try {
    return joined((await lookup(host)).address, port);
  } catch (error) {
    return quit(USAGE, `nobody knows the address of ${host} (${error.code})`);
  }
}

// ---- what it was asked to be -----------------------------------------------------------------------------------------

function understood() {
  try {
    const { values } = parseArgs({ options: OPTIONS });
    return values.bind === undefined ? quit(USAGE, "where to listen? --bind HOST:PORT") : values;
  } catch (error) {
    return quit(USAGE, error.message);
  }
}

function integer(name, least, most = 2 ** 31 - 1) {
  if (options[name] === undefined) return undefined;
  const number = Number(options[name]);
  const fine = Number.isInteger(number) && least <= number && number <= most;
  return fine ? number : quit(USAGE, `--${name} is an integer from ${least} to ${most}, not ${options[name]}`);
}

/** Those of these members that were given. */
const given = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

const options = understood();
const bind = parted(await resolved(options.bind));
const config = configFromPlain({
  seeds: await Promise.all(options.peer.map(resolved)),
  interval: integer("interval", 1),
  max_payload: integer("max-payload", 1, MOST_OF_A_DATAGRAM),
  detector: given({
    window: integer("detector-window", 1),
    bootstrap: integer("detector-bootstrap", 1),
    critical: integer("detector-critical", 0),
    down: integer("detector-down", 0),
  }),
});
if (["0.0.0.0", "::"].includes(bind.host) && options.advertise === undefined) {
  quit(USAGE, "every node on the wildcard address has the same name; say by --advertise how others reach this one"); // [BD-12]
}

// ---- the node and who talks to it ------------------------------------------------------------------------------------

const socket = await bound(bind).catch((error) => quit(USAGE, `cannot listen at ${options.bind}: ${error.message}`));
const self = options.advertise ? await resolved(options.advertise) : joined(bind.host, socket.address().port);
const running = new UdpNode(socket, self, config, printChanges);
const { node } = running;
let printed = "";

function print() {
  console.log(JSON.stringify({ node: self, t_ms: running.now(), view: view(node), status: status(node) }));
}

/** Prints what it knows if that has changed. */
function printChanges() {
  const shown = JSON.stringify([view(node), status(node)]);
  if (shown !== printed) {
    printed = shown;
    print();
  }
}

function set(assignment) {
  const [key, ...value] = assignment.split("=");
  try {
    node.update(fromApplication(key), fromApplication(value.join("=")));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.error(`node-main: ${assignment}: ${error.message}`);
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const [, command, rest] = /^(\w+) ?(.*)$/.exec(line.trim()) ?? [];
  if (command === "quit") {
    quit(0);
  } else if (command === "view") {
    print();
  } else if (command === "set" && rest.includes("=")) {
    set(rest);
    printChanges();
  } else {
    console.error('node-main: type "set KEY=VALUE", "view" or "quit"');
  }
});

process.stdout.on("error", () => quit(0)); // nobody listens any more
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => quit(0));
}

options.set.forEach(set);
printChanges();
