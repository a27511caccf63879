"""Reduced sets against least squares by hand, planted sets, Taylor slopes and the identities they must keep."""

import numpy as np
import pytest
from sklearn.utils.validation import check_is_fitted

from helpers import KERNELS, rows, sparse_rows, taylor_slope
from preimage import Expansion, KernelPCA, reduced_set
from preimage.datasets import load_usps
from preimage.features import RandomFourier
from preimage.kernels import Function, Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid, knows
from preimage.preimages import FixedPoint
from preimage.reduced import Greedy, ReducedSet, Selected, choose_reduction_method
from preimage.reduced.base import Growth
from preimage.reduced.greedy import _Gain
from preimage.reduced.misfit import Misfit
from preimage.scaling import grid, on_grid

METHODS = [Selected(), Greedy(polish=0), Greedy()]


def batch(kernel=None, n=60, q=4, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return Expansion(kernel or Gaussian(1.4), rows(n, d, seed), rng.standard_normal((q, n)))


def relative_error(expansion, other):
    """√(Σ‖Ψₖ − Ψ̂ₖ‖² / Σ‖Ψₖ‖²) from the difference itself."""
    return np.sqrt((expansion - other).norm2().sum() / expansion.norm2().sum())


def least_squares_error(expansion, points):
    """The error of the best weights on given points."""
    K, C = expansion.kernel(points, points), expansion.inner(points)
    total = expansion.norm2().sum()
    return np.sqrt(max(total - np.sum(C * np.linalg.lstsq(K, C.T, rcond=1e-13)[0].T), 0) / total)


# What every method must keep


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    "kernel", ["gaussian", "matern-5/2", "polynomial-3", "laplacian", "sum-mixed", "product-mixed"]
)
def test_errors_are_true_fall_with_the_size_and_weights_are_least_squares(kernel, method):
    expansion = batch(KERNELS[kernel])
    found = reduced_set(expansion, 12, method=method)
    assert found.errors.shape == (12,)
    assert np.all(np.diff(found.errors) <= 0)
    assert 0 < found.error < 1
    assert found.expansion.points.shape == (12, 3)
    assert found.expansion.weights.shape == expansion.weights[:, :12].shape
    assert relative_error(expansion, found.expansion) == pytest.approx(found.error, abs=1e-6)
    assert least_squares_error(expansion, found.expansion.points) == pytest.approx(found.error, abs=1e-5)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if knows(KERNELS[name], "gradient")])
def test_polishing_never_makes_it_worse(kernel):
    if not KERNELS[kernel].positive_definite:
        pytest.skip("an indefinite kernel has no distances")
    expansion = batch(KERNELS[kernel], n=40)
    for size in (1, 2, 5):
        greedy = reduced_set(expansion, size, method=Greedy(polish=0))
        polished = reduced_set(expansion, size, method=Greedy())
        assert polished.error <= greedy.error
        np.testing.assert_array_equal(polished.errors[:-1], greedy.errors[:-1])


def test_each_method_is_better_than_the_one_before():
    expansion = batch(n=200, q=3)
    selected, greedy, polished = (reduced_set(expansion, 20, method=method).error for method in METHODS)
    assert polished < 0.9 * greedy < 0.9 * selected
    pick = np.random.default_rng(0).choice(200, 20, replace=False)
    assert selected < 0.8 * least_squares_error(expansion, expansion.points[pick])


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_as_many_points_as_the_expansion_has_return_it_itself(method):
    expansion = batch(n=25)
    found = reduced_set(expansion, 25, method=method)
    assert found.expansion is expansion
    assert found.error == 0
    assert found.errors.shape == (25,)
    assert np.all(np.diff(found.errors) <= 0)


@pytest.mark.parametrize("method", [Selected(), Greedy(steps=0, polish=0), Greedy()], ids=str)
def test_a_set_of_few_points_in_disguise_is_found_again(method):
    """Vectors over 5 points, written over 5 pairs of equal points."""
    points, weights = rows(5, 3), rows(2, 5)
    shares = np.random.default_rng(0).uniform(-1, 2, (2, 5))
    doubled = Expansion(
        Gaussian(1.0), np.vstack([points, points]), np.hstack([weights * shares, weights * (1 - shares)])
    )
    found = reduced_set(doubled, 5, method=method)
    assert found.error < 1e-5
    truth = Expansion(Gaussian(1.0), points, weights)
    np.testing.assert_allclose(found.expansion.inner(rows(10, 3, seed=9)), truth.inner(rows(10, 3, seed=9)), atol=1e-4)


