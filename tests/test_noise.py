from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from preimage.noise import (
    CustomNoise,
    GaussianNoise,
    Masking,
    PoissonGaussianNoise,
    PoissonNoise,
    RandomImpulses,
    SaltAndPepper,
    SpeckleNoise,
)
from preimage.noise.custom import as_noise

LAWS = [
    GaussianNoise(0.3),
    GaussianNoise(0.3, clip=(0, 1)),
    SaltAndPepper(0.4),
    Masking(0.4),
    PoissonNoise(20.0),
    RandomImpulses(0.4),
    SpeckleNoise(0.1, 0.01, clip=(0, 1)),
    CustomNoise(lambda X, rng: X + rng.uniform(size=X.shape)),
]
MANY = (400, 500)

pixels = arrays(np.float64, array_shapes(max_dims=3, max_side=6), elements=st.floats(0, 1))
seeds = st.integers(0, 2**32)
probabilities = st.floats(0, 1)


def within(estimate, truth, standard_error):
    """Two-sided: five standard errors of the estimate."""
    return abs(estimate - truth) < 5 * standard_error


# Every law


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@given(X=pixels, seed=seeds)
def test_the_same_generator_gives_the_same_noise_and_the_input_stays(law, X, seed):
    before = X.copy()
    Y = law(X, np.random.default_rng(seed))
    np.testing.assert_array_equal(Y, law(X, np.random.default_rng(seed)))
    np.testing.assert_array_equal(X, before)
    assert Y.shape == X.shape
    assert not np.shares_memory(X, Y)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floating_types_are_kept(law, dtype):
    assert law(np.ones((3, 2), dtype), np.random.default_rng(0)).dtype == dtype


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_other_real_types_become_float64(law, dtype):
    X = np.ones((3, 2), dtype)
    np.testing.assert_array_equal(law(X, np.random.default_rng(0)), law(X.astype(float), np.random.default_rng(0)))
    assert law(X, np.random.default_rng(0)).dtype == np.float64


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("X", [np.array([1j]), np.array(["a"]), np.array([None])], ids=["complex", "text", "object"])
def test_what_is_not_a_real_array_is_refused(law, X):
    with pytest.raises(TypeError, match="real numbers"):
        law(X, np.random.default_rng(0))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_seed_stands_for_its_generator_and_draws_advance_it(law):
    X, rng = np.full((20, 20), 0.5), np.random.default_rng(3)
    first, second = law(X, rng), law(X, rng)
    np.testing.assert_array_equal(first, law(X, 3))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_an_empty_array_stays_empty(law):
    assert law(np.empty((0, 4)), np.random.default_rng(0)).shape == (0, 4)


def test_laws_are_values():
    assert GaussianNoise(0.1) == GaussianNoise(0.1) != GaussianNoise(0.2)
    with pytest.raises(FrozenInstanceError):
        GaussianNoise(0.1).sigma = 0.2


# Gaussian


@pytest.mark.parametrize("sigma", [0.0, 0.25, 3.0])
def test_gaussian_noise_has_its_moments(sigma):
    noise = GaussianNoise(sigma)(np.full(MANY, 0.5), np.random.default_rng(0)) - 0.5
    n = noise.size
    assert within(noise.mean(), 0, sigma / np.sqrt(n) + 1e-15)
    assert within(noise.var(), sigma**2, sigma**2 * np.sqrt(2 / n) + 1e-15)
    assert within((noise**4).mean(), 3 * sigma**4, sigma**4 * np.sqrt(96 / n) + 1e-15)


def test_gaussian_noise_is_white():
    noise = GaussianNoise(1.0)(np.zeros(MANY), np.random.default_rng(1))
    correlation = np.corrcoef(noise[:, :20].T) - np.eye(20)
    assert np.abs(correlation).max() < 5 / np.sqrt(MANY[0])


@given(X=pixels, seed=seeds, sigma=st.floats(0, 10))
def test_clipping_equals_clipping_afterwards(X, seed, sigma):
    free, clipped = GaussianNoise(sigma)(X, seed), GaussianNoise(sigma, clip=(0.2, 0.9))(X, seed)
    np.testing.assert_array_equal(clipped, np.clip(free, 0.2, 0.9))


