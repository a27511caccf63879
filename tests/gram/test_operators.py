import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from helpers import KERNELS, centring, prescribed, rows, sparse_rows
from preimage.gram import operators, slicing
from preimage.gram.operators import (
    Centred,
    Packed,
    Stored,
    Symmetric,
    Tiled,
    choose_storage,
    gram_operator,
    matrix_operator,
)
from preimage.kernels import Function, Gaussian, Linear, Polynomial

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
every_storage = pytest.mark.parametrize("storage", ["memory", "square", "recompute"])


def centred(K):
    H = centring(len(K))
    return H @ K @ H


@every_kernel
@every_storage
def test_the_centred_gram_matrix_is_hkh_and_its_rows_sum_to_zero(kernel, storage, monkeypatch):
    monkeypatch.setattr(slicing, "TILE", 16)
    X = rows(50, 3) + 0.5
    K = kernel(X, X)
    operator, _ = gram_operator(kernel, X, center=True, storage=storage)
    scale = np.abs(K).max()
    product = operator @ np.eye(50)
    np.testing.assert_allclose(product, centred(K), atol=1e-12 * scale)
    np.testing.assert_allclose(operator.dense(), centred(K), atol=1e-12 * scale)
    np.testing.assert_allclose(operator.dense().sum(axis=1), 0, atol=1e-12 * 50 * scale)
    np.testing.assert_allclose(operator @ np.ones(50), 0, atol=1e-12 * 50 * scale)


@every_kernel
@pytest.mark.parametrize("center", [True, False])
def test_recomputed_and_stored_matrices_are_the_same_operator(kernel, center):
    X, V = rows(60, 3), rows(60, 4, seed=1)
    (stored, a), (tiled, b) = (gram_operator(kernel, X, center=center, storage=s) for s in ("memory", "recompute"))
    scale = np.abs(stored.dense()).max()
    np.testing.assert_allclose(tiled @ V, stored @ V, atol=1e-11 * scale)
    np.testing.assert_allclose(tiled @ V[:, 0], stored @ V[:, 0], atol=1e-11 * scale)
    np.testing.assert_allclose(tiled.T @ V, stored @ V, atol=1e-11 * scale)
    np.testing.assert_allclose(tiled.dense(), stored.dense(), atol=1e-12 * scale)
    np.testing.assert_allclose(a.row_means, b.row_means, atol=1e-12 * scale)
    assert a.trace == b.trace and a.mean_weight == b.mean_weight


@every_kernel
def test_statistics_are_row_means_their_mean_and_the_trace(kernel):
    X = rows(40, 3)
    K = kernel(X, X)
    _, statistics = gram_operator(kernel, X, center=True)
    np.testing.assert_allclose(statistics.row_means, K.mean(axis=1), rtol=1e-11, atol=1e-13)
    assert statistics.grand_mean == pytest.approx(K.mean(), rel=1e-10)
    assert statistics.trace == pytest.approx(np.trace(K), rel=1e-12)
    assert statistics.mean_weight == 1 / 40
    np.testing.assert_allclose(statistics.total_variance, np.trace(centred(K)), rtol=1e-10)


def test_uncentred_statistics_describe_a_mean_of_zero():
    X = rows(40, 3)
    operator, statistics = gram_operator(Gaussian(1.0), X, center=False)
    np.testing.assert_allclose(operator.dense(), Gaussian(1.0)(X, X), rtol=1e-12)
    np.testing.assert_array_equal(statistics.row_means, 0)
    assert statistics.grand_mean == statistics.mean_weight == 0
    assert statistics.total_variance == statistics.trace == 40


def test_the_trace_identity_of_the_linear_kernel_is_the_total_variance():
    X = rows(200, 5) * [1, 2, 3, 4, 5] + 10
    _, statistics = gram_operator(Linear(), X, center=True)
    np.testing.assert_allclose(statistics.total_variance, 200 * X.var(axis=0).sum(), rtol=1e-11)


def test_centring_any_symmetric_operator():
    A = prescribed(np.linspace(-2, 3, 30))
    operator, V = Centred(Stored(A.copy())), rows(30, 4)
    np.testing.assert_allclose(operator @ V, centred(A) @ V, atol=1e-13)
    np.testing.assert_allclose(operator.dense(), centred(A), atol=1e-14)
    np.testing.assert_array_equal(operator @ np.ones((30, 2)), 0)  # exactly
    np.testing.assert_array_equal(operator.operator.matrix, A)


def test_the_default_dense_form_multiplies_by_the_identity():
    A = prescribed(np.arange(1.0, 9.0))

    class Own(Symmetric):
        def _matmat(self, V):
            return A @ V

    np.testing.assert_allclose(Own(float, 8).dense(), A, rtol=1e-14)
    np.testing.assert_allclose(aslinearoperator(Own(float, 8)).rmatvec(np.ones(8)), A.sum(axis=0), rtol=1e-13)


@every_storage
@pytest.mark.parametrize("make", [rows, sparse_rows], ids=["dense", "csr"])
def test_float32_rows_give_a_float32_operator(make, storage):
    X = make(60, dtype="f4")
    operator, statistics = gram_operator(Gaussian(2.0), X, center=True, storage=storage)
    assert operator.dtype == operator.dense().dtype == (operator @ np.ones(60, "f4")).dtype == np.float32
    assert statistics.row_means.dtype == np.float32
    exact, _ = gram_operator(Gaussian(2.0), X.astype(float), center=True)
    np.testing.assert_allclose(operator.dense(), exact.dense(), atol=3e-6)


