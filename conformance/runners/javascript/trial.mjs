/** A running case: what it asks the implementation, and how its verdict follows from a difference (docs/reference/bundle.md). */

import { blake2b } from "./blake2b.mjs";
import { Choices } from "./choices.mjs";
import { ERRORS, Failure, UNSUPPORTED, Undetermined, Unsupported, invoke } from "./failure.mjs";
import { cut, linesOf } from "./happened.mjs";
import { canonical, firstBinding, firstDifference, same } from "./matching.mjs";
import { declaredReadings } from "./readings.mjs";

/** The capability that covers an op; those of calls and queries have names. States are never covered. */
const COVERED_BY = { decode: "codec", encode: "codec", sent: "sent", stream: "stream" };
for (const op of ["open", "recv", "advance"]) COVERED_BY[op] = "exchange";
for (const op of ["crash", "restart"]) COVERED_BY[op] = "restart";

export const JUDGING = ["expect", "observe", "told"]; // steps that check something
export const AFTER = "after the last step";
const BROKEN = ["crashed", "flooded"]; // failures that are statuses of their own

/** An outcome without why a message was rejected, and without the words in which a call was refused. */
function withoutReasons(actual) {
  const { rejected, refused } = actual ?? {};
  if (rejected !== null && typeof rejected === "object") return { ...actual, rejected: true };
  if (refused === null || typeof refused !== "object") return actual;
  const { message, ...reason } = refused;
  return { ...actual, refused: reason };
}

/** A running case. */
export class Trial {
  place = "";
  op; // of the last request
  input; // of the codec: the op, and what it is asked about
  bound = {};
  told = []; // branches that are only tolerated
  isChallenged = false; // was given bytes of a peer, or a call that it must refuse: readings of the document may end there
  readings = []; // those that the implementation declares, and that explain failures
  happened = []; // what happened at nodes

  /** `reader`: what says what a message is. */
  constructor(bundle, vector, each, implementation, reader) {
    this.settings = bundle.run;
    this.vector = vector;
    this.each = each;
    this.implementation = implementation;
    this.reader = reader;
    this.choices = new Choices(blake2b(`${bundle.run.seed}/${each.id}`, 8));
  }

  /** Runs the case by one of the checks; returns the members of its result. */
  result(checks) {
    const reason = this.missing();
    if (reason) return { status: "skipped", reason };
    try {
      checks[this.each.check](this);
    } catch (error) {
      if (error instanceof Unsupported) return { status: "skipped", reason: error.message };
      if (error instanceof Undetermined) return { status: "undetermined", reason: error.message };
      if (!(error instanceof Failure)) throw error;
      const readings = this.declared(error);
      if (readings.length > 0) return { status: "passed", readings };
      return { ...this.failed(error), input: this.input, happened: linesOf(this.happened, (digits) => this.kindOrNone(digits)) };
    }
    const { readings } = this;
    return this.told.length > 0 ? { status: "tolerated", reason: this.told.join("; "), readings } : { status: "passed", readings };
  }

  missing() {
    const { capabilities, limits = {}, choices, exact } = this.implementation;
    const has = (need) => capabilities.includes(need) || (need.startsWith("events.") && this.tells(need.slice(7)));
    const lacking = this.each.needs.filter((need) => !has(need) && !(need === "choices.oracle" && choices === "oracle"));
    if (lacking.length > 0) return `the implementation does not offer ${lacking.join(", ")}`;
    if (this.vector.exact && !exact) return "the bundle was not read by an exact JSON parser";
    const configured = (this.vector.nodes ?? []).flatMap(({ config }) => Object.entries(config));
    const beyond = configured.find(([name, value]) => value > (limits[name] ?? Infinity));
    if (beyond) return `the implementation takes at most ${limits[beyond[0]]} for ${beyond[0]}`;
    const blind = !capabilities.some((word) => word.startsWith("observe."));
    return this.each.check === "unchanged" && blind ? "the implementation offers nothing to observe" : null;
  }

