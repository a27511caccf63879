"""Error measures between denoised and clean rows."""

from __future__ import annotations

import numpy as np

from preimage._typing import RowsLike

__all__ = ["mse", "psnr", "rmse", "snr"]


def mse(clean: RowsLike, denoised: RowsLike) -> float:
    """Mean squared error per entry.

    See Also
    --------
    rmse, snr, psnr : The same error on other scales.

    Examples
    --------
    >>> from preimage.statistics.metrics import mse
    >>> mse([[0, 0], [1, 1]], [[0, 2], [1, 1]])
    1.0
    """
    return float(np.mean(np.square(np.subtract(denoised, clean, dtype=float))))


def rmse(clean: RowsLike, denoised: RowsLike) -> float:
    """Root of the mean squared error per entry.

    See Also
    --------
    mse : Its square.

    Examples
    --------
    >>> from preimage.statistics.metrics import rmse
    >>> rmse([[0, 0], [1, 1]], [[0, 2], [1, 1]])
    1.0
    """
    return float(np.sqrt(mse(clean, denoised)))


@np.errstate(divide="ignore")  # without an error the ratio is infinite
def snr(clean: RowsLike, denoised: RowsLike) -> np.ndarray:
    """Signal-to-noise ratio 10 log₁₀(‖x‖² / ‖x − x̂‖²) in dB, one per row, or of one signal.

    See Also
    --------
    psnr : Relative to a peak, as is usual for images.

    Examples
    --------
    >>> from preimage.statistics.metrics import snr
    >>> snr([[3, 4], [30, 40]], [[3, 4.5], [30, 45]])
    array([20., 20.])
    """
    clean = np.asarray(clean, dtype=float)
    return 10 * np.log10(np.square(clean).sum(axis=-1) / np.square(clean - denoised).sum(axis=-1))


@np.errstate(divide="ignore")
def psnr(clean: RowsLike, denoised: RowsLike, peak: float = 1.0) -> float:
    """Peak signal-to-noise ratio 10 log₁₀(peak² / mean squared error) in dB, of all entries together.

    See Also
    --------
    snr : Relative to the rows themselves.

    Examples
    --------
    >>> from preimage.statistics.metrics import psnr
    >>> round(psnr([0, 0.5, 1], [0.1, 0.4, 1.1]), 6)
    20.0
    """
    return float(10 * np.log10(peak**2 / np.float64(mse(clean, denoised))))
