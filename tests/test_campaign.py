"""A short part of the campaign, with fixed seeds, and what it found."""

import json
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
from sklearn import config_context

import preimage
from preimage import Denoiser, InvertibleKernelPCA, KernelPCA
from preimage.eigen import PowerDeflation
from preimage.exceptions import ConvergenceWarning, DataFileError, ModelFileError
from preimage.features import RandomFourier
from preimage.gram.operators import Stored
from preimage.kernels import Gaussian, Polynomial, Sigmoid

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "campaign"))
SIGNAL = np.sin(np.arange(1200) / 9) + 0.1 * np.random.default_rng(0).standard_normal(1200)


def no_failures(tallies):
    for tally in tallies:
        assert tally.cases
        assert not tally.failures, str(tally)


def test_mutated_model_files_are_refused_or_work():
    from files import model_files

    no_failures(model_files(60, seed=1))


def test_mutated_data_files_are_refused_or_read():
    from files import data_files, data_folders

    no_failures(data_files(10, seed=1))
    no_failures(data_folders(10, seed=1))


def test_extreme_numbers_give_finite_answers_or_a_sentence():
    from numerics import numerics

    no_failures(numerics(60, seed=1))


def test_interrupted_calls_leave_all_as_it_was():
    from interruption import calls_interrupted

    no_failures(calls_interrupted(6, seed=1))


def test_hostile_names_act_neither_on_the_console_nor_in_a_page():
    from forked import Ended
    from names import _Active, _is_harmless, hostile_names

    no_failures(hostile_names(2, seed=1))
    assert not _is_harmless(Ended(0, "", "\x1b[31mred"))
    for page in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<a href='javascript:alert(1)'>"):
        assert _Active.found_in(page)


def test_threads_and_forks_give_the_answers_of_one_thread():
    from crowds import threads_and_forks

    no_failures(threads_and_forks(16, seed=1))


@pytest.mark.parametrize("scale", [1e300, 1e150, 1e-160])
def test_numbers_without_cubes_are_refused_in_a_sentence(scale, capfd):
    for denoise, values in (("denoise_signal", SIGNAL), ("denoise_image", SIGNAL.reshape(30, 40))):
        with pytest.raises(ValueError, match="multiply them by a constant"):
            getattr(Denoiser(random_state=0), denoise)(scale * values)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_power_iteration_keeps_the_precision(dtype):
    X = np.random.default_rng(0).standard_normal((30, 4)).astype(dtype)
    kpca, dense = (KernelPCA(2, kernel="linear", solver=solver, random_state=0).fit(X) for solver in ("power", "dense"))
    assert kpca.eigenvalues_.dtype == kpca.transform(X).dtype == dtype
    # A Ritz value of residual r is off by at most r; the tolerance of the solver is 10 √n ε of the largest.
    bound = max(1e-10, 10 * np.sqrt(30) * np.finfo(dtype).eps) * dense.eigenvalues_[0]
    np.testing.assert_allclose(kpca.eigenvalues_, dense.eigenvalues_, rtol=0, atol=2 * bound)


def test_ratios_of_an_indefinite_kernel_sum_to_one_at_most():
    X = np.random.default_rng(0).standard_normal((24, 1)) * np.ones(4)
    with pytest.warns(UserWarning, match="negative"):
        kpca = KernelPCA(2, kernel=Sigmoid(1.0, -0.5)).fit(X)
    assert kpca.explained_variance_ratio_.sum() <= 1 + 1e-12


def test_ratios_of_single_precision_sum_to_one_at_most():
    X = np.random.default_rng(0).standard_normal((240, 1))
    X[0] *= 1e12
    ratios = InvertibleKernelPCA(2, n_features=20, random_state=0).fit(X.astype(np.float32)).explained_variance_ratio_
    assert ratios.sum(dtype=float) <= 1 + 2 * np.finfo(np.float32).eps  # the round-off of two quotients


@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_single_precision_refuses_length_scales_without_a_square(scale):
    X = (scale * np.random.default_rng(0).standard_normal((20, 3))).astype(np.float32)
    for call in (lambda: Gaussian(scale)(X, X), lambda: KernelPCA(2, kernel=Gaussian(scale)).fit(X)):
        with pytest.raises(ValueError, match=r"single precision|squares overflow"):
            call()
    np.testing.assert_allclose(Gaussian(scale)(X.astype(float), X.astype(float)).diagonal(), 1)


