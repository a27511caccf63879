// Explore: the plane of codes, the pre-image under the pointer, sliders, walks, and pictures of components.

import { Desk, file, request } from "./api.js";
import { labelled, showComponents } from "./components.js";
import { COLORS, SHAPES, drawRow, element, marker, planeScale, short } from "./draw.js";
import { Picker } from "./picker.js";
import { Scatter } from "./scatter.js";

const STEPS = 9; // pictures of a walk
const NEAR = 1.5, FAR = 3; // distances to the data, in units of the spacing of its rows
const REST = 120; // milliseconds that the pointer rests before the nearest row is fetched

const $ = (id) => document.getElementById(id);
const form = $("explore-form");

let picker, desk, plot, model = null, sliders = [], decoding = false, wanted = null, resting = null;

export async function start(options) {
  fill(form.kernel, options.kernels);
  fill(form.method, options.methods);
  plot = new Scatter($("plane"));
  desk = new Desk("explore", $("explore-status"), ready);
  picker = new Picker(form.querySelector(".picker"), { datasets: options.datasets, largest: options.largest, words: "or drop a table, array, model or pictures", report: (error) => desk.fail(error) });
  listen();
  const before = await desk.resume();
  if (before) restore(before);
  else if (options.given) picker.adopt(options.given);
}

// The first model is fitted when the page is first shown.
export function opened() {
  if (!model && !desk.job) fit();
}

const fill = (select, names) => select.replaceChildren(...names.map((name) => element("option", { value: name, textContent: name.replaceAll("_", " ") })));

function listen() {
  picker.addEventListener("change", fit);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["kernel", "method", "components", "shape", "scale"]) form[name].addEventListener("change", fit);
  form.scale.addEventListener("input", sayScale);
  for (const axis of ["axis-x", "axis-y"]) $(axis).addEventListener("change", choosePair);
  $("zoom-in").addEventListener("click", () => model && plot.zoom(1 / 1.4));
  $("zoom-out").addEventListener("click", () => model && plot.zoom(1.4));
  $("zoom-reset").addEventListener("click", () => model && plot.whole());
  $("sliders-zero").addEventListener("click", () => setSliders(null));
  $("sliders-nearest").addEventListener("click", () => setSliders(plot.nearest()));
  $("set-a").addEventListener("click", () => setEnd(0, pointerCode()));
  $("set-b").addEventListener("click", () => setEnd(1, pointerCode()));
  $("walk").addEventListener("click", walk);
  plot.addEventListener("point", decodeSoon);
  plot.addEventListener("end", ({ detail }) => setEnd(detail, pointerCode()));
  plot.addEventListener("pick", pick);
}

const scale = () => 2 ** Number(form.scale.value);

function sayScale() {
  form["scale-shown"].value = `${short(scale())} ×`;
}

function details() {
  const shape = form.shape.value.split(/[^0-9]+/).filter(Boolean).map(Number);
  const own = { kernel: form.kernel.value, scale: scale(), method: form.method.value, components: Number(form.components.value) || 8 };
  return { ...picker.chosen, ...own, ...(shape.length > 1 ? { shape } : {}) };
}

function restore(before) {
  picker.restore(before);
  for (const name of ["kernel", "method", "components"]) form[name].value = before[name];
  form.scale.value = Math.log2(before.scale);
  form.shape.value = (before.shape || []).join(" × ");
  sayScale();
}

const fit = () => desk.start(details());

async function ready(job) {
  const { result } = job;
  const codes = await file(job, "codes.f32");
  const labels = result.classes ? await file(job, "labels.u8", "bytes") : null;
  const extra = Object.fromEntries(await Promise.all(result.files.map(async (name) => [name, await file(job, `${name}.f32`)])));
  const same = model && model.result.components === result.components && model.result.data.name === result.data.name;
  model = { job, result, codes, labels, ...extra };
  if (result.grid) model.points = { values: extra.points, place: (width, height) => planeScale(result.grid, width, height) };
  if (!same) plot.ends = [null, null];
  fillAxes(same);
  makeSliders();
  drawLegend();
  $("explore-more").hidden = false;
  $("strip").replaceChildren();
  showWalkButton();
  showComponents(model);
  choosePair();
}

function fillAxes(same) {
  const pair = same ? [$("axis-x").value, $("axis-y").value] : [0, Math.min(1, model.result.components - 1)];
  ["axis-x", "axis-y"].forEach((id, number) => {
    const options = model.result.shares.map((share, k) => element("option", { value: k, textContent: `${k + 1} (${(100 * share).toFixed(1)} %)` }));
    $(id).replaceChildren(...options);
    $(id).value = pair[number];
  });
}

function choosePair() {
  if (!model) return;
  const pair = [Number($("axis-x").value), Number($("axis-y").value)];
  plot.show(model.codes, model.result.components, model.labels, pair);
  for (const { axis, row } of sliders) row.hidden = pair.includes(axis);
  decodeSoon();
}

