"""Progress of long work, for callers who want to show it.

The library says how far it is and prints nothing; who wants to know listens::

    with preimage.progress.listen(lambda stage, done, total: print(stage, done, total)):
        kpca.fit(X)

``stage`` names the work, ``done`` and ``total`` count in the same unit; ``total`` is None where it is not known. An
exception raised by the listener (or Ctrl-C) ends the work, and the estimator stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, float, float | None], object]

_listener: ContextVar[Listener | None] = ContextVar("preimage_progress", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call ``listener(stage, done, total)`` as long work inside this context goes on."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(stage: str, done: float, total: float | None = None) -> None:
    """Tell the listener, if there is one, how far the work is."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


def is_listened_to() -> bool:
    """Whether somebody wants to know, where telling takes work."""
    return _listener.get() is not None
