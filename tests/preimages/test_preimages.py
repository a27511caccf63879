"""Pre-images: planted truths, stationarity, and never a NaN."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, decomposition
from preimage.exceptions import ConvergenceWarning
from preimage.expansion import Expansion
from preimage.kernels import (
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
    RationalQuadratic,
    Sigmoid,
)
from preimage.noise import GaussianNoise
from preimage.preimages import (
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    OneStep,
    Wiener,
    as_preimage_method,
    choose_preimage_method,
    find_preimage,
)
from preimage.preimages.convex import minimise_on_simplex
from preimage.preimages.descent import Descent
from preimage.preimages.distance import locate
from preimage.preimages.objective import FeatureDistance

RADIAL = {
    "gaussian": Gaussian(1.3),
    "exponential": Exponential(1.5),
    "rational quadratic": RationalQuadratic(1.2, alpha=0.7),
    "inverse multiquadric": InverseMultiquadric(1.4),
    "matern 1/2": Matern(1.5, nu=0.5),
    "matern 3/2": Matern(1.5, nu=1.5),
    "matern 5/2": Matern(1.5, nu=2.5),
    "scaled": 2.5 * Gaussian(1.1),
}
SMOOTH_SUMS = {
    "sum of radial": Gaussian(0.8) + 0.5 * Matern(2.0, nu=2.5),
    "product of radial": Gaussian(1.5) * RationalQuadratic(2.0),
}
DOT = {
    "linear": Linear(),
    "cubic": Polynomial(gamma=0.5, coef0=1.0, degree=3),
    "quadratic": Polynomial(gamma=0.5, coef0=4.0, degree=2),
}
MIXED = {
    "linear + gaussian": 0.3 * Linear() + Gaussian(1.0),
    "gaussian × cubic": Gaussian(2.0) * Polynomial(gamma=0.1, coef0=1.0, degree=3),
    "laplacian": Laplacian(0.7),
}
EXACT = {
    "fixed point": (FixedPoint(tol=1e-9), RADIAL | SMOOTH_SUMS | DOT),
    "gradient": (Gradient(tol=1e-9), RADIAL | SMOOTH_SUMS | DOT | MIXED),
    "distance": (Distance(), RADIAL | DOT | {"sigmoid": Sigmoid(gamma=0.2, coef0=0.1)}),
    "distance, paper": (Distance(reading="paper"), RADIAL),
    "one step": (OneStep(), RADIAL),
    "convex": (ConvexCombination(), RADIAL | SMOOTH_SUMS | DOT | MIXED),
    "nearest": (Nearest(), RADIAL | SMOOTH_SUMS | MIXED),
}
PLANTED = [
    pytest.param(method, kernel, id=f"{method_name}-{kernel_name}")
    for method_name, (method, kernels) in EXACT.items()
    for kernel_name, kernel in kernels.items()
]
EVERY_METHOD = [FixedPoint(), Gradient(), Distance(), OneStep(), ConvexCombination(), Nearest()]


def points(n=30, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args, **kwargs)


@pytest.mark.parametrize(("method", "kernel"), PLANTED)
def test_the_image_of_a_point_is_brought_back_to_the_point(method, kernel):
    X = points()
    chosen = [0, 7, 19]
    found = find_preimage(Expansion(kernel, X, np.eye(len(X))[chosen]), method)
    assert np.linalg.norm(found.points - X[chosen], axis=1) == pytest.approx(0, abs=1e-6 * np.linalg.norm(X[chosen]))
    assert found.converged.all()
    assert found.residual == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("method", [FixedPoint(tol=1e-10), Gradient(tol=1e-10), Distance(n_neighbors=12)])
@pytest.mark.parametrize("kernel", DOT.values(), ids=DOT.keys())
def test_a_point_that_is_not_among_the_points_is_found_where_its_image_is_in_their_span(method, kernel):
    """In finite-dimensional feature spaces φ(x) = Σ wᵢφ(xᵢ) has a solution for any x."""
    X, truth = points(40, 2), np.array([[0.3, -0.8], [1.1, 0.4]])
    weights = np.linalg.lstsq(kernel(X, X), kernel(X, truth), rcond=1e-12)[0].T
    found = find_preimage(Expansion(kernel, X, weights), method, starts=truth + 0.2)
    np.testing.assert_allclose(found.points, truth, atol=2e-6)


@pytest.mark.parametrize("method", [FixedPoint(tol=1e-9), Gradient(tol=1e-9)])
@pytest.mark.parametrize("kernel", [*list(RADIAL.values())[:1], RADIAL["matern 5/2"], *SMOOTH_SUMS.values()], ids=str)
def test_fixed_points_are_stationary_points_of_the_distance(method, kernel):
    rng, X = np.random.default_rng(3), points()
    targets = Expansion(kernel, X, rng.dirichlet(np.ones(30), size=6) + 0.02 * rng.standard_normal((6, 30)))
    found = find_preimage(targets, method)
    assert found.converged.all()
    gradient = -2 * targets.gradient(found.points)
    elsewhere = -2 * targets.gradient(found.points + 0.5)
    assert np.linalg.norm(gradient, axis=1).max() < 1e-6 * np.linalg.norm(elsewhere, axis=1).min()


@pytest.mark.parametrize("memory", [0, 4])
def test_the_distance_never_rises_and_does_fall(memory):
    rng, X = np.random.default_rng(5), points(50, 4)
    targets = Expansion(Gaussian(0.9), X, rng.standard_normal((20, 50)) / 10)
    objective, start = FeatureDistance(targets), rng.standard_normal((20, 4))
    values = np.stack([Descent(memory, 1e-12, steps).run(objective, start)[1] for steps in range(12)])
    assert (np.diff(values, axis=0) <= 1e-14).all()
    assert (values[-1] < values[0] - 1e-3).sum() >= 15


@pytest.mark.parametrize("memory", [0, 4])
@pytest.mark.parametrize("kernel", [Polynomial(gamma=0.1, coef0=1.0, degree=3), Matern(2.0, nu=1.5)], ids=str)
def test_single_precision_ends_where_double_precision_does(kernel, memory):
    """Values of single precision differ by round-off alone within sqrt(16 eps) of a minimum; slopes do not."""
    X, noisy = (
        x @ np.random.default_rng(9).standard_normal((3, 6)) / 2
        for x in np.split(np.random.default_rng(1).standard_normal((140, 3)), [80])
    )
    double, single = (
        KernelPCA(3, kernel=kernel, preimage=FixedPoint(memory=memory)).fit(X.astype(kind)).find_preimages(noisy)
        for kind in (np.float64, np.float32)
    )
    assert single.points.dtype == np.float32 and double.converged.all() and single.converged.all()
    spread = np.sqrt(np.var(X, axis=0).sum())
    assert np.abs(single.points - double.points).max() <= 1e-4 * spread


def test_a_plain_step_is_mikas_formula():
    X, Z = points(), points(5, seed=1)
    kernel, weights = Gaussian(1.3), np.random.default_rng(2).dirichlet(np.ones(30), size=5)
    pulls = weights * kernel(Z, X)
    expected = pulls @ X / pulls.sum(axis=1, keepdims=True)
    _, gradient, curvature = FeatureDistance(Expansion(kernel, X, weights))(Z, np.arange(5))
    np.testing.assert_allclose(Z - gradient / curvature[:, None], expected, rtol=1e-12)


def test_the_pull_holds_the_answer_at_the_penalised_stationary_point():
    """Abrahamsen & Hansen: z = (2Σwx + λx₀)/(2Σw + λ), and λ → ∞ gives x₀ back."""
    X, start = points(), points(4, seed=9)
    kernel, weights, pull = Gaussian(1.3), np.random.default_rng(2).dirichlet(np.ones(30), size=4), 0.3
    targets = Expansion(kernel, X, weights)
    z = find_preimage(targets, FixedPoint(pull=pull, tol=1e-11), starts=start).points
    w = -weights * kernel.derivative(((z[:, None] - X) ** 2).sum(2))
    expected = (2 * w @ X + pull * start) / (2 * w.sum(1, keepdims=True) + pull)
    np.testing.assert_allclose(z, expected, atol=1e-8)
    far = find_preimage(targets, FixedPoint(pull=1e8), starts=start).points
    np.testing.assert_allclose(far, start, atol=1e-6)


@pytest.mark.parametrize("method", EVERY_METHOD, ids=lambda m: type(m).__name__)
def test_an_answer_does_not_depend_on_the_batch_it_came_in(method):
    rng, X = np.random.default_rng(6), points(60, 5)
    targets = Expansion(Gaussian(1.6), X, rng.dirichlet(np.ones(60) / 3, size=40))
    together = find_preimage(targets, method).points
    alone = np.concatenate([find_preimage(targets[[j]], method).points for j in range(40)])
    np.testing.assert_allclose(alone, together, atol=1e-7)


def test_the_box_is_respected_and_its_optimum_found():
    X = np.array([[0.2, 3.0], [0.4, 3.0]])
    targets = Expansion(Gaussian(2.0), X, np.array([[0.5, 0.5]]))
    found = find_preimage(targets, Gradient(box=(0.0, 1.0)))
    np.testing.assert_allclose(found.points, [[0.3, 1.0]], atol=1e-5)
    assert found.converged.all()


NASTY = {
    "weights that sum to zero": (points(), np.array([[1.0, -1.0] + [0.0] * 28])),
    "weights of zero": (points(), np.zeros((2, 30))),
    "negative weights": (points(), -np.ones((1, 30))),
    "all points equal": (np.ones((6, 2)), np.full((1, 6), 1 / 6)),
    "one point": (np.array([[2.0, -1.0]]), np.array([[0.7], [-0.2]])),
    "duplicated neighbours": (np.repeat(points(3), 10, axis=0), np.full((1, 30), 1 / 30)),
    "points on a line": (np.outer(np.arange(12.0), [1, 2]), np.full((1, 12), 1 / 12)),
    "huge weights": (points(), np.full((1, 30), 1e30)),
    "tiny weights": (points(), np.full((1, 30), 1e-30)),
    "float32": (points().astype(np.float32), np.random.default_rng(0).dirichlet(np.ones(30), 3).astype(np.float32)),
}


@pytest.mark.parametrize("method", EVERY_METHOD, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("case", NASTY)
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Exponential(1.0), Matern(1.0, nu=2.5), InverseMultiquadric(1.0)], ids=str
)
def test_never_nan_or_infinite(method, case, kernel):
    X, weights = NASTY[case]
    found = quiet(find_preimage, Expansion(kernel, X, weights), method)
    assert np.isfinite(found.points).all()
    assert found.points.dtype == X.dtype
    assert found.converged.dtype == bool


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("method", EVERY_METHOD, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", [Gaussian(5.0), Gaussian(5.0) + Matern(2.0)], ids=str)
def test_points_and_weights_may_be_whole_numbers(method, kernel, starts):
    P = np.random.default_rng(0).integers(0, 10, (20, 3))
    W = np.random.default_rng(1).integers(0, 3, (4, 20))
    try:
        method.check(kernel)
    except ValueError:
        return
    guess = P[:4] if starts else None
    found = quiet(find_preimage, Expansion(kernel, P, W), method, starts=guess)
    expected = quiet(find_preimage, Expansion(kernel, P.astype(float), W.astype(float)), method, starts=guess)
    np.testing.assert_array_equal(found.points, expected.points)


def test_starts_are_one_per_target():
    targets = Expansion(Gaussian(1.0), points(), np.full((2, 30), 1 / 30))
    with pytest.raises(ValueError, match="2 targets need 2 starts, one per row, not 3"):
        find_preimage(targets, FixedPoint(), starts=points()[:3])


def test_a_failed_start_and_a_failed_descent_give_one_warning():
    """Nothing is near the first target, so that the distances that would start it fail too."""
    X = points(6, 3)
    targets = Expansion(Gaussian(3.0), X, np.array([[-1.0, -0.2, -0.3, -0.1, -0.4, -0.5], [1.0, 0, 0, 0, 0, 0]]))
    with pytest.warns(ConvergenceWarning, match="1 of 2") as caught:
        find_preimage(targets, FixedPoint())
    assert len(caught) == 1


@pytest.mark.parametrize("method", [FixedPoint(), Gradient()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kernel", (RADIAL | SMOOTH_SUMS).values(), ids=(RADIAL | SMOOTH_SUMS).keys())
def test_a_start_a_million_away_comes_home(method, kernel):
    X = points()
    targets = Expansion(kernel, X, np.full((1, 30), 1 / 30))
    near = quiet(find_preimage, targets, method, starts=X[:1])
    far = quiet(find_preimage, targets, method, starts=X[:1] + 1e6)
    assert np.isfinite(far.points).all()
    assert np.abs(far.points).max() < 10
    assert far.residual[0] < near.residual[0] + 0.2


@pytest.mark.parametrize("method", [Distance(), OneStep(), FixedPoint()], ids=lambda m: type(m).__name__)
def test_a_target_with_nothing_near_gives_the_best_point_and_one_warning(method):
    """All inner products with the points are negative: no distance can be read off."""
    X = points(6, 3)
    targets = Expansion(Gaussian(3.0), X, np.array([[-1.0, -0.2, -0.3, -0.1, -0.4, -0.5], [1.0, 0, 0, 0, 0, 0]]))
    with pytest.warns(ConvergenceWarning, match="1 of 2") as caught:
        found = find_preimage(targets, method, starts=X[[1, 0]])
    assert len(caught) == 1
    np.testing.assert_array_equal(found.converged, [False, True])
    np.testing.assert_allclose(found.points[1], X[0], atol=1e-4)
    np.testing.assert_array_equal(found.points[0], X[np.argmax(targets.inner_points()[0])])


def test_a_row_that_cannot_progress_says_so_once_and_gives_a_point():
    targets = Expansion(Gaussian(1.0), points(), np.random.default_rng(1).dirichlet(np.ones(30), size=5))
    with pytest.warns(ConvergenceWarning, match="5 of 5 pre-images did not converge") as caught:
        found = find_preimage(targets, FixedPoint(tol=1e-15, max_iter=1))
    assert len(caught) == 1
    assert not found.converged.any()
    assert np.isfinite(found.points).all()


@given(
    d=st.integers(1, 6),
    k=st.integers(2, 12),
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_exact_distances_to_points_whose_span_holds_the_answer_give_it_back(d, k, seed, scale):
    rng = np.random.default_rng(seed)
    neighbours = scale * (5 + rng.standard_normal((1, k, d)))
    truth = rng.dirichlet(np.ones(k), size=1) @ neighbours[0]
    distances2 = ((neighbours[0] - truth) ** 2).sum(axis=1)[None]
    np.testing.assert_allclose(locate(neighbours, distances2), truth, rtol=1e-7)


@pytest.mark.parametrize("d", [1, 3, 6, 12])
def test_the_same_numbers_in_single_precision_give_the_same_point_rounded(d):
    """Ten neighbours in fewer dimensions have flat directions, which round-off must not make steep."""
    rng = np.random.default_rng(d)
    neighbours = rng.standard_normal((60, 10, d)).astype(np.float32)
    distances2 = (d + rng.random((60, 10))).astype(np.float32)  # of no point
    found = locate(neighbours, distances2)
    assert found.dtype == np.float32
    expected = locate(neighbours.astype(float), distances2.astype(float))
    np.testing.assert_allclose(found, expected, rtol=np.finfo("f4").eps)


def test_duplicated_and_nearly_duplicated_neighbours_leave_the_answer_alone():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((4, 3))
    neighbours = np.concatenate([base, base, base + 1e-7 * rng.standard_normal((4, 3))])[None]
    truth = base.mean(axis=0)
    distances2 = ((neighbours - truth) ** 2).sum(axis=2)
    np.testing.assert_allclose(locate(neighbours, distances2)[0], truth, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-7])
def test_a_flat_neighbourhood_does_not_magnify_errors_of_the_distances(scale):
    rng = np.random.default_rng(7)
    neighbours = rng.standard_normal((50, 10, 9)) * np.r_[np.ones(8), scale]
    z = neighbours.mean(axis=1) + 0.3 * rng.standard_normal((50, 9)) * np.r_[np.ones(8), scale]
    exact = np.square(neighbours - z[:, None]).sum(axis=2)
    distances2 = exact + 0.5 * rng.random(exact.shape)
    middle = neighbours.mean(axis=1)
    spread2 = np.square(neighbours - middle[:, None]).sum(axis=2).mean(axis=1)
    reach2 = distances2.mean(axis=1) - spread2  # ‖z − x̄‖² = mean(d²) − mean(d₀²)
    found = np.square(locate(neighbours, distances2) - middle).sum(axis=1)
    assert np.all(found <= reach2 * (1 + 1e-5))
    assert np.allclose(locate(neighbours, exact), z, atol=1e-6)


def test_distance_stays_near_the_data_on_a_table_of_ten_columns():
    rows = StandardScaler().fit_transform(load_diabetes().data)
    for n_components in (5, 50, 200):
        answers = KernelPCA(n_components, preimage="distance").fit(rows[:300]).denoise(rows[300:])
        assert np.abs(answers).max() <= np.abs(rows).max()


def test_both_readings_agree_for_targets_of_full_length_and_differ_for_short_ones():
    X = points()
    full = Expansion(Gaussian(1.0), X, np.eye(30)[:2])
    for reading in ("inner", "paper"):
        np.testing.assert_allclose(find_preimage(full, Distance(reading=reading)).points, X[:2], atol=1e-7)
    short = Expansion(RationalQuadratic(1.0), X, np.full((1, 30), 1 / 30))
    inner, paper = (find_preimage(short, Distance(reading=r)).points for r in ("inner", "paper"))
    assert np.abs(inner - paper).max() > 1e-3


def test_an_even_polynomial_takes_the_root_on_the_side_of_the_input():
    kernel, X = Polynomial(gamma=1.0, coef0=0.0, degree=2), points(30, 3)
    x = np.array([[0.5, -1.0, 0.7]])
    weights = np.linalg.lstsq(kernel(X, X), kernel(X, x), rcond=1e-12)[0].T
    targets = Expansion(kernel, X, weights)
    np.testing.assert_allclose(find_preimage(targets, Distance(12), starts=x * 1.1).points, x, atol=1e-6)
    np.testing.assert_allclose(find_preimage(targets, Distance(12), starts=-x * 1.1).points, -x, atol=1e-6)


@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 25),
    d=st.integers(1, 5),
    scale=st.sampled_from([0.3, 1.0, 10.0]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_convex_weights_have_no_duality_gap(seed, k, d, scale, dtype):
    """Neighbours of low dimension and wide kernels make Gram matrices that are singular in floating point."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((k, d))
    X[k // 2 :] = X[: k - k // 2]  # half of them twice
    grams = Gaussian(scale)(X, X)[None].astype(dtype)
    products = grams[0] @ rng.standard_normal((k, 6)).astype(dtype) / k
    weights, converged, steps = minimise_on_simplex(np.repeat(grams, 6, axis=0), products.T, 1e-9, 500)
    slope = weights @ grams[0].astype(float) - products.T
    gap = np.einsum("mi,mi->m", weights, slope) - slope.min(axis=1)
    assert converged.all()
    assert (gap <= 40 * max(np.finfo(dtype).eps, 1e-10) * max(1, np.abs(products).max())).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert steps.max() <= 5 * k


def test_convex_combinations_find_a_planted_one_and_say_so_when_they_stop_early():
    X = points(20, 3)
    truth = np.random.default_rng(1).dirichlet(np.ones(20), size=5)
    targets = Expansion(Gaussian(1.0), X, truth)
    found = find_preimage(targets, ConvexCombination())
    assert found.converged.all()
    np.testing.assert_allclose(found.points, truth @ X, atol=1e-3)  # a gap of 1e-9 through a matrix of condition 1e4
    with pytest.warns(ConvergenceWarning, match="5 of 5"):
        assert not find_preimage(targets, ConvexCombination(max_iter=1)).converged.any()


def test_convex_weights_are_optimal_and_the_answer_stays_in_range():
    rng, X = np.random.default_rng(0), points(20, 3)
    K, s = Gaussian(1.0)(X, X)[None], rng.standard_normal((1, 20))
    w, converged, _ = minimise_on_simplex(K, s, 1e-12, 20_000)
    slope = K[0] @ w[0] - s[0]
    assert converged.all()
    assert slope[w[0] > 1e-9] == pytest.approx(slope.min(), abs=1e-6)
    targets = Expansion(Gaussian(1.0), X, rng.standard_normal((8, 20)))
    found = find_preimage(targets, ConvexCombination()).points
    assert (found >= X.min(axis=0) - 1e-12).all() and (found <= X.max(axis=0) + 1e-12).all()


def model_of(X, q=8, kernel=None):
    return decomposition.fit(kernel or Gaussian(2.0), X, q)


def test_conformal_without_penalty_is_linear_regression_of_inputs_on_codes():
    X = points(80, 4)
    model = model_of(X)
    codes = model.codes(X)
    design = np.column_stack([codes, np.ones(80)])
    expected = design @ np.linalg.lstsq(design, X, rcond=None)[0]
    way = Conformal().prepare(model, np.random.default_rng(0))
    np.testing.assert_allclose(way(model.expand(codes)).points, expected, atol=1e-9)


def test_conformal_is_honeine_and_richards_formula():
    """x̂ − x̄ = (XXᵀ)⁺X(XᵀX − ηK̃⁺)γ with centred inputs and the centred kernel matrix (their X has a column a point)."""
    X = points(60, 4)
    model = decomposition.fit(Gaussian(2.0), X, 59)
    gamma = model.alphas @ model.codes(X[:3]).T
    n = len(X)
    H = np.eye(n) - 1 / n
    Xc = (X - X.mean(0)).T
    eta = 0.05 * np.trace(H @ Gaussian(2.0)(X, X) @ H) / model.n_components * np.trace(Xc @ Xc.T) / 4
    K_inverse = model.alphas @ np.diag(1 / model.eigenvalues) @ np.diag(model.eigenvalues) @ model.alphas.T
    expected = X.mean(0)[:, None] + np.linalg.pinv(Xc @ Xc.T) @ Xc @ (Xc.T @ Xc - eta * K_inverse) @ gamma
    way = Conformal(eta=0.05).prepare(model, np.random.default_rng(0))
    np.testing.assert_allclose(way(model.expand(model.codes(X[:3]))).points.T, expected, rtol=1e-5, atol=1e-6)


def test_one_step_is_rathis_formula():
    X = points(40, 3)
    model = model_of(X, 5)
    targets = model.expand(model.codes(points(6, 3, seed=4) * 0.5))
    sigma = (2 - targets.distances2(X)) / 2
    weights = targets.weights * sigma
    expected = weights @ X / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(find_preimage(targets, OneStep()).points, expected, rtol=1e-7)


@pytest.mark.parametrize("copies", [1, 3])
def test_leave_one_out_is_what_leaving_out_and_fitting_again_gives(copies):
    """All copies of a row are left out together; compared with plain kernel ridge regression, fitted n times."""
    X = points(25, 3)
    model = model_of(X, 4)
    method = Learned(ridge=0.1, noise=GaussianNoise(0.3) if copies > 1 else None, n_copies=copies, kernel=Gaussian(0.8))
    way = method.prepare(model, np.random.default_rng(1))
    codes, targets, _ = method._examples(model, X, np.random.default_rng(1))
    mean, errors = targets.mean(axis=0), []
    for row in range(25):
        out = np.arange(len(codes)) // copies == row
        L = Gaussian(0.8)(codes[~out], codes[~out]) + 0.1 * np.eye((~out).sum())
        fitted = mean + Gaussian(0.8)(codes[out], codes[~out]) @ np.linalg.solve(L, targets[~out] - mean)
        errors.append(((fitted - targets[out]) ** 2).mean())
    assert way.error == pytest.approx(np.mean(errors), rel=1e-6)


def test_learned_is_kernel_ridge_regression_and_landmarks_approach_it():
    X = points(60, 3)
    model = model_of(X, 6)
    codes, new = model.codes(X), model.codes(points(9, 3, seed=2))
    L = Gaussian(1.0)(codes, codes)
    expected = X.mean(0) + Gaussian(1.0)(new, codes) @ np.linalg.solve(L + 0.01 * np.eye(60), X - X.mean(0))

    def answer(n_landmarks):
        method = Learned(ridge=0.01, kernel=Gaussian(1.0), n_landmarks=n_landmarks)
        return method.prepare(model, np.random.default_rng(0))(model.expand(new)).points

    np.testing.assert_allclose(answer(60), expected, atol=1e-8)
    errors = [np.abs(answer(m) - expected).max() for m in (10, 30, 60)]
    assert errors[0] > errors[1] > errors[2]


def test_a_regression_on_codes_of_single_precision_finds_the_ridge_of_double_precision():
    """Its ridges go down to 1e-7, its matrices to n·eps = 3e-5 of single precision."""
    X = points(300, 3).astype(np.float32)
    found = {}
    for dtype in (np.float64, np.float32):
        model = decomposition.fit(Gaussian(2.0), X[:250].astype(dtype), 20)
        inverse_map = Learned().prepare(model, np.random.default_rng(0))
        answers = inverse_map(model.expand(model.codes(X[250:].astype(dtype)))).points
        assert answers.dtype == dtype
        found[dtype] = inverse_map.ridge, np.sqrt(np.mean(np.square(answers - X[250:])))
    assert found[np.float64][0] < 250 * np.finfo("f4").eps
    assert found[np.float32][0] == found[np.float64][0]
    assert found[np.float32][1] == pytest.approx(found[np.float64][1], rel=0.01)  # with too large a ridge, 0.1 to 0.7


@pytest.mark.parametrize("scale", [7, 7.0, np.float32(7), np.int64(7), np.float64(7)], ids=lambda s: type(s).__name__)
def test_every_kind_of_number_is_a_length_scale(scale):
    way = Learned(kernel=Gaussian(scale)).prepare(model_of(points(60, 3)), np.random.default_rng(0))
    assert way.kernel.length_scale == 7


def test_noise_aware_learning_beats_clean_learning_on_noisy_points():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, 400)
    clean = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((400, 6))])
    train, test = clean[:300], clean[300:]
    noisy = test + 0.3 * rng.standard_normal(test.shape)
    model = decomposition.fit(Gaussian(1.0), train, 12)

    def error(method):
        way = method.prepare(model, np.random.default_rng(1))
        return ((way(model.expand(model.codes(noisy))).points - test) ** 2).mean()

    assert error(Learned(noise=GaussianNoise(0.3))) < 0.7 * error(Learned())


