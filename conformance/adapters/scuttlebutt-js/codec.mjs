/**
 * Messages and their bytes. One datagram is one message, without further framing [B-41].
 *
 * A message is `{type, entries}`. An entry of a digest is `{addr, version}`, one of a delta `{addr, key, value, version}`:
 * texts (text.mjs), and a version as a BigInt, since numbers lose what is above 2^53.
 */

import { bytesOf, textOf } from "./text.mjs";

/** Type byte, name, and the texts of an entry in their order; the version comes after them [B-40, B-43, B-44, B-45]. */
const LAYOUTS = [
  { tag: 1, type: "digest_request", texts: ["addr"] },
  { tag: 2, type: "digest_response", texts: ["addr"] },
  { tag: 3, type: "delta", texts: ["addr", "key", "value"] },
];
const BY_TAG = new Map(LAYOUTS.map((layout) => [layout.tag, layout]));
const BY_TYPE = new Map(LAYOUTS.map((layout) => [layout.type, layout]));

export const TYPE_SIZE = 1;
export const VERSION_SIZE = 8;
export const MAX_TEXT = 255; // the size of a text is one unsigned byte [B-42, BA-02]
export const MAX_VERSION = 2n ** 64n - 1n;

/** These bytes are no message. The peer's fault; `reason` is one of the suite's words, `offset` where it was noticed. */
export class Malformed extends Error {
  constructor(reason, offset, message) {
    super(message);
    this.reason = reason;
    this.offset = offset;
  }
}

/** How many bytes an entry takes in a message of this type. */
export function entrySize(type, entry) {
  return BY_TYPE.get(type).texts.reduce((size, name) => size + 1 + entry[name].length, VERSION_SIZE);
}

/** The datagram of a message. Its texts have at most 255 bytes: longer ones never come in, nor are they let in [BA-03]. */
export function encode({ type, entries }) {
  const { tag, texts } = BY_TYPE.get(type);
  const datagram = Buffer.alloc(entries.reduce((size, entry) => size + entrySize(type, entry), TYPE_SIZE));
  let at = datagram.writeUInt8(tag, 0);
  for (const entry of entries) {
    for (const name of texts) {
      at = datagram.writeUInt8(entry[name].length, at);
      at += bytesOf(entry[name]).copy(datagram, at);
    }
    at = datagram.writeBigUInt64BE(entry.version, at); // most significant byte first [BA-01]
  }
  return datagram;
}

/** The message of a datagram, all of it, or Malformed is thrown: a part of it is not what its sender said [BA-20]. */
export function decode(datagram) {
  if (datagram.length === 0) {
    throw new Malformed("truncated", 0, "an empty datagram has no type");
  }
  const layout = BY_TAG.get(datagram[0]);
  if (layout === undefined) {
    throw new Malformed("bad_type", 0, `there is no message type ${datagram[0]}`);
  }
  let at = TYPE_SIZE;

  function take(size) {
    if (at + size > datagram.length) {
      throw new Malformed("truncated", at, `need ${size} bytes, have ${datagram.length - at}`);
    }
    at += size;
    return datagram.subarray(at - size, at);
  }

  const entries = [];
  while (at < datagram.length) {
    const entry = {};
    for (const name of layout.texts) {
      entry[name] = textOf(take(take(1)[0]));
    }
    entry.version = take(VERSION_SIZE).readBigUInt64BE();
    entries.push(entry);
  }
  return { type: layout.type, entries };
}
