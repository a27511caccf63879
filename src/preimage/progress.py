"""Progress of long work, for callers who want to show it.

The library reports its progress to a listener and prints nothing itself::

    with preimage.progress.listen(lambda stage, done, total: print(stage, done, total)):
        kpca.fit(X)

``stage`` names the work; ``done`` and ``total`` count in the same unit, and ``total`` is None if it is unknown. An
exception raised by the listener (or Ctrl-C) ends the work and leaves the estimator unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from threading import Lock

__all__ = ["listen"]

Listener = Callable[[str, float, float | None], object]

_listener: ContextVar[Listener | None] = ContextVar("preimage_progress", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call ``listener(stage, done, total)`` as work inside this context progresses.

    Parameters
    ----------
    listener : callable
        ``stage`` names the work; ``done`` and ``total`` count in one unit, and ``total`` is None if it is unknown.

    See Also
    --------
    preimage.KernelPCA : Its ``fit`` reports progress, as all long work does.

    Examples
    --------
    >>> import preimage
    >>> from preimage.datasets import half_circle
    >>> from preimage.features import Nystrom
    >>> X = half_circle(100, random_state=0).X
    >>> with preimage.progress.listen(lambda stage, done, total: print(stage, done, total)):
    ...     kpca = preimage.KernelPCA(2, approximation=Nystrom(X[::5])).fit(X)
    rows 100 100
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(stage: str, done: float, total: float | None = None) -> None:
    """Report to the listener, if there is one, how much of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


def part_of(stage: str, number: int, total: int) -> AbstractContextManager[None]:
    """Report the work inside this context as part ``number``, from 0, of ``total`` equal parts of one stage."""
    listener = _listener.get()
    if listener is None:
        return nullcontext()
    return _reported_as_share(lambda share: listener(stage, number + share, total))


def parts_of(stage: str, total: int) -> Callable[[int], AbstractContextManager[None]]:
    """Contexts for ``total`` equal parts of a stage, by number, that may run in parallel threads.

    The sum of the work done in all parts is reported.
    """
    listener, shares, lock = _listener.get(), [0.0] * total, Lock()
    if listener is None:
        return lambda number: nullcontext()

    def report_share(number: int, share: float) -> None:
        with lock:
            shares[number] = max(shares[number], share)
            listener(stage, sum(shares, 0.0), total)

    return lambda number: _reported_as_share(partial(report_share, number))


@contextmanager
def _reported_as_share(report_share: Callable[[float], object]) -> Iterator[None]:
    """Report the share of the work inside this context that is done, and in the end that all is."""
    with listen(lambda _, done, whole: report_share(done / whole if whole else 0.0)):
        yield
    report_share(1)


def is_listened_to() -> bool:
    """Whether there is a listener, for callers that need time to report."""
    return _listener.get() is not None
