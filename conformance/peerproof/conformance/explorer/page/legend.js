// What a message and its fields mean: a dialog that a click on the type of a message opens.
import { button, element, make, readableCell } from "./dom.js";

/** @typedef {{name: string, form: string, about: string}} FieldMeaning */
/** @typedef {{about: string, groups: {title: string, about: string, fields: FieldMeaning[]}[]}} Meaning */
/** @typedef {Record<string, Meaning>} Legend by the type of a message */

/** @type {Legend} */
let legend = {};

/** Which messages are explained from now on. @param {Legend} other */
export function useLegend(other) {
  legend = other;
}

/** The type of a message by its text, as far as it is explained. @param {string} text */
export function typeIn(text) {
  const [word] = text.split(" ", 1);
  return Object.hasOwn(legend, word) ? word : "";
}

/** @param {FieldMeaning[]} fields */
function table(fields) {
  const cell = (/** @type {string} */ tag, /** @type {string} */ text) => make(tag, tag === "th" ? { scope: "row" } : {}, text);
  return make("table", { class: "meanings" }, ...fields.map((field) =>
    make("tr", {}, cell("th", field.name), make("td", {}, field.form, ...(field.about ? [make("p", {}, field.about)] : [])))));
}

/** Shows what a message and its fields mean. @param {string} type @param {[string, string][]} values of the fields of one message */
export function explain(type, values = []) {
  const meaning = legend[type];
  const [own, ...kinds] = meaning.groups;
  const dialog = /** @type {HTMLDialogElement} */ (element("legend"));
  const seen = values.length ? [make("h4", {}, "In this message"), make("table", {}, ...values.map(([name, value]) =>
    make("tr", {}, readableCell("th", { scope: "row" }, name), readableCell("td", {}, value))))] : [];
  dialog.replaceChildren(
    make("h3", { id: "legend-title" }, type), make("p", {}, meaning.about), ...seen,
    ...(own.fields.length ? [make("h4", {}, "Fields"), table(own.fields)] : [make("p", {}, "It has no fields.")]),
    ...kinds.map((kind) => make("details", {}, make("summary", {}, kind.title), make("p", {}, kind.about), table(kind.fields))),
    button("Close", () => dialog.close()));
  if (!dialog.open) dialog.showModal();
}

/** The text of a message, of which the type can be clicked. @param {string} before @param {string} text @param {string} type @param {[string, string][]} values */
export function messageText(before, text, type, values) {
  const isKnown = Object.hasOwn(legend, type);
  const [word, ...rest] = text.split(" ");
  const what = isKnown ? button(word, () => explain(type, values), { class: "step type", title: `What ${type} means`, "aria-haspopup": "dialog" }) : word;
  return make("span", { class: "message" }, before, what, rest.length ? ` ${rest.join(" ")}` : "");
}
