// Requests to the server, uploads, and jobs that survive a reload.

const PAUSE = 150; // milliseconds between looks at a running job

export class Failure extends Error {}

export async function request(path, { method = "GET", json, body, as = "json" } = {}) {
  const options = { method, body };
  if (json !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(json);
    options.headers = { "Content-Type": "application/json" };
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Failure("The app does not answer. Is it still running in the terminal?");
  }
  if (!answer.ok) throw new Failure(await sentence(answer));
  if (as === "floats") return new Float32Array(await answer.arrayBuffer());
  if (as === "bytes") return new Uint8Array(await answer.arrayBuffer());
  return answer.json();
}

async function sentence(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return `The app refused this (${answer.status}).`;
  }
}

export const file = (job, name, as = "floats") => request(`api/jobs/${job.id}/files/${name}`, { as });
export const fileAddress = (job, name) => `api/jobs/${job.id}/files/${encodeURIComponent(name)}`;

export async function upload(files, largest) {
  for (const one of files) {
    if (one.size > largest) throw new Failure(`${one.name} is too large: the app takes files of at most ${Math.round(largest / 2 ** 20)} MB; the command line takes more.`);
  }
  if (files.length === 1) return send(files[0]);
  const name = files[0].webkitRelativePath?.split("/")[0] || "pictures";
  const folder = await request(`api/folders?name=${encodeURIComponent(name)}`, { method: "POST" });
  for (const one of files) await send(one, folder.id);
  return { ...folder, name: `${name} (${files.length} pictures)` };
}

function send(one, folder) {
  const place = folder ? `&folder=${folder}` : "";
  return request(`api/uploads?name=${encodeURIComponent(one.name)}${place}`, { method: "POST", body: one });
}

// The part of the page where one kind of job is started, watched, cancelled, and found again after a reload.
export class Desk {
  constructor(kind, status, onDone) {
    Object.assign(this, { kind, status, onDone, job: null });
  }

  async start(details) {
    const before = this.job;
    this.clear();
    if (before && ["waiting", "running"].includes(before.state)) request(`api/jobs/${before.id}`, { method: "DELETE" }).catch(() => {});
    try {
      const job = await request(`api/jobs/${this.kind}`, { json: details });
      this.superseded = before;
      sessionStorage.setItem(this.kind, JSON.stringify({ id: job.id, details }));
      await this.watch(job);
    } catch (error) {
      this.fail(error);
    }
  }

  // The details of a job that was started before the page was reloaded, or null.
  async resume() {
    const kept = JSON.parse(sessionStorage.getItem(this.kind) || "null");
    if (!kept) return null;
    try {
      const job = await request(`api/jobs/${kept.id}`);
      if (job.state === "cancelled" || (job.state === "done" && !job.ready && ["explore", "gaps"].includes(this.kind))) return null;
      this.watch(job).catch((error) => this.fail(error));
      return kept.details;
    } catch {
      sessionStorage.removeItem(this.kind);
      return null;
    }
  }

  async watch(job) {
    this.job = job;
    while (["waiting", "running"].includes(job.state)) {
      this.show(job);
      await new Promise((resume) => setTimeout(resume, PAUSE));
      const next = await request(`api/jobs/${job.id}`);
      if (this.job.id !== job.id) return; // another job was started in the meantime
      this.job = job = next;
    }
    this.clear();
    for (const note of job.notes) this.say("note", note);
    if (job.state === "failed") throw new Failure(job.error);
    if (job.state === "cancelled") return this.say("note", "Cancelled.");
    await this.onDone(job);
    if (this.superseded) request(`api/jobs/${this.superseded.id}`, { method: "DELETE" }).catch(() => {});
    this.superseded = null;
  }

  show(job) {
    if (!this.bar) {
      this.clear();
      this.status.innerHTML = `<div class="card progress"><span class="stage" role="status"></span><progress aria-label="Progress"></progress><button type="button">Cancel</button></div>`;
      this.bar = this.status.querySelector("progress");
      this.status.querySelector("button").addEventListener("click", () => request(`api/jobs/${this.job.id}`, { method: "DELETE" }).catch((error) => this.fail(error)));
    }
    const stage = job.state === "waiting" ? "Waiting for other work" : words(job.stage);
    const label = this.status.querySelector(".stage");
    if (label.textContent !== stage) label.textContent = stage;
    if (job.total) {
      this.bar.max = job.total;
      this.bar.value = job.done;
    } else this.bar.removeAttribute("value");
  }

  clear() {
    this.status.textContent = "";
    this.bar = null;
  }

  say(kind, text) {
    const line = document.createElement("p");
    line.className = kind;
    line.setAttribute("role", kind === "error" ? "alert" : "status");
    line.textContent = text;
    this.status.append(line);
  }

  fail(error) {
    this.clear();
    this.say("error", error instanceof Failure ? error.message : "This page made a mistake: reload it.");
    if (!(error instanceof Failure)) console.error(error);
  }
}

const words = (stage) => stage.charAt(0).toUpperCase() + stage.slice(1);
