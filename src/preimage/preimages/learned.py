"""Pre-images learned by regression, from codes to inputs (Bakır, Weston & Schölkopf 2004).

Kernel ridge regression with a kernel of its own on the codes, centred targets x − x̄, and scale and ridge chosen by
closed-form leave-one-out. Codes of noisy points are shrunk, because such points lie far from all training points; a map
learned on clean codes has seen no such codes. The noise-aware form is trained on codes of corrupted copies,
β(xᵢ + noise) → xᵢ, and leaves out all copies of a row together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.gram import tiles
from preimage.gram.operators import inverse_root
from preimage.kernels import Kernel, as_kernel
from preimage.kernels.base import is_number
from preimage.kernels.scales import median, resolve, spread_rows
from preimage.noise import as_noise
from preimage.preimages.base import PreimageMethod, Preimages, closed_form, dense_rows
from preimage.preimages.bounds import OPEN, Box

RIDGES = tuple(10.0**exponent for exponent in range(-7, 2))  # refined to half a decade around the best
SCALES = (0.5, 1.0, 2.0)
SCOUTS = 500  # landmarks of the small regressions that choose the scale


@dataclass(frozen=True)
class Learned(PreimageMethod):
    """A regression from codes to inputs.

    Parameters
    ----------
    ridge : float or "auto"
        λ of (L + λI), relative to the diagonal of the kernel matrix L of the codes; "auto" is chosen by leave-one-out.
    noise : noise law or callable (X, rng) → Y, optional
        Train on codes of rows corrupted by this law (see :mod:`preimage.noise`), so that the map undoes the noise.
    n_copies : int
        Corrupted copies of each row.
    kernel : kernel object or name
        The kernel on the codes. A Gaussian without a number takes the best of 0.5, 1 and 2 times the median distance.
    n_landmarks : int
        Rows of codes that carry the regression; with fewer codes than that it is exact.
    """

    needs = frozenset({"codes"})

    ridge: float | str = "auto"
    noise: Any = None
    n_copies: int = 4
    kernel: Any = "gaussian"
    n_landmarks: int = 1500

    def __post_init__(self) -> None:
        if self.ridge != "auto" and (isinstance(self.ridge, str | bool) or not 0 < self.ridge < np.inf):
            raise ValueError(f'ridge must be a positive number or "auto", not {self.ridge!r}.')
        if self.n_copies < 1 or self.n_landmarks < 1:
            raise ValueError("n_copies and n_landmarks must be at least 1.")

    def prepare(self, model: Decomposition, rng: Generator) -> _LearnedMap:
        """Fit the regression on the training points of a fitted model."""
        inputs = dense_rows(model.inputs)
        codes, targets, copies = self._examples(model, inputs, rng)
        candidates = _candidates(as_kernel(self.kernel), codes)
        if len(candidates) > 1:
            scouts = min(self.n_landmarks, SCOUTS)
            candidates = [
                min((_fit(c, codes, targets, copies, self.ridge, scouts) for c in candidates), key=_error).kernel
            ]
        fitted = _fit(candidates[0], codes, targets, copies, self.ridge, self.n_landmarks)
        return replace(fitted, box=Box.around(inputs))

    def _examples(self, model: Decomposition, inputs: Array, rng: Generator) -> tuple[Array, Array, int]:
        """Codes, their targets, and how many consecutive rows belong together."""
        if self.noise is None:
            return model.input_codes, inputs, 1
        law = as_noise(self.noise)
        noisy = np.stack([law(inputs, rng) for _ in range(self.n_copies)], axis=1)
        codes = model.codes(noisy.reshape(-1, inputs.shape[1]))
        return codes, np.repeat(inputs, self.n_copies, axis=0), self.n_copies


@dataclass(frozen=True, eq=False)
class _LearnedMap:
    """x̂(b) = x̄ + l(b, B)W, with its leave-one-out error."""

    kernel: Kernel
    landmarks: Array
    weights: Array
    mean: Array
    ridge: float
    error: float  # leave-one-out mean squared error of an entry
    box: Box = OPEN  # where answers can be

    def __call__(self, targets: Any, starts: Array | None = None) -> Preimages:
        points = self.values(targets.codes)
        return closed_form(targets, self.box.hold(points, starts))

    def values(self, codes: Array) -> Array:
        """What the regression makes of codes."""
        values: Array = self.mean + tiles.multiply(self.kernel, codes.astype(float), self.landmarks, self.weights)
        return values.astype(codes.dtype, copy=False)


def _error(fitted: _LearnedMap) -> float:
    return fitted.error


def _candidates(kernel: Kernel, codes: Array) -> list[Kernel]:
    """The kernel itself if its scale is a number; else the median rule's scale times each of ``SCALES``."""
    if not hasattr(kernel, "length_scale") or isinstance(kernel.length_scale, str) or is_number(kernel.length_scale):
        return [resolve(kernel, codes)]
    scale = median(codes) or 1.0
    return [replace(kernel, length_scale=factor * scale) for factor in SCALES]  # type: ignore[type-var]


