"""Work on all cores, within a memory budget.

The budget is scikit-learn's ``working_memory`` (MiB), set as its users set it::

    with sklearn.config_context(working_memory=256): ...

Tasks are spread over threads while BLAS is held to one thread each: its own, waiting for more, would keep a core from
ours. numpy releases the interpreter's lock in products and exponentials, which are nearly all the work there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")


def working_bytes() -> int:
    """The memory budget in bytes."""
    return int(get_config()["working_memory"] * 2**20)


def spread(function: Callable[[Task], Any], tasks: Iterable[Task]) -> list:
    """The results of ``function`` over the tasks, on all cores, each with one BLAS thread.

    What a task spreads in its turn stays in its thread, and has its share of the budget: the cores are taken.
    """
    tasks = list(tasks)
    if len(tasks) <= 1 or n_threads() == 1 or _alone.get():  # a thread that waited for its own pool would wait for ever
        return [function(task) for task in tasks]
    pool, settings = _pool(n_threads(), os.getpid()), get_config()
    settings["working_memory"] /= n_threads()
    with single_threaded_blas():  # contexts are the caller's, so that np.errstate holds in the threads too
        futures = [pool.submit(copy_context().run, _in_its_thread, settings, function, task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise


def _in_its_thread(settings: dict[str, Any], function: Callable[[Task], Any], task: Task) -> Any:
    _alone.set(True)
    with config_context(**settings):
        return function(task)


@lru_cache
def _pool(n: int, process: int) -> ThreadPoolExecutor:
    """Threads that wait for work; a forked process, which has none of them, makes its own."""
    return ThreadPoolExecutor(n, thread_name_prefix="preimage")


def n_threads() -> int:
    """How many threads tasks are spread over: as many as this process has cores, unless the caller is held to one."""
    return 1 if _alone.get() else _n_cores()


@lru_cache
def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def single_threaded():
    """Everything in the calling thread alone, for callers that are one of many themselves."""
    token = _alone.set(True)
    try:
        with single_threaded_blas():
            yield
    finally:
        _alone.reset(token)


@contextmanager
def single_threaded_blas():
    """BLAS held to one thread, so that our own threads have the cores to themselves.

    The limit is the whole process's: it ends when the last of several threads that hold it lets go.
    """
    _hold.enter()
    try:
        yield
    finally:
        _hold.leave()


class _Hold:
    """A limit on BLAS that several threads share."""

    def __init__(self) -> None:
        self.lock, self.holders = Lock(), 0
        self.limit: Any = None

    def enter(self) -> None:
        with self.lock:
            if not self.holders:
                self.limit = _controller().limit(limits=1, user_api="blas")
            self.holders += 1

    def leave(self) -> None:
        with self.lock:
            self.holders -= 1
            if not self.holders:
                self.limit.restore_original_limits()


_hold = _Hold()
_alone: ContextVar[bool] = ContextVar("preimage_alone", default=False)


@lru_cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
