"""The default of ``denoise``: its linear filter, its noise level and its correction, each against its formula."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, decomposition
from preimage.kernels import Gaussian, Laplacian, Linear
from preimage.preimages import Wiener
from preimage.preimages.wiener import MOST, PROBES, RowFilter, implied_noise


def table(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.3 * rng.standard_normal((n, d)) + 2.0


def fitted(X, q=10, kernel=None):
    return decomposition.fit(kernel or Gaussian(3.0), X, q)


@pytest.mark.parametrize("shape", [(300, 6), (5, 12)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_linear_filter_is_the_covariance_over_the_covariance_with_noise(shape, dtype):
    X, sigma = table(*shape).astype(dtype), 0.7
    C = np.cov(X.T.astype(float), bias=True)
    expected = X.mean(axis=0) + (X - X.mean(axis=0)) @ np.linalg.solve(C + sigma**2 * np.eye(shape[1]), C)
    tolerance = 100 * np.finfo(dtype).eps * np.abs(X).max()
    np.testing.assert_allclose(RowFilter.of(X)(X, sigma**2), expected, atol=tolerance)


def test_no_linear_filter_has_less_error_on_gaussian_rows():
    rng, sigma = np.random.default_rng(1), 0.8
    axes, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    root = axes * np.sqrt([3.0, 1.0, 0.3, 0.01])
    X = rng.standard_normal((200_000, 4)) @ root.T
    best = RowFilter.of(X)
    error = np.mean(np.square(best(X + sigma * rng.standard_normal(X.shape), sigma**2) - X))
    variances = np.array([3.0, 1.0, 0.3, 0.01])
    assert error == pytest.approx(np.mean(variances * sigma**2 / (variances + sigma**2)), rel=0.02)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_the_noise_level_of_a_linear_kernel_is_what_the_components_leave_over_per_column(q):
    X = table()
    variances = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    probe = np.random.default_rng(7).standard_normal((PROBES, X.shape[1]))
    expected = np.sqrt(variances[q:].sum() / np.mean(np.square(probe).sum(axis=1)))
    assert implied_noise(fitted(X, q, Linear()), np.random.default_rng(7)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(4.0)])
def test_noise_of_the_implied_level_moves_rows_by_what_the_components_leave_over(kernel):
    X = table(n=150)
    model = fitted(X, 12, kernel)
    sigma = implied_noise(model, np.random.default_rng(3))
    probe = np.random.default_rng(3).standard_normal(X.shape)
    moved = np.mean(2 - 2 * np.diagonal(kernel(X, X + sigma * probe)))
    K = kernel(X, X)
    left_over = (np.trace(K) - len(K) * K.mean() - model.eigenvalues.sum()) / len(K)
    assert moved == pytest.approx(left_over, rel=1e-5)


def test_the_noise_level_is_never_above_the_spread_of_the_columns_nor_zero():
    X = table(n=60)
    spread = np.sqrt(X.var(axis=0).mean())
    assert implied_noise(fitted(X, 1, Gaussian(30.0)), np.random.default_rng(0)) <= spread
    assert 0 < implied_noise(fitted(X[:, :1] * np.ones(6), 1, Linear()), np.random.default_rng(0)) < 1e-5 * spread


def test_the_training_rows_may_have_as_much_noise_as_pure_noise_shows_along_its_least_axis():
    X = 0.7 * np.random.default_rng(0).standard_normal((4000, 400))
    assert RowFilter.of(X).most_noise(4000) == pytest.approx(0.49, rel=0.05)
    assert RowFilter.of(X[:300]).most_noise(300) == np.inf
    assert RowFilter.of(X[:, [0, 1, 0]]).most_noise(4000) < 1e-12  # noise would not leave two columns equal


@pytest.mark.parametrize("level", [0.1, 0.5, 2.0])
def test_the_excess_of_a_row_is_the_variance_of_its_own_noise(level):
    rng = np.random.default_rng(1)
    scales = np.geomspace(3, 0.05, 200)
    X = rng.standard_normal((5000, 200)) * scales
    noisy = rng.standard_normal((50, 200)) * scales + level * rng.standard_normal((50, 200))
    excess = RowFilter.of(X).excess(noisy, 1.0)
    assert excess.shape == (50, 1)
    assert excess.mean() == pytest.approx(level**2, rel=0.1)


@pytest.mark.parametrize("q", [2, 5, 20])
@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer])
def test_few_components_do_not_make_rows_worse_that_have_less_noise_than_is_left_over(load, q):
    X = StandardScaler().fit_transform(load().data)
    train, clean = X[::2], X[1::2]
    model = KernelPCA(q, random_state=0).fit(train)
    for level in (0.3, 0.5, 0.8):
        noise = level * np.random.default_rng(q).standard_normal(clean.shape)
        assert np.mean(np.square(model.denoise(clean + noise) - clean)) < np.mean(np.square(noise))


def test_a_row_is_answered_alike_alone_and_among_others():
    X = table()
    model = KernelPCA(2, random_state=0).fit(X)
    noisy = X[:20] + np.linspace(0, 1, 20)[:, None]
    np.testing.assert_allclose(model.denoise(noisy[3:4]), model.denoise(noisy)[3:4], rtol=1e-10, atol=1e-10)


def circle(n=100, seed=0):
    """Rows on a circle, which no linear filter knows of."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return 2 * np.column_stack([np.cos(angle), np.sin(angle), np.sin(angle) ** 2])