def test_answers_that_overflow_are_refused_and_not_written(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 3))
    kpca = KernelPCA(2, kernel=Polynomial(degree=3)).fit(X)
    for options in ({}, {"out": tmp_path / "codes.npy"}):
        with pytest.raises(ValueError, match="overflows for these rows"):
            kpca.transform(1e120 * X, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("approximation", [None, 10])
def test_kernel_values_that_overflow_are_refused_at_fit(approximation, capfd):
    X = 1e110 * np.random.default_rng(0).standard_normal((24, 4))
    with pytest.raises(ValueError, match="bring the columns to a smaller scale"):
        KernelPCA(2, kernel=Polynomial(degree=3), approximation=approximation, random_state=0).fit(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("solver", ["dense", "block_krylov", "lanczos", "power"])
@pytest.mark.parametrize(("dtype", "scale"), [(np.float32, 1e-21), (np.float64, 1e-160)])
def test_kernel_values_without_their_digits_are_refused_at_fit(solver, dtype, scale):
    X = np.random.default_rng(0).standard_normal((24, 2)).astype(dtype) * dtype(scale)
    with pytest.raises(ValueError, match="bring the columns to a larger scale"):
        KernelPCA(2, kernel="linear", solver=solver, random_state=0).fit(X)


def test_features_whose_covariance_overflows_are_refused_at_fit():
    with pytest.raises(ValueError, match="bring the columns to a smaller scale"):
        KernelPCA(2, kernel=Polynomial(degree=3), approximation=10, random_state=0).fit(1e30 * np.eye(24))


def test_rows_whose_squares_overflow_are_refused_at_fit_by_kernels_that_need_none():
    X = 1e200 * np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match="their squares overflow"):
        KernelPCA(2, kernel="laplacian").fit(X)


def test_power_iteration_on_round_off_ends_early():
    class RoundOff(Stored):
        products = 0

        def __matmul__(self, vectors):
            self.products += 1
            return super().__matmul__(vectors)

    noise = np.random.default_rng(0).standard_normal((30, 30))
    operator = RoundOff(noise - noise.T + np.diag([1.0, -1.0] * 15))  # with no dominant eigenvalue
    with pytest.warns(ConvergenceWarning):
        PowerDeflation(max_iter=20).solve(operator, 2, np.random.default_rng(0))
    assert operator.products <= (2 + 3) * 20 + 2


def test_denoising_keeps_single_precision():
    X = np.random.default_rng(0).standard_normal((24, 4)).astype(np.float32)
    kpca = KernelPCA(2, random_state=0)
    single, double = kpca.fit(X).denoise(X), kpca.fit(X.astype(float)).denoise(X.astype(float))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-3)


@pytest.mark.parametrize("preimage", ["wiener", "one_step", "nearest", "distance", "learned"])
def test_denoising_obeys_the_budget_and_keeps_nothing(preimage):
    rng = np.random.default_rng(0)
    kpca = KernelPCA(4, preimage=preimage, random_state=0).fit(rng.standard_normal((400, 5)))
    kpca.denoise(rng.standard_normal((10, 5)))  # prepares what depends on the model alone
    noisy, budget = rng.standard_normal((8000, 5)), 4 * 2**20
    with config_context(working_memory=budget / 2**20):
        tracemalloc.start()
        try:
            found = kpca.denoise(noisy)
            kept, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert kept < 2 * found.nbytes  # all kernel values of the rows would be 8000 × 400 numbers, 24 MiB
    assert peak < 2 * budget + 4 * noisy.nbytes


def test_threads_that_write_the_same_file_leave_a_whole_one(tmp_path):
    rng = np.random.default_rng(0)
    kpca = KernelPCA(2).fit(rng.standard_normal((20, 3)))
    given = [rng.standard_normal((3000, 3)) for _ in range(2)]
    expected = [kpca.transform(X) for X in given]
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda X: np.array(kpca.transform(X, out=tmp_path / "codes.npy")), given * 10):
            assert any(np.array_equal(found, codes) for codes in expected)
    assert [file.name for file in tmp_path.iterdir()] == ["codes.npy"]


def damaged_model(path, change):
    """Save a model after a change of its parts that its constructors allow."""
    kpca = KernelPCA(2, approximation=RandomFourier(20), random_state=0).fit(
        np.random.default_rng(0).standard_normal((20, 3))
    )
    change(kpca)
    kpca.save(path)


@pytest.mark.parametrize("seed", [None, -1, 1.5])
def test_model_files_without_a_seed_are_refused(tmp_path, seed):
    damaged_model(tmp_path / "m.npz", lambda kpca: setattr(kpca, "_seed", seed))
    with pytest.raises(ModelFileError, match="its seed is"):
        preimage.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"offsets": np.zeros(1)}, "eigenvalue, offset or residual"),
        ({"kernel": RandomFourier(20)}, "no kernel"),
        ({"inputs": (1.0, 2.0)}, "training rows"),
        ({"inputs": None}, "training rows"),
        ({"inputs": np.full((20, 3), 1e300)}, "training rows"),
        ({"inputs": np.zeros((20, 2))}, "training rows"),
    ],
)
def test_model_files_with_parts_that_only_preimages_need_are_checked(tmp_path, parts, message):
    damaged_model(
        tmp_path / "m.npz", lambda kpca: setattr(kpca, "decomposition_", replace(kpca.decomposition_, **parts))
    )
    with pytest.raises(ModelFileError, match=message):
        preimage.load(tmp_path / "m.npz")


def test_stores_that_run_code_or_read_other_files_are_refused(tmp_path):
    sources = pytest.importorskip("preimage.distributed.sources")
    h5py = pytest.importorskip("h5py")

    store = tmp_path / "evil.zarr"
    store.mkdir()
    about = {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|O", "order": "C", "fill_value": None}
    (store / ".zarray").write_text(json.dumps(about | {"compressor": None, "filters": [{"id": "pickle"}]}))
    with pytest.raises(DataFileError, match="can run code"):
        sources.open_store(store)
    (tmp_path / "secret").write_bytes(bytes(64))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", (4, 2), "f8", external=[(str(tmp_path / "secret"), 0, 64)])
    with pytest.raises(DataFileError, match="another file"):
        sources.open_store(tmp_path / "a.h5")


def test_workers_without_the_library_are_refused(monkeypatch):
    cluster = pytest.importorskip("preimage.distributed.cluster")

    class Lacking:
        def nthreads(self):
            return {"tcp://a": 1, "tcp://b": 1}

        def get_versions(self, packages):
            return {
                "workers": {"tcp://a": {"packages": {"preimage": "1"}}, "tcp://b": {"packages": {"preimage": None}}}
            }

    monkeypatch.setattr(cluster, "active_client", Lacking)
    with pytest.raises(cluster.ClusterError, match="tcp://b cannot import preimage"):
        cluster.check_workers("gaussian")
    with pytest.raises(cluster.ClusterError, match="lock cannot be sent to the Dask workers"):
        cluster.check_workers(Lock())
