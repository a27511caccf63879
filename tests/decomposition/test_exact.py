import re

import numpy as np
import pytest
from sklearn.decomposition import PCA

from helpers import KERNELS, assert_same_codes, centring, prescribed, rotation, rows, sparse_rows
from preimage.decomposition import exact, fit
from preimage.eigen import Dense
from preimage.exceptions import FewerComponentsWarning, IndefiniteKernelWarning
from preimage.expansion import Expansion
from preimage.gram.operators import gram_operator
from preimage.kernels import (
    Cosine,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)

POSITIVE = {name: kernel for name, kernel in KERNELS.items() if kernel.positive_definite}
FEW = {
    "linear": Linear(),
    "gaussian": Gaussian(1.5),
    "polynomial": Polynomial(0.3, 1.0, 2),
    "laplacian": Laplacian(0.3),
    "composed": Gaussian(1.2) + 0.5 * Linear(),
}

every_positive_kernel = pytest.mark.parametrize("kernel", POSITIVE.values(), ids=POSITIVE)
few_kernels = pytest.mark.parametrize("kernel", FEW.values(), ids=FEW)
both_ways = pytest.mark.parametrize("center", [True, False], ids=["centred", "uncentred"])


def plain_fit(kernel, X, center=True):
    """K̃, its eigenvalues and eigenvectors in descending order, and the row means, by numpy alone."""
    K = kernel(X, X)
    H = centring(len(X)) if center else np.eye(len(X))
    values, vectors = np.linalg.eigh(H @ K @ H)
    return H @ K @ H, values[::-1], vectors[:, ::-1], K.mean(axis=1) if center else np.zeros(len(X))


# Against PCA and numpy


