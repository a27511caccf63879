"""The noise of pictures that were stored as JPEG, against planted steps and levels."""

import io

import numpy as np
import pytest
from scipy.fft import idctn
from scipy.stats import norm
from sklearn.datasets import load_sample_image

from preimage import Denoiser
from preimage.denoising.jpeg import (
    FREQUENCIES,
    LUMINANCE,
    JpegBlocks,
    has_whole_colours,
    rounded_square,
    sigma_before_jpeg,
)

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
    assert sigma_before_jpeg(unit * stored(sigma)[..., None]) == pytest.approx(sigma * unit, rel=0.08)


def test_the_level_of_colours_is_that_of_the_luminance():
    grey = stored(10.0)
    assert sigma_before_jpeg(np.repeat(grey[..., None], 3, axis=2)) == pytest.approx(10.0, rel=0.08)
    assert LUMINANCE[0].sum() == pytest.approx(1)


def test_noise_that_was_not_rounded_is_not_recognised():
    rng = np.random.default_rng(0)
    assert sigma_before_jpeg(np.rint(128 + 10 * rng.standard_normal((256, 256, 1)))) is None
    assert sigma_before_jpeg(rng.standard_normal((256, 256, 1))) is None


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
