"""The tasks that workers run, and how they tell what happens."""

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

# A task takes the request and a folder for its files; it returns what the page is told, and the model that stays in the
# worker to answer questions, or None.
Task = Callable[[dict[str, Any], Path], tuple[dict[str, Any], Any]]
TASKS: dict[str, Task] = {
    "explore": explore.explore,
    "denoise": denoise.denoise,
    "compare": compare.compare,
    "gaps": gaps.prepare,
    "novelty": novelty.rank,
}


def answer(model: Any, name: str, request: dict[str, Any]) -> Any:
    """What a model answers to a question that its class declares; in one thread, as it takes milliseconds."""
    if name not in getattr(model, "questions", ()):
        raise Refused(400, "This model has no such answer.")
    with _libraries().limit(limits=1):
        return getattr(model, name)(**request)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def reported(connection: Any) -> Iterator[None]:
    """Progress and our own warnings inside this context go to the server."""
    with (
        reported_warnings(lambda text: connection.send(("note", hidden_paths(text)))),
        progress.listen(lambda *event: connection.send(("progress", *event))),
    ):
        yield


def explained(error: Exception) -> str:
    """A sentence for the page."""
    if isinstance(error, MemoryError):
        return "This needs more memory than the app may take: use fewer rows, or the command line."
    if isinstance(error, Refused):
        return str(error)
    return hidden_paths(sentence(error).replace("; --debug shows where.", ".").rstrip(".") + ".")


def hidden_paths(text: str) -> str:
    """The same words without the places of our own files."""
    root = tempfile.gettempdir() + os.sep
    words = [word.rpartition(os.sep)[2] if root in word else word for word in text.split(" ")]
    return " ".join(words)
