// Rows of numbers on canvases: pictures, signals, tables, points of the plane.

// Okabe & Ito (2008); black is replaced by grey, which both themes show.
export const COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8A9097", "#B8A800"];
export const SHAPES = ["circle", "square", "diamond", "up", "down", "plus", "cross", "ring", "bar", "dash", "left"];

const probe = document.createElement("span");
probe.hidden = true;

export function color(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export const short = (value) => (value === null || !Number.isFinite(value) ? "–" : Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(3))));

// A canvas at the resolution of the screen, in which lengths are CSS pixels.
export function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  const [across, down] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

export function drawImage(canvas, values, shape, low = 0, high = 1, hidden = null) {
  const [height, width, channels = 1] = shape;
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(width, height);
  for (let place = 0; place < width * height; place++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = values[place * channels + (channels === 3 ? channel : 0)];
      pixels.data[4 * place + channel] = (255 * (value - low)) / (high - low || 1);
    }
    if (hidden?.has(place)) pixels.data.set([213, 94, 0], 4 * place);
    pixels.data[4 * place + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
}

export function drawLines(canvas, lines, { low = null, high = null, styles = [], zero = false } = {}) {
  const { context, width, height } = prepared(canvas);
  const all = lines.flatMap((line) => extent(line));
  const bottom = low ?? Math.min(...all), top = high ?? Math.max(...all);
  const y = (value) => height - 6 - ((value - bottom) / (top - bottom || 1)) * (height - 12);
  if (zero && bottom < 0 && top > 0) {
    context.strokeStyle = color("line");
    context.strokeRect(0, y(0), width, 0);
  }
  lines.forEach((line, number) => {
    const { stroke = color("accent"), thickness = 1.5, dash = [] } = styles[number] || {};
    Object.assign(context, { strokeStyle: stroke, lineWidth: thickness, lineJoin: "round" });
    context.setLineDash(dash);
    context.beginPath();
    for (let at = 0; at < line.length; at++) context.lineTo((at / Math.max(1, line.length - 1)) * (width - 2) + 1, y(line[at]));
    context.stroke();
  });
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

// Draw one row as its kind of data requires.
export function drawRow(canvas, values, data, points = null) {
  if (data.kind === "image") return drawImage(canvas, values, data.shape, data.low, data.high);
  if (data.kind === "signal") return drawLines(canvas, [values], { low: data.low, high: data.high, zero: true });
  if (data.kind === "plane") return drawPoint(canvas, values, points);
  return drawBars(canvas, values, data);
}

function drawPoint(canvas, [x, y], points) {
  const { context, width, height } = prepared(canvas);
  const place = points.place(width, height);
  context.fillStyle = color("soft");
  context.globalAlpha = 0.35;
  for (let at = 0; at < points.values.length; at += 2) context.fillRect(...place(points.values[at], points.values[at + 1]).map((value) => value - 1), 2, 2);
  context.globalAlpha = 1;
  const [across, down] = place(x, y);
  context.fillStyle = COLORS[4];
  context.beginPath();
  context.arc(across, down, 6, 0, 7);
  context.fill();
  context.strokeStyle = color("card");
  context.lineWidth = 2;
  context.stroke();
}

const MOST_BARS = 12;

function drawBars(canvas, values, data) {
  const { context, width, height } = prepared(canvas);
  const count = Math.min(MOST_BARS, values.length), step = height / count;
  context.font = `${Math.min(12, step - 2)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  const [low, high] = [data.low, data.high], zero = Math.min(Math.max(0, low), high);
  const x = (value) => width * (0.42 + (0.56 * (value - low)) / (high - low || 1));
  for (let at = 0; at < count; at++) {
    context.fillStyle = color("soft");
    context.fillText(data.names[at] ?? `x${at + 1}`, 4, step * (at + 0.5), width * 0.24);
    context.fillText(short(values[at]), width * 0.27, step * (at + 0.5), width * 0.14);
    context.fillStyle = color("accent");
    const [left, right] = [x(zero), x(values[at])].sort((a, b) => a - b);
    context.fillRect(left, step * at + 3, Math.max(1.5, right - left), step - 6);
  }
}

export function marker(context, shape, x, y, size) {
  const s = size;
  context.beginPath();
  if (shape === "circle" || shape === "ring") context.arc(x, y, s, 0, 7);
  else if (shape === "square") context.rect(x - 0.9 * s, y - 0.9 * s, 1.8 * s, 1.8 * s);
  else if (shape === "bar") context.rect(x - 0.45 * s, y - 1.1 * s, 0.9 * s, 2.2 * s);
  else if (shape === "dash") context.rect(x - 1.1 * s, y - 0.45 * s, 2.2 * s, 0.9 * s);
  else if (shape === "plus" || shape === "cross") {
    const turn = shape === "cross" ? Math.PI / 4 : 0, w = 0.36 * s, l = 1.2 * s;
    const corners = [[-w, -l], [w, -l], [w, -w], [l, -w], [l, w], [w, w], [w, l], [-w, l], [-w, w], [-l, w], [-l, -w], [-w, -w]];
    for (const [a, b] of corners) context.lineTo(x + a * Math.cos(turn) - b * Math.sin(turn), y + a * Math.sin(turn) + b * Math.cos(turn));
  } else {
    const turns = { diamond: [4, 0], up: [3, -Math.PI / 2], down: [3, Math.PI / 2], left: [3, Math.PI] };
    const [sides, start] = turns[shape];
    for (let k = 0; k < sides; k++) context.lineTo(x + 1.2 * s * Math.cos(start + (2 * Math.PI * k) / sides), y + 1.2 * s * Math.sin(start + (2 * Math.PI * k) / sides));
  }
  context.closePath();
  if (shape === "ring") {
    context.lineWidth = 0.6 * s;
    context.strokeStyle = context.fillStyle;
    context.stroke();
  } else context.fill();
}

// A map of a function over the plane: bands of colour, contour lines, and the data.
export function drawContours(canvas, values, side, grid, points, labels) {
  const bound = values.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-12);
  Object.assign(canvas, { width: 3 * side, height: 3 * side });
  const context = canvas.getContext("2d"), pixels = context.createImageData(3 * side, 3 * side);
  const at = (x, y) => {
    const [u, v] = [Math.min(x / 3, side - 1.001), Math.min(side - 1 - y / 3, side - 1.001)].map((value) => Math.max(0, value));
    const [i, j] = [Math.floor(u), Math.floor(v)], [a, b] = [u - i, v - j];
    return (1 - b) * ((1 - a) * values[j * side + i] + a * values[j * side + i + 1]) + b * ((1 - a) * values[(j + 1) * side + i] + a * values[(j + 1) * side + i + 1]);
  };
  const band = (x, y) => Math.floor((7 * (at(x, y) + bound)) / (2 * bound + 1e-12));
  for (let y = 0; y < 3 * side; y++) {
    for (let x = 0; x < 3 * side; x++) {
      const here = band(x, y), edge = here !== band(x + 1, y) || here !== band(x, y + 1);
      pixels.data.set([...(edge ? [70, 70, 80] : BANDS[here]), 255], 4 * (y * 3 * side + x));
    }
  }
  context.putImageData(pixels, 0, 0);
  const place = planeScale(grid, 3 * side, 3 * side);
  for (let row = 0; 2 * row < points.length; row++) {
    context.fillStyle = labels ? COLORS[labels[row] % COLORS.length] : "#111";
    context.fillRect(...place(points[2 * row], points[2 * row + 1]).map((value) => value - 1.5), 3, 3);
  }
}

// PuOr, purple for negative and orange for positive values.
const BANDS = [[128, 115, 172], [178, 171, 210], [216, 218, 235], [247, 247, 247], [254, 224, 182], [253, 184, 99], [224, 130, 20]];

export function planeScale({ x: [left, right], y: [bottom, top] }, width, height) {
  return (x, y) => [((x - left) / (right - left)) * width, height - ((y - bottom) / (top - bottom)) * height];
}
