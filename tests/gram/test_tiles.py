import tracemalloc

import numpy as np
import pytest
import sklearn

from helpers import KERNELS, rows, sparse_rows
from preimage import KernelPCA
from preimage.expansion import Expansion
from preimage.gram import slicing, threads, tiles
from preimage.kernels import Function, Gaussian, Laplacian, Matern, Polynomial

SIZES = [1, 2, 511, 512, 513, 1100]
FORMS = {
    "float64": (lambda n, seed: rows(n, 5, seed), 1e-12),
    "float32": (lambda n, seed: rows(n, 5, seed, "f4"), 3e-5),
    "csr": (lambda n, seed: sparse_rows(n, seed=seed), 1e-12),
}
MATERN = Matern(2.0, nu=2.5)

every_size = pytest.mark.parametrize("n", SIZES)
every_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def thread_count(request, monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: request.param)
    return request.param


def plain(kernel, X, Y):
    """The whole matrix in one call, in double precision."""
    X, Y = (Z.toarray() if hasattr(Z, "toarray") else Z for Z in (X, Y))
    return kernel(X.astype(float), Y.astype(float))


# Values


@every_size
@every_form
def test_gram_equals_the_plain_formula(n, form, thread_count):
    make, rtol = FORMS[form]
    X = make(n, 0)
    K = tiles.gram(MATERN, X)
    assert K.dtype == X.dtype
    np.testing.assert_allclose(K, plain(MATERN, X, X), rtol=rtol)
    np.testing.assert_array_equal(K, K.T)


@every_form
@pytest.mark.parametrize("n, m", [(1, 513), (511, 1), (512, 512), (513, 1100), (1100, 3)])
def test_cross_and_multiply_equal_the_plain_formula(n, m, form, thread_count):
    make, rtol = FORMS[form]
    X, Y = make(n, 0), make(m, 1)
    expected = plain(MATERN, X, Y)
    K = tiles.cross(MATERN, X, Y)
    assert K.dtype == X.dtype
    np.testing.assert_allclose(K, expected, rtol=rtol)
    V = rows(m, 3, seed=2)
    bound = rtol * np.abs(expected).sum(axis=1).max() * np.abs(V).max()
    np.testing.assert_allclose(tiles.multiply(MATERN, X, Y, V), expected @ V, atol=bound)
    np.testing.assert_allclose(tiles.multiply(MATERN, X, Y, V[:, 0]), expected @ V[:, 0], atol=bound)


