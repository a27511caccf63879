import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from preimage import Denoiser, KernelPCA
from preimage.datasets import load_digits
from preimage.denoising.tables import ColumnUnits, column_noise
from preimage.exceptions import NoiseLevelWarning
from preimage.noise import ColumnNoise
from preimage.statistics.shrinkage import shrunken_spectrum

PEAKS = ((100, 0.3, 0.01), (60, 0.57, 0.02), (30, 0.8, 0.006))  # height, place and width


def table(n=400, d=12, q=3, seed=0):
    """Columns in very different units that follow a few hidden numbers, and their noise: 0.4 of each deviation."""
    rng = np.random.default_rng(seed)
    clean = (rng.standard_normal((n, q)) @ rng.standard_normal((q, d))) * 10.0 ** rng.integers(-4, 5, d)
    sigma = 0.4 * clean.std(axis=0)
    return clean, sigma, clean + sigma * rng.standard_normal((n, d))


def series(n=800, seed=0):
    """Smooth records with noise of different shares."""
    rng, t = np.random.default_rng(seed), np.arange(n) / n
    clean = np.column_stack([np.sin(9 * t), 100 * np.cos(7 * t), 1e3 * t**2, np.sin(5 * t) ** 2])
    sigma = np.array([0.1, 0.2, 0.3, 0.5]) * clean.std(axis=0)
    return clean, sigma, clean + sigma * rng.standard_normal(clean.shape)


def test_the_noise_of_columns_is_found_whatever_their_units():
    _, sigma, noisy = table()
    np.testing.assert_allclose(column_noise(noisy), sigma, rtol=0.15)


def test_series_tell_a_noise_of_every_column():
    _, sigma, noisy = series()
    np.testing.assert_allclose(column_noise(noisy), sigma, rtol=4 * 1.7 / np.sqrt(2 * 800))


@pytest.mark.filterwarnings("ignore:the noise level:preimage.exceptions.NoiseLevelWarning")
def test_columns_of_levels_have_no_noise_and_rounded_ones_have():
    _, sigma, noisy = table()
    rng = np.random.default_rng(0)
    levels = np.column_stack([rng.integers(1, 4, 400), noisy[:, 0] > noisy[:, 0].mean()]).astype(float)
    steps = sigma / 2
    found = column_noise(np.column_stack([np.round(noisy / steps) * steps, levels]))
    np.testing.assert_array_equal(found[-2:], 0)
    np.testing.assert_allclose(found[:-2], sigma, rtol=0.25)


def test_a_column_that_often_repeats_a_value_has_no_noise_and_the_others_keep_theirs():
    """Rain is exactly 0 on most days: noise would have moved it."""
    _, sigma, noisy = table()
    rng = np.random.default_rng(0)
    rain = np.where(rng.random(400) < 0.6, 0, rng.exponential(size=400))
    found = column_noise(np.column_stack([noisy, rain]))
    assert found[-1] == 0
    np.testing.assert_allclose(found[:-1], sigma, rtol=0.15)


