// Compare: one noisy input, every method, sorted by the estimated remaining error.

import { color, drawLines, element, short } from "./draw.js";
import { jobForm } from "./picker.js";
import { facts, file, imageGrid, picture } from "./results.js";

const holder = document.getElementById("compare-result");
let redrawn = [];

export const start = (options) => jobForm("compare", options, "or drop a noisy picture, signal or table here", show);

async function show(job) {
  const { entries, sigma, resolution, view } = job.result;
  const error = (risk) => (risk < resolution ? `under ${short(Math.sqrt(resolution))}` : short(Math.sqrt(risk)));
  const head = ["Method", "Estimated error", "Share of the noise left", "Seconds", "Settings"];
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head.map((text, k) => element("th", { textContent: text, scope: "col", className: k && k < 4 ? "number" : "" })))), element("tbody", {}, ...entries.map((entry, k) => line(entry, k, sigma, error))));
  redrawn = [];
  const answers = await Promise.all(entries.map((entry, k) => answer(job, entry, k, view, error)));
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Methods by estimated error");
  const first = element("div", { className: "card" }, facts([["Noise σ", short(sigma), "estimated"], ["Least estimated error", entries[0].method, `${error(entries[0].risk)} root mean square`]]), scroll);
  const second = element("div", { className: "card" }, element("h3", { textContent: "Side by side" }), element("div", { className: view.kind === "image" ? "gallery large" : "" }, ...answers));
  holder.replaceChildren(element("div", { className: "result" }, first, second));
  holder.hidden = false;
  redraw();
}

function line({ method, settings, risk, seconds }, place, sigma, error) {
  const cells = [method, error(risk), `${((100 * risk) / sigma ** 2).toFixed(0)} %`, seconds.toFixed(1), settings];
  return element("tr", { className: place === 0 ? "best" : "" }, ...cells.map((text, k) => element("td", { textContent: text, className: k === 0 ? "name" : k < 4 ? "number" : "" })));
}

async function answer(job, { method, settings, risk }, place, view, error) {
  const caption = element("figcaption", { textContent: `${place + 1}. ${method}${method === "Denoiser" ? ` (${settings})` : ""}, error ${error(risk)}` });
  if (view.kind === "image") return element("figure", {}, picture(job, `${place}.png`, `Result of ${method}`), caption);
  const values = await file(job, `${place}.f32`);
  if (view.kind === "images") return element("figure", {}, imageGrid(values, view.shape, view.count, method), caption);
  const canvas = element("canvas", { className: "wide" });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Result of ${method}`);
  redrawn.push(() => drawLines(canvas, [values.subarray(0, view.length)], { styles: [{ stroke: color("accent") }], zero: true }));
  return element("figure", {}, canvas, caption);
}

export const redraw = () => redrawn.forEach((draw) => draw());
