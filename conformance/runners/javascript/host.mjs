/** Nodes under virtual time, and all that they do. */

import { fail, invoke } from "./failure.mjs";
import { asJson, cut, word } from "./happened.mjs";
import { same } from "./matching.mjs";

/** Methods of nodes that have another name in the adapter protocol. */
const OPS = { receive: "recv" };

const digitsOf = (bytes) => Buffer.from(bytes).toString("hex");

export class Host {
  now = 0;
  messages = []; // not checked yet, as are the next two
  events = [];
  streams = [];
  openEnded = []; // messages whose outcome the sender has not learnt
  #happened = 0;
  #output = new Map(); // number and bytes of messages, events and data on connections, by node

  constructor(trial, nodes) {
    this.trial = trial;
    this.actors = new Map(nodes.map((node) => [node.name, { ...node, now: 0, nextTimer: null, up: true, told: [] }]));
  }

  open() {
    const { trial } = this;
    trial.happened = [];
    for (const actor of this.actors.values()) {
      const { name, addr, config, state, timers } = actor;
      const about = { id: trial.each.id, name, addr, now: 0, config, seed: trial.choices.seed, state, timers };
      this.note(actor, state ? "opened in a given state" : "opened");
      const open = (implementation) => invoke(implementation, "open", about, trial.choices.choose);
      const [node, reaction] = trial.ask(state ? "load" : "open", { config }, open);
      actor.node = node;
      this.take(actor, reaction);
    }
  }

  /** Keeps what happens at a node, for the text of a failure. A message has digits. */
  note({ addr }, what, digits) {
    this.trial.happened.push({ at: this.now, node: word(addr), what, digits });
  }

  /** Calls a method of a node at the present time, and takes what it does then. `request` is what a capability must cover. */
  act(actor, method, args = [], request = {}) {
    actor.now = Math.max(actor.now, this.now);
    const reaction = this.trial.ask(OPS[method] ?? method, request, () => invoke(actor.node, method, actor.now, ...args));
    if (reaction.refused) this.note(actor, `refuses ${asJson(reaction.refused)}`);
    this.take(actor, reaction);
    return reaction;
  }

  deliver(actor, from, digits) {
    this.trial.isChallenged = true;
    this.note(actor, `<- ${word(from)}`, digits);
    this.act(actor, "receive", [from, Buffer.from(digits, "hex")]);
  }

  call(actor, name, args) {
    this.note(actor, `call ${name} ${asJson(args)}`);
    return this.act(actor, "call", [name, args], { name });
  }

  query(actor, name, args) {
    return this.trial.ask("query", { name }, () => invoke(actor.node, "query", name, args));
  }

  /** An event of a connection that a peer has opened. */
  connect(actor, event) {
    this.trial.isChallenged ||= event.bytes !== undefined;
    this.note(actor, `connection ${asJson(event)}`);
    const bytes = event.bytes === undefined ? undefined : Buffer.from(event.bytes, "hex");
    this.act(actor, "stream", [{ ...event, bytes }]);
  }

  take(actor, { effects = [], nextTimer = null }) {
    const { wrong } = this.trial.choices;
    if (wrong) fail("choice", `${actor.name}: choice`, "the options that the vector answers", wrong);
    const { at_once: atOnce } = this.trial.settings.limits;
    for (const { send, stream, event } of effects.slice(0, atOnce)) {
      this.count(actor.name, (send ?? stream)?.bytes?.length ?? 0);
      if (send) this.send({ at: this.now, sender: actor, to: send.to, bytes: digitsOf(send.bytes) });
      if (stream) this.write(actor, stream.bytes ? { ...stream, bytes: digitsOf(stream.bytes) } : stream);
      if (event) {
        this.note(actor, `reports ${asJson(event)}`);
        this.events.push(event);
        actor.told.push(event);
      }
    }
    const tooMany = { [actor.name]: effects.length };
    if (effects.length > atOnce) fail("flooded", "messages in reply to one request", { "at most": atOnce }, tooMany);
    actor.nextTimer = nextTimer;
    if (nextTimer !== null && nextTimer < actor.now) fail("clock", `${actor.name}: next_timer_ms`, `at least ${actor.now}`, nextTimer);
  }

