// The plane of codes: up to hundreds of thousands of dots below, and the pointer above them.

import { COLORS, SHAPES, color, marker, prepared } from "./draw.js";

const FEW = 6000; // the most dots drawn as markers; more are drawn as pixels
const CELLS = 64; // along a side of the lattice for the search of the nearest dot
const STEP = 0.02; // share of the view by which an arrow key moves the pointer

export class Scatter extends EventTarget {
  constructor(holder) {
    super();
    this.dots = holder.querySelector(".dots");
    this.top = holder.querySelector(".pointer");
    this.codes = null;
    this.ends = [null, null];
    this.top.addEventListener("pointermove", (event) => this.moved(event));
    this.top.addEventListener("pointerdown", (event) => this.pressed(event));
    this.top.addEventListener("pointerup", (event) => this.released(event));
    this.top.addEventListener("pointercancel", () => (this.drag = null));
    this.top.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    this.top.addEventListener("dblclick", () => this.whole());
    this.top.addEventListener("keydown", (event) => this.typed(event));
    new ResizeObserver(() => this.draw()).observe(holder);
  }

  // Codes in rows of q numbers, classes or null, and the two components to draw.
  show(codes, q, labels, pair) {
    const kept = this.codes === codes && this.pair?.join() === pair.join();
    Object.assign(this, { codes, q, labels, pair, rows: codes.length / q });
    if (!kept) {
      this.ranges = pair.map((axis) => range(codes, q, axis));
      this.cells = lattice(this);
      this.pointer = this.ranges.map(([low, high]) => (low + high) / 2);
      this.view = this.ranges.map(([low, high]) => [low - 0.05 * (high - low), high + 0.05 * (high - low)]);
    }
    this.draw();
  }

  whole() {
    this.view = this.ranges.map(([low, high]) => [low - 0.05 * (high - low), high + 0.05 * (high - low)]);
    this.draw();
  }

  zoom(factor, center = this.pointer) {
    this.view = this.view.map(([low, high], axis) => [center[axis] + (low - center[axis]) * factor, center[axis] + (high - center[axis]) * factor]);
    this.draw();
  }

  place(x, y, width, height) {
    const [[left, right], [bottom, top]] = this.view;
    return [((x - left) / (right - left)) * width, height - ((y - bottom) / (top - bottom)) * height];
  }

  draw() {
    if (!this.codes || !this.dots.getBoundingClientRect().width) return;
    const surface = prepared(this.dots);
    (this.rows <= FEW ? drawMarkers : drawPixels)(this, surface);
    this.drawPointer();
  }

  drawPointer() {
    const { context, width, height } = prepared(this.top);
    if (!this.codes) return;
    const [x, y] = this.place(...this.pointer, width, height);
    context.strokeStyle = color("ink");
    context.globalAlpha = 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.globalAlpha = 1;
    this.drawEnds(context, width, height);
    const near = this.nearest();
    if (near === null) return;
    context.lineWidth = 2;
    context.strokeStyle = color("ink");
    context.beginPath();
    context.arc(...this.place(...this.code(near), width, height), 8, 0, 7);
    context.stroke();
  }

  drawEnds(context, width, height) {
    const places = this.ends.map((end) => end && this.place(...this.pair.map((axis) => end[axis]), width, height));
    if (places[0] && places[1]) {
      context.lineWidth = 2;
      context.setLineDash([5, 4]);
      context.beginPath();
      context.moveTo(...places[0]);
      context.lineTo(...places[1]);
      context.stroke();
      context.setLineDash([]);
    }
    places.forEach((place, number) => {
      if (!place) return;
      context.fillStyle = color("accent");
      context.beginPath();
      context.arc(...place, 11, 0, 7);
      context.fill();
      Object.assign(context, { fillStyle: color("on-accent"), font: "600 13px system-ui, sans-serif", textAlign: "center", textBaseline: "middle" });
      context.fillText("AB"[number], ...place);
    });
  }

  code(row) {
    return this.pair.map((axis) => this.codes[row * this.q + axis]);
  }

  full(row) {
    return this.codes.slice(row * this.q, (row + 1) * this.q);
  }

