import threading
import time

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from helpers import rows
from preimage import cores, tiles
from preimage.kernels import Function, Polynomial


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def threads(request, monkeypatch):
    monkeypatch.setattr(cores, "n_threads", lambda: request.param)
    return request.param


def test_work_is_spread_over_threads_with_one_blas_thread_each(monkeypatch):
    monkeypatch.setattr(cores, "n_threads", lambda: 2)
    meeting = threading.Barrier(2, timeout=20)

    def task(_):
        meeting.wait()  # passes only if two tasks run at once
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threadpool_info()
    assert all(set(inside) == {1} for inside in cores.spread(task, range(4)))
    assert threadpool_info() == before


def test_results_keep_the_order_of_the_tasks(threads):
    assert cores.spread(lambda task: task**2, range(20)) == [task**2 for task in range(20)]
    assert cores.spread(lambda task: task, []) == []


def test_an_exception_in_a_thread_comes_out_and_stops_the_work(threads):
    calls = []

    def function(X, Y):
        calls.append(1)
        time.sleep(0.01)
        raise NotFittedError("the third wheel")

    with pytest.raises(NotFittedError, match="the third wheel"):
        tiles.gram(Function(function), rows(512 * 12, 1))
    assert len(calls) < 14  # of 28 tiles


def test_threads_obey_the_callers_floating_point_settings(threads):
    X = 1e200 * rows(1100, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isinf(tiles.gram(Polynomial(gamma=1.0), X)).any()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        tiles.gram(Polynomial(gamma=1.0), X)


def test_tasks_that_spread_theirs_do_it_in_their_own_thread_with_their_share(threads):
    def inner(_):
        return threading.current_thread().name, cores.working_bytes()

    with sklearn.config_context(working_memory=300):
        found = cores.spread(lambda _: (inner(0), cores.spread(inner, range(3))), range(20))
    for outer, inside in found:
        assert set(inside) == {outer}
        assert outer[1] == 300 * 2**20 // threads
