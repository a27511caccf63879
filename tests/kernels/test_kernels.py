import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import pairwise_kernels

from helpers import KERNELS, NAMED, rotation, rows, sparse_rows, taylor_slope
from preimage.gram import tiles
from preimage.kernels import (
    NAMES,
    Cosine,
    Exponential,
    Function,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Radial,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
    knows,
    require,
    scales,
)
from preimage.kernels.geometry import squared_distances

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def those_that(condition):
    chosen = {name: kernel for name, kernel in KERNELS.items() if condition(kernel)}
    return pytest.mark.parametrize("kernel", chosen.values(), ids=chosen)


points = hnp.arrays(float, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(-4, 4, width=32))


# Values


@every_kernel
@settings(max_examples=30)
@given(X=points)
def test_gram_is_symmetric_and_has_the_stated_diagonal(kernel, X):
    K = kernel(X, X)
    scale = np.abs(K).max()
    np.testing.assert_allclose(K, K.T, atol=1e-12 * scale)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), atol=1e-12 * scale)


@those_that(lambda kernel: kernel.positive_definite)
@settings(max_examples=30)
@given(X=points)
def test_gram_is_positive_semidefinite(kernel, X):
    values = np.linalg.eigvalsh(kernel(X, X))
    assert values[0] >= -1e-12 * max(values[-1], 1e-300)


def test_sigmoid_is_indefinite_and_says_so():
    X = rows(30, 3)
    values = np.linalg.eigvalsh(Sigmoid(gamma=2.0, coef0=-1.0)(X, X))
    assert values[0] < -0.01 * values[-1]
    for kernel in (Sigmoid(1.0), Gaussian(1.0) + Sigmoid(1.0), Gaussian(1.0) * Sigmoid(1.0), 2 * Sigmoid(1.0)):
        assert not kernel.positive_definite
    assert not Polynomial(1.0, coef0=-1.0).positive_definite  # (x·y − 1)³ has a negative diagonal for small x
    assert Polynomial(1.0, coef0=-1.0).diagonal(np.full((1, 2), 0.1)) < 0
    assert not Polynomial(1.0, degree=2.5).positive_definite


@those_that(lambda kernel: kernel.argument is not None)
def test_radial_and_dot_product_kernels_do_not_see_rotations(kernel):
    X, Y, Q = rows(20, 4), rows(15, 4, seed=1), rotation(4)
    np.testing.assert_allclose(kernel(X @ Q, Y @ Q), kernel(X, Y), rtol=1e-11, atol=1e-12)


def test_the_l1_kernel_sees_rotations():
    X, Q = rows(20, 4), rotation(4)
    assert np.abs(Laplacian(0.3)(X @ Q, X @ Q) - Laplacian(0.3)(X, X)).max() > 0.05


@every_kernel
def test_permuting_rows_permutes_values(kernel):
    X, Y = rows(20, 3), rows(15, 3, seed=1)
    p, q = np.random.default_rng(2).permutation(20), np.random.default_rng(3).permutation(15)
    np.testing.assert_allclose(kernel(X[p], Y[q]), kernel(X, Y)[np.ix_(p, q)], rtol=1e-12, atol=1e-13)