@every_size
@every_form
def test_symmetric_products_equal_the_plain_formula(n, form, thread_count):
    make, rtol = FORMS[form]
    X = make(n, 0)
    expected = plain(MATERN, X, X)
    V = rows(n, 3, seed=2)
    bound = rtol * np.abs(expected).sum(axis=1).max() * np.abs(V).max()
    np.testing.assert_allclose(tiles.multiply_symmetric(MATERN, X, V), expected @ V, atol=bound)
    np.testing.assert_allclose(tiles.multiply_symmetric(MATERN, X, V[:, 0]), expected @ V[:, 0], atol=bound)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_kernel_gives_the_same_numbers_in_tiles(kernel, monkeypatch):
    monkeypatch.setattr(slicing, "TILE", 16)
    monkeypatch.setattr(tiles, "WIDE", 20)
    X, Y, V = rows(50, 3), rows(35, 3, seed=1), rows(50, 2, seed=2)
    np.testing.assert_allclose(tiles.gram(kernel, X), kernel(X, X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tiles.cross(kernel, X, Y), kernel(X, Y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tiles.multiply_symmetric(kernel, X, V), kernel(X, X) @ V, rtol=1e-9, atol=1e-10)


def test_float32_products_stay_float32_and_wider_weights_widen():
    X = rows(30, 3, dtype="f4")
    for product in (tiles.multiply_symmetric(MATERN, X, X), tiles.multiply(MATERN, X, X, X)):
        assert product.dtype == np.float32
    assert tiles.multiply(MATERN, X, X, X.astype(float)).dtype == np.float64


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_radial_gram_has_an_exact_diagonal_and_right_distances(offset):
    X = rows(600, 4) + offset
    K = tiles.gram(Gaussian(2.0), X)
    np.testing.assert_array_equal(np.diag(K), 1)
    exact = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)
    np.testing.assert_allclose(np.log(K), -exact / 8, rtol=1e-6)


# Work


class Counted:
    """A kernel that remembers the first rows of the tiles it was asked for; rows carry their number in column 0."""

    def __init__(self):
        self.kernel = Function(self)
        self.tiles = []

    def __call__(self, X, Y):
        self.tiles.append((int(X[0, 0]), len(X), int(Y[0, 0]), len(Y)))
        return np.minimum(X[:, :1], Y[:, 0]) + 1

    @property
    def entries(self):
        return sum(n * m for _, n, _, m in self.tiles)


def numbered(n):
    return np.arange(n, dtype=float)[:, None]


@every_size
@pytest.mark.parametrize("operation", ["gram", "multiply_symmetric"])
def test_each_off_diagonal_tile_is_computed_once(n, operation, thread_count):
    counted, X = Counted(), numbered(n)
    if operation == "gram":
        np.testing.assert_array_equal(tiles.gram(counted.kernel, X), np.minimum(X, X.T) + 1)
    else:
        tiles.multiply_symmetric(counted.kernel, X, np.ones((n, 1)))
    pairs = [(i, j) for i, _, j, _ in counted.tiles]
    assert len(set(pairs)) == len(pairs)
    assert not {(j, i) for i, j in pairs if i != j} & set(pairs)
    lengths = [length for i, length, j, _ in counted.tiles if i == j]
    assert len(lengths) == -(-n // slicing.TILE) and np.ptp(lengths) < len(lengths)
    assert counted.entries == (sum(lengths) ** 2 + sum(length**2 for length in lengths)) // 2


@pytest.mark.parametrize("n, m", [(1, 1), (513, 1100)])
def test_rectangular_work_is_each_entry_once(n, m, thread_count):
    for operation in (tiles.cross, lambda k, X, Y: tiles.multiply(k, X, Y, np.ones((m, 1)))):
        counted = Counted()
        operation(counted.kernel, numbered(n), numbered(m))
        assert counted.entries == n * m
        assert max(max(rows, columns) for _, rows, _, columns in counted.tiles) <= slicing.TILE


@pytest.mark.parametrize("n, length", [(0, 5), (1, 5), (5, 5), (11, 5)])
def test_slices_cover_everything_once(n, length):
    parts = slicing.slices(n, length)
    np.testing.assert_array_equal(np.concatenate([np.arange(n)[part] for part in parts] or [[]]), np.arange(n))
    assert all(part.stop - part.start <= length for part in parts)


# Memory

MIB = 2**20


def peak(function, *arguments):
    """Bytes allocated at the worst moment beyond what was there before, and the result."""
    tracemalloc.start()
    try:
        result = function(*arguments)
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


HUNGRY = {
    "gaussian": Gaussian(3.0),
    "matern": Matern(3.0, nu=2.5),
    "laplacian": Laplacian(0.1),
    "composed": Gaussian(3.0) + Matern(2.0, nu=2.5) * Polynomial(gamma=0.1),
}


@pytest.mark.parametrize("kernel", HUNGRY.values(), ids=HUNGRY)
@pytest.mark.parametrize("budget, d", [(2, 10), (8, 10), (6, 400)])
def test_products_stay_within_the_budget(kernel, budget, d, thread_count):
    X, Y, V = rows(800, d), rows(600, d, seed=1), rows(600, 4, seed=2)
    expected = kernel(X[:3], Y) @ V
    with sklearn.config_context(working_memory=budget):
        used, product = peak(tiles.multiply, kernel, X, Y, V)
        assert used - product.nbytes <= budget * MIB
        used, matrix = peak(tiles.cross, kernel, X, Y)
        assert used - matrix.nbytes <= budget * MIB
        used, symmetric = peak(tiles.multiply_symmetric, kernel, Y, V)
        assert used - (thread_count + 1) * symmetric.nbytes <= budget * MIB
    np.testing.assert_allclose(product[:3], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(matrix, kernel(X, Y), rtol=1e-9, atol=1e-9 * np.abs(matrix).max())


@pytest.mark.parametrize("kernel", [Gaussian(9.0), Matern(9.0, nu=2.5)], ids=["gaussian", "matern"])
def test_no_copy_of_points_larger_than_the_budget_is_made(kernel, thread_count):
    X, Y, V = rows(40, 300), rows(2500, 300, seed=1), rows(2500, 2, seed=2)
    assert Y.nbytes > 5 * MIB
    with sklearn.config_context(working_memory=4):
        used, product = peak(tiles.multiply, kernel, X, Y, V)
        assert used - product.nbytes <= 4 * MIB
        used, matrix = peak(tiles.cross, kernel, X, Y)
        assert used - matrix.nbytes <= 4 * MIB
        used, symmetric = peak(tiles.multiply_symmetric, kernel, Y, V)
        assert used - (thread_count + 1) * symmetric.nbytes <= 4 * MIB
    np.testing.assert_allclose(product, kernel(X, Y) @ V, rtol=1e-9, atol=1e-9)


def test_a_large_budget_takes_whole_tiles():
    with sklearn.config_context(working_memory=1024):
        counted = Counted()
        tiles.gram(counted.kernel, numbered(2 * slicing.TILE))
        assert {(n, m) for _, n, _, m in counted.tiles} == {(slicing.TILE, slicing.TILE)}


@pytest.mark.parametrize("budget", [4, 16])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(3.0, nu=2.5)], ids=["gaussian", "matern"])
def test_transform_holds_its_result_and_the_budget(budget, kernel):
    model = KernelPCA(8, kernel=kernel, solver="lanczos", random_state=0).fit(rows(800, 6))
    many = rows(8_000, 6, seed=1)
    with sklearn.config_context(working_memory=budget):
        used, codes = peak(model.transform, many)
        assert used <= codes.nbytes + budget * MIB
        used, scores = peak(model.score_samples, many)
        # Products with the axes and the mean are held at once, and the codes made of them.
        assert used <= 3 * codes.nbytes + 8 * scores.nbytes + budget * MIB


@pytest.mark.parametrize("kernel", HUNGRY.values(), ids=HUNGRY)
@pytest.mark.parametrize("budget", [2, 8])
def test_rows_of_an_expansion_stay_within_the_budget(kernel, budget, thread_count):
    points, weights, X = rows(700, 5), rows(900, 700, seed=1), rows(900, 5, seed=2)
    expansion = Expansion(kernel, points, weights)
    expected = expansion.gradient(X)
    with sklearn.config_context(working_memory=budget):
        used, gradient = peak(expansion.gradient, X)
        assert used - 2 * gradient.nbytes <= budget * MIB
        used, _ = peak(expansion.inner_paired, X)
        assert used <= budget * MIB
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_row_blocks_are_as_long_as_the_budget_allows():
    with sklearn.config_context(working_memory=1):
        assert [part.stop - part.start for part in slicing.row_blocks(100, MIB / 40)] == [40, 40, 20]
        assert len(list(slicing.row_blocks(5, 10 * MIB))) == 5  # never less than a row


@pytest.mark.parametrize("n", [1, 1023, 1025])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_a_stored_matrix_multiplies_as_it_would_by_itself(n, columns, thread_count):
    matrix, V = rows(n, n), np.random.default_rng(1).standard_normal((n, *columns))
    matrix += matrix.T
    np.testing.assert_allclose(tiles.multiply_stored(matrix, V), matrix @ V, rtol=1e-10, atol=1e-11)


def test_columns_without_variation_count_beside_rows_that_differ_in_them():
    X, Y = rows(40, 5), rows(30, 5, seed=1)
    X[:, [0, 3]] = 0.1, -7
    kernel = Gaussian(1.5)
    np.testing.assert_allclose(tiles.gram(kernel, X), kernel(X, X), rtol=1e-12)
    V = rows(40, 2, seed=2)
    np.testing.assert_allclose(tiles.multiply_symmetric(kernel, X, V), kernel(X, X) @ V, rtol=1e-11)
    np.testing.assert_allclose(tiles.cross(kernel, Y, X), kernel(Y, X), rtol=1e-12)
    assert tiles.gram(kernel, np.ones((7, 3))).min() == 1  # nothing varies


def test_sparse_rows_beside_dense_ones():
    X, Y = sparse_rows(30), rows(20, 12, seed=3) + 5
    for kernel in (Gaussian(4.0), Matern(3.0, nu=1.5)):
        expected = kernel(X.toarray(), Y)
        np.testing.assert_allclose(tiles.cross(kernel, X, Y), expected, atol=1e-12)
        np.testing.assert_allclose(
            tiles.multiply(kernel, X, Y, np.ones((20, 2))), expected @ np.ones((20, 2)), atol=1e-11
        )
        np.testing.assert_allclose(tiles.cross(kernel, Y, X), expected.T, atol=1e-12)
