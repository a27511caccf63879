"""Kernel PCA through explicit features: one streamed pass over the rows that keeps only m × m numbers.

Features F of the rows (n × r), their mean μ over all rows, and (F − 1μᵀ)ᵀ(F − 1μᵀ) = VΣ²Vᵀ give eigenvalues Σ², codes
βₖ(x) = vₖᵀ(f(x) − μ) and, over landmarks with f(x) = Tᵀk_Z(x), the axes Σᵢ (TV)ᵢₖ φ(zᵢ).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from preimage import progress
from preimage.decomposition import Decomposition, count_components
from preimage.decomposition.explicit import Components
from preimage.eigen import lapack
from preimage.exceptions import PoorApproximationWarning, warn
from preimage.expansion import Explicit
from preimage.features import FeatureMap, Moments, NystromMap
from preimage.features.fourier import FourierMap
from preimage.gram import threads, tiles

SAMPLE = 2000  # rows kept for methods that learn from examples
ENOUGH = 1000  # of them for diagnostics
POOR = 0.1  # squared residual of an axis, relative to its squared eigenvalue, from which we warn


@dataclass(frozen=True, eq=False)
class Approximate(Decomposition):
    """Kernel PCA on features: the axes are unit vectors of the landmarks' span.

    Attributes
    ----------
    features, moments
        The feature map, and the moments of all rows seen.
    trace_error
        Σ (k(x, x) − ‖f(x)‖²) / Σ k(x, x) over all rows seen: what no combination of the features can express.
    """

    features: Any
    moments: Moments | None
    trace_error: float

    def held_out_error(self, X) -> float:
        """The relative trace error on other rows; far above ``trace_error`` if landmarks fit their own rows only."""
        blocks = [X[rows] for rows in tiles.row_blocks(X.shape[0], 24 * self.points.shape[0])]
        expressed = sum(float(np.sum(np.square(self.features(block)))) for block in blocks)
        return max(0.0, 1 - expressed / float(np.sum(self.kernel.diagonal(X), dtype=float)))


@dataclass(frozen=True, eq=False)
class Spectral(Approximate):
    """Kernel PCA on random Fourier features, whose vectors are coordinates and no expansions.

    ``alphas`` and ``mean_weights`` are the axes and the mean in the coordinates of the features, ``points`` are rows of
    the training set, and ``trace_error`` is ‖K − FFᵀ‖ / ‖K‖ on them (Frobenius): random features miss no trace.
    """

    def _features(self, X):
        return (self.features(X[rows]) for rows in tiles.row_blocks(X.shape[0], 24 * self.features.width))

    def codes(self, X) -> np.ndarray:
        return np.concatenate([F @ self.alphas for F in self._features(X)]) - self.offsets

    def products(self, X) -> tuple[np.ndarray, np.ndarray]:
        products = np.concatenate([F @ np.column_stack([self.alphas, self.mean_weights]) for F in self._features(X)])
        return products[:, :-1], products[:, -1]

    def expand(self, codes: np.ndarray) -> Explicit:  # type: ignore[override]
        return self._explicit(codes @ self.alphas.T + self.mean_weights, codes)

    @property
    def axes(self) -> Explicit:  # type: ignore[override]
        return self._explicit(self.alphas.T)

    @property
    def mean(self) -> Explicit:  # type: ignore[override]
        return self._explicit(self.mean_weights[None, :])

    def _explicit(self, coordinates: np.ndarray, codes: np.ndarray | None = None) -> Explicit:
        return Explicit(self.kernel, self.points, self.features, coordinates, codes)


def accumulate(features, blocks: Iterable[Any], moments: Moments | None = None, total: int | None = None) -> Moments:
    """Moments of all rows in the blocks, added to those given."""
    for block in blocks:
        for rows in tiles.row_blocks(block.shape[0], 12 * 8 * features.width):
            new = _moments(features, block[rows])
            moments = new if moments is None else moments + new
            progress.report("rows", moments.n, total)
    if moments is None:
        raise ValueError("there are no rows to fit.")
    return moments


def _moments(features, X) -> Moments:
    """Moments of some rows, of a share of them on every core where the budget holds as many matrices."""
    n, parts = X.shape[0], threads.n_threads()
    if n < parts * tiles.TILE or 4 * parts * 8 * features.width**2 > threads.working_bytes():
        return Moments.of(features, X)
    shares = tiles.slices(n, -(-n // parts))
    return reduce(operator.add, threads.parallel_map(lambda rows: Moments.of(features, X[rows]), shares))


def decompose(features: FeatureMap, moments: Moments, sample, n_components, *, center: bool = True) -> Approximate:
    """Kernel PCA from the moments of the features; ``sample`` holds some of the rows, for what the moments lack."""
    build: Any = _spectral if isinstance(features, FourierMap) else _on_landmarks
    return build(features, moments, sample, n_components, center)


def decompose_wide(features: FourierMap, X, sample, n_components, *, center: bool = True) -> Spectral:
    """The same for more features than rows, by the Gram matrix of the rows; it keeps no moments to go on from."""
    F = features(X)
    found = Components.of(F if center else np.vstack([F, -F]), n_components)
    values = found.eigenvalues if center else found.eigenvalues / 2
    variance = found.total if center else found.total / 2
    return spectral_model(features, None, sample, values, found.axes, found.mean, variance)


def _spectral(features: FourierMap, moments: Moments, sample, n_components, center: bool) -> Spectral:
    mean, scatter = (moments.mean, moments.scatter) if center else (np.zeros_like(moments.mean), moments.second())
    spectrum, axes = _leading(scatter, n_components)
    variance = moments.trace - moments.n * float(mean @ mean)
    values = spectrum.astype(features.frequencies.dtype)
    q = count_components(values, 0, moments.n, moments.trace, variance, n_components)
    return spectral_model(features, moments, sample, spectrum[:q], axes[:, :q], mean, variance)


def spectral_model(features: FourierMap, moments, sample, values, axes, mean, variance: float) -> Spectral:
    """The model with these axes, given in the coordinates of the features."""
    dtype, F = features.frequencies.dtype, features(sample)
    gram = tiles.gram(features.kernel, sample)
    return Spectral(
        kernel=features.kernel,
        points=sample,
        eigenvalues=values.astype(dtype),
        alphas=np.ascontiguousarray(_fix_signs(axes, axes), dtype=dtype),
        mean_weights=mean.astype(dtype),
        offsets=(_fix_signs(axes, axes).T @ mean).astype(dtype),
        mean_norm2=float(mean @ mean),
        total_variance=variance,
        residuals=np.zeros(len(values)),
        inputs=sample,
        features=features,
        moments=moments,
        trace_error=float(np.linalg.norm(gram - F @ F.T) / np.linalg.norm(gram)),
    )


def _on_landmarks(features: NystromMap, moments: Moments, sample, n_components, center: bool) -> Approximate:
    mean, scatter = features.finish(moments.mean, moments.scatter)
    trace_error = max(0.0, 1 - (np.trace(scatter) + moments.n * mean @ mean) / moments.trace)
    if not center:
        scatter, mean = scatter + moments.n * np.outer(mean, mean), np.zeros_like(mean)
    spectrum, axes = _leading(scatter, n_components)
    missed = _Missed(features, sample, moments.n)
    variance = moments.trace - moments.n * (mean @ mean + (missed.mean() if center else 0.0))
    dtype = tiles.value_dtype(features.landmarks, features.landmarks)
    q = count_components(spectrum.astype(dtype), 0, moments.n, moments.trace, variance, n_components)
    values, axes = spectrum[:q].copy(), _fix_signs(features.root @ axes[:, :q], axes[:, :q])
    residuals = moments.n * np.sqrt(missed.residuals2(axes, mean))
    _warn_if_poor(values, residuals, missed, features.landmarks.shape[0])
    return Approximate(
        kernel=features.kernel,
        points=features.landmarks,
        eigenvalues=values.astype(dtype),
        alphas=np.ascontiguousarray(features.root @ axes, dtype=dtype),
        mean_weights=(features.root @ mean).astype(dtype),
        offsets=(axes.T @ mean).astype(dtype),
        mean_norm2=float(mean @ mean),
        total_variance=float(variance),
        residuals=residuals,
        inputs=sample,
        features=features,
        moments=moments,
        trace_error=float(trace_error),
    )


def _leading(scatter: np.ndarray, n_components) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs in descending order: as many as were asked for by number, or all of them."""
    few = isinstance(n_components, int) and n_components < len(scatter) // 4
    with threads.single_threaded_blas():
        spectrum, axes = lapack.leading(scatter, n_components) if few else lapack.divide_and_conquer(scatter)
    return spectrum[::-1], axes[:, ::-1]


