/** The codec as the suite sees it (docs/how-to/run-without-python.md). It has no nodes. */

import { parse } from "./json.mjs";
import { Malformed, decode, encode } from "./messages.mjs";
import { fromPlain, toPlain } from "./plain.mjs";

/** What the codec answers, a rejection too. */
function answered(answer) {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { rejected: { class: error.reason, message: error.message } };
  }
}

export const implementation = {
  name: "swim-js",
  version: "1.0.0",
  protocol: "swim",
  transport: "udp",
  capabilities: ["codec"],
  exact: true,
  parse, // payloads need all digits and the order of members
  decode: (bytes) => answered(() => ({ value: toPlain(decode(bytes)) })),
  encode: (value) => answered(() => ({ bytes: encode(fromPlain(value)) })),
};
