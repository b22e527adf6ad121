/** A cluster: nodes whose messages all arrive after the same delay, unless the network is cut then. */

import { fits } from "./matching.mjs";
import { Script } from "./script.mjs";

export class Network extends Script {
  groups = []; // between which no message passes
  onTheWay = []; // the earliest first

  /** `cut` and `heal` change which messages pass from now on. */
  act(step) {
    super.act(step);
    if (step.do === "cut" || step.do === "heal") this.groups = step.groups ?? [];
  }

  send(message) {
    this.unsettled.push(message);
    const { run } = this.trial.bundle;
    const receivers = message.to === run.everybody ? this.nodes.map(({ addr }) => addr) : [message.to];
    this.onTheWay.push(...receivers.map((to) => ({ at: this.now + this.trial.vector.delay, message, to })));
  }

  /** Timers come before messages that arrive at the same instant. */
  due(until) {
    const timer = super.due(until);
    const [first] = this.onTheWay;
    return !first || first.at > until || (timer && timer.at <= first.at) ? timer : { at: first.at, run: () => this.arrive() };
  }

  arrive() {
    const { message, to } = this.onTheWay.shift();
    const receiver = this.nodes.find(({ addr }) => fits(addr, to));
    const sides = [message.sender, receiver].map((node) => this.groups.findIndex((group) => group.includes(node?.name)));
    const isCut = !sides.includes(-1) && sides[0] !== sides[1];
    const arrives = receiver?.isUp && !isCut;
    if (arrives) this.ask(receiver, { op: "recv", via: this.trial.bundle.run.transport, from: message.sender.addr, bytes: message.bytes });
    if (this.trial.bundle.run.transport !== "tcp" || !this.unsettled.includes(message)) return;
    this.settle(message, arrives ? this.trial.vector.delay * 1000 : null);
  }

  /** Only queries and events are checked. */
  expectNothing() {}
}