@pytest.mark.parametrize("solver", ["dense", "lanczos", "power"])
def test_the_linear_kernel_is_pca(solver):
    X, Y = rows(120, 6) * [6, 5, 4, 3, 2, 1] + 3, rows(30, 6, seed=1)
    model, pca = fit(Linear(), X, 4, solver=solver), PCA(4).fit(X)
    np.testing.assert_allclose(model.eigenvalues / (120 - 1), pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio, pca.explained_variance_ratio_, rtol=1e-9)
    axes = model.axes.weights @ X
    np.testing.assert_allclose(np.abs(np.sum(axes * pca.components_, axis=1)), 1, rtol=1e-9)
    signs = np.sign(np.sum(axes * pca.components_, axis=1))
    np.testing.assert_allclose(model.codes(Y) * signs, pca.transform(Y), atol=1e-7)
    np.testing.assert_allclose(model.mean.weights @ X, X.mean(axis=0, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(model.residual(Y), np.square(Y - pca.inverse_transform(pca.transform(Y))).sum(axis=1))
    # The expansion of a projection is the reconstruction, mean included.
    reconstructed = pca.inverse_transform(pca.transform(Y))
    np.testing.assert_allclose(model.expand(model.codes(Y)).weights @ X, reconstructed, atol=1e-7)


@every_positive_kernel
@both_ways
def test_eigenpairs_and_codes_are_numpys(kernel, center):
    X, Y = rows(40, 3), rows(12, 3, seed=1)
    _, values, vectors, row_means = plain_fit(kernel, X, center)
    q = min(5, np.sum(values > 1e-8 * values[0]))
    model = fit(kernel, X, int(q), center=center)
    np.testing.assert_allclose(model.eigenvalues, values[:q], rtol=1e-10, atol=1e-12 * values[0])
    assert_same_codes(model.training_codes, vectors[:, :q] * np.sqrt(values[:q]), values[:q], atol=1e-9)
    k = kernel(Y, X)
    centred_k = k - k.mean(axis=1, keepdims=True) - row_means + row_means.mean() if center else k
    assert_same_codes(model.codes(Y), centred_k @ vectors[:, :q] / np.sqrt(values[:q]), values[:q], atol=1e-9)
    assert model.residuals.max() < 1e-12 * values[0] * 40


# Identities


@every_positive_kernel
@both_ways
def test_projecting_training_points_gives_the_shortcut(kernel, center):
    X = rows(40, 3)
    model = fit(kernel, X, center=center)
    largest = np.abs(model.training_codes).max()
    np.testing.assert_allclose(model.codes(X), model.training_codes, atol=1e-6 * largest)
    leading = model.truncate(3)
    np.testing.assert_allclose(leading.codes(X), leading.training_codes, atol=1e-10 * largest)
    np.testing.assert_allclose(model.training_codes.sum(axis=0) * center, 0, atol=1e-10 * largest * 40)


@every_positive_kernel
@both_ways
def test_axes_are_orthonormal(kernel, center):
    X = rows(40, 3)
    model = fit(kernel, X, 3, center=center)
    gram = model.axes.inner_expansion(model.axes)
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-8)


@few_kernels
def test_weights_of_a_projection_sum_to_one_when_centred(kernel):
    X, Y = rows(40, 3) + 1, rows(12, 3, seed=1)
    model = fit(kernel, X)
    np.testing.assert_allclose(model.expand(model.codes(Y)).weights.sum(axis=1), 1, atol=1e-9)
    uncentred = fit(kernel, X, 2, center=False)
    projection = uncentred.expand(uncentred.codes(Y))
    np.testing.assert_allclose(projection.weights, uncentred.codes(Y) @ uncentred.alphas.T, rtol=1e-12)
    assert np.abs(projection.weights.sum(axis=1) - 1).max() > 0.01


@few_kernels
@both_ways
def test_weights_are_gamma_tilde(kernel, center):
    X, Y = rows(40, 3), rows(12, 3, seed=1)
    model = fit(kernel, X, 3, center=center)
    gamma = model.codes(Y) @ model.alphas.T
    expected = gamma + center * (1 - gamma.sum(axis=1, keepdims=True)) / 40
    np.testing.assert_allclose(model.expand(model.codes(Y)).weights, expected, atol=1e-13)


@few_kernels
@both_ways
def test_a_projections_shortcuts_equal_the_plain_expansion(kernel, center):
    X, Y, Z = rows(40, 3) + 0.5, rows(12, 3, seed=1), rows(9, 3, seed=2)
    model = fit(kernel, X, 3, center=center)
    projection = model.expand(model.codes(Y))
    plain = Expansion(kernel, X, projection.weights)
    close = {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(projection.norm2(), plain.norm2(), **close)
    np.testing.assert_allclose(projection.inner(Z), plain.inner(Z), **close)
    np.testing.assert_allclose(projection.inner_points(), plain.inner_points(), **close)
    np.testing.assert_allclose(projection.inner_paired(Y), plain.inner_paired(Y), **close)
    np.testing.assert_allclose(projection.gradient(Y), plain.gradient(Y), **close)
    np.testing.assert_allclose(projection.distances2(Z), plain.distances2(Z), **close)
    np.testing.assert_allclose(projection.distances2_expansion(plain), plain.distances2_expansion(plain), atol=1e-9)
    np.testing.assert_allclose(projection[2:5].norm2(), plain[2:5].norm2(), **close)
    assert len(projection) == 12 and len(projection[0]) == 1


def test_the_long_form_of_kwok_and_tsang_is_ours():
    """Their eq. (8), d² = (k_x + K1/n − 2k_i)ᵀ HᵀMH (k_x − K1/n) + s̄ + K_ii − (2/n) 1ᵀk_i, is π + K_ii − 2s_i."""
    X, Y, n, q = rows(30, 3), rows(8, 3, seed=1), 30, 4
    kernel = Gaussian(1.3)
    K, kx = kernel(X, X), kernel(Y, X)
    _, values, vectors, row_means = plain_fit(kernel, X)
    H, M = centring(n), (vectors[:, :q] / values[:q]) @ vectors[:, :q].T
    long = np.empty((8, n))
    for j in range(8):
        for i in range(n):
            left, right = kx[j] + row_means - 2 * K[i], kx[j] - row_means
            long[j, i] = left @ H.T @ M @ H @ right + K.mean() + K[i, i] - 2 / n * K[i].sum()
    model = fit(kernel, X, q)
    np.testing.assert_allclose(model.expand(model.codes(Y)).distances2(X), long, rtol=1e-10)


@every_positive_kernel
@both_ways
def test_residuals_are_distances_to_the_projection(kernel, center):
    X, Y = rows(40, 3), rows(12, 3, seed=1)
    model = fit(kernel, X, 3, center=center)
    residual = model.residual(Y)
    assert np.all(residual >= 0)
    scale = np.abs(kernel.diagonal(Y)).max()
    np.testing.assert_allclose(residual, np.diag(model.expand(model.codes(Y)).distances2(Y)), atol=1e-9 * scale)
    # Over the training points it is the variance that was left out.
    left_out = (model.total_variance - model.eigenvalues.sum()) / 40
    np.testing.assert_allclose(model.residual(X).mean(), left_out, atol=1e-7 * scale)


@every_positive_kernel
@both_ways
def test_at_full_rank_nothing_of_the_training_points_is_left(kernel, center):
    X = rows(25, 3)
    model = fit(kernel, X, center=center)
    scale = np.abs(kernel.diagonal(X)).max()
    np.testing.assert_allclose(model.residual(X), 0, atol=1e-7 * scale)
    assert model.is_complete
    assert not model.truncate(1).is_complete


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.8), Matern(0.7)], ids=repr)
def test_a_characteristic_kernel_gives_one_component_less_than_rows(kernel):
    X = rows(30, 3)
    assert fit(kernel, X).n_components == 29
    assert fit(kernel, X, center=False).n_components == 30


