/**
 * Lines on standard input and output. Reading and writing block, so that a question in the middle of a request waits for its
 * answer. Between two requests sockets and timers have their turn.
 */

import { read, readSync, writeSync } from "node:fs";

const [STDIN, STDOUT] = [0, 1];
const PIECE = 1 << 16;
const LINE_END = 10;

let begun = []; // pieces of a line that has not ended yet
let rest = Buffer.alloc(0); // what was read and not yet looked at

/** The next line without its end, or null when there are no more. */
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
    if (rest.length === 0) {
      return null;
    }
  }
}

/** The same. Until something comes, sockets and timers have their turn; a line that has begun is soon there. */
export async function awaitLine() {
  if (!rest.includes(LINE_END)) {
    begun.push(rest);
    rest = await new Promise(arrival);
  }
  return readLine();
}

function arrival(resolve, reject) {
  const piece = Buffer.alloc(PIECE);
  read(STDIN, piece, 0, PIECE, null, (error, size) => {
    if (error?.code === "EAGAIN") {
      setTimeout(arrival, 1, resolve, reject);
    } else if (error && error.code !== "EOF") {
      reject(error);
    } else {
      resolve(piece.subarray(0, size));
    }
  });
}

/** Writes a line; it is on its way when this returns. */
export function writeLine(text) {
  let line = Buffer.from(`${text}\n`);
  while (line.length > 0) {
    line = line.subarray(patiently(() => writeSync(STDOUT, line)));
  }
}

/** Some terminals and pipes say "not now" instead of waiting. */
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
