"""Cases tried, failures by kind, worst time and memory."""

from __future__ import annotations

import resource
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from preimage.exceptions import PreimageWarning

SLOWEST = 60.0  # seconds after which a case is stopped


@dataclass
class Tally:
    """What a part of the campaign found."""

    name: str
    cases: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    examples: dict[str, str] = field(default_factory=dict)

    def attempt(
        self, case: str, action: Callable[[], Any], refusals: tuple[type[BaseException], ...], noise: str = "error"
    ) -> Any:
        """The result of one case; an error that is no refusal is a failure, and so is ``noise``, a warning of numpy."""
        self.cases += 1
        start = perf_counter()
        try:
            with warnings.catch_warnings(), _stopped_after(SLOWEST):
                warnings.simplefilter(noise, RuntimeWarning)  # type: ignore[arg-type]
                warnings.simplefilter("ignore", PreimageWarning)
                return action()
        except refusals:
            self.refused += 1
        except (Exception, _TooSlow) as error:
            self.fail(type(error).__name__, f"{case}: {error}")
        finally:
            self.seconds = max(self.seconds, perf_counter() - start)

    def fail(self, kind: str, case: str) -> None:
        """Count a failure, and keep its first case."""
        self.failures[kind] += 1
        self.examples.setdefault(kind, case[:200])

    def check(self, holds: bool, kind: str, case: str) -> None:
        """Count a failure unless something holds."""
        if not holds:
            self.fail(kind, case)

    def __str__(self) -> str:
        failed = ", ".join(f"{kind} {number}" for kind, number in self.failures.most_common()) or "none"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        lines = [
            f"{self.name:12} {self.cases:7} cases, {self.refused:7} refused, failures: {failed}; "
            f"slowest {self.seconds:.2f} s, peak of the process {peak:.0f} MB"
        ]
        return "\n".join([*lines, *(f"    {kind}: {case}" for kind, case in self.examples.items())])


def generator(seed: int, name: str) -> np.random.Generator:
    """The generator of one part, so that parts can run alone."""
    return np.random.default_rng([seed, *name.encode()])


class _TooSlow(BaseException):
    """A case took too long; no ``except Exception`` may catch it."""


class _stopped_after:
    def __init__(self, seconds: float):
        self._seconds = seconds if threading.current_thread() is threading.main_thread() else 0.0

    def __enter__(self) -> None:
        if self._seconds:
            self._before = signal.signal(signal.SIGALRM, self._stop)
            signal.setitimer(signal.ITIMER_REAL, self._seconds)

    def __exit__(self, *error: Any) -> None:
        if self._seconds:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def _stop(self, number: int, frame: Any) -> None:
        raise _TooSlow(f"stopped after {self._seconds:.0f} s")
