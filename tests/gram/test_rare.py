"""Columns in which few rows differ from the others: the same kernel values as from the plain formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preimage import KernelPCA
from preimage.gram import rare, slicing, tiles
from preimage.gram.prepared import prepare_rows
from preimage.kernels import Gaussian, RationalQuadratic

N, D, RARE_ONES = 700, 30, 18


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch):
    monkeypatch.setattr(rare, "WORTH", 1)
    monkeypatch.setattr(slicing, "TILE", 128)  # so that grids are also looked for in a few hundred rows


def pictures(n=N, seed=0, usual=0.0, share=0.03):
    """Rows with twelve columns of noise, and eighteen of a usual value from which few rows differ."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.standard_normal((n, D - RARE_ONES)), np.full((n, RARE_ONES), usual)])
    differs = rng.random((n, RARE_ONES)) < share
    X[:, -RARE_ONES:][differs] += 1 + rng.random(differs.sum())
    X[0, -RARE_ONES:] = usual
    return X[:, np.random.default_rng(1).permutation(D)]


def plain(X, Y, scale):
    """The Gaussian kernel from differences, in double precision."""
    X, Y = X.astype(float), Y.astype(float)
    return np.exp(-np.square(X[:, None] - Y).sum(axis=-1) / (2 * scale**2))


FORMS = {
    "double": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "on a grid": lambda X: np.rint(20 * X) / 20,
    "a view": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "in columns": np.asfortranarray,
    "an outlier": lambda X: np.vstack([X[:-1], 1e6 + X[-1:]]),
    "the first row differs everywhere": lambda X: np.vstack([X[:1] + 1, X[1:]]),
}


@pytest.mark.parametrize("usual", [0.0, 255.0, -1e3])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_kernel_values_are_those_of_the_formula(form, usual):
    X, new = form(pictures(usual=usual)), form(pictures(300, seed=5, usual=usual))
    bound = 1e-4 if X.dtype == np.float32 else 1e-10  # of preimage.kernels.geometry
    gram = tiles.gram(Gaussian(3.0), X)
    np.testing.assert_allclose(gram, plain(X, X, 3.0), atol=bound)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(tiles.cross(Gaussian(3.0), new, X), plain(new, X, 3.0), atol=bound)


@pytest.mark.parametrize("grid", [False, True])
def test_new_rows_may_differ_in_every_column(grid):
    """Noisy pictures beside clean ones: their rare columns are not sparse."""
    X = np.rint(20 * pictures()) if grid else pictures()
    new = X + np.random.default_rng(2).integers(-3, 4, X.shape)
    ready = prepare_rows(Gaussian(30.0), X, other=new)
    assert (ready.grid is not None) == grid
    assert ready.X.sparse is not None and ready.like(new).X.sparse is None
    np.testing.assert_allclose(tiles.cross(Gaussian(30.0), new, X), plain(new, X, 30.0), atol=1e-10)


def test_new_rows_may_differ_where_the_training_rows_are_constant():
    X = pictures()
    X[:, 3] = 7.0
    new = X[:200].copy()
    new[:, 3] += np.linspace(0, 2, 200)
    np.testing.assert_allclose(tiles.cross(Gaussian(3.0), new, X), plain(new, X, 3.0), atol=1e-10)


def test_rare_columns_are_sparse_and_others_are_not():
    X = pictures()
    usual = np.median(X, axis=0) == X
    ready = prepare_rows(Gaussian(3.0), X)
    np.testing.assert_array_equal(ready.X.columns.rare, np.flatnonzero(usual.mean(axis=0) > 0.9))
    np.testing.assert_array_equal(ready.X.sparse.toarray(), ready.X.rare.T)
    assert ready.X.sparse.nnz == (~usual[:, ready.X.columns.rare]).sum()
    assert prepare_rows(Gaussian(3.0), X[:, usual.mean(axis=0) < 0.5]).X.columns.common is None


def test_a_guess_that_was_wrong_costs_no_accuracy():
    """Columns that look rare in the sample, but are not, are multiplied as dense ones."""
    X = pictures(640)
    X[1::10] += 1
    X[2::10] += 2
    X[3::10] -= 1
    ready = prepare_rows(Gaussian(3.0), X)
    assert len(ready.X.columns.rare) and ready.X.sparse is None
    np.testing.assert_allclose(tiles.gram(Gaussian(3.0), X), plain(X, X, 3.0), atol=1e-10)


@given(st.integers(0, 2**31), st.floats(0, 0.3), st.sampled_from([np.float32, np.float64]))
@settings(deadline=None, max_examples=40)
def test_products_are_exact_for_whole_numbers(seed, share, dtype):
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 9, (150, 20)) * (rng.random((150, 20)) < np.linspace(0, share, 20))
    columns = rare.ColumnSplit.of(X.astype(dtype), len(X))
    parts = rare.Parted.empty(columns, X.shape, np.dtype(dtype))
    parts.fill(slice(None), (X - X[0]).astype(dtype))
    kept = np.concatenate([np.arange(20) if columns.common is None else columns.common, columns.rare])
    moved = (X - X[0])[:, kept]
    ready = parts.ready()
    np.testing.assert_array_equal(ready.inner_products(ready), moved @ moved.T)
    np.testing.assert_array_equal(ready[:70].inner_products(ready[70:]), moved[:70] @ moved[70:].T)


def test_the_model_is_that_of_rows_without_rare_columns():
    """A rotation leaves distances as they are, and no column rare."""
    X, kernel = pictures(900), RationalQuadratic(3.0)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
    ours, rotated = (KernelPCA(5, kernel=kernel, random_state=0).fit(rows) for rows in (X, X @ rotation))
    np.testing.assert_allclose(ours.eigenvalues_, rotated.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(ours.transform(X[:50])), np.abs(rotated.transform(X[:50] @ rotation)), atol=1e-9)
