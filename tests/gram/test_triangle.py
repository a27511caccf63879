import numpy as np
import pytest
import sklearn

from helpers import KERNELS, rows, sparse_rows, triangle_of
from preimage.gram import slicing, threads, tiles, triangle
from preimage.kernels import Gaussian

SIZES = [1, 40, 600, 3100]  # within a tile, of several, and of longer ones


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"], autouse=True)
def thread_count(request, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: request.param)


def symmetric(n):
    A = rows(n, n)
    return A + A.T


@pytest.mark.parametrize("n", SIZES)
def test_a_matrix_is_what_its_tiles_are(n):
    A, V = symmetric(n), rows(n, 3, seed=1)
    packed = triangle_of(A)
    assert packed.n == n and packed.dtype == float
    np.testing.assert_array_equal(packed.dense(), A)
    np.testing.assert_allclose(packed.multiply(V), A @ V, atol=1e-10)
    np.testing.assert_allclose(packed.multiply(V[:, 0]), A @ V[:, 0], atol=1e-10)


DATA = {name: (kernel, rows(50, 3)) for name, kernel in KERNELS.items()} | {"csr": (Gaussian(2.0), sparse_rows(50))}


@pytest.mark.parametrize("kernel, X", DATA.values(), ids=DATA)
def test_every_kernel_gives_its_matrix(kernel, X, monkeypatch):
    monkeypatch.setattr(slicing, "TILE", 16)
    expected = tiles.gram(kernel, X)
    packed = triangle.packed_gram(kernel, X)
    assert len(packed.blocks) == 10
    np.testing.assert_array_equal(packed.dense(), expected)


def test_float32_stays_float32():
    X = rows(700, 5, dtype="f4")
    packed = triangle.packed_gram(Gaussian(2.0), X)
    assert packed.dtype == packed.multiply(X).dtype == np.float32
    np.testing.assert_allclose(packed.dense(), Gaussian(2.0)(X.astype(float), X.astype(float)), rtol=3e-5)


@pytest.mark.parametrize("n", [1000, 5000])
def test_it_takes_little_more_than_half_of_the_square(n):
    packed = triangle.packed_gram(Gaussian(2.0), rows(n, 2, dtype="f4"))
    numbers = sum(block.size for block in packed.blocks)
    assert n * (n + 1) / 2 <= numbers <= n * (n + 2 * slicing.TILE) / 2
    base = packed.blocks[0].base
    assert all(block.base is base for block in packed.blocks) and base.size == numbers


def test_tiles_are_as_small_as_a_small_budget_wants():
    X = rows(400, 3)
    with sklearn.config_context(working_memory=1):
        packed = triangle.packed_gram(Gaussian(2.0), X)
    assert max(block.size for block in packed.blocks) < 200**2
    np.testing.assert_allclose(packed.dense(), Gaussian(2.0)(X, X), rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_columns_and_products_with_some_of_them_are_those_of_the_matrix(n):
    A, packed = symmetric(n), triangle_of(symmetric(n))
    which = np.random.default_rng(2).permutation(n)[: max(1, n // 3)]
    V = rows(len(which), 3, seed=1)
    np.testing.assert_array_equal(packed.diagonal(), A.diagonal())
    np.testing.assert_array_equal(packed.columns(which), A[:, which])
    np.testing.assert_allclose(packed.multiply_columns(which, V), A[:, which] @ V, atol=1e-10)
    np.testing.assert_allclose(packed.multiply_columns(which, V[:, 0]), A[:, which] @ V[:, 0], atol=1e-10)
    np.testing.assert_array_equal(packed.multiply_columns(which[:0], V[:0]), np.zeros((n, 3)))
