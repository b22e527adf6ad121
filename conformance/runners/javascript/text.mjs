/** Texts in plain form: a string, or {hex: "fffe"} if the bytes are not UTF-8. */

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }); // a byte order mark is text like all else

export const Text = {
  /**
   * The plain form of a text.
   *
   * @param {Uint8Array} bytes
   * @returns {string | {hex: string}}
   */
  plain(bytes) {
    try {
      return UTF8.decode(bytes);
    } catch {
      return { hex: Buffer.from(bytes).toString("hex") };
    }
  },

  /**
   * The bytes of a text.
   *
   * @param {string | {hex: string}} plain
   */
  bytes(plain) {
    if (typeof plain === "string") return Buffer.from(plain, "utf8");
    if (typeof plain?.hex === "string") return Buffer.from(plain.hex, "hex");
    throw new TypeError(`${JSON.stringify(plain)} is not a text`);
  },
};
