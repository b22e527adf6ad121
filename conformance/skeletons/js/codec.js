/**
 * 1. The codec: bytes to messages and back. Call your implementation's codec here.
 *
 * A message is an object with its `type` and its members, as in the suite: `peerproof vectors show` of a vector of the codec prints one
 * above its bytes. An integer of 64 bits is a string of decimal digits, read with BigInt(…); a text whose bytes are not UTF-8 is
 * {"hex": "fffe"}.
 */

import { Malformed, NotWritten } from "./errors.js";

/** The capabilities of this file. "codec" is claimed from the start, so that `peerproof run` has something to check. */
export const CAPABILITIES = ["codec"];

/**
 * Returns the message in these bytes. Throws Malformed.
 *
 * @param {Buffer} data
 * @returns {{type: string}}
 */
export function decode(data) {
  throw new Malformed("other", `decode is not written yet; there are ${data.length} bytes`);
}

/**
 * Returns the bytes of a message.
 *
 * @param {{type: string}} message
 * @returns {Uint8Array}
 */
export function encode(message) {
  throw new NotWritten(`encode is not written yet; asked for ${message.type}`);
}