def test_residuals_fall_with_every_component():
    X, Y = rows(40, 3), rows(12, 3, seed=1)
    model = fit(Gaussian(1.0), X)
    residuals = np.array([model.truncate(q).residual(Y) for q in range(1, 40)])
    assert np.all(np.diff(residuals, axis=0) <= 1e-12)
    assert np.all(residuals[0] > 0.1)


# Explained variance


@every_positive_kernel
@both_ways
@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_explained_variance_is_exact_without_the_full_spectrum(kernel, center, solver):
    X = rows(40, 3)
    _, values, *_ = plain_fit(kernel, X, center)
    model = fit(kernel, X, 2, center=center, solver=solver)
    np.testing.assert_allclose(model.explained_variance_ratio, values[:2] / values.sum(), rtol=1e-9)
    np.testing.assert_allclose(fit(kernel, X, center=center).explained_variance_ratio.sum(), 1, rtol=1e-9)


@few_kernels
@pytest.mark.parametrize("fraction", [0.3, 0.8, 0.99, 0.999999])
def test_a_fraction_takes_just_enough_components(kernel, fraction):
    X = rows(120, 3)
    ratios = fit(kernel, X).explained_variance_ratio.cumsum()
    model = fit(kernel, X, fraction)
    q = model.n_components
    assert model.explained_variance_ratio.sum() >= fraction - 1e-12
    assert q == 1 or ratios[q - 2] < fraction


def test_a_fraction_asks_the_solver_for_more_until_it_is_reached():
    asked = []

    class Recording:
        def solve(self, operator, k, rng):
            asked.append(k)
            return Dense().solve(operator, k, rng)

    model = fit(Gaussian(0.3), rows(200, 3), 0.9, solver=Recording())
    assert asked == [32, 64, 128, 199][: len(asked)] and len(asked) > 1
    assert model.explained_variance_ratio.sum() >= 0.9 > model.explained_variance_ratio[:-1].sum()


