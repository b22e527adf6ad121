/** How a case ends before its end. */

/** Thrown by an implementation for what it does not support: the case is skipped. */
export class Unsupported extends Error {}

/** The implementation's decoder is wrong, and the case depends on it: there is no verdict. */
export class Undetermined extends Error {}

/** An expectation is not met. `difference` is {where, expected, actual, otherForm}. */
export class Failure extends Error {
  constructor(failure, difference) {
    super(failure);
    Object.assign(this, { failure, difference });
  }
}

export function fail(failure, where, expected, actual) {
  throw new Failure(failure, { where, expected, actual });
}
