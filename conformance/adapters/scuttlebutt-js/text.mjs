/**
 * Texts: addresses, keys and values. On the wire they are any bytes; applications give and get UTF-8 [BA-02].
 *
 * Inside this program a text is a string with one character, 0 to 255, for each byte. Its length is then its size in bytes,
 * `<` is the order of bytes, it can be the key of a Map, and bytes that are not UTF-8 come out as they went in.
 */

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }); // ignoring it means: it is text like all else

/** The text of these bytes. */
export const textOf = (bytes) => bytes.toString("latin1");

/** The bytes of a text. */
export const bytesOf = (text) => Buffer.from(text, "latin1");

/** The text for what an application writes. */
export const fromApplication = (string) => textOf(Buffer.from(string, "utf8"));

/** What an application reads, or null if the bytes are not UTF-8. */
export function toApplication(text) {
  try {
    return utf8.decode(bytesOf(text));
  } catch {
    return null;
  }
}

/** Ascending bytes, for `sort`: one order among equals makes a run repeatable [BA-12]. */
export const byBytes = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