  /** Counts what a node does; a case that produces more than a node reasonably can is stopped. */
  count(name, bytes) {
    const { messages, message_bytes: most } = this.trial.settings.limits;
    const before = this.#output.get(name) ?? [0, 0];
    this.#output.set(name, [before[0] + 1, before[1] + bytes]);
    for (const [index, what, limit] of [[0, "messages in this case", messages], [1, "bytes of messages in this case", most]]) {
      const counts = [...this.#output].map(([node, both]) => [node, both[index]]);
      const total = counts.reduce((sum, [, count]) => sum + count, 0);
      if (total > limit) fail("flooded", what, { "at most": limit }, Object.fromEntries(counts));
    }
  }

  send(message) {
    this.note(message.sender, `-> ${word(message.to)}`, message.bytes);
    this.messages.push(message);
    this.openEnded.push(message);
  }

  /** A node writes on a connection, or closes it. */
  write(actor, stream) {
    const { conn, event, bytes = "" } = stream;
    this.note(actor, event === "data" ? `writes on connection ${conn}: ${cut(bytes)}` : `closes connection ${conn}`);
    this.streams.push(stream);
  }

  /** Tells a sender the outcome of its message. */
  settle(message, took) {
    this.openEnded = this.openEnded.filter((one) => one !== message);
    this.note(message.sender, `heard that the message to ${word(message.to)} ${took === null ? "did not arrive" : "arrived"}`);
    this.act(message.sender, "sent", [message.to, Buffer.from(message.bytes, "hex"), took]);
  }

  crash(actor) {
    this.note(actor, "crashed");
    this.trial.ask("crash", {}, () => invoke(actor.node, "crash"));
    Object.assign(actor, { up: false, nextTimer: null });
    this.openEnded = this.openEnded.filter(({ sender }) => sender !== actor);
  }

  /** Advances time, and runs all that is due by then; the named nodes are advanced in any case. */
  advance(until, names = []) {
    for (let due = this.due(until); due; due = this.due(until)) {
      this.now = Math.max(this.now, due.at);
      this.#happened += 1;
      const most = this.trial.settings.limits.happenings;
      if (this.#happened > most) fail("clock", `at ${this.now} ms`, "an end of timers and messages", `${most} of them`);
      due.happen();
    }
    this.now = Math.max(this.now, until);
    for (const actor of names.map((name) => this.actors.get(name))) {
      if (actor.up && actor.now < until) {
        this.note(actor, "advanced");
        this.act(actor, "advance");
      }
    }
  }

  restart(actor, config) {
    actor.up = true;
    this.note(actor, config ? `restarted ${asJson(config)}` : "restarted");
    this.act(actor, "restart", [config], { config });
  }

  /** The first timer that is due by then. */
  due(until) {
    let first = null;
    for (const actor of this.actors.values()) {
      const at = actor.nextTimer;
      if (at !== null && at <= until && (!first || at < first.at)) first = { at, happen: () => this.#fire(actor) };
    }
    return first;
  }

  #fire(actor) {
    this.note(actor, "timer");
    this.act(actor, "advance");
  }
}

/** Nodes whose messages arrive after the same delay, unless the network is cut then. */
export class Network extends Host {
  groups = [];
  #onTheWay = []; // the earliest first

  /** From now on no message passes between these groups of nodes; without groups, all pass again. */
  cut(groups = []) {
    const sides = groups.map((group) => group.map((name) => word(this.actors.get(name).addr)).join(", "));
    this.note({ addr: "network" }, groups.length > 0 ? `cut: ${sides.join(" | ")}` : "healed");
    this.groups = groups;
  }

  send(message) {
    const { everybody } = this.trial.settings;
    this.note(message.sender, `-> ${word(message.to)}`, message.bytes);
    this.openEnded.push(message);
    const receivers = message.to === everybody ? [...this.actors.values()].map(({ addr }) => addr) : [message.to];
    for (const to of receivers) this.#onTheWay.push({ at: this.now + this.trial.vector.delay, message, to });
  }

  due(until) {
    const timer = super.due(until);
    const [first] = this.#onTheWay;
    return !first || first.at > until || (timer && timer.at <= first.at) ? timer : { at: first.at, happen: () => this.#arrive() };
  }

  #arrive() {
    const { message, to } = this.#onTheWay.shift();
    const receiver = [...this.actors.values()].find(({ addr }) => same(addr, to));
    const arrives = receiver?.up && !this.#isCut(message.sender.name, receiver.name);
    if (arrives) this.deliver(receiver, message.sender.addr, message.bytes);
    if (this.trial.settings.transport === "tcp" && this.openEnded.includes(message)) {
      this.settle(message, arrives ? this.trial.vector.delay * 1000 : null);
    }
  }

  #isCut(...names) {
    const [one, other] = names.map((name) => this.groups.findIndex((group) => group.includes(name)));
    return one >= 0 && other >= 0 && one !== other;
  }
}