  /** Whether events of this kind are compared. */
  tells(kind) {
    const { capabilities, events } = this.implementation;
    return capabilities.includes("events") && (events ? events.includes(kind) : !this.settings.optional_events.includes(kind));
  }

  failed(error) {
    const { failure, difference } = error;
    const owes = this.owesAnswer(failure);
    const decisions = owes || failure === "error" ? [] : this.decisions(error); // an error is no reading of the document
    const broken = BROKEN.includes(failure) ? failure : null;
    const { level } = this.vector;
    const isTolerated = !broken && !owes && level !== "must";
    if (isTolerated) return { status: "tolerated", reason: `the vector says ${level}`, failure, decisions, difference };
    return { status: decisions.length > 0 ? "differs" : (broken ?? "failed"), failure, decisions, difference };
  }

  /** Whether no reading of the document explains this failure: no answer, though all that was asked is legal. */
  owesAnswer(failure) {
    return ["crashed", "error"].includes(failure) && !this.isChallenged && !["decode", "encode"].includes(this.op);
  }

  fingerprint({ failure, difference }) {
    if (difference.sameMeaning) return "~";
    if (difference.otherForm) return "=";
    const where = failure === "events" ? difference.where.replace(/\[\d+\]$/, "") : difference.where;
    return blake2b(canonical([failure, where, withoutReasons(difference.actual)]), 6);
  }

  /** The readings that the implementation declares and that explain a failure. */
  declared(error) {
    if (this.owesAnswer(error.failure)) return [];
    const basis = this.vector.basis?.[this.place || this.each.check] ?? {};
    const outcomes = [this.fingerprint(error), "*", ...(error.failure === "events" ? ["*events"] : []), "!"];
    return declaredReadings(this.implementation.readings ?? {}, basis, outcomes);
  }

  /** The decisions on which the failed expectation rests; none if the document's words require it. */
  decisions(error) {
    const found = this.basis();
    const { clauses } = this.vector;
    const only = clauses.every((clause) => /^[A-Z]A-\d+$/.test(clause)) ? clauses : [];
    const of = (entries) => [...new Set(entries.flatMap(([key]) => key.split(" ")))];
    const came = error.failure === "crashed" ? "!" : this.fingerprint(error);
    const named = of(found.filter(([, others]) => Object.hasOwn(others, came)));
    if (named.length > 0 || came === "!") return named.length > 0 ? named : only;
    const real = found.filter(([, others]) => !Object.keys(others).every((came) => came === "=" || came === "~"));
    const open = ["!", "*", ...(error.failure === "events" ? ["*events"] : [])];
    const alone = this.implementation.choices === "oracle" || !this.each.needs.includes("choices.oracle");
    if (alone && !real.some(([, others]) => open.some((key) => Object.hasOwn(others, key)))) return only;
    return real.length > 0 ? of(real) : only;
  }

  /** The decisions behind the expectation at this place, or behind the next one in the script, with their outcomes. */
  basis() {
    const { basis = {}, steps = [] } = this.vector;
    const place = this.place || this.each.check;
    const index = steps.findIndex((_, at) => `steps[${at}]` === place);
    const judge = index < 0 ? -1 : steps.findIndex((step, at) => at >= index && JUDGING.includes(step.do));
    return Object.entries(basis[place] ?? basis[judge < 0 ? AFTER : `steps[${judge}]`] ?? {});
  }

  // ---- the implementation ---------------------------------------------------------------------------------------------

  /**
   * What the implementation does about a request, an op of the adapter protocol. An exception is a crash, unless its `code` says
   * something else: what is not supported skips the case, if the capabilities do not cover the request.
   */
  ask(op, request, action) {
    this.op = op;
    try {
      return action(this.implementation);
    } catch (error) {
      const { code, message, stack } = error ?? {};
      if (error instanceof Failure) throw error;
      if (code === "unsupported" && !this.covers(op, request)) throw new Unsupported(`${UNSUPPORTED}${op}: ${message}`);
      const isAnswer = ERRORS.includes(code);
      const difference = { where: `reply to ${op}`, expected: { ok: true } };
      if (isAnswer) throw new Failure("error", { ...difference, actual: { error: { code, message } } });
      throw new Failure("crashed", { ...difference, actual: String(error), stack });
    }
  }

