// Draws a run that has happened: a time line, one moment of it, and the nodes then.
import { button, element, inputOf, make, nodeCard, say, shorten } from "./dom.js";
import { drawGraph, namesOf } from "./graph.js";
import { sides } from "./model_view.js";
import { readable, useNames } from "./readable.js";
import { TimeLine } from "./time_line.js";

/** @typedef {import("./graph.js").Part} Part */
/** @typedef {import("./model_view.js").Problem} Problem */
/** @typedef {{at: number | null, node: string, what: string, parts: Part[], more?: number, instead?: Part[], problem?: Problem,
 *   exact?: string, life?: string}} Moment exact: the whole text of `what`; life: "start", "restart" or "down", if the node begins, begins again or ends with it */
/** @typedef {{protocol: string, title: string, about: string, clauses: [string, string][], verdict: string, commands: [string, string][],
 *   nodes: string[], names: [string, string][], cards: string[], moments: Moment[]}} Run */
/** @typedef {{moment: Moment | null, nodes: {name: string, fields: import("./model_view.js").Field[]}[]}} Seen */

const BEFORE = 14;
const LISTED = 12;
/** Nodes whose cards are shown without being chosen. */
export const FEW = 6;

/** @type {TimeLine | null} */
let line = null;
/** @type {Run | null} */
let drawn = null;
/** @type {Set<string>} */
const chosen = new Set();

/** Which nodes the reader wants to see; null: those that the moment concerns. */
export const chosenNodes = () => (chosen.size ? [...chosen] : null);

/** Draws everything anew at the next moment. */
export function redraw() {
  drawn = null;
}

/** @param {Moment} moment */
export const timeOf = (moment) => (moment.at === null ? "" : `${moment.at.toLocaleString("en")} ms`);

/** Draws what is the same at every moment. @param {Run} run @param {(moment: number) => void} go @param {() => void} again */
function renderRun(run, go, again) {
  drawn = run;
  useNames(run.names);
  chosen.clear();
  element("run-title").textContent = run.title;
  element("run-about").textContent = run.about;
  element("run-clauses").replaceChildren(...run.clauses.map(([name, text]) => make("li", {}, make("strong", {}, name), ` ${text}`)));
  element("run-commands").replaceChildren(...run.commands.map(([label, command]) =>
    make("li", {}, `${label}: `, make("code", {}, command))));
  const problems = run.moments.flatMap((moment, index) => (moment.problem ? [index] : []));
  element("verdict").textContent = run.verdict;
  element("verdict").className = problems.length ? "broken" : "";
  element("problems").replaceChildren(...problems.slice(0, 50).map((index) =>
    make("li", {}, button(readable(`Step ${index + 1}: ${run.moments[index].problem?.what}`), () => go(index), { class: "step" }))));
  inputOf("moment").max = String(run.moments.length - 1);
  const boxes = run.cards.map((name) => {
    const box = /** @type {HTMLInputElement} */ (make("input", { type: "checkbox", value: name }));
    box.addEventListener("change", () => { box.checked ? chosen.add(name) : chosen.delete(name); again(); });
    return make("label", {}, box, ` ${name}`);
  });
  element("choose").hidden = run.cards.length <= FEW;
  element("boxes").replaceChildren(...boxes);
  line = new TimeLine(/** @type {HTMLCanvasElement} */ (element("line")), run, go);
}

