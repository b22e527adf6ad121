// The tabs, the matrix, the filter, the list and the details of the report; only what is in view is rendered.

/** @typedef {[vector: number, rest: string, statuses: string, details: number, reasons?: Record<string, number>]} Case */
/** @typedef {{good: number, bad: number, left: number}} Count */
/** @typedef {{implementations: string[], statuses: string[], wrong: boolean[], vectors: [string, string, string, string[]][],
 *   cases: Case[], branches: [number, Record<string, string[]>][], groups: number[][], reasons: string[],
 *   clauses: Record<string, [string, string, string][]>, per_chunk: number, site: string}} Data */

/** @type {Data} */
const data = JSON.parse(by("data").textContent || "");
const PAGE = 100; // rows that are added at a time
const ABSENT = ".";
/** @type {Record<string, string>} */
const SIGNS = { passed: "✓", failed: "✗", crashed: "✗", hung: "✗", flooded: "✗", stale: "✗", known: "!", differs: "≠", tolerated: "~", skipped: "–" };
const TABS = ["groups", "clauses", "cases", "run"];
const FILTER = ["text", "protocol", "layer", "status", "implementation", "group"];
const letters = data.statuses.map((_, place) => String.fromCharCode(97 + place));
const wrongOnes = new Set(letters.filter((_, place) => data.wrong[place]));

/** @param {string} letter */
const statusOf = (letter) => data.statuses[letter.charCodeAt(0) - 97];
/** @param {Case} one */
const caseId = (one) => data.vectors[one[0]][0] + one[1];

/** @param {number} number */
const digits = (number) => number.toLocaleString("en");

/** @param {string} letter @param {string} before what stands between the sign and the status */
function badge(letter, before = "") {
  const status = statusOf(letter);
  return make("span", { class: `badge ${status}` }, `${SIGNS[status] || "?"} ${before}${status}`);
}

// State: the address says what is shown.

const hasFailures = data.cases.some((one) => hasStatus(one[2], "wrong"));
const DEFAULTS = { status: hasFailures ? "wrong" : "any", clauses: hasFailures ? "failing" : "tested" };
let tab = TABS[0];
let openCase = ""; // the id of the case that was opened last

function readState() {
  const state = readAddress();
  tab = TABS.includes(state.tab) ? state.tab : state.case ? "cases" : TABS[0];
  openCase = state.case || "";
  for (const name of FILTER) field(name).value = state[name] || "";
  field("status").value = state.status || DEFAULTS.status;
  field("shown").value = state.clauses || DEFAULTS.clauses;
  if (openCase && !filtered().some((place) => caseId(data.cases[place]) === openCase)) {
    for (const name of FILTER) field(name).value = "";
    [field("text").value, field("status").value] = [openCase, "any"];
  }
}

function writeState(isStep = false) {
  const [status, clauses] = [field("status").value, field("shown").value];
  const filter = Object.fromEntries(FILTER.map((name) => [name, field(name).value.trim()]));
  writeAddress({ ...filter, tab: tab === TABS[0] ? "" : tab, status: status === DEFAULTS.status ? "" : status,
    clauses: clauses === DEFAULTS.clauses ? "" : clauses, case: openCase }, isStep);
}

function showState() {
  readState();
  showTab();
  refresh();
  const place = data.cases.findIndex((one) => caseId(one) === openCase);
  if (openCase && place >= 0 && tab === "cases") showCase(place);
}

// Tabs

function showTab() {
  for (const name of TABS) {
    const isShown = name === tab;
    by(name).hidden = !isShown;
    by(`tab-${name}`).setAttribute("aria-selected", String(isShown));
    by(`tab-${name}`).tabIndex = isShown ? 0 : -1;
  }
  if (tab === "clauses") drawMatrices();
}

/** @param {string} name */
function chooseTab(name) {
  tab = name;
  showTab();
  if (tab === "cases") refresh();
  writeState(true);
  if (by(tab).getBoundingClientRect().top < 0) by(tab).scrollIntoView();
}

// Filter

/** @type {string[] | null} */
let haystacks = null;
/** @type {number[]} */
let shown = []; // indices of the cases that match the filter
let rendered = 0; // number of them with a row

function words() {
  haystacks ||= data.cases.map((one) => {
    const [, title, , clauses] = data.vectors[one[0]];
    return ` ${caseId(one)} ${title} ${clauses.join(" ")} `.toLowerCase();
  });
  return field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
}

