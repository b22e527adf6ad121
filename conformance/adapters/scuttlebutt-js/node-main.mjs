#!/usr/bin/env node
/**
 * A node on a real UDP socket. It understands `peerproof node scuttlebutt`, and prints what it prints: a line of JSON whenever
 * what it knows has changed.
 *
 *     peerproof node scuttlebutt --bind 127.0.0.1:8119 --set colour=red
 *     node node-main.mjs --bind 127.0.0.1:8120 --seed 127.0.0.1:8119 --set colour=green
 *
 * Type "set colour=black", "view" or "quit".
 */

import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

import { Malformed } from "./codec.mjs";
import { Node, Refused } from "./node.mjs";
import { configFromPlain, status, view } from "./plain.mjs";
import { fromApplication, toApplication } from "./text.mjs";

const USAGE = 2; // exit code
const MOST_OF_A_DATAGRAM = 65507; // bytes
const text = { type: "string" };
const texts = { type: "string", multiple: true, default: [] };
const OPTIONS = {
  bind: text, // HOST:PORT, port 0 for any that is free
  advertise: text, // HOST:PORT under which others reach the node, if it is not that of --bind
  seed: texts, // HOST:PORT
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

// ---- addresses -------------------------------------------------------------------------------------------------------

const joined = (host, port) => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`);

/** Host and port of an address, or null if it is none. Peers call each other what they like. */
function parted(address) {
  const [, host, port] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(address) ?? [];
  return host !== undefined && port <= 65535 ? { host, port: Number(port) } : null;
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
  seeds: await Promise.all(options.seed.map(resolved)),
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

// ---- the node with its socket, its clock and its dice ----------------------------------------------------------------

const now = () => Math.floor(performance.now()); // it never goes back, as the clock on the wall does

/** Fisher and Yates, in part: the first option for `one`, all for `permutation`. */
function pick(site, kind, among) {
  const taken = [...among];
  const some = kind === "one" ? 1 : taken.length;
  for (let at = 0; at < some; at += 1) {
    const other = at + Math.floor(Math.random() * (taken.length - at));
    [taken[at], taken[other]] = [taken[other], taken[at]];
  }
  return taken.slice(0, some);
}

const socket = createSocket(isIP(bind.host) === 6 ? "udp6" : "udp4");
socket.on("error", (error) => quit(USAGE, `cannot listen at ${options.bind}: ${error.message}`));
await new Promise((listening) => socket.bind(bind.port, bind.host, listening));

const self = options.advertise ? await resolved(options.advertise) : joined(bind.host, socket.address().port);
const node = new Node(fromApplication(self), config, now(), pick);
let printed = "";

function print() {
  console.log(JSON.stringify({ node: self, t_ms: now(), view: view(node), status: status(node) }));
}

/** Carries out what the node does, and prints what it knows if that has changed. */
function perform(effects) {
  for (const { send } of effects) {
    const to = send && parted(toApplication(send.to) ?? "");
    if (to && to.port > 0 && isIP(to.host)) {
      socket.send(send.datagram, to.port, to.host, () => {}); // a datagram that cannot be sent is lost like others
    }
  }
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

function rounds() {
  perform(node.advance(now()));
  setTimeout(rounds, node.roundDue - now());
}

socket.on("message", (datagram, { address, port }) => {
  try {
    perform(node.receive(now(), fromApplication(joined(address, port)), datagram));
  } catch (error) {
    if (!(error instanceof Malformed)) throw error; // no message: dropped [BA-20]
  }
});

createInterface({ input: process.stdin }).on("line", (line) => {
  const [, command, rest] = /^(\w+) ?(.*)$/.exec(line.trim()) ?? [];
  if (command === "quit") {
    quit(0);
  } else if (command === "view") {
    print();
  } else if (command === "set" && rest.includes("=")) {
    set(rest);
    perform([]);
  } else {
    console.error('node-main: type "set KEY=VALUE", "view" or "quit"');
  }
});

process.stdout.on("error", () => quit(0)); // nobody listens any more
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => quit(0));
}

options.set.forEach(set);
perform([]);
rounds();