def test_the_answer_is_the_filtered_row_and_a_ridge_regression_on_its_codes_of_what_that_misses():
    X, sigma = circle(), 0.3
    noisy = circle(20, seed=5) + sigma * np.random.default_rng(6).standard_normal((20, 3))
    model = fitted(X, kernel=Gaussian(1.5))
    way = Wiener(noise=sigma, n_landmarks=200).prepare(model, np.random.default_rng(0))  # with all codes it is exact
    rng, copies = np.random.default_rng(0), np.repeat(X, 2, axis=0)
    corrupted = copies + sigma * rng.standard_normal(copies.shape)
    linear, codes = RowFilter.of(X), model.codes(corrupted)
    missed = copies - linear(corrupted, sigma**2)
    assert way.correction is not None
    ridge = KernelRidge(alpha=way.correction.ridge, kernel=RBF(way.correction.kernel.length_scale))
    ridge.fit(codes, missed - missed.mean(axis=0))
    plain = linear(noisy, sigma**2) + missed.mean(axis=0) + ridge.predict(model.codes(noisy))
    expected = np.clip(plain, noisy - 3 * sigma, noisy + 3 * sigma)
    answer = way(model.expand(model.codes(noisy)), noisy).points
    np.testing.assert_allclose(answer, expected, atol=1e-6)


def test_a_correction_that_does_not_help_is_left_out():
    X = table(n=100)  # rows and noise are Gaussian: the linear filter is best
    model = fitted(X)
    way = Wiener(noise=0.6).prepare(model, np.random.default_rng(0))
    assert way.correction is None
    answer = way(model.expand(model.codes(X)), X).points
    np.testing.assert_allclose(answer, np.clip(RowFilter.of(X)(X, 0.36), X - 1.8, X + 1.8))


def test_no_entry_is_changed_by_more_than_three_standard_deviations_of_the_noise():
    X = table()
    spoiled = table(n=50, seed=2)
    spoiled[:, 1] += 30
    way = Wiener(noise=0.2).prepare(fitted(X), np.random.default_rng(0))
    answer = way(way.model.expand(way.model.codes(spoiled)), spoiled).points
    change = np.abs(answer - spoiled).max()
    assert change <= MOST * 0.2 * (1 + 1e-12) + 1e-12
    assert change == pytest.approx(MOST * 0.2)


def test_codes_alone_are_decoded_as_the_learned_map_does():
    X = table(n=80)
    kpca = KernelPCA(8, random_state=0).fit(X)
    codes = kpca.transform(X[:10])
    wiener = KernelPCA(8, preimage=Wiener(), random_state=0).fit(X)
    learned = KernelPCA(8, preimage="learned", random_state=0).fit(X)
    np.testing.assert_allclose(wiener.inverse_transform(codes), learned.inverse_transform(codes), atol=1e-8)


@pytest.mark.parametrize("bad", [{"noise": 0.0}, {"noise": -1.0}, {"n_copies": 0}, {"n_landmarks": 0}])
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"noise|at least 1"):
        Wiener(**bad)