# Invariances


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(1.2), Polynomial(0.4), Cosine(), RationalQuadratic(1.0)], ids=repr
)
def test_rotations_change_nothing(kernel):
    X, Y, Q = rows(50, 4) * [4, 3, 2, 1], rows(10, 4, seed=1), rotation(4)
    a, b = fit(kernel, X, 3), fit(kernel, X @ Q, 3)
    np.testing.assert_allclose(a.eigenvalues, b.eigenvalues, rtol=1e-10)
    assert_same_codes(b.codes(Y @ Q), a.codes(Y), a.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(a.residual(Y), b.residual(Y @ Q), rtol=1e-8, atol=1e-9 * a.residual(Y).max())


@few_kernels
def test_the_order_of_the_rows_changes_nothing(kernel):
    X, Y = rows(50, 3) * [3, 2, 1], rows(10, 3, seed=1)
    order = np.random.default_rng(0).permutation(50)
    a, b = fit(kernel, X, 3), fit(kernel, X[order], 3)
    np.testing.assert_allclose(a.eigenvalues, b.eigenvalues, rtol=1e-10)
    assert_same_codes(b.codes(Y), a.codes(Y), a.eigenvalues, atol=1e-9)
    np.testing.assert_allclose(np.abs(b.training_codes), np.abs(a.training_codes[order]), atol=1e-9 * 10)


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.2), Laplacian(0.3)], ids=repr)
def test_a_translation_changes_nothing_when_centred(kernel):
    X, Y = rows(50, 3) * [3, 2, 1], rows(10, 3, seed=1)
    a, b = fit(kernel, X, 3), fit(kernel, X + 1e3, 3)
    np.testing.assert_allclose(a.eigenvalues, b.eigenvalues, rtol=1e-7)
    assert_same_codes(b.codes(Y + 1e3), a.codes(Y), a.eigenvalues, atol=1e-6)


@few_kernels
def test_solvers_and_storages_agree(kernel):
    X, Y = rows(60, 3) * [3, 2, 1], rows(10, 3, seed=1)
    reference = fit(kernel, X, 3, solver="dense")
    for solver in ("dense", "lanczos", "power"):
        for storage in ("memory", "recompute"):
            model = fit(kernel, X, 3, solver=solver, storage=storage)
            np.testing.assert_allclose(model.eigenvalues, reference.eigenvalues, rtol=1e-8)
            assert_same_codes(model.codes(Y), reference.codes(Y), reference.eigenvalues, atol=1e-6)


def test_a_multiple_of_the_kernel_stretches_the_codes():
    X, Y = rows(40, 3), rows(10, 3, seed=1)
    a, b = fit(Gaussian(1.0), X, 3), fit(4 * Gaussian(1.0), X, 3)
    np.testing.assert_allclose(b.eigenvalues, 4 * a.eigenvalues, rtol=1e-12)
    np.testing.assert_allclose(np.abs(b.codes(Y)), 2 * np.abs(a.codes(Y)), rtol=1e-8)
    np.testing.assert_allclose(b.explained_variance_ratio, a.explained_variance_ratio, rtol=1e-12)


# Truncation and forms of data


@few_kernels
@both_ways
def test_truncation_is_a_fit_with_fewer_components(kernel, center):
    X, Y = rows(40, 3) * [3, 2, 1], rows(10, 3, seed=1)
    short, long = fit(kernel, X, 2, center=center), fit(kernel, X, 3, center=center).truncate(2)
    assert long.n_components == 2
    np.testing.assert_allclose(short.eigenvalues, long.eigenvalues, rtol=1e-12)
    np.testing.assert_allclose(short.codes(Y), long.codes(Y), atol=1e-9 * np.abs(short.codes(Y)).max())
    np.testing.assert_allclose(short.residual(Y), long.residual(Y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(short.explained_variance_ratio, long.explained_variance_ratio, rtol=1e-12)


@few_kernels
@both_ways
def test_precomputed_values_give_the_same_model(kernel, center):
    X, Y = rows(40, 3) * [3, 2, 1], rows(10, 3, seed=1)
    computed = fit(kernel, X, 3, center=center)
    K = kernel(X, X)
    given = fit(Precomputed(), K, 3, center=center)
    k = kernel(Y, X)
    np.testing.assert_allclose(given.eigenvalues, computed.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(given.codes(k), computed.codes(Y), atol=1e-9 * np.abs(k).max())
    np.testing.assert_allclose(given.residual(k, kernel.diagonal(Y)), computed.residual(Y), atol=1e-9 * np.abs(k).max())
    a, b = given.expand(given.codes(k)), computed.expand(computed.codes(Y))
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-9)
    np.testing.assert_allclose(a.norm2(), b.norm2(), rtol=1e-9)
    np.testing.assert_allclose(a.inner_points(), b.inner_points(), atol=1e-9 * np.abs(k).max())
    np.testing.assert_array_equal(K, kernel(X, X))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(0.2), Cosine()], ids=repr)
