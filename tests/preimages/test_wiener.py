"""The default of ``denoise``: its linear filter, its noise level and its correction, each against its formula."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, decomposition
from preimage.kernels import Gaussian, Laplacian, Linear
from preimage.preimages import Wiener
from preimage.preimages.row_filter import CHOICES, RowFilter, most_useful
from preimage.preimages.wiener import MOST, PROBES, implied_noise

ROTATION = np.linalg.qr(np.random.default_rng(3).standard_normal((200, 200)))[0]


def table(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.3 * rng.standard_normal((n, d)) + 2.0


def fitted(X, q=10, kernel=None):
    return decomposition.fit(kernel or Gaussian(3.0), X, q)


@pytest.mark.parametrize("shape", [(300, 6), (5, 12)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_linear_filter_is_the_covariance_over_the_covariance_with_noise(shape, dtype):
    X, sigma = table(*shape).astype(dtype), 0.7
    C, mean = np.cov(X.T.astype(float), bias=True), X.mean(axis=0)
    near = mean + (X - mean) / 3  # nowhere unusual
    expected = mean + (near - mean) @ np.linalg.solve(C + sigma**2 * np.eye(shape[1]), C)
    tolerance = 100 * np.finfo(dtype).eps * np.abs(X).max()
    np.testing.assert_allclose(RowFilter.of(X)(near, sigma**2), expected, atol=tolerance)


@pytest.mark.parametrize("far", [3.0, 5.0, 100.0])
def test_a_row_that_is_unusual_along_an_axis_loses_no_more_than_one_of_three_standard_deviations(far):
    linear, sigma = RowFilter.of(table()), 0.7
    for axis, variance in zip(linear.axes.T, linear.variances, strict=True):
        row = linear.mean + far * np.sqrt(variance + sigma**2) * axis
        lost = 3 * sigma**2 / np.sqrt(variance + sigma**2)
        np.testing.assert_allclose(row - linear(row[None], sigma**2)[0], lost * axis, atol=1e-12 * far)


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


@pytest.mark.parametrize("level", [0.1, 0.3, 0.5])
def test_a_row_shows_the_variance_of_its_own_noise(level):
    rng = np.random.default_rng(1)
    scales = np.geomspace(3, 0.05, 200)
    X = rng.standard_normal((5000, 200)) * scales
    noisy = rng.standard_normal((50, 200)) * scales + level * rng.standard_normal((50, 200))
    shown = RowFilter.of(X @ ROTATION).shown(noisy @ ROTATION, 1.0)
    assert shown.shape == (50, 1)
    assert shown.mean() == pytest.approx(level**2, rel=0.3)  # the tails of the rows are cut off too


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_row_shows_no_noise_and_comes_back(dtype):
    X = StandardScaler().fit_transform(load_wine().data).astype(dtype)
    mean = X.mean(axis=0, keepdims=True)
    assert RowFilter.of(X).shown(mean, 1.0) <= np.finfo(dtype).eps
    model = KernelPCA(2, preimage=Wiener(), random_state=0).fit(X)
    found = model.find_preimages(mean)
    assert found.converged.all()
    assert np.abs(found.points - mean).max() < 0.01


def test_rows_without_variance_show_as_much_noise_as_there_may_be():
    assert RowFilter.of(np.ones((5, 3))).shown(np.zeros((2, 3)), 0.5) == 0.5


def test_one_large_entry_is_not_noise():
    X = table(n=1000, d=20)
    spoiled = X[:50] + 30 * np.eye(20)[np.arange(50) % 20]
    assert np.median(RowFilter.of(X).shown(spoiled, 1.0)) < 0.05 * 30**2 / 20  # the mean square of what was added


def test_the_choice_is_the_best_of_those_that_lose_at_no_noise_level():
    losses = np.zeros((2, len(CHOICES), 9))
    for choice, means in {3: (0.1, -0.9), 7: (-0.3, -0.3), 11: (-0.1, -0.6)}.items():
        losses[:, choice] = np.array(means)[:, None]
    assert most_useful(losses) == CHOICES[11]  # (1 - 0.1)(1 - 0.6) is the least product of ratios
    losses[:, :-1] = 0.1
    assert most_useful(losses).variance(5.0, 1.0) == 0  # nothing is taken off


@pytest.mark.parametrize(("n", "chosen"), [(4, 7), (16, 11)])
def test_a_gain_counts_if_it_exceeds_half_its_standard_error(n, chosen):
    losses = np.zeros((2, len(CHOICES), n))
    losses[:, 7], losses[:, 11] = -0.1, -0.5
    losses[0, 11] = -0.2 + np.tile([1.0, -1.0], n // 2)  # a mean of -0.2 with the standard error 1/√n
    assert most_useful(losses) == CHOICES[chosen]


def independent():
    return np.random.default_rng(5).standard_normal((400, 6))


def heavy_tailed():
    rng = np.random.default_rng(7)
    return rng.standard_t(3, (400, 8)) @ rng.standard_normal((8, 8))


def rare_entries():
    return np.random.default_rng(9).standard_t(3, (400, 6))


def weakly_related():
    rng = np.random.default_rng(6)
    return 0.6 * rng.standard_normal((400, 1)) + 0.8 * rng.standard_normal((400, 8))


def factors():
    rng = np.random.default_rng(10)
    return rng.standard_normal((400, 3)) @ rng.standard_normal((3, 12)) + 0.1 * rng.standard_normal((400, 12))


def curve():
    t = np.random.default_rng(12).uniform(-1, 1, 400)
    return np.column_stack([t, t**2, np.sin(3 * t), np.cos(3 * t), t**3])


TABLES = {
    "wine": lambda: load_wine().data,
    "diabetes": lambda: load_diabetes().data,
    "iris": lambda: load_iris().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data[:400],
    **{make.__name__: make for make in (independent, heavy_tailed, rare_entries, weakly_related, factors, curve)},
    "few digits": lambda: load_digits().data[:60],
}


def parts(name, seed=0):
    """Training and test rows in units of the training rows' standard deviations."""
    X = TABLES[name]()
    order = np.random.default_rng(seed).permutation(len(X))
    train, clean = X[order[: int(0.7 * len(X))]], X[order[int(0.7 * len(X)) :]]
    varies = train.std(axis=0) > 0
    scaler = StandardScaler().fit(train[:, varies])
    return scaler.transform(train[:, varies]), scaler.transform(clean[:, varies])


