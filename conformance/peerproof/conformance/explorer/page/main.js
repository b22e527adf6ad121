// Where the reader is, in the address after #: PROTOCOL/MODEL/PATH/QUESTION, or run/NUMBER/MOMENT. Everything shown follows from it.
import { element, fill, inputOf, make, say, selectOf } from "./dom.js";
import { embedded } from "./embedded.js";
import { useLegend } from "./legend.js";
import { described, renderCheck, renderModel, renderNoAnswer } from "./model_view.js";
import { exactField, readable, showExact } from "./readable.js";
import { chosenNodes, nextProblem, redraw, renderMoment } from "./run_view.js";
import { server } from "./server.js";

/** @typedef {{protocol: string, model: string, path: string[], question: string}} Place the question is that which the reader asks */
/** @typedef {{models: Record<string, Record<string, string>>, runs: string[], implementation: string | null, alone: boolean}} Info */

const data = document.getElementById("data");
const source = data ? embedded(JSON.parse(data.textContent ?? "{}")) : server;

/** @returns {string[]} */
const words = () => decodeURIComponent(location.hash.slice(1)).split("/");

/** @returns {Place} */
function place() {
  const [protocol = "", model = "", path = "", question = ""] = words();
  return { protocol, model, path: path.split(".").filter(Boolean), question };
}

/** @param {Place} to */
const addressOf = (to) => [to.protocol, to.model, to.path.join("."), ...(to.question ? [to.question] : [])].join("/");

/** @param {Place} to */
function go(to) {
  location.hash = addressOf(to);
}

/** @type {Info} */
let info = { models: {}, runs: [], implementation: null, alone: false };
/** @type {Map<number, import("./run_view.js").Run>} */
const runs = new Map();
/** @type {import("./model_view.js").View | null} */
let shown = null;
let latest = 0;
let searches = 0;
let explained = "";

/** Lets the messages of a protocol be explained. @param {string} protocol */
async function useLegendOf(protocol) {
  if (protocol === explained) return;
  useLegend(await source.legend(protocol));
  explained = protocol;
}

/** Does something that may fail, and says why it failed. @param {() => Promise<void>} act */
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    say(String(error instanceof Error ? error.message : error));
  }
}

async function show() {
  const isRun = info.runs.length > 0 && (words()[0] === "run" || !Object.keys(info.models).length);
  element("model-page").hidden = element("model-bar").hidden = isRun;
  element("run-page").hidden = element("run-bar").hidden = !isRun;
  await attempt(isRun ? showRun : showModel);
}

async function showModel() {
  const here = place();
  const { models } = info;
  if (!models[here.protocol]?.[here.model]) {
    const protocol = models[here.protocol] ? here.protocol : Object.keys(models)[0];
    const names = Object.keys(models[protocol]);
    go({ protocol, model: names.includes("small-a") ? "small-a" : names[0], path: [], question: "" });
    return;
  }
  fill(selectOf("protocol"), Object.keys(models).map((name) => [name, name]), here.protocol);
  fill(selectOf("model"), Object.entries(models[here.protocol]).map(([name, about]) => [name, about ? `${name}: ${about}` : name]), here.model);
  const asked = ++latest;
  const view = await source.view(here);
  await useLegendOf(here.protocol);
  if (asked !== latest) return;
  shown = view;
  element("kept").hidden = true;
  renderModel(view, (path) => go({ ...here, path }));
  document.title = `${here.protocol} ${here.model}: step ${here.path.length}`;
  if (info.implementation) await check();
}

async function showRun() {
  const [, number = "0", at = ""] = words();
  const which = Number(number) || 0;
  fill(selectOf("which"), info.runs.map((title, index) => [String(index), title]), String(which));
  selectOf("which").hidden = info.runs.length < 2;
  if (!runs.has(which)) {
    say("running …");
    runs.set(which, await source.run(which));
  }
  const run = /** @type {import("./run_view.js").Run} */ (runs.get(which));
  if (at === "") {
    const first = nextProblem(run, -1);
    history.replaceState(null, "", `#run/${which}/${first >= 0 ? first : 0}`);
    await showRun();
    return;
  }
  const moment = Math.max(-1, Math.min(Number(at) || 0, run.moments.length - 1));
  const asked = ++latest;
  const seen = await source.moment(which, moment, chosenNodes());
  await useLegendOf(run.protocol);
  if (asked !== latest) return;
  renderMoment(run, moment, seen, (to) => { location.hash = `run/${which}/${to}`; }, () => void show());
  document.title = `${run.title}: step ${moment + 1}`;
}

/** @param {(at: number, run: import("./run_view.js").Run) => number} to */
function moveTo(to) {
  const [, number = "0", at = "0"] = words();
  const run = runs.get(Number(number) || 0);
  if (run) location.hash = `run/${number}/${Math.max(-1, Math.min(to(Number(at) || 0, run), run.moments.length - 1))}`;
}

