"""The scheduler that does the work: an active client if there is one, else the threads of this process.

Dask schedules, moves data and repeats the work of a lost worker. This module turns what Dask cannot repair into one
clear error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from typing import Any

import cloudpickle
import dask
from dask.callbacks import Callback
from dask.sizeof import sizeof
from distributed.client import ClosedClientError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker
from sklearn import config_context, get_config

from distributed import Client, get_worker, wait
from preimage import progress
from preimage.exceptions import ClusterError
from preimage.gram import threads

FAN = 8  # parts that are added in one step of a tree
TOPIC = "preimage-rows"
POLL = 0.2  # seconds between two reports of progress
CONNECT = 10.0  # seconds to wait for a scheduler


def sized(kind: type) -> type:
    """Register a class with Dask's ``sizeof`` by the bytes of its arrays, for Dask's planning of transfers."""
    sizeof.register(kind, _n_bytes)
    return kind


def active_client() -> Client | None:
    """The client that Dask would use here; None if it would use threads."""
    client = getattr(dask.base.get_scheduler(), "__self__", None)
    return client if isinstance(client, Client) else None


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Run the work inside on the cluster of the scheduler at ``address``, or on local threads if it is None."""
    if address is None:
        yield
        return
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": CONNECT}):
            client = Client(address, timeout=CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}: start it first, or check the address.") from error
    with client:
        yield


def check_workers(kernel: Any) -> None:
    """Refuse a cluster without workers, or with workers that lack this library: Dask would wait for them forever.

    Also refuse a kernel that cannot be sent to them.
    """
    client = active_client()
    if client is None:
        return
    _check_sendable(kernel)
    with _translated():
        if not client.nthreads():
            raise ClusterError(
                "the Dask cluster has no workers: start some, and wait for them with client.wait_for_workers(1)."
            )
        found: Any = client.get_versions(packages=["preimage"])
    lacking = sorted(address for address, about in found["workers"].items() if not about["packages"].get("preimage"))
    if lacking:
        raise ClusterError(
            f"the worker {lacking[0]} cannot import preimage: install this version of the library on every worker."
        )


def _check_sendable(kernel: Any) -> None:
    try:
        cloudpickle.dumps(kernel)
    except Exception as error:  # a user's class may raise anything
        raise ClusterError(
            f"the kernel {type(kernel).__name__} cannot be sent to the Dask workers: pickle refuses it ({error}); "
            "keep locks, open files and the like out of it."
        ) from error


def once(thing: Any) -> Any:
    """A value that many tasks need, as a task: sent once, and recomputed if a worker is lost, unlike scattered data."""
    client = active_client()
    if client is None:
        return dask.delayed(thing, traverse=False)
    with _translated(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
        return client.submit(_same, thing, pure=False)


def compute(*things: Any, total: int | None = None) -> tuple:
    """The values of lazy objects, with progress over ``total`` rows if tasks report it (see :func:`report_rows`)."""
    client = active_client()
    with _translated():
        if client is None:
            return _by_threads(things, total)
        if total is None or not progress.is_listened_to():
            return dask.compute(*things)
        return _watched(client, things, total)


def keep(things: Sequence[Any]) -> list:
    """Compute lazy objects and keep them on the workers."""
    with _translated():
        return list(dask.persist(*things))


def tree(parts: Sequence[Any], add: Callable[[list], Any]) -> Any:
    """The sum of lazy parts, in their order, as a tree."""
    adding, level = dask.delayed(add, pure=False), list(parts)
    while len(level) > 1:
        level = [adding(level[i : i + FAN]) if i + 1 < len(level) else level[i] for i in range(0, len(level), FAN)]
    return level[0]


def n_parallel_tasks() -> int:
    """How many tasks run at once."""
    client = active_client()
    return threads.n_threads() if client is None else sum(client.nthreads().values())


def budget() -> float:
    """The caller's memory budget in MiB, which is sent along with the work."""
    return get_config()["working_memory"]


@contextmanager
def as_one_of_many(working_memory: float) -> Iterator[None]:
    """The context of a task: one thread, because Dask uses the others, the caller's memory budget, no progress."""
    quiet = progress.listen(lambda *event: None)  # the caller counts rows itself
    with threads.single_threaded(), config_context(working_memory=working_memory), quiet:
        yield


def report_rows(n_rows: int) -> None:
    """Report, from a task on a worker, that rows are done."""
    with suppress(ValueError):  # in a thread of this process, not on a worker
        get_worker().log_event(TOPIC, n_rows)


def _n_bytes(thing: Any) -> int:
    if isinstance(thing, tuple | list):
        return sum(map(_n_bytes, thing))
    if is_dataclass(thing) and not isinstance(thing, type):
        return sum(map(_n_bytes, vars(thing).values()))
    return sizeof(thing)


def _same(thing: Any) -> Any:
    return thing


def _by_threads(things: tuple, total: int | None) -> tuple:
    done = 0

    def count(key: Any, value: Any, *rest: Any) -> None:
        nonlocal done
        rows = getattr(value, "n_done", 0)
        done += rows
        if total is not None and rows:
            progress.report("rows", min(done, total), total)

    with threads.single_threaded_blas(), Callback(posttask=count):
        return dask.compute(*things)


def _watched(client: Client, things: tuple, total: int) -> tuple:
    """The values from a cluster whose workers report rows; capped at ``total``, because repeated work reports again."""
    reported = [0]

    def add(event: tuple) -> None:
        reported[0] += int(event[1])

    client.subscribe_topic(TOPIC, add)
    try:
        futures = client.compute(list(things))
        waiting = True
        while waiting:
            with suppress(TimeoutError):
                wait(futures, timeout=POLL)
                waiting = False
            progress.report("rows", min(reported[0], total), total)
        return tuple(client.gather(futures))
    finally:
        client.unsubscribe_topic(TOPIC)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn errors that Dask cannot repair into one clear error."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            "one of the chunks has crashed several workers, probably because it does not fit into their memory: make "
            "the chunks smaller with X.rechunk, or use workers with more memory."
        ) from error
    except (CommClosedError, CancelledError, ClosedClientError, TimeoutError) as error:
        raise ClusterError(
            "the connection to the Dask scheduler was lost, and the work with it: start the cluster again, connect, "
            "and repeat the call."
        ) from error
