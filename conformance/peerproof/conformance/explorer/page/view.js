// Draws one world. Texts of nodes and messages are only ever put in as text.

/** @typedef {{number: number, from: string, to: string, text: string}} Message */
/** @typedef {{kind: string, node: string, event: string, message: Message | null}} Said */
/** @typedef {Said & {id: string, picks: {site: string, chosen: string[]}[], changes: Record<string, string>, sends: Message[]}} Move */
/** @typedef {{name: string, value: string, changed: boolean}} Field */
/** @typedef {{name: string, about: string, clauses: string[], holds: boolean | null}} Property */
/** @typedef {{about: string, path: string[], nodes: {name: string, fields: Field[]}[], net: Message[], moves: Move[],
 *   properties: Property[], steps: Said[], reaches: {name: string, about: string}[]}} View */

const VERBS = { deliver: "Deliver", duplicate: "Deliver, keep a copy", lose: "Lose", fail: "Fail", restart: "Restart" };

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @param {HTMLSelectElement} select @param {string[]} names @param {string} chosen */
export function fill(select, names, chosen) {
  select.replaceChildren(...names.map((name) => make("option", name === chosen ? { selected: "" } : {}, name)));
}

/** @param {string} text */
export function renderProblem(text) {
  element("said").textContent = text;
}

/** @param {Said} said */
function sentence(said) {
  const message = said.message ? `${said.message.from} → ${said.message.to}: ${said.message.text}` : said.event;
  return said.kind === "local" ? `${said.node}: ${said.event}` : `${said.kind} ${message || said.node}`;
}

/** @param {Move} move */
function outcome(move) {
  const picks = move.picks.map((pick) => `${pick.site}: ${pick.chosen.join(", ")}`);
  const changes = Object.entries(move.changes).map(([node, text]) => `${node}: ${text}`);
  const sends = move.sends.map((message) => `sends to ${message.to}: ${message.text}`);
  return [...picks, ...changes, ...sends].join("; ") || "nothing changes";
}

/** A button for an event; where chance decides, a list of what can come of it. @param {Move[]} moves @param {(id: string) => void} take */
function choice(moves, take) {
  const [first] = moves;
  const name = first.kind === "local" ? first.event : VERBS[/** @type {keyof typeof VERBS} */ (first.kind)];
  if (moves.length === 1) {
    const button = make("button", { title: outcome(first), "data-move": first.id }, name);
    button.addEventListener("click", () => take(first.id));
    return button;
  }
  const options = moves.map((move) => {
    const button = make("button", { "data-move": move.id }, outcome(move));
    button.addEventListener("click", () => take(move.id));
    return make("li", {}, button);
  });
  return make("details", {}, make("summary", {}, `${name} (${moves.length} outcomes)`), make("ul", {}, ...options));
}

/** @param {Move[]} moves @param {(id: string) => void} take */
function choices(moves, take) {
  /** @type {Map<string, Move[]>} */
  const groups = new Map();
  for (const move of moves) {
    const key = `${move.kind} ${move.event}`;
    groups.set(key, [...(groups.get(key) ?? []), move]);
  }
  return make("div", { class: "choices" }, ...[...groups.values()].map((group) => choice(group, take)));
}

/** @param {View} view @param {string} graph @param {(path: string[]) => void} go */
export function render(view, graph, go) {
  const take = (/** @type {string} */ id) => go([...view.path, id]);
  element("about").textContent = view.about;
  const last = view.steps.at(-1);
  element("said").textContent = last ? `Step ${view.steps.length}. ${sentence(last)}` : "All nodes have just started.";

  element("nodes").replaceChildren(...view.nodes.map((node) => {
    const rows = node.fields.map((field) => make("tr", field.changed ? { class: "changed" } : {},
      make("th", { scope: "row" }, field.name), make("td", {}, field.value || (field.changed ? "(gone)" : ""))));
    const own = view.moves.filter((move) => move.node === node.name && !move.message);
    return make("article", { "data-node": node.name }, make("h3", {}, `Node ${node.name}`), make("table", {}, ...rows), choices(own, take));
  }));

  const rows = view.net.map((message) => make("li", {},
    make("span", { class: "message" }, `${message.from} → ${message.to}: ${message.text}`),
    choices(view.moves.filter((move) => move.message?.number === message.number), take)));
  element("net").replaceChildren(...(rows.length ? rows : [make("li", {}, "none")]));

  element("steps").replaceChildren(...view.steps.map((said, index) => {
    const button = make("button", { class: "step" }, sentence(said));
    button.addEventListener("click", () => go(view.path.slice(0, index + 1)));
    return make("li", {}, button);
  }));
  element("graph").replaceChildren(...(view.path.length
    ? [make("img", { src: graph, alt: "Message graph; the list below has the same steps" })] : []));

  element("properties").replaceChildren(...view.properties.map((property) => {
    const mark = property.holds === null ? "–" : property.holds ? "✓" : "✗";
    const words = property.holds === null ? "not seen here" : property.holds ? "holds" : "does not hold";
    return make("li", { class: property.holds === false ? "broken" : "" },
      make("span", { "aria-hidden": "true" }, `${mark} `), `${property.name} `, make("span", { class: "verdict" }, words),
      make("p", {}, `${property.about} [${property.clauses.join(", ")}]`));
  }));

  const way = /** @type {HTMLSelectElement} */ (element("way"));
  way.replaceChildren(make("option", { value: "" }, "…"),
    ...view.reaches.map((reach) => make("option", { value: reach.name, title: reach.about }, reach.name)));
}