@every_storage
def test_whole_numbers_are_computed_with_as_real_numbers(storage):
    X = np.random.default_rng(0).integers(0, 5, (30, 3))
    operator, statistics = gram_operator(Gaussian(2.0), X, center=True, storage=storage)
    exact, expected = gram_operator(Gaussian(2.0), X.astype(float), center=True)
    np.testing.assert_allclose(operator @ np.eye(30), exact.dense(), atol=1e-14)
    np.testing.assert_allclose(statistics.row_means, expected.row_means, rtol=1e-13)


@pytest.mark.parametrize("center", [True, False])
def test_the_users_matrix_is_left_alone(center):
    K = Gaussian(1.0)(rows(30, 2), rows(30, 2))
    before = K.copy()
    operator, statistics = matrix_operator(K, center=center)
    operator.dense()[:] = np.nan
    np.testing.assert_array_equal(K, before)
    assert statistics.trace == pytest.approx(30)


def test_precomputed_values_give_the_operator_of_their_kernel():
    X = rows(40, 3)
    for center in (True, False):
        given, a = matrix_operator(Polynomial(0.5)(X, X), center=center)
        computed, b = gram_operator(Polynomial(0.5), X, center=center)
        np.testing.assert_allclose(given.dense(), computed.dense(), atol=1e-12 * np.abs(given.dense()).max())
        np.testing.assert_allclose(a.row_means, b.row_means, rtol=1e-11)
        assert a.trace == pytest.approx(b.trace) and a.grand_mean == pytest.approx(b.grand_mean)


@pytest.mark.parametrize("center", [True, False])
def test_nystrom_features_of_all_rows_are_a_root_of_the_matrix(center):
    X = rows(40, 3)
    operator, _ = gram_operator(Gaussian(1.0), X, center=center, storage="recompute")
    features = operator.features(np.arange(40))
    np.testing.assert_allclose(features @ features.T, operator @ np.eye(40), atol=1e-8)
    if not center:
        some = np.array([3, 8, 30])
        few = operator.features(some)
        assert few.shape == (40, 3)
        np.testing.assert_allclose(few @ few[some].T, Gaussian(1.0)(X, X[some]), atol=1e-12)


def test_products_with_a_stored_matrix_are_the_same_after_it_was_centred_in_place():
    X, V = rows(40, 3), rows(40, 2, seed=1)
    operator, _ = gram_operator(Gaussian(1.0), X, center=True, storage="square")
    before = operator @ V
    for _ in range(2):
        np.testing.assert_allclose(operator.dense() @ V, before, atol=1e-13)
        np.testing.assert_allclose(operator @ V, before, atol=1e-13)


def test_a_stored_matrix_is_centred_once():
    operator, _ = gram_operator(Gaussian(2.0), rows(600, 4), center=True, storage="square")
    first = operator.dense().copy()
    np.testing.assert_array_equal(operator.dense(), first)


# Storage


def test_the_matrix_is_stored_where_it_takes_half_of_the_free_memory(monkeypatch):
    monkeypatch.setattr(operators, "free_memory", lambda: 8 * 100**2)  # half of it for half of the matrix
    assert choose_storage("auto", 100, float) == "memory"
    assert choose_storage("auto", 101, float) == "recompute"
    assert choose_storage("auto", 141, "f4") == "memory"
    assert choose_storage("auto", 142, "f4") == "recompute"
    assert choose_storage("auto", 70, float, square=True) == "memory"
    assert choose_storage("auto", 71, float, square=True) == "recompute"
    assert choose_storage("memory", 10**6, float) == "memory"
    assert choose_storage("recompute", 1, float) == "recompute"
    X = rows(101, 2)
    assert isinstance(gram_operator(Gaussian(1.0), X[:100], center=False)[0], Packed)
    assert isinstance(gram_operator(Gaussian(1.0), X, center=False, storage="square")[0], Stored)
    assert isinstance(gram_operator(Gaussian(1.0), X, center=False)[0], Tiled)
    assert isinstance(gram_operator(Gaussian(1.0), X, center=True)[0], Centred)


def test_unknown_storage_is_refused():
    with pytest.raises(ValueError, match='storage must be "auto", "memory" or "recompute", not \'disk\''):
        choose_storage("disk", 10, float)


# Overflow


@every_storage
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n", [20, 600])
def test_a_matrix_that_overflows_is_refused_with_a_sentence(storage, center, n):
    with pytest.raises(
        ValueError, match=r"infinite or not numbers: bring the columns to a smaller scale .*StandardScaler"
    ):
        gram_operator(Polynomial(gamma=1.0), 1e150 * rows(n, 2), center=center, storage=storage)


@every_storage
@pytest.mark.parametrize("center", [True, False])
def test_a_function_that_gives_no_numbers_is_refused(storage, center):
    X = rows(30, 3)
    hollow = Function(lambda X, Y: np.where(X @ Y.T < -2, np.nan, 1.0))  # off the diagonal only
    assert np.isnan(hollow(X, X)).any() and np.isfinite(hollow.diagonal(X)).all()
    with pytest.raises(ValueError, match="the kernel matrix has values that are infinite or not numbers"):
        gram_operator(hollow, X, center=center, storage=storage)
