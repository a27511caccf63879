import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import KERNELS, rows, sparse_rows
from preimage import KernelPCA
from preimage.gram import prepared, rare, slicing, threads, tiles
from preimage.kernels import Exponential, Function, Gaussian, Linear, Matern, Polynomial, Sigmoid

MIXED = Gaussian(1.5) * Polynomial(0.2, coef0=1, degree=3)


@pytest.fixture
def preparations(monkeypatch):
    """The numbers of rows of all that is prepared."""
    seen, prepare = [], prepared.prepare_rows

    def counting(kernel, X, other=None):
        seen.append(X.shape[0])
        return prepare(kernel, X, other)

    monkeypatch.setattr(prepared, "prepare_rows", counting)
    monkeypatch.setattr(tiles, "prepare_rows", counting)
    return seen


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.2), Sigmoid(0.1, coef0=-0.5), MIXED, MIXED + Linear()])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_values_in_strips_are_those_of_the_formula(kernel, sparse):
    X, Y = (sparse_rows(700, d=12, seed=seed) for seed in (0, 1))
    expected = kernel(X.toarray(), Y.toarray())
    given = (X, Y) if sparse else (X.toarray(), Y.toarray())
    bound = 1e-13 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(tiles.cross(kernel, *given), expected, rtol=1e-12, atol=bound)
    gram = tiles.gram(kernel, given[0])
    np.testing.assert_array_equal(gram, gram.T)


def test_whole_numbers_are_not_truncated():
    X = np.arange(12).reshape(6, 2)
    ready = prepared.prepare_rows(Sigmoid(0.01, coef0=0), X)
    np.testing.assert_allclose(ready.values(ready), np.tanh(0.01 * X @ X.T), rtol=1e-12)


@pytest.mark.parametrize("combined", [lambda a, b: a * b, lambda a, b: a + b], ids=["product", "sum"])
def test_the_array_that_a_function_returns_is_not_written_to(combined):
    X = rows(30, 3)
    table = np.exp(-np.abs(X[:, :1] - X[:, 0]))
    before = table.copy()
    kernel = combined(Function(lambda A, B: table), Linear())
    ready = prepared.prepare_rows(kernel, X)
    np.testing.assert_allclose(ready.values(ready), combined(before, X @ X.T), rtol=1e-12)
    np.testing.assert_array_equal(table, before)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.PreimageWarning")
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("approximation", [None, 20])
def test_one_row_at_a_time_has_the_codes_of_all_at_once(kernel, approximation):
    X, new = rows(60, 3), rows(700, 3, seed=1)
    model = KernelPCA(2, kernel=kernel, approximation=approximation, random_state=0).fit(X)
    together = model.transform(new)
    alone = np.concatenate([model.transform(new[i : i + 1]) for i in range(20)])
    scale = np.abs(together).max()
    np.testing.assert_allclose(alone, together[:20], rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(
        model.score_samples(new[:5]), model.score_samples(new)[:5], rtol=1e-8, atol=1e-10 * scale
    )


def plain(kernel, X, Y):
    """Kernel values from differences, in double precision."""
    return kernel.profile(np.square(X[:, None].astype(float) - Y.astype(float)).sum(axis=-1))


FORMS = {
    "double": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "whole numbers": lambda X: np.rint(3 * X).astype(int),
    "in columns": np.asfortranarray,
    "a view": lambda X: np.repeat(X, 2, axis=0)[::2],
    "equal rows": lambda X: X[np.arange(len(X)) // 2],
}


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Exponential(2.0), Matern(2.0, nu=1.5)], ids=str)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_near_the_origin_are_not_moved_and_have_the_values_of_the_formula(form, kernel):
    X, new = form(rows(100, 6)), form(rows(40, 6, seed=1))
    assert isinstance(prepared.prepare_rows(kernel, X), prepared.AtOrigin)
    bound = 1e-4 if X.dtype == np.float32 else 1e-10  # of preimage.kernels.geometry
    gram = tiles.gram(kernel, X)
    np.testing.assert_allclose(gram, plain(kernel, X, X), atol=bound)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(tiles.cross(kernel, new, X), plain(kernel, new, X), atol=bound)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e150])
def test_new_rows_may_be_far_from_rows_near_the_origin(far):
    X, new = rows(100, 6), rows(40, 6, seed=1)
    new[::2] += far
    with np.errstate(over="ignore"):
        expected = plain(Gaussian(2.0), new, X)
    np.testing.assert_allclose(tiles.cross(Gaussian(2.0), new, X), expected, atol=1e-12)


