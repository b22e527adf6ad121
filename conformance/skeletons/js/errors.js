/** The bytes are not a message. */
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

/** The implementation refuses a call; the reason is one of the protocol's words. */
export class Refused extends Error {
  constructor(reason, detail) {
    super(detail);
    this.reason = reason;
  }
}

/** This part of the adapter is not written yet. */
export class NotWritten extends Error {}