/** @param {string} statuses */
function considered(statuses) {
  const only = field("implementation").value;
  return only === "" ? statuses : statuses[Number(only)];
}

/** @param {string} statuses @param {string} wanted */
function hasStatus(statuses, wanted) {
  if (wanted === "any") return [...statuses].some((letter) => letter !== ABSENT);
  if (wanted === "wrong") return [...statuses].some((letter) => wrongOnes.has(letter));
  return statuses.includes(letters[data.statuses.indexOf(wanted)]);
}

function filtered() {
  const asked = words();
  const exact = asked.filter((word) => word.startsWith("clause:")).map((word) => word.slice(7).toUpperCase());
  const plain = asked.filter((word) => !word.startsWith("clause:"));
  const [protocol, layer, status, group] = ["protocol", "layer", "status", "group"].map((name) => field(name).value);
  const members = group === "" ? null : new Set(data.groups[Number(group)]);
  /** @type {number[]} */
  const found = [];
  data.cases.forEach((one, place) => {
    const [id, , , clauses] = data.vectors[one[0]];
    const [ofProtocol, ofLayer] = id.split("/");
    if ((protocol && ofProtocol !== protocol) || (layer && ofLayer !== layer) || (members && !members.has(place))) return;
    if (!hasStatus(considered(one[2]), status) || !exact.every((clause) => clauses.includes(clause))) return;
    if (plain.every((word) => haystacks?.[place].includes(word))) found.push(place);
  });
  return found;
}

function refresh() {
  by("list").replaceChildren();
  rendered = 0;
  if (tab !== "cases") return;
  shown = filtered();
  more();
  by("count").textContent = `${digits(shown.length)} of ${digits(data.cases.length)} cases`;
  by("none").hidden = shown.length > 0;
}

let waiting = 0;
function later() {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => {
    openCase = "";
    refresh();
    writeState();
  });
}

// List

function more(count = PAGE) {
  const next = shown.slice(rendered, rendered + count);
  by("list").append(...next.map(row));
  rendered += next.length;
  by("more").hidden = rendered >= shown.length;
}

/** @param {number} place */
function row(place) {
  const one = data.cases[place];
  const only = field("implementation").value;
  const met = [...(only === "" ? one[2] : one[2][Number(only)])].filter((letter) => letter !== ABSENT);
  const badges = letters.filter((letter) => met.includes(letter)).map((letter) => badge(letter, met.length > 1 ? `${met.filter((other) => other === letter).length} ` : ""));
  const button = make("button", { type: "button", class: "row", "aria-expanded": "false", "aria-controls": `detail-${place}` },
    make("code", {}, caseId(one)), make("span", { class: "badges" }, ...badges));
  const title = data.vectors[one[0]][1];
  return make("li", { "data-place": String(place) }, button, ...(title ? [make("p", { class: "title" }, title)] : []),
    make("div", { id: `detail-${place}`, class: "detail", role: "region", "aria-label": `Details of ${caseId(one)}`, hidden: "" }));
}

/** @param {HTMLElement} button */
async function toggle(button) {
  const isOpen = button.getAttribute("aria-expanded") !== "true";
  const place = Number(button.parentElement?.dataset.place);
  const detail = by(`detail-${place}`);
  button.setAttribute("aria-expanded", String(isOpen));
  detail.hidden = !isOpen;
  openCase = isOpen ? caseId(data.cases[place]) : "";
  writeState();
  if (isOpen && !detail.hasChildNodes()) await fill(detail, place);
}

/** Opens a case of the list, however far down it is. @param {number} place */
function showCase(place) {
  more(Math.max(0, shown.indexOf(place) + 1 - rendered));
  const button = /** @type {HTMLElement | null} */ (by("list").querySelector(`li[data-place="${place}"] button.row`));
  if (!button) return;
  if (button.getAttribute("aria-expanded") !== "true") toggle(button);
  button.scrollIntoView({ block: "center" });
  button.focus();
}