def test_columns_that_are_0_in_all_rows_count_in_those_where_they_are_not():
    X, new = rows(100, 6), rows(40, 6, seed=1)
    X[:, [0, 4]] = 0
    points = prepared.prepare_rows(Gaussian(2.0), X)
    assert points.X.common.shape == (100, 4)
    np.testing.assert_allclose(tiles.gram(Gaussian(2.0), X), plain(Gaussian(2.0), X, X), atol=1e-12)
    np.testing.assert_allclose(tiles.cross(Gaussian(2.0), new, X), plain(Gaussian(2.0), new, X), atol=1e-12)
    np.testing.assert_allclose(tiles.cross(Gaussian(2.0), X, new), plain(Gaussian(2.0), X, new), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_rows_prepared_in_several_threads_are_those_of_one(dtype, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    monkeypatch.setattr(slicing, "STRIP", 2**12)
    monkeypatch.setattr(rare, "WORTH", 1)
    X = np.where(rows(2000, 12, seed=1) > np.linspace(0, 2, 12), rows(2000, 12), 0).astype(dtype)
    one = prepared.prepare_rows(Gaussian(2.0), X)
    monkeypatch.setattr(prepared, "MANY", X.size - 1)
    several = prepared.prepare_rows(Gaussian(2.0), X)
    assert len(one.X.rare) and one.X.common.size
    for part in ("common", "rare"):
        np.testing.assert_array_equal(getattr(one.X, part), getattr(several.X, part))
    np.testing.assert_array_equal(one.halves, several.halves)
    np.testing.assert_allclose(2 * one.halves, np.square(X - one.origin).sum(axis=1) * 2 / one.kernel.unit, rtol=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Polynomial(0.2), MIXED], ids=str)
def test_the_rows_of_a_tile_are_cut_once(kernel, monkeypatch):
    """Sparse rows, and rare columns of dense ones, are copied by every cut."""
    X, cuts = sparse_rows(1500, d=12), []
    cut = tiles.cut_rows
    monkeypatch.setattr(tiles, "cut_rows", lambda points, parts: cuts.append(len(parts)) or cut(points, parts))
    gram = tiles.gram(kernel, X)
    assert cuts == [len({rows.start for rows, _ in tiles.upper_tiles(X)})]
    np.testing.assert_allclose(gram, kernel(X.toarray(), X.toarray()), atol=1e-10 * np.abs(gram).max())


SIZES = [(1, 0, True), (1, 1e4, False), (1e-76, 0, True), (1e-78, 0, False), (1e76, 0, True)]


@pytest.mark.parametrize(("size", "offset", "near"), SIZES)
def test_rows_far_from_the_origin_or_of_extreme_size_are_moved(size, offset, near):
    X, kernel = rows(100, 6), Gaussian(2.0 * size)
    rows_near = isinstance(prepared.prepare_rows(kernel, size * (X + offset)), prepared.AtOrigin)
    assert rows_near is near
    np.testing.assert_allclose(
        tiles.gram(kernel, size * (X + offset)), plain(Gaussian(2.0), X, X), atol=1e-11 * (1 + offset)
    )


def test_codes_do_not_depend_on_the_rows_of_earlier_calls():
    X, new = rows(200, 6), rows(400, 6, seed=1)
    codes = []
    for first in (1, 100, 400):
        model = KernelPCA(3, kernel=Gaussian(2.0), random_state=0).fit(X)
        model.transform(new[:first])
        codes.append(model.transform(new[:50]))
    np.testing.assert_array_equal(codes[0], codes[1])
    np.testing.assert_array_equal(codes[0], codes[2])


def test_calls_with_few_rows_prepare_the_training_rows_once(preparations):
    X = rows(80, 3)
    model = KernelPCA(3, kernel=Gaussian(1.0)).fit(X)
    preparations.clear()
    for i in range(5):
        model.transform(X[i : i + 2] + 0.1)
        model.score_samples(X[i : i + 2] + 0.1)
    assert preparations == [80]


def test_a_model_that_was_used_is_not_larger_in_a_pickle():
    X = rows(500, 8)
    model = KernelPCA(3, kernel=Gaussian(1.0)).fit(X)
    before = len(pickle.dumps(model))
    model.transform(X[:3])
    assert len(pickle.dumps(model)) == before


def test_large_points_and_sparse_rows_are_not_kept(monkeypatch):
    X = rows(50, 3)
    model = KernelPCA(3, kernel=Gaussian(1.0)).fit(X)
    expected = model.transform(X[:2])
    np.testing.assert_allclose(model.transform(sp.csr_array(X[:2])), expected, rtol=1e-9)
    monkeypatch.setattr(prepared, "KEPT", 100)
    again = KernelPCA(3, kernel=Gaussian(1.0)).fit(X).decomposition_
    assert prepared.kept(again, again.kernel, again.points, X[:2]) is None
    np.testing.assert_allclose(again.codes(X[:2]), expected, rtol=1e-12)