@those_that(lambda kernel: kernel.argument is not None)
def test_the_profile_is_the_kernel(kernel):
    X, Y = rows(20, 3), rows(15, 3, seed=1)
    t = X @ Y.T if kernel.argument == "inner" else np.square(X[:, None] - Y[None]).sum(axis=2)
    np.testing.assert_allclose(kernel(X, Y), kernel.profile(t), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@those_that(lambda kernel: isinstance(kernel, Radial))
def test_closeness_in_units_of_the_kernel_gives_its_profile(kernel, dtype):
    t = np.array([0, 1e-4, 0.3, 2.0, 40.0], dtype=dtype)
    found = kernel.from_closeness((-t / kernel.unit).astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, kernel.profile(t), rtol=1e-5 if dtype == "f4" else 1e-13)
    assert found.max() == found[0] == kernel.profile(np.zeros((), dtype=dtype))


PLAIN = {
    "linear": lambda x, y: x @ y,
    "polynomial-3": lambda x, y: (0.5 * x @ y + 0.7) ** 3,
    "sigmoid": lambda x, y: np.tanh(0.2 * x @ y - 0.3),
    "gaussian": lambda x, y: np.exp(-np.sum((x - y) ** 2) / (2 * 1.3**2)),
    "exponential": lambda x, y: np.exp(-np.linalg.norm(x - y) / 1.7),
    "rational-quadratic": lambda x, y: (1 + np.sum((x - y) ** 2) / (2 * 0.7 * 1.1**2)) ** -0.7,
    "inverse-multiquadric": lambda x, y: 1 / np.sqrt(1 + np.sum((x - y) ** 2) / 1.9**2),
    "laplacian": lambda x, y: np.exp(-0.35 * np.abs(x - y).sum()),
    "cosine": lambda x, y: x @ y / np.linalg.norm(x) / np.linalg.norm(y),
}


@pytest.mark.parametrize("name", PLAIN)
def test_values_are_the_formula_of_the_documentation(name):
    X, Y = rows(9, 3), rows(7, 3, seed=1)
    expected = [[PLAIN[name](x, y) for y in Y] for x in X]
    np.testing.assert_allclose(NAMED[name](X, Y), expected, rtol=1e-11)


@pytest.mark.parametrize(
    "kernel, metric, parameters",
    [
        (Linear(), "linear", {}),
        (Polynomial(0.4, 1.3, 4), "polynomial", {"gamma": 0.4, "coef0": 1.3, "degree": 4}),
        (Gaussian.from_gamma(0.37), "rbf", {"gamma": 0.37}),
        (Laplacian(0.6), "laplacian", {"gamma": 0.6}),
        (Sigmoid(0.3, -0.4), "sigmoid", {"gamma": 0.3, "coef0": -0.4}),
        (Cosine(), "cosine", {}),
    ],
    ids=["linear", "polynomial", "rbf", "laplacian", "sigmoid", "cosine"],
)
def test_values_equal_scikit_learns_pairwise_kernels(kernel, metric, parameters):
    X, Y = rows(30, 5), rows(20, 5, seed=1)
    np.testing.assert_allclose(kernel(X, Y), pairwise_kernels(X, Y, metric, **parameters), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    "kernel, oracle",
    [
        (Gaussian(1.3), gp.RBF(1.3)),
        (Matern(0.9, nu=0.5), gp.Matern(0.9, nu=0.5)),
        (Matern(0.9, nu=1.5), gp.Matern(0.9, nu=1.5)),
        (Matern(0.9, nu=2.5), gp.Matern(0.9, nu=2.5)),
        (Exponential(0.9), gp.Matern(0.9, nu=0.5)),
        (RationalQuadratic(1.2, alpha=0.4), gp.RationalQuadratic(1.2, alpha=0.4)),
    ],
    ids=str,
)
def test_values_equal_scikit_learns_gaussian_process_kernels(kernel, oracle):
    X, Y = rows(30, 5), rows(20, 5, seed=1)
    np.testing.assert_allclose(kernel(X, Y), oracle(X, Y), rtol=1e-11)


def test_relations_between_kernels():
    X, Y = rows(20, 3), rows(15, 3, seed=1)
    np.testing.assert_allclose(Exponential(0.8)(X, Y), Matern(0.8, nu=0.5)(X, Y), rtol=1e-14)
    np.testing.assert_allclose(InverseMultiquadric(0.8)(X, Y), RationalQuadratic(0.8, alpha=0.5)(X, Y), rtol=1e-14)
    np.testing.assert_allclose(RationalQuadratic(1.0, alpha=1e9)(X, Y), Gaussian(1.0)(X, Y), rtol=1e-6)
    np.testing.assert_allclose(Gaussian.from_gamma(0.5)(X, Y), Gaussian(1.0)(X, Y), rtol=1e-14)


@those_that(lambda kernel: kernel.accepts_sparse and not isinstance(kernel, Function))
def test_sparse_rows_give_the_values_of_dense_ones(kernel):
    X, Y = sparse_rows(25), sparse_rows(15, seed=5)
    expected = kernel(X.toarray(), Y.toarray())
    for left, right in ((X, Y), (X, Y.toarray()), (X.toarray(), Y)):
        values = kernel(left, right)
        assert isinstance(values, np.ndarray)
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel(X, X), kernel(X.toarray(), X.toarray()), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(kernel.diagonal(X), kernel.diagonal(X.toarray()), rtol=1e-12)


def test_only_kernels_without_a_sparse_form_refuse_sparse_rows():
    refusing = {name for name, kernel in KERNELS.items() if not kernel.accepts_sparse}
    assert refusing == {"laplacian", "sum-spectral", "nested-mixed"}


@every_kernel
def test_float32_is_kept_and_close_to_float64(kernel):
    X, Y = rows(25, 3), rows(15, 3, seed=1)
    values = kernel(X.astype("f4"), Y.astype("f4"))
    assert values.dtype == kernel.diagonal(X.astype("f4")).dtype == np.float32
    expected = kernel(X, Y)
    np.testing.assert_allclose(values, expected, atol=3e-6 * np.abs(expected).max())
    if knows(kernel, "gradient"):
        W = rows(25, 15, seed=2)
        gradient = kernel.gradient(X.astype("f4"), Y.astype("f4"), W.astype("f4"))
        assert gradient.dtype == np.float32
        expected = kernel.gradient(X, Y, W)
        np.testing.assert_allclose(gradient, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(np.float64(1.2)),
        Exponential(np.float64(1.2)),
        RationalQuadratic(np.float64(1.2), np.float64(0.7)),
        Matern(np.float64(1.2), nu=np.float64(2.5)),
        Polynomial(np.float64(0.3), np.float64(1.0), np.int64(3)),
        Sigmoid(np.float64(0.3), np.float64(1.0)),
        Laplacian(np.float64(0.3)),
        Scaled(Gaussian(1.0), np.float64(2.0)),
        np.float64(2.0) * Gaussian(1.0),
    ],
    ids=repr,
)
def test_parameters_from_a_numpy_grid_keep_float32_too(kernel):
    X = rows(9, 3, dtype="f4")
    assert kernel(X, X).dtype == np.float32
    if knows(kernel, "derivative", "inverse"):
        t = np.abs(X)
        assert kernel.derivative(t).dtype == kernel.inverse(kernel.profile(t)).dtype == np.float32


