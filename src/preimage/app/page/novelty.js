// Novelty: rows by their distance to the subspace of the others, and the entries that explain it.

import { file } from "./api.js";
import { drawRow, element, short } from "./draw.js";
import { jobForm } from "./picker.js";

const holder = document.getElementById("novelty-result");
let draws = [];

export const start = (options) => jobForm("novelty", options, "or drop a table, an array or pictures here", show);

async function show(job) {
  const { rows, data } = job.result;
  draws = [];
  const drawn = ["image", "signal"].includes(data.kind);
  const [values, expected] = drawn ? await Promise.all([file(job, "values.f32"), file(job, "expected.f32")]) : [];
  const head = ["Rank", "Row", "Distance", drawn ? "Row and what was expected" : "Entries that explain it"];
  const lines = rows.map((one, k) => line(one, k, rows[0].times, drawn ? pair(values, expected, k, data) : one.entries.map(entry)));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { textContent: text, scope: "col" })))), element("tbody", {}, ...lines));
  const scroll = element("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Rows by novelty");
  const words = `The ${rows.length} most unusual of ${data.rows} rows of ${data.name}. The distance is in units of the median row's; each row is scored by a model that has not seen it.`;
  holder.replaceChildren(element("div", { className: "result" }, element("div", { className: "card" }, element("p", { className: "hint", textContent: words }), scroll)));
  holder.hidden = false;
  redraw();
}

function line({ row, times }, place, most, last) {
  const bar = element("span", { className: "bar" });
  bar.style.width = `${Math.max(2, (70 * times) / most)}px`;
  return element("tr", {}, element("td", { textContent: place + 1 }), element("td", { textContent: row }), element("td", { className: "distance" }, bar, `${short(times)} ×`), element("td", { className: "entries" }, ...last));
}

const entry = ({ column, value, expected, share }) => element("span", { className: "entry", textContent: `${column}: ${short(value)}, expected ${short(expected)} (${(100 * share).toFixed(0)} %)` });

function pair(values, expected, place, data) {
  const canvases = [values, expected].map((rows, side) => {
    const canvas = element("canvas", { width: 72, height: 72 });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", side ? "What was expected" : "The row");
    draws.push(() => drawRow(canvas, rows.subarray(place * data.columns, (place + 1) * data.columns), data));
    return canvas;
  });
  return [element("div", { className: "strip" }, ...canvases)];
}

export const redraw = () => draws.forEach((draw) => draw());