function makeSliders() {
  sliders = model.result.deviations.map((deviation, axis) => {
    const input = element("input", { type: "range", min: -3, max: 3, step: 0.05, value: 0 });
    const output = element("output", { textContent: "0" });
    input.addEventListener("input", () => {
      output.textContent = Number(input.value).toFixed(1);
      decodeSoon();
    });
    const row = element("label", { className: "slider" }, element("span", { textContent: `component ${axis + 1}` }), input, output);
    return { axis, deviation, input, output, row };
  });
  $("sliders").replaceChildren(...sliders.map(({ row }) => row));
}

function setSliders(row) {
  if (!model) return;
  const code = row === null ? null : plot.full(row);
  for (const { axis, deviation, input, output } of sliders) {
    input.value = code ? code[axis] / (deviation || 1) : 0;
    output.textContent = Number(input.value).toFixed(1);
  }
  if (code) plot.point(...plot.code(row));
  else decodeSoon();
}

function pointerCode() {
  const code = sliders.map(({ input, deviation }) => Number(input.value) * deviation);
  plot.pair.forEach((axis, place) => (code[axis] = plot.pointer[place]));
  return code;
}

const decode = (codes) => request(`api/jobs/${model.job.id}/decode`, { json: { codes }, as: "floats" });

// One request at a time: while one is under way, only the last position of the pointer is kept.
async function decodeSoon() {
  if (!model) return;
  wanted = pointerCode();
  clearTimeout(resting);
  resting = setTimeout(showNearest, REST);
  if (decoding) return;
  decoding = true;
  try {
    while (wanted) {
      const [code, used] = [wanted, model];
      wanted = null;
      const answer = await decode([code]);
      if (used === model) showDecoded(code, answer);
    }
  } catch (error) {
    desk.fail(error);
  } finally {
    decoding = false;
  }
}

function showDecoded(code, answer) {
  const distance = answer[answer.length - 1], { data } = model.result;
  drawRow($("decoded"), answer.subarray(0, answer.length - 1), data, model.points);
  const words = distance < NEAR ? "near the data" : distance < FAR ? "a bit away from the data" : "far from the data: do not trust it";
  $("trust-words").textContent = `${short(distance)} × the usual spacing: ${words}.`;
  document.querySelector(".needle").style.left = `${Math.min(100, (100 * distance) / (1.3 * FAR))}%`;
  $("code-words").textContent = `Code ${plot.pair.map((axis) => `${axis + 1}: ${short(code[axis])}`).join(", ")}. ${data.kind === "plane" ? `Point (${short(answer[0])}, ${short(answer[1])}).` : ""}`;
  $("decoded").dataset.answers = Number($("decoded").dataset.answers || 0) + 1;
}

async function showNearest() {
  const row = plot.nearest(), used = model;
  if (row === null) return;
  try {
    const values = await request(`api/jobs/${used.job.id}/row`, { json: { number: row }, as: "floats" });
    if (used !== model) return;
    drawRow($("nearest"), values, model.result.data, model.points);
    $("nearest-words").textContent = `Row ${row + 1} of ${plot.rows}${model.labels ? `, ${model.result.data.label} ${model.labels[row]}` : ""}`;
  } catch (error) {
    desk.fail(error);
  }
}

function drawLegend() {
  if (!model.result.classes || model.result.classes > SHAPES.length) return $("legend").replaceChildren();
  const entries = Array.from({ length: model.result.classes }, (_, label) => {
    const canvas = element("canvas", { width: 24, height: 24 });
    canvas.style.width = canvas.style.height = "12px";
    canvas.setAttribute("aria-hidden", "true");
    const context = canvas.getContext("2d");
    context.fillStyle = COLORS[label % COLORS.length];
    marker(context, SHAPES[label], 12, 12, 8);
    return element("span", {}, canvas, String(label));
  });
  $("legend").replaceChildren(`${model.result.data.label}:`, ...entries);
}

// A click on a dot sets the start of a walk, the next click its end.
function pick() {
  const row = plot.nearest();
  if (row === null) return;
  setEnd(plot.ends[0] && !plot.ends[1] ? 1 : 0, Array.from(plot.full(row)));
}

function setEnd(number, code) {
  if (!model) return;
  if (number === 0 && plot.ends[1]) plot.ends[1] = null;
  plot.ends[number] = code;
  showWalkButton();
  plot.drawPointer();
}

const showWalkButton = () => ($("walk").disabled = !(plot.ends[0] && plot.ends[1]));

async function walk() {
  const [from, to] = plot.ends, { data } = model.result;
  const codes = Array.from({ length: STEPS }, (_, k) => from.map((value, axis) => value + ((to[axis] - value) * k) / (STEPS - 1)));
  try {
    const answer = await decode(codes), d = answer.length / STEPS - 1;
    const pictures = codes.map((_, k) => labelled(`Step ${k + 1} of ${STEPS}`));
    $("strip").replaceChildren(...pictures);
    pictures.forEach((canvas, k) => drawRow(canvas, answer.subarray(k * (d + 1), k * (d + 1) + d), data, model.points));
  } catch (error) {
    desk.fail(error);
  }
}

// Draw again after the theme or the size of the page has changed.
export function redraw() {
  if (!model) return;
  plot.draw();
  if (model.result.data.kind !== "image") showComponents(model);
  decodeSoon();
}