def test_the_best_single_point_of_a_vector_is_its_pre_image():
    """One point with a weight maximises ⟨Ψ, φ(z)⟩², which for a positive Gaussian expansion is the pre-image."""
    X = rows(80, 2)
    mean = Expansion(Gaussian(1.5), X, np.full((1, 80), 1 / 80))
    found = reduced_set(mean, 1, method=Greedy(tol=1e-12)).expansion
    point = FixedPoint(tol=1e-9).prepare(mean, np.random.default_rng(0))(mean).points
    np.testing.assert_allclose(found.points, point, atol=1e-3)
    np.testing.assert_allclose(found.weights[0], mean.inner(found.points)[0], rtol=1e-6)


def test_a_linear_kernel_needs_as_many_points_as_dimensions_and_no_more():
    expansion = batch(Linear(), n=30, q=5, d=3)
    for method in METHODS:
        found = reduced_set(expansion, 10, method=method)
        assert found.expansion.points.shape[0] == 3
        assert found.errors.shape == (10,)
        assert found.errors[2] < 1e-6 < found.errors[1]


def test_selection_takes_points_of_the_expansion_in_the_order_of_their_gain():
    expansion = batch()
    found = reduced_set(expansion, 6, method="selection")
    known = {tuple(point) for point in expansion.points}
    assert all(tuple(point) in known for point in found.expansion.points)
    errors = [least_squares_error(expansion, expansion.points[i : i + 1]) for i in range(60)]
    assert found.errors[0] == pytest.approx(min(errors))
    np.testing.assert_array_equal(found.expansion.points[0], expansion.points[np.argmin(errors)])
    rest = [least_squares_error(expansion, np.vstack([found.expansion.points[0], point])) for point in expansion.points]
    assert found.errors[1] == pytest.approx(min(rest))


def test_points_that_carry_no_weight_do_no_harm_and_zero_vectors_need_no_points():
    expansion = batch(q=2)
    weights = np.vstack([expansion.weights, np.zeros(60)])
    found = reduced_set(Expansion(expansion.kernel, expansion.points, weights), 5)
    np.testing.assert_allclose(found.expansion.weights[2], 0, atol=1e-12)
    nothing = reduced_set(Expansion(expansion.kernel, expansion.points, np.zeros((1, 60))), 5)
    assert nothing.expansion.points.shape[0] == 0


def test_sparse_precomputed_and_function_kernels():
    X = sparse_rows(50)
    weights = rows(3, 50)
    dense = reduced_set(Expansion(Gaussian(3.0), X.toarray(), weights), 8, method="selection")
    sparse = reduced_set(Expansion(Gaussian(3.0), X, weights), 8, method="selection")
    np.testing.assert_allclose(sparse.errors, dense.errors, atol=1e-10)
    K = Gaussian(3.0)(X.toarray(), X.toarray())
    given = reduced_set(Expansion(Precomputed(K), np.arange(50)[:, None], weights), 8)
    np.testing.assert_allclose(given.errors, dense.errors, atol=1e-10)
    np.testing.assert_array_equal(X.toarray()[given.expansion.points[:, 0]], dense.expansion.points)
    optimised = reduced_set(Expansion(Gaussian(3.0), X, weights), 8, method="greedy")
    assert optimised.error < dense.error
    function = reduced_set(Expansion(Function(Gaussian(3.0)), X.toarray(), weights), 8)
    np.testing.assert_allclose(function.errors, dense.errors, atol=1e-10)


def test_float32_stays_float32():
    expansion = batch()
    single = Expansion(expansion.kernel, expansion.points.astype(np.float32), expansion.weights.astype(np.float32))
    for method in METHODS:
        found = reduced_set(single, 8, method=method)
        assert found.expansion.points.dtype == found.expansion.weights.dtype == np.float32
        assert found.error == pytest.approx(reduced_set(expansion, 8, method=method).error, rel=0.05)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_optimised_points_are_on_a_grid_that_single_precision_holds_about_their_mean(offset):
    moved = batch()
    moved = Expansion(moved.kernel, moved.points + offset, moved.weights)
    points = reduced_set(moved, 8).expansion.points
    about = points - on_grid(points.mean(axis=0), grid(points))
    np.testing.assert_array_equal(about, about.astype(np.float32))
    reach = np.abs(about).max(axis=0)
    np.testing.assert_array_less(grid(points), 2.0**-21 * reach)
    np.testing.assert_array_less(2.0**-24 * reach, grid(points))


