// Tabs, theme, and the start of every page.

import { Failure, request } from "./api.js";
import * as compare from "./compare.js";
import * as denoise from "./denoise.js";
import * as explore from "./explore.js";
import * as gaps from "./gaps.js";
import * as novelty from "./novelty.js";

const pages = { explore, denoise, compare, gaps, novelty };
const tabs = [...document.querySelectorAll('[role="tab"]')];
const PREFIX = "#page-"; // not the id of any element, so that nothing scrolls
const THEMES = ["system", "light", "dark"];

function select(name, focus = false) {
  for (const tab of tabs) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) tab.focus();
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  history.replaceState(null, "", PREFIX + name);
  if (ready) {
    pages[name].opened?.();
    pages[name].redraw();
  }
}

let ready = false;
function current() {
  const name = location.hash.slice(PREFIX.length);
  return pages[name] ? name : "explore";
}

for (const tab of tabs) tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));
document.querySelector('[role="tablist"]').addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const place = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  select(tabs[(place + step + tabs.length) % tabs.length].getAttribute("aria-controls"), true);
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = `Theme: ${theme}`;
  localStorage.setItem("theme", theme);
  if (ready) pages[current()].redraw();
}

setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system");
document.getElementById("theme").addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => ready && pages[current()].redraw());
addEventListener("resize", () => ready && pages[current()].redraw());
for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault()); // a file dropped beside the zone must not replace the page

select(current());
try {
  const options = await request("api/start");
  await Promise.all(Object.values(pages).map((page) => page.start(options)));
  ready = true;
  pages[current()].opened?.();
  document.documentElement.dataset.ready = "true";
} catch (error) {
  const line = document.createElement("p");
  line.className = "error";
  line.setAttribute("role", "alert");
  line.textContent = error instanceof Failure ? error.message : "This page made a mistake: reload it.";
  document.getElementById("panels").prepend(line);
  if (!(error instanceof Failure)) console.error(error);
}