@pytest.mark.parametrize(
    "law", [GaussianNoise(0.1, [0, 1]), PoissonGaussianNoise(1, 0.1, [0, 1]), SpeckleNoise(1, 0, [0, 1])]
)
def test_a_range_may_be_a_list_and_the_law_can_be_hashed(law):
    assert law in {law}
    assert law.clip == (0, 1)
    assert np.ptp(law(np.linspace(0, 3, 500), 0)) == 1


@pytest.mark.parametrize("sigma", [0.25, np.float64(0.25), np.float32(0.25)])
def test_gaussian_noise_in_float32_rounds_the_draws_first(sigma):
    X = np.random.default_rng(5).random((7, 9), dtype=np.float32)
    expected = X + 0.25 * np.random.default_rng(0).standard_normal(X.shape).astype(np.float32)
    np.testing.assert_array_equal(GaussianNoise(sigma)(X, np.random.default_rng(0)), expected)


# Salt and pepper, masking


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_salt_and_pepper_come_in_equal_shares(p):
    Y = SaltAndPepper(p, low=-1, high=2)(np.full(MANY, 0.5), np.random.default_rng(0))
    error = np.sqrt(p / 2 * (1 - p / 2) / Y.size) + 1e-15
    assert within((Y == -1).mean(), p / 2, error)
    assert within((Y == 2).mean(), p / 2, error)
    assert within((Y == 0.5).mean(), 1 - p, np.sqrt(p * (1 - p) / Y.size) + 1e-15)


@given(X=pixels, seed=seeds, p=probabilities)
def test_salt_and_pepper_follow_one_uniform_draw_a_value(X, seed, p):
    u, expected = np.random.default_rng(seed).random(X.shape), X.copy()
    expected[u < p / 2], expected[u > 1 - p / 2] = 0, 1
    np.testing.assert_array_equal(SaltAndPepper(p)(X, np.random.default_rng(seed)), expected)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_masking_loses_its_share(p):
    Y = Masking(p, value=-7.0)(np.full(MANY, 0.5), np.random.default_rng(0))
    assert set(np.unique(Y)) <= {-7.0, 0.5}
    assert within((Y == -7).mean(), p, np.sqrt(p * (1 - p) / Y.size) + 1e-15)


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_random_impulses_are_uniform_and_stand_anywhere(p):
    Y = RandomImpulses(p, low=-1, high=3)(np.full(MANY, 5.0), np.random.default_rng(0))
    drawn = Y[Y != 5]
    assert within(drawn.size / Y.size, p, np.sqrt(p * (1 - p) / Y.size) + 1e-15)
    if drawn.size:
        assert drawn.min() >= -1 and drawn.max() <= 3
        assert within(drawn.mean(), 1, 4 / np.sqrt(12 * drawn.size))
        assert within(drawn.var(), 16 / 12, 16 * np.sqrt(1 / 180 / drawn.size))


def test_masking_can_mark_values_as_missing():
    X = np.ones((50, 50))
    missing, zeroed = Masking(0.2, value=np.nan)(X, 0), Masking(0.2)(X, 0)
    np.testing.assert_array_equal(np.isnan(missing), zeroed == 0)
    assert np.isnan(missing).any()


# Poisson


