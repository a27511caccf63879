"""A worker process: it runs one task at a time, reports progress, and can be ended at any moment.

Both ends of the pipe are in this module. The server sends ``("task", name, request, folder)`` and
``("question", name, request)``; the worker sends ``("progress", stage, done, total)``, ``("note", words)``, and finally
``("result", value)`` or ``("failed", sentence)``.
"""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from time import monotonic
from typing import Any

from preimage.app import limits

Listener = Callable[..., None]

_context = multiprocessing.get_context("spawn")  # forking a process with threads is not safe


class TaskFailed(Exception):
    """A task that ended with an error message instead of a result."""


class Worker:
    """The server's end of the pipe. Calls block, so run them in threads."""

    def __init__(self) -> None:
        self._connection, theirs = _context.Pipe()
        self._process = _context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._lock = RLock()

    @property
    def alive(self) -> bool:
        """Whether the process can take another task."""
        return self._process.is_alive()

    def run(self, name: str, request: dict[str, Any], folder: Path, listener: Listener) -> Any:
        """The result of a task; ``listener`` gets every other message."""
        return self._call(("task", name, request, str(folder)), limits.SECONDS, listener)

    def ask(self, name: str, request: dict[str, Any]) -> Any:
        """The answer of the model that the last task left in the worker."""
        return self._call(("question", name, request), limits.ANSWER_SECONDS, lambda *message: None)

    def stop(self) -> None:
        """End the process immediately."""
        self._process.kill()

    def _call(self, message: tuple, seconds: float, listener: Listener) -> Any:
        with self._lock:
            try:
                self._connection.send(message)
                return self._answer(monotonic() + seconds, listener)
            except (EOFError, OSError) as error:
                raise TaskFailed("The work ended before it was done; it may have needed too much memory.") from error

    def _answer(self, deadline: float, listener: Listener) -> Any:
        while self._connection.poll(max(0.0, deadline - monotonic())):
            kind, *content = self._connection.recv()
            if kind == "result":
                return content[0]
            if kind == "failed":
                raise TaskFailed(content[0])
            listener(kind, *content)
        self.stop()
        raise TaskFailed("This took too long and was stopped: use fewer rows or a smaller picture.")


def serve(connection: Any) -> None:
    """The worker's end of the pipe: serve until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal is for the server, which ends its workers
    _bound_memory()
    from preimage.app import tasks  # slow to import: an idle worker does it before its first task

    model = None
    while True:
        try:
            kind, name, request, *folder = connection.recv()
        except (EOFError, OSError):
            return
        try:
            with tasks.reported(connection):
                if kind == "task":
                    model = None  # frees its memory before the next one is made
                    result, model = tasks.TASKS[name](request, Path(folder[0]))
                else:
                    result = tasks.answer(model, name, request)
            connection.send(("result", result))
        except Exception as error:
            connection.send(("failed", tasks.explained(error)))


def _bound_memory() -> None:
    """Make a task that asks for too much memory fail before the machine runs out of memory."""
    warnings.simplefilter("ignore")
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limits.MEMORY, limits.MEMORY))
