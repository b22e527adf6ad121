/** A running case: what it asks the implementation, what messages are, and the answers to random choices. */

import { blake2b } from "./extras/blake2b.mjs";
import { firstDifference, fits } from "./matching.mjs";

/** Ends a case: by an unmet expectation (`failure` and the first `difference`), or without a verdict (`status`). */
export class End extends Error {
  constructor(about, reason = "") {
    super(reason);
    Object.assign(this, about);
  }
}

/** Ends a case by an unmet expectation. */
export function fail(failure, where, expected, actual) {
  throw new End({ failure, difference: { where, expected, actual } });
}

export class Trial {
  place = ""; // of the step that runs
  names = new Map(); // of the matcher `same`
  tolerated = []; // why outcomes that occurred are only tolerated
  readings = []; // that the implementation declares, and that explain failures
  picks = []; // the answers of the vector to random choices
  asked = new Map(); // the number of random choices by site
  wrong = null; // the first random choice that does not fit the vector's answer

  constructor(bundle, offer, handle, reader, vector, each) {
    Object.assign(this, { bundle, offer, handle, reader, vector, each });
  }

  /** Whether events of this kind are compared. */
  isCompared(kind) {
    const { capabilities, events } = this.offer;
    return capabilities.includes("events") && (events ? events.includes(kind) : !this.bundle.run.optional_events.includes(kind));
  }

  /** Returns the reply to a request. An error ends the case; as skipped, if the offer does not cover what is not supported. */
  ask(request, node) {
    const { error, ...reply } = this.handle({ protocol: this.bundle.protocol, ...request }, (question) => this.choose(question));
    if (error?.code === "unsupported" && !this.isCovered(request)) throw new End({ status: "skipped" }, error.message);
    const failure = { panic: "crashed", hung: "hung" }[error?.code] ?? "error";
    if (error) fail(failure, `reply to ${request.op}`, { ok: true }, failure === "error" ? { error } : error.message);
    if (this.wrong) fail("choice", `${node}: choice`, "the options that the vector answers", this.wrong);
    return reply;
  }

  /** Whether the offer covers a request. A configuration other than the default one is not covered. */
  isCovered({ op, name, what, config = {} }) {
    const { covered_by: coveredBy, required_config: required } = this.bundle.run;
    const capability = { call: `api.${name}`, query: `observe.${what}` }[op] ?? coveredBy[op];
    return this.offer.capabilities.includes(capability) && Object.keys(config).every((member) => required.includes(member));
  }

  /** Returns the indices of the options to take: as the vector says, else by weights that follow from seed, site and number. */
  choose({ site, kind, of, some: wanted }) {
    const some = { one: 1, permutation: of.length }[kind] ?? wanted;
    const number = this.asked.get(site) ?? 0;
    this.asked.set(site, number + 1);
    const at = this.picks.findIndex((answer) => answer.site === site);
    if (at >= 0) {
      const [{ pick }] = this.picks.splice(at, 1);
      const picked = pick.map((option) => of.findIndex((each) => fits(option, each)));
      if (picked.length === some && !picked.includes(-1)) return picked;
      this.wrong ??= { site, some, of, pick };
    }
    const weigh = (index) => blake2b(`${this.each.seed}/${site}/${number}/${index}`, 8);
    const weighed = [...of.keys()].map((index) => ({ index, weight: weigh(index) })).sort((a, b) => (a.weight < b.weight ? -1 : 1));
    return weighed.slice(0, some).map(({ index }) => index);
  }

  /** The message of some bytes: one of the bundle, or what the implementation decodes, if that can be relied on. */
  read(bytes) {
    const { known, doubt, written } = this.reader;
    if (known.has(bytes)) return known.get(bytes);
    if (!this.offer.capabilities.includes("codec")) throw new End({ status: "skipped" }, "to read messages the codec is needed");
    try {
      const { value, rejected } = this.ask({ op: "decode", bytes });
      if (doubt === null) return rejected ? `no message: ${rejected.class}` : value;
      if (written.has(value?.type) && this.ask({ op: "encode", value }).bytes === bytes) return value;
    } catch (end) {
      if (doubt === null) throw new End({ status: "undetermined" }, `it depends on a message on which the decoder ends: ${bytes}`);
    }
    throw new End({ status: "undetermined" }, `it depends on how the decoder reads a message, and the decoder fails ${doubt}`);
  }

  /** The type of a message. */
  kind(bytes) {
    return this.read(bytes).type ?? "an invalid message";
  }

  /** A difference of bytes. */
  bytesDifference(where, expected, actual) {
    return { where, expected, actual, ...this.compare(expected, actual, where.replace(/bytes$/, "message")) };
  }

  /** Two datagrams as messages: whether they are the same one in another form, as far as the decoder can say. */
  compare(one, other, where) {
    try {
      const [expected, actual] = [this.read(one), this.read(other)];
      return { isOtherForm: fits(expected, actual), compared: { expected, actual, where } };
    } catch (end) {
      if (end.status) return { isOtherForm: false };
      throw end;
    }
  }

  /** Fails unless a value matches a pattern. */
  match(failure, where, expected, actual) {
    const difference = firstDifference(expected, actual, this.names, where);
    if (difference) throw new End({ failure, difference: { compared: { expected, actual, where }, ...difference } });
  }
}
