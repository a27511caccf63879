import warnings

import numpy as np
import pytest

from preimage.datasets import load_digits
from preimage.exceptions import NoiseLevelWarning
from preimage.statistics.noise_level import from_differences, from_frequencies, from_spectrum, noise_level


def low_rank(n, d, r, sigma, seed=0):
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal((n, r)) @ np.linalg.qr(rng.standard_normal((d, r)))[0].T
    return 3 * signal + sigma * rng.standard_normal((n, d))


def disks(n, side, sigma, seed=0):
    """Images of disks of random place, size and brightness."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    cy, cx, radius, height = rng.uniform([[3], [3], [2], [0.3]], [[side - 3], [side - 3], [5], [1]], (4, n))[..., None]
    images = height * ((y.ravel() - cy) ** 2 + (x.ravel() - cx) ** 2 < radius**2)
    return images + sigma * rng.standard_normal(images.shape)


@pytest.mark.parametrize("n, d", [(100, 40), (300, 40), (1000, 40), (60, 200)])
@pytest.mark.parametrize("sigma", [0.05, 0.3])
def test_the_floor_of_a_low_rank_signal_is_the_noise(n, d, sigma):
    level = from_spectrum(low_rank(n, d, 3, sigma))
    assert level.trusted
    assert level.sigma == pytest.approx(sigma, rel=0.03 if n != 100 else 0.06)
    assert level.low < sigma * 1.01 and sigma * 0.99 < level.high


def test_the_interval_covers_and_shrinks_with_the_rows():
    found = [from_spectrum(low_rank(300, 30, 4, 0.2, seed)) for seed in range(40)]
    assert sum(level.low <= 0.2 <= level.high for level in found) >= 34
    assert abs(np.mean([level.sigma for level in found]) / 0.2 - 1) < 0.01
    few, many = (from_spectrum(low_rank(n, 30, 4, 0.2)) for n in (60, 2000))
    assert many.high - many.low < (few.high - few.low) / 2


@pytest.mark.parametrize("sigma", [0.1, 0.25, 0.5])
def test_digits_without_their_geometry(sigma):
    X = load_digits().X
    noisy = X + sigma * np.random.default_rng(1).standard_normal(X.shape)
    assert noise_level(noisy).sigma == pytest.approx(sigma, rel=0.03)


@pytest.mark.parametrize("sigma", [0.05, 0.15, 0.5])
def test_differences_of_images_see_through_edges(sigma):
    noisy = disks(800, 14, sigma)
    level = from_differences(noisy, (14, 14))
    assert level.sigma == pytest.approx(sigma, rel=0.04)
    assert level.low <= sigma <= level.high
    # A filter that trusts every place alike is misled by the edges.
    corners = noisy.reshape(-1, 14, 14)
    naive = np.std(np.diff(np.diff(corners, axis=1), axis=2)) / 2
    assert sigma > 0.4 or abs(level.sigma - sigma) < abs(naive - sigma) / 3


@pytest.mark.parametrize("sigma", [0.05, 0.5])
def test_differences_of_signals(sigma):
    rng = np.random.default_rng(0)
    t = np.linspace(0, 1, 120)
    X = np.sin(2 * np.pi * (rng.uniform(1, 4, (150, 1)) * t + rng.random((150, 1))))
    level = from_differences(X + sigma * rng.standard_normal(X.shape), (120,))
    assert level.sigma == pytest.approx(sigma, rel=0.04)


def test_the_lower_trusted_view_is_taken():
    noisy = disks(300, 14, 0.05)  # so many disks have a spectrum without a floor
    assert noise_level(noisy, (14, 14)).method == "differences"
    assert noise_level(noisy, (14, 14)).sigma == pytest.approx(0.05, rel=0.05)


def decaying(n=500, d=60):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) * 0.8 ** np.arange(d)


@pytest.mark.parametrize(
    "X, reason",
    [
        (np.random.default_rng(0).standard_normal((100, 3)), "too few"),
        (np.random.default_rng(0).standard_normal((5, 30)), "too few"),
        (decaying(), "at most this"),
        (np.random.default_rng(0).standard_normal((300, 40)), "all variance counts as noise"),
        (np.ones((30, 10)), "no variance"),
    ],
)
def test_data_that_cannot_tell_say_so(X, reason):
    with pytest.warns(NoiseLevelWarning, match=reason):
        level = noise_level(X)
    assert not level.trusted
    assert 0 <= level.low <= level.sigma <= level.high


def test_hard_data_get_an_answer():
    rng = np.random.default_rng(0)
    constant = np.column_stack([np.ones((40, 5)), rng.standard_normal((40, 20))])
    doubled = np.repeat(rng.standard_normal((20, 12)), 2, axis=0)
    for X in (
        constant,
        doubled,
        rng.standard_cauchy((60, 12)),
        np.zeros((1, 4)),
        rng.random((2, 9)),
        rng.random((9, 1)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoiseLevelWarning)
            assert np.isfinite(noise_level(X).sigma)
    with pytest.raises(ValueError, match="finite"):
        noise_level([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="shape"):
        noise_level(rng.random((20, 12)), (5, 5))
    with pytest.raises(ValueError, match="too short"):
        from_differences(rng.random((20, 2)), (2,))


def test_it_is_deterministic():
    X = low_rank(100, 20, 2, 0.3)
    assert from_spectrum(X) == from_spectrum(X)
    assert from_differences(X, (20,)) == from_differences(X, (20,))


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("name", ["china.jpg", "flower.jpg"])
def test_the_flattest_patches_of_a_photograph_tell_its_noise(name, sigma):
    from sklearn.datasets import load_sample_image

    from preimage.denoising import small_patches
    from preimage.statistics.noise_level import from_flat_patches

    photo = load_sample_image(name).mean(axis=2) / 255
    noisy = photo + sigma * np.random.default_rng(0).standard_normal(photo.shape)
    found = from_flat_patches(*small_patches(noisy[None, ..., None]))
    assert found.sigma == pytest.approx(sigma, rel=0.02)
    assert found.low < sigma < found.high
    assert found.trusted


def test_the_flattest_patches_of_a_signal_tell_its_noise():
    from preimage.statistics.noise_level import from_flat_patches

    t = np.linspace(0, 400, 60_000)
    noisy = np.sin(t) ** 9 + 0.2 * np.random.default_rng(0).standard_normal(t.shape)
    assert from_flat_patches(noisy.reshape(-1, 60), (60,)).sigma == pytest.approx(0.2, rel=0.02)
    with pytest.raises(ValueError, match="are not patches"):
        from_flat_patches(noisy.reshape(-1, 60), (2, 30))


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.5])
def test_columns_of_few_values_bound_their_noise_from_above_and_closely(sigma):
    """x is 0 with probability 1/2, so that |φ(t)| ≥ about exp(−σ²t²/2)/2: the bound exceeds σ² by less than 2 log 2/t²,
    with t so large that |φ| is still a few times its standard error."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random((2000, 4)) < 0.5, 0, rng.uniform(1, 3, (2000, 4)))
        found = from_frequencies(x + sigma * rng.standard_normal(x.shape), random_state=seed)
        assert 0.98 * sigma < found.sigma < 1.6 * sigma
        assert not found.trusted
        assert found.low**2 == pytest.approx(found.sigma**2 / 2)


