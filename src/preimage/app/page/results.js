// Parts of results that several pages show.

import { file, fileAddress } from "./api.js";
import { color, drawImage, drawLines, element } from "./draw.js";

export function facts(entries) {
  return element("dl", { className: "facts" }, ...entries.filter(Boolean).map(([name, value, more]) => element("div", {}, element("dt", { textContent: name }), element("dd", {}, value, ...(more ? [element("small", { textContent: more })] : [])))));
}

export function codeBlock(title, text) {
  const copy = element("button", { type: "button", className: "quiet", textContent: "Copy" });
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
  });
  copy.setAttribute("aria-label", `Copy: ${title}`);
  const block = element("pre", { textContent: text, tabIndex: 0 });
  block.setAttribute("aria-label", title);
  block.setAttribute("role", "region");
  return element("div", {}, element("div", { className: "code-head" }, element("h3", { textContent: title }), copy), block);
}

// Two pictures, one over the other, with an edge that a slider moves.
export function curtain(before, after, width, height) {
  const [lower, upper] = [element("img", { src: before, alt: "Before" }), element("img", { src: after, alt: "After", className: "after" })];
  const edge = element("div", { className: "edge" });
  const holder = element("div", { className: "curtain" }, lower, upper, element("span", { className: "left", textContent: "before" }), element("span", { className: "right", textContent: "after" }), edge);
  holder.style.aspectRatio = `${width} / ${height}`;
  const slider = element("input", { type: "range", min: 0, max: 100, value: 50, className: "mark" });
  slider.setAttribute("aria-label", "Edge between before and after");
  const move = () => {
    upper.style.clipPath = `inset(0 0 0 ${slider.value}%)`;
    edge.style.left = `${slider.value}%`;
  };
  slider.addEventListener("input", move);
  holder.addEventListener("pointermove", (event) => {
    slider.value = (100 * event.offsetX) / holder.clientWidth;
    move();
  });
  move();
  return element("div", {}, holder, slider);
}

const canvasFor = (text, className) => {
  const canvas = element("canvas", { className, width: 72, height: 72 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", text);
  return canvas;
};

// Pictures of rows.
export function imageGrid(values, shape, count, title) {
  const size = shape.reduce((a, b) => a * b, 1);
  const canvases = Array.from({ length: count }, (_, k) => canvasFor(`${title}, picture ${k + 1}`));
  let low = Infinity, high = -Infinity;
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  canvases.forEach((canvas, k) => drawImage(canvas, values.subarray(k * size, (k + 1) * size), shape, Math.min(0, low), Math.max(1, high)));
  return element("div", { className: "strip" }, ...canvases);
}

export function lineGrid(before, after, names, length, words = "thin grey before, thick blue after") {
  const canvases = names.map((name) => canvasFor(`${name}, before and after`, "wide"));
  const draw = () => canvases.forEach((canvas, k) => {
    const lines = [before, after].map((values) => values.subarray(k * length, (k + 1) * length));
    drawLines(canvas, lines, { styles: [{ stroke: color("soft"), thickness: 1 }, { stroke: color("accent"), thickness: 2 }], zero: true });
  });
  const blocks = names.flatMap((name, k) => [element("p", { className: "hint", textContent: `${name}: ${words}` }), canvases[k]]);
  return { holder: element("div", {}, ...blocks), draw };
}

export const picture = (job, name, alt) => element("img", { src: fileAddress(job, name), alt });

export { file, fileAddress };
