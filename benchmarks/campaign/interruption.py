"""Library calls interrupted by Ctrl-C at random moments."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from time import perf_counter

import numpy as np
from sklearn.base import clone
from tally import Tally, generator
from threadpoolctl import threadpool_info

from preimage import KernelPCA

MOST_ATTEMPTS = 10  # for each case that a signal shall reach


def calls_interrupted(cases: int, seed: int) -> list[Tally]:
    """Ctrl-C inside library calls: the estimator, the threads and the limits of BLAS are as before.

    Only calls that it reached before their end are counted.
    """
    tally, rng = Tally("interrupts"), generator(seed, "interrupts")
    X = rng.standard_normal((1500, 5))  # enough that a signal arrives before the end on a busy machine
    model = KernelPCA(3, random_state=0).fit(X)
    expected, before = model.transform(X), (_blas(), threading.active_count())
    calls = {
        "fit": lambda: model.fit(X),
        "fit on landmarks": lambda: KernelPCA(3, approximation=50, random_state=0).fit(X),
        "denoise": lambda: clone(model).fit(X).denoise(X[:50]),
    }
    durations = {name: _seconds(call) for name, call in calls.items()}
    for attempt in range(MOST_ATTEMPTS * cases):
        name = list(calls)[attempt % len(calls)]
        state = dict(vars(model))
        stopped = _interrupted(calls[name], rng.uniform(0, durations[name]))
        tally.cases += stopped
        tally.check((_blas(), threading.active_count()) == before, "threads or BLAS limit changed", name)
        if stopped:
            same = vars(model).keys() == state.keys() and all(vars(model)[key] is state[key] for key in state)
            tally.check(same, "estimator changed", name)
        if tally.cases == cases:
            break
    tally.check(np.allclose(model.transform(X), expected, atol=1e-9), "other answers", "after all")
    return [tally]


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _interrupted(action: Callable[[], object], seconds: float) -> bool:
    """Whether Ctrl-C after some seconds reached an action before its end."""
    timer, finished = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)), False
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start jobs with it ignored
    try:
        timer.start()
        action()
        finished = True
        timer.cancel()
        timer.join()
        return False
    except KeyboardInterrupt:
        timer.join()
        return not finished
    finally:
        signal.signal(signal.SIGINT, before)


def _blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