@pytest.mark.parametrize("sigma", [0.1, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_variance_that_a_column_shares_with_no_other_is_not_taken_for_noise(sigma, seed):
    """Sixteen pixels, far apart, of which every one has much to itself; noise in units of their deviations."""
    X, rng = load_digits().X, np.random.default_rng(seed)
    clean = X[:, rng.choice(np.flatnonzero(X.std(axis=0) > 0.1), 16, replace=False)]
    clean = clean / clean.std(axis=0)
    noisy = clean + sigma * rng.standard_normal(clean.shape)
    with pytest.warns(NoiseLevelWarning, match="doubtful"):
        answers = Denoiser(effort="quick", random_state=0).fit_transform(noisy)
    before, after = (np.sqrt(np.mean(np.square(rows - clean), axis=0)) for rows in (noisy, answers))
    assert np.all(after <= 1.02 * before)
    assert np.mean(after**2) < 0.98 * np.mean(before**2)


def test_gaussian_variance_of_single_columns_is_noise_or_signal_as_you_call_it():
    """One table with two truths of the same law: what is best for the one harms the other, so that no estimate from
    the table alone serves both. A floor on which most directions agree is taken for noise."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((1000, 2)) @ np.kron([[1, 1], [1, -1]], np.ones(8))
    own, noise = 0.9 * rng.standard_normal((1000, 16)), 0.3 * rng.standard_normal((1000, 16))
    table = shared + own + noise
    answers = Denoiser(effort="quick", random_state=0).fit_transform(table)
    errors = {name: np.mean(np.square(answers - truth)) for name, truth in {"a": shared, "b": shared + own}.items()}
    assert errors["a"] < 0.3 * np.mean(np.square(own + noise))
    assert errors["b"] > np.mean(np.square(noise))


def test_columns_that_say_nothing_about_each_other_are_left_alone():
    X = np.random.default_rng(0).standard_normal((300, 6))
    with pytest.warns(NoiseLevelWarning, match="the columns are not correlated"):
        denoiser = Denoiser(random_state=0).fit(X)
    np.testing.assert_array_equal(denoiser.transform(X), X)


@pytest.mark.parametrize("d", [4, 6])
@pytest.mark.parametrize("seed", range(3))
def test_columns_that_share_little_do_not_come_back_worse(d, seed):
    """What is not shared is most of their variance, and mostly signal."""
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((500, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    noisy = clean + 0.4 * rng.standard_normal((500, d))
    with pytest.warns(NoiseLevelWarning, match="doubtful"):
        answers = Denoiser(effort="quick", random_state=0).fit_transform(noisy)
    before, after = (np.sqrt(np.mean(np.square(rows - clean), axis=0)) for rows in (noisy, answers))
    assert np.all(after <= 1.02 * before)
    assert after.mean() < 0.98 * before.mean()


@pytest.mark.parametrize("make", [table, series])
def test_no_column_comes_back_worse_and_units_do_not_matter(make):
    clean, sigma, noisy = make()
    denoiser = Denoiser(random_state=0).fit(noisy)
    before, after = (np.sqrt(np.mean(np.square(rows - clean), axis=0)) for rows in (noisy, denoiser.transform(noisy)))
    assert np.all(after <= 1.02 * before)
    assert after.mean() < before.mean()
    factors = 2.0 ** np.arange(-5, len(sigma) - 5)
    other = Denoiser(random_state=0).fit(noisy * factors)
    np.testing.assert_allclose(other.transform(noisy * factors) / factors, denoiser.transform(noisy), rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_spectrum_of_few_peaks_beside_its_axis_does_not_come_back_worse_and_says_how_well(seed):
    x = np.linspace(0, 1, 2000)
    clean = sum(height * np.exp(-(((x - at) / width) ** 2)) for height, at, width in PEAKS)
    noisy = clean + 4 * np.random.default_rng(seed).standard_normal(2000)
    denoiser = Denoiser(random_state=0)
    found = denoiser.fit_transform(np.column_stack([x, noisy]))[:, 1]
    error, before = (np.sqrt(np.mean(np.square(values - clean))) for values in (found, noisy))
    assert error < before
    assert denoiser.summary_["1"].remaining == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize("n_columns", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_steps_of_a_rough_series_are_not_taken_for_noise(n_columns, seed):
    """x(t) = 0.8 x(t − 1) + ε has E Δ²x(t) Δ²x(t + 2) = (1 − 0.8)⁴ and E (Δ²x)² = 0.88 of its variance."""
    n, rng = 4000, np.random.default_rng(seed)
    clean = lfilter([0.6], [1, -0.8], rng.standard_normal((n + 100, n_columns)), axis=0)[100:]
    with pytest.warns(NoiseLevelWarning, match="by more than white noise"):
        found = column_noise(clean + 0.05 * rng.standard_normal(clean.shape))
    error = 2 * 0.88 / np.sqrt(n)
    assert np.all(np.square(found) < 0.05**2 + 0.2**4 + 4 * error)  # second differences alone show 0.38²


def test_an_answer_never_moves_a_value_farther_than_noise_reaches():
    _, sigma, noisy = table()
    units = ColumnUnits.of(noisy, sigma)
    wild = units.cleaned(noisy, lambda images: 100 - images, units.used)
    assert (np.abs(wild - noisy) < 5.001 * units.noise).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_small_linear_table_is_cleaned_by_the_wiener_filter_of_its_shrunken_spectrum(seed):
    clean, _, noisy = table(60, 8, 2, seed)
    denoiser = Denoiser(effort="quick", random_state=0).fit(noisy)
    sigma = np.array(denoiser.noise_.sigmas)
    rows = (noisy - noisy.mean(axis=0)) / sigma
    values, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    plain, filtered = (
        noisy.mean(axis=0) + sigma * (rows @ (axes * np.maximum(1 - 1 / variances, 0)) @ axes.T)
        for variances in (values, shrunken_spectrum(values, len(rows) - 1))
    )
    np.testing.assert_allclose((denoiser.transform(noisy) - filtered) / sigma, 0, atol=1e-4)  # float32 inside
    before, without, after = (np.mean(np.square((answer - clean) / sigma)) for answer in (noisy, plain, filtered))
    assert after < before / 2
    assert after < without


def test_a_given_noise_per_column_is_used_and_told():
    clean, sigma, noisy = table()
    frame = pd.DataFrame(noisy, columns=[f"c{j}" for j in range(noisy.shape[1])])
    denoiser = Denoiser(noise=sigma, random_state=0).fit(frame)
    assert denoiser.noise_ == ColumnNoise(tuple(sigma))
    column = denoiser.summary_["c3"]
    assert column.cleaned
    actual = np.sqrt(np.mean(np.square(denoiser.transform(frame)[:, 3] - clean[:, 3])))
    np.testing.assert_allclose(column.remaining, actual, rtol=0.25)
    with pytest.raises(ValueError, match="12 values for 12 columns"):
        Denoiser(noise=[1.0, 2.0]).fit(frame)


def test_time_and_constants_are_left_alone():
    _, _, noisy = series()
    X = np.column_stack([np.arange(800) * 0.004, noisy, np.full(800, 7.0)])
    denoiser = Denoiser(random_state=0).fit(X)
    cleaned = denoiser.transform(X)
    np.testing.assert_array_equal(cleaned[:, [0, -1]], X[:, [0, -1]])
    assert [column.cleaned for column in denoiser.summary_.values()] == [False, True, True, True, True, False]


def test_an_outlier_is_not_spread_over_its_row():
    _, sigma, noisy = table()
    spoiled = noisy.copy()
    spoiled[5, 2] += 1000 * sigma[2]
    whole, hurt = (Denoiser(noise=sigma, random_state=0).fit(rows).transform(rows) for rows in (noisy, spoiled))
    others = np.delete(np.arange(12), 2)
    moved = np.abs(hurt - whole)[5, others] / sigma[others]
    assert moved.max() < 10


def test_units_of_equal_noise_keep_the_mean_variance():
    _, sigma, noisy = table()
    units = ColumnUnits.of(noisy, sigma)
    np.testing.assert_allclose(sigma / units.scale, units.sigma)
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(sigma / noisy.std(axis=0)))), units.sigma)


def test_answers_in_input_space_obey_set_output():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 3)), columns=list("abc"), index=range(5, 35))
    model = KernelPCA(4, random_state=0).fit(frame).set_output(transform="pandas")
    gappy = frame.mask(frame > 1)
    for found in (model.denoise(frame), model.impute(gappy), model.inverse_transform(model.transform(frame))):
        assert list(found.columns) == list("abc")
        np.testing.assert_array_equal(found.index, frame.index)
    plain = KernelPCA(4, random_state=0).fit(frame.to_numpy())
    np.testing.assert_allclose(model.denoise(frame).to_numpy(), plain.denoise(frame.to_numpy()))
