"""The lowest frequencies of an estimate, from the image at a quarter of its resolution.

Groups of patches remove noise up to the width of a patch. Wider noise stays in the estimate, as blotches in even
surfaces. At a quarter of the resolution it is as narrow as a patch, and has a quarter of the level. The lowest cosine
coefficients form the coarse image. The estimate of the coarse image is least accurate at its own highest frequencies,
so only its lower ones replace those of the fine estimate (Facciolo, Pierazzo & Morel 2017).
"""

from __future__ import annotations

import numpy as np
from scipy.fft import dctn, idctn

from preimage.denoising.groups import Steps

QUARTER = 4
KEPT = 0.6  # share of the coarse image's frequencies, along each axis, that replace those of the estimate
SHORTEST = 64  # the least side of an image that is worth a quarter of its resolution


def fits(grid: tuple[int, ...]) -> bool:
    """Whether an image, or the frames of a stack, are large enough."""
    return len(grid) >= 2 and min(grid[-2:]) >= SHORTEST


def with_coarse_frequencies(fine: np.ndarray, noisy: np.ndarray, variances: np.ndarray, steps: Steps) -> np.ndarray:
    """The estimate with its lowest frequencies taken from the estimate of the coarse image.

    Parameters
    ----------
    fine, noisy : arrays of shape (grid…, height, width, channels)
        The estimate and the noisy image.
    variances : array
        The variances of the noise: of the shape of ``noisy``, or one per channel if they are the same everywhere.
    steps : Steps
        The steps that denoise the coarse image.
    """
    small = _coarse(noisy)
    coarse = variances if variances.ndim == 1 else np.maximum(_coarse(variances), variances.min())
    coarse = (coarse / QUARTER**2).astype(np.float32)
    *_, found = steps(small, lambda estimate: coarse).values()
    whole = _frequencies(fine)
    height, width = (int(KEPT * n) for n in small.shape[-3:-1])
    whole[..., :height, :width, :] = QUARTER * _frequencies(found)[..., :height, :width, :]
    return _picture(whole)


def _coarse(image: np.ndarray) -> np.ndarray:
    """The image with a quarter of the points along both sides, and the same mean."""
    height, width = (-(-n // QUARTER) for n in image.shape[-3:-1])
    return _picture(_frequencies(image)[..., :height, :width, :] / QUARTER)


def _frequencies(image: np.ndarray) -> np.ndarray:
    return dctn(image.astype(np.float32, copy=False), axes=(-3, -2), norm="ortho")


def _picture(frequencies: np.ndarray) -> np.ndarray:
    return idctn(frequencies, axes=(-3, -2), norm="ortho")
