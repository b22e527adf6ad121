/** What an implementation declares: readings of clauses (docs/explanation/document-or-decision.md), and nodes. */

import { UNSUPPORTED } from "./failure.mjs";
import { byCount } from "./summary.mjs";

/** Throws if an implementation declares a reading that is not described. Clauses of other protocols have another first letter. */
export function checkReadings({ readings = {} }, { readings: declared = {} }) {
  for (const [clause, name] of Object.entries(declared)) {
    const names = Object.keys(readings[clause] ?? {});
    if (names.includes(name) || !Object.keys(readings).some((own) => own[0] === clause[0])) continue;
    const described = names.length > 0 ? `described are ${names.join(", ")}` : "no other reading of it is described";
    throw new Error(`the implementation declares ${clause} as '${name}'; ${described}`);
  }
}

/** The declared readings that explain a failure with one of these outcomes; `basis` is that of the place where it was. */
export function declaredReadings(declared, basis, outcomes) {
  for (const [key, others] of Object.entries(basis)) {
    const decisions = key.split(" ");
    for (const outcome of outcomes.filter((one) => Object.hasOwn(others, one))) {
      const names = others[outcome].split(" ");
      if (decisions.every((decision, at) => names[at].split("|").includes(declared[decision]))) {
        return decisions.map((decision) => `${decision}: ${declared[decision]}`);
      }
    }
  }
  return [];
}

/** What the results of all cases do not confirm: declared readings, though some cases could, and nodes, of which none opens. */
export function unconfirmed({ protocol, readings: declared = {} }, results) {
  const ran = results.filter(({ status }) => !["skipped", "undetermined"].includes(status));
  const problems = Object.entries(declared).flatMap(([clause, name]) => {
    const count = ran.filter(({ vector }) => vector.clauses.includes(clause)).length;
    const isConfirmed = ran.some(({ readings }) => readings.includes(`${clause}: ${name}`));
    const problem = `the implementation declares ${clause} as '${name}', but none of ${count} cases that cite it confirms that`;
    return count > 0 && !isConfirmed ? [problem] : [];
  });
  const isUnsupported = ({ status, reason }) => status === "skipped" && reason.startsWith(UNSUPPORTED);
  const nodes = results.filter((one) => one.needs.includes("exchange") && (one.status !== "skipped" || isUnsupported(one)));
  const opens = nodes.map((one) => isUnsupported(one) && /^(?:open|load): (.*)/s.exec(one.reason.slice(UNSUPPORTED.length)));
  if (opens.length === 0 || !opens.every(Boolean)) return problems;
  const most = byCount(opens.map(([, why]) => why))[0].replace(/^\d+ /, "");
  return [...problems, `${protocol}: exchange is claimed, but open was unsupported in all ${opens.length} cases: ${most}`];
}
