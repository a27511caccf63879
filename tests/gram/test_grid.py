import tracemalloc

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import rows
from preimage import KernelPCA
from preimage.gram import grid, prepared, slicing, threads, tiles, triangle
from preimage.gram.grid import EXACT, Grid, guess
from preimage.gram.prepared import prepare_rows
from preimage.kernels import Gaussian, Matern


def pixels(n, d=30, seed=0, largest=255):
    """Whole numbers of which most are small."""
    return np.floor((largest + 1) * np.random.default_rng(seed).random((n, d)) ** 3)


FORMS = {
    "counts": lambda k: k,
    "pixels of [0, 1]": lambda k: k / 255,
    "pixels of [-1, 1]": lambda k: 2 * k / 255 - 1,
    "far away": lambda k: k + 1e6,
    "tenths": lambda k: 0.1 * k,
    "turned": lambda k: 3 - k / 7,
    "large": lambda k: 1e100 * k,
    "tiny": lambda k: 1e-100 * k,
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@every_form
def test_the_step_is_found_and_rows_are_whole_numbers_of_it(form):
    k = pixels(300)
    X = form(k)
    found = guess(X, X.mean(axis=0))
    np.testing.assert_allclose(found.step, np.ptp(X) / np.ptp(k), rtol=1e-12)
    assert found.holds(X)
    numbers = found.numbers(X)
    np.testing.assert_array_equal(numbers, np.rint(numbers))
    np.testing.assert_array_equal(np.abs(numbers - numbers[0]), np.abs(k - k[0]))
    assert np.abs(numbers.mean(axis=0)).max() <= 0.5  # the origin is the point of the grid nearest to the mean


SPREAD = {
    "noise": lambda k: k + 1e-6 * rows(*k.shape),
    "rounded to single precision": lambda k: (k / 255).astype(np.float32).astype(float),
    "scaled column by column": lambda k: k / k.std(axis=0),
    "one value": lambda k: 0 * k,
    "too far apart": lambda k: 1e3 * k,
    "out of all proportion": lambda k: np.where(k > 100, 1e300, 1e-300 * k),
}


@pytest.mark.parametrize("form", SPREAD.values(), ids=SPREAD)
def test_other_rows_are_left_to_double_precision(form, recwarn):
    X = form(pixels(1000))
    if form is SPREAD["too far apart"]:
        X[0, 0] = 1  # so that the step is 1
    points = prepare_rows(Gaussian(100.0), X)
    assert points.grid is None and points.X.common.dtype == float
    assert not len(recwarn)


def test_single_precision_stays_as_it_is():
    assert prepare_rows(Gaussian(100.0), pixels(1000).astype("f4")).grid is None


@given(st.integers(0, 2**31), st.integers(1, 60), st.floats(0.5, 0.99))
@settings(deadline=None, max_examples=60)
def test_inner_products_are_exact_up_to_the_bound(seed, d, share):
    """With norms just below 2¹², as long as whole numbers allow, single precision makes no error at all."""
    rng = np.random.default_rng(seed)
    k = rng.standard_normal((40, d)) ** 3
    k = np.trunc(k * (np.sqrt(share * EXACT) / np.linalg.norm(k, axis=1, keepdims=True)))
    assert Grid(np.zeros(d), 1.0).holds(k)
    single = k.astype(np.float32)
    np.testing.assert_array_equal((single @ single.T).astype(int), k.astype(int) @ k.astype(int).T)
    k[-1, 0] = 4096
    assert not Grid(np.zeros(d), 1.0).holds(k)


@every_form
@pytest.mark.parametrize("kernel", [Gaussian, lambda scale: Matern(scale, nu=1.5)], ids=["gaussian", "matern"])
def test_kernel_values_are_those_of_double_precision(form, kernel, monkeypatch):
    monkeypatch.setattr(slicing, "TILE", 64)
    monkeypatch.setattr(prepared, "FEW", 0)
    X, Y = form(pixels(200)), form(pixels(150, seed=1))
    X[:, 3] = X[0, 0]  # a column that tells nothing apart
    kernel = kernel(np.ptp(X))
    ready = prepare_rows(kernel, Y, other=X)
    assert ready.grid is not None and ready.X.common.dtype == np.float32
    exact = kernel(X - Y[0], Y - Y[0])
    np.testing.assert_allclose(tiles.cross(kernel, X, Y), exact, rtol=1e-12)
    np.testing.assert_allclose(tiles.gram(kernel, X), kernel(X - X[0], X - X[0]), rtol=1e-12)
    V = rows(150, 3)
    np.testing.assert_allclose(tiles.multiply(kernel, X, Y, V), exact @ V, atol=1e-11)
    packed = triangle.packed_gram(kernel, X).dense()
    np.testing.assert_array_equal(packed, tiles.gram(kernel, X))
    np.testing.assert_array_equal(np.diag(packed), 1)


@pytest.mark.parametrize("dtype", ["f4", "u1", "i8"])
def test_counts_of_any_type_beside_double_precision(dtype):
    X, Y = pixels(1000).astype(dtype), pixels(1100, seed=1)
    kernel, exact = Gaussian(200.0), Gaussian(200.0)(X.astype(float), Y)
    assert prepare_rows(kernel, X, other=Y).grid is not None
    np.testing.assert_allclose(tiles.cross(kernel, X, Y), exact, rtol=1e-12)
    np.testing.assert_allclose(tiles.cross(kernel, Y, X), exact.T, rtol=1e-12)


def test_equal_rows_have_a_value_of_exactly_one():
    X = pixels(1000, 700, largest=90) / 255
    X[300] = X[7]
    assert tiles.gram(Gaussian(1.0), X)[7, 300] == 1


@pytest.mark.parametrize("which", [0, 1], ids=["new rows", "training rows"])
def test_one_row_beside_the_grid_is_enough_to_leave_it(which, monkeypatch):
    monkeypatch.setattr(slicing, "TILE", 64)
    X = [pixels(200), pixels(150, seed=1)]
    X[which][-1, 5] += 0.25
    kernel = Gaussian(300.0)
    assert prepare_rows(kernel, X[1], other=X[0]).grid is None
    np.testing.assert_allclose(tiles.cross(kernel, *X), kernel(*X), rtol=1e-12)


def test_rows_beyond_the_sample_are_looked_at(monkeypatch):
    monkeypatch.setattr(grid, "SAMPLE", 2)
    X = pixels(1000)
    X[1, 0] = 0.5
    assert guess(X, X.mean(axis=0)) is not None
    assert prepare_rows(Gaussian(300.0), X).grid is None


def test_the_budget_holds():
    X = pixels(1000, 40)
    kernel = Gaussian(300.0)
    expected = kernel(X, X) @ X
    with sklearn.config_context(working_memory=2):
        assert prepare_rows(kernel, X).grid is not None
        tracemalloc.start()
        try:
            product = tiles.multiply_symmetric(kernel, X, X)
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert used - (threads.n_threads() + 1) * product.nbytes <= 2 * 2**20
    np.testing.assert_allclose(product, expected, rtol=1e-11)


def test_kernel_pca_of_pixels_is_that_of_any_rows():
    """Noise of 1e-10 moves rows off the grid and eigenvalues by about as much."""
    X, new = pixels(1100) / 255, pixels(1000, seed=1) / 255
    assert prepare_rows(Gaussian(2.0), X, other=new).grid is not None
    model = KernelPCA(6, kernel=Gaussian(2.0), random_state=0).fit(X)
    other = KernelPCA(6, kernel=Gaussian(2.0), random_state=0).fit(X + 1e-10 * rows(*X.shape))
    np.testing.assert_allclose(model.eigenvalues_, other.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.transform(new)), np.abs(other.transform(new)), atol=1e-6)
