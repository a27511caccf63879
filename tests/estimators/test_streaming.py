import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers import rows
from preimage import Chunks, KernelPCA, progress
from preimage.features import Nystrom, RandomFourier
from preimage.io import chunks
from preimage.io.chunks import as_chunks
from preimage.kernels import Gaussian

X = rows(600, 3)
MODEL = KernelPCA(5, kernel=Gaussian(1.5), approximation=Nystrom(X[:60]), random_state=0)


def fitted(source=X):
    return clone(MODEL).fit(source)


def sources(folder):
    np.save(folder / "rows.npy", X)
    return {
        "path": folder / "rows.npy",
        "name": str(folder / "rows.npy"),
        "memmap": np.load(folder / "rows.npy", mmap_mode="r"),
        "list": Chunks([X[:100], X[100:101], X[101:]]),
        "function": Chunks(lambda: (X[i : i + 7] for i in range(0, 600, 7))),
    }


@pytest.mark.parametrize("name", ["path", "name", "memmap", "list", "function"])
def test_rows_may_come_from_anywhere(name, tmp_path):
    source, whole = sources(tmp_path)[name], fitted()
    model = fitted(source)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(source), whole.transform(X), atol=1e-10)
    codes = model.transform(source, out=tmp_path / "codes.npy")
    assert isinstance(codes, np.memmap)
    np.testing.assert_allclose(np.load(tmp_path / "codes.npy"), whole.transform(X), atol=1e-10)
    assert {path.name for path in tmp_path.iterdir()} == {"rows.npy", "codes.npy"}


@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist, pd.DataFrame, sp.csr_array], ids=lambda f: f.__name__)
def test_codes_of_rows_in_memory_may_go_to_a_file(kind, tmp_path):
    model, given = KernelPCA(3, random_state=0).fit(kind(X[:100])), kind(X)
    np.testing.assert_allclose(model.transform(given, out=tmp_path / "codes.npy"), model.transform(given), atol=1e-12)


def test_exact_fits_read_files_too(tmp_path):
    for source in list(sources(tmp_path).values())[:3]:
        found, expected = (KernelPCA(4, random_state=0).fit(rows).eigenvalues_ for rows in (source, X))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_landmarks_and_scale_may_come_from_a_sample_of_the_stream():
    blocks = Chunks([X[:300], X[300:]])
    model = KernelPCA(4, approximation=100, random_state=0).fit(blocks)
    exact = KernelPCA(4, kernel=model.kernel_).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=0.02)


def test_a_small_budget_changes_nothing_but_the_blocks():
    with config_context(working_memory=0.1):
        small = fitted()
    np.testing.assert_allclose(small.eigenvalues_, fitted().eigenvalues_, rtol=1e-10)


def test_partial_fits_are_one_fit():
    model, whole = clone(MODEL), fitted()
    for part in np.array_split(X, 7):
        model.partial_fit(part)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-10)
    np.testing.assert_allclose(model.trace_error_, whole.trace_error_, rtol=1e-8)
    assert model.decomposition_.moments.n == 600


