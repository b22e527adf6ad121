// Draws one world of a model.
import { button, element, fill, inputOf, make, nodeCard, readableCell, say, selectOf } from "./dom.js";
import { drawGraph } from "./graph.js";
import { messageText } from "./legend.js";

/** @typedef {{number: number, from: string, to: string, text: string, type: string, fields: [string, string][]}} Message */
/** @typedef {{kind: string, node: string, event: string, message: Message | null, changes: Record<string, string>, sends: Message[]}} Done */
/** @typedef {Done & {id: string, picks: {site: string, chosen: string[]}[]}} Move */
/** @typedef {{name: string, value: string, changed: boolean}} Field */
/** @typedef {{kind: string, node: string, event: string, message: Message | null}} Happening */
/** A property; `possible` if it does not hold where something is shown to be possible.
 * @typedef {{name: string, about: string, clauses: string[], holds: boolean | null, possible: boolean}} Property */
/** A question of the models; `possible` if it asks whether something can happen, and the models that show it.
 * @typedef {{name: string, about: string, possible: boolean, models: string[]}} Reach */
/** @typedef {{protocol: string, model: string, about: string, limits: string, path: string[], nodes: {name: string, fields: Field[]}[], net: Message[],
 *   moves: Move[], blocked: Happening[], most: number, loses: boolean,
 *   properties: Property[], steps: Done[], reaches: Reach[], asked: Asked | null}} View */
/** Of each state on the path the messages because of which it answers a question with no; null if it does not.
 * @typedef {{name: string, about: string, possible: boolean, of: string, causes: (number[] | null)[]}} Asked */
/** @typedef {{what: string, where: string, expected: string, actual: string, clauses: string[], verdict: string}} Problem */
/** @typedef {{verdict: string, steps: Record<string, Problem | null>, end: Problem | null} | {problem: string}} Check */

const VERBS = { deliver: "Deliver", duplicate: "Deliver, keep a copy", lose: "Lose", fail: "Fail", restart: "Restart" };
const MOST_STEPS = 40;

/** @param {Done} done */
function sentence(done) {
  const message = done.message ? `${done.message.from} → ${done.message.to}: ${done.message.text}` : done.event;
  return done.kind === "local" ? `${done.node}: ${done.event}` : `${done.kind} ${message || done.node}`;
}

/** @param {Move} move */
function outcome(move) {
  const picks = move.picks.map((pick) => `${pick.site}: ${pick.chosen.join(", ")}`);
  const changes = Object.entries(move.changes).map(([node, text]) => `${node}: ${text}`);
  const sends = move.sends.map((message) => `sends to ${message.to}: ${message.text}`);
  return [...picks, ...changes, ...sends].join("; ") || "nothing changes";
}

/** @param {Happening} first */
const nameOf = (first) => (first.kind === "local" ? first.event : VERBS[/** @type {keyof typeof VERBS} */ (first.kind)]);

/** A button for an event; where chance decides, a list of what can come of it. @param {Move[]} moves @param {(id: string) => void} take */
function choice(moves, take) {
  const [first] = moves;
  const name = nameOf(first);
  if (moves.length === 1) return button(name, () => take(first.id), { title: outcome(first), "data-move": first.id });
  const options = moves.map((move) => make("li", {}, button(outcome(move), () => take(move.id), { "data-move": move.id })));
  return make("details", {}, make("summary", {}, `${name} (${moves.length} outcomes)`), make("ul", {}, ...options));
}

/** Why events cannot happen that would exceed the messages under way. @param {View} view */
function limitReached(view) {
  const messages = `${view.most} ${view.most === 1 ? "message" : "messages"}`;
  return view.net.length
    ? `the model's network holds ${messages}: deliver ${view.loses ? "or lose " : ""}one first`
    : `it would send more than ${messages}, and the model's network holds no more`;
}

/** @param {Move[]} moves @param {(id: string) => void} take @param {Happening[]} blocked @param {View} view */
function choices(moves, take, blocked, view) {
  /** @type {Map<string, Move[]>} */
  const groups = new Map();
  for (const move of moves) {
    const key = `${move.kind} ${move.event}`;
    groups.set(key, [...(groups.get(key) ?? []), move]);
  }
  const disabled = blocked.map((one) => button(nameOf(one), () => undefined, { disabled: "", title: limitReached(view) }));
  const why = disabled.length ? [make("span", { class: "why" }, `(${limitReached(view)})`)] : [];
  return make("div", { class: "choices" }, ...[...groups.values()].map((group) => choice(group, take)), ...disabled, ...why);
}

