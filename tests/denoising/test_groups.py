"""Groups of similar patches against their formulas."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.stats import norm
from sklearn.datasets import load_sample_image

from preimage.denoising.groups import Search, Steps, find_groups
from preimage.denoising.groups.ridge import by_pilot, by_stein
from preimage.denoising.learning import Units
from preimage.denoising.levels import measured_noise
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.saturation import Limits
from preimage.noise import SpeckleNoise

SHAPES = {1: (90,), 2: (21, 26), 3: (9, 10, 11)}
SEARCHES = {1: Search(5, 7, 21, 3), 2: Search(4, 9, 9, 3), 3: Search(3, 6, 5, 2)}


def image(n_axes, seed=0):
    return np.random.default_rng(seed).standard_normal(SHAPES[n_axes]).astype(np.float32)


def patch(values, corner, side):
    return values[tuple(slice(at, at + side) for at in corner)].ravel()


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_members_are_the_nearest_patches_of_the_window(n_axes):
    values, search = image(n_axes), SEARCHES[n_axes]
    groups = find_groups(values, search)
    corners = [length - search.side + 1 for length in values.shape]
    along = [sorted({*range(0, n, search.stride), n - 1}) for n in corners]
    assert groups.shape == tuple(map(len, along))
    starts = [[min(max(at - search.window // 2, 0), max(n - search.window, 0)) for at in axis]
              for axis, n in zip(along, corners, strict=True)]  # fmt: skip
    for number, index in enumerate(np.ndindex(groups.shape)):
        own = tuple(axis[i] for axis, i in zip(along, index, strict=True))
        ranges = [range(axis[i], min(axis[i] + search.window, n))
                  for axis, i, n in zip(starts, index, corners, strict=True)]  # fmt: skip
        candidates = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, n_axes)
        gaps = [np.sum((patch(values, c, search.side) - patch(values, own, search.side)) ** 2) for c in candidates]
        nearest = candidates[np.argsort(gaps)[: search.n_similar]]
        found = np.stack(np.unravel_index(groups.members[number], corners), axis=-1)
        assert {tuple(c) for c in found} == {tuple(c) for c in nearest}
        assert own in {tuple(c) for c in found}


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_answers_are_put_back_with_their_weights(n_axes):
    values, search = image(n_axes), SEARCHES[n_axes]
    groups = find_groups(values, search)

    found = groups.apply(lambda seen, mean: ([seen + 1, seen**2], np.exp(mean)), [values], values)
    total, count = np.zeros((2, *values.shape)), np.zeros(values.shape)
    for member in groups.members.ravel():
        corner = np.unravel_index(member, groups.corners)
        place = tuple(slice(at, at + search.side) for at in corner)
        weight = np.exp(values[place].mean())
        total[(slice(None), *place)] += weight * np.stack([values[place] + 1, values[place] ** 2])
        count[place] += weight
    assert count.min() > 0
    np.testing.assert_allclose(found, total / count, rtol=1e-4, atol=1e-5)


def group(k, n, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((3, k, 4)) @ rng.standard_normal((3, 4, n)) + rng.standard_normal((3, 1, n))
    d = rng.uniform(0.5, 2, (3, k)) * n * 0.1
    noisy = truth + np.sqrt(d / n)[:, :, None] * rng.standard_normal(truth.shape)
    return truth, noisy, d


def affine(Q, D, factor=1.0):
    """I − cD(Q⁻¹ − uuᵀ/1ᵀu) with u = Q⁻¹1."""
    inverse = np.linalg.inv(Q)
    u = inverse.sum(axis=1)
    return np.eye(len(Q)) - factor * D @ (inverse - np.outer(u, u) / u.sum())


@pytest.mark.parametrize(("k", "n"), [(12, 30), (30, 12)])
def test_the_answer_by_a_pilot_is_the_affine_formula(k, n):
    truth, noisy, d = group(k, n)
    found, weights = by_pilot(truth.astype(np.float32), noisy.astype(np.float32), d.astype(np.float32))
    for g in range(3):
        D = np.diag(d[g])
        theta = affine(truth[g] @ truth[g].T + D, D)
        np.testing.assert_allclose(theta.sum(axis=1), 1)
        np.testing.assert_allclose(found[g], theta @ noisy[g], atol=2e-3)
        variance = np.square(theta) @ d[g]
        np.testing.assert_allclose(weights[g], 1 / np.clip(variance, d[g] / k, d[g]), rtol=0.02)


def test_no_affine_combination_has_less_risk_than_that_of_the_true_pilot():
    truth, _, d = group(12, 30)
    D = np.diag(d[0])
    best, rng = affine(truth[0] @ truth[0].T + D, D), np.random.default_rng(2)

    def risk(theta):
        return np.sum(((theta - np.eye(12)) @ truth[0]) ** 2) + np.sum(np.square(theta) @ d[0])

    for _ in range(20):
        change = rng.standard_normal((12, 12))
        change -= change.mean(axis=1, keepdims=True)  # rows still sum to 1
        assert risk(best + 1e-3 * change) > risk(best)


def test_the_answer_by_stein_is_the_affine_formula():
    _, noisy, d = group(12, 30)
    found, weights = by_stein(noisy.astype(np.float32), d.astype(np.float32), 0.05)
    for g in range(3):
        D = np.diag(d[g])
        theta = affine(noisy[g] @ noisy[g].T + 0.05 * D, D, 1.05)
        np.testing.assert_allclose(found[g], theta @ noisy[g], atol=2e-3)
        variance = np.square(theta) @ d[g]
        np.testing.assert_allclose(weights[g], 1 / np.clip(variance, d[g] / 12, d[g]), rtol=0.02)


def waves(n_axes, length=64):
    t = np.stack(np.meshgrid(*[np.arange(length // (1 if n_axes < 3 else 4))] * n_axes, indexing="ij"))
    return np.sin(0.7 * t.sum(axis=0)) + np.sin(0.31 * t[0])


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_repeated_structure_loses_most_of_its_noise_in_any_dimension(n_axes):
    clean = waves(n_axes, {1: 2000, 2: 64, 3: 64}[n_axes])
    noisy = clean + 0.3 * np.random.default_rng(0).standard_normal(clean.shape)
    side, window, stride = {1: (36, 301, 4), 2: (6, 25, 4), 3: (4, 9, 2)}[n_axes]
    second = Search(side, 40, window, stride)
    steps = Steps(Search(side, 10, window, stride), second, second, 3)
    found = steps(noisy[..., None], lambda estimate: np.array([0.09]))
    two, last = (np.mean((found[name][..., 0] - clean) ** 2) / 0.09 for name in ("two steps", "gradual"))
    assert two < 0.15 and last < 0.12


def test_channels_share_their_groups_and_have_their_own_noise():
    clean = np.stack([waves(2), waves(2)], axis=-1)
    sigma = np.array([0.1, 0.6])
    noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
    found = Steps(Search(6, 10, 25, 4), Search(6, 40, 25, 4))(noisy, lambda estimate: sigma**2)["two steps"]
    assert np.all(np.mean((found - clean) ** 2, axis=(0, 1)) < 0.15 * sigma**2)


def test_a_map_of_equal_variances_gives_the_answer_of_one_variance():
    clean = waves(2)
    noisy = (clean + 0.3 * np.random.default_rng(0).standard_normal(clean.shape))[..., None]
    search = Search(6, 20, 15, 4)
    steps = Steps(search, search, search, 2)
    one = steps(noisy, lambda estimate: np.array([0.09]))["gradual"]
    mapped = steps(noisy, lambda estimate: np.full(noisy.shape, 0.09))["gradual"]
    np.testing.assert_allclose(one, mapped, atol=1e-3)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, np.inf), (-np.inf, 1.0)])
def test_the_curve_of_clipped_noise_has_the_moments_of_its_draws(low, high):
    curve = NoiseCurve(0.01, 0.02, Limits(low, high))
    noise = norm.ppf((np.arange(20000) + 0.5) / 20000)
    for x in (0.0, 0.05, 0.3, 0.8, 1.0):
        if not low <= x <= high:
            continue
        draws = np.clip(x + np.sqrt(curve.before(x)) * noise, low, high)
        assert curve.variance(draws.mean()) == pytest.approx(draws.var(), rel=0.02)
        assert curve.undone(draws.mean()) == pytest.approx(x, abs=0.005)


def flat_picture():
    """Steps of brightness with some texture."""
    steps = np.kron(np.linspace(0, 1, 16).reshape(4, 4), np.ones((64, 64)))
    texture = np.random.default_rng(3).standard_normal(steps.shape) * (np.indices(steps.shape)[0] % 64 >= 40)
    return np.clip(steps + 0.5 * texture, 0, 1)


@pytest.mark.parametrize("sigma", [0.05, 0.1, 0.2])
def test_the_level_of_a_file_whose_values_were_cut_off_is_that_before(sigma):
    noisy = np.clip(flat_picture() + sigma * np.random.default_rng(0).standard_normal((256, 256)), 0, 1)
    curve = measured_noise(noisy[..., None], Limits.of(noisy[None, ..., None]))
    assert curve.slope == 0
    assert np.sqrt(curve.floor) == pytest.approx(sigma, rel=0.06)
    assert (curve.limits.low, curve.limits.high) == (0, 1)


@pytest.mark.parametrize(("a", "b"), [(0.05, 0.0), (0.01, 0.001), (0.002, 0.0)])
def test_noise_that_grows_with_the_brightness_is_told_from_constant_noise(a, b):
    rng = np.random.default_rng(0)
    noisy = a * rng.poisson(flat_picture() / a) + np.sqrt(b) * rng.standard_normal((256, 256))
    curve = measured_noise(noisy[..., None], Limits(-np.inf, np.inf))
    assert curve.slope == pytest.approx(a, rel=0.12)
    assert abs(curve.floor - b) < 0.15 * a


@pytest.mark.parametrize(("c", "b"), [(0.01, 0.0), (0.04, 0.0), (0.1, 0.0), (0.04, 0.001)])
def test_noise_that_grows_with_the_square_of_the_brightness_is_told_from_counted_light(c, b):
    noisy = SpeckleNoise(c, b)(flat_picture(), 0)
    curve = measured_noise(noisy[..., None], Limits(-np.inf, np.inf))
    assert curve.bend == pytest.approx(c, rel=0.12)
    assert curve.slope == 0
    assert abs(curve.floor - b) < 0.02 * c
    assert isinstance(curve.law, SpeckleNoise)


def smooth_picture(side, n_channels):
    """Waves a few patches long, and a dark column at the border."""
    row, column = np.mgrid[:side, :side]
    waves = 0.6 + 0.3 * np.sin(column / 9) * np.cos(row / 7)
    waves[:, 0] = 0
    return np.repeat(waves[..., None], n_channels, axis=-1)


@pytest.mark.parametrize("n_channels", [1, 3])
@pytest.mark.parametrize("side", [32, 64, 128])
def test_slow_changes_of_brightness_are_not_taken_for_texture(side, n_channels):
    clean = smooth_picture(side, n_channels)
    noisy = clean + 0.023 * np.random.default_rng(0).standard_normal(clean.shape)
    curve = measured_noise(noisy, Limits(-np.inf, np.inf))
    assert curve.is_constant
    assert np.sqrt(curve.floor) == pytest.approx(0.023, rel=0.12)  # the flattest 30 patches tell σ to 5 %


def leaves(side, seed=0):
    """Texture everywhere, correlated over two points, brighter where there is more of it."""
    rng = np.random.default_rng(seed)
    contrast = 0.1 + 0.9 * gaussian_filter(rng.random((side, side)), 8, mode="wrap")
    return contrast * (1 + gaussian_filter(rng.standard_normal((side, side)), 0.6, mode="wrap"))


@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.2])
def test_texture_without_a_flat_patch_bounds_the_noise_on_both_sides(sigma):
    noisy = leaves(64) + sigma * np.random.default_rng(1).standard_normal((64, 64))
    curve = measured_noise(noisy[..., None], Limits(-np.inf, np.inf))
    assert curve.slope == curve.bend == 0
    assert np.sqrt(curve.floor) < 1.12 * sigma + 1e-9
    assert np.sqrt(curve.most) > sigma


def test_texture_in_the_bright_is_not_taken_for_speckle():
    photo = load_sample_image("china.jpg")[230:326, 122:218].mean(axis=2, keepdims=True) / 255
    curve = measured_noise(photo, Limits(-np.inf, np.inf))
    assert curve.slope == curve.bend == 0


def test_a_curve_in_other_units_has_the_same_variances():
    curve, units = NoiseCurve(0.1, 0.2, Limits(0.0, 3.0), 0.3), Units(offset=0.7, scale=2.0)
    x = np.linspace(0.1, 2.9, 20)
    inside = curve.within(units)
    np.testing.assert_allclose(inside.before((x - 0.7) / 2), curve.before(x) / 4)
    np.testing.assert_allclose(inside.variance((x - 0.7) / 2), curve.variance(x) / 4, rtol=1e-3)
