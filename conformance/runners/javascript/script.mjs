/** The steps of a vector with nodes. */

import { Failure, Undetermined, Unsupported, fail } from "./failure.mjs";
import { Network } from "./host.mjs";
import { firstBinding, firstDifference, same } from "./matching.mjs";
import { AFTER, JUDGING } from "./trial.mjs";

const ANY = { any: true };

export class Script {
  constructor(trial, host) {
    this.trial = trial;
    this.host = host;
  }

  play() {
    const { trial, host } = this;
    host.open();
    for (const [index, step] of (trial.vector.setup ?? []).entries()) this.act(step, `setup[${index}]`);
    this.clear();
    for (const [index, step] of trial.vector.steps.entries()) {
      this.playStep(`steps[${index}]`, () => (JUDGING.includes(step.do) ? this[step.do](step) : this.act(step, trial.place)));
    }
    this.playStep(AFTER, () => this.unexpected());
  }

  /** Goes on after a failure that readings explain which the implementation declares. */
  playStep(place, step) {
    const { trial } = this;
    trial.place = place;
    try {
      step();
    } catch (error) {
      const readings = error instanceof Failure ? trial.declared(error) : [];
      if (readings.length === 0) throw error;
      trial.readings.push(...readings);
      this.clear();
    }
  }

  /** An action at its time, after everything that is due earlier. */
  act(step, where) {
    const { trial, host } = this;
    const actor = host.actors.get(step.node);
    trial.choices.script(step.picks);
    if (step.do === "advance" || host.due(step.at)) host.advance(step.at, step.nodes);
    host.now = Math.max(host.now, step.at);
    const actions = {
      receive: () => host.deliver(actor, step.from, step.bytes),
      sent: () => this.sent(step, where),
      stream: () => host.connect(actor, step.stream),
      call: () => this.call(step, where),
      crash: () => host.crash(actor),
      restart: () => host.restart(actor, step.config),
      cut: () => host.cut(step.groups),
      heal: () => host.cut(),
      advance: () => {},
    };
    actions[step.do]();
  }

  /** Reports the outcome of the oldest message that is meant, or of all if no receiver is named. */
  sent({ node, to, type, bytes, took_us: took }, where) {
    const { trial, host } = this;
    const isMeant = (message) =>
      to === undefined || (same(message.to, to) && (type === undefined || trial.kind(message.bytes) === type));
    let meant = host.openEnded.filter((message) => message.sender.name === node && isMeant(message));
    if (bytes !== undefined) {
      meant = meant.filter((message) => message.bytes === bytes);
      if (meant.length === 0) meant = [{ sender: host.actors.get(node), to, bytes }]; // sent before the vector began
    }
    if (meant.length === 0) fail("messages", `${where}.sent`, { node, to, type }, null);
    for (const message of to === undefined ? meant : meant.slice(0, 1)) host.settle(message, took);
  }

  call({ node, name, args, refused: announced }, where) {
    this.trial.isChallenged ||= announced !== undefined && announced !== null;
    const { refused } = this.host.call(this.host.actors.get(node), name, args);
    const isExpected = announced ? refused && (announced === true || announced === refused.class) : !refused;
    if (isExpected) return;
    const expected = announced ? { refused: announced } : "the call is carried out";
    fail("refused", `${where}.call`, expected, refused ? { refused } : "the call was carried out");
  }

  observe({ node, query, args, equals }) {
    const value = this.host.query(this.host.actors.get(node), query, args);
    this.trial.match("observed", `${this.trial.place}.observe.${query}`, equals, value);
  }

  /** Checks the events of a kind that one node's application received since the last check. */
  told({ node, event, equals }) {
    const actor = this.host.actors.get(node);
    if (!this.trial.tells(event)) return;
    const found = actor.told.filter(({ name }) => name === event);
    actor.told = actor.told.filter(({ name }) => name !== event);
    this.trial.match("events", `${this.trial.place}.told.${event}`, equals, found);
  }

  /** Checks the output since the last check: the first allowed outcome that matches is taken. */
  expect({ outcomes, picked, quiet_until: quiet }) {
    const { trial, host } = this;
    if (outcomes.some(({ state }) => state !== undefined)) this.state = host.query([...host.actors.values()][0], "state");
    const isGiven = picked && trial.implementation.choices === "oracle";
    const allowed = isGiven ? outcomes.filter(({ branch }) => branch === picked) : outcomes;
    const unmet = []; // of each outcome
    const taken = allowed.find((outcome) => {
      try {
        this.check(outcome);
        return true;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        unmet.push(error);
        return false;
      }
    });
    if (!taken) {
      const [closest] = unmet;
      const names = allowed.map(({ branch }) => branch).join(", ");
      if (allowed.length > 1) closest.difference.where += ` (none of the branches ${names} fits; shown against the first)`;
      throw closest;
    }
    if (allowed.length > 1 && taken.verdict === "tolerated") trial.told.push(`${taken.branch}: ${taken.because}`);
    this.clear();
    if (quiet === undefined) return;
    trial.choices.script();
    host.advance(quiet);
    this.unexpected();
  }