/** Where a path answers the question that the reader asks with no, and why. @param {View} view */
function findAnswer(view) {
  const { asked } = view;
  const step = asked ? asked.causes.findIndex((cause) => cause !== null) : -1;
  if (!asked || step < 0) return null;
  const cause = asked.causes[step] ?? [];
  const next = view.steps[step];
  const isArrival = asked.of === "arrival" && cause.length > 0;
  const hasArrived = isArrival && Boolean(next?.message && cause.includes(next.message.number) && next.kind !== "lose");
  return { step, cause, isArrival, shown: isArrival && !hasArrived ? null : step + Number(hasArrived) };
}

const capitalize = (/** @type {string} */ name) => name.charAt(0).toUpperCase() + name.slice(1);

/** The card of a node; of one that is down, what it knew before is folded.
 * @param {View["nodes"][number]} node @param {HTMLElement} actions */
function cardOf(node, actions) {
  const isDown = node.fields.some((field) => field.name === "up" && field.value === "False");
  const card = nodeCard(node, capitalize(node.name), null, ...(isDown ? [make("p", { class: "down" }, "(the node is down)")] : []), actions);
  if (!isDown) return card;
  card.classList.add("is-down");
  const table = /** @type {HTMLElement} */ (card.querySelector("table"));
  card.append(make("details", {}, make("summary", {}, "What it knew"), table));
  return card;
}

/** The answer to a question that no state of the model answers as it asks: which other models do.
 * @param {View} view @param {string} name @param {((model: string) => void) | null} open null if no other model can be opened here */
export function renderNoAnswer(view, name, open) {
  const reach = view.reaches.find((one) => one.name === name);
  if (!reach) return;
  const words = reach.possible ? `No: in no state of this model (${name} holds).` : `No counterexample: ${name} holds in each state of this model.`;
  const others = reach.models.filter((model) => model !== view.model).map((model) =>
    open ? button(model, () => open(model), { class: "step" }) : make("code", {}, model));
  const listed = others.flatMap((other, index) => (index ? [", ", other] : [other]));
  element("answer").hidden = false;
  element("answer").replaceChildren(make("p", {}, make("strong", {}, reach.about), ` (${name})`), make("p", {}, words),
    ...(others.length ? [make("p", {}, reach.possible ? "A model that shows it: " : "A model with a counterexample: ", ...listed)] : []));
  say(words);
}

/** Says why a path answers the question with no, and marks where one sees it. @param {View} view @param {(step: number) => void} go */
function renderAnswer(view, go) {
  const to = element("answer");
  const { asked } = view;
  to.hidden = !asked;
  if (!asked) return;
  const found = findAnswer(view);
  const head = asked.possible ? make("p", {}, make("strong", {}, asked.about), ` (${asked.name})`) : make("p", {}, make("strong", {}, asked.name), ` ${asked.about}`);
  if (!found) {
    to.replaceChildren(head, make("p", {}, asked.possible ? "Not on this path so far." : `${asked.name} holds in each state of this path.`));
    return;
  }
  const { step, cause, isArrival, shown } = found;
  const link = (/** @type {number} */ number) => button(number ? `step ${number}` : "the beginning", () => go(number), { class: "step" });
  const known = [...view.net, ...view.steps.flatMap((done) => [...done.sends, ...(done.message ? [done.message] : [])])];
  const texts = cause.map((number) => known.find((message) => message.number === number)).map((message) =>
    make("span", { class: "message" }, message ? `${message.from} → ${message.to}: ${message.text}` : "a message"));
  const listed = texts.flatMap((text, index) => (index ? [" and ", text] : [text]));
  const changes = step ? Object.entries(view.steps[step - 1].changes).map(([node, text]) => `${node}: ${text}`) : [];
  if (asked.possible) {
    const yes = isArrival && shown !== null
      ? ["Yes: in ", link(shown), ", the arrival of ", ...listed, ...effects(view.steps[step])]
      : isArrival
        ? ["Yes: after ", link(step), " it would be so if this arrived now: ", ...listed, "."]
        : ["Yes: in ", link(step), ...(cause.length ? [", as what is under way shows: ", ...listed] : changes.length ? [": ", make("span", { class: "message" }, changes.join("; "))] : []), "."];
    to.replaceChildren(head, make("p", {}, ...yes));
    return;
  }
  const why = isArrival && shown !== null
    ? ["After ", link(step), ` ${asked.name} no longer holds, because of what this message under way will do: `, ...listed, ". One sees it in ", link(shown), ", its arrival",
      ...effects(view.steps[step])]
    : isArrival
      ? ["After ", link(step), ` ${asked.name} no longer holds, because of what would happen if this arrived now: `, ...listed, "."]
      : cause.length
        ? ["After ", link(step), ` ${asked.name} no longer holds, because of what is under way: `, ...listed, "."]
        : ["After ", link(step), ` ${asked.name} no longer holds: the states of the nodes show it`, ...(changes.length ? [", where this step changed ", make("span", { class: "message" }, changes.join("; "))] : []), "."];
  to.replaceChildren(head, make("p", {}, ...why));
}

