"""The kernel stage on groups, the weights of estimates, and pictures that are drawn."""

import numpy as np
import pytest

from preimage import Denoiser
from preimage.denoising.levels import measured_noise
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.on_groups import by_kernel, fits
from preimage.denoising.pictures import EFFORTS, LEAST, WIDE, CombinationRisk, NoisyPicture, PicturePlan, combined
from preimage.denoising.saturation import Limits

SIGMA, STEP = 0.4, 0.05


def letters(side=160, seed=0):
    """Dark strokes on bright paper, all different."""
    rng, page = np.random.default_rng(seed), np.ones((side, side))
    for row, column in rng.integers(0, side - 8, (side * side // 60, 2)):
        height, width = ((1, 6), (6, 1))[rng.integers(2)]
        page[row : row + height, column : column + width] = -1
    return page


@pytest.fixture(scope="module")
def stage():
    rng, clean = np.random.default_rng(1), letters()
    noisy = (clean + SIGMA * rng.standard_normal(clean.shape)).astype(np.float32)
    probe = np.where(rng.random(clean.shape) < 0.5, -1, 1).astype(np.float32)
    images = np.stack([noisy, noisy + STEP * SIGMA * probe])[..., None]
    return clean, images, probe, by_kernel(images, 0.8 * images, SIGMA, STEP, rng)


def test_two_brightnesses_lose_most_of_their_noise(stage):
    clean, _, _, found = stage
    assert np.mean(np.square(found[0, ..., 0] - clean)) < 0.3 * SIGMA**2


def test_its_risk_by_steins_formula_is_the_error(stage):
    clean, images, probe, (still, moved) = stage
    slope = SIGMA * np.mean(probe * (moved - still)[..., 0]) / STEP
    risk = np.mean(np.square(still - images[0])) + 2 * slope - SIGMA**2
    assert risk == pytest.approx(np.mean(np.square(still[..., 0] - clean)), rel=0.2)


def test_images_too_small_to_learn_from_are_refused():
    assert fits((128, 200))
    assert not fits((127, 200))
    assert not fits((5, 128, 128))


def test_an_estimate_on_top_gets_half_of_the_weight_if_that_helps():
    gaps = np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.4], [0.4, 0.4, 0.6]])
    risk = CombinationRisk(gaps, np.array([0.1, 0.1, 0.1]), 0.5)
    np.testing.assert_allclose(risk.least(2), [0.25, 0.25, 0.5])
    for slope in (5.0, -0.1):
        worse = CombinationRisk(gaps, np.array([0.1, 0.1, slope]), 0.5)
        np.testing.assert_allclose(worse.least(2), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("white", [240 / 255, 1.0])
def test_a_drawing_without_noise_comes_back_as_it_is(white):
    page = np.where(letters() > 0, white, 0.1)
    np.testing.assert_array_equal(Denoiser(effort="quick", random_state=0).denoise_image(page), page)


@pytest.mark.parametrize("white", [240 / 255, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_drawing_with_noise_loses_some_of_it(white, seed):
    page = np.where(letters(seed=seed) > 0, white, 0.1)
    noisy = np.round(255 * np.clip(page + 0.05 * np.random.default_rng(0).standard_normal(page.shape), 0, 1)) / 255
    found = Denoiser(effort="quick", random_state=0).denoise_image(noisy)
    assert np.mean(np.square(found - page)) < 0.7 * np.mean(np.square(noisy - page))


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.1, 0.2])
def test_strokes_on_pure_white_are_not_taken_for_noise(sigma):
    page = np.where(letters() > 0, 1.0, 0.1)
    noisy = np.clip(page + sigma * np.random.default_rng(0).standard_normal(page.shape), 0, 1)[..., None]
    curve = measured_noise(noisy, Limits.of(noisy[None]))
    assert np.sqrt(curve.before(1.0)) == pytest.approx(sigma, rel=0.1)


def test_the_reported_risk_is_steins_if_the_variance_is_exact_and_that_of_the_slope_if_it_is_unknown():
    risk, alone = CombinationRisk(np.array([[0.8]]), np.array([0.15]), 1.0), np.ones(1)
    assert risk.estimate(alone, 0.03, 0.0) == pytest.approx(0.8 + 2 * 0.15 - 1)
    assert risk.estimate(alone, 0.03, 1e6) == pytest.approx(0.15 - 0.03)
    assert 0.1 < risk.estimate(alone, 0.03, 0.01) < 0.12
    assert risk.estimate(alone, 0.2, 1e6) == pytest.approx(LEAST * 0.15)


def test_the_slope_of_patches_is_their_covariance_with_the_noise(monkeypatch):
    """Stein's identity E⟨f(y), w⟩ = E div f(y), where the copy with a probe is answered as noisier by that."""
    monkeypatch.setattr("preimage.denoising.pictures.SPREAD", np.inf)  # Stein's estimate alone
    rng, gaps = np.random.default_rng(0), []
    rows, columns = np.mgrid[:96, :96] / 16
    clean = 4 * np.sin(rows) * np.cos(columns)
    for _ in range(8):
        noise = rng.standard_normal(clean.shape)
        noisy = (clean + noise).astype(np.float32)[..., None]
        found = combined(noisy, lambda estimate: np.ones(1, dtype=np.float32), PicturePlan("quick", 0.1), rng)
        error = np.mean(np.square(found.image[..., 0] - clean))
        gaps.append(found.risk - error - np.mean(np.square(noise)) + 1)  # 2(div f − ⟨f − x, w⟩), each divided by n
    assert abs(np.mean(gaps)) < 0.008  # chance of 0.0025; without that noise 0.02


def test_letters_are_sought_farther_away_than_details_of_photographs():
    page = np.where(letters() > 0, 0.9, 0.1)
    noise = 0.05 * np.random.default_rng(0).standard_normal(page.shape)
    ramp = np.broadcast_to(np.linspace(0, 1, page.shape[1]), page.shape)
    drawn, shaded = (NoisyPicture((x + noise)[..., None], NoiseCurve(0.0, 0.05**2)) for x in (page, ramp))
    assert drawn._is_drawn
    assert not shaded._is_drawn
    assert {PicturePlan(effort, 0.1, drawn=True).steps.second.window for effort in EFFORTS} == {WIDE}