  // The dot nearest to the pointer among those in its cell and the cells around it, else null.
  nearest() {
    const scale = this.view.map(([low, high]) => high - low);
    let best = null, least = Infinity;
    for (const row of this.cells.around(...this.pointer)) {
      const [x, y] = this.code(row);
      const distance = ((x - this.pointer[0]) / scale[0]) ** 2 + ((y - this.pointer[1]) / scale[1]) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  point(x, y) {
    this.pointer = [x, y];
    this.drawPointer();
    this.dispatchEvent(new Event("point"));
  }

  moved(event) {
    if (!this.codes) return;
    if (this.drag && event.pointerType === "mouse") {
      const { width, height } = this.top.getBoundingClientRect();
      const shift = [-(event.offsetX - this.drag.x) / width, (event.offsetY - this.drag.y) / height];
      this.drag.moved ||= Math.hypot(event.offsetX - this.drag.x, event.offsetY - this.drag.y) > 4;
      if (this.drag.moved) {
        this.view = this.drag.view.map(([low, high], axis) => [low + shift[axis] * (high - low), high + shift[axis] * (high - low)]);
        this.draw();
      }
      return;
    }
    this.point(...this.located(event));
  }

  located(event) {
    const { width, height } = this.top.getBoundingClientRect();
    const [[left, right], [bottom, top]] = this.view;
    return [left + (event.offsetX / width) * (right - left), top - (event.offsetY / height) * (top - bottom)];
  }

  pressed(event) {
    if (!this.codes) return;
    this.top.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, y: event.offsetY, view: this.view, moved: false };
    this.point(...this.located(event));
  }

  released() {
    if (this.drag && !this.drag.moved) this.dispatchEvent(new Event("pick"));
    this.drag = null;
  }

  wheeled(event) {
    if (!this.codes) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, this.located(event));
  }

  typed(event) {
    if (!this.codes) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const keys = { "+": () => this.zoom(1 / 1.3), "=": () => this.zoom(1 / 1.3), "-": () => this.zoom(1.3), a: () => this.end(0), b: () => this.end(1) };
    if (moves[event.key]) {
      const size = this.view.map(([low, high]) => (high - low) * STEP * (event.shiftKey ? 5 : 1));
      this.point(...this.pointer.map((value, axis) => value + moves[event.key][axis] * size[axis]));
    } else if (keys[event.key.toLowerCase()] && !event.ctrlKey && !event.metaKey) keys[event.key.toLowerCase()]();
    else return;
    event.preventDefault();
  }

  end(number) {
    this.dispatchEvent(new CustomEvent("end", { detail: number }));
  }
}

function drawMarkers(plot, { context, width, height }) {
  const size = plot.rows < 500 ? 4.5 : 3;
  context.globalAlpha = plot.rows < 500 ? 0.9 : 0.7;
  for (let row = 0; row < plot.rows; row++) {
    const label = plot.labels ? plot.labels[row] : 0;
    context.fillStyle = COLORS[label % COLORS.length];
    marker(context, SHAPES[label % SHAPES.length], ...plot.place(...plot.code(row), width, height), size);
  }
}

function drawPixels(plot, { context, width, height, ratio }) {
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  const pixels = context.createImageData(across, down), data = new Uint32Array(pixels.data.buffer);
  const side = Math.max(1, Math.round((plot.rows > 50000 ? 1 : 2) * ratio));
  const inks = COLORS.map((hex) => (0xff << 24) | (parseInt(hex.slice(5, 7), 16) << 16) | (parseInt(hex.slice(3, 5), 16) << 8) | parseInt(hex.slice(1, 3), 16));
  const [[left, right], [bottom, top]] = plot.view, [a, b] = plot.pair;
  for (let row = 0; row < plot.rows; row++) {
    const x = Math.round(((plot.codes[row * plot.q + a] - left) / (right - left)) * across);
    const y = Math.round(down - ((plot.codes[row * plot.q + b] - bottom) / (top - bottom)) * down);
    if (x < 0 || y < 0 || x + side > across || y + side > down) continue;
    const ink = inks[plot.labels ? plot.labels[row] % inks.length : 0];
    for (let v = 0; v < side; v++) for (let u = 0; u < side; u++) data[(y + v) * across + x + u] = ink;
  }
  context.putImageData(pixels, 0, 0);
}

function range(codes, q, axis) {
  let low = Infinity, high = -Infinity;
  for (let at = axis; at < codes.length; at += q) {
    if (codes[at] < low) low = codes[at];
    if (codes[at] > high) high = codes[at];
  }
  return high > low ? [low, high] : [low - 1, low + 1];
}

// Rows by their cell of the plane, so that each move looks at few of them.
function lattice(plot) {
  const [[left, right], [bottom, top]] = plot.ranges;
  const cell = (value, low, high) => Math.max(0, Math.min(CELLS - 1, Math.floor(((value - low) / (high - low)) * CELLS)));
  const rows = Array.from({ length: CELLS * CELLS }, () => []);
  for (let row = 0; row < plot.rows; row++) {
    const [x, y] = plot.code(row);
    rows[cell(y, bottom, top) * CELLS + cell(x, left, right)].push(row);
  }
  return {
    *around(x, y) {
      const [i, j] = [cell(x, left, right), cell(y, bottom, top)];
      for (let reach = 1; reach <= CELLS; reach *= 4) {
        let some = false;
        for (let v = Math.max(0, j - reach); v <= Math.min(CELLS - 1, j + reach); v++) {
          for (let u = Math.max(0, i - reach); u <= Math.min(CELLS - 1, i + reach); u++) {
            for (const row of rows[v * CELLS + u]) {
              some = true;
              yield row;
            }
          }
        }
        if (some) return;
      }
    },
  };
}
