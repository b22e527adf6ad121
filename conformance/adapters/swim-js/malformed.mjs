/** What is read is no message, or what is to be written can be none; `reason` is one of the suite's words. */
export class Malformed extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

/** Throws it, where an expression is wanted. */
export function refuse(reason, message) {
  throw new Malformed(reason, message);
}