def test_a_grid_leaves_constant_columns_alone():
    X = np.column_stack([np.full(5, 0.3), np.zeros(5), np.full(5, -7e8)])
    np.testing.assert_allclose(on_grid(X, grid(X)), X, rtol=1e-15)


# Gradients


@pytest.mark.parametrize("kernel", ["gaussian", "matern-5/2", "polynomial-3", "sum-mixed", "product-mixed", "cosine"])
def test_the_misfit_has_the_gradient_it_says(kernel):
    misfit, Z = Misfit(batch(KERNELS[kernel])), rows(7, 3, seed=4)
    if kernel == "cosine":
        Z = Z[:2]  # 3 directions span all there is, and the error would be 0
    _, gradient = misfit(Z)
    for seed in range(3):
        slope = taylor_slope(
            lambda Z: misfit(Z)[0], gradient, Z, rows(len(Z), 3, seed=10 + seed), np.logspace(-2, -4, 9)
        )
        assert slope == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("kernel", ["gaussian", "matern-5/2", "polynomial-3", "sum-mixed", "product-mixed"])
@pytest.mark.parametrize("taken", [0, 3])
def test_the_gain_is_the_fall_of_the_error_and_has_the_gradient_it_says(kernel, taken):
    expansion = batch(KERNELS[kernel])
    growth = Growth(expansion, taken + 1)
    for i in range(taken):
        assert growth.add(growth.image(i))
    Z, start = expansion.points[:taken], rows(1, 3, seed=8)
    gain = _Gain(growth, Z, 1.0, np.ones(1))
    value, gradient, _ = gain(start, np.arange(1))
    before = least_squares_error(expansion, Z) ** 2 if taken else 1.0
    fall = before - least_squares_error(expansion, np.vstack([Z, start])) ** 2
    assert -value[0] == pytest.approx(fall * expansion.norm2().sum(), rel=1e-6)
    slope = taylor_slope(
        lambda z: gain(z, np.arange(1))[0][0], gradient, start, rows(1, 3, seed=3), np.logspace(-2, -4, 9)
    )
    assert slope == pytest.approx(2, abs=0.1)
    assert growth.add(growth.image_of(start, Z))
    assert growth.errors()[-1] ** 2 == pytest.approx(before - fall, rel=1e-6)


# Refusals


@pytest.mark.parametrize(
    ("n_points", "error", "sentence"),
    [
        (0, ValueError, "n_points must lie between 1 and the 60 points of the expansion, not 0"),
        (61, ValueError, "n_points must lie between 1 and the 60 points of the expansion, not 61"),
        (-3, ValueError, "between 1 and the 60"),
        (2.5, TypeError, "n_points must be a whole number, not 2.5"),
        ("many", TypeError, "n_points must be a whole number, not 'many'"),
        (True, TypeError, "n_points must be a whole number, not True"),
    ],
)
def test_bad_sizes_get_a_sentence(n_points, error, sentence):
    with pytest.raises(error, match=sentence):
        reduced_set(batch(), n_points)


def test_methods_by_name_and_what_they_need():
    assert isinstance(choose_reduction_method(Gaussian(1.0)), Greedy)
    assert isinstance(choose_reduction_method(Function(Gaussian(1.0))), Selected)
    assert isinstance(choose_reduction_method(Precomputed(np.eye(3))), Selected)
    with pytest.raises(ValueError, match="unknown reduced-set method 'best'; the names are auto, greedy, selection"):
        reduced_set(batch(), 3, method="best")
    with pytest.raises(TypeError, match="such as Greedy\\(\\)"):
        reduced_set(batch(), 3, method=Greedy)
    with pytest.raises(ValueError, match=r"Greedy needs a kernel with a gradient.* Selected\(\) takes any kernel"):
        reduced_set(batch(Function(Gaussian(1.0))), 3, method="greedy")
    with pytest.raises(ValueError, match="Greedy needs a positive definite kernel"):
        reduced_set(batch(Sigmoid(0.3, -1.0)), 3, method="greedy")
    with pytest.raises(ValueError, match="is indefinite here"):
        reduced_set(Expansion(Sigmoid(0.3, -3.0), rows(20, 3), np.ones((1, 20))), 3)
    with pytest.raises(ValueError, match="infinite or NaN weights"):
        reduced_set(batch() * np.full(4, np.nan), 3)
    with pytest.raises(ValueError, match="Greedy needs steps"):
        Greedy(steps=-1)


# Kernel PCA


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 300)
    return np.column_stack([np.cos(t), np.sin(t), t]) + 0.05 * rng.standard_normal((300, 3))


