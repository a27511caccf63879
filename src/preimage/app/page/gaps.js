// Gaps: paint out a part of a picture, and see it filled.

import { Desk, file, request } from "./api.js";
import { drawImage, short } from "./draw.js";
import { Picker } from "./picker.js";

const $ = (id) => document.getElementById(id);
let desk, picker, model = null, number = 0, hidden = new Set(), brush = [0, 0], filling = false, again = false;

export async function start(options) {
  desk = new Desk("gaps", $("gaps-status"), ready);
  picker = new Picker($("gaps-form").querySelector(".picker"), { datasets: options.datasets.filter(({ pictures }) => pictures), largest: options.largest, words: "or drop a folder of small grey pictures", report: (error) => desk.fail(error) });
  listen();
  const before = await desk.resume();
  if (before) picker.restore(before);
}

// The model is fitted when the page is first shown.
export function opened() {
  if (!model && !desk.job) fit();
}

const fit = () => desk.start({ ...picker.chosen });

function listen() {
  picker.addEventListener("change", fit);
  $("gaps-form").addEventListener("submit", (event) => event.preventDefault());
  const paint = $("paint");
  paint.addEventListener("pointerdown", (event) => {
    paint.setPointerCapture(event.pointerId);
    stroke(event);
  });
  paint.addEventListener("pointermove", (event) => event.buttons && stroke(event));
  paint.addEventListener("keydown", typed);
  $("unpaint").addEventListener("click", () => cover(new Set()));
  $("paint-half").addEventListener("click", () => cover(lowerHalf()));
  $("paint-next").addEventListener("click", () => turn(1));
  $("paint-previous").addEventListener("click", () => turn(-1));
}

async function ready(job) {
  model = { job, data: job.result.data, shown: job.result.shown, rows: await file(job, "rows.f32") };
  number = 0;
  $("gaps-result").hidden = false;
  cover(lowerHalf());
}

const row = () => model.rows.subarray(number * model.data.columns, (number + 1) * model.data.columns);

function lowerHalf() {
  const [height, width] = model.data.shape, from = Math.ceil(height / 2) * width;
  return new Set(Array.from({ length: height * width - from }, (_, at) => from + at));
}

function turn(step) {
  number = (number + step + model.shown) % model.shown;
  cover(hidden);
}

function stroke(event) {
  const [height, width] = model.data.shape, canvas = $("paint");
  const [x, y] = [(event.offsetX / canvas.clientWidth) * width, (event.offsetY / canvas.clientHeight) * height];
  daub(x - 0.5, y - 0.5);
}

function daub(x, y) {
  const [height, width] = model.data.shape, radius = (Number($("brush").value) * Math.min(height, width)) / 16;
  const next = new Set(hidden);
  for (let v = 0; v < height; v++) for (let u = 0; u < width; u++) if (Math.hypot(u - x, v - y) <= radius) next.add(v * width + u);
  if (next.size !== hidden.size) cover(next);
}

function typed(event) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const [height, width] = model.data.shape;
  if (moves[event.key]) {
    brush = [Math.min(width - 1, Math.max(0, brush[0] + moves[event.key][0])), Math.min(height - 1, Math.max(0, brush[1] + moves[event.key][1]))];
    draw();
  } else if (event.key === " ") daub(...brush);
  else return;
  event.preventDefault();
}

function cover(next) {
  if (!model) return;
  hidden = next;
  draw();
  fill();
}

function draw() {
  const { shape, low, high } = model.data;
  drawImage($("paint"), row(), shape, low, high, hidden);
  drawImage($("truth"), row(), shape, low, high);
  if (document.activeElement === $("paint")) {
    const context = $("paint").getContext("2d");
    context.strokeStyle = "#56B4E9";
    context.lineWidth = 0.25;
    context.strokeRect(brush[0] + 0.12, brush[1] + 0.12, 0.75, 0.75);
  }
}

// One request at a time; the last change counts.
async function fill() {
  again = true;
  if (filling) return;
  filling = true;
  try {
    while (again) {
      again = false;
      const { filled, error, error_of_mean: mean } = await request(`api/jobs/${model.job.id}/fill`, { json: { number, hidden: [...hidden] } });
      drawImage($("filled"), filled, model.data.shape, model.data.low, model.data.high);
      $("gap-words").textContent = error === null ? "Nothing is painted out yet." : `Error in the gap ${short(error)} root mean square; the mean picture has ${short(mean)}.`;
    }
  } catch (error) {
    desk.fail(error);
  } finally {
    filling = false;
  }
}

export const redraw = () => model && draw();