  /** Whether the capabilities cover a request. A configuration other than the default one is not covered. */
  covers(op, { name, config = {} }) {
    const named = { call: `api.${name}`, query: `observe.${name}` };
    const isDefault = Object.keys(config).every((member) => this.settings.required_config.includes(member));
    return isDefault && this.implementation.capabilities.includes(named[op] ?? COVERED_BY[op]);
  }

  decode(digits) {
    return this.ask("decode", {}, (codec) => invoke(codec, "decode", Buffer.from(digits, "hex")));
  }

  encode(value) {
    const answer = this.ask("encode", {}, (codec) => invoke(codec, "encode", value));
    return answer.rejected ? answer : { bytes: Buffer.from(answer.bytes).toString("hex") };
  }

  /** The message of some bytes: one of the bundle, or what the implementation decodes, if that can be relied on. */
  read(digits) {
    const { known, doubt } = this.reader;
    if (known.has(digits)) return known.get(digits);
    if (!this.implementation.capabilities.includes("codec")) throw new Unsupported("to read messages the codec is needed");
    try {
      const answer = this.decode(digits);
      if (doubt === null) return answer.rejected ? `no message: ${answer.rejected.class}` : answer.value;
      if (!answer.rejected && this.writes(answer.value, digits)) return answer.value;
    } catch (error) {
      if (!(error instanceof Failure || error instanceof Unsupported)) throw error;
      if (doubt === null) throw new Undetermined(`it depends on a message on which the decoder ends: ${cut(digits)}`);
    }
    throw new Undetermined(`it depends on how the decoder reads a message, and the decoder fails ${doubt}: see that case first`);
  }

  /** Whether an encoder that is right for this type writes these bytes for a message. */
  writes(message, digits) {
    return this.reader.written.has(message?.type) && this.encode(message).bytes === digits;
  }

  kind(digits) {
    return this.read(digits).type ?? "an invalid message";
  }

  /** The type of a message for the text of a failure; null if the decoder cannot be asked, trusted, or fails. */
  kindOrNone(digits) {
    try {
      const answer = this.read(digits);
      return answer.type ?? "no message";
    } catch {
      return null;
    }
  }

  bytesDifference(where, expected, actual) {
    let at = 0;
    while (at < expected.length && expected.slice(at, at + 2) === actual.slice(at, at + 2)) at += 2;
    const compared = this.compareMessages(expected, actual, where.replace(/bytes$/, "message"));
    return { where: `${where}, from byte ${at / 2}`, expected, actual, ...compared };
  }

  /**
   * Two datagrams as messages: `otherForm`, whether they are the same one, and `reordered`, the place of the list whose order alone
   * differs; neither if the decoder cannot say, unless another reading has other forms of a message here: then it is not known
   * whether this is one.
   */
  compareMessages(one, other, where) {
    try {
      const [wanted, found] = [this.read(one), this.read(other)];
      if (same(wanted, found)) return { otherForm: true };
      return { otherForm: false, reordered: firstDifference(wanted, found, {}, where)?.reordered };
    } catch (error) {
      if (!(error instanceof Undetermined || error instanceof Unsupported)) throw error;
      if (this.basis().some(([, others]) => Object.hasOwn(others, "="))) throw error;
      return { otherForm: false };
    }
  }

  /** Raises a failure if the value does not match; keeps the names that it binds. */
  match(failure, where, expected, actual) {
    const after = firstBinding(expected, actual, this.bound);
    if (after === undefined) throw new Failure(failure, firstDifference(expected, actual, this.bound, where));
    this.bound = after;
  }
}
