/**
 * The list of expected failures, in the format of `peerproof run --known-failing`:
 *
 *     # id-or-pattern                      failure   expiry      link                   reason
 *     scuttlebutt/codec/*-cut-*#survives   crashed   2027-06-30  https://…/issues/12    the decoder panics on short input
 *
 * A listed case must fail, and as listed. An entry that has expired or matches no case, and a line that cannot be read, are problems
 * of the list itself.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const COLUMNS = ["id-or-pattern", "failure-class", "expiry-or-dash", "link", "reason"];
const FAILURES = [
  ..."crashed hung flooded garbled misshapen error bytes value rejected accepted class messages events streams".split(" "),
  ..."observed refused choice clock changed unserving".split(" "),
];
const UNAFFECTED = ["skipped", "undetermined"]; // statuses of cases without a verdict

/** Reads a list; `file` is a path or a URL. It belongs to a bundle, or a list of bundles, whose cases it names. */
export function loadKnownFailing(file, bundles, today = new Date()) {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  const vectors = [bundles].flat().flatMap((bundle) => [...bundle.vectors, ...bundle.tables.flatMap((table) => table.vectors)]);
  const ids = vectors.flatMap(({ cases }) => cases.map(({ id }) => id));
  return new KnownFailing(path, readFileSync(path, "utf8"), ids, dateOf(today));
}

class KnownFailing {
  problems = []; // of the list itself, each with the name of the file and the line
  #entries = [];

  constructor(file, text, ids, today) {
    this.file = file;
    for (const [index, line] of text.split(/\r?\n/).entries()) {
      if (line.trim() === "" || line.trim().startsWith("#")) continue;
      const entry = this.#entryOf(line, index + 1);
      const problem = typeof entry === "string" ? entry : this.#problemOf(entry, ids, today);
      if (problem) this.problems.push(`${file}:${index + 1}: ${problem}`);
      if (typeof entry !== "string") this.#entries.push(entry);
    }
  }

  /** The entry of a line, or what is wrong with the line. */
  #entryOf(text, line) {
    const [, pattern, failure, expiry, , reason] = /^\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S.*)$/.exec(text) ?? [];
    if (reason === undefined) {
      const missing = COLUMNS.slice(text.trim().split(/\s+/).length).join(", ");
      return `expected ${COLUMNS.join(" ")}; missing: ${missing}`;
    }
    if (!FAILURES.includes(failure)) return `expected one of ${FAILURES.join(", ")}, found '${failure}'`;
    if (expiry !== "-" && !isDate(expiry)) return `expected a date such as 2027-06-30, or -, found '${expiry}'`;
    const same = this.#entries.find((other) => other.pattern === pattern && other.failure === failure);
    if (same) return `${pattern} is already listed as ${failure}, in line ${same.line}`;
    return { pattern, fits: matcherOf(pattern), failure, expiry, reason: reason.trim(), line };
  }

  #problemOf({ pattern, fits, expiry }, ids, today) {
    if (!ids.some(fits)) {
      const parts = ids.filter((id) => id.startsWith(`${pattern}#`));
      const hint = parts.length > 0 ? ` (its cases are ${parts.join(", ")})` : "";
      return `no case matches '${pattern}'${hint}: remove the entry`;
    }
    return expiry !== "-" && expiry < today ? `${pattern} expired on ${expiry}: fix the bug, or set a new date` : null;
  }

  /** A result with the list applied: `known` if it fails as listed, even if that is tolerated, `stale` if it passes. */
  applyTo(result) {
    const named = this.#entries.filter(({ fits }) => fits(result.id));
    if (named.length === 0 || UNAFFECTED.includes(result.status)) return result;
    const place = `${this.file}:${named[0].line}`;
    if (!result.failure) return { ...result, status: "stale", reason: `it passes, though ${place} lists it: delete this line` };
    const entry = named.find(({ failure }) => failure === result.failure);
    if (entry) return { ...result, status: "known", reason: entry.reason };
    const listed = `listed as ${named[0].failure} in ${place}, but it fails as ${result.failure}`;
    return { ...result, reason: result.reason ? `${result.reason}; ${listed}` : listed };
  }
}

/** Whether an id is this text, or matches it as a pattern with `*`, `?` and `[…]`. */
function matcherOf(pattern) {
  if (!/[*?[]/.test(pattern)) return (id) => id === pattern;
  const source = pattern.replace(/\[(!?)(\]?[^\]]*)\]|[^]/g, (one, isNot, members) => {
    if (members !== undefined) return `[${isNot ? "^" : ""}${members.replace(/[\\\]^[]/g, "\\$&")}]`;
    return { "*": "[^]*", "?": "[^]" }[one] ?? one.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  });
  const expression = new RegExp(`^${source}$`);
  return (id) => id === pattern || expression.test(id);
}

/** Whether a text is a day of the calendar; Date takes the 31st of June for the 1st of July. */
function isDate(text) {
  const day = new Date(text);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** The local date as text. */
const dateOf = (time) =>
  [time.getFullYear(), time.getMonth() + 1, time.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
