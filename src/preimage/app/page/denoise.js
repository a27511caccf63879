// Denoise: a file, what was removed from it, and how to do the same elsewhere.

import { Desk } from "./api.js";
import { element, short } from "./draw.js";
import { Picker } from "./picker.js";
import { codeBlock, curtain, facts, file, fileAddress, imageGrid, lineGrid, picture } from "./results.js";

const form = document.getElementById("denoise-form"), holder = document.getElementById("denoise-result");
let desk, picker, draw = null;

export async function start(options) {
  desk = new Desk("denoise", document.getElementById("denoise-status"), show);
  picker = new Picker(form.querySelector(".picker"), { datasets: [], largest: options.largest, words: "Drop a picture, a signal, a table or a folder of pictures here", report: (error) => desk.fail(error) });
  picker.addEventListener("change", () => (form.querySelector(".primary").disabled = false));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (picker.chosen) {
      holder.hidden = true;
      desk.start(details());
    }
  });
  const before = await desk.resume();
  if (before) {
    picker.restore(before);
    form.effort.value = before.effort;
    form.querySelector(".primary").disabled = false;
  }
}

function details() {
  const noise = form.noise.value ? { noise: Number(form.noise.value) } : {};
  return { ...picker.chosen, effort: form.effort.value, ...noise };
}

async function show(job) {
  const { result } = job, card = element("div", { className: "card" }), parts = await view(job);
  const download = element("a", { className: "button primary", href: `${fileAddress(job, result.output)}?download=true`, download: result.output, textContent: `Download ${result.output}` });
  card.append(told(result), ...parts, element("p", {}, download));
  const same = element("div", { className: "card" }, codeBlock("The same in Python", result.python), codeBlock("The same on the command line", result.command));
  holder.replaceChildren(element("div", { className: "result" }, card, same));
  holder.hidden = false;
  draw?.();
}

function told({ words, noise, remaining, removed, view }) {
  const error = remaining === null ? null : Math.sqrt(remaining);
  const meaning = view.kind === "image" && remaining > 0 ? `about ${(-10 * Math.log10(remaining)).toFixed(1)} dB PSNR` : noise.sigmas ? "in standard deviations of the columns" : "root mean square, by Stein's formula";
  const found = facts([
    ["Noise σ", ...level(noise)],
    error === null ? null : ["Estimated error", error > 0 ? short(error) : "too small to tell", meaning],
    ["Removed", short(removed), "root mean square"],
  ]);
  return noise.sigmas || !removed ? element("div", {}, found, element("p", { textContent: `${words}.` })) : found;
}

// The noise level and how sure it is: one number, one per column, or another law in words.
function level({ law, sigma, sigmas, interval }) {
  if (sigmas) return [`${short(sigmas[0])} to ${short(sigmas[1])}`, "one per column"];
  if (sigma === null) return [law];
  return [short(sigma), interval ? `95 % interval ${short(interval[0])} to ${short(interval[1])}` : "as given"];
}

async function view(job) {
  const { view: shown } = job.result;
  draw = null;
  if (shown.kind === "image") {
    const residual = element("figure", {}, picture(job, "residual.png", "What was removed"), element("figcaption", { textContent: `What was removed: white +${short(shown.residual)}, black −${short(shown.residual)}. Structure here would be lost detail.` }));
    const figure = element("div", { className: "gallery large" }, residual);
    return [curtain(fileAddress(job, "before.png"), fileAddress(job, "after.png"), shown.width, shown.height), element("h3", { textContent: "Residual" }), figure];
  }
  const [before, after] = await Promise.all([file(job, "before.f32"), file(job, "after.f32")]);
  if (shown.kind === "images") return ["Before", "After"].flatMap((title, k) => [element("h3", { textContent: title }), imageGrid([before, after][k], shown.shape, shown.count, title)]);
  const lines = lineGrid(before, after, shown.names, shown.length);
  const removed = before.map((value, at) => value - after[at]);
  const rest = lineGrid(removed, removed, shown.names.slice(0, 1), shown.length, "what was removed");
  draw = () => [lines, rest].forEach((grid) => grid.draw());
  return [lines.holder, element("h3", { textContent: "Residual" }), rest.holder];
}

export const redraw = () => draw?.();
