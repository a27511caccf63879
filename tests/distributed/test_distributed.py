import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.sizeof import sizeof
from sklearn.base import clone

from console import call
from distributed import Client, LocalCluster
from preimage import Denoiser, KernelKMeans, KernelPCA, load, progress
from preimage.datasets import s_curve, three_clusters
from preimage.distributed import cluster, connected, fitting
from preimage.distributed.rows import ChunkedRows
from preimage.eigen import BlockKrylov
from preimage.exceptions import ClusterError
from preimage.features import Nystrom, RandomFourier
from preimage.features.landmarks import KMeans, RPCholesky, Uniform
from preimage.gram import threads
from preimage.kernels import Exponential, Gaussian, Linear, scales
from preimage.preimages import Learned

X = s_curve(1200, random_state=0).X
CHUNKS = {"even": (400, 400, 400), "uneven": (1, 799, 0, 37, 363), "one": (1200,)}
SETTINGS = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}


def spread(rows, chunks="even"):
    sizes = CHUNKS[chunks] if isinstance(chunks, str) else chunks
    return da.from_array(rows, chunks=(sizes, (rows.shape[1],)))


def machine(approximation, **options):
    return KernelPCA(4, kernel=Gaussian(1.0), approximation=approximation, random_state=0, **options)


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process of its own."""
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(**SETTINGS, env=environment) as local, Client(local, set_as_default=False) as found:
            yield found


@pytest.fixture(params=["threads", "processes"])
def engine(request):
    """Work on the threads of this process, and on worker processes."""
    if request.param == "threads":
        yield request.param
    else:
        with request.getfixturevalue("client").as_current():
            yield request.param


APPROXIMATIONS = {
    "points": Nystrom(X[::40]),
    "uniform": Nystrom(30, Uniform()),
    "pivots": Nystrom(30, RPCholesky(n_rows=500)),
    "pivots among all": Nystrom(30, RPCholesky(n_rows=5000)),
    "means": Nystrom(30, KMeans()),
    "all rows": Nystrom(5000),
    "frequencies": RandomFourier(60),
}


@pytest.mark.parametrize("approximation", APPROXIMATIONS.values(), ids=APPROXIMATIONS)
def test_a_fit_on_chunks_is_the_fit_on_one_machine(approximation):
    rows = X[:600]
    alone = machine(approximation).fit(rows)
    for sizes in ((600,), (200, 200, 200), (1, 0, 499, 100)):
        found = machine(approximation).fit(spread(rows, sizes))
        np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(found.transform(rows), alone.transform(rows), atol=1e-8)
        np.testing.assert_allclose(found.explained_variance_ratio_, alone.explained_variance_ratio_, rtol=1e-8)
        assert found.trace_error_ == pytest.approx(alone.trace_error_, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("kind", ["points", "pivots", "frequencies"])
@pytest.mark.parametrize("chunks", CHUNKS)
def test_workers_in_processes_of_their_own_give_the_same(client, kind, chunks):
    approximation = APPROXIMATIONS[kind]
    alone = machine(approximation).fit(X)
    with client.as_current():
        found = machine(approximation).fit(spread(X, chunks))
        codes = found.transform(spread(X, chunks)).compute()
    np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(codes, alone.transform(X), atol=1e-8)


def test_the_order_of_chunks_and_the_number_of_workers_change_nothing(client):
    parts = [spread(X[:500], (500,)), spread(X[500:], (700,))]
    approximation = Nystrom(X[::40])
    with client.as_current():
        there = machine(approximation).fit(da.concatenate(parts))
        back = machine(approximation).fit(da.concatenate(parts[::-1]))
    alone = machine(approximation).fit(da.concatenate(parts))  # threads
    for found in (there, back):
        np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)
        np.testing.assert_allclose(found.transform(X), alone.transform(X), atol=1e-8)


@pytest.mark.parametrize("rule", ["median", "mean", None])
def test_rules_for_length_scales_see_the_same_rows(rule):
    kernel = Exponential(rule) + Linear()
    alone = KernelPCA(3, kernel=kernel, approximation=20, random_state=0).fit(X)
    found = KernelPCA(3, kernel=kernel, approximation=20, random_state=0).fit(spread(X))
    assert found.kernel_ == alone.kernel_
    assert scales.takes_rows(kernel)
    assert not scales.takes_rows(alone.kernel_)


def test_what_a_model_says_of_chunks_is_lazy_and_what_it_says_of_rows(engine):
    model = machine(40).fit(X)
    chunks = spread(X, "uneven")
    gaps = X[:200].copy()
    gaps[::3, 1] = np.nan
    codes = model.transform(X)
    for lazy, value in [
        (model.transform(chunks), codes),
        (model.inverse_transform(spread(codes, "uneven")), model.inverse_transform(codes)),
        (model.denoise(chunks), model.denoise(X)),
        (model.score_samples(chunks), model.score_samples(X)),
        (model.impute(spread(gaps, (50, 150))), model.impute(gaps)),
    ]:
        assert isinstance(lazy, da.Array)
        assert (lazy.shape, lazy.dtype) == (value.shape, value.dtype)
        np.testing.assert_allclose(lazy.compute(), value, atol=1e-8)


def test_single_precision_stays_and_whole_numbers_become_double():
    model = machine(40).fit(spread(X.astype(np.float32)))
    assert model.eigenvalues_.dtype == np.float32
    assert model.transform(spread(X.astype(np.float32))).compute().dtype == np.float32
    whole = np.round(10 * X).astype(int)
    model = KernelPCA(4, kernel=Gaussian(10.0), approximation=40, random_state=0)
    found, alone = clone(model).fit(spread(whole)), model.fit(whole)
    np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)


def test_fit_transform_fits_and_is_lazy():
    found = machine(40).fit_transform(spread(X))
    assert isinstance(found, da.Array)
    np.testing.assert_allclose(found.compute(), machine(40).fit(X).transform(X), atol=1e-8)


@pytest.mark.parametrize("storage", ["auto", "memory", "recompute"])
def test_the_whole_kernel_matrix_on_the_workers_has_the_same_components(engine, storage):
    solver = BlockKrylov(storage=storage, tol=1e-10, block_size=8)
    alone = KernelPCA(4, kernel=Gaussian(1.0), solver="dense").fit(X)
    found = KernelPCA(4, kernel=Gaussian(1.0), solver=solver, random_state=0).fit(spread(X))
    np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(found.transform(X[:50]), alone.transform(X[:50]), atol=1e-8)


def test_an_exact_fit_takes_no_other_solver():
    with pytest.raises(ValueError, match=r"needs solver=BlockKrylov\(\), not Dense"):
        KernelPCA(4, solver="dense").fit(spread(X))


def test_clusters_are_those_of_one_machine(engine):
    rows = three_clusters(random_state=0).X
    alone = KernelKMeans(3, approximation=40, random_state=0).fit(rows)
    chunks = spread(rows, (37, 0, 53))
    found = KernelKMeans(3, approximation=40, random_state=0).fit(chunks)
    np.testing.assert_array_equal(found.labels_, alone.labels_)
    assert found.inertia_ == pytest.approx(alone.inertia_, rel=1e-8)
    np.testing.assert_array_equal(found.predict(chunks).compute(), alone.predict(rows))
    np.testing.assert_allclose(found.transform(chunks).compute(), alone.transform(rows), atol=1e-7)


def test_threads_that_answer_chunks_share_the_model_and_learn_its_way_back_once(monkeypatch):
    prepared, plain = [], Learned.prepare
    monkeypatch.setattr(Learned, "prepare", lambda *args: prepared.append(1) or plain(*args))
    model = KernelPCA(4, approximation=40, preimage=Learned(), random_state=0).fit(X)
    with dask.config.set(scheduler="threads", num_workers=4):
        first, second = (model.denoise(spread(X, (100,) * 12)).compute() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, model.denoise(X), atol=1e-9)
    assert prepared == [1]


def test_a_denoiser_cleans_chunks():
    rng = np.random.default_rng(0)
    noisy = X[:300] + 0.1 * rng.standard_normal((300, 3))
    model = Denoiser(noise=0.1, n_landmarks=50, n_stages=1, random_state=0).fit(noisy)
    found = model.transform(spread(noisy, (100, 200)))
    assert found.shape == noisy.shape
    np.testing.assert_allclose(found.compute(), model.transform(noisy), atol=1e-8)


def slow_chunk(block, seconds=0.5):
    time.sleep(seconds)
    return block


def test_a_worker_killed_in_the_middle_of_a_fit_changes_nothing(client):
    chunks = spread(X, (100,) * 12).map_blocks(slow_chunk, dtype=float)
    pids = list(client.run(os.getpid).values())
    killer = threading.Timer(1.2, os.kill, (pids[0], signal.SIGKILL))
    with client.as_current():
        killer.start()
        found = machine(Nystrom(X[::40])).fit(chunks)
        killer.join()
        client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != set(pids), "nobody was killed"
    alone = machine(Nystrom(X[::40])).fit(X)
    np.testing.assert_allclose(found.eigenvalues_, alone.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(found.transform(X), alone.transform(X), atol=1e-8)


def test_a_lost_scheduler_is_a_sentence_and_the_estimator_stays_as_it_was(scheduler):
    address, process = scheduler
    worker = started("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
    model = machine(Nystrom(X[::40]))
    try:
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(ClusterError, match="was lost"),
            connected(address),
        ):
            cluster.active_client().wait_for_workers(1, timeout=30)
            threading.Timer(1.0, process.kill).start()
            model.fit(spread(X, (100,) * 12).map_blocks(slow_chunk, dtype=float))
    finally:
        worker.kill()
        worker.wait()
    assert not hasattr(model, "decomposition_")


def test_a_cluster_without_workers_is_refused(scheduler):
    with connected(scheduler[0]), pytest.raises(ClusterError, match="has no workers"):
        machine(30).fit(spread(X))


def started(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def scheduler(tmp_path):
    """The address of a scheduler without workers, and its process."""
    place = tmp_path / "scheduler.json"
    process = started(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(place)
    )
    try:
        for _ in range(300):
            if place.exists() and place.read_text().strip().endswith("}"):
                break
            time.sleep(0.1)
        yield json.loads(place.read_text())["address"], process
    finally:
        process.kill()
        process.wait()


def test_an_address_where_nobody_answers_is_a_sentence(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with (
        pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def with_nan():
    rows = X.copy()
    rows[801, 1] = np.nan
    return spread(rows)


def with_infinity():
    rows = X.copy()
    rows[5, 2] = np.inf
    return spread(rows)


def with_types():
    kinds = [np.float64, np.float32, np.float64]
    return spread(X).map_blocks(lambda block, block_id: block.astype(kinds[block_id[0]]), dtype=float)


BAD = {
    "unknown sizes": (lambda: spread(X)[spread(X)[:, 0] > 0], r"unknown sizes: call X\.compute_chunk_sizes"),
    "split columns": (lambda: da.from_array(X, chunks=(400, 2)), r"split the columns into 2 parts.*rechunk"),
    "types": (with_types, "chunk 1 of the Dask array holds float32, but the array declares float64"),
    "nan": (with_nan, "chunk 2 of the Dask array holds NaN .*, first in its row 1, column 1"),
    "infinity": (with_infinity, "chunk 0 of the Dask array holds an infinite number, first in its row 5, column 2"),
    "no rows": (lambda: spread(X)[:0], "has no rows"),
    "one row": (lambda: spread(X)[:1], "at least 2 rows"),
    "words": (lambda: spread(X.astype(str)), "not numbers"),
    "three axes": (lambda: da.zeros((2, 2, 2)), "3 axes"),
}


@pytest.mark.parametrize(("make", "sentence"), BAD.values(), ids=BAD)
def test_bad_arrays_get_a_sentence_each_and_leave_the_estimator_as_it_was(make, sentence):
    model = machine(Nystrom(X[::40])).fit(X)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=sentence):
        model.fit(make())
    assert vars(model) == before


def test_nan_is_named_by_its_chunk_from_a_worker_too(client):
    with client.as_current(), pytest.raises(ValueError, match="chunk 2 of the Dask array holds NaN"):
        machine(Nystrom(X[::40])).fit(with_nan())


def test_rows_of_another_width_are_refused_before_any_work():
    model = machine(30).fit(X)
    with pytest.raises(ValueError, match="has 2 columns, but this model has 3 columns"):
        model.transform(spread(X[:, :2]))
    with pytest.raises(ValueError, match="has 3 columns, but this model has 4 components"):
        model.inverse_transform(spread(X))
    with pytest.raises(ValueError, match="out is for rows in memory"):
        model.transform(spread(X), out="codes.npy")


def test_no_data_are_in_the_graph():
    job = fitting.Job(machine(500).fit(X).decomposition_.features, [np.arange(3)] * 1000, 64)
    made = da.zeros((1_000_000, 3), chunks=(1000, 3))
    part = cluster.tree(ChunkedRows.of(made).map(dask.delayed(0)), fitting._sum)
    assert len(pickle.dumps(job)) > 2e6
    assert len(pickle.dumps(dict(part.__dask_graph__()))) < 1e6
    assert 1000 < len(dict(part.__dask_graph__())) < 1300


def test_dask_knows_how_large_the_moments_are():
    moments = machine(Nystrom(X[::40])).fit(X).decomposition_.moments
    size = sizeof(fitting.ChunkMoments(moments, X) + fitting.ChunkMoments(moments, X[:0]))
    assert moments.scatter.nbytes + X.nbytes < size < 1.1 * (moments.scatter.nbytes + X.nbytes)


def test_progress_counts_all_rows(engine):
    heard = []
    with progress.listen(lambda stage, done, total: heard.append((stage, done, total))):
        machine(Nystrom(X[::40])).fit(spread(X, (100,) * 12).map_blocks(slow_chunk, 0.05, dtype=float))
    counts = [done for stage, done, total in heard if stage == "rows"]
    assert counts == sorted(counts)
    assert {total for stage, _, total in heard if stage == "rows"} == {1200}
    assert counts[-1] <= 1200
    if engine == "threads":
        assert counts == list(range(100, 1201, 100))


def test_a_model_fitted_on_chunks_is_saved_like_any(tmp_path):
    model = machine(30).fit(spread(X))
    model.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").transform(X), model.transform(X))


def test_blas_has_its_threads_back_when_the_last_of_several_holders_lets_go():

    info = [part["num_threads"] for part in threads._controller().info()]
    first, second = threads.single_threaded_blas(), threads.single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert [part["num_threads"] for part in threads._controller().info() if part["user_api"] == "blas"] == [1] * sum(
        part["user_api"] == "blas" for part in threads._controller().info()
    )
    second.__exit__(None, None, None)
    assert [part["num_threads"] for part in threads._controller().info()] == info


def test_only_a_dask_array_loads_dask():
    code = (
        "import sys, numpy as np; from preimage import KernelPCA;"
        "KernelPCA(2, approximation=10).fit(np.random.default_rng(0).standard_normal((50, 3)));"
        "assert 'dask' not in sys.modules and 'preimage.distributed' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, cwd=Path(__file__).parents[1])


def write_zarr(folder):
    spread(X).to_zarr(folder / "rows.zarr")
    return "rows.zarr"


def write_hdf5(folder):
    import h5py

    with h5py.File(folder / "rows.h5", "w") as file:
        file["X"], file["names"] = X, [b"a"]
    return "rows.h5"


def write_stack(folder):
    (folder / "rows").mkdir()
    for number in range(12):
        np.save(folder / "rows" / f"{number}.npy", X[100 * number : 100 * (number + 1)])
    return "rows"


def write_tables(folder):
    import pyarrow
    from pyarrow import parquet

    (folder / "tables").mkdir()
    for number in range(3):
        part = X[400 * number : 400 * (number + 1)]
        table = pyarrow.table({name: np.ascontiguousarray(column) for name, column in zip("abc", part.T, strict=True)})
        parquet.write_table(table, folder / "tables" / f"part-{number}.parquet", row_group_size=150)
    return "tables"


STORES = {"zarr": write_zarr, "hdf5": write_hdf5, "stack of arrays": write_stack, "tables": write_tables}
FIT = ["--components", "3", "--kernel", "gaussian:length_scale=1", "--approximation", "30"]


@pytest.mark.parametrize("write", STORES.values(), ids=STORES)
def test_the_command_line_takes_stores(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    store = write(tmp_path)
    for source in ("rows.npy", store):
        ran(["fit", source, "-o", f"{source}-model.npz", *FIT])
        ran(["transform", f"{source}-model.npz", source, "-o", f"{source}-codes.npy"])
    np.testing.assert_allclose(np.load(f"{store}-codes.npy"), np.load("rows.npy-codes.npy"), atol=1e-8)
    ran(["score", f"{store}-model.npz", store, "-o", "scores.csv"])
    model = load(f"{store}-model.npz")
    np.testing.assert_allclose(np.loadtxt("scores.csv", skiprows=1), -model.decomposition_.residual(X), atol=1e-8)
    assert (list(getattr(model, "feature_names_in_", "")) == list("abc")) == (store == "tables")


def test_the_command_line_uses_the_cluster_of_a_scheduler(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    address = client.scheduler.address
    ran(["fit", "rows.npy", "-o", "there.npz", *FIT, "--scheduler", address])
    ran(["fit", "rows.npy", "-o", "here.npz", *FIT])
    ran(["transform", "there.npz", "rows.npy", "-o", "codes.npy", "--scheduler", address])
    np.testing.assert_allclose(np.load("codes.npy"), load("here.npz").transform(X), atol=1e-8)


def test_the_command_line_says_in_a_sentence_what_is_wrong_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    np.save("rows.npy", X)
    Path("rows.csv").write_text("1,2\n3,4\n")
    (tmp_path / "mixed").mkdir()
    np.save("mixed/0.npy", X)
    np.save("mixed/1.npy", X[:, :2])
    Path("bad.h5").write_text("no such format")
    for arguments, sentence in [
        (["rows.npy", "--scheduler", "tcp://127.0.0.1:9"], "no Dask scheduler answers at tcp://127.0.0.1:9"),
        (["mixed"], "1.npy holds float64 of shape (1200, 2), but"),
        (["bad.h5"], "bad.h5 is empty, damaged, or not what its ending says"),
    ]:
        result = call("fit", *arguments, "-o", "model.npz", *FIT)
        assert result.exit_code == 1
        assert sentence in result.output
        assert "Traceback" not in result.output
        assert not Path("model.npz").exists()


def ran(arguments):
    result = call(*arguments)
    assert result.exit_code == 0, result.output