# Squared distances


@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
def test_distances_survive_an_offset(offset):
    X, Y = rows(60, 4) + offset, rows(50, 4, seed=1) + offset
    expected = np.square(X[:, None] - Y[None]).sum(axis=2)  # of the numbers as they are stored, without cancellation
    np.testing.assert_allclose(squared_distances(X, Y), expected, rtol=1e-6)
    np.testing.assert_allclose(Gaussian(1.0)(X, Y), np.exp(-expected / 2), rtol=1e-6)


def test_the_plain_formula_would_not_survive_it():
    X = rows(60, 4) + 1e6
    plain = np.square(X).sum(axis=1)[:, None] + np.square(X).sum(axis=1) - 2 * X @ X.T
    expected = np.square(X[:, None] - X[None]).sum(axis=2)
    off = ~np.eye(60, dtype=bool)
    assert np.max(np.abs(plain - expected)[off] / expected[off]) > 1e-5


@given(X=points, offset=st.sampled_from([0.0, 1.0, 1e8]))
def test_a_point_has_exactly_no_distance_to_itself(X, offset):
    moved = X + offset
    assert np.all(squared_distances(moved, moved.copy()) >= 0)
    np.testing.assert_array_equal(np.diag(squared_distances(moved, moved)), 0)


def test_cosine_of_a_zero_row_is_zero():
    X = np.vstack([np.zeros(3), rows(4, 3)])
    np.testing.assert_array_equal(Cosine()(X, X)[0], 0)
    np.testing.assert_array_equal(Cosine().diagonal(X), [0, 1, 1, 1, 1])
    np.testing.assert_array_equal(Cosine().gradient(X, X, np.ones((5, 5)))[0], 0)


