import itertools

import numpy as np
import pytest

from helpers import KERNELS, rows, sparse_rows, taylor_slope
from preimage import KernelPCA, decomposition, find_preimage, reduced_set
from preimage.expansion import Expansion
from preimage.kernels import Gaussian, Linear, Matern, Polynomial, Precomputed, knows


def quadratic_features(X, gamma=0.3, coef0=1.0):
    """φ with φ(x)·φ(y) = (γ x·y + c₀)²: all products of two coordinates of (√γ x, √c₀)."""
    Z = np.column_stack([np.sqrt(gamma) * X, np.full(len(X), np.sqrt(coef0))])
    return np.stack([Z[:, i] * Z[:, j] for i, j in itertools.product(range(Z.shape[1]), repeat=2)], axis=1)


FEATURES = {"linear": (Linear(), lambda X: X), "quadratic": (Polynomial(0.3, 1.0, 2), quadratic_features)}

explicit = pytest.mark.parametrize("kernel, features", FEATURES.values(), ids=FEATURES)
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture
def data():
    """Points, weights of four vectors, and new rows."""
    return rows(25, 3), rows(4, 25, seed=1), rows(7, 3, seed=2)


# Explicit features


@explicit
def test_the_features_belong_to_the_kernel(kernel, features, data):
    points, _, X = data
    np.testing.assert_allclose(features(X) @ features(points).T, kernel(X, points), rtol=1e-12)


