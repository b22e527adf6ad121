// Where the reader is, in the address after #: PROTOCOL/MODEL/PATH. Everything shown follows from it.
import { fill, render, renderProblem } from "./view.js";

/** @typedef {{protocol: string, model: string, path: string[]}} Place */

/** @returns {Place} */
function place() {
  const [protocol = "", model = "", path = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  return { protocol, model, path: path.split(".").filter(Boolean) };
}

/** @param {Place} to */
function go(to) {
  location.hash = [to.protocol, to.model, to.path.join(".")].join("/");
}

/** @param {string} name @param {Record<string, string>} query */
function address(name, query) {
  return `${name}?${new URLSearchParams(query)}`;
}

/** @param {string} url */
async function load(url) {
  const reply = await fetch(url);
  const plain = await reply.json();
  if (!reply.ok) throw new Error(plain.error);
  return plain;
}

const select = (/** @type {string} */ id) => /** @type {HTMLSelectElement} */ (document.getElementById(id));

/** @type {Record<string, Record<string, string>>} */
let models = {};
let latest = 0;

async function show() {
  const here = place();
  if (!models[here.protocol]?.[here.model]) {
    const protocol = models[here.protocol] ? here.protocol : Object.keys(models)[0];
    const names = Object.keys(models[protocol]);
    go({ protocol, model: names.includes("small-a") ? "small-a" : names[0], path: [] });
    return;
  }
  fill(select("protocol"), Object.keys(models), here.protocol);
  fill(select("model"), Object.keys(models[here.protocol]), here.model);
  const query = { protocol: here.protocol, model: here.model, path: here.path.join(".") };
  const asked = ++latest;
  try {
    const view = await load(address("view.json", query));
    if (asked !== latest) return;
    render(view, address("graph.svg", query), (path) => go({ ...here, path }));
    document.title = `${here.protocol} ${here.model}: step ${here.path.length}`;
  } catch (error) {
    renderProblem(String(error instanceof Error ? error.message : error));
  }
}

select("protocol").addEventListener("change", (event) => {
  const protocol = /** @type {HTMLSelectElement} */ (event.target).value;
  go({ protocol, model: "", path: [] });
});
select("model").addEventListener("change", (event) => {
  go({ ...place(), model: /** @type {HTMLSelectElement} */ (event.target).value, path: [] });
});
select("way").addEventListener("change", async (event) => {
  const here = place();
  const to = /** @type {HTMLSelectElement} */ (event.target).value;
  if (!to) return;
  renderProblem(`looking for a shortest way to ${to} …`);
  try {
    const { path } = await load(address("way.json", { protocol: here.protocol, model: here.model, to }));
    if (path) go({ ...here, path });
    else renderProblem(`no world of this model violates ${to}`);
  } catch (error) {
    renderProblem(String(error instanceof Error ? error.message : error));
  }
});
document.getElementById("start")?.addEventListener("click", () => go({ ...place(), path: [] }));
document.getElementById("back")?.addEventListener("click", () => go({ ...place(), path: place().path.slice(0, -1) }));
addEventListener("hashchange", show);

models = await load("models.json");
await show();
