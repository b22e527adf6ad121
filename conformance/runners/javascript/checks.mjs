/** The checks of cases: of the codec, of a node that receives malformed datagrams, and of scripts. */

import { Network } from "./network.mjs";
import { Script } from "./script.mjs";
import { End, fail } from "./trial.mjs";
import { declaredReadings } from "./verdict.mjs";

const LATER = 60_000; // milliseconds after which timers of any protocol have run

export const CHECKS = {
  decode(trial) {
    const { bytes, value } = trial.vector;
    const answer = trial.ask({ op: "decode", bytes });
    if (answer.rejected) fail("rejected", "decode", { value }, { rejected: answer.rejected });
    trial.match("value", "", value, answer.value);
    return answer.value;
  },

  encode(trial, value = trial.vector.value) {
    const { bytes } = trial.vector;
    const answer = trial.ask({ op: "encode", value });
    if (answer.rejected) fail("rejected", "encode", { bytes }, { rejected: answer.rejected });
    if (answer.bytes !== bytes) throw new End({ failure: "bytes", difference: trial.bytesDifference("bytes", bytes, answer.bytes) });
  },

  reencode: (trial) => CHECKS.encode(trial, CHECKS.decode(trial)),

  /** All datagrams are decoded before an answer is judged. */
  rejects(trial) {
    const { datagrams, class: wanted } = trial.vector;
    const answers = datagrams.map((datagram) => ({ ...datagram, ...trial.ask({ op: "decode", bytes: datagram.bytes }) }));
    for (const { name, bytes, rejected, value } of answers) {
      if (!rejected) fail("accepted", name, { rejected: "no message" }, { bytes, value });
      if (wanted && rejected.class !== wanted) fail("class", `${name}: rejected.class`, wanted, rejected.class);
    }
  },

  survives: (trial) => void receiver(trial, [trial.vector.datagrams]),

  unchanged(trial) {
    const { datagrams, receiver: { legal } } = trial.vector;
    const script = receiver(trial, [legal]);
    const before = answers(script);
    const answered = deliver(script, datagrams).find(({ messages }) => messages.length > 0);
    const [message] = answered?.messages ?? [];
    if (message) fail("changed", `${answered.name}: messages`, null, { to: message.to, bytes: message.bytes });
    trial.match("changed", "", before, answers(script));
  },

  /** After malformed datagrams it sends what a twin sends without them; both get the same answers to their random choices. */
  serves(trial) {
    const { datagrams, receiver: { legal } } = trial.vector;
    const [alone, after] = [[legal], [datagrams, legal]].map((lists) => {
      trial.asked.clear();
      const script = receiver(trial, lists);
      script.advance(Math.min(LATER, script.nodes[0].nextTimer ?? 0));
      return comparable(script);
    });
    trial.match("unserving", "messages", alone, after);
  },

  exchange: (trial) => new Script(trial, trial.vector.nodes, explain(trial)).open().play(trial.vector),
  cluster: (trial) => new Network(trial, trial.vector.nodes, explain(trial)).open().play(trial.vector),
};

const explain = (trial) => (failed) => declaredReadings(trial, failed);

/** A node that receives lists of messages; only the output since the last list is kept. */
function receiver(trial, lists) {
  const { addr, config } = trial.vector.receiver;
  const script = new Script(trial, [{ name: "node", addr, config }]).open();
  for (const list of lists) {
    script.clear();
    deliver(script, list.map((each) => (typeof each === "string" ? { bytes: each } : each)));
  }
  return script;
}

/** Delivers messages to a node; returns them with the messages that are sent after each. */
function deliver(script, datagrams) {
  const { bundle, vector } = script.trial;
  return datagrams.map(({ name, bytes }) => {
    const before = script.messages.length;
    script.ask(script.nodes[0], { op: "recv", via: bundle.run.transport, from: vector.receiver.peer, bytes });
    return { name, messages: script.messages.slice(before) };
  });
}

/** What a node answers to all queries that are offered, and its next timer. */
function answers({ trial, nodes: [{ handle, name, nextTimer }] }) {
  const queries = trial.bundle.run.queries.filter((what) => trial.offer.capabilities.includes(`observe.${what}`));
  const found = queries.map((what) => [what, trial.ask({ op: "query", handle, what }, name).value]);
  return { ...Object.fromEntries(found), next_timer_ms: nextTimer };
}

/** The messages that were sent; only time, receiver and type, in any order, if the node makes random choices of its own. */
function comparable({ trial, messages }) {
  if (trial.offer.choices === "oracle") return messages.map(({ to, bytes }) => ({ to, bytes }));
  const shown = messages.map(({ at, to, bytes }) => ({ at, to, type: trial.kind(bytes) }));
  const key = ({ at, to, type }) => `${String(at).padStart(20)} ${JSON.stringify(to)} ${type}`;
  return shown.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}
