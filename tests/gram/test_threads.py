import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from helpers import rows
from preimage import KernelKMeans, KernelPCA
from preimage.eigen import lapack
from preimage.gram import threads, tiles
from preimage.kernels import Function, Gaussian, Polynomial


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def thread_count(request, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: request.param)
    return request.param


def test_work_is_spread_over_threads_with_one_blas_thread_each(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    meeting = threading.Barrier(2, timeout=20)

    def task(_):
        meeting.wait()  # passes only if two tasks run at once
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threadpool_info()
    assert all(set(inside) == {1} for inside in threads.parallel_map(task, range(4)))
    assert threadpool_info() == before


def test_results_keep_the_order_of_the_tasks(thread_count):
    assert threads.parallel_map(lambda task: task**2, range(20)) == [task**2 for task in range(20)]
    assert threads.parallel_map(lambda task: task, []) == []


def test_an_exception_in_a_thread_comes_out_and_stops_the_work(thread_count):
    calls = []

    def function(X, Y):
        calls.append(1)
        time.sleep(0.01)
        raise NotFittedError("the third wheel")

    with pytest.raises(NotFittedError, match="the third wheel"):
        tiles.gram(Function(function), rows(512 * 12, 1))
    assert len(calls) < 14  # of 28 tiles


def test_threads_obey_the_callers_floating_point_settings(thread_count):
    X = 1e200 * rows(1100, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.isinf(tiles.gram(Polynomial(gamma=1.0), X)).any()
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        tiles.gram(Polynomial(gamma=1.0), X)


def test_tasks_that_spread_theirs_do_it_in_their_own_thread_with_their_share(thread_count):
    def inner(_):
        return threading.current_thread().name, threads.working_bytes()

    with sklearn.config_context(working_memory=300):
        found = threads.parallel_map(lambda _: (inner(0), threads.parallel_map(inner, range(3))), range(20))
    for outer, inside in found:
        assert set(inside) == {outer}
        assert outer[1] == 300 * 2**20 // thread_count


# Limits


@pytest.fixture
def libraries(monkeypatch):
    """The limits as they are outside of the tests, on a machine of two cores whose BLAS has two threads."""
    monkeypatch.setattr(threads, "_library_threads", lambda: threads._hold.allowed())
    monkeypatch.setattr(threads, "n_cores", lambda: 2)
    with threadpool_limits(2):
        yield


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def threads_used(work):
    """The names of the threads that evaluate a kernel."""
    used = set()

    def function(X, Y):
        used.add(threading.current_thread().name)
        time.sleep(0.002)  # so that no thread does all of it before the others wake up
        return X @ Y.T

    work(Function(function))
    return used


def test_threads_follow_the_limits_of_numerical_libraries(libraries):
    assert threads.n_threads() == 2
    for kind in ("blas", "openmp", None):
        with threadpool_limits(1, user_api=kind):
            if any(part["user_api"] == kind for part in threadpool_info()) or kind is None:
                assert threads.n_threads() == 1
    with threads.single_threaded_blas():  # our own limit is not the user's
        assert threads.n_threads() == 2
    assert threads.n_threads() == 2


def in_a_new_process(code, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not done.returncode and not done.stderr, done.stderr
    return done.stdout.split()


COUNT = "from preimage.gram import threads; print(threads.n_threads())"


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
def test_threads_follow_the_environment(variable):
    if variable == "OPENBLAS_NUM_THREADS" and "openblas" not in str(threadpool_info()):
        pytest.skip("numpy has another BLAS")
    assert in_a_new_process(COUNT, **{variable: "1"}) == ["1"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_threads_follow_the_affinity_of_the_process():
    assert in_a_new_process("import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);" + COUNT) == ["1"]


def test_workers_of_joblib_share_the_cores():
    code = """
        import joblib
        from preimage.gram import threads

        if __name__ == "__main__":
            n = threads.n_threads()
            inside = joblib.Parallel(n_jobs=n)(joblib.delayed(threads.n_threads)() for _ in range(4))
            print(n, max(inside))
    """
    n, inside = map(int, in_a_new_process(code))
    assert inside * n <= max(n, 1)


@pytest.mark.parametrize("n_jobs, expected", [(None, 4), (-1, 4), (-2, 3), (1, 1), (3, 3), (9, 4), (-9, 1)])
def test_n_jobs_is_at_most_so_many_threads(n_jobs, expected, monkeypatch):
    monkeypatch.setattr(threads, "n_cores", lambda: 4)
    monkeypatch.setattr(threads, "_library_threads", lambda: 8)
    with threads.limited(n_jobs):
        assert threads.n_threads() == expected
        with threads.limited(2):
            assert threads.n_threads() == min(expected, 2)
        assert threads.n_threads() == expected
    assert threads.n_threads() == 4


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_other_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be None, a number of threads, or -1 for all cores, not"):
        KernelPCA(2, n_jobs=n_jobs).fit(rows(20, 2))


@pytest.mark.parametrize("n_jobs, most", [(1, 1), (None, 2)])
def test_estimators_use_no_more_threads_than_n_jobs(n_jobs, most, libraries):
    X = rows(900, 3)

    def work(kernel):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KernelPCA(2, kernel=kernel, solver="lanczos", random_state=0, n_jobs=n_jobs).fit(X)
            model.transform(X)
            model.score_samples(X)
            KernelKMeans(2, kernel=kernel, n_init=1, random_state=0, n_jobs=n_jobs).fit(X).predict(X)

    assert len(threads_used(work)) <= most + (most > 1)  # the calling thread does what is small
    assert blas_threads() == {2}


def test_blas_obeys_n_jobs_too(libraries):
    found = []
    kernel = Function(lambda X, Y: (found.append(blas_threads()), X @ Y.T)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KernelPCA(2, kernel=kernel, n_jobs=1, random_state=0).fit(rows(30, 3)).transform(rows(5, 3))
    assert found and all(inside == {1} for inside in found)
    assert blas_threads() == {2}


def test_blas_has_one_thread_but_in_large_calls_of_lapack(libraries):
    with threads.limited():
        assert threads.n_threads() == 2
        assert blas_threads() == {1}
        with threads.threaded_blas(threads.LARGE + 1):
            assert blas_threads() == {2}
            with threads.single_threaded_blas():
                assert blas_threads() == {1}
            assert blas_threads() == {2}
        with threads.threaded_blas(threads.LARGE):
            assert blas_threads() == {1}
    with threads.limited(1), threads.threaded_blas(threads.LARGE + 1):
        assert blas_threads() == {1}
    with threads.single_threaded(), threads.threaded_blas(threads.LARGE + 1):
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_large_eigenproblems_of_narrow_rows_have_all_threads(libraries, monkeypatch):
    found, routines = [], lapack._routines(np.dtype(float))
    if "stevd" not in routines:
        pytest.skip("scipy 1.14 leaves all pairs to divide and conquer")

    def reduce(*matrix, **settings):
        found.append(blas_threads())
        return routines["sytrd"](*matrix, **settings)

    monkeypatch.setattr(lapack, "_routines", lambda _: {**routines, "sytrd": reduce})
    KernelPCA(kernel=Gaussian(0.1)).fit(rows(1100, 2))
    assert found == [{2}]


def test_little_work_is_done_in_the_calling_thread(libraries):
    work = {name: lambda kernel, n=n: tiles.gram(kernel, rows(n, 3)) for name, n in (("little", 600), ("much", 4000))}
    assert threads_used(work["little"]) == {threading.current_thread().name}
    assert len(threads_used(work["much"]) - {threading.current_thread().name}) == 2


def test_several_holders_leave_the_least_of_their_limits(libraries):
    with threads._hold_blas(0, 2):
        assert blas_threads() == {2}
        with threads._hold_blas(0, 1):
            assert blas_threads() == {1}
        assert blas_threads() == {2}
    assert blas_threads() == {2}


@pytest.mark.parametrize("step", ["enter", "leave", "_apply"])
def test_an_interruption_leaves_blas_as_it_was(step, libraries, monkeypatch):
    """A key pressed before, in or after a step of the hold."""
    hold, original, pressed = threads._hold, getattr(threads._hold, step), []

    def interrupted(*arguments):
        original(*arguments)
        if not pressed:
            pressed.append(1)
            raise KeyboardInterrupt

    monkeypatch.setattr(hold, step, interrupted)
    with pytest.raises(KeyboardInterrupt), threads.single_threaded_blas():
        pass
    assert pressed and not hold.holders and blas_threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_while_a_thread_holds_blas_keeps_the_limit_and_works():
    """OpenBLAS, asked for more threads in such a child, can wait for ever."""
    code = """
        import os, threading
        from threadpoolctl import threadpool_info, threadpool_limits
        from preimage.gram import threads

        def blas():
            return sorted({part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"})

        before, held, over = blas(), threading.Event(), threading.Event()

        def hold():
            with threads.single_threaded_blas():
                held.set()
                over.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            with threads.single_threaded_blas(), threads.limited(1):
                pass
            os._exit(0 if blas() == [1] and threads.parallel_map(lambda task: 2 * task, range(9))[-1] == 16 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        over.set()
        thread.join()
        print(blas() == before)
    """
    assert in_a_new_process(code, PYTHONWARNINGS="ignore") == ["0", "True"]


@pytest.mark.parametrize("when", ["atexit.register(work)", "threading.Thread(target=late).start()"])
def test_work_is_done_while_python_ends(when):
    code = f"""
        import atexit, threading, time
        import numpy as np
        from preimage import KernelPCA
        from preimage.gram import threads

        X = np.random.default_rng(0).standard_normal((1500, 3))
        threads.n_threads = lambda: 2

        def work():
            print(KernelPCA(2, random_state=0).fit(X).transform(X).shape[0])

        def late():
            threading.main_thread().join()
            work()

        {when}
    """
    assert in_a_new_process(code) == ["1500"]
