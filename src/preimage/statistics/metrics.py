"""Error measures between denoised and clean rows."""

from __future__ import annotations

import numpy as np

from preimage._typing import RowsLike

__all__ = ["mse", "psnr", "rmse", "snr"]


def mse(clean: RowsLike, denoised: RowsLike) -> float:
    """Mean squared error per entry."""
    return float(np.mean(np.square(np.subtract(denoised, clean, dtype=float))))


def rmse(clean: RowsLike, denoised: RowsLike) -> float:
    """Root of the mean squared error per entry."""
    return float(np.sqrt(mse(clean, denoised)))


@np.errstate(divide="ignore")  # without an error the ratio is infinite
def snr(clean: RowsLike, denoised: RowsLike) -> np.ndarray:
    """Signal-to-noise ratio 10 log₁₀(‖x‖² / ‖x − x̂‖²) in dB, one per row, or of one signal."""
    clean = np.asarray(clean, dtype=float)
    return 10 * np.log10(np.square(clean).sum(axis=-1) / np.square(clean - denoised).sum(axis=-1))


@np.errstate(divide="ignore")
def psnr(clean: RowsLike, denoised: RowsLike, peak: float = 1.0) -> float:
    """Peak signal-to-noise ratio 10 log₁₀(peak² / mean squared error) in dB, of all entries together."""
    return float(10 * np.log10(peak**2 / np.float64(mse(clean, denoised))))
