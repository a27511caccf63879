"""A picture at a quarter of its resolution, which tells the lowest frequencies of an answer.

Groups of patches remove noise of the width of a patch and less. What is wider stays in the answer, as blotches in even
surfaces. At a quarter of the resolution it is as narrow as a patch, and has a quarter of the level. The coarse picture
is that of the lowest cosine coefficients; of its answer only those go into the fine one that are far from its own
finest, where it errs most (Facciolo, Pierazzo & Morel 2017).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.fft import dctn, idctn

from preimage.denoising.groups import Steps

QUARTER = 4
KEPT = 0.6  # share of the frequencies of the coarse picture that go into the answer
SHORTEST = 64  # points along a side, below which there is nothing to be seen at a quarter of the resolution


def fits(grid: tuple[int, ...]) -> bool:
    """Whether a picture, or the frames of a stack, are large enough."""
    return len(grid) >= 2 and min(grid[-2:]) >= SHORTEST


def with_coarse_answer(
    answer: np.ndarray, noisy: np.ndarray, variances: np.ndarray, steps: Callable[[tuple[int, ...]], Steps]
) -> np.ndarray:
    """The answer with the lowest frequencies of what steps make of the coarse picture.

    Parameters
    ----------
    answer, noisy : arrays of shape (grid…, height, width, channels)
    variances : array
        The variances of the noise: of the shape of ``noisy``, or one per channel where they are the same everywhere.
    steps : callable
        From the shape of the grid of a picture to the steps that answer it.
    """
    small = _coarse(noisy)
    coarse = variances if variances.ndim == 1 else np.maximum(_coarse(variances), variances.min())
    coarse = (coarse / QUARTER**2).astype(np.float32)
    *_, found = steps(small.shape[:-1])(small, lambda estimate: coarse).values()
    whole = _frequencies(answer)
    height, width = (int(KEPT * n) for n in small.shape[-3:-1])
    whole[..., :height, :width, :] = QUARTER * _frequencies(found)[..., :height, :width, :]
    return _picture(whole)


def _coarse(image: np.ndarray) -> np.ndarray:
    """A quarter of the points along both sides, with the mean of the picture."""
    height, width = (-(-n // QUARTER) for n in image.shape[-3:-1])
    return _picture(_frequencies(image)[..., :height, :width, :] / QUARTER)


def _frequencies(image: np.ndarray) -> np.ndarray:
    return dctn(image.astype(np.float32, copy=False), axes=(-3, -2), norm="ortho")


def _picture(frequencies: np.ndarray) -> np.ndarray:
    return idctn(frequencies, axes=(-3, -2), norm="ortho")