# Inverses and derivatives

invertible = those_that(lambda kernel: knows(kernel, "inverse"))


def arguments(kernel):
    """Arguments over many orders of magnitude, of both signs for an inner product with a one-to-one profile."""
    t = np.concatenate([[0.0], np.logspace(-12, 2, 60)])
    if kernel.argument == "distance":
        return t
    inner = getattr(kernel, "part", kernel)
    if not knows(inner, "other_root"):
        t = np.concatenate([-t[::-1], t])
        return t[np.abs(t) < 20] if isinstance(inner, Sigmoid) else t
    return t


@invertible
def test_inverse_of_profile_is_the_identity(kernel):
    t = arguments(kernel)
    value, slope = kernel.profile(t), np.abs(kernel.derivative(t))
    # What one rounding of the value does to t: eps|κ/κ'| (it dominates near t = 0 and in the tails).
    # A root of the affine part, where a power is flat, is left out.
    scale = np.abs(kernel.profile(np.zeros(()))) + np.abs(value)
    ok = slope > 1e-10
    error = np.abs(kernel.inverse(value) - t)[ok]
    eps = np.finfo(float).eps
    assert np.all(error <= 8 * eps * (scale / np.where(ok, slope, 1) + np.abs(t) + 10)[ok])
    assert ok.sum() > 30


@invertible
def test_profile_of_inverse_is_the_identity(kernel):
    top = kernel.profile(np.zeros(())) if kernel.argument == "distance" else 0.99
    value = top * np.concatenate([np.logspace(-12, 0, 40), 1 - np.logspace(-10, -1, 20)])
    np.testing.assert_allclose(kernel.profile(kernel.inverse(value)), value, rtol=1e-10, atol=1e-14 * top)


@those_that(lambda kernel: knows(kernel, "inverse") and kernel.argument == "distance")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_outside_the_range_have_the_nearest_inverse(kernel, dtype):
    top = float(kernel.profile(np.zeros(())))
    beyond = kernel.inverse(np.array([1.5 * top, top, 0.5 * top, 0.0, -0.3 * top], dtype=dtype))
    assert beyond.dtype == dtype
    assert beyond[0] == beyond[1] == 0 < beyond[2] < beyond[3] == beyond[4]
    assert np.all(np.isfinite(beyond))


def test_an_even_polynomial_takes_the_root_on_the_right():
    kernel = Polynomial(gamma=0.5, coef0=1.0, degree=2)
    np.testing.assert_allclose(kernel.inverse(np.array([4.0, 0.0, -1.0])), [2.0, -2.0, -2.0])
    np.testing.assert_allclose(Polynomial(0.5, 1.0, 3).inverse(np.array([8.0, -8.0])), [2.0, -6.0])


@those_that(lambda kernel: knows(kernel, "derivative"))
@pytest.mark.parametrize("t", [0.03, 0.6, 2.5, 9.0])
def test_derivative_has_taylor_slope_two(kernel, t):
    if isinstance(kernel, Linear):
        np.testing.assert_array_equal(kernel.derivative(np.array([t])), 1)
        return
    steps = t * np.logspace(-1, -2.5, 8)
    slope = taylor_slope(kernel.profile, kernel.derivative(np.float64(t)), np.float64(t), 1.0, steps)
    assert 1.8 < slope < 2.2


@those_that(lambda kernel: knows(kernel, "log_slope"))
def test_log_slope_is_the_logarithm_of_the_falling_slope(kernel):
    t = np.logspace(-6, 2, 40)
    np.testing.assert_allclose(np.exp(kernel.log_slope(t)), -kernel.derivative(t), rtol=1e-12)
    far = kernel.log_slope(np.array([1e8, 1e10]))
    assert np.all(np.isfinite(far)) and far[1] < far[0] < 0
    assert kernel.log_slope(t.astype("f4")).dtype == np.float32