@pytest.mark.parametrize("x", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("peak", [1.0, 30.0])
def test_poisson_noise_has_its_moments(x, peak):
    Y = PoissonNoise(peak)(np.full(MANY, x), np.random.default_rng(0))
    variance, fourth = x / peak, (3 * x**2 + x / peak) / peak**2
    assert within(Y.mean(), x, np.sqrt(variance / Y.size) + 1e-15)
    assert within(Y.var(), variance, np.sqrt((fourth - variance**2) / Y.size) + 1e-15)
    np.testing.assert_allclose(Y * peak, np.round(Y * peak), atol=1e-9)


@pytest.mark.parametrize("bad", [-0.01, np.nan])
def test_poisson_noise_needs_intensities(bad):
    with pytest.raises(ValueError, match="negative values or NaN"):
        PoissonNoise(10.0)(np.array([0.5, bad]), np.random.default_rng(0))


# Bad parameters


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: GaussianNoise(-0.1), "sigma must be"),
        (lambda: GaussianNoise(np.nan), "sigma must be"),
        (lambda: GaussianNoise(np.inf), "sigma must be"),
        (lambda: GaussianNoise("big"), "sigma must be"),
        (lambda: GaussianNoise(None), "sigma must be"),
        (lambda: GaussianNoise(0.1, clip=(1, 0)), "low < high"),
        (lambda: GaussianNoise(0.1, clip=(0, 1, 2)), "low < high"),
        (lambda: GaussianNoise(0.1, clip=(0, np.nan)), "low < high"),
        (lambda: GaussianNoise(0.1, clip=True), "low < high"),
        (lambda: SaltAndPepper(1.1), "probability"),
        (lambda: SaltAndPepper(-0.1), "probability"),
        (lambda: SaltAndPepper(0.1, low=1, high=1), "low must be < high"),
        (lambda: Masking(np.nan), "probability"),
        (lambda: Masking(True), "probability"),
        (lambda: Masking(0.1, value="x"), "value must be a number"),
        (lambda: PoissonNoise(0), "peak must be > 0"),
        (lambda: PoissonNoise(np.inf), "peak must be > 0"),
    ],
)
def test_bad_parameters_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


# Functions as laws


def test_a_law_passes_through_as_noise():
    law = SaltAndPepper(0.2)
    assert as_noise(law) is law


def test_a_function_becomes_a_law():
    law = as_noise(lambda X, rng: X + rng.standard_normal(X.shape))
    X = np.zeros((4, 3), dtype=np.float32)
    expected = np.random.default_rng(2).standard_normal(X.shape).astype(np.float32)
    np.testing.assert_array_equal(law(X, np.random.default_rng(2)), expected)


def test_a_partial_function_becomes_a_law():
    law = as_noise(partial(lambda shift, X, rng: X + shift, 2.0))
    np.testing.assert_array_equal(law(np.zeros(3), 0), [2.0, 2.0, 2.0])


def test_a_function_that_works_in_place_cannot_harm_the_data():
    def zero(X, rng):
        X[:] = 0
        return X

    X = np.ones((2, 2))
    np.testing.assert_array_equal(as_noise(zero)(X, 0), np.zeros((2, 2)))
    np.testing.assert_array_equal(X, np.ones((2, 2)))


@pytest.mark.parametrize(
    "function, sentence",
    [
        (lambda X, rng: X[:1], "returned shape"),
        (lambda X, rng: X.sum(), "returned shape"),
        (lambda X, rng: None, "returned shape"),
        (lambda X, rng: X.astype(str), "not real numbers"),
        (lambda X, rng: X + 1j, "not real numbers"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(function, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_noise(function)(np.ones((3, 2)), 0)


@pytest.mark.parametrize("law", [0.25, "gaussian", None, GaussianNoise])
def test_what_is_no_law_is_refused(law):
    with pytest.raises(TypeError, match=r"such as GaussianNoise\(0.25\)"):
        as_noise(law)


# Speckle


@pytest.mark.parametrize("x", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("c", "b"), [(0.04, 0.0), (0.25, 0.01)])
def test_speckle_has_a_variance_that_grows_with_the_square(x, c, b):
    Y, variance = SpeckleNoise(c, b)(np.full(MANY, x), np.random.default_rng(0)), c * x**2 + b
    assert within(Y.mean(), x, np.sqrt(variance / Y.size) + 1e-15)
    assert within(Y.var(), variance, variance * np.sqrt(2 / Y.size) + 1e-15)


@pytest.mark.parametrize(
    ("law", "settings"),
    [(SpeckleNoise, (0,)), (SpeckleNoise, (1, -1)), (RandomImpulses, (2,)), (RandomImpulses, (0, 1, 0))],
)
def test_settings_outside_their_range_are_refused(law, settings):
    with pytest.raises(ValueError, match="must be"):
        law(*settings)
