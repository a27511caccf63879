"""Jobs: computations that a page has asked for, run in worker processes."""

from __future__ import annotations

import secrets
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from preimage.app import limits
from preimage.app.limits import Refused
from preimage.app.worker import TaskFailed, Worker

GONE = "This result is no longer kept: start it again."


@dataclass
class PageJob:
    """One piece of work: ``state`` is waiting, running, done, failed or cancelled."""

    key: str
    kind: str
    request: dict[str, Any]
    folder: Path
    state: str = "waiting"
    progress: tuple[str, float, float | None] = ("waiting", 0, None)
    notes: list[str] = field(default_factory=list)
    result: Any = None
    error: str = ""
    worker: Worker | None = None

    def as_json(self) -> dict[str, Any]:
        """The state of the job, as the page shows it."""
        stage, done, total = self.progress
        return {
            "id": self.key,
            "kind": self.kind,
            "state": self.state,
            "stage": stage,
            "done": done,
            "total": total,
            "notes": self.notes,
            "error": self.error,
            "result": self.result,
            "ready": self.worker is not None,
        }

    def hear(self, kind: str, *content: Any) -> None:
        """Record a message of the worker."""
        if kind == "progress":
            self.progress = content[0], content[1], content[2]
        elif kind == "note" and len(self.notes) < 20:
            self.notes.append(content[0])


class Jobs:
    """All jobs, oldest first. A few run at a time; a model that can answer questions stays in its worker."""

    def __init__(self, folder: Path):
        self._folder, self._jobs = folder, dict[str, PageJob]()
        self._idle: list[Worker] = []
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(limits.RUNNING, "job")

    def warm_up(self) -> None:
        """Start a worker for the next job, because starting takes seconds."""
        if not self._idle:
            self._threads.submit(lambda: self._put_back(Worker()))

    def submit(self, kind: str, request: dict[str, Any]) -> PageJob:
        """Start a job, or queue it."""
        with self._lock:
            if sum(job.state == "waiting" for job in self._jobs.values()) >= limits.WAITING:
                raise Refused(429, "Too many jobs are waiting: cancel one, or wait.")
            key = secrets.token_hex(8)
            job = self._jobs[key] = PageJob(key, kind, request, self._folder / key)
            self._forget_oldest()
        self._threads.submit(self._run, job)
        return job

    def __getitem__(self, key: str) -> PageJob:
        if key not in self._jobs:
            raise Refused(404, GONE)
        return self._jobs[key]

    def cancel(self, key: str) -> PageJob:
        """End a job that waits or runs; release the model of one that is done."""
        job = self[key]
        with self._lock:
            if job.state in ("waiting", "running"):
                job.state = "cancelled"
                if job.worker is not None:
                    job.worker.stop()
                    job.worker = None
                return job
        self._release(job)
        return job

    def ask(self, key: str, name: str, request: dict[str, Any]) -> Any:
        """The answer of a job's model to a question."""
        job = self[key]
        with self._lock:
            worker = job.worker if job.state == "done" else None
            if worker is not None:  # the model asked last is released last
                self._jobs[key] = self._jobs.pop(key)
        if worker is None:
            raise Refused(410, "This model is no longer in memory: fit it again.")
        return worker.ask(name, request)

    def close(self) -> None:
        """End all workers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for worker in [*self._idle, *(job.worker for job in self._jobs.values())]:
                if worker is not None:
                    worker.stop()

    def _run(self, job: PageJob) -> None:
        try:
            worker = self._take()
            with self._lock:
                if job.state == "cancelled":
                    self._idle.append(worker)
                    return
                job.state, job.worker = "running", worker
            job.folder.mkdir()
            self._finish(job, worker.run(job.kind, job.request, job.folder, job.hear))
        except Exception as error:
            self._fail(job, str(error) if isinstance(error, TaskFailed) else f"The work could not be done: {error}.")

    def _finish(self, job: PageJob, result: dict[str, Any]) -> None:
        with self._lock:
            if job.state == "cancelled":
                return
            job.state, job.result = "done", result
        if result.pop("answers", False):
            ready = [other for other in self._jobs.values() if other.state == "done" and other.worker is not None]
            for other in ready[: -limits.MODELS]:
                self._release(other)
            self.warm_up()
        else:
            self._release(job)

    def _fail(self, job: PageJob, sentence: str) -> None:
        with self._lock:
            if job.state != "cancelled":
                job.state, job.error = "failed", sentence
        self._release(job)

    def _take(self) -> Worker:
        with self._lock:
            while self._idle:
                if (worker := self._idle.pop()).alive:
                    return worker
        return Worker()

    def _release(self, job: PageJob) -> None:
        with self._lock:
            worker, job.worker = job.worker, None
        if worker is not None:
            self._put_back(worker)

    def _put_back(self, worker: Worker) -> None:
        """Keep a worker for the next job, unless enough are idle."""
        with self._lock:
            if worker.alive and len(self._idle) < limits.RUNNING:
                self._idle.append(worker)
                return
        worker.stop()

    def _forget_oldest(self) -> None:
        finished = [job for job in self._jobs.values() if job.state not in ("waiting", "running") and not job.worker]
        for job in finished[: max(0, len(self._jobs) - limits.KEPT)]:
            del self._jobs[job.key]
            shutil.rmtree(job.folder, ignore_errors=True)
