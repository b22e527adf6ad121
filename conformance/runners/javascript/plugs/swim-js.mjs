/** The codec in conformance/adapters/swim-js, plugged into the runner. Its payloads need `parse`, an exact parser of JSON. */

import { pathToFileURL } from "node:url";

export async function plug(folder) {
  const load = (name) => import(pathToFileURL(`${folder}/${name}.mjs`));
  const [{ Malformed, decode, encode }, { fromPlain, toPlain }, { parse }] = await Promise.all(["messages", "plain", "json"].map(load));

  function judged(say) {
    try {
      return say();
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      return { rejected: { class: error.reason, message: error.message } };
    }
  }

  return {
    name: "swim-js",
    capabilities: ["codec"],
    exact: true,
    parse,
    decode: (bytes) => judged(() => ({ value: parse(JSON.stringify(toPlain(decode(bytes)))) })), // `encode` needs what `parse` notes
    encode: (value) => judged(() => ({ bytes: encode(fromPlain(value)) })),
  };
}