def _fit(
    kernel: Kernel, codes: Array, targets: Array, copies: int, ridge: float | str, n_landmarks: int
) -> _LearnedMap:
    """Ridge regression on the kernel features F = L_NZ T of the codes, T Tᵀ = L_ZZ⁺.

    With F = QΣRᵀ known through the eigenpairs of FᵀF, every ridge costs one product. The residual of a group G left out
    is (I − H_GG)⁻¹ e_G, with the hat matrix H = F(FᵀF + λI)⁻¹Fᵀ and the in-sample residual e. All in double precision:
    in single precision a ridge below n·eps, often the best one, is lost in the round-off of L.
    """
    codes, mean = codes.astype(float), targets.mean(axis=0, dtype=float)
    landmarks = spread_rows(codes, n_landmarks)
    root = inverse_root(tiles.gram(kernel, landmarks))
    features = tiles.cross(kernel, codes, landmarks) @ root
    values, axes = scipy.linalg.eigh(features.T @ features, overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0)
    rotated = features @ axes
    moments = rotated.T @ (targets - mean)
    unit = float(kernel.diagonal(landmarks).mean()) or 1.0

    def error(ridge: float) -> float:
        return _left_out_error(rotated, values + ridge * unit, moments, targets - mean, copies)

    best, least = _best_ridge(error) if isinstance(ridge, str) else (ridge, error(ridge))
    weights = root @ (axes @ (moments / (values + best * unit)[:, None]))
    return _LearnedMap(kernel, landmarks, np.ascontiguousarray(weights), mean, best, least)


def _best_ridge(error: Callable[[float], float]) -> tuple[float, float]:
    """The ridge of least error: by decades, then half a decade to either side."""
    errors = {ridge: error(ridge) for ridge in RIDGES}
    centre = min(errors, key=errors.__getitem__)
    errors |= {ridge: error(ridge) for ridge in (centre * 10**-0.5, centre * 10**0.5)}
    best = min(errors, key=errors.__getitem__)
    return best, errors[best]


def _left_out_error(rotated: Array, damped: Array, moments: Array, targets: Array, copies: int) -> float:
    """Mean squared error of the entries when each row is predicted without itself and its copies."""
    misfit = targets - rotated @ (moments / damped[:, None])
    groups = (rotated / np.sqrt(damped)).reshape(-1, copies, rotated.shape[1])
    leverage = np.eye(copies, dtype=groups.dtype) - groups @ groups.transpose(0, 2, 1)
    leverage += np.eye(copies, dtype=groups.dtype) * 1e-10
    left_out = np.linalg.inv(leverage) @ misfit.reshape(-1, copies, targets.shape[1])
    return float(np.mean(np.square(left_out)))
