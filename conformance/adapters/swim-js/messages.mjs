/**
 * Messages and their bytes. One datagram is one message [S-15].
 *
 * A message is `{type, sender, …, vectors}` with the members of docs/reference/messages.md. A counter is a BigInt, a payload as
 * payload.mjs has it.
 */

import { Malformed, refuse } from "./malformed.mjs";
import { settled } from "./payload.mjs";
import { read, write } from "./transit.mjs";
import { Keyed, escaped, isUuid, unescaped, valueOfText } from "./values.mjs";

export { Malformed };

const MAX_COUNTER = 2n ** 63n - 1n; // [SA-47]
const MAX_PORT = 65535n;
const MAX_HOST = 255; // bytes [SA-65]

// ---- what stands in a vector -----------------------------------------------------------------------------------------

/** Each kind of member: how many elements it has, what it is from them, and they from it. All of it is looked at both ways. */

const counter = {
  size: 1,
  read: ([value]) => checked(value, typeof value === "bigint" && value >= 0n && value <= MAX_COUNTER, "counter"),
  write: (value) => [counter.read([value])],
};

const uuid = {
  size: 1,
  read: ([value]) => checked(value, isUuid(value), "uuid").slice(2),
  write: (text) => [valueOfText(`~u${text}`)],
};

const port = {
  size: 1,
  read: ([value]) => Number(checked(value, typeof value === "bigint" && value >= 1n && value <= MAX_PORT, "port")),
  write: (number) => [BigInt(port.read([BigInt(checked(number, Number.isInteger(number), "port"))]))],
};

const host = {
  size: 1,
  read: ([value]) => {
    const text = unescaped(value);
    const size = Buffer.byteLength(checked(text, text !== null, "host"), "utf8");
    return checked(text, size >= 1 && size <= MAX_HOST, "host");
  },
  write: (text) => [escaped(host.read([escaped(checked(text, typeof text === "string", "host"))]))],
};

const incarnation = {
  size: 2,
  read: ([restart, tx]) => ({ restart: counter.read([restart]), tx: counter.read([tx]) }),
  write: ({ restart, tx }) => [...counter.write(restart), ...counter.write(tx)],
};

/** None at all, where nothing is said of it [SA-12]. */
const incarnationOrNull = {
  size: 2,
  read: (elements) => (elements.length === 0 ? null : incarnation.read(elements)),
  write: (value) => (value ? incarnation.write(value) : []),
};

const data = {
  size: 1,
  read: ([value]) => settled(value),
  write: (payload) => [payload],
};

function checked(value, isRight, kind) {
  return isRight ? value : refuse("bad_value", `this is no ${kind}: ${String(value).slice(0, 80)}`);
}

/** The members of each vector, in their order. */
const HEADERS = {
  ping: { sender: uuid, incarnation, target: uuid },
  ack: { sender: uuid, incarnation, target: uuid, target_tx: counter },
};
const PROBES = {
  probe: { sender: uuid, incarnation },
  probe_ack: { sender: uuid, incarnation, probe_tx: counter },
};
const VECTORS = {
  joining: { node: uuid, incarnation, host, port },
  normal: { node: uuid, incarnation: incarnationOrNull },
  suspicious: { node: uuid, incarnation: incarnationOrNull },
  dead: { node: uuid, incarnation: incarnationOrNull },
  leave: { node: uuid, incarnation },
  payload: { data },
  indirect_ping: { target: uuid, host, port },
  indirect_ack: { target: uuid, incarnation },
};
const ANTI_ENTROPY = "anti_entropy";
const MEMBER = { host, port, uuid, restart_counter: counter, tx_counter: counter };

const keyword = (name) => `~:${name.replaceAll("_", "-")}`;
const byKeyword = (layouts) => new Map(Object.entries(layouts).map(([type, members]) => [keyword(type), { type, members }]));
const HEADER_OF = byKeyword(HEADERS);
const PROBE_OF = byKeyword(PROBES);
const VECTOR_OF = byKeyword(VECTORS);