/** @param {HTMLElement} detail @param {number} place */
async function fill(detail, place) {
  const [vector, , statuses, kept, reasons] = data.cases[place];
  const [id, , level, clauses] = data.vectors[vector];
  const rendering = make("div", {}, "…");
  detail.append(...outcomes(place, statuses, reasons || {}), rendering, make("p", {}, `Level: ${level}. Clauses:`), clauseList(id.split("/")[0], clauses));
  if (kept < 0) {
    rendering.remove();
    return;
  }
  try {
    const chunk = await unpacked(Math.floor(kept / data.per_chunk));
    rendering.innerHTML = chunk[kept % data.per_chunk]; // made and escaped by the program that wrote this page
  } catch (error) {
    rendering.textContent = `This browser cannot unpack the details (${error}). Run peerproof vectors replay ${caseId(data.cases[place])}`;
  }
}

/** A clause, as a link to the site if its address is known. @param {string} clause @param {string} protocol */
function clauseName(clause, protocol) {
  const isKnown = (data.clauses[protocol] || []).some(([id]) => id === clause);
  if (!data.site || !isKnown) return clause;
  const href = `${data.site}specification/${encodeURIComponent(protocol)}/#${encodeURIComponent(clause)}`;
  return make("a", { href, rel: "noreferrer" }, clause);
}

/** The text of a clause: between backticks is code, between asterisks emphasis; as render_prose in environment.py. @param {string} text */
function prose(text) {
  const parts = text.split(/(`[^`]+`|\*[^*]+\*)/);
  return parts.map((part, place) => place % 2 ? make(part[0] === "`" ? "code" : "em", {}, part.slice(1, -1)) : part);
}

/** @param {string} protocol @param {string[]} clauses */
function clauseList(protocol, clauses) {
  const list = make("dl");
  for (const clause of clauses) {
    const [, strength, text] = (data.clauses[protocol] || []).find(([id]) => id === clause) || [clause, "", ""];
    list.append(make("dt", {}, clauseName(clause, protocol), ` ${strength}`), make("dd", {}, ...prose(text || "not in the prose at hand")));
  }
  return list;
}

/** What is known of each implementation besides its status; nothing if that is all. @param {number} place @param {string} statuses @param {Record<string, number>} reasons */
function outcomes(place, statuses, reasons) {
  /** @type {HTMLElement[]} */
  const items = [];
  let isMore = data.implementations.length > 1;
  const branches = new Map(data.branches).get(place) || {};
  [...statuses].forEach((letter, number) => {
    if (letter === ABSENT) return;
    const reason = reasons[number] === undefined ? "" : data.reasons[reasons[number]];
    const branch = branches[number] ? `branches: ${branches[number].join(", ")}` : "";
    isMore ||= Boolean(reason || branch);
    const who = data.implementations.length > 1 ? `${data.implementations[number]}: ` : "";
    items.push(make("li", {}, who, badge(letter), " ", [reason, branch].filter(Boolean).join("; ")));
  });
  return isMore ? [make("ul", { class: "outcomes" }, ...items)] : [];
}

/** @type {Map<number, Promise<string[]>>} */
const chunks = new Map();

/** @param {number} number */
async function unpacked(number) {
  if (!chunks.has(number)) chunks.set(number, inflate(`chunk-${number}`).json());
  return /** @type {Promise<string[]>} */ (chunks.get(number));
}

// Matrix

/** @param {string} protocol */
function countByClause(protocol) {
  /** @type {Map<string, Count[]>} */
  const counts = new Map();
  for (const one of data.cases) {
    const [id, , , clauses] = data.vectors[one[0]];
    if (!id.startsWith(`${protocol}/`)) continue;
    for (const clause of clauses) {
      const ofClause = counts.get(clause) || data.implementations.map(() => ({ good: 0, bad: 0, left: 0 }));
      counts.set(clause, ofClause);
      [...one[2]].forEach((letter, number) => {
        if (letter === ABSENT) return;
        const status = statusOf(letter);
        const isGood = ["passed", "tolerated", "differs"].includes(status);
        ofClause[number][wrongOnes.has(letter) || status === "known" ? "bad" : isGood ? "good" : "left"] += 1;
      });
    }
  }
  return counts;
}

/** @param {Count} count @param {string} clause @param {string} protocol @param {number} implementation */
function cell({ good, bad, left }, clause, protocol, implementation) {
  if (!good && !bad && !left) return make("td", { class: "faint" }, "no case");
  const text = bad ? `✗ ${digits(bad)} of ${digits(good + bad)}` : good ? `✓ ${digits(good)}` : `– ${digits(left)} not checked`;
  const state = { tab: "cases", text: `clause:${clause}`, protocol, status: "any", implementation: data.implementations.length > 1 ? String(implementation) : "" };
  const href = `#${new URLSearchParams(Object.entries(state).filter(([, value]) => value))}`;
  return make("td", {}, make("a", { href, class: `${bad ? "bad" : good ? "good" : "faint"}`, title: "Show these cases" }, text));
}

function drawMatrices() {
  document.querySelectorAll("details.matrix[open]").forEach((details) => drawMatrix(/** @type {HTMLDetailsElement} */ (details)));
}

/** @param {HTMLDetailsElement} details */
function drawMatrix(details) {
  const protocol = details.dataset.protocol || "";
  const counts = countByClause(protocol);
  const none = data.implementations.map(() => ({ good: 0, bad: 0, left: 0 }));
  const wanted = field("shown").value;
  const known = data.clauses[protocol].filter(([clause]) => {
    const ofClause = counts.get(clause);
    return wanted === "all" || (ofClause && (wanted !== "failing" || ofClause.some(({ bad }) => bad)));
  });
  const head = make("tr", {}, ...["clause", ...data.implementations].map((name) => make("th", { scope: "col" }, name)));
  const rows = known.map(([clause, level, text]) => make("tr", {},
    make("th", { scope: "row" }, clauseName(clause, protocol), ` ${level}`, make("span", { class: "says" }, ...prose(text))),
    ...(counts.get(clause) || none).map((count, number) => cell(count, clause, protocol, number))));
  details.querySelector("table")?.replaceChildren(make("caption", {}, `${rows.length} of ${data.clauses[protocol].length} clauses of ${protocol}`),
    make("thead", {}, head), make("tbody", {}, ...rows));
}

// User actions

/** @param {HTMLElement} from @param {string} key */
function step(from, key) {
  const rows = () => /** @type {HTMLElement[]} */ ([...by("list").querySelectorAll("button.row")]);
  const at = rows().indexOf(from);
  if (key === "ArrowDown" && at + 1 === rows().length) more();
  const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows().length - 1 }[key] ?? at;
  (rows()[target] || (key === "ArrowUp" ? field("text") : from)).focus();
}

