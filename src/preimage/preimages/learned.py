"""Pre-images learned by regression, from codes to inputs (Bakır, Weston & Schölkopf 2004).

Kernel ridge regression with its own kernel on the codes, centred targets x − x̄, and scale and ridge chosen by
closed-form leave-one-out. Noisy points lie far from all training points, so their codes are shrunk, and a map learned
on clean codes has never seen such codes. The noise-aware form is therefore trained on codes of corrupted copies,
β(xᵢ + noise) → xᵢ. Its leave-one-out leaves out all copies of a row together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator, Rows
from preimage.decomposition import Decomposition
from preimage.gram import tiles
from preimage.gram.operators import inverse_root
from preimage.kernels import Kernel, as_kernel
from preimage.kernels.base import is_number
from preimage.kernels.scales import median, resolve, spread_rows
from preimage.noise.custom import as_noise
from preimage.preimages.base import PreimageMethod, Preimages, closed_form, dense_rows
from preimage.preimages.bounds import OPEN, Box

RIDGES = tuple(10.0**exponent for exponent in range(-7, 2))  # then refined by half a decade around the best
SCALES = (0.5, 1.0, 2.0)
SCOUTS = 500  # landmarks of the small regressions that choose the scale
SKETCH = 512  # up to so many columns of the targets errors are exact; beyond, they use so many random directions


@dataclass(frozen=True)
class Learned(PreimageMethod):
    """A kernel ridge regression from codes to inputs.

    Parameters
    ----------
    ridge : float or "auto"
        λ of (L + λI), relative to the diagonal of the kernel matrix L of the codes; "auto" chooses it by leave-one-out.
    noise : noise law or callable (X, rng) → Y, optional
        Train on codes of rows corrupted by this law (see :mod:`preimage.noise`), so that the map undoes the noise.
    n_copies : int
        The number of corrupted copies of each row.
    kernel : kernel object or name
        The kernel on the codes. If its length scale is not given, it is the best of 0.5, 1 and 2 times the median
        distance.
    n_landmarks : int
        The number of codes over which the regression expands; with fewer codes it is exact.

    See Also
    --------
    Conformal : A linear map from codes to inputs.
    Wiener : Uses the noisy row in addition to its code.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import half_circle, half_circle_distance
    >>> from preimage.noise import GaussianNoise
    >>> from preimage.preimages import Learned
    >>> train, new = half_circle(200, noise=0, random_state=0).X, half_circle(200, noise=0.1, random_state=1).X
    >>> kpca = KernelPCA(10, preimage=Learned(noise=GaussianNoise(0.1)), random_state=0).fit(train)
    >>> bool(half_circle_distance(kpca.denoise(new)).mean() < half_circle_distance(new).mean() / 2)
    True
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

    def prepare(self, model: Decomposition, rng: Generator) -> LearnedMap:
        """The regression, fitted on the training rows of a model."""
        inputs = dense_rows(model.inputs)
        codes, targets, copies = self._examples(model, inputs, rng)
        candidates = candidate_kernels(as_kernel(self.kernel), codes)
        if len(candidates) > 1:
            scouts = min(self.n_landmarks, SCOUTS)
            tried = (fit_regression(c, codes, targets, copies, self.ridge, scouts) for c in candidates)
            candidates = [min(tried, key=lambda fitted: fitted.error).kernel]
        fitted = fit_regression(candidates[0], codes, targets, copies, self.ridge, self.n_landmarks)
        return replace(fitted, box=Box.around(inputs))

    def _examples(self, model: Decomposition, inputs: Array, rng: Generator) -> tuple[Array, Array, int]:
        """Codes, their targets, and how many consecutive rows are copies of one row."""
        if self.noise is None:
            return model.input_codes, inputs, 1
        law = as_noise(self.noise)
        noisy = np.stack([law(inputs, rng) for _ in range(self.n_copies)], axis=1)
        codes = model.codes(noisy.reshape(-1, inputs.shape[1]))
        return codes, np.repeat(inputs, self.n_copies, axis=0), self.n_copies


@dataclass(frozen=True, eq=False)
class LearnedMap:
    """x̂(b) = x̄ + l(b, B)W, with its leave-one-out error."""

    kernel: Kernel
    landmarks: Array
    weights: Array
    mean: Array
    ridge: float
    error: float  # leave-one-out mean squared error of an entry
    box: Box = OPEN  # bounds of the results
    left_out: Array = field(default_factory=lambda: np.empty((0, 0)))  # leave-one-out residuals, one per row

    def __call__(self, targets: Any, starts: Array | None = None) -> Preimages:
        points = self.values(targets.codes)
        return closed_form(targets, self.box.hold(points, starts))

    def values(self, codes: Array) -> Array:
        """The prediction for every code."""
        values: Array = self.mean + tiles.multiply(self.kernel, codes.astype(float), self.landmarks, self.weights)
        return values.astype(codes.dtype, copy=False)


