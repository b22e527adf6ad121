/**
 * Lines on standard input and output. Reading and writing block, so that a question in the middle of a request waits for its
 * answer. There is nothing to fill in here.
 */

import { readSync, writeSync } from "node:fs";

const [STDIN, STDOUT] = [0, 1];
const PIECE = 1 << 16;
const LINE_END = 10;

let begun = []; // pieces of a line that has not ended yet
let rest = Buffer.alloc(0); // bytes that were read and are not part of a line yet

/** Returns the next line of any length without its end, or null at the end of the input. */
export function readLine() {
  for (;;) {
    const end = rest.indexOf(LINE_END);
    if (end !== -1) {
      const line = Buffer.concat([...begun, rest.subarray(0, end)]);
      [begun, rest] = [[], rest.subarray(end + 1)];
      return line.toString("utf8");
    }
    begun.push(rest);
    const piece = Buffer.alloc(PIECE);
    rest = piece.subarray(0, patiently(() => readSync(STDIN, piece)));
    if (rest.length === 0) return null;
  }
}

/** Writes an object as one line, at once. */
export function writeLine(object) {
  let line = Buffer.from(`${JSON.stringify(object)}\n`);
  while (line.length > 0) {
    line = line.subarray(patiently(() => writeSync(STDOUT, line)));
  }
}

/** Repeats a transfer that a terminal or pipe refuses because it would have to wait (EAGAIN). */
function patiently(transfer) {
  for (;;) {
    try {
      return transfer();
    } catch (error) {
      if (error.code === "EOF") return 0;
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}