class _Missed:
    """What the features miss of the kernel, R = K − FFᵀ, on a sample of rows."""

    def __init__(self, features: NystromMap, sample, n: int):
        sample = sample[:: -(-sample.shape[0] // ENOUGH)]
        self.F, self.n = features(sample), n
        self.R = tiles.gram(features.kernel, sample) - self.F @ self.F.T

    def mean(self) -> float:
        """The mean of R over all pairs of the n rows; equal rows of a pair are rarer among n than in the sample."""
        s, diagonal = len(self.R), self.R.diagonal()
        if s == 1:
            return max(float(diagonal[0]) / self.n, 0.0)
        others = (self.R.sum() - diagonal.sum()) / (s * (s - 1))
        return max(float(diagonal.mean() / self.n + (1 - 1 / self.n) * others), 0.0)

    def residuals2(self, axes: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """‖CVₖ − (λₖ/n)Vₖ‖² with the covariance C: the part of CVₖ that leaves the span, Σᵢⱼ βᵢβⱼRᵢⱼ / n².

        Estimated without bias over pairs of different rows of the sample.
        """
        s = len(self.R)
        codes = (self.F - mean) @ axes
        pairs = np.einsum("ik,ij,jk->k", codes, self.R, codes, optimize=True)
        pairs -= np.einsum("ik,i->k", np.square(codes), self.R.diagonal())
        return np.maximum(pairs / max(s * (s - 1), 1), 0)

    def rate(self) -> float:
        """The power a of the law by which the missed trace falls with the number m of landmarks, m⁻ᵃ.

        Taken from the features as they come, a landmark's or an eigenvalue's share after the other.
        """
        kept = np.cumsum(np.square(self.F).sum(axis=0))
        missed = np.maximum(kept[-1] + self.R.trace() - kept, 0) + 1e-12 * kept[-1]
        half = len(kept) // 2
        return max(float(np.log(missed[half] / missed[-1]) / np.log(2)) if half else 1.0, 0.1)


def _warn_if_poor(values: np.ndarray, residuals: np.ndarray, missed: _Missed, m: int) -> None:
    ratio = np.square(residuals / values)
    worst = int(np.argmax(ratio))
    if ratio[worst] <= POOR:
        return
    enough = int(np.ceil(m * (ratio[worst] / POOR) ** (0.5 / missed.rate())))
    few = min(max(enough, m + 1), missed.n)
    warn(
        f"{m} landmarks are too few for component {worst + 1}: its residual is {np.sqrt(ratio[worst]):.0%} of its "
        f"eigenvalue. About {few} landmarks would do, or fewer components.",
        PoorApproximationWarning,
    )


def _fix_signs(weights: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Axes turned so that the largest of their weights on the landmarks is positive."""
    largest = weights[np.abs(weights).argmax(axis=0), np.arange(weights.shape[1])]
    return axes * np.where(largest < 0, -1, 1)


def stack(X, Y):
    """The rows of both, dense or sparse."""
    return sp.vstack([X, Y], format="csr") if sp.issparse(X) or sp.issparse(Y) else np.concatenate([X, Y])