def test_merged_halves_are_one_fit():
    whole, merged = fitted(), fitted(X[:250]).merge(fitted(X[250:]))
    np.testing.assert_allclose(merged.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(merged.transform(X), whole.transform(X), atol=1e-10)
    np.testing.assert_allclose(merged.score_samples(X), whole.score_samples(X), atol=1e-10)


def test_what_cannot_be_merged_is_refused():
    other = KernelPCA(5, kernel=Gaussian(1.5), approximation=Nystrom(X[1:61])).fit(X)
    with pytest.raises(ValueError, match="different landmarks or kernels"):
        fitted().merge(other)
    with pytest.raises(ValueError, match="fitted without an approximation"):
        fitted().merge(KernelPCA(5).fit(X))


def test_the_first_rows_fix_scale_and_landmarks():
    model = KernelPCA(3, approximation=40, random_state=0).partial_fit(X[:300])
    kernel, landmarks = model.kernel_, model.decomposition_.points
    model.partial_fit(10 * X[300:])
    assert model.kernel_ == kernel
    np.testing.assert_array_equal(model.decomposition_.points, landmarks)


def test_kept_rows_are_a_uniform_sample_of_all_that_came(monkeypatch):
    monkeypatch.setattr("preimage.decomposition.on_features.SAMPLE", 50)
    shares = []
    for seed in range(40):
        model = KernelPCA(2, kernel=Gaussian(1.5), approximation=Nystrom(X[:20]), random_state=seed)
        for part in (X[:100], X[100:200], X[200:400]):
            model.partial_fit(part)
        kept = model.decomposition_.inputs
        assert len(kept) == 50
        shares.append([np.isin(kept[:, 0], part[:, 0]).mean() for part in (X[:100], X[100:200], X[200:400])])
    np.testing.assert_allclose(np.mean(shares, axis=0), [0.25, 0.25, 0.5], atol=0.05)


def test_what_cannot_be_streamed_is_refused():
    assert not hasattr(KernelPCA(), "partial_fit")
    with pytest.raises(AttributeError) as refused:
        KernelPCA().partial_fit(X)
    assert "exact kernel PCA needs all rows" in str(refused.value.__cause__ or refused.value)
    with pytest.raises(ValueError, match="exact kernel PCA needs all rows"):
        KernelPCA().fit(Chunks([X]))
    with pytest.raises(TypeError, match="read only once"):
        Chunks(iter([X]))
    with pytest.raises(TypeError, match="an iterable of blocks"):
        Chunks(3)
    with pytest.raises(ValueError, match="equal width"):
        fitted(Chunks([X, X[:, :2]]))
    with pytest.raises(ValueError, match="no rows"):
        fitted(Chunks([]))
    with pytest.raises(ValueError, match="NaN"):
        fitted(Chunks([X, X * np.nan]))
    with pytest.raises(ValueError, match="2 features, but this model expects 3"):
        fitted().transform(Chunks([X[:, :2]]))


def test_samples_of_chunks_are_uniform():
    numbers = np.arange(40.0)[:, None]
    for blocks in (Chunks([numbers[:5], numbers[5:]]), as_chunks(numbers)):
        drawn = np.concatenate([blocks.sample(10, np.random.default_rng(s))[:, 0] for s in range(400)])
        counts = np.bincount(drawn.astype(int), minlength=40)
        np.testing.assert_allclose(counts, 100, atol=5 * np.sqrt(75))
        assert len(np.unique(blocks.sample(100, np.random.default_rng(0)))) == 40


# Progress and interruption


def test_progress_counts_rows():
    seen = []
    with progress.listen(lambda *report: seen.append(report)):
        fitted(Chunks([X[:400], X[400:]]))
    assert [report for report in seen if report[0] == "rows"] == [("rows", 400, 600), ("rows", 600, 600)]


def interrupt(stage, done, total):
    raise KeyboardInterrupt


@pytest.mark.parametrize("source", [X, Chunks([X[:300], X[300:]])], ids=["memory", "chunks"])
def test_an_interrupted_fit_leaves_the_estimator_unfitted(source):
    model = clone(MODEL)
    with pytest.raises(KeyboardInterrupt), progress.listen(interrupt):
        model.fit(source)
    assert vars(model) == vars(clone(MODEL)) | {"approximation": model.approximation}
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_an_interrupted_fit_leaves_the_estimator_as_it_was():
    model = fitted(X[:300])
    before = model.transform(X)
    for again in (model.fit, model.partial_fit, KernelPCA(5, solver="block_krylov").fit):
        with pytest.raises(KeyboardInterrupt), progress.listen(interrupt):
            again(X)
    np.testing.assert_array_equal(model.transform(X), before)


def test_an_interrupted_transform_leaves_no_file(tmp_path):
    def broken():
        yield X[:100]
        if len(walks) > 1:
            raise KeyboardInterrupt
        yield X[100:]

    walks, blocks = [1], Chunks(broken)
    assert blocks.shape == (600, 3)
    walks.append(2)
    (tmp_path / "codes.npy").write_bytes(b"as it was")
    with pytest.raises(KeyboardInterrupt):
        fitted().transform(blocks, out=tmp_path / "codes.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["codes.npy"]
    assert (tmp_path / "codes.npy").read_bytes() == b"as it was"


# Codes in a file


class FullDisk:
    """A file on a disk with room for 1000 bytes."""

    def __init__(self, file):
        self.file, self.room = file, 1000

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *error):
        return self.file.__exit__(*error)

    def write(self, data):
        self.room -= len(memoryview(data).cast("B"))
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.file.write(data)


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path, monkeypatch):
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda *arguments: FullDisk(real(*arguments)))
    with pytest.raises(OSError, match="No space left"):
        fitted().transform(X, out=tmp_path / "codes.npy")
    assert not list(tmp_path.iterdir())


def test_threads_that_write_the_same_file_leave_one_whole_answer(tmp_path):
    """Each answer is 1 or 2 throughout; a mixture of two would hold both."""
    start = threading.Barrier(2)

    def write(number):
        found = set()
        start.wait()
        for _ in range(20):
            blocks = (np.full((50, 2), float(number)) for _ in range(40))
            found.add(tuple(np.unique(chunks.save_rows(tmp_path / "codes.npy", blocks, (2000, 2), float))))
        return found

    with ThreadPoolExecutor(2) as pool:
        found = set().union(*pool.map(write, (1, 2)))
    assert found <= {(1.0,), (2.0,)}
    assert [path.name for path in tmp_path.iterdir()] == ["codes.npy"]


# What cannot take more rows


def test_a_compressed_model_refuses_more_rows_and_keeps_what_it_knows():
    small = fitted().compress(20)
    before = small.transform(X)
    for add in (lambda: small.partial_fit(X[:50]), lambda: small.merge(fitted()), lambda: fitted().merge(small)):
        with pytest.raises(ValueError, match=r"cannot take more rows: .*compressed since"):
            add()
    np.testing.assert_array_equal(small.transform(X), before)


def test_a_model_that_was_fitted_exactly_refuses_more_rows():
    model = KernelPCA(3).fit(X).set_params(approximation=20)
    with pytest.raises(ValueError, match="it was fitted without an approximation"):
        model.partial_fit(X[:50])
    assert model.decomposition_.points.shape == X.shape


def test_a_seed_gives_the_same_model_from_memory_and_from_a_file(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    for approximation in (40, RandomFourier(60)):
        one, other = (
            KernelPCA(4, kernel=Gaussian(1.5), approximation=approximation, random_state=0).fit(source)
            for source in (X, tmp_path / "rows.npy")
        )
        np.testing.assert_allclose(other.transform(X), one.transform(X), atol=1e-9)
