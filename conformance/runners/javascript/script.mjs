/** The steps of a vector with nodes, under virtual time. */

import { firstDifference, fits } from "./matching.mjs";
import { End, fail } from "./trial.mjs";

export const CHECKING = ["expect", "observe", "told"]; // steps that check something
export const AFTER = "after the last step";

/** The nodes of a case, and what they do. */
export class Script {
  now = 0;
  unsettled = []; // messages whose outcome the sender has not learnt
  happened = 0; // timers and arrivals
  counts = {}; // of output by node

  /** `explain` says which declared readings explain a failure; the script then goes on. */
  constructor(trial, nodes, explain) {
    Object.assign(this, { trial, explain, nodes: nodes.map((node) => ({ ...node, now: 0, nextTimer: null, isUp: true })) });
    this.clear();
  }

  /** Opens all nodes. */
  open() {
    const { id, seed } = this.trial.each;
    for (const node of this.nodes) {
      const { name, addr, config, state, timers } = node;
      const about = { case: id, node: name, addr, now_ms: 0, config, seed };
      const reply = this.trial.ask(state ? { op: "load", ...about, state, timers } : { op: "open", ...about }, name);
      node.handle = reply.handle;
      this.take(node, reply);
    }
    return this;
  }

  /** Forgets all output that was not checked. */
  clear() {
    Object.assign(this, { messages: [], events: [], streams: [] });
  }

  /** Runs all steps. */
  play({ setup = [], steps }) {
    for (const step of setup) this.act(step, "setup");
    this.clear();
    for (const [at, step] of steps.entries()) {
      this.playStep(`steps[${at}]`, () => (CHECKING.includes(step.do) ? this[step.do](step) : this.act(step)));
    }
    this.playStep(AFTER, () => this.expectNothing());
  }

  /** Runs a step; goes on after a failure that declared readings explain. */
  playStep(place, run) {
    this.trial.place = place;
    try {
      run();
    } catch (end) {
      const readings = end.failure ? this.explain(end) : [];
      if (readings.length === 0) throw end;
      this.trial.readings.push(...readings);
      this.clear();
    }
  }

  /** An action at its time, after everything that is due by then. */
  act(step) {
    const { trial } = this;
    trial.picks = [...(step.picks ?? [])];
    this.advance(step.at);
    const node = this.nodes.find(({ name }) => name === step.node);
    for (const each of this.nodes.filter(({ name, isUp, now }) => step.nodes?.includes(name) && isUp && now < step.at)) {
      this.ask(each, { op: "advance" });
    }
    if (step.do === "sent") this.settleMeant(step, node);
    if (!step.request) return;
    node.isUp = step.do !== "crash";
    const { refused } = this.ask(node, step.request);
    if (!node.isUp) this.unsettled = this.unsettled.filter(({ sender }) => sender !== node);
    const isExpected = step.refused ? refused && [true, refused.class].includes(step.refused) : !refused;
    const expected = step.refused ? { refused: step.refused } : "the call is carried out";
    if (!isExpected) fail("refused", `${trial.place}.call`, expected, refused ? { refused } : "the call was carried out");
  }

  /** Sends a request to a node at the present time, and takes what it does. */
  ask(node, request) {
    node.now = Math.max(node.now, this.now);
    const reply = this.trial.ask({ ...request, handle: node.handle, now_ms: node.now }, node.name);
    this.take(node, reply);
    return reply;
  }

  /** Takes the effects of a reply, within the limits of a case, and the time of the next timer. */
  take(node, { effects = [], next_timer_ms: nextTimer = null }) {
    const { at_once: atOnce, messages, message_bytes: bytes } = this.trial.bundle.run.limits;
    for (const { send, stream, event } of effects.slice(0, atOnce)) {
      this.count(node, "messages in this case", 1, messages);
      this.count(node, "bytes of messages in this case", ((send ?? stream)?.bytes ?? "").length / 2, bytes);
      if (send) this.send({ at: this.now, sender: node, to: send.to, bytes: send.bytes });
      if (stream) this.streams.push(stream);
      if (event) this.events.push({ node, event });
    }
    const tooMany = { [node.name]: effects.length };
    if (effects.length > atOnce) fail("flooded", "messages in reply to one request", { "at most": atOnce }, tooMany);
    node.nextTimer = nextTimer;
    if (nextTimer !== null && nextTimer < node.now) fail("clock", `${node.name}: next_timer_ms`, `at least ${node.now}`, nextTimer);
  }

  /** Counts output; fails if that of all nodes exceeds a limit. */
  count({ name }, what, amount, limit) {
    const counts = (this.counts[what] ??= {});
    counts[name] = (counts[name] ?? 0) + amount;
    if (Object.values(counts).reduce((sum, each) => sum + each) > limit) fail("flooded", what, { "at most": limit }, counts);
  }

  /** Keeps a message that a node has sent. */
  send(message) {
    this.messages.push(message);
    this.unsettled.push(message);
  }

  /** Tells a node the outcome of its oldest message that is meant, or of all if no receiver is named. */
  settleMeant({ to, type, bytes, took_us: took }, node) {
    const isMeant = (message) => to === undefined || (fits(to, message.to) && [undefined, this.trial.kind(message.bytes)].includes(type));
    let meant = this.unsettled.filter((message) => message.sender === node && isMeant(message));
    if (bytes !== undefined) {
      meant = meant.filter((message) => message.bytes === bytes);
      if (meant.length === 0) meant = [{ sender: node, to, bytes }]; // sent before the case began
    }
    if (meant.length === 0) fail("messages", `${this.trial.place}.sent`, { node: node.name, to, type }, null);
    for (const message of to === undefined ? meant : meant.slice(0, 1)) this.settle(message, took);
  }

