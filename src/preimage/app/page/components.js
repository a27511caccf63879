// Pictures of the components.

import { drawContours, drawRow, element } from "./draw.js";

// Contour lines of the components for data of two columns, else pre-images on both sides of the mean along each axis.
export function showComponents(model) {
  const { result } = model, { data } = result;
  const plane = data.kind === "plane";
  document.getElementById("components-words").textContent = plane
    ? `Each component is a function of the point: contour lines of the first ${result.pictured}. Kernel: ${result.kernel}.`
    : `Pre-images two standard deviations below and above the mean along each axis. Kernel: ${result.kernel}.`;
  const figures = Array.from({ length: result.pictured }, (_, k) => (plane ? contourFigure(model, k) : axisFigure(model, k)));
  document.getElementById("component-pictures").replaceChildren(...figures.map(({ figure }) => figure));
  for (const { draw } of figures) draw();
}

function contourFigure(model, k) {
  const { grid } = model.result, canvas = labelled(`Contour lines of component ${k + 1}`), cells = grid.side ** 2;
  const figure = element("figure", {}, canvas, element("figcaption", { textContent: caption(model, k) }));
  return { figure, draw: () => drawContours(canvas, model.contours.subarray(k * cells, (k + 1) * cells), grid.side, grid, model.points.values, model.labels) };
}

function axisFigure(model, k) {
  const { data, pictured } = model.result, d = data.columns;
  const pair = ["below", "above"].map((side) => labelled(`Component ${k + 1}, ${side} the mean`));
  const figure = element("figure", {}, element("div", { className: "pair" }, ...pair), element("figcaption", { textContent: caption(model, k) }));
  const draw = () => pair.forEach((canvas, side) => {
    const at = (side ? k : k + pictured) * d;
    drawRow(canvas, model.axes.subarray(at, at + d), data);
  });
  return { figure, draw };
}

const caption = (model, k) => `Component ${k + 1}: ${(100 * model.result.shares[k]).toFixed(1)} % of the variance`;

export function labelled(text) {
  const canvas = element("canvas", { width: 72, height: 72 });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", text);
  return canvas;
}