@pytest.mark.parametrize(
    ("kernel", "task", "expected"),
    [
        (Gaussian(1.0), "decode", Learned),
        (Gaussian(1.0), "denoise", Wiener),
        (Polynomial(gamma=1.0), "denoise", Wiener),
        (Laplacian(1.0), "denoise", Wiener),
        (Function(min), "denoise", Wiener),
        (Gaussian(1.0), "expansion", FixedPoint),
        (Linear(), "expansion", Gradient),
        (Laplacian(1.0), "expansion", Gradient),
        (Function(min), "expansion", Nearest),
        (Precomputed(), "denoise", Nearest),
    ],
)
def test_the_choice_follows_what_the_kernel_knows_and_the_task(kernel, task, expected):
    assert isinstance(choose_preimage_method(kernel, task), expected)
    choose_preimage_method(kernel, task).check(kernel)


@pytest.mark.parametrize(
    ("method", "kernel", "sentence"),
    [
        (Distance(), Laplacian(1.0), "Gradient"),
        (Distance(), Gaussian(1.0) + Matern(1.0), "Gradient"),
        (FixedPoint(), Laplacian(1.0), "Gradient"),
        (FixedPoint(), Cosine(), "Gradient"),
        (OneStep(), Polynomial(gamma=1.0), "Distance"),
        (Gradient(), Function(min), "Learned"),
        (Learned(), Precomputed(), "Nearest"),
        (Gradient(), Precomputed(), "Nearest"),
    ],
)
def test_a_method_that_a_kernel_cannot_serve_is_refused_with_one_that_can(method, kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        method.check(kernel)


@pytest.mark.parametrize("method", [Learned(), Conformal(), "learned"])
def test_methods_on_codes_refuse_a_bare_expansion(method):
    with pytest.raises(TypeError, match="codes of a fitted model"):
        find_preimage(Expansion(Gaussian(1.0), points(), np.full((1, 30), 1 / 30)), method)


def test_names_and_wrong_names():
    assert as_preimage_method("fixed_point") == FixedPoint()
    with pytest.raises(ValueError, match="unknown pre-image method 'mika'; the names are auto, fixed_point"):
        as_preimage_method("mika")
    with pytest.raises(TypeError, match="a name or a method object"):
        as_preimage_method(FixedPoint)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedPoint(tol=0),
        lambda: FixedPoint(pull=-1),
        lambda: Gradient(box=(1, 0)),
        lambda: Distance(n_neighbors=0),
        lambda: Distance(reading="mine"),
        lambda: Learned(ridge=-1),
        lambda: Learned(ridge="big"),
        lambda: Conformal(eta=-1),
        lambda: ConvexCombination(n_neighbors=0),
    ],
)
def test_bad_settings_are_refused_where_they_are_made(make):
    with pytest.raises(ValueError):
        make()