/** Goes to the next step whose words have these, or at which a field gets a value. */
async function seek() {
  const wanted = inputOf("wanted").value.trim();
  const [, number = "0", at = "0"] = words();
  const run = runs.get(Number(number) || 0);
  if (!wanted || !run) return;
  const [field, value] = wanted.split("=").map((part) => part.trim());
  say(`looking for ${wanted} …`);
  const text = wanted.toLowerCase();
  const found = value === undefined
    ? run.moments.findIndex((moment, index) => index > Number(at)
      && [moment.what, readable(moment.what)].some((what) => `${moment.node} ${what}`.toLowerCase().includes(text)))
    : (await source.seek(Number(number) || 0, Number(at), exactField(field), value)).moment;
  if (found < 0) say(`${wanted}: not after this step`);
  else location.hash = `run/${number}/${found}`;
}

/** What the implementation does on this path, as the node that is selected. */
async function check() {
  const here = place();
  const node = selectOf("keep-node").value;
  const asked = latest;
  const found = here.path.length ? await source.check(here, node) : { problem: "No step yet." };
  if (asked === latest && shown) renderCheck(found, shown, node);
}

/** A word of a command line. @param {string} word */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

async function keep() {
  const { name, text } = await source.keep(place(), selectOf("keep-node").value);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/yaml" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${name} is saved.`);
  const command = `peerproof run ${place().protocol} --vectors ${name} --impl ${info.implementation ? quoted(info.implementation) : "COMMAND"}`;
  element("kept").hidden = false;
  element("kept").replaceChildren(`${name} is saved. To run it where it lies: `, make("code", {}, command));
}

/**
 * Goes a shortest way; where there is none, `refuse` says so.
 * @template {{path: string[] | null}} T
 * @param {string} what @param {() => Promise<T>} search @param {(found: T) => void} refuse @param {string} question of the models, if it is one
 */
async function lookFor(what, search, refuse, question = "") {
  const here = place();
  const mine = ++searches;
  element("answer").hidden = true; // it answers another question
  say(`looking for a shortest way to ${what} …`);
  const found = await search();
  if (mine !== searches || addressOf(place()) !== addressOf(here)) return; // the reader has gone on
  const { path } = found;
  const next = { ...here, path: path ?? here.path, question: path ? question : "" };
  if (path && addressOf(next) !== addressOf(here)) {
    go(next);
    return;
  }
  history.replaceState(null, "", `#${addressOf(next)}`);
  await show();
  if (!path) refuse(found);
}

/** Looks for a shortest way to an answer to a question of the models. @param {string} question */
function lookForAnswer(question) {
  const about = shown?.reaches.find((reach) => reach.name === question)?.about;
  return lookFor(about ?? question, () => source.way(place(), question), () => {
    const open = (/** @type {string} */ model) => {
      go({ ...place(), model, path: [], question: "" });
      void attempt(() => lookForAnswer(question));
    };
    if (shown) renderNoAnswer(shown, question, info.alone ? null : open);
    selectOf("way").value = question;
  }, question);
}

/** Looks for a shortest way to a state that the reader describes. */
function lookForState() {
  const wanted = described();
  const [first] = shown?.nodes[0].fields ?? [];
  if (!wanted.field) {
    say(`Enter the name of a field and its value as the cards show them${first ? `, for example ${first.name} = ${first.value}` : ""}.`);
    return;
  }
  return lookFor(`${wanted.field} = ${wanted.value}`, () => source.find(place(), wanted), ({ known }) =>
    say(known ? `No: in no state of this model does ${wanted.node || "any node"} have ${wanted.field} = ${wanted.value || "(empty)"}.`
      : `No node of this model has a field ${wanted.field}: the cards show their names.`));
}

/** @param {string} id @param {string} event @param {() => unknown} act */
const on = (id, event, act) => element(id).addEventListener(event, () => void attempt(async () => { await act(); }));

on("protocol", "change", () => go({ protocol: selectOf("protocol").value, model: "", path: [], question: "" }));
on("model", "change", () => go({ ...place(), model: selectOf("model").value, path: [], question: "" }));
on("way", "change", () => {
  const question = selectOf("way").value;
  if (!question) go({ ...place(), question });
  else return lookForAnswer(question);
});
on("find", "click", lookForState);
on("start", "click", () => go({ ...place(), path: [] }));
on("back", "click", () => go({ ...place(), path: place().path.slice(0, -1) }));
on("keep", "click", keep);
on("keep-node", "change", () => info.implementation && check());
on("which", "change", () => { location.hash = `run/${selectOf("which").value}/`; });
on("moment", "input", () => moveTo(() => Number(inputOf("moment").value)));
on("exact", "change", () => {
  showExact(inputOf("exact").checked);
  redraw();
  return show();
});
on("first", "click", () => moveTo(() => -1));
on("previous", "click", () => moveTo((at) => at - 1));
on("next", "click", () => moveTo((at) => at + 1));
on("difference", "click", () => moveTo((at, run) => { const found = nextProblem(run, at); return found < 0 ? at : found; }));
on("search", "submit", seek);
element("search").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => void show());

await attempt(async () => {
  info = await source.info();
  element("implementation").hidden = !info.implementation;
  element("implementation-name").textContent = info.implementation ?? "";
  element("keeping").hidden = info.alone;
  await show();
});
