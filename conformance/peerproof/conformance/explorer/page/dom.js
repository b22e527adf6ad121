// Makes elements. Texts of nodes, messages and logs are only ever put in as text.
import { readable } from "./readable.js";

const SVG = "http://www.w3.org/2000/svg";
const LONG = 14; // fields of a node, above which those that have changed come first

/** @param {string} id */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} id */
export const selectOf = (id) => /** @type {HTMLSelectElement} */ (document.getElementById(id));

/** @param {string} id */
export const inputOf = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 * @returns {SVGElement}
 */
export function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** @param {string} text @param {() => void} act @param {Record<string, string>} attributes */
export function button(text, act, attributes = {}) {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}

/** @param {HTMLSelectElement} select @param {[string, string][]} options values and texts @param {string} chosen */
export function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => make("option", value === chosen ? { value, selected: "" } : { value }, text)));
}

/** @param {string} text */
export function say(text) {
  element("said").textContent = text;
}

/** @param {string} text @param {number} most */
export function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A cell with a text as a reader wants it; where that leaves something out, the text itself is its title.
 * @param {string} tag @param {Record<string, string>} attributes @param {string} text */
export function readableCell(tag, attributes, text) {
  const shown = readable(text);
  return make(tag, shown === text ? attributes : { ...attributes, title: text }, shown);
}

/**
 * The state of a node. Fields that a step has changed are marked, and those that should have another value.
 * @param {{name: string, fields: {name: string, value: string, changed: boolean}[]}} node
 * @param {string} title
 * @param {Map<string, string> | null} wanted the fields that it should have
 * @param {Node[]} actions what can happen to the node
 */
export function nodeCard(node, title, wanted, ...actions) {
  const differs = (/** @type {{name: string, value: string}} */ field) => wanted !== null && wanted.get(field.name) !== field.value;
  const isLong = node.fields.length > LONG;
  const fields = isLong ? [...node.fields].sort((one, other) => Number(other.changed) - Number(one.changed)) : node.fields;
  const rows = fields.map((field) => make("tr", { class: `${field.changed ? "changed" : ""} ${differs(field) ? "differs" : ""}`.trim() },
    readableCell("th", { scope: "row" }, field.name), readableCell("td", {}, field.value || (field.changed && !field.name.startsWith("(") ? "(gone)" : ""))));
  return make("article", { "data-node": node.name }, make("h3", {}, title), ...actions, make("table", {}, ...rows));
}