def test_sparse_rows_give_the_same_model(kernel):
    X, Y = sparse_rows(60), sparse_rows(10, seed=7)
    sparse, dense = fit(kernel, X, 3), fit(kernel, X.toarray(), 3)
    np.testing.assert_allclose(sparse.eigenvalues, dense.eigenvalues, rtol=1e-10)
    np.testing.assert_allclose(
        sparse.codes(Y), dense.codes(Y.toarray()), atol=1e-9 * np.abs(dense.codes(Y.toarray())).max()
    )
    np.testing.assert_allclose(
        sparse.residual(Y), dense.residual(Y.toarray()), atol=1e-9 * dense.residual(X.toarray()).max()
    )


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_float32_is_kept_and_accurate_to_it(solver):
    X, Y = rows(200, 4) * [4, 3, 2, 1], rows(10, 4, seed=1)
    exact, single = fit(Gaussian(3.0), X, 4), fit(Gaussian(3.0), X.astype("f4"), 4, solver=solver)
    codes = single.codes(Y.astype("f4"))
    assert codes.dtype == single.training_codes.dtype == single.residual(Y.astype("f4")).dtype == np.float32
    np.testing.assert_allclose(single.eigenvalues, exact.eigenvalues, rtol=1e-5)
    np.testing.assert_allclose(codes, exact.codes(Y), atol=1e-4)


@pytest.mark.parametrize("offset, rtol", [(0, 1e-5), (100, 1e-4), (1000, 0.02)])
def test_a_float32_linear_kernel_far_from_the_origin_keeps_its_leading_digits(offset, rtol):
    X = (rows(300, 10) * np.arange(10, 0, -1) + offset).astype("f4")
    exact = np.linalg.svd(X.astype(float) - X.astype(float).mean(axis=0), compute_uv=False)[:8] ** 2
    np.testing.assert_allclose(fit(Linear(), X, 8).eigenvalues, exact, rtol=rtol)


# How many components


def test_fewer_components_than_asked_are_kept_with_a_warning():
    X = rows(40, 3)
    with pytest.warns(
        FewerComponentsWarning, match="5 components were asked for, but the kernel matrix has only 3 .* 3 are"
    ):
        assert fit(Linear(), X, 5).n_components == 3
    assert fit(Linear(), X).n_components == 3
    with pytest.warns(FewerComponentsWarning, match="40 components were asked for, but the kernel matrix has only 39"):
        assert fit(Gaussian(0.5), X, 40).n_components == 39
    assert fit(Gaussian(0.5), X, 40, center=False).n_components == 40


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_round_off_is_no_component(offset):
    X = np.vstack([rows(10, 3), rows(10, 3), rows(10, 3)]) + offset  # every row three times: rank 9
    assert fit(Gaussian(0.5), X).n_components == 9


CONSTANT = {
    "gaussian": Gaussian(1.0),
    "linear": Linear(),
    "polynomial": Polynomial(0.3),
    "cosine": Cosine(),
    "laplacian": Laplacian(0.2),
    "function": Function(lambda X, Y: np.full((len(X), len(Y)), 0.3)),
}


