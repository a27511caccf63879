"""A short part of the campaign, with fixed seeds, and what it found."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from preimage import Denoiser, KernelPCA
from preimage.kernels import Sigmoid

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
    from files import data_files

    no_failures(data_files(10, seed=1))


def test_interrupted_calls_leave_all_as_it_was():
    from interruption import calls_interrupted

    no_failures(calls_interrupted(6, seed=1))


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


def test_stores_that_run_code_or_read_other_files_are_refused(tmp_path):
    sources = pytest.importorskip("preimage.distributed.sources")
    h5py = pytest.importorskip("h5py")
    from preimage.exceptions import DataFileError

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
        cluster.check_workers()