@explicit
def test_answers_are_those_of_explicit_vectors(kernel, features, data):
    points, weights, X = data
    expansion, vectors = Expansion(kernel, points, weights), weights @ features(points)
    np.testing.assert_allclose(expansion.inner(X), vectors @ features(X).T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(expansion.inner_points(), vectors @ features(points).T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(expansion.norm2(), np.square(vectors).sum(axis=1), rtol=1e-10)
    distances = np.square(vectors[:, None] - features(X)[None]).sum(axis=2)
    np.testing.assert_allclose(expansion.distances2(X), distances, rtol=1e-9)
    np.testing.assert_allclose(expansion.inner_paired(X[:4]), np.sum(vectors * features(X[:4]), axis=1), rtol=1e-10)


@explicit
def test_expansions_answer_each_other_as_vectors_do(kernel, features, data):
    points, weights, X = data
    a, b = Expansion(kernel, points, weights), Expansion(kernel, X, rows(3, 7, seed=5))
    u, v = weights @ features(points), b.weights @ features(X)
    np.testing.assert_allclose(a.inner_expansion(b), u @ v.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b.inner_expansion(a), v @ u.T, rtol=1e-9, atol=1e-9)
    expected = np.square(u[:, None] - v[None]).sum(axis=2)
    np.testing.assert_allclose(a.distances2_expansion(b), expected, rtol=1e-9)


@explicit
def test_algebra_is_that_of_vectors(kernel, features, data):
    points, weights, X = data
    a, b = Expansion(kernel, points, weights), Expansion(kernel, X, rows(4, 7, seed=5))
    u, v = weights @ features(points), b.weights @ features(X)

    def assert_is(expansion, vectors):
        np.testing.assert_allclose(expansion.weights @ features(expansion.points), vectors, rtol=1e-12, atol=1e-12)

    assert_is(a + b, u + v)
    assert_is(a - b, u - v)
    assert_is(a + a, 2 * u)
    assert_is(a + b[1], u + v[1])  # one vector is added to all
    assert_is(a[2] - b, u[2] - v)
    assert_is(2.5 * a, 2.5 * u)
    assert_is(a * 2.5, 2.5 * u)
    factors = np.array([1.0, -2.0, 0.0, 3.0])
    assert_is(factors * a, factors[:, None] * u)
    assert_is(a * factors, factors[:, None] * u)
    assert (a + a).points is a.points


# Every kernel


@every_kernel
def test_norms_and_distances_are_the_quadratic_forms(kernel, data):
    points, weights, X = data
    K, k = kernel(points, points), kernel(X, points)
    expansion = Expansion(kernel, points, weights)
    norms = np.maximum(np.einsum("ji,ik,jk->j", weights, K, weights), 0)
    scale = np.abs(weights @ K @ weights.T).max()
    np.testing.assert_allclose(expansion.norm2(), norms, atol=1e-11 * scale)
    np.testing.assert_allclose(expansion.inner(X), weights @ k.T, atol=1e-11 * scale)
    expected = np.maximum(norms[:, None] + kernel.diagonal(X) - 2 * weights @ k.T, 0)
    np.testing.assert_allclose(expansion.distances2(X), expected, atol=1e-10 * scale)


@every_kernel
def test_paired_answers_are_the_diagonal_of_the_full_ones(kernel, data):
    points, weights, X = data
    expansion = Expansion(kernel, points, weights)
    full = expansion.inner(X[:4])
    np.testing.assert_allclose(expansion.inner_paired(X[:4]), np.diag(full), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if knows(k, "gradient") and k != Linear()], ids=repr)
def test_gradient_has_taylor_slope_two(kernel, data):
    points, weights, X = data
    expansion, X = Expansion(kernel, points, weights), X[:4]
    gradient = expansion.gradient(X)
    assert gradient.shape == X.shape
    for j in range(4):
        direction = np.random.default_rng(j).standard_normal(3) / 3
        slope = taylor_slope(
            lambda x, j=j: expansion[j].inner(x[None])[0, 0], gradient[j], X[j], direction, np.logspace(-2, -3.5, 8)
        )
        assert 1.85 < slope < 2.15


@every_kernel
def test_a_single_point_has_its_own_norm_and_no_distance_to_itself(kernel):
    X = rows(6, 3)
    expansion = Expansion(kernel, X, np.eye(6))
    diagonal = np.maximum(kernel.diagonal(X), 0)
    np.testing.assert_allclose(expansion.norm2(), diagonal, rtol=1e-12)
    scale = np.abs(kernel(X, X)).max()
    if kernel.positive_definite:  # a root of the distance turns round-off of 1e-16 into 1e-8
        np.testing.assert_allclose(np.diag(expansion.distances2(X)), 0, atol=2e-7 * scale)
        np.testing.assert_allclose(np.diag(expansion.distances2_expansion(expansion)), 0, atol=2e-7 * scale)


def test_sparse_and_many_points_give_the_same_answers():
    X, weights, Y = sparse_rows(700), rows(3, 700), sparse_rows(40, seed=9)
    for kernel in (Matern(2.0), Polynomial(0.2)):
        sparse, dense = Expansion(kernel, X, weights), Expansion(kernel, X.toarray(), weights)
        scale = np.abs(dense.inner(Y.toarray())).max()
        np.testing.assert_allclose(sparse.inner(Y), dense.inner(Y.toarray()), atol=1e-11 * scale)
        np.testing.assert_allclose(sparse.norm2(), dense.norm2(), rtol=1e-9)
        np.testing.assert_allclose(sparse.gradient(Y[:3].toarray()), dense.gradient(Y[:3].toarray()), atol=1e-9 * scale)
        together = sparse + Expansion(kernel, Y, rows(3, 40))
        assert together.points.shape == (740, 12) and hasattr(together.points, "toarray")


def test_float32_stays():
    expansion = Expansion(Gaussian(1.0), rows(20, 3, dtype="f4"), rows(2, 20, seed=1, dtype="f4"))
    X = rows(2, 3, seed=2, dtype="f4")
    for answer in (expansion.inner(X), expansion.norm2(), expansion.distances2(X), expansion.gradient(X)):
        assert answer.dtype == np.float32
    assert (2 * expansion + expansion).weights.dtype == np.float32


def test_points_known_by_number():
    K = Gaussian(1.0)(rows(12, 2), rows(12, 2))
    expansion = Expansion(Precomputed(K), np.arange(12)[:, None], rows(3, 12))
    np.testing.assert_allclose(expansion.norm2(), np.einsum("ji,ik,jk->j", expansion.weights, K, expansion.weights))
    np.testing.assert_allclose(expansion.inner(K[:4]), expansion.weights @ K[:4].T, rtol=1e-10)
    np.testing.assert_allclose(expansion.inner(np.arange(4)[:, None]), expansion.weights @ K[:4].T, rtol=1e-10)


# Batches


def test_choosing_vectors_keeps_a_batch(data):
    points, weights, _ = data
    expansion = Expansion(Gaussian(1.0), points, weights)
    assert len(expansion) == 4
    for which, rows_chosen in (
        (1, [1]),
        (-1, [3]),
        (slice(1, 3), [1, 2]),
        ([0, 3], [0, 3]),
        (np.arange(4) > 1, [2, 3]),
    ):
        np.testing.assert_array_equal(expansion[which].weights, weights[rows_chosen])


def test_truncation_drops_points_without_weight_and_nothing_else(data):
    points, weights, X = data
    weights = weights.copy()
    weights[:, [3, 8]] = 0
    weights[1, 5] = 0  # another vector still uses this point
    weights[:, 10] = 1e-9
    expansion = Expansion(Gaussian(1.0), points, weights)
    exact = expansion.truncate()
    assert exact.points.shape == (23, 3)
    np.testing.assert_allclose(exact.inner(X), expansion.inner(X), rtol=1e-12)
    np.testing.assert_allclose(exact.norm2(), expansion.norm2(), rtol=1e-12)
    rough = expansion.truncate(1e-8)
    assert rough.points.shape == (22, 3)
    np.testing.assert_allclose(rough.norm2(), expansion.norm2(), rtol=1e-7)


# Refusals


@pytest.mark.parametrize("shape", [(5,), (2, 24), (25, 2), (1, 2, 25)])
def test_weights_of_the_wrong_shape_are_refused(shape, data):
    with pytest.raises(ValueError, match=r"an expansion over 25 points needs weights of shape \(vectors, 25\), not \("):
        Expansion(Gaussian(1.0), data[0], np.ones(shape))


def test_vectors_of_two_feature_spaces_do_not_meet(data):
    points, weights, _ = data
    a, b = Expansion(Gaussian(1.0), points, weights), Expansion(Gaussian(2.0), points, weights)
    for operation in (lambda: a + b, lambda: a - b, lambda: a.inner_expansion(b), lambda: a.distances2_expansion(b)):
        with pytest.raises(ValueError, match=r"belong to different feature spaces, .*1\.0.* and .*2\.0"):
            operation()


def test_batches_of_different_length_do_not_add(data):
    points, weights, X = data
    a = Expansion(Gaussian(1.0), points, weights)
    for other in (Expansion(Gaussian(1.0), X, rows(3, 7)), Expansion(Gaussian(1.0), points, weights[:3])):
        with pytest.raises(ValueError, match="batches of 4 and 3 vectors cannot be added"):
            a + other


def test_factors_must_be_one_or_one_a_vector(data):
    points, weights, _ = data
    a = Expansion(Gaussian(1.0), points, weights)
    with pytest.raises(ValueError, match="4 vectors need one factor or 4 factors, not 3"):
        a * np.ones(3)
    for factor in ("two", True, None):
        with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
            a * factor
    with pytest.raises(TypeError, match="unsupported operand"):
        a + 1


# Projections are expansions


def test_a_projection_takes_part_in_the_algebra():
    X = rows(30, 3)
    model = decomposition.fit(Gaussian(1.5), X, 5)
    projection, new = model.expand(model.codes(X[:4])), rows(6, 3, seed=3)
    plain = Expansion(model.kernel, X, projection.weights)
    for actual, expected in (
        (projection, plain),
        (2 * projection, 2 * plain),
        (projection - model.mean, plain - model.mean),
        (projection[1:3], plain[1:3]),
        (projection.truncate(1e-3), plain.truncate(1e-3)),
    ):
        np.testing.assert_allclose(actual.inner(new), expected.inner(new), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(actual.norm2(), expected.norm2(), rtol=1e-9)


def test_vectors_and_models_are_shown_in_one_short_line():
    X = np.random.default_rng(0).standard_normal((300, 4))
    model = KernelPCA(3, kernel=Gaussian(2.0)).fit(X)
    assert (
        repr(model.components_) == "Expansion(kernel=Gaussian(length_scale=2.0), points=<300 x 4>, weights=<3 x 300>)"
    )
    assert repr(model.project(X[:2])) == "Projection(model=Exact(...), codes=<2 x 3>)"


def test_lists_are_read_and_other_things_are_refused_in_a_sentence():
    vectors = Expansion(Gaussian(1.0), [[0, 1], [2, 1]], [[0.5, 0.5]])
    np.testing.assert_allclose(find_preimage(vectors).points, [[1.0, 1.0]], atol=1e-3)
    with pytest.raises(TypeError, match=r"needs a kernel object such as Gaussian\(1\.0\), not 'gaussian'"):
        Expansion("gaussian", [[0, 1], [2, 1]], [[0.5, 0.5]])
    for refused in (find_preimage, lambda X: reduced_set(X, 1)):
        with pytest.raises(TypeError, match=r"expected vectors of feature space, .* not ndarray"):
            refused(np.ones((3, 2)))