def test_exponential_derivative_stays_finite_at_its_pole():
    for kernel in (Exponential(1.5), Matern(1.5, nu=0.5)):
        assert np.isfinite(kernel.derivative(np.zeros(1))).all() and kernel.derivative(np.zeros(1)) < 0


@those_that(lambda kernel: knows(kernel, "gradient") and not isinstance(kernel, Linear))
def test_gradient_has_taylor_slope_two(kernel):
    rng = np.random.default_rng(0)
    Z, X, W = rows(5, 3), rows(15, 3, seed=1), rng.standard_normal((5, 15))
    gradient = kernel.gradient(Z, X, W)
    steps = np.logspace(-2, -3.5, 8)
    for z, w, g in zip(Z, W, gradient, strict=True):

        def value(point, w=w):
            return (kernel(point[None], X) @ w)[0]

        assert 1.85 < taylor_slope(value, g, z, rng.standard_normal(3) / 3, steps) < 2.15


def test_gradient_of_the_linear_kernel_is_the_weighted_sum():
    Z, X, W = rows(5, 3), rows(15, 3, seed=1), rows(5, 15, seed=2)
    np.testing.assert_allclose(Linear().gradient(Z, X, W), W @ X, rtol=1e-13)


@those_that(lambda kernel: knows(kernel, "diagonal_gradient"))
def test_diagonal_gradient_has_taylor_slope_two(kernel):
    rng = np.random.default_rng(0)
    Z = rows(4, 3)
    gradient = kernel.diagonal_gradient(Z)
    for z, g in zip(Z, gradient, strict=True):
        direction = rng.standard_normal(3)

        def value(point):
            return kernel.diagonal(point[None])[0]

        if value(z + direction) == value(z):  # k(z, z) is constant
            np.testing.assert_array_equal(g, 0)
        else:
            assert 1.85 < taylor_slope(value, g, z, direction / 3, np.logspace(-1.5, -3, 8)) < 2.15


@those_that(lambda kernel: kernel.accepts_sparse and knows(kernel, "gradient"))
def test_gradient_over_sparse_points_equals_dense(kernel):
    X, Z, W = sparse_rows(15), rows(5, 12, seed=3), rows(5, 15, seed=2)
    gradient = kernel.gradient(Z, X, W)
    assert isinstance(gradient, np.ndarray)
    np.testing.assert_allclose(gradient, kernel.gradient(Z, X.toarray(), W), rtol=1e-9, atol=1e-10)


# Spectral laws


def law_check(frequencies, h, expected, sigmas=5.0):
    """Mean of cos(ωᵀh) against a value, in standard errors."""
    cosines = np.cos(frequencies @ h)
    error = cosines.std(ddof=1) / np.sqrt(len(cosines))
    return np.abs(cosines.mean() - expected) <= sigmas * error


@those_that(lambda kernel: knows(kernel, "frequencies"))
@pytest.mark.parametrize("dim", [1, 3])
def test_frequencies_follow_the_spectral_law(kernel, dim):
    frequencies = kernel.frequencies(100_000, dim, np.random.default_rng(0))
    assert frequencies.shape == (100_000, dim)
    origin = np.zeros((1, dim))
    for length in (0.3, 1.0, 2.5):
        for direction in (np.ones(dim) / np.sqrt(dim), np.eye(dim)[0]):
            h = length * direction
            expected = kernel(h[None], origin)[0, 0] / kernel.diagonal(origin)[0]
            assert law_check(frequencies, h, expected)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_coordinatewise_student_draws_are_not_the_matern_law(nu):
    """One t variable a coordinate gives a product of one-dimensional kernels, and the test above would see it."""
    kernel, n = Matern(1.0, nu=nu), 100_000
    h = 2 * np.ones(3) / np.sqrt(3)
    exact = kernel(h[None], np.zeros((1, 3)))[0, 0]
    wrong = kernel(h[:1][None], np.zeros((1, 1)))[0, 0] ** 3
    assert abs(exact - wrong) > 0.05
    assert law_check(kernel.frequencies(n, 3, np.random.default_rng(1)), h, exact)
    coordinatewise = np.random.default_rng(1).standard_t(2 * nu, (n, 3))
    assert law_check(coordinatewise, h, wrong) and not law_check(coordinatewise, h, exact)