def test_gaussian_columns_do_not_bound_their_noise_below_their_deviation():
    found = [
        from_frequencies(np.random.default_rng(seed).standard_normal((1000, 5)), random_state=seed).sigma
        for seed in range(20)
    ]
    assert min(found) > 0.85


def test_rounding_does_not_lower_the_bound():
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(2000, 3)) + 0.3 * rng.standard_normal((2000, 3))
    plain, rounded = (from_frequencies(rows).sigma for rows in (x, np.round(x / 0.15) * 0.15))
    assert rounded > 0.3
    assert rounded == pytest.approx(plain, rel=0.1)
    assert from_frequencies(np.round(x)).sigma >= x.std(axis=0).min()  # levels, which tell nothing


def test_rows_whose_law_leaves_no_room_for_the_floor_are_doubted_and_bounded():
    X = load_digits().X
    columns = np.random.default_rng(0).choice(np.flatnonzero(X.std(axis=0) > 0.2), 16, replace=False)
    noisy = X[:, columns] + 0.1 * np.random.default_rng(1).standard_normal((len(X), 16))
    with pytest.warns(NoiseLevelWarning, match="exclude more Gaussian noise"):
        found = noise_level(noisy)
    assert found.method == "frequencies"
    assert 0.1 < found.sigma < 0.14 < from_spectrum(noisy).low


def test_a_direction_that_no_other_agrees_with_is_no_floor():
    """Variances that fall by a factor of 2 from direction to direction: that of the last is all that is known."""
    scales = 2.0 ** (-np.arange(10) / 2)
    found = from_spectrum(np.random.default_rng(0).standard_normal((2000, 10)) * scales)
    assert not found.trusted
    assert found.careful == found.low
    assert found.low**2 <= 1.1 * scales[-1] ** 2 / 2


def test_a_filter_is_useful_as_long_as_it_takes_less_than_twice_the_noise_to_be_there():
    """The change of the squared error along a direction of variance λ is (s²/λ)(s² − 2σ²)."""
    variance, noise = 1.3, 0.4
    for taken in (noise / 2, noise, 2 * noise, 1.1):
        gain = 1 - taken / variance
        change = (1 - gain) ** 2 * (variance - noise) + gain**2 * noise - noise
        assert change == pytest.approx(taken / variance * (taken - 2 * noise))


@pytest.mark.parametrize(("shape", "few"), [((50, 6), "6 columns"), ((6, 50), "6 rows")])
def test_what_is_too_few_is_named(shape, few):
    rows = np.random.default_rng(0).standard_normal(shape)
    assert from_spectrum(rows).doubt == f"{few} are too few to tell noise from signal"