  /** Tells a sender how many microseconds its message took; null if it did not arrive. */
  settle(message, took) {
    this.unsettled = this.unsettled.filter((each) => each !== message);
    this.ask(message.sender, { op: "sent", to: message.to, bytes: message.bytes, took_us: took });
  }

  /** Advances time, and runs all that is due by then, the earliest first. */
  advance(until) {
    for (let due = this.due(until); due; due = this.due(until)) {
      this.now = Math.max(this.now, due.at);
      this.happened += 1;
      const most = this.trial.bundle.run.limits.happenings;
      if (this.happened > most) fail("clock", `at ${this.now} ms`, "an end of timers and messages", `${most} of them`);
      due.run();
    }
    this.now = Math.max(this.now, until);
  }

  /** The first timer that is due by then. */
  due(until) {
    const [node] = this.nodes.filter(({ nextTimer }) => (nextTimer ?? Infinity) <= until).sort((a, b) => a.nextTimer - b.nextTimer);
    return node && { at: node.nextTimer, run: () => this.ask(node, { op: "advance" }) };
  }

  /** Checks the answer to a query. */
  observe({ node, request, equals }) {
    const { handle } = this.nodes.find(({ name }) => name === node);
    const { value } = this.trial.ask({ ...request, handle }, node);
    this.trial.match("observed", `${this.trial.place}.observe.${request.what}`, equals, value);
  }

  /** Checks the events of a kind that a node has reported since the last check. */
  told({ node, event: kind, equals }) {
    if (!this.trial.isCompared(kind)) return;
    const isMeant = (each) => each.node.name === node && each.event.name === kind && !each.isTold;
    const found = this.events.filter(isMeant);
    for (const each of found) each.isTold = true;
    this.trial.match("events", `${this.trial.place}.told.${kind}`, equals, found.map(({ event }) => event));
  }

  /** Checks all output since the last check: the first allowed outcome that matches is taken. */
  expect({ outcomes, picked, quiet_until: quiet }) {
    const { trial } = this;
    const allowed = picked && trial.offer.choices === "oracle" ? outcomes.filter(({ branch }) => branch === picked) : outcomes;
    const [{ handle, name }] = this.nodes;
    const state = outcomes.some((each) => each.state) && trial.ask({ op: "query", what: "state", handle }, name).value;
    const unmet = [];
    for (const outcome of allowed) {
      try {
        this.check(outcome, state);
        if (allowed.length > 1 && outcome.verdict === "tolerated") trial.tolerated.push(`${outcome.branch}: ${outcome.because}`);
        break;
      } catch (end) {
        if (!end.failure) throw end;
        unmet.push(end);
      }
    }
    if (unmet.length === allowed.length) {
      const branches = allowed.map(({ branch }) => branch).join(", ");
      if (allowed.length > 1) unmet[0].difference.where += ` (none of the branches ${branches} fits; shown against the first)`;
      throw unmet[0];
    }
    this.clear();
    if (quiet === undefined) return;
    trial.picks = [];
    this.advance(quiet);
    this.expectNothing();
  }

  /** Checks that no output is left. */
  expectNothing() {
    this.check({ sends: [], streams: [] });
    this.clear();
  }

  /** Compares the output with an outcome; `found` is the state of the node, if an outcome asks for it. */
  check({ sends, reads, streams, reports, state }, found) {
    const { trial } = this;
    this.checkMessages(sends, reads);
    trial.match("streams", `${trial.place}.streams`, streams, this.streams);
    if (reports && trial.offer.capabilities.includes("events")) {
      const items = reports.items.filter(({ kind }) => kind === undefined || trial.isCompared(kind)).map(({ event }) => event);
      const events = this.events.map(({ event }) => event).filter(({ name }) => trial.isCompared(name));
      trial.match("events", `${trial.place}.events`, reports.order === "ordered" ? items : { multiset: items }, events);
    }
    if (state !== undefined) trial.match("observed", `${trial.place}.state`, state, found);
  }

  /** Checks messages. One in another form is the difference only if there is none in more than its form. */
  checkMessages(sends, reads) {
    const { trial } = this;
    const found = this.messages.map(({ to, bytes }) => ({ to, bytes, ...(reads && { message: trial.read(bytes) }) }));
    let difference = this.messageDifference(sends, found);
    if (!difference) return;
    if (difference.isOtherForm) {
      const written = found.map((each) => ({ ...each, bytes: trial.ask({ op: "encode", value: trial.read(each.bytes) }).bytes }));
      difference = this.messageDifference(sends, written) ?? difference;
    }
    throw new End({ failure: "messages", difference });
  }

  /** The first difference of messages, and whether it is one of form only. */
  messageDifference(expected, found) {
    const { trial } = this;
    const difference = firstDifference(expected, found, trial.names, `${trial.place}.messages`);
    if (difference?.where.endsWith(".bytes")) return trial.bytesDifference(difference.where, difference.expected, difference.actual);
    const { to, bytes } = difference?.actual ?? {};
    if (bytes === undefined) return difference;
    const wanted = difference.expected?.bytes;
    const compared = typeof wanted === "string" ? trial.compare(wanted, bytes, `${difference.where}.message`) : {};
    return { ...difference, actual: { to, bytes }, ...compared };
  }
}