def error_ratio(model, clean, level):
    """The root mean squared error of the answers, divided by that of the noisy rows."""
    noise = level * np.random.default_rng(500).standard_normal(clean.shape)
    return np.sqrt(np.mean(np.square(model.denoise(clean + noise) - clean)) / np.mean(np.square(noise)))


@pytest.mark.filterwarnings("ignore::preimage.exceptions.NothingFilteredWarning")
@pytest.mark.parametrize("q", [1, 5, 30])
@pytest.mark.parametrize("name", TABLES)
def test_the_default_never_loses_to_the_row_itself(name, q):
    train, clean = parts(name)
    model = KernelPCA(q, random_state=0).fit(train)
    for level in (0.1, 0.3, 0.5):
        assert error_ratio(model, clean, level) < 1.05  # 1 but for chance, with some 100 test rows


@pytest.mark.parametrize("name", ["iris", "diabetes", "breast cancer", "heavy_tailed"])
def test_little_noise_is_removed_on_average_over_splits(name):
    ratios = []
    for seed in range(10, 18):
        train, clean = parts(name, seed)
        ratios.append(error_ratio(KernelPCA(2, random_state=0).fit(train), clean, 0.1) ** 2)
    assert np.mean(ratios) < 1
    assert max(ratios) < 1.3  # a few rows of a test set may be unusual


@pytest.mark.filterwarnings("ignore::preimage.exceptions.NothingFoundWarning")
def test_components_of_chance_alone_leave_the_rows_as_they_are():
    X = independent()
    model = KernelPCA("auto", random_state=0).fit(X[:300])
    for level in (0.1, 0.3, 0.5):
        assert 0.95 < error_ratio(model, X[300:], level) < 1.005


def test_pixels_that_hardly_vary_show_the_noise():
    X = load_digits().data / 16
    noise = 0.3 * np.random.default_rng(0).standard_normal((297, 64))
    model = KernelPCA(20, random_state=0).fit(X[:500])
    assert np.mean(np.square(model.denoise(X[1500:] + noise) - X[1500:])) < 0.5 * np.mean(np.square(noise))


@pytest.mark.parametrize(("name", "q", "most"), [("factors", 5, 0.6), ("curve", 5, 0.75), ("breast cancer", 30, 0.8)])
def test_rows_that_show_their_noise_lose_it(name, q, most):
    train, clean = parts(name)
    assert error_ratio(KernelPCA(q, random_state=0).fit(train), clean, 0.3) < most


SETTINGS = [{}, {"kernel": "polynomial"}, {"kernel": "laplacian"}, {"kernel": "linear"}, {"approximation": 100}]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_no_kernel_and_no_approximation_loses(settings):
    train, clean = parts("wine")
    model = KernelPCA(2, random_state=0, **settings).fit(train)
    assert all(error_ratio(model, clean, level) < 1.02 for level in (0.1, 0.3, 0.5))


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


def test_noise_that_the_components_imply_is_taken_off_noisy_training_rows_too():
    rng = np.random.default_rng(4)
    clean = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 12))
    noisy = clean + 0.5 * rng.standard_normal(clean.shape)
    kpca = KernelPCA(2, kernel="linear", preimage=Wiener(noise="implied"), random_state=0).fit(noisy)
    error = np.mean(np.square(kpca.denoise(noisy) - clean)) / 0.5**2
    # Along 10 axes of noise alone the filter halves it: a quarter of the error; along two nearly all of it stays.
    assert error == pytest.approx((10 * 0.25 + 2) / 12, abs=0.06)


def test_no_entry_is_changed_by_more_than_three_standard_deviations_of_the_noise():
    X = 0.01 * table()
    spoiled = 0.01 * table(n=50, seed=2)
    spoiled[:, 1] += 30  # unusual along all axes
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


@pytest.mark.parametrize(
    "bad", [{"noise": 0.0}, {"noise": -1.0}, {"noise": "implicit"}, {"n_copies": 0}, {"n_landmarks": 0}]
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValueError, match=r"noise|at least 1"):
        Wiener(**bad)
