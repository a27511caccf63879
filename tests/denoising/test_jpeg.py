"""The noise of pictures that were stored as JPEG, against planted steps and levels."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.fft import idctn
from scipy.stats import norm
from sklearn.datasets import load_sample_image

from preimage import Denoiser
from preimage.denoising.alone import _before_storing
from preimage.denoising.jpeg import (
    FREQUENCIES,
    LUMINANCE,
    STANDARD,
    BeforeJpeg,
    JpegBlocks,
    before_jpeg,
    has_whole_colours,
    rounded_square,
)
from preimage.denoising.noise_curve import NoiseCurve
from preimage.noise import GaussianNoise

STEPS = 6.0 + 2 * FREQUENCIES  # planted; real tables grow with the frequency, too


def stored(sigma, side=256, seed=0):
    """Grey levels of a picture with flat and textured blocks and noise, after its coefficients were rounded."""
    rng, n = np.random.default_rng(seed), side // 8
    coefficients = sigma * rng.standard_normal((n, n, 64))
    coefficients[: n // 2] += 60 * rng.standard_normal((n // 2, n, 64)) / (1 + FREQUENCIES)
    rounded = STEPS * np.rint(coefficients / STEPS)
    blocks = idctn(rounded.reshape(n, n, 8, 8), axes=(2, 3), norm="ortho")
    return np.rint(128 + blocks.swapaxes(1, 2).reshape(side, side))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_the_mean_square_of_rounded_noise_is_its_integral(sigma):
    t = np.linspace(-12 * sigma, 12 * sigma, 400_001)
    density = norm.pdf(t, scale=sigma) * (t[1] - t[0])
    for step in (0.5, 1.0, 3.0):
        integral = np.sum(np.square(step * np.rint(t / step)) * density)
        assert rounded_square(sigma, np.array([step]))[0] == pytest.approx(integral, rel=1e-3, abs=1e-6)


def test_steps_are_found_where_coefficients_show_them():
    levels = stored(10.0)
    blocks = JpegBlocks.recognised(levels, np.zeros(levels.shape, dtype=bool))
    known = np.isfinite(blocks.steps)
    assert known.sum() > 40
    np.testing.assert_array_equal(blocks.steps[known], STEPS[known])


@pytest.mark.parametrize("sigma", [5.0, 10.0, 20.0])
@pytest.mark.parametrize("unit", [1.0, 1 / 255])
def test_the_level_before_rounding_is_found(sigma, unit):
    assert before_jpeg(unit * stored(sigma)[..., None]).sigma == pytest.approx(sigma * unit, rel=0.08)


def test_the_level_of_colours_is_that_of_the_luminance():
    grey = stored(10.0)
    assert before_jpeg(np.repeat(grey[..., None], 3, axis=2)).sigma == pytest.approx(10.0, rel=0.08)
    assert LUMINANCE[0].sum() == pytest.approx(1)


@pytest.mark.parametrize(("noise", "error"), [(0.0, 0.15), (8.0, 0.25)])  # no law is quite that
def test_what_rounding_took_from_the_picture_is_told(noise, error):
    """Laplace's law at all frequencies, of which rounding by the standard table for quality 50 leaves few."""
    rng = np.random.default_rng(0)
    picture = rng.laplace(size=(60, 60, 64)) * 40 / (1 + FREQUENCIES) ** 0.5
    coefficients = picture + noise * rng.standard_normal(picture.shape)
    steps = np.where(STANDARD < 60, STANDARD, np.nan)  # the coarsest are seldom seen
    rounded = STANDARD * np.rint(coefficients / STANDARD)
    blocks = JpegBlocks(rounded, np.zeros((60, 60)), steps)
    zero = rounded[..., 1:] == 0
    lost = np.where(zero, picture[..., 1:], (rounded - coefficients)[..., 1:])
    assert blocks.lost(noise) == pytest.approx(np.sum(np.square(lost)) / zero[..., 0].size / 64, rel=error)


def test_a_law_that_grows_is_not_believed_where_most_of_the_noise_was_lost():
    image = np.random.default_rng(0).random((32, 32, 1))
    stored, grown = BeforeJpeg(0.1, 0.0), NoiseCurve(0.004, 0.0)  # shows 0.45 of the noise
    assert _before_storing(grown, stored, image).law == GaussianNoise(0.1)
    assert _before_storing(replace(grown, slope=0.019), stored, image).slope == 0.019


def test_noise_that_was_not_rounded_is_not_recognised():
    rng = np.random.default_rng(0)
    assert before_jpeg(np.rint(128 + 10 * rng.standard_normal((256, 256, 1)))) is None
    assert before_jpeg(rng.standard_normal((256, 256, 1))) is None


def through_a_file(image, quality, subsampling):
    """What a JPEG file makes of an image, 0 for 4:4:4 and 2 for 4:2:0."""
    pil, file = pytest.importorskip("PIL.Image"), io.BytesIO()
    stored = pil.fromarray(np.uint8(np.round(255 * np.clip(image, 0, 1))))
    stored.save(file, "JPEG", quality=quality, subsampling=subsampling)
    return np.asarray(pil.open(file)) / 255


def noisy_flower():
    photo = load_sample_image("flower.jpg")[100:228, 260:388] / 255
    return photo, photo + 20 / 255 * np.random.default_rng(0).standard_normal(photo.shape)


@pytest.mark.parametrize("quality", [50, 75, 90])
def test_the_resolution_of_colours_is_seen_in_their_coefficients(quality):
    noisy = 0.25 + 0.5 * noisy_flower()[1]  # so that the file clips no noise
    assert has_whole_colours(through_a_file(noisy, quality, 0))
    assert not has_whole_colours(through_a_file(noisy, quality, 2))
    assert not has_whole_colours(noisy)


@pytest.mark.parametrize("subsampling", [0, 2])
def test_a_file_of_low_quality_loses_a_quarter_of_its_error(subsampling):
    photo, noisy = noisy_flower()
    read = through_a_file(noisy, 50, subsampling)
    found = Denoiser(effort="quick", random_state=0).denoise_image(read)
    assert np.mean(np.square(found - photo)) < 0.75 * np.mean(np.square(read - photo))


@pytest.mark.parametrize(("quality", "subsampling"), [(50, 0), (50, 2), (75, 2), (90, 2)])
def test_the_risk_counts_colours_and_what_was_lost(quality, subsampling):
    photo, noisy = noisy_flower()
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_image(through_a_file(noisy, quality, subsampling))
    assert 0.4 < denoiser.risk_ / np.mean(np.square(found - photo)) < 2.5


@pytest.mark.parametrize("quality", [50, 75, 90])
def test_a_small_textured_picture_is_not_taken_for_noise(quality):
    clean = load_sample_image("china.jpg")[100:228, 200:328] / 255
    noise = 20 / 255 * np.random.default_rng(0).standard_normal(clean.shape)
    noisy = through_a_file(np.clip(clean + noise, 0, 1), quality, 2)
    assert before_jpeg(noisy).sigma < 2 * 20 / 255 * np.linalg.norm(LUMINANCE[0])
    answer = Denoiser(effort="quick", random_state=0).denoise_image(noisy)
    assert np.mean((answer - clean) ** 2) < np.mean((noisy - clean) ** 2)
