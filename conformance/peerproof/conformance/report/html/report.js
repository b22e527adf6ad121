"use strict";
// The lists, the matrix and the details of the report; only what is in view is rendered.

const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const PAGE = 100; // rows that are added at a time
const SIGNS = { passed: "✓", failed: "✗", crashed: "✗", hung: "✗", stale: "✗", known: "!", differs: "≠", tolerated: "~", skipped: "–" };
const letters = data.statuses.map((_, place) => String.fromCharCode(97 + place));
const wrongOnes = new Set(letters.filter((_, place) => data.wrong[place]));
const statusOf = (letter) => data.statuses[letter.charCodeAt(0) - 97];
const caseId = (one) => data.vectors[one[0]][0] + one[1];

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function badge(letter, implementation) {
  const status = statusOf(letter);
  const who = data.implementations.length > 1 ? data.implementations[implementation] + ": " : "";
  return element("span", { class: "badge " + status }, `${who}${SIGNS[status] || "?"} ${status}`);
}

// Filter

const form = { text: by("text"), protocol: by("protocol"), layer: by("layer"), status: by("status"), implementation: by("implementation") };
let haystacks = null;
let shown = []; // indices of the cases that match the filter
let rendered = 0; // number of them with a row

function words() {
  haystacks ||= data.cases.map((one) => {
    const [, title, , clauses] = data.vectors[one[0]];
    return ` ${caseId(one)} ${title} ${clauses.join(" ")} `.toLowerCase();
  });
  return form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
}

function considered(letterings) {
  const only = form.implementation.value;
  return only === "" ? letterings : letterings[Number(only)];
}

function hasStatus(letterings, wanted) {
  if (wanted === "") return [...letterings].some((letter) => letter !== ".");
  if (wanted === "wrong") return [...letterings].some((letter) => wrongOnes.has(letter));
  return letterings.includes(letters[data.statuses.indexOf(wanted)]);
}

function inPlace(one) {
  const [protocol, layer] = data.vectors[one[0]][0].split("/");
  return (!form.protocol.value || protocol === form.protocol.value) && (!form.layer.value || layer === form.layer.value);
}

function filtered() {
  const asked = words();
  const exact = asked.filter((word) => word.startsWith("clause:")).map((word) => word.slice(7).toUpperCase());
  const plain = asked.filter((word) => !word.startsWith("clause:"));
  const found = [];
  data.cases.forEach((one, place) => {
    if (!inPlace(one) || !hasStatus(considered(one[2]), form.status.value)) return;
    if (!exact.every((clause) => data.vectors[one[0]][3].includes(clause))) return;
    if (plain.every((word) => haystacks[place].includes(word))) found.push(place);
  });
  return found;
}

let waiting = 0;
function refresh() {
  shown = filtered();
  rendered = 0;
  by("list").replaceChildren();
  more();
  by("count").textContent = `${shown.length.toLocaleString("en")} of ${data.cases.length.toLocaleString("en")} cases`;
  by("none").hidden = shown.length > 0;
  document.querySelectorAll("details.matrix[open]").forEach(drawMatrix);
}

function later() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(refresh);
}

// List

function more() {
  const next = shown.slice(rendered, rendered + PAGE);
  by("list").append(...next.map(row));
  rendered += next.length;
  by("more").hidden = rendered >= shown.length;
}

function row(place) {
  const one = data.cases[place];
  const badges = [...one[2]].map((letter, number) =>
    letter === "." || (form.implementation.value !== "" && Number(form.implementation.value) !== number) ? "" : badge(letter, number));
  const button = element("button", { type: "button", class: "row", "aria-expanded": "false", "aria-controls": `detail-${place}` },
    element("code", {}, caseId(one)), " ", ...badges);
  const title = data.vectors[one[0]][1];
  const made = element("li", { "data-place": place }, button, ...(title ? [element("p", { class: "title" }, title)] : []));
  made.append(element("div", { id: `detail-${place}`, class: "detail", role: "region", "aria-label": `Details of ${caseId(one)}`, hidden: "" }));
  return made;
}

