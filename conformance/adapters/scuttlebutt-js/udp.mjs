/**
 * A node on a UDP socket, in real time: `Node` with a socket, a clock and dice. node-main.mjs runs one, plug.mjs as many as
 * the suite asks it to serve.
 */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIP } from "node:net";

import { Malformed } from "./codec.mjs";
import { Node } from "./node.mjs";
import { fromApplication, toApplication } from "./text.mjs";

const LONGEST = 2 ** 31 - 1; // milliseconds that a timer can wait

export const joined = (host, port) => (isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`);

/** Host and port of an address, or null if it is none. Peers call each other what they like. */
export function parted(address) {
  const [, host, port] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(address) ?? [];
  return host !== undefined && port <= 65535 ? { host, port: Number(port) } : null;
}

/** A socket at a numeric address, where port 0 is any that is free. Throws what the operating system has against it. */
export async function bound({ host, port }) {
  const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
  try {
    socket.bind(port, host);
    await once(socket, "listening");
  } catch (error) {
    socket.close();
    throw error;
  }
  return socket;
}

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

export class UdpNode {
  #socket;
  #stepped;
  #timer;
  #begin = performance.now();

  /**
   * Takes part from now on, and is known to others as `self`. After each step `stepped` is called with what the node told its
   * application in it.
   */
  constructor(socket, self, config, stepped) {
    this.node = new Node(fromApplication(self), config, this.now(), pick);
    this.#socket = socket;
    this.#stepped = stepped;
    socket.on("message", (datagram, { address, port }) => this.#receive(joined(address, port), datagram));
    socket.on("error", () => {}); // what the network says of an earlier datagram: that is lost like others
    this.#awaitRound();
  }

  /** Milliseconds since it was made. They never go back, as the clock on the wall does. */
  now() {
    return Math.floor(performance.now() - this.#begin);
  }

  /** It leaves without a word, and its address is free. */
  close() {
    clearTimeout(this.#timer);
    this.#socket.close();
  }

  #receive(from, datagram) {
    try {
      this.#perform(this.node.receive(this.now(), fromApplication(from), datagram));
    } catch (error) {
      if (!(error instanceof Malformed)) throw error; // no message: dropped [BA-20]
    }
  }

  /** A timer may come too early, by a fraction of a millisecond or because it cannot wait longer; nothing is due then. */
  #awaitRound() {
    const wait = Math.min(this.node.roundDue - this.now(), LONGEST);
    this.#timer = setTimeout(() => {
      this.#perform(this.node.advance(this.now()));
      this.#awaitRound();
    }, wait);
  }

  #perform(effects) {
    for (const { send } of effects) {
      const to = send && parted(toApplication(send.to) ?? "");
      if (to && to.port > 0 && isIP(to.host)) {
        this.#socket.send(send.datagram, to.port, to.host, () => {}); // a datagram that cannot be sent is lost like others
      }
    }
    this.#stepped(effects.filter(({ event }) => event !== undefined));
  }
}