/** @param {Run} run @param {number} at @param {Seen} seen @param {(moment: number) => void} go @param {() => void} again */
export function renderMoment(run, at, seen, go, again) {
  if (drawn !== run) renderRun(run, go, again);
  line?.select(at);
  const moment = seen.moment;
  inputOf("moment").value = String(at);
  inputOf("moment").setAttribute("aria-valuetext", `step ${at + 1} of ${run.moments.length}`);
  const where = moment ? `Step ${at + 1} of ${run.moments.length}${moment.at === null ? "" : `, ${timeOf(moment)}`}. ` : "";
  say(moment ? `${where}${moment.problem ? "✗ " : ""}${moment.node ? `${moment.node}: ` : ""}${shorten(readable(moment.what, moment.exact), 600)}` : "The beginning.");

  const problem = moment?.problem;
  element("problem").hidden = !problem;
  element("problem").replaceChildren(...(problem ? [
    make("h3", {}, readable(`✗ ${problem.what}`)), sides(problem),
    ...(problem.clauses.length ? [make("p", {}, `Clauses: ${problem.clauses.join(", ")}`)] : [])] : []));

  element("cards").replaceChildren(...seen.nodes.map((node) => nodeCard(node, titleOf(run, node.name), specified(seen, node.name))));
  const rows = momentRows(run, at, moment);
  const names = run.nodes.filter((name) => rows.some((row) => namesOf(row.part).includes(name)));
  element("run-graph").replaceChildren(...(rows.length ? [drawGraph(names, rows, "Message graph of the last steps; the list below has them too", go, element("run-graph").clientWidth)] : []));

  const first = Math.max(0, at - LISTED);
  element("moments").replaceChildren(...run.moments.slice(first, at + LISTED + 1).map((one, index) => {
    const number = first + index;
    const text = `${timeOf(one)}${one.problem ? " ✗" : ""}${one.node ? ` ${one.node}:` : ""} ${shorten(readable(one.what), 160)}`;
    return make("li", { value: String(number + 1), class: one.problem ? "broken" : "" },
      button(text, () => go(number), { class: "step", title: one.exact ?? one.what, ...(number === at ? { "aria-current": "step" } : {}) }));
  }));
}

/** @param {Run} run @param {number} at @param {Moment | null} moment the one at `at`, in full */
function momentRows(run, at, moment) {
  /** @type {import("./graph.js").Row[]} */
  const rows = [];
  for (let step = Math.max(0, at - BEFORE); step <= at; step++) {
    const one = step === at && moment ? moment : run.moments[step];
    const now = step === at;
    const isMarked = [...one.parts, ...(one.instead ?? [])].some((part) => part.wrong);
    const isAllWrong = Boolean(one.problem) && !isMarked && !one.instead?.length; // nothing says which part it is
    one.parts.forEach((part, index) => rows.push({ step, at: index ? "" : timeOf(one), part, now, wrong: isAllWrong }));
    if (one.more) rows.push({ step, at: "", part: { node: one.node, label: `${one.more} more` }, now });
    if (one.instead?.length) {
      rows.push({ step, at: "", part: { node: "", label: "expected instead:" }, now });
      for (const part of one.instead) rows.push({ step, at: "", part: "from" in part ? { ...part, judged: true } : part, now });
    }
    if (one.problem && !isMarked && !(isAllWrong && one.parts.length)) {
      rows.push({ step, at: one.parts.length ? "" : timeOf(one), part: { node: one.node, label: `✗ ${one.problem.what}` }, now, wrong: true });
    }
  }
  return rows.slice(-60);
}

/** The name of a node, and the beginning of the id for which it stands in messages and tables. @param {Run} run @param {string} name */
function titleOf(run, name) {
  const known = run.names.find(([, each]) => each === name);
  return known ? `${name} (${known[0].slice(0, 8)}…)` : name;
}

/** What the specification knows in place of a node; null if it does not play it too. @param {Seen} seen @param {string} name */
function specified(seen, name) {
  const beside = seen.nodes.find((node) => node.name === `${name} (specification)`);
  return beside ? new Map(beside.fields.map((field) => [field.name, field.value])) : null;
}

/** The next moment with a difference; -1 if there is none. @param {Run} run @param {number} at */
export function nextProblem(run, at) {
  const later = run.moments.findIndex((moment, index) => index > at && moment.problem);
  return later >= 0 ? later : run.moments.findIndex((moment) => moment.problem);
}
