"""A Wiener filter of the row itself, corrected by a regression on its codes: the default of ``KernelPCA.denoise``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.gram.tiles import slices
from preimage.kernels import Gaussian
from preimage.kernels.base import positive
from preimage.kernels.scales import median, spread_rows
from preimage.preimages.base import InverseMap, PreimageMethod, Preimages, closed_form, dense_rows
from preimage.preimages.bounds import Box, principal_axes
from preimage.preimages.learned import Learned, LearnedMap, fit_regression

SAMPLE = 500  # training rows that the correction is learned from
PROBES = 200  # training rows that are moved to find the noise level
SCALES = (1.0, 2.0)  # of the correction's kernel, times the median distance of the codes
PAIRED = 50  # of these whose kernel values are computed together, though only pairs are wanted
SMALLEST, ACCURACY = 1e-6, 1e-6  # of the noise level: the least, as a share of the greatest, and the relative error
EXCESS_STEPS = 5  # of the iteration for a row's own noise
MOST = 3.0  # standard deviations of the noise that may be taken off an entry


@dataclass(frozen=True)
class Wiener(PreimageMethod):
    """x̂ = x̄ + Σⱼ gⱼ vⱼvⱼᵀ(y − x̄) + r(β(y)): a linear filter of the row y and a regression r on its codes β.

    A few components of a Gaussian kernel cannot express the directions in which a table varies least, so a pre-image
    from the codes alone can be worse than the row. The linear part keeps them: vⱼ are the principal axes of
    the training rows, λⱼ the variances along them, and gⱼ = λⱼ/(λⱼ + σ²). The regression learns from training rows
    with noise of that level what the linear part misses, with ridge and scale by leave-one-out, and is left out where
    it does not lower the leave-one-out error. No entry is changed by more than 3σ, which is more than Gaussian noise
    puts there: a rare large value is not noise. For gross errors there is ``denoise(..., outlier_scale="auto")``.

    Few components leave much over, and σ may then be more noise than there is. So where ``noise`` is None, each row y
    has its own σ(y)² = min(σ², a² + b(y)²). Here a² is the most noise that the training rows can have, since white
    noise adds its variance along every axis, and b(y)² is the variance by which y exceeds them (``RowFilter.excess``).
    The regression counts in proportion, σ(y)²/σ².

    Parameters
    ----------
    noise : float or None
        σ, the noise's standard deviation. None takes the noise that moves a row in feature space by as much as the q
        components leave over, E‖φ(x + σε) − φ(x)‖² = (tr K̃ − Σₖ λₖ)/n: what is not a component is noise. For the
        linear kernel this is probabilistic PCA's estimate (Tipping & Bishop 1999), relative to all d directions.
    n_copies, n_landmarks : int
        Noisy copies of each row that the correction is learned from, and the number of its landmarks.

    See Also
    --------
    Learned : Decodes codes alone.

    Notes
    -----
    It needs the rows. Codes alone (``inverse_transform``) are decoded by :class:`Learned`.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.preimages import Wiener
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 10))
    >>> noisy = clean[200:] + 0.3 * rng.standard_normal((100, 10))
    >>> kpca = KernelPCA(10, preimage=Wiener(noise=0.3), random_state=0).fit(clean[:200])
    >>> bool(np.mean((kpca.denoise(noisy) - clean[200:]) ** 2) < 0.4 * 0.3**2)
    True
    """

    needs = frozenset({"codes"})

    noise: float | None = None
    n_copies: int = 2
    n_landmarks: int = 200

    def __post_init__(self) -> None:
        if self.noise is not None:
            positive("noise", self.noise)
        if self.n_copies < 1 or self.n_landmarks < 1:
            raise ValueError("n_copies and n_landmarks must be at least 1.")

    def prepare(self, model: Decomposition, rng: Generator) -> _WienerMap:
        """Find the noise level, the linear part, and the correction."""
        rng = np.random.default_rng(0)  # the same probes for every model, so that a loaded one answers as it did
        inputs = dense_rows(model.inputs)
        sigma = implied_noise(model, rng) if self.noise is None else float(self.noise)
        linear = RowFilter.of(inputs)
        known = linear.most_noise(len(inputs)) if self.noise is None else np.inf
        rows = np.repeat(spread_rows(inputs, SAMPLE), self.n_copies, axis=0)
        noisy = rows + sigma * rng.standard_normal(rows.shape).astype(rows.dtype)
        missed, codes = rows - linear(noisy, sigma**2), model.codes(noisy)
        unit = median(spread_rows(codes, SAMPLE)) or 1.0
        fits = [
            fit_regression(Gaussian(scale * unit), codes, missed, self.n_copies, "auto", self.n_landmarks)
            for scale in SCALES
        ]
        best = min(fits, key=lambda fitted: fitted.error)
        helps = best.error < float(np.mean(np.square(missed)))
        return _WienerMap(model, sigma, known, linear, best if helps else None, Box.around(inputs))


@dataclass(frozen=True, eq=False)
class RowFilter:
    """x̄ + Σⱼ gⱼ vⱼvⱼᵀ(y − x̄) over the principal axes, gⱼ = λⱼ/(λⱼ + σ²); rows may be arrays or symbols to export."""

    mean: Array
    axes: Array
    variances: Array

    @classmethod
    def of(cls, inputs: Array) -> RowFilter:
        """The filter for rows like the inputs."""
        mean, variances, axes = principal_axes(inputs)
        kept = variances > 0
        return cls(mean, axes[:, kept], variances[kept])

    def __call__(self, rows: Any, noise2: Any) -> Any:
        """The filtered rows, for white noise of variance σ²: a number, or one per row as a column."""
        gains = self.variances / (self.variances + noise2)
        return self.mean + ((rows - self.mean) @ self.axes * gains) @ self.axes.T

    def most_noise(self, n: int) -> float:
        """The variance of white noise that n rows of these axes can have at most: λ_d/(1 − √(d/n))².

        The least of d variances of noise alone falls to σ²(1 − √(d/n))² in n rows (Marchenko & Pastur 1967). With no
        more rows than columns there is no bound.
        """
        d = len(self.mean)
        if n <= d:
            return np.inf
        return float(self.variances[-1] / (1 - np.sqrt(d / n)) ** 2) if len(self.variances) == d else 0.0

    def excess(self, rows: Any, most: float) -> Any:
        """b² of every row, as a column: Σⱼ wⱼ(vⱼᵀ(y − x̄))² = Σⱼ wⱼ(λⱼ + b²), with wⱼ = (λⱼ + b²)⁻².

        The weights are inversely proportional to the variances of the terms; the iteration starts at b² = ``most``.
        """
        surplus = np.square((rows - self.mean) @ self.axes) - self.variances
        found: Any = most
        for _ in range(EXCESS_STEPS):
            weights = (found / (self.variances + found)) ** 2
            mean = (weights * surplus).sum(axis=-1) / weights.sum(axis=-1)
            found = np.maximum(mean, SMALLEST**2 * most)[:, None]
        return found


@dataclass(frozen=True, eq=False)
class _WienerMap:
    model: Decomposition
    sigma: float
    known: float  # variance of the noise that the training rows may have
    linear: RowFilter
    correction: LearnedMap | None
    box: Box

    def __call__(self, targets: Any, starts: Array | None = None) -> Preimages:
        if starts is None:
            return self._decoder(targets)
        correction = 0.0 if self.correction is None else self.correction.values(targets.codes)
        return closed_form(targets, self.answers(starts, correction).astype(starts.dtype, copy=False))

    def answers(self, rows: Any, correction: Any) -> Any:
        """The filtered and corrected rows: arrays, or symbols to export."""
        noise2: Any = self.sigma**2
        if self.known < noise2:
            noise2 = np.minimum(self.known + self.linear.excess(rows, noise2), noise2)
        points = self.linear(rows, noise2) + noise2 / self.sigma**2 * correction
        most = MOST * np.sqrt(noise2)
        return self.box.hold(np.clip(points, rows - most, rows + most), rows)

    @cached_property
    def _decoder(self) -> InverseMap:
        return Learned().prepare(self.model, np.random.default_rng(0))


def implied_noise(model: Decomposition, rng: Generator) -> float:
    """σ with E‖φ(x + σε) − φ(x)‖² = (tr K̃ − Σₖ λₖ)/n, at most the root mean variance of a column."""
    rows = dense_rows(spread_rows(model.inputs, PROBES))
    diagonal, blocks = model.kernel.diagonal(rows), slices(len(rows), PAIRED)
    variance = float(model.kernel.diagonal(model.inputs).mean()) - model.mean_norm2
    left_over = max(1 - float(model.explained_variance_ratio.sum()), 0) * variance
    probe = rng.standard_normal(rows.shape).astype(rows.dtype)

    def displacement(sigma: float) -> float:
        moved = rows + np.asarray(sigma, dtype=rows.dtype) * probe
        paired = np.concatenate([np.diagonal(model.kernel(rows[some], moved[some])) for some in blocks])
        return float(np.mean(diagonal - 2 * paired + model.kernel.diagonal(moved)))

    def excess(log_sigma: float) -> float:
        return displacement(float(np.exp(log_sigma))) - left_over

    high = float(np.sqrt(np.var(dense_rows(model.inputs), axis=0).mean()))
    low = SMALLEST * high
    if not displacement(high) > left_over:
        return high
    if not displacement(low) < left_over:
        return low
    return float(np.exp(brentq(excess, np.log(low), np.log(high), xtol=ACCURACY)))
