"""Cases tried, failures by kind, worst time and memory."""

from __future__ import annotations

import os
import resource
import signal
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

import numpy as np
import sklearn

import preimage
from preimage.exceptions import PreimageWarning

STOP = 60.0  # seconds after which a case is stopped
EXAMPLES = 3  # of each kind of failure
HOMES = tuple(os.path.dirname(package.__file__) + os.sep for package in (preimage, sklearn))


@dataclass
class Tally:
    """What a part of the campaign found; a case fails, too, that takes more processor time or memory than allowed."""

    name: str
    cases: int = 0
    refused: int = 0
    failures: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    megabytes: float = 0.0
    examples: dict[str, list[str]] = field(default_factory=dict)
    most_seconds: float = 5.0
    most_megabytes: float = 300.0

    def attempt(
        self, case: str, action: Callable[[], Any], refusals: tuple[type[BaseException], ...], quiet: bool = True
    ) -> Any:
        """The result of one case; an error that is no refusal is a failure, and so is a warning of another library.

        A refusal is raised by a statement of this library or of scikit-learn's checks; what fails inside them is none.
        """
        self.cases += 1
        start, before = thread_time(), _peak()
        try:
            with warnings.catch_warnings(record=True) as told, _stopped_after(STOP):
                warnings.simplefilter("always" if quiet else "ignore")
                warnings.simplefilter("ignore", PreimageWarning)
                return action()
        except (Exception, _TooSlow) as error:
            file, line = _raised_at(error)
            if isinstance(error, refusals) and file.startswith(HOMES) and line.startswith("raise"):
                self.refused += 1
            else:
                self.fail(f"{type(error).__name__} ({os.path.basename(file)})", f"{case}: {error}")
        finally:
            for noise in told:
                self.fail(f"{noise.category.__name__} ({os.path.basename(noise.filename)})", f"{case}: {noise.message}")
            self._measure(case, thread_time() - start, _peak() - before)

    def _measure(self, case: str, seconds: float, megabytes: float) -> None:
        self.seconds, self.megabytes = max(self.seconds, seconds), max(self.megabytes, megabytes)
        self.check(seconds <= self.most_seconds, "slow", f"{case}: {seconds:.1f} s")
        self.check(megabytes <= self.most_megabytes, "large", f"{case}: {megabytes:.0f} MB")

    def fail(self, kind: str, case: str) -> None:
        """Count a failure, and keep the first cases."""
        self.failures[kind] += 1
        kept = self.examples.setdefault(kind, [])
        if len(kept) < EXAMPLES:
            kept.append(case[:400])

    def check(self, holds: bool, kind: str, case: str) -> None:
        """Count a failure unless something holds."""
        if not holds:
            self.fail(kind, case)

    def add(self, other: Tally) -> None:
        """Add the figures of the same part with another seed."""
        self.cases, self.refused = self.cases + other.cases, self.refused + other.refused
        self.failures += other.failures
        self.seconds, self.megabytes = max(self.seconds, other.seconds), max(self.megabytes, other.megabytes)
        for kind, kept in other.examples.items():
            self.examples[kind] = [*self.examples.get(kind, []), *kept][:EXAMPLES]

    def figures(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "name": self.name,
            "cases": self.cases,
            "refused": self.refused,
            "failures": dict(self.failures),
            "seconds": round(self.seconds, 2),
            "megabytes": round(self.megabytes),
            "examples": self.examples,
        }

    def __str__(self) -> str:
        failed = ", ".join(f"{kind} {number}" for kind, number in self.failures.most_common()) or "none"
        line = (
            f"{self.name:16} {self.cases:7} cases, {self.refused:7} refused, failures: {failed}; "
            f"worst case {self.seconds:.2f} s, {self.megabytes:.0f} MB"
        )
        return "\n".join([line, *(f"    {kind}: {case}" for kind, kept in self.examples.items() for case in kept)])


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _raised_at(error: BaseException) -> tuple[str, str]:
    """The file and the line of code in which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return (frames[-1].filename, frames[-1].line or "") if frames else ("", "")


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
