"""The tasks that workers run, and how they report progress, warnings and errors."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController

from preimage import progress
from preimage.app import compare, denoise, explore, gaps, novelty
from preimage.app.limits import Refused
from preimage.cli.common import reported_warnings, sentence

# A task takes the request and a folder for its files; it returns the result for the page, and the model that stays in
# the worker to answer questions, or None.
Task = Callable[[dict[str, Any], Path], tuple[dict[str, Any], Any]]
TASKS: dict[str, Task] = {
    "explore": explore.explore,
    "denoise": denoise.denoise,
    "compare": compare.compare,
    "gaps": gaps.prepare,
    "novelty": novelty.rank,
}


def answer(model: Any, name: str, request: dict[str, Any]) -> Any:
    """A model's answer to a question that its class declares; in one thread, because it takes milliseconds."""
    if name not in getattr(model, "questions", ()):
        raise Refused(400, "This model cannot answer that.")
    with _libraries().limit(limits=1):
        return getattr(model, name)(**request)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def reported(connection: Any) -> Iterator[None]:
    """Send progress and our own warnings inside this context to the server."""
    with (
        reported_warnings(lambda text: connection.send(("note", hidden_paths(text)))),
        progress.listen(lambda *event: connection.send(("progress", *event))),
    ):
        yield


def explained(error: Exception) -> str:
    """The message of an error for the page."""
    if isinstance(error, MemoryError):
        return "This needs more memory than the app may take: use fewer rows, or the command line."
    if isinstance(error, Refused):
        return str(error)
    return hidden_paths(sentence(error).replace("; --debug shows where.", ".").rstrip(".") + ".")


def hidden_paths(text: str) -> str:
    """The text without the folders of our temporary files."""
    root = tempfile.gettempdir() + os.sep
    words = [word.rpartition(os.sep)[2] if root in word else word for word in text.split(" ")]
    return " ".join(words)
