// A time line of a run: a lane for each node, a mark for each moment, a line for each message. Ten thousand moments stay fluid.
import { namesOf } from "./graph.js";

/** @typedef {import("./run_view.js").Run} Run */

const LABELS = 120;

export class TimeLine {
  /** @param {HTMLCanvasElement} canvas @param {Run} run @param {(moment: number) => void} go */
  constructor(canvas, run, go) {
    this.canvas = canvas;
    this.run = run;
    this.at = 0;
    this.lanes = new Map(run.nodes.map((name, index) => [name, index]));
    const timed = run.moments.length > 1 && run.moments.every((moment) => moment.at !== null)
      && run.moments[0].at !== run.moments[run.moments.length - 1].at;
    this.times = Float64Array.from(run.moments, (moment, index) => (timed ? Number(moment.at) : index));
    this.separateMoments();
    this.least = this.times.length ? this.times.reduce((one, other) => Math.min(one, other)) : 0;
    this.most = this.times.length ? this.times.reduce((one, other) => Math.max(one, other)) : 1;
    if (this.most === this.least) this.most = this.least + 1;
    this.from = this.least;
    this.to = this.most;
    this.lane = Math.max(6, Math.min(22, 480 / Math.max(1, run.nodes.length)));
    this.height = Math.ceil(this.lane * (run.nodes.length + 1));
    this.layer = document.createElement("canvas");
    canvas.onclick = (event) => go(this.nearest(event.offsetX));
    canvas.onwheel = (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, event.offsetX);
    };
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Draws moments of the same time beside each other. */
  separateMoments() {
    for (let first = 0; first < this.times.length;) {
      let next = first + 1;
      while (next < this.times.length && this.times[next] === this.times[first]) next++;
      const gap = next < this.times.length ? this.times[next] - this.times[first] : 1;
      for (let index = first; index < next; index++) this.times[index] += (gap * 0.8 * (index - first)) / (next - first);
      first = next;
    }
  }

  /** @param {number} moment */
  select(moment) {
    this.at = Math.max(0, moment);
    const time = this.times[this.at];
    if (time < this.from || time > this.to) this.show(time - (this.to - this.from) / 2, time + (this.to - this.from) / 2);
    else this.mark();
  }

  /** @param {number} factor @param {number} [at] where it stays, in pixels */
  zoom(factor, at) {
    const middle = at === undefined ? this.times[this.at] : this.timeAt(at);
    this.show(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
  }

  whole() {
    this.show(this.least, this.most);
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    const width = Math.min(Math.max(to - from, (this.most - this.least) / 10000), this.most - this.least);
    this.from = Math.min(Math.max(from, this.least), this.most - width);
    this.to = this.from + width;
    this.draw();
  }

  get width() {
    return this.canvas.clientWidth || 600;
  }

  get left() {
    return this.width > 500 ? LABELS : 70;
  }

  /** @param {number} time */
  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * (this.width - this.left - 12);
  }

  /** @param {number} x */
  timeAt(x) {
    return this.from + ((x - this.left) / (this.width - this.left - 12)) * (this.to - this.from);
  }

  /** @param {number} x */
  nearest(x) {
    const time = this.timeAt(x);
    let best = 0;
    for (let index = 1; index < this.times.length; index++) {
      if (Math.abs(this.times[index] - time) < Math.abs(this.times[best] - time)) best = index;
    }
    return best;
  }

  /** @param {string} name */
  y(name) {
    return ((this.lanes.get(name) ?? 0) + 1) * this.lane;
  }

  /** Draws all but the mark of the selected moment, which changes more often. */
  draw() {
    const scale = devicePixelRatio || 1;
    const [width, height] = [this.width, this.height];
    this.canvas.style.setProperty("height", `${height}px`);
    for (const one of [this.canvas, this.layer]) [one.width, one.height] = [width * scale, height * scale];
    const pen = /** @type {CanvasRenderingContext2D} */ (this.layer.getContext("2d"));
    const style = getComputedStyle(this.canvas);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.font = `${Math.min(12, this.lane)}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    pen.fillStyle = style.color;
    pen.strokeStyle = colour("--line");
    for (const [name] of this.lanes) {
      for (const [from, to] of this.running(name, width)) {
        pen.beginPath();
        pen.moveTo(from, this.y(name));
        pen.lineTo(to, this.y(name));
        pen.stroke();
      }
      if (this.lane >= 9) pen.fillText(name.length > 16 ? `${name.slice(0, 15)}…` : name, 2, this.y(name), this.left - 6);
    }
    pen.strokeStyle = colour("--ink");
    pen.globalAlpha = this.times.length > 2000 ? 0.35 : 0.7;
    pen.beginPath();
    this.each((moment, x) => {
      for (const part of moment.parts) {
        if (!("from" in part) || part.from === part.to) continue;
        pen.moveTo(x, this.y(part.from));
        pen.lineTo(x, this.y(part.to));
      }
    });
    pen.stroke();
    pen.globalAlpha = 1;
    this.each((moment, x) => {
      const place = moment.node || namesOf(moment.parts[0] ?? { node: "", label: "" }).at(-1) || "";
      const radius = moment.problem ? 5 : Math.min(3, this.lane / 3);
      pen.fillStyle = moment.problem ? colour("--bad") : colour("--ink");
      pen.beginPath();
      if (moment.life === "down" || moment.life === "restart") this.sign(pen, moment.life, x, this.y(place));
      else pen.arc(x, this.y(place), radius, 0, 7);
      pen.fill();
    });
    this.mark();
  }

  /** Where the lane of a node is drawn: not while the node is down. @param {string} name @param {number} width */
  running(name, width) {
    const place = (/** @type {number} */ index) => Math.min(Math.max(this.x(this.times[index]), this.left), width);
    /** @type {[number, number][]} */
    const found = [];
    let from = this.left;
    let isUp = true;
    this.run.moments.forEach((moment, index) => {
      if (moment.node !== name || !moment.life) return;
      if (moment.life === "down") found.push([from, place(index)]);
      else if (!isUp) from = place(index);
      isUp = moment.life !== "down";
    });
    return isUp ? [...found, /** @type {[number, number]} */ ([from, width])] : found;
  }

  /** A cross where a node goes down, a triangle where it starts again.
   * @param {CanvasRenderingContext2D} pen @param {string} life @param {number} x @param {number} y */
  sign(pen, life, x, y) {
    const size = Math.max(4, Math.min(7, this.lane / 3));
    if (life === "restart") {
      pen.moveTo(x - size, y - size);
      pen.lineTo(x + size, y);
      pen.lineTo(x - size, y + size);
      return;
    }
    pen.save();
    pen.strokeStyle = pen.fillStyle;
    pen.lineWidth = 2.5;
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x + size, y - size);
    pen.lineTo(x - size, y + size);
    pen.stroke();
    pen.restore();
  }

  /** @param {(moment: import("./run_view.js").Moment, x: number) => void} act */
  each(act) {
    for (let index = 0; index < this.times.length; index++) {
      const time = this.times[index];
      if (time >= this.from && time <= this.to) act(this.run.moments[index], this.x(time));
    }
  }

  mark() {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.layer.width) pen.drawImage(this.layer, 0, 0);
    const scale = devicePixelRatio || 1;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = getComputedStyle(this.canvas).getPropertyValue("--accent");
    pen.fillRect(this.x(this.times[this.at]) - 1, 0, 2, this.height);
  }
}