/** What a step does, for the end of a sentence. @param {Done} done */
function effects(done) {
  const found = [...Object.entries(done.changes).map(([node, text]) => `${node}: ${text}`), ...done.sends.map((message) => `sends to ${message.to}: ${message.text}`)];
  return found.length ? [": ", make("span", { class: "message" }, found.join("; ")), "."] : [", which changes nothing."];
}

/** The rows of the message graph: each step, and what it changes. @param {Done[]} steps @param {number | null} sought the step that the reader looks for */
function stepRows(steps, sought) {
  /** @type {Map<number, number>} */
  const sent = new Map();
  /** @type {import("./graph.js").Row[]} */
  const rows = [];
  steps.forEach((done, index) => {
    const step = index + 1;
    const now = step === steps.length;
    const common = { step, now, sought: step === sought };
    if (done.message) {
      const from = sent.get(done.message.number);
      const remark = from !== undefined && from !== index ? ` (sent in ${from})` : "";
      const lost = done.kind === "lose" || done.kind === "fail";
      rows.push({ ...common, at: `${step}`, part: { from: done.message.from, to: done.message.to, label: done.message.text + remark, lost, type: done.message.type, fields: done.message.fields } });
    } else {
      rows.push({ ...common, at: `${step}`, part: { node: done.node, label: done.kind === "local" ? done.event : done.kind } });
    }
    for (const [node, label] of Object.entries(done.changes)) rows.push({ ...common, at: "", part: { node, label } });
    for (const message of done.sends) sent.set(message.number, step);
  });
  const first = steps.length - MOST_STEPS;
  return first > 0 ? [{ step: first, at: "…", part: { node: "", label: `${first} steps before` } }, ...rows.filter((row) => row.step > first)] : rows;
}

