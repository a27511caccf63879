// Where a dataset is chosen: one from the list, or a file or folder that is dropped or picked.

import { Desk, Failure, upload } from "./api.js";
import { element } from "./draw.js";

const ACCEPTED = ".csv,.tsv,.txt,.parquet,.xlsx,.npy,.npz,.png,.jpg,.jpeg,.tif,.tiff,.bmp,.wav,.flac";

export class Picker extends EventTarget {
  // `datasets` are offered in a list, which may be empty; `words` say what can be dropped.
  constructor(holder, { datasets, largest, words, report }) {
    super();
    Object.assign(this, { largest, report, words, chosen: datasets.length ? { source: datasets[0].id } : null });
    this.select = element("select", { name: "source" }, ...datasets.map(({ id, title }) => element("option", { value: id, textContent: title })));
    this.select.addEventListener("change", () => this.choose(JSON.parse(this.select.selectedOptions[0].dataset.upload || "null") ?? { source: this.select.value }));
    this.said = element("span", { textContent: words });
    this.zone = element("div", { className: "drop" }, this.said, element("div", { className: "row" }, this.button("Choose a file", {}), this.button("Choose a folder", { webkitdirectory: true })));
    holder.replaceChildren(...(datasets.length ? [element("label", {}, "Dataset ", this.select)] : []), this.zone);
    for (const name of ["dragover", "dragenter"]) this.zone.addEventListener(name, (event) => this.over(event, true));
    this.zone.addEventListener("dragleave", (event) => this.over(event, false));
    this.zone.addEventListener("drop", (event) => this.dropped(event));
  }

  button(text, options) {
    const input = element("input", { type: "file", hidden: true, accept: ACCEPTED, ...options });
    input.setAttribute("aria-label", text);
    input.addEventListener("change", () => {
      this.take([...input.files]);
      input.value = "";
    });
    const shown = element("button", { type: "button", textContent: text });
    shown.addEventListener("click", () => input.click());
    return element("span", {}, shown, input);
  }

  over(event, inside) {
    event.preventDefault();
    this.zone.classList.toggle("over", inside);
  }

  async dropped(event) {
    this.over(event, false);
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const files = entries.length ? (await Promise.all(entries.map(filesOf))).flat() : [...event.dataTransfer.files];
    this.take(files);
  }

  async take(files) {
    const wanted = files.filter((one) => !one.name.startsWith("."));
    if (!wanted.length) return;
    this.say("Uploading…");
    try {
      const found = await upload(wanted, this.largest);
      this.adopt(found);
    } catch (error) {
      this.say(this.words);
      this.report(error);
      if (!(error instanceof Failure)) throw error;
    }
  }

  // Choose a file that the server already has.
  adopt({ id, name }) {
    const choice = { upload: id, name };
    if (this.select.options.length) {
      const option = element("option", { value: id, textContent: name, selected: true });
      option.dataset.upload = JSON.stringify(choice);
      this.select.append(option);
    }
    this.choose(choice);
  }

  // Show what was chosen before the page was reloaded.
  restore({ source, upload: id, name }) {
    this.chosen = id ? { upload: id, name } : source ? { source } : null;
    if (id) this.sayName(name);
    if (id && this.select.options.length) {
      const option = element("option", { value: id, textContent: name, selected: true });
      option.dataset.upload = JSON.stringify(this.chosen);
      this.select.append(option);
    } else if (source) this.select.value = source;
  }

  choose(choice) {
    this.chosen = choice;
    if (choice.upload) this.sayName(choice.name);
    else this.say(this.words);
    this.dispatchEvent(new Event("change"));
  }

  say(text) {
    this.said.replaceChildren(text);
  }

  sayName(name) {
    this.said.replaceChildren("Chosen: ", element("strong", { textContent: name }));
  }
}

// A page whose form starts a job on what was chosen; the last result is hidden until it is done.
export async function jobForm(kind, { datasets, largest }, words, show) {
  const form = document.getElementById(`${kind}-form`), desk = new Desk(kind, document.getElementById(`${kind}-status`), show);
  const picker = new Picker(form.querySelector(".picker"), { datasets, largest, words, report: (error) => desk.fail(error) });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.getElementById(`${kind}-result`).hidden = true;
    desk.start({ ...picker.chosen });
  });
  const before = await desk.resume();
  if (before) picker.restore(before);
}

function filesOf(entry) {
  return new Promise((resolve) => {
    if (entry.isFile) entry.file((one) => resolve([one]), () => resolve([]));
    else {
      const reader = entry.createReader(), found = [];
      const more = () => reader.readEntries(async (entries) => {
        if (!entries.length) return resolve((await Promise.all(found.filter((one) => one.isFile).map(filesOf))).flat());
        found.push(...entries);
        more();
      }, () => resolve([]));
      more();
    }
  });
}
