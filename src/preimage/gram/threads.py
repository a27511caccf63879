"""Work on all cores that this process may use, within a memory budget.

The budget is scikit-learn's ``working_memory`` (MiB)::

    with sklearn.config_context(working_memory=256): ...

There is one thread for each core that affinity and container limits leave to the process, but no more than
``OMP_NUM_THREADS``, ``threadpool_limits`` or a joblib worker allows to numerical libraries. numpy releases the
interpreter's lock in products and exponentials, which are nearly all the work.

BLAS has one thread, in each of ours and everywhere else in the methods of estimators. Its idle threads wait in a busy
loop; numpy and scipy have a BLAS each, and the threads of one keep those of the other, and ours, from the cores for
milliseconds at a time. Only a single large call of LAPACK gains from them: :func:`threaded_blas`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import joblib
from sklearn import config_context, get_config
from threadpoolctl import LibController, ThreadpoolController

Task = TypeVar("Task")

LARGE = 1000  # rows of a matrix from which LAPACK gains from several threads
FEW = 3e7  # multiplications, about 1 ms: starting threads for fewer takes longer than they save


def working_bytes() -> int:
    """The memory budget in bytes."""
    return int(get_config()["working_memory"] * 2**20)


def parallel_map(function: Callable[[Task], Any], tasks: Iterable[Task]) -> list:
    """The results of ``function`` for the tasks, computed on all cores, each with one BLAS thread.

    Nested calls run in the calling thread, with its share of the budget.
    """
    tasks = list(tasks)
    n = n_threads() if len(tasks) > 1 else 1
    if n == 1 or _alone.get():  # a thread that waits for its own pool deadlocks
        return [function(task) for task in tasks]
    settings = get_config()
    settings["working_memory"] /= n
    with single_threaded_blas():
        futures: list[Future] = []
        try:
            for task in tasks:
                futures.append(_start(_pool(n, os.getpid()), settings, function, task))
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise


def _start(pool: ThreadPoolExecutor, settings: dict[str, Any], function: Callable[[Task], Any], task: Task) -> Future:
    """Start a task in the pool, or run it in the calling thread if the interpreter is shutting down."""
    context = copy_context()  # the caller's, so that np.errstate holds in the threads too
    try:
        return pool.submit(context.run, _in_its_thread, settings, function, task)
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise
        done: Future = Future()
        done.set_result(context.run(_in_its_thread, settings, function, task))
        return done


def _in_its_thread(settings: dict[str, Any], function: Callable[[Task], Any], task: Task) -> Any:
    _alone.set(True)
    with config_context(**settings):
        return function(task)


@lru_cache
def _pool(n: int, process: int) -> ThreadPoolExecutor:
    """The thread pool of a process; a forked process makes its own."""
    return ThreadPoolExecutor(n, thread_name_prefix="preimage")


def n_threads() -> int:
    """The number of threads for tasks: what the environment allows, or fewer inside :func:`limited`."""
    if _alone.get():
        return 1
    most = _most.get()
    return max(1, min(n_cores(), most or n_cores(), _library_threads()))


def n_cores() -> int:
    """The number of cores that this process may use, by its affinity and by the limits of its container or joblib."""
    return min(cpu_count(), len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else cpu_count()


@lru_cache
def cpu_count() -> int:
    """The number of cores of the machine or its container, an upper bound of :func:`n_threads`."""
    return joblib.cpu_count()


def _library_threads() -> int:
    """The number of threads that numerical libraries may have, our own limits aside."""
    return _hold.allowed()


def thread_number(n_jobs: Any) -> int | None:
    """``n_jobs`` as a number of threads; None where the environment decides.

    As in joblib, −1 is all cores and −2 all but one.
    """
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or not int(n_jobs):
        raise ValueError(f"n_jobs must be None, a number of threads, or -1 for all cores, not {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, n_cores() + 1 + int(n_jobs))


@contextmanager
def limited(n_jobs: Any = None) -> Iterator[None]:
    """Limit our threads to ``n_jobs``, and BLAS to one thread; None leaves our own to the environment."""
    before, number = _most.get(), thread_number(n_jobs)
    token = _most.set(min((limit for limit in (before, number) if limit is not None), default=None))
    try:
        with _hold_blas(_BY_DEFAULT, 1):
            yield
    finally:
        _most.reset(token)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run everything in the calling thread, which is itself one of many workers."""
    token = _alone.set(True)
    try:
        with single_threaded_blas():
            yield
    finally:
        _alone.reset(token)


def suited(operations: float) -> AbstractContextManager[None]:
    """Run work of few operations in the calling thread: it is done before others have started."""
    return single_threaded() if operations < FEW and not _alone.get() else nullcontext()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Limit BLAS to one thread, so that our own threads have the cores to themselves."""
    return _hold_blas(_ALWAYS, 1)


def threaded_blas(n: int) -> AbstractContextManager[None]:
    """Give BLAS all our threads, for one call of LAPACK on n × n numbers, if it gains from them and they are free."""
    return _hold_blas(_FOR_ONE_CALL, n_threads()) if n > LARGE else nullcontext()


_ALWAYS, _FOR_ONE_CALL, _BY_DEFAULT = range(3)  # the first of these ranks that somebody holds decides


@contextmanager
def _hold_blas(rank: int, most: int) -> Iterator[None]:
    """Limit BLAS to ``most`` threads in the whole process until the last holder releases it."""
    holder = object()
    try:
        _hold.enter(holder, (rank, most))
        yield
    finally:
        try:
            _hold.leave(holder)
        except BaseException:  # interrupted while leaving
            _hold.leave(holder)
            raise


class _Hold:
    """A limit on BLAS shared by several threads: of those of the first rank, the lowest. Every step is idempotent."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.holders: dict[object, tuple[int, int]] = {}
        self.before: list[tuple[LibController, int]] = []
        self.applied: Any = None  # the limit that all libraries have; Ellipsis while they are being changed

    def enter(self, holder: object, limit: tuple[int, int]) -> None:
        with self.lock:
            if not self.before:
                self.before = [(library, library.num_threads) for library in _libraries("blas")]
            self.holders[holder] = limit
            self._apply()

    def leave(self, holder: object) -> None:
        with self.lock:
            self.holders.pop(holder, None)
            self._apply()

    def _apply(self) -> None:
        least = min(self.holders.values())[1] if self.holders else None
        if least == self.applied:
            return
        self.applied = ...
        for library, number in self.before:
            wanted = number if least is None else min(least, number)
            if library.num_threads != wanted:
                library.set_num_threads(wanted)
        self.applied = least
        if least is None:
            self.before = []

    def allowed(self) -> int:
        """The fewest threads of any library, our own limits aside."""
        with self.lock:
            held = dict(self.before)
            return min((held.get(library, library.num_threads) for library in _libraries()), default=1)

    def forked(self) -> None:
        """Reset in a child process, which has none of the threads that hold BLAS.

        BLAS keeps their limit: OpenBLAS can deadlock if it is asked for more threads after a fork during its work.
        """
        self.lock, self.holders, self.before, self.applied = Lock(), {}, [], None


_hold = _Hold()
_alone: ContextVar[bool] = ContextVar("preimage_alone", default=False)
_most: ContextVar[int | None] = ContextVar("preimage_most", default=None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_hold.forked)


def _libraries(user_api: str | None = None) -> list[LibController]:
    """The numerical libraries loaded in this process: those of ``user_api``, or all."""
    return [library for library in _controller().lib_controllers if user_api in (None, library.user_api)]


@lru_cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
