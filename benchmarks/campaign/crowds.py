"""One model in many threads and forked processes at once, and Dask workers that are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import perf_counter, sleep

import numpy as np
from tally import Tally, generator

from preimage import KernelPCA
from preimage.exceptions import ClusterError

THREADS = 8
LONGEST_WAIT = 60.0


def threads_and_forks(cases: int, seed: int) -> list[Tally]:
    """``cases`` answers of one model by eight threads, and as many by forked processes: those of one thread."""
    tally, rng = Tally("crowds"), generator(seed, "crowds")
    X = rng.standard_normal((200, 5))
    model = KernelPCA(4, random_state=0).fit(X)
    expected = model.transform(X)

    def same(_: int) -> bool:
        return np.allclose(model.transform(X), expected, rtol=0, atol=1e-10)

    with ThreadPoolExecutor(THREADS) as pool:
        for held in pool.map(same, range(cases)):
            tally.cases += 1
            tally.check(held, "other answers", "threads")
    for number in range(max(1, cases // THREADS)):
        tally.cases += 1
        tally.check(_forked(same), "other answers", f"fork {number}")
    return [tally]


def _forked(action) -> bool:
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(0 if action(0) else 1))
    child.start()
    child.join(LONGEST_WAIT)
    if child.is_alive():
        child.kill()
    child.join()
    return child.exitcode == 0


def workers_killed(cases: int, seed: int) -> list[Tally]:
    """A Dask worker killed at a random moment of a fit or a transform: the same results, or a sentence."""
    import dask.array as da

    from distributed import Client, LocalCluster

    tally, rng = Tally("workers"), generator(seed, "workers")
    X = rng.standard_normal((4000, 6))
    lazy, settings = da.from_array(X, chunks=(250, 6)), {"approximation": 40, "random_state": 0}
    here = KernelPCA(3, **settings).fit(lazy)
    for number in range(cases):
        with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            process = next(iter(client.run(os.getpid).values()))
            with ThreadPoolExecutor(1) as pool:
                pool.submit(_kill_later, process, float(rng.uniform(0, 1.5)))
                start = perf_counter()
                tally.attempt(f"case {number}", lambda: _fit_and_compare(lazy, settings, here, tally), (ClusterError,))
                tally.check(perf_counter() - start <= LONGEST_WAIT, "waited too long", f"case {number}")
    return [tally]


def _fit_and_compare(lazy, settings: dict, here: KernelPCA, tally: Tally) -> None:
    model = KernelPCA(3, **settings).fit(lazy)
    np.asarray(model.transform(lazy))
    same = np.allclose(model.eigenvalues_, here.eigenvalues_, rtol=1e-8)
    tally.check(same, "other answers", "a fit beside a killed worker")


def _kill_later(process: int, seconds: float) -> None:
    sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
