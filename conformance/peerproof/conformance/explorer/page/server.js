// Asks the server of this page, on the same machine.

/** @typedef {import("./main.js").Place} Place */

/** @param {string} name @param {Record<string, string | number>} query */
async function load(name, query = {}) {
  const words = Object.entries(query).map(([key, value]) => [key, String(value)]);
  const reply = await fetch(`${name}?${new URLSearchParams(words)}`);
  const plain = await reply.json();
  if (!reply.ok) throw new Error(plain.error);
  return plain;
}

/** @param {Place} place */
const query = (place) => ({ protocol: place.protocol, model: place.model, path: place.path.join("."), question: place.question });

export const server = {
  info: () => load("info.json"),
  view: (/** @type {Place} */ place) => load("view.json", query(place)),
  way: (/** @type {Place} */ place, /** @type {string} */ to) => load("way.json", { ...query(place), to }),
  find: (/** @type {Place} */ place, /** @type {Record<string, string>} */ described) => load("find.json", { ...query(place), ...described }),
  check: (/** @type {Place} */ place, /** @type {string} */ node) => load("check.json", { ...query(place), node }),
  keep: (/** @type {Place} */ place, /** @type {string} */ node) => load("vector.json", { ...query(place), node }),
  run: (/** @type {number} */ number) => load("run.json", { run: number }),
  legend: (/** @type {string} */ protocol) => load("legend.json", { protocol }),
  seek: (/** @type {number} */ number, /** @type {number} */ at, /** @type {string} */ field, /** @type {string} */ value) =>
    load("seek.json", { run: number, at, field, value }),
  moment: (/** @type {number} */ number, /** @type {number} */ at, /** @type {string[] | null} */ nodes) =>
    load("moment.json", { run: number, at, ...(nodes ? { nodes: JSON.stringify(nodes) } : {}) }),
};