def test_draws_come_from_the_generator():
    first, second = (Matern(1.0).frequencies(5, 2, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# Abilities

PROFILED = {"profile", "derivative", "inverse", "gradient", "diagonal_gradient"}
RADIAL = PROFILED | {"frequencies"}
ABILITIES = {
    "linear": PROFILED,
    "polynomial-2": PROFILED,
    "polynomial-3": PROFILED,
    "polynomial-homogeneous": PROFILED,
    "sigmoid": PROFILED,
    "gaussian": RADIAL,
    "exponential": RADIAL,
    "rational-quadratic": RADIAL,
    "inverse-multiquadric": RADIAL,
    "matern-1/2": RADIAL,
    "matern-3/2": RADIAL,
    "matern-5/2": RADIAL,
    "laplacian": {"gradient", "diagonal_gradient", "frequencies"},
    "cosine": {"gradient", "diagonal_gradient"},
    "sum-radial": RADIAL - {"inverse"},
    "sum-dot": PROFILED - {"inverse"},
    "sum-mixed": {"gradient", "diagonal_gradient"},
    "sum-spectral": {"gradient", "diagonal_gradient", "frequencies"},
    "product-radial": RADIAL - {"inverse"},
    "product-dot": PROFILED - {"inverse"},
    "product-mixed": {"gradient", "diagonal_gradient"},
    "scaled-radial": RADIAL,
    "scaled-dot": PROFILED,
    "nested": RADIAL - {"inverse"},
    "nested-mixed": {"gradient", "diagonal_gradient"},
    "indefinite-sum": {"gradient", "diagonal_gradient"},
    "function": set(),
}


@pytest.mark.parametrize("name", KERNELS)
def test_abilities_are_present_exactly_where_they_exist(name):
    assert {ability for ability in RADIAL if hasattr(KERNELS[name], ability)} == ABILITIES[name]


def test_precomputed_values_know_nothing():
    assert not any(hasattr(Precomputed(np.eye(3)), ability) for ability in RADIAL)


def test_a_missing_ability_is_refused_with_a_sentence():
    with pytest.raises(
        ValueError, match=r"the distance method needs a kernel with an inverse, .*Cosine.* Use a Gaussian"
    ):
        require(Cosine(), "the distance method", "gradient", "inverse", serve="Use a Gaussian.")
    with pytest.raises(ValueError, match="needs a kernel with an inverse and frequencies"):
        require(Cosine(), "it", "inverse", "frequencies")
    require(Gaussian(1.0), "it", *RADIAL)


# Algebra


def test_sums_products_and_multiples_are_those_of_the_values():
    X, Y = rows(12, 3), rows(9, 3, seed=1)
    for a, b in ((Gaussian(1.1), Linear()), (Matern(1.0), Laplacian(0.3)), (Cosine(), Sigmoid(0.2))):
        np.testing.assert_array_equal((a + b)(X, Y), a(X, Y) + b(X, Y))
        np.testing.assert_array_equal((a * b)(X, Y), a(X, Y) * b(X, Y))
        np.testing.assert_array_equal((2.5 * a)(X, Y), 2.5 * a(X, Y))
        np.testing.assert_array_equal((a * 2.5)(X, Y), 2.5 * a(X, Y))
        np.testing.assert_allclose((a * (b + a))(X, Y), (a * b + a * a)(X, Y), rtol=1e-13)
        np.testing.assert_array_equal((a + b).diagonal(X), a.diagonal(X) + b.diagonal(X))
        np.testing.assert_array_equal((a * b).diagonal(X), a.diagonal(X) * b.diagonal(X))
    assert isinstance(Gaussian(1.0) + Linear(), Sum) and isinstance(Gaussian(1.0) * Linear(), Product)
    assert Gaussian(1.0) + Linear() == Gaussian(1.0) + Linear() != Gaussian(2.0) + Linear()


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan])
def test_a_multiple_must_be_positive(scale):
    with pytest.raises((ValueError, TypeError), match=r"must be a positive finite number|unsupported operand"):
        scale * Gaussian(1.0)
    with pytest.raises(ValueError, match="the scale of a kernel must be a positive finite number"):
        Scaled(Gaussian(1.0), scale)


