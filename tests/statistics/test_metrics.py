import numpy as np
import pytest

from helpers import rows
from preimage.statistics.metrics import mse, psnr, rmse, snr


def test_a_known_error_gives_known_figures():
    clean = np.array([[3.0, 4.0], [6.0, 8.0]])
    denoised = clean + [[0.3, -0.4], [0.0, 1.0]]
    assert mse(clean, denoised) == pytest.approx(1.25 / 4)
    assert rmse(clean, denoised) == pytest.approx(np.sqrt(1.25) / 2)
    np.testing.assert_allclose(snr(clean, denoised), [20.0, 20.0])
    assert snr(clean[1], denoised[1]) == pytest.approx(20)
    assert psnr(clean, denoised, peak=10.0) == pytest.approx(10 * np.log10(100 / (1.25 / 4)))


def test_ten_times_less_error_is_twenty_decibels():
    clean, noise = rows(30, 4), rows(30, 4, seed=1)
    near, far = clean + 0.01 * noise, clean + 0.1 * noise
    np.testing.assert_allclose(snr(clean, near) - snr(clean, far), 20)
    assert psnr(clean, near) - psnr(clean, far) == pytest.approx(20)


def test_no_error_is_infinitely_many_decibels():
    clean = rows(3, 2)
    assert np.isposinf(snr(clean, clean)).all()
    assert np.isposinf(psnr(clean, clean))


def test_whole_numbers_do_not_wrap_around():
    clean, dark = np.full((1, 2), 250, dtype=np.uint8), np.zeros((1, 2), dtype=np.uint8)
    assert mse(clean, dark) == mse(dark, clean) == 250**2
    np.testing.assert_allclose(snr(clean, dark), 0)