async function toggle(button) {
  const open = button.getAttribute("aria-expanded") !== "true";
  const detail = by(button.getAttribute("aria-controls"));
  const place = Number(button.parentElement.dataset.place);
  button.setAttribute("aria-expanded", String(open));
  detail.hidden = !open;
  if (open) history.replaceState(null, "", "#case=" + encodeURIComponent(caseId(data.cases[place])));
  if (open && !detail.hasChildNodes()) await fill(detail, place);
}

async function fill(detail, place) {
  const [vector, , letterings, kept, reasons] = data.cases[place];
  const [id, , level, clauses] = data.vectors[vector];
  detail.append(element("p", {}, `Level: ${level}.`), clauseList(id.split("/")[0], clauses), outcomes(place, letterings, reasons || {}));
  if (kept < 0) return;
  const told = element("div", {}, "…");
  detail.append(told);
  try {
    const chunk = await unpacked(Math.floor(kept / data.per_chunk));
    told.innerHTML = chunk[kept % data.per_chunk]; // made and escaped by the program that wrote this page
  } catch (error) {
    told.textContent = `This browser cannot unpack the details (${error}). Run peerproof vectors replay ${caseId(data.cases[place])}`;
  }
}

function clauseList(protocol, clauses) {
  const list = element("dl", { class: "clauses" });
  for (const clause of clauses) {
    const [, strength, text] = (data.clauses[protocol] || []).find(([id]) => id === clause) || [clause, "", ""];
    list.append(element("dt", {}, `${clause} ${strength || ""}`), element("dd", {}, text || "not in the prose at hand"));
  }
  return list;
}

function outcomes(place, letterings, reasons) {
  const list = element("ul", { class: "outcomes" });
  const branches = new Map(data.branches).get(place) || {};
  [...letterings].forEach((letter, number) => {
    if (letter === ".") return;
    const told = [reasons[number] === undefined ? "" : data.reasons[reasons[number]]];
    if (branches[number]) told.push(`branches: ${branches[number].join(", ")}`);
    list.append(element("li", {}, badge(letter, number), " ", told.filter(Boolean).join("; ")));
  });
  return list;
}