@pytest.mark.parametrize("kernel", CONSTANT.values(), ids=CONSTANT)
@pytest.mark.parametrize("n", [2, 30, 600])
@pytest.mark.parametrize("value", [0.1, 1e5 / 3])
def test_equal_rows_leave_nothing_to_decompose(kernel, n, value):
    with pytest.raises(ValueError, match="all rows are equal for this kernel, so there is no variance to decompose"):
        fit(kernel, np.full((n, 3), value), 1)


# Indefinite kernels


def indefinite_message(kernel, X, n_components=None, **settings):
    with pytest.warns(IndefiniteKernelWarning) as caught:
        model = fit(kernel, X, n_components, **settings)
    (message,) = [str(w.message) for w in caught if w.category is IndefiniteKernelWarning]
    numbers = re.search(
        r"(at least )?(\d+) of (\d+) eigenvalues.* ([\d.]+)% .*the lowest (\S+) times the largest", message
    )
    count, of, share, lowest = (float(numbers.group(i)) for i in (2, 3, 4, 5))
    return model, bool(numbers.group(1)), count, of, share / 100, lowest


@pytest.mark.parametrize("n_components", [None, 2, 0.5])
@both_ways
def test_an_indefinite_kernel_is_told_with_its_extent(n_components, center):
    X, kernel = rows(60, 3), Sigmoid(gamma=4.0, coef0=-1.0)
    _, values, *_ = plain_fit(kernel, X, center)
    assert values[-1] < -0.1 * values[0]
    model, partial, count, of, share, lowest = indefinite_message(kernel, X, n_components, center=center)
    assert not partial and of == 60
    assert count == np.sum(values < -1e-10 * values[0])
    assert share == pytest.approx(np.maximum(-values, 0).sum() / np.abs(values).sum(), abs=6e-4)
    assert lowest == pytest.approx(values[-1] / values[0], rel=0.05)
    assert np.all(model.eigenvalues > 0)
    np.testing.assert_allclose(model.eigenvalues, values[: model.n_components], rtol=1e-9)


def test_of_a_large_indefinite_kernel_a_part_is_told_and_never_too_much(monkeypatch):
    monkeypatch.setattr(exact, "FULL_SPECTRUM", 50)
    X, kernel = rows(300, 3), Sigmoid(gamma=4.0, coef0=-1.0)
    _, values, *_ = plain_fit(kernel, X)
    _, partial, count, of, share, lowest = indefinite_message(kernel, X, 2)
    true_share = np.maximum(-values, 0).sum() / np.abs(values).sum()
    assert partial and of == 300
    assert 1 <= count <= np.sum(values < 0)
    assert 0.2 * true_share < share <= true_share + 6e-4
    assert lowest == pytest.approx(values[-1] / values[0], rel=0.05)


def test_the_share_of_a_part_counts_the_spectrum_that_was_not_computed(monkeypatch):
    monkeypatch.setattr(exact, "FULL_SPECTRUM", 50)
    K = prescribed(np.concatenate([[5.0, 4.0], np.full(295, 0.5), [-1.0, -1.0, -1.0]]))
    _, partial, count, of, share, lowest = indefinite_message(Precomputed(), K, 2, center=False)
    assert (partial, of) == (True, 300) and 1 <= count <= 3  # Lanczos may miss copies
    assert share == pytest.approx(count / (2 * count - 3 + 9 + 295 / 2), abs=6e-4)
    assert lowest == pytest.approx(-0.2, rel=0.05)


def test_negative_eigenvalues_that_dominate_are_told():
    K = prescribed(np.concatenate([[-9.0, -5.0], np.linspace(2, 0.1, 38)]))
    _, partial, count, of, share, lowest = indefinite_message(Precomputed(), K, 2, center=False)
    assert (partial, count, of) == (False, 2, 40)
    assert share == pytest.approx(14 / (14 + np.linspace(2, 0.1, 38).sum()), abs=6e-4)
    assert lowest == pytest.approx(-4.5, rel=0.05)


