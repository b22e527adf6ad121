/** The checks of cases: of the codec, of a node that receives malformed datagrams, and of scripts. */

import { Choices } from "./choices.mjs";
import { Failure, fail } from "./failure.mjs";
import { Host, Network } from "./host.mjs";
import { asJson } from "./happened.mjs";
import { canonical, firstDifference } from "./matching.mjs";
import { Script } from "./script.mjs";

export const CHECKS = {
  decode(trial) {
    const { bytes, value } = trial.vector;
    trial.input = `decode ${bytes}`;
    const answer = trial.decode(bytes);
    if (answer.rejected) fail("rejected", "decode", { value }, { rejected: answer.rejected });
    const difference = firstDifference(value, answer.value, {});
    if (difference) throw new Failure("value", difference);
    return answer.value;
  },

  encode(trial, value = trial.vector.value) {
    const { bytes } = trial.vector;
    trial.input = `encode ${asJson(value)}`;
    const answer = trial.encode(value);
    if (answer.rejected) fail("rejected", "encode", { bytes }, { rejected: answer.rejected });
    if (answer.bytes !== bytes) throw new Failure("bytes", trial.bytesDifference("bytes", bytes, answer.bytes));
  },

  reencode(trial) {
    CHECKS.encode(trial, CHECKS.decode(trial));
  },

  rejects(trial) {
    const answers = trial.vector.datagrams.map((datagram) => {
      trial.input = `decode ${datagram.bytes}`;
      return { ...datagram, ...trial.decode(datagram.bytes) };
    });
    for (const { name, bytes, rejected, value } of answers) {
      trial.input = `decode ${bytes}`;
      const wanted = trial.vector.class;
      if (!rejected) fail("accepted", name, { rejected: "no message" }, { bytes, value });
      if (wanted && rejected.class !== wanted) fail("class", `${name}: rejected.class`, wanted, rejected.class);
    }
  },

  survives(trial) {
    new Receiver(trial).deliver(trial.vector.datagrams);
  },

  unchanged(trial) {
    const receiver = new Receiver(trial);
    receiver.deliver(receiver.legal);
    receiver.host.messages = [];
    const before = receiver.observed();
    receiver.deliver(trial.vector.datagrams, ({ name }) => {
      const [message] = receiver.host.messages;
      if (message) fail("changed", `${name}: messages`, null, { to: message.to, bytes: message.bytes });
    });
    const difference = firstDifference(before, receiver.observed(), {});
    if (difference) throw new Failure("changed", difference);
  },

  serves(trial) {
    const [alone, after] = [[], trial.vector.datagrams].map((datagrams) => {
      trial.choices = new Choices(trial.choices.seed);
      const receiver = new Receiver(trial);
      receiver.deliver(datagrams);
      receiver.host.messages = [];
      receiver.deliver(receiver.legal);
      receiver.host.advance(Math.min(60_000, receiver.actor.nextTimer ?? 0));
      return receiver.comparable();
    });
    const difference = firstDifference(alone, after, {}, "messages");
    if (difference) throw new Failure("unserving", difference);
  },

  exchange(trial) {
    new Script(trial, new Host(trial, trial.vector.nodes)).play();
  },

  cluster(trial) {
    new Script(trial, new Network(trial, trial.vector.nodes)).play();
  },
};

/** The node of a vector with malformed datagrams. */
class Receiver {
  constructor(trial) {
    const { addr, config, peer, legal } = trial.vector.receiver;
    this.host = new Host(trial, [{ name: "node", addr, config }]);
    this.host.open();
    this.actor = this.host.actors.get("node");
    this.legal = legal.map((bytes) => ({ bytes }));
    this.trial = trial;
    this.peer = peer;
  }

  /** Delivers messages; `judge` is called after each. */
  deliver(datagrams, judge = (_datagram) => {}) {
    for (const datagram of datagrams) {
      this.host.deliver(this.actor, this.peer, datagram.bytes);
      judge(datagram);
    }
  }

  observed() {
    const { settings, implementation } = this.trial;
    const queries = settings.queries.filter((what) => implementation.capabilities.includes(`observe.${what}`));
    const answers = queries.map((what) => [what, this.host.query(this.actor, what)]);
    return { ...Object.fromEntries(answers), next_timer_ms: this.actor.nextTimer };
  }

  /** Whole messages, or receivers and types if the node makes random choices of its own. */
  comparable() {
    const { trial, host } = this;
    if (trial.implementation.choices === "oracle") return host.messages.map(({ to, bytes }) => ({ to, bytes }));
    const shown = host.messages.map(({ at, to, bytes }) => ({ at, to, type: trial.kind(bytes) }));
    const key = ({ at, to, type }) => `${String(at).padStart(20)} ${canonical(to)} ${type}`;
    return shown.sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }
}
