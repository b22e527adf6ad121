/** These bytes are no message. */
export class Malformed extends Error {
  /**
   * @param {"truncated" | "trailing" | "bad_type" | "bad_length" | "bad_value" | "too_large" | "other"} reason
   * @param {string} detail
   */
  constructor(reason, detail) {
    super(detail);
    this.reason = reason;
  }
}

/** The implementation refuses a call; the reason is a word of the protocol's. */
export class Refused extends Error {
  constructor(reason, detail) {
    super(detail);
    this.reason = reason;
  }
}

/** The adapter is asked for what it does not have yet. */
export class NotWritten extends Error {}