@pytest.mark.parametrize("method", ["selection", "auto"])
@pytest.mark.parametrize("settings", [{}, {"center": False}, {"approximation": 100, "random_state": 0}], ids=str)
def test_a_compressed_kernel_pca_gives_nearly_the_same_codes(curve, settings, method):
    new = curve[::3] + 0.01
    full = KernelPCA(4, kernel=Gaussian(0.8), **settings).fit(curve)
    small = full.compress(25, method=method)
    check_is_fitted(small)
    assert small.decomposition_.points.shape == (25, 3)
    gap = np.linalg.norm(small.transform(new) - full.transform(new)) / np.linalg.norm(full.transform(new))
    assert gap < 0.02
    assert gap <= 3 * small.compression_errors_[-1] + 1e-6
    np.testing.assert_allclose(small.score_samples(new), full.score_samples(new), atol=0.02)
    full.preimage = small.preimage = FixedPoint()
    np.testing.assert_allclose(small.denoise(new), full.denoise(new), atol=0.05)
    full.preimage = small.preimage = "auto"
    np.testing.assert_allclose(
        small.inverse_transform(small.transform(new)), full.inverse_transform(full.transform(new)), atol=0.05
    )
    assert full.decomposition_.points.shape[0] > 25


def test_a_compressed_kernel_pca_is_one_like_any_other(curve):
    """Orthonormal axes, codes that are inner products with them, norms and residuals that follow from both."""
    small = KernelPCA(5, kernel=Gaussian(0.8)).fit(curve).compress(30)
    model = small.decomposition_
    np.testing.assert_allclose(small.components_.inner_expansion(small.components_), np.eye(5), atol=1e-8)
    projected = small.project(curve[:10])
    plain = Expansion(model.kernel, model.points, projected.weights)
    np.testing.assert_allclose(projected.norm2(), plain.norm2(), atol=1e-8)
    np.testing.assert_allclose(projected.inner(curve[:7]), plain.inner(curve[:7]), atol=1e-8)
    distances = np.diagonal(plain.distances2(curve[:10]))
    np.testing.assert_allclose(-small.score_samples(curve[:10]), distances, atol=1e-8)
    again = small.project(curve[:10]).inner_expansion(small.components_) - model.offsets
    np.testing.assert_allclose(again, small.transform(curve[:10]), atol=1e-8)


def test_compression_to_all_points_changes_nothing(curve):
    full = KernelPCA(3, kernel=Gaussian(0.8)).fit(curve[:50])
    np.testing.assert_allclose(full.compress(50).transform(curve), full.transform(curve), atol=1e-10)


def test_compression_of_a_precomputed_kernel_keeps_columns_of_the_matrix(curve):
    K = Gaussian(0.8)(curve, curve)
    full = KernelPCA(3, kernel="precomputed").fit(K)
    small = full.compress(25)
    np.testing.assert_allclose(small.transform(K[:20]), full.transform(K[:20]), atol=0.05)


def test_compression_is_refused_with_a_sentence(curve):
    full = KernelPCA(4, kernel=Gaussian(0.8)).fit(curve)
    with pytest.raises(ValueError, match="less than the 4 components"):
        full.compress(3)
    with pytest.raises(ValueError, match="between 1 and the 300 points"):
        full.compress(301)
    with pytest.raises(TypeError, match="no points to compress"):
        KernelPCA(4, kernel=Gaussian(0.8), approximation=RandomFourier(50)).fit(curve).compress(10)


def test_results_say_what_happened():
    found = reduced_set(batch(Matern(1.5, nu=2.5)), 4)
    assert isinstance(found, ReducedSet)
    assert found.error == found.errors[-1]


@pytest.mark.parametrize("kernel", [Laplacian(0.4), Polynomial(0.2, 1.0, 2)])
def test_kernels_without_a_smooth_or_full_feature_space_are_served(kernel):
    found = reduced_set(batch(kernel, n=80), 15)
    assert found.error < reduced_set(batch(kernel, n=80), 3).error


# Real digits


@pytest.mark.slow
def test_codes_of_usps_digits_survive_compression_to_a_tenth():
    usps = load_usps()
    train, test = usps.train.X[:3000].astype(float), usps.test.X.astype(float)
    full = KernelPCA(32, random_state=0).fit(train)
    codes = full.transform(test)
    for method, most in (("selection", 0.05), ("greedy", 0.01)):
        small = full.compress(300, method=method)
        assert np.linalg.norm(small.transform(test) - codes) < most * np.linalg.norm(codes)
