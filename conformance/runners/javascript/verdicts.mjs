#!/usr/bin/env node
/**
 * Prints the verdict of each case as a line of JSON.
 *
 *     node verdicts.mjs BUNDLE PLUG …      PLUG is a module that exports an `implementation`
 */

import { pathToFileURL } from "node:url";

import { load, run } from "./runner.mjs";

const [path, ...plugs] = process.argv.slice(2);
for (const plug of plugs) {
  const { implementation } = await import(pathToFileURL(plug));
  const bundle = load(path, implementation.parse);
  for (const { id, status, failure, decisions, difference, reason, readings } of run(bundle, implementation)) {
    console.log(JSON.stringify({ plug, id, status, failure, decisions, where: difference?.where, reason, readings }));
  }
}
