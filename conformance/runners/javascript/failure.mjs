/** How a case ends before its end. */

/** Thrown by an implementation for what it does not support: the case is skipped, unless its capabilities cover this. */
export class Unsupported extends Error {
  code = "unsupported";
}

/** Why a case is skipped begins so, before the op and its reason. */
export const UNSUPPORTED = "the implementation does not support this ";

/** Words by which the `code` of an exception says that it is an answer to an impossible request, and no crash. */
export const ERRORS = ["bad_request", "unsupported", "unknown_op", "no_handle", "version"];

/** Calls a method of an implementation or of a node; one that is missing is not supported. */
export function invoke(subject, method, ...args) {
  if (typeof subject[method] !== "function") throw new Unsupported(`there is no ${method}`);
  return subject[method](...args);
}

/** The implementation's decoder is wrong, and the case depends on it: there is no verdict. */
export class Undetermined extends Error {}

/** An expectation is not met. `difference` is {where, expected, actual, otherForm, sameMeaning, reordered}. */
export class Failure extends Error {
  constructor(failure, difference) {
    super(failure);
    Object.assign(this, { failure, difference });
  }
}

export function fail(failure, where, expected, actual) {
  throw new Failure(failure, { where, expected, actual });
}