/** @param {View} view @param {(path: string[]) => void} go */
export function renderModel(view, go) {
  const take = (/** @type {string} */ id) => go([...view.path, id]);
  const last = view.steps.at(-1);
  element("about").textContent = `${view.about} ${view.limits}`;
  const end = view.moves.length ? "" : " Nothing more can happen within the limits of the model: go Back, or to the Start.";
  say(last ? `Step ${view.steps.length}. ${sentence(last)}${end}` : `The beginning.${end}`);

  element("nodes").replaceChildren(...view.nodes.map((node) =>
    cardOf(node, choices(view.moves.filter((move) => move.node === node.name && !move.message), take,
      view.blocked.filter((one) => one.node === node.name && !one.message), view))));

  renderAnswer(view, (step) => go(view.path.slice(0, step)));
  const answer = findAnswer(view);
  const causes = new Set(view.asked?.causes.at(-1) ?? []);
  const net = view.net.map((message) => make("li", causes.has(message.number) ? { class: "sought" } : {},
    ...(causes.has(message.number) ? [make("span", { class: "mark" }, "◆ ")] : []),
    messageText(`${message.from} → ${message.to}: `, message.text, message.type, message.fields),
    choices(view.moves.filter((move) => move.message?.number === message.number), take,
      view.blocked.filter((one) => one.message?.number === message.number), view)));
  element("net").replaceChildren(...(net.length ? net : [make("li", {}, "none")]));

  const sought = answer?.shown ?? null;
  element("steps").replaceChildren(...view.steps.map((done, index) =>
    make("li", index + 1 === sought ? { class: "sought" } : {}, button(sentence(done), () => go(view.path.slice(0, index + 1)), { class: "step" }),
      ...(index + 1 === sought ? [make("span", { class: "mark" }, ` ◆ ${view.asked?.name}`)] : []))));
  const names = view.nodes.map((node) => node.name);
  element("graph").replaceChildren(...(view.steps.length
    ? [drawGraph(names, stepRows(view.steps, sought), "Message graph; the list below has the same steps", (step) => go(view.path.slice(0, step)), element("graph").clientWidth)] : []));

  element("properties-part").hidden = !view.properties.length;
  element("properties").replaceChildren(...view.properties.map((property) => {
    const isShown = property.possible && property.holds === false; // what is possible, and no fault
    const mark = property.holds === null ? "–" : property.holds ? "✓" : isShown ? "◆" : "✗";
    const words = property.holds === null ? "not seen here" : property.holds ? "holds" : isShown ? "no longer holds: the answer is yes" : "does not hold";
    const clauses = property.clauses.length ? ` [${property.clauses.join(", ")}]` : "";
    return make("li", { class: property.holds !== false ? "" : isShown ? "shown" : "broken" },
      make("span", { "aria-hidden": "true" }, `${mark} `), `${property.name} `, make("span", { class: "verdict" }, words),
      make("p", {}, `${property.about}${clauses}`));
  }));

  fill(selectOf("way"), [["", "…"], ...view.reaches.map((reach) => questionOf(reach, view.reaches))], view.asked?.name ?? "");
  fill(selectOf("node"), [["", "any node"], ...names.map((name) => /** @type {[string, string]} */ ([name, name]))], selectOf("node").value);
  fill(selectOf("keep-node"), names.map((name) => [name, name]), selectOf("keep-node").value || names[0]);
  const fields = new Set(view.nodes.flatMap((node) => node.fields.map((field) => field.name)));
  element("fields").replaceChildren(...[...fields].map((name) => make("option", { value: name })));
}

/** What an implementation did as one node of the path. @param {Check} check @param {View} view @param {string} node */
export function renderCheck(check, view, node) {
  const to = element("check-result");
  if ("problem" in check) {
    to.replaceChildren(make("p", {}, check.problem));
    return;
  }
  for (const row of document.querySelectorAll("#graph .row")) {
    row.classList.toggle("wrong", Boolean(check.steps[String(Number(row.getAttribute("data-step")) - 1)]));
  }
  const rows = Object.entries(check.steps).map(([index, found]) =>
    make("li", { class: found ? "broken" : "" }, `Step ${Number(index) + 1}. ${sentence(view.steps[Number(index)])}: `,
      ...(found ? [make("span", { class: "verdict" }, `✗ ${found.what}`), sides(found)] : [make("span", { class: "verdict" }, "✓ as specified")])));
  if (check.end) rows.push(make("li", { class: "broken" }, `After the last step: ✗ ${check.end.what}`, sides(check.end)));
  to.replaceChildren(make("p", {}, `The implementation as ${node}: ${check.verdict}`), make("ol", { class: "checks" }, ...rows));
}

/** @param {Problem} problem */
export function sides(problem) {
  const list = make("dl", { class: "sides" });
  if (problem.where) list.append(make("dt", {}, "where"), make("dd", {}, problem.where));
  if (problem.expected || problem.actual) {
    list.append(make("dt", {}, "expected"), readableCell("dd", {}, problem.expected || "nothing"), make("dt", {}, "actual"), readableCell("dd", {}, problem.actual || "nothing"));
  }
  return list;
}

/** The name of a question, and its text: what it asks, if no other asks the same in these words.
 * @param {Reach} reach @param {Reach[]} all @returns {[string, string]} */
function questionOf(reach, all) {
  const isOwn = all.filter((other) => other.about === reach.about).length === 1;
  return [reach.name, isOwn && reach.about.length < 90 ? `${reach.about} (${reach.name})` : reach.name];
}

/** What the reader describes: a node, a field and its value. */
export function described() {
  return { node: selectOf("node").value, field: inputOf("field").value.trim(), value: inputOf("value").value.trim() };
}