  check({ order, messages, streams, events = undefined, state = undefined }) {
    const { trial, host } = this;
    const { bound } = trial;
    try {
      this.checkMessages(order, messages);
      trial.match("streams", `${trial.place}.streams`, streams, host.streams);
      if (events !== undefined && trial.implementation.capabilities.includes("events")) {
        const found = host.events.filter(({ name }) => trial.tells(name));
        trial.match("events", `${trial.place}.events`, comparedEvents(events, trial), found);
      }
      if (state !== undefined) trial.match("observed", `${trial.place}.state`, state, this.state);
    } catch (error) {
      trial.bound = bound;
      throw error;
    }
  }

  checkMessages(order, messages) {
    const { trial, host } = this;
    const isRead = messages.some(({ message }) => message !== undefined);
    const patterns = messages.map(({ to, bytes = ANY, message = ANY }) => ({ to, bytes, ...(isRead && { message }) }));
    const shown = ({ to, bytes }) => ({ to, bytes, ...(isRead && { message: trial.read(bytes) }) });
    const expected = order === "ordered" ? patterns : { multiset: patterns };
    const where = `${trial.place}.messages`;
    const found = host.messages.map(shown);
    const after = firstBinding(expected, found, trial.bound);
    if (after !== undefined) {
      trial.bound = after;
      return;
    }
    const different = firstDifference(expected, found, trial.bound, where);
    const meant = this.withoutMeaningless(found);
    if (!same(meant, found)) {
      const other = firstDifference(expected, meant, trial.bound, where);
      throw new Failure("messages", { ...this.readable(other ?? different), sameMeaning: !other });
    }
    let difference = this.readable(different);
    if (difference.otherForm) {
      // the same message in other bytes: is there a message that differs in more than its form?
      const written = found.map((message) => ({ ...message, bytes: trial.encode(trial.read(message.bytes)).bytes }));
      const other = firstDifference(expected, written, trial.bound, where);
      difference = other ? this.readable(other) : difference;
    }
    throw new Failure("messages", difference);
  }

  /** Messages without the items of their lists that mean nothing; as they are if they have none, or if the decoder cannot say. */
  withoutMeaningless(found) {
    const { trial } = this;
    const { meaningless = {} } = trial.settings;
    if (Object.keys(meaningless).length === 0) return found;
    try {
      return found.map((sent) => {
        const read = trial.read(sent.bytes);
        const isMeant = (item) => !(meaningless[read.type] ?? []).some((one) => same(one, item));
        const kept = (value) => (Array.isArray(value) ? value.filter(isMeant) : value);
        const meant = Object.fromEntries(Object.entries(read).map(([name, value]) => [name, kept(value)]));
        if (typeof read !== "object" || same(meant, read)) return sent;
        return { ...sent, bytes: trial.encode(meant).bytes, ...(sent.message !== undefined && { message: meant }) };
      });
    } catch (error) {
      if (error instanceof Undetermined || error instanceof Unsupported) return found;
      throw error;
    }
  }

  /** A difference of messages, without what only serves their comparison. */
  readable({ where, expected, actual, reordered }) {
    if (where.endsWith(".bytes")) {
      const shown = this.trial.bytesDifference(where, expected, actual);
      return { ...shown, reordered: reordered || shown.reordered };
    }
    const shown = (side) => {
      if (typeof side?.bytes === "string") return { to: side.to, bytes: side.bytes };
      return side?.bytes ? { to: side.to, message: side.message } : side;
    };
    const bytesOf = (side) => (typeof side?.bytes === "string" ? side.bytes : null);
    const areBytes = bytesOf(expected) && bytesOf(actual);
    const compared = areBytes ? this.trial.compareMessages(expected.bytes, actual.bytes, `${where}.message`) : {};
    return { where, expected: shown(expected), actual: shown(actual), ...compared, reordered: reordered || compared.reordered };
  }

  unexpected() {
    if (this.host instanceof Network) return;
    this.check({ order: "ordered", messages: [], streams: [] });
    this.clear();
  }

  clear() {
    Object.assign(this.host, { messages: [], events: [], streams: [] });
    for (const actor of this.host.actors.values()) actor.told = [];
  }
}

/** An expectation of events without the kinds that the implementation does not report. */
function comparedEvents(expected, trial) {
  if (!Array.isArray(expected)) {
    const [[name, inner]] = Object.entries(expected);
    return Array.isArray(inner) ? { [name]: comparedEvents(inner, trial) } : expected;
  }
  return expected.filter((event) => {
    const kind = (event.contains ?? event).name;
    return typeof kind !== "string" || trial.tells(kind);
  });
}