def candidate_kernels(kernel: Kernel, codes: Array, factors: tuple[float, ...] = SCALES) -> list[Kernel]:
    """The kernel itself if its length scale is given; else the median rule's length scale times each factor."""
    if not hasattr(kernel, "length_scale") or isinstance(kernel.length_scale, str) or is_number(kernel.length_scale):
        return [resolve(kernel, codes)]
    scale = median(codes) or 1.0
    return [replace(kernel, length_scale=factor * scale) for factor in factors]  # type: ignore[type-var]


def fit_regression(
    kernel: Kernel, codes: Array, targets: Rows, copies: int, ridge: float | str, n_landmarks: int
) -> LearnedMap:
    """Ridge regression on the kernel features F = L_NZ T of the codes, T Tᵀ = L_ZZ⁺.

    With the eigenpairs of FᵀF, every ridge costs one product. The residual of a left-out group G is (I − H_GG)⁻¹ e_G,
    with the hat matrix H = F(FᵀF + λI)⁻¹Fᵀ and the in-sample residual e. Everything is in double precision, because in
    single precision a ridge below n·eps, often the best one, is lost in the round-off of L.
    """
    codes, mean = codes.astype(float), np.asarray(targets.mean(axis=0, dtype=float)).ravel()
    landmarks = spread_rows(codes, n_landmarks)
    root = inverse_root(tiles.gram(kernel, landmarks))
    features = tiles.cross(kernel, codes, landmarks) @ root
    values, axes = scipy.linalg.eigh(features.T @ features, overwrite_a=True, check_finite=False)
    values = np.maximum(values, 0)
    rotated = features @ axes
    shown = sketch(targets, mean)
    unit = float(kernel.diagonal(landmarks).mean()) or 1.0

    def left_out(ridge: float) -> Array:
        return _left_out(rotated, values + ridge * unit, rotated.T @ shown, shown, copies)

    best = _best_ridge(lambda ridge: float(np.mean(np.square(left_out(ridge))))) if isinstance(ridge, str) else ridge
    moments = _centred_moments(rotated, targets, mean)
    weights = root @ (axes @ (moments / (values + best * unit)[:, None]))
    missed = left_out(best)
    error = float(np.mean(np.square(missed)))
    return LearnedMap(kernel, landmarks, np.ascontiguousarray(weights), mean, best, error, left_out=missed)


def sketch(targets: Rows, mean: Array) -> Array:
    """The targets minus their mean, projected to ``SKETCH`` random directions if they have more columns than that.

    The directions have entries ±1/√d, so the mean squared entry keeps its expectation.
    """
    d = targets.shape[1]
    if d <= SKETCH:
        return dense_rows(targets) - mean
    signs = np.random.default_rng(0).choice(np.array([-1, 1], dtype=mean.dtype), size=(d, SKETCH))
    sketched: Array = np.asarray(targets @ signs - mean @ signs) / np.sqrt(d, dtype=mean.dtype)
    return sketched


def _centred_moments(features: Array, targets: Rows, mean: Array) -> Array:
    """Fᵀ(X − 1x̄ᵀ); sparse targets stay sparse."""
    moments: Array
    if isinstance(targets, np.ndarray):
        moments = features.T @ (targets - mean)
    else:
        moments = (targets.T @ features).T - np.outer(features.sum(axis=0), mean)
    return moments


def _best_ridge(error: Callable[[float], float]) -> float:
    """The ridge of least error, searched by decades, then half a decade to either side."""
    errors = {ridge: error(ridge) for ridge in RIDGES}
    centre = min(errors, key=errors.__getitem__)
    errors |= {ridge: error(ridge) for ridge in (centre * 10**-0.5, centre * 10**0.5)}
    return min(errors, key=errors.__getitem__)


def _left_out(rotated: Array, damped: Array, moments: Array, targets: Array, copies: int) -> Array:
    """The residual of every row when it is predicted without itself and its copies."""
    misfit = targets - rotated @ (moments / damped[:, None])
    groups = (rotated / np.sqrt(damped)).reshape(-1, copies, rotated.shape[1])
    leverage = np.eye(copies, dtype=groups.dtype) - groups @ groups.transpose(0, 2, 1)
    leverage += np.eye(copies, dtype=groups.dtype) * 1e-10
    missed: Array = np.linalg.inv(leverage) @ misfit.reshape(-1, copies, targets.shape[1])
    return missed.reshape(targets.shape)
