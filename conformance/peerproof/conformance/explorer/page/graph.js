// A message graph: a column for each node, a row for each message or event.
import { draw, shorten } from "./dom.js";
import { explain, typeIn } from "./legend.js";
import { readable } from "./readable.js";

/** @typedef {{from: string, to: string, label: string, lost?: boolean, judged?: boolean, wrong?: boolean, type?: string, fields?: [string, string][]}} Arrow */
/** @typedef {{node: string, label: string, wrong?: boolean}} Note */
/** @typedef {Arrow | Note} Part */
/** @typedef {{step: number, at: string, part: Part, wrong?: boolean, now?: boolean, sought?: boolean}} Row */

const ROW = 34;
const HEAD = 40;
const TIME = 70;
const COLUMNS = { least: 140, usual: 230, most: 400 };
const MARGINS = { least: 100, most: 170 };
const LETTER = 7.3;
const REMARK = / \((?:once more|sent)[^()]*\)$/; // stays where a label is cut

/** @param {Part} part @returns {string[]} */
export const namesOf = (part) => ("from" in part ? [part.from, part.to] : [part.node]).filter(Boolean);

/**
 * @param {string[]} nodes @param {Row[]} rows @param {string} title
 * @param {(step: number) => void} go @param {number} room the width of the page for it, in pixels; 0 if that is not known
 */
export function drawGraph(nodes, rows, title, go, room) {
  const margin = Math.min(MARGINS.most, Math.max(MARGINS.least, room * 0.14));
  const fitting = Math.floor((room - TIME - margin) / Math.max(1, nodes.length));
  const column = room ? Math.min(COLUMNS.most, Math.max(COLUMNS.least, fitting)) : COLUMNS.usual;
  const width = TIME + Math.max(1, nodes.length) * column + margin;
  const height = HEAD + rows.length * ROW + 10;
  const x = (/** @type {string} */ name) => TIME + (Math.max(0, nodes.indexOf(name)) + 0.5) * column;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": title, class: "graph" });
  for (const name of nodes) {
    svg.append(draw("text", { x: x(name), y: 18, "text-anchor": "middle", class: "name" }, draw("title", {}, name), shorten(name, 24)),
      draw("line", { x1: x(name), x2: x(name), y1: 26, y2: height, class: "life" }));
  }
  rows.forEach((row, index) => {
    const isWrong = row.wrong || row.part.wrong;
    const y = HEAD + index * ROW + 20;
    const line = draw("g", { "data-step": row.step, class: `row${isWrong ? " wrong" : ""}${row.now ? " now" : ""}${row.sought ? " sought" : ""}${"judged" in row.part && row.part.judged ? " judged" : ""}` });
    line.append(draw("title", {}, row.part.label), draw("rect", { x: 0, y: y - 20, width, height: ROW, class: "band" }));
    if (row.at) line.append(draw("text", { x: TIME - 8, y: y + 3, "text-anchor": "end", class: "time" }, row.at));
    line.append(...("from" in row.part ? arrow(row.part, x, y, width) : note(row.part, x, y, width)));
    line.addEventListener("click", () => go(row.step));
    svg.append(line);
  });
  return svg;
}

/** @param {Arrow} part @param {(name: string) => number} x @param {number} y @param {number} width */
function arrow(part, x, y, width) {
  const [from, to] = [x(part.from), x(part.to)];
  const self = from === to;
  const end = self ? from + 40 : to;
  const tip = self || end < from ? 1 : -1;
  const shape = part.lost
    ? draw("path", { d: `M${end - 5 + tip * 8},${y - 5} l10,10 m0,-10 l-10,10`, class: "tip" })
    : draw("path", { d: `M${self ? from : end},${y} l${tip * 8},-4 v8 z`, class: "head" });
  return [draw("line", { x1: from, x2: end, y1: y, y2: y, class: part.lost ? "arrow lost" : "arrow" }), shape,
    self ? label(part, from + 46, y + 3, "start", width - from - 50) : label(part, (from + end) / 2, y - 6, "middle", Math.abs(end - from) + 60)];
}

/** @param {Note} part @param {(name: string) => number} x @param {number} y @param {number} width */
function note(part, x, y, width) {
  const at = part.node ? x(part.node) : TIME + 8;
  return [draw("circle", { cx: at, cy: y - 1, r: 3.5, class: "event" }), label(part, at + 9, y + 3, "start", width - at - 14)];
}

/** The label of a part; the type of a message opens its legend. @param {Part} part @param {number} x @param {number} y @param {string} anchor @param {number} room in pixels */
function label(part, x, y, anchor, room) {
  const mark = !part.wrong ? "" : !("from" in part) ? "✗ " : part.judged ? "✗ not sent: " : "✗ not expected: ";
  const whole = readable(part.label);
  const remark = whole.match(REMARK)?.[0] ?? "";
  const text = shorten(whole.slice(0, whole.length - remark.length), Math.max(8, Math.floor(room / LETTER) - remark.length)) + remark;
  const made = draw("text", { x, y, "text-anchor": anchor, class: "label" });
  const type = "from" in part ? part.type ?? typeIn(text) : "";
  if (!("from" in part) || !type) {
    made.append(mark + text);
    return made;
  }
  const [word] = text.split(" ", 1);
  const link = draw("tspan", { class: "type", tabindex: 0, role: "button", "aria-haspopup": "dialog", "aria-label": `${part.from} → ${part.to}: ${part.label}; what ${type} means` }, word);
  const open = (/** @type {Event} */ event) => { event.stopPropagation(); event.preventDefault(); explain(type, part.fields); };
  link.addEventListener("click", open);
  link.addEventListener("keydown", (event) => { if (["Enter", " "].includes(/** @type {KeyboardEvent} */ (event).key)) open(event); });
  made.append(mark, link, text.slice(word.length));
  return made;
}
