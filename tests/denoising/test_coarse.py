"""The coarse picture: what it sees, what it leaves alone, and what it is for."""

import numpy as np
import pytest

from preimage import Denoiser
from preimage.denoising import coarse
from preimage.denoising.pictures import PicturePlan

SIDE = 96
STEPS = PicturePlan("quick", 0.05).steps


def wave(cycles):
    """A cosine of so many half waves along both sides, which is one coefficient of the transform."""
    along = np.cos(np.pi * cycles * (np.arange(SIDE) + 0.5) / SIDE)
    return np.multiply.outer(along, along)[..., None].astype(np.float32)


def test_a_coarse_picture_has_a_quarter_of_the_points_and_of_the_noise():
    noise = np.random.default_rng(0).standard_normal((4 * SIDE, 4 * SIDE, 1))
    found = coarse._coarse(3.0 + noise)
    assert found.shape == (SIDE, SIDE, 1)
    assert found.std() == pytest.approx(0.25, rel=4 / np.sqrt(2 * SIDE**2))  # four standard errors
    assert found.mean() == pytest.approx(3.0 + noise.mean(), abs=1e-4)


def test_slow_waves_come_from_the_coarse_picture_and_fast_ones_from_the_answer():
    slow, fast = wave(3), wave(60)
    found = coarse.with_coarse_frequencies(fast, slow + fast, np.array([1e-8], dtype=np.float32), STEPS)
    np.testing.assert_allclose(found, slow + fast, atol=1e-3)  # hardly any noise: the coarse picture stays as it is


def test_frames_of_a_stack_stay_apart():
    stack = np.stack([wave(3), 2 * wave(3)])
    found = coarse.with_coarse_frequencies(np.zeros_like(stack), stack, np.array([1e-8], dtype=np.float32), STEPS)
    np.testing.assert_allclose(found, stack, atol=2e-3)


def test_noise_that_differs_from_place_to_place_stays_positive():
    noisy = wave(2)
    variances = np.where(np.arange(SIDE)[:, None, None] < SIDE // 2, 1e-4, 1.0) * np.ones_like(noisy)
    assert np.isfinite(coarse.with_coarse_frequencies(noisy, noisy, variances.astype(np.float32), STEPS)).all()


@pytest.mark.parametrize(("grid", "fit"), [((64, 64), True), ((63, 200), False), ((200,), False), ((5, 64, 64), True)])
def test_small_pictures_have_no_coarse_one(grid, fit):
    assert coarse.fits(grid) is fit


def test_blotches_of_an_even_surface_are_removed():
    """A ramp in strong noise keeps less of it than patches alone leave."""
    ramp = np.add.outer(np.linspace(0, 1, 128), np.linspace(0, 1, 128))[..., None].astype(np.float32)
    noisy = (ramp + np.random.default_rng(0).standard_normal(ramp.shape)).astype(np.float32)
    variance = np.array([1.0], dtype=np.float32)
    *_, patches = PicturePlan("quick", 0.5).steps(noisy, lambda estimate: variance).values()
    found = coarse.with_coarse_frequencies(patches, noisy, variance, PicturePlan("quick", 0.125).steps)
    assert np.mean((found - ramp) ** 2) < 0.9 * np.mean((patches - ramp) ** 2)


@pytest.mark.parametrize(("effort", "names"), [("quick", ()), ("standard", ("gradual", "coarse"))])
def test_the_denoiser_names_its_risk(effort, names):
    noisy = np.linspace(0, 1, 64) + 0.1 * np.random.default_rng(0).standard_normal((64, 64))
    denoiser = Denoiser(noise=0.1, effort=effort, random_state=0)
    denoiser.denoise_image(noisy)
    assert tuple(denoiser.candidates_) == ("two steps", *names)