def test_kernels_combine_with_kernels_only():
    for combine in (lambda k: k + 1, lambda k: k * "two", lambda k: k * True):
        with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
            combine(Gaussian(1.0))
    with pytest.raises(TypeError, match=r"both parts of a Sum must be kernels, not 'rbf'"):
        Sum(Gaussian(1.0), "rbf")


# Names and parameters


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"precomputed"}))
def test_every_name_makes_a_kernel_that_data_complete(name):
    X = rows(30, 3)
    kernel = scales.resolve(as_kernel(name), X)
    assert np.isfinite(kernel(X, X)).all()
    assert as_kernel(kernel) is kernel


def test_aliases_name_the_same_kernel():
    assert as_kernel("rbf") == as_kernel("gaussian") == Gaussian()
    assert as_kernel("poly") == as_kernel("polynomial") == Polynomial()


@pytest.mark.parametrize(
    "given_as, error, sentence",
    [
        ("gausian", ValueError, r"unknown kernel 'gausian'; the names are cosine, .*rbf"),
        (Gaussian, TypeError, r"kernel must be an object, not a class: write Gaussian\(\.\.\.\)"),
        (3, TypeError, "kernel must be a name, a kernel object or a callable, not 3"),
        (None, TypeError, "kernel must be a name, a kernel object or a callable, not None"),
    ],
    ids=str,
)
def test_what_is_no_kernel_is_refused(given_as, error, sentence):
    with pytest.raises(error, match=sentence):
        as_kernel(given_as)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Gaussian(0), "length_scale must be a positive finite number, not 0"),
        (lambda: Gaussian(-1.0), "length_scale must be a positive"),
        (lambda: Gaussian(np.nan), "length_scale must be a positive"),
        (lambda: Gaussian(True), "length_scale must be a positive finite number, not True"),
        (lambda: Gaussian([1.0]), "length_scale must be a positive"),
        (lambda: Gaussian.from_gamma(-2), "gamma must be a positive"),
        (lambda: RationalQuadratic(1.0, alpha=0), "alpha must be a positive"),
        (lambda: Matern(1.0, nu=2), r"nu must be 0\.5, 1\.5 or 2\.5, not 2"),
        (lambda: Polynomial(gamma=0), "gamma must be a positive"),
        (lambda: Polynomial(coef0="one"), "coef0 must be a finite number, not 'one'"),
        (lambda: Polynomial(degree=0), "degree must be a positive"),
        (lambda: Sigmoid(coef0=np.inf), "coef0 must be a finite number"),
        (lambda: Laplacian(gamma=-0.1), "gamma must be a positive"),
    ],
)
def test_bad_parameters_are_refused_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(), Gaussian("median"), Exponential(), RationalQuadratic(), InverseMultiquadric(), Matern("mika")],
    ids=repr,
)
def test_a_kernel_without_its_length_scale_says_what_to_do(kernel):
    X = rows(5, 2)
    with pytest.raises(ValueError, match=r"the length_scale of .* is not a number yet: fit a model .*scales\.resolve"):
        kernel(X, X)


@pytest.mark.parametrize("kernel", [Polynomial(), Sigmoid(), Laplacian()], ids=repr)
def test_a_kernel_without_its_gamma_says_what_to_do(kernel):
    X = rows(5, 2)
    with pytest.raises(ValueError, match=r"the gamma of .* is not a number yet: fit a model .*scales\.resolve"):
        kernel(X, X)