const chunks = new Map();
function unpacked(number) {
  if (!chunks.has(number)) {
    const bytes = Uint8Array.from(atob(by(`chunk-${number}`).textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    chunks.set(number, new Response(stream).json());
  }
  return chunks.get(number);
}

// Matrix

function counted(protocol) {
  const counts = new Map();
  for (const one of data.cases) {
    const [id, , , clauses] = data.vectors[one[0]];
    if (!id.startsWith(protocol + "/") || !inPlace(one)) continue;
    for (const clause of clauses) {
      if (!counts.has(clause)) counts.set(clause, data.implementations.map(() => ({ good: 0, bad: 0, left: 0 })));
      [...one[2]].forEach((letter, number) => {
        if (letter === ".") return;
        const status = statusOf(letter);
        const kind = wrongOnes.has(letter) || status === "known" ? "bad" : ["passed", "tolerated", "differs"].includes(status) ? "good" : "left";
        counts.get(clause)[number][kind] += 1;
      });
    }
  }
  return counts;
}

function cell({ good, bad, left }) {
  if (bad) return element("td", { class: "bad" }, `✗ ${bad} of ${good + bad}`);
  if (good) return element("td", { class: "good" }, `✓ ${good}`);
  return element("td", { class: "left" }, left ? `– ${left} not judged` : "no case");
}

function drawMatrix(details) {
  const protocol = details.dataset.protocol;
  const columns = data.implementations.map((_, number) => number)
    .filter((number) => form.implementation.value === "" || Number(form.implementation.value) === number);
  const counts = counted(protocol);
  const empty = data.implementations.map(() => ({ good: 0, bad: 0, left: 0 }));
  const head = element("tr", {}, ...["clause", "level", ...columns.map((number) => data.implementations[number]), "says"]
    .map((name) => element("th", { scope: "col" }, name)));
  const rows = data.clauses[protocol].map(([clause, level, text]) => element("tr", {},
    element("th", { scope: "row" }, element("button", { type: "button", class: "clause", "data-clause": clause, title: "Show its cases" }, clause)),
    element("td", {}, level || ""),
    ...columns.map((number) => cell((counts.get(clause) || empty)[number])),
    element("td", { class: "says" }, text)));
  details.querySelector("table").replaceChildren(element("caption", {}, `${protocol}: cases by clause`),
    element("thead", {}, head), element("tbody", {}, ...rows));
}

function showClause(clause) {
  form.text.value = `clause:${clause}`;
  form.status.value = "";
  refresh();
  by("cases-title").scrollIntoView();
  (by("list").querySelector("button") || form.text).focus();
}

// Groups

function drawGroup(details) {
  const list = details.querySelector("ol");
  const places = data.groups[Number(details.dataset.group)];
  const next = places.slice(list.childElementCount, list.childElementCount + PAGE);
  list.append(...next.map((place) =>
    element("li", {}, element("button", { type: "button", class: "clause", "data-case": place, title: "Show this case" }, caseId(data.cases[place])))));
  details.querySelector("button.rest")?.remove();
  if (list.childElementCount < places.length) details.append(element("button", { type: "button", class: "rest" }, "Show more"));
}

function showCase(place) {
  form.text.value = caseId(data.cases[place]);
  for (const name of ["protocol", "layer", "status", "implementation"]) form[name].value = "";
  refresh();
  const find = () => by("list").querySelector(`li[data-place="${place}"] button.row`);
  while (!find() && rendered < shown.length) more();
  const button = find();
  if (button.getAttribute("aria-expanded") !== "true") toggle(button);
  button.scrollIntoView();
  button.focus();
}

// User actions

async function copy(button) {
  const source = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch { // not allowed, or not supported: use the old way
    getSelection().selectAllChildren(source);
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  by("said").textContent = `copied: ${source.textContent}`;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 2000);
}

function step(from, key) {
  const rows = () => [...by("list").querySelectorAll("button.row")];
  const at = rows().indexOf(from);
  if (key === "ArrowDown" && at + 1 === rows().length) more();
  const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows().length - 1 }[key];
  (rows()[target] || (key === "ArrowUp" ? form.text : from)).focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("row")) toggle(button);
  else if (button.classList.contains("copy")) copy(button);
  else if (button.classList.contains("rest")) {
    const group = button.closest("details.group");
    const last = group.querySelector("ol").lastElementChild;
    drawGroup(group);
    last.nextElementSibling.querySelector("button").focus();
  } else if (button.dataset.case) showCase(Number(button.dataset.case));
  else if (button.classList.contains("clause")) showClause(button.dataset.clause);
  else if (button.id === "more") {
    const last = by("list").lastElementChild;
    more();
    (last?.nextElementSibling || last)?.querySelector("button").focus();
  }
});

document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = at.closest("button.row");
  if (event.key === "/" && !at.closest("input, select, textarea")) {
    form.text.focus();
    form.text.select();
  } else if (row && ["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) step(row, event.key);
  else if (at === form.text && event.key === "ArrowDown") by("list").querySelector("button")?.focus();
  else if (event.key === "Escape" && at.closest("li[data-place]")) {
    const button = at.closest("li[data-place]").querySelector("button.row");
    if (button.getAttribute("aria-expanded") === "true") toggle(button);
    button.focus();
  } else return;
  event.preventDefault();
});

by("filter").addEventListener("submit", (event) => event.preventDefault());
form.text.addEventListener("input", later);
for (const name of ["protocol", "layer", "status", "implementation"]) form[name].addEventListener("change", refresh);
document.querySelectorAll("details.matrix").forEach((details) =>
  details.addEventListener("toggle", () => { if (details.open) drawMatrix(details); }));
document.querySelectorAll("details.group").forEach((details) =>
  details.addEventListener("toggle", () => { if (details.open && !details.querySelector("li")) drawGroup(details); }));
new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) more(); }, { rootMargin: "600px" }).observe(by("more"));

const linked = decodeURIComponent(/^#case=(.*)/.exec(location.hash)?.[1] || "");
if (linked) [form.text.value, form.status.value] = [linked, ""];
else if (data.cases.some((one) => hasStatus(one[2], "wrong"))) form.status.value = "wrong";
refresh();
if (linked && shown.length) toggle(by("list").querySelector("button"));
performance.mark("ready");