// ---- reading ---------------------------------------------------------------------------------------------------------

/** The message of a datagram, all of it, or Malformed is thrown: half a message is not what its sender said [SA-31]. */
export function decode(datagram) {
  const [header, ...rest] = arrayOf(read(datagram));
  const name = arrayOf(header)[0];
  if (PROBE_OF.has(name) && rest.length === 0) {
    return record(PROBE_OF.get(name), header);
  }
  if (!HEADER_OF.has(name)) {
    refuse("bad_type", "a message begins with a ping or an ack, or is a probe alone");
  }
  return { ...record(HEADER_OF.get(name), header), vectors: rest.map(vectorOf).filter((vector) => vector !== null) };
}

const arrayOf = (value) => (Array.isArray(value) ? value : refuse("bad_type", "this is no vector"));

/** What a vector after the header says, or null if that is for others to understand [SA-31]. */
function vectorOf(elements) {
  const [name, ...members] = arrayOf(elements);
  if (elements.length === 0 || name instanceof Keyed) {
    return { type: ANTI_ENTROPY, members: elements.map(memberOf), tagged: false }; // [SA-18]
  }
  if (name === keyword(ANTI_ENTROPY)) {
    return { type: ANTI_ENTROPY, members: members.map(memberOf), tagged: true };
  }
  if (VECTOR_OF.has(name)) {
    return record(VECTOR_OF.get(name), elements);
  }
  if (typeof name !== "string" || !name.startsWith("~:") || HEADER_OF.has(name)) {
    refuse("bad_type", "a vector after the header begins with the name of an event");
  }
  return null;
}

/** The members of a vector, or refuses it because there are too few elements or too many. */
function record({ type, members }, [, ...elements]) {
  const kinds = Object.entries(members);
  const sizes = kinds.map(([, { size }]) => size);
  const most = sizes.reduce((sum, size) => sum + size, 0);
  const least = sizes.reduce((sum, size, at) => sum + (kinds[at][1] === incarnationOrNull ? 0 : size), 0);
  if (elements.length !== most && elements.length !== least) {
    refuse("bad_length", `${type} has not ${elements.length} elements behind its name`);
  }
  const result = { type };
  for (const [name, { size, read }] of kinds) {
    result[name] = read(elements.splice(0, size));
  }
  return result;
}

/** A map of anti-entropy. Other keys are for others to understand; of one that stands twice the last counts. */
function memberOf(map) {
  const values = new Map(map instanceof Keyed ? map.entries : refuse("bad_type", "anti-entropy holds maps"));
  return Object.fromEntries(Object.entries(MEMBER).map(([name, { read }]) => [name, read([values.get(keyword(name))])]));
}

// ---- writing ---------------------------------------------------------------------------------------------------------

/** The datagram of a message, or Malformed is thrown if no peer could read it. */
export function encode(message) {
  const { type, vectors = [] } = message;
  if (Object.hasOwn(PROBES, type)) {
    return write([elementsOf(PROBES, message)]);
  }
  return write([elementsOf(HEADERS, message), ...vectors.map(vectorFrom)]);
}

function vectorFrom(vector) {
  if (vector.type !== ANTI_ENTROPY) {
    return elementsOf(VECTORS, vector);
  }
  return [...(vector.tagged ? [keyword(ANTI_ENTROPY)] : []), ...vector.members.map(memberFrom)];
}

function elementsOf(layouts, record) {
  if (!Object.hasOwn(layouts, record.type)) {
    throw new TypeError(`there is no ${record.type} here`);
  }
  const members = Object.entries(layouts[record.type]);
  return [keyword(record.type), ...members.flatMap(([name, { write }]) => write(record[name]))];
}

const memberFrom = (member) =>
  new Keyed(Object.entries(MEMBER).map(([name, { write }]) => [keyword(name), write(member[name])[0]]));