@given(
    X=hnp.arrays(float, (6, 2), elements=st.floats(-3, 3)),
    length_scale=st.floats(0.05, 50),
    factor=st.floats(0.1, 10),
)
def test_a_length_scale_is_a_unit_of_length(X, length_scale, factor):
    for family in (Gaussian, Exponential, RationalQuadratic, InverseMultiquadric, Matern):
        scaled = family(factor * length_scale)(factor * X, factor * X)
        np.testing.assert_allclose(scaled, family(length_scale)(X, X), rtol=1e-6, atol=1e-7)


# The user's own


def test_a_function_must_return_one_real_number_a_pair():
    X = rows(4, 2)
    with pytest.raises(ValueError, match=r"returned shape \(4,\) for 4 and 4 rows; .* shape \(4, 4\)"):
        Function(lambda A, B: A[:, 0])(X, X)
    with pytest.raises(TypeError, match="returned values of type complex128; they must be real numbers"):
        Function(lambda A, B: 1j * A @ B.T)(X, X)
    np.testing.assert_array_equal(Function(lambda A, B: A @ B.T > 0)(X, X), X @ X.T > 0)


def test_a_precomputed_kernel_looks_up_numbers_and_picks_columns():
    K = rows(6, 6)
    K = K @ K.T
    kernel, train = Precomputed(K), np.arange(6)[:, None]
    np.testing.assert_array_equal(kernel(train, train[[4, 1]]), K[:, [4, 1]])
    np.testing.assert_array_equal(kernel(K[:2], train[[4, 1]]), K[:2, [4, 1]])
    np.testing.assert_array_equal(kernel.diagonal(train[2:]), np.diag(K)[2:])
    with pytest.raises(ValueError, match="has no matrix yet: fit a model with the kernel matrix first"):
        Precomputed()(train, train)


def test_sparse_and_dense_rows_have_the_same_unit_vectors():
    X = sparse_rows(10)
    np.testing.assert_allclose(Cosine()(X, sp.csr_array(X)), Cosine()(X.toarray(), X.toarray()), rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.0) + Matern(3.0),
        Gaussian(2.0) * RationalQuadratic(3.0),
        2.0 * (Gaussian(1.0) + Exponential(2.0)),
        Polynomial(0.1) + Linear(),
        Gaussian(2.0) * Polynomial(0.1),
    ],
    ids=repr,
)
def test_tiles_of_composites_equal_the_combination_of_the_parts(kernel):
    def combined(kernel, X, Y):
        if isinstance(kernel, Scaled):
            return kernel.scale * combined(kernel.part, X, Y)
        if isinstance(kernel, Sum | Product):
            left, right = combined(kernel.left, X, Y), combined(kernel.right, X, Y)
            return left + right if isinstance(kernel, Sum) else left * right
        t = np.square(X[:, None] - Y).sum(axis=-1) if kernel.argument == "distance" else X @ Y.T
        return kernel.profile(t)

    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((120, 7)), rng.standard_normal((90, 7))
    scale = np.abs(combined(kernel, X, X)).max()
    for found, expected in (
        (tiles.cross(kernel, X, Y), combined(kernel, X, Y)),
        (tiles.gram(kernel, X), combined(kernel, X, X)),
        (kernel(X, Y), combined(kernel, X, Y)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-13 * scale)


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 2.5, 33])
def test_powers_of_polynomials_equal_numpys(degree):
    t = np.linspace(0, 3, 50)
    kernel = Polynomial(0.5, coef0=0.5, degree=degree)
    np.testing.assert_allclose(kernel.profile(t), np.power(0.5 * t + 0.5, degree), rtol=1e-13)
    slope = degree * 0.5 * np.power(0.5 * t + 0.5, degree - 1)
    np.testing.assert_allclose(kernel.derivative(t), slope, rtol=1e-13)