/** @param {string} key */
function stepTab(key) {
  const at = TABS.indexOf(tab);
  const target = { ArrowRight: at + 1, ArrowLeft: at + TABS.length - 1, Home: 0, End: TABS.length - 1 }[key] ?? at;
  chooseTab(TABS[target % TABS.length]);
  by(`tab-${tab}`).focus();
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button");
  if (!button) return;
  if (button.getAttribute("role") === "tab") chooseTab(button.id.slice("tab-".length));
  else if (button.classList.contains("row")) toggle(button);
  else if (button.id === "more") {
    const last = by("list").lastElementChild;
    more();
    (last?.nextElementSibling || last)?.querySelector("button")?.focus();
  }
});

document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (!(at instanceof Element) || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = /** @type {HTMLElement | null} */ (at.closest("button.row"));
  const item = at.closest("li[data-place]");
  if (event.key === "/" && !at.closest("input, select, textarea")) {
    if (tab !== "cases") chooseTab("cases");
    field("text").focus();
    /** @type {HTMLInputElement} */ (field("text")).select();
  } else if (at.closest("[role=tab]") && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) stepTab(event.key);
  else if (row && ["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) step(row, event.key);
  else if (at.id === "text" && event.key === "ArrowDown") by("list").querySelector("button")?.focus();
  else if (event.key === "Escape" && item) {
    const button = /** @type {HTMLElement} */ (item.querySelector("button.row"));
    if (button.getAttribute("aria-expanded") === "true") toggle(button);
    button.focus();
  } else return;
  event.preventDefault();
});

for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
for (const name of FILTER) field(name).addEventListener("input", later);
field("shown").addEventListener("input", () => {
  drawMatrices();
  writeState();
});
for (const details of document.querySelectorAll("details.matrix")) details.addEventListener("toggle", drawMatrices);
new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) more(); }, { rootMargin: "600px" }).observe(by("more"));
addEventListener("popstate", () => { // by a link of the page, or by the browser's buttons
  showState();
  if (openCase) return;
  by(tab).focus({ preventScroll: true });
  by(tab).scrollIntoView();
});
addEventListener("beforeprint", () => {
  drawMatrices();
  shown = filtered();
  more(shown.length);
});

/** @type {HTMLElement} */ (document.querySelector("[role=tablist]")).hidden = false;
showState();
performance.mark("ready");
