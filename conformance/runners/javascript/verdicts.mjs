#!/usr/bin/env node
/**
 * Prints the verdict of each case as a line of JSON.
 *
 *     node verdicts.mjs BUNDLE PLUG [FOLDER]      PLUG is a module of `plugs`; FOLDER holds the implementation
 */

import { load, run } from "./runner.mjs";

const [path, name, folder = new URL(`../../adapters/${name}`, import.meta.url).pathname] = process.argv.slice(2);
const { plug } = await import(`./plugs/${name}.mjs`);
const implementation = await plug(folder);
const bundle = load(path, implementation.parse);
for (const { id, status, failure, decisions, difference, reason } of run(bundle, implementation)) {
  console.log(JSON.stringify({ id, status, failure, decisions, where: difference?.where, reason }));
}