UNKNOWN_BUT_POSITIVE = {
    "gaussian": Function(lambda X, Y: Gaussian(1.5)(X, Y)),
    "linear": Function(lambda X, Y: X @ Y.T),
    "quadratic": Function(lambda X, Y: (X @ Y.T + 1) ** 2),
}


@pytest.mark.parametrize("kernel", UNKNOWN_BUT_POSITIVE.values(), ids=UNKNOWN_BUT_POSITIVE)
@pytest.mark.parametrize("full_spectrum", [50, 2000])
@pytest.mark.parametrize("n_components", [None, 2])
def test_a_positive_matrix_of_an_unknown_kernel_raises_no_alarm(kernel, full_spectrum, n_components, monkeypatch):
    monkeypatch.setattr(exact, "FULL_SPECTRUM", full_spectrum)
    X = rows(200, 3) + 1
    model = fit(kernel, X, n_components)
    _, values, *_ = plain_fit(kernel, X)
    np.testing.assert_allclose(model.eigenvalues[:2], values[:2], rtol=1e-9)


# Single precision


SMOOTH = np.random.default_rng(0).random((800, 3)).astype("f4")


@pytest.mark.parametrize("solver", ["dense", "block_krylov", "lanczos"])
def test_single_precision_keeps_the_components_that_double_precision_keeps(solver):
    """λ₄₀ is 2e-5 of λ₁: below n·eps, and far above what round-off makes."""
    single, double = (fit(Gaussian(0.8), SMOOTH.astype(dtype), 40, solver=solver) for dtype in ("f4", "f8"))
    assert single.n_components == double.n_components == 40
    bound = 10 * np.finfo("f4").eps * double.eigenvalues[0] + double.residuals
    assert np.all(np.abs(single.eigenvalues - double.eigenvalues) <= bound)


def test_components_below_the_error_of_a_solver_are_not_called_round_off():
    with pytest.warns(FewerComponentsWarning, match="above the error of this solver"):
        fit(Gaussian(0.8), SMOOTH.astype("f4"), 40, solver="power")


@pytest.mark.parametrize("solver", ["dense", "block_krylov", "lanczos"])
@pytest.mark.parametrize("offset", [0, 10])
def test_round_off_of_single_precision_makes_no_component(solver, offset):
    X = (rows(600, 4) + offset).astype("f4")
    with pytest.warns(FewerComponentsWarning, match="has only 4 above round-off"):
        model = fit(Linear(), X, 12, solver=solver)
    kernel_values = np.square(X.astype(float)).sum(axis=1).max()
    bound = np.finfo("f4").eps * np.sqrt(600) * (model.eigenvalues[0] + kernel_values)
    expected = np.linalg.svd(X - X.mean(axis=0, dtype=float), compute_uv=False) ** 2
    np.testing.assert_allclose(model.eigenvalues, expected, atol=bound)


def test_centring_in_single_precision_leaves_no_mean_behind():
    """Row means of 1e4 with an error of eps each would be an eigenvalue of n·eps·1e4."""
    X = rows(400, 3, dtype="f4") + 100
    operator, _ = gram_operator(Linear(), X, center=True, storage="square")
    matrix = operator.dense()
    np.testing.assert_array_equal(matrix, matrix.T)
    K = X.astype(float) @ X.T.astype(float)
    error = np.linalg.norm(matrix - centring(400) @ K @ centring(400), 2)
    assert error <= np.finfo("f4").eps * np.sqrt(400) * K.max()


@pytest.mark.parametrize("n", [5, 19, 51, 80, 128, 150])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1e-3), Precomputed()], ids=lambda kernel: type(kernel).__name__)
def test_one_hot_rows_have_as_many_equal_components_as_asked_for(kernel, n):
    model = fit(kernel, np.eye(n), 3)
    np.testing.assert_allclose(model.eigenvalues, np.ones(3), rtol=1e-12)
