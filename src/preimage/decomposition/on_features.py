"""Kernel PCA on explicit features: one streamed pass over the rows that keeps only m × m numbers.

Features F of the rows (n × r), their mean μ, and (F − 1μᵀ)ᵀ(F − 1μᵀ) = VΣ²Vᵀ give eigenvalues Σ², codes
βₖ(x) = vₖᵀ(f(x) − μ) and, for landmarks with f(x) = Tᵀk_Z(x), the axes Σᵢ (TV)ᵢₖ φ(zᵢ).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Self

import numpy as np

from preimage._typing import Array, Rows
from preimage.decomposition import spectral
from preimage.decomposition.base import OnFeatures
from preimage.decomposition.exact import count_components
from preimage.decomposition.expanded import Expanded
from preimage.decomposition.explicit import leading_pairs
from preimage.eigen.base import column_signs
from preimage.exceptions import PoorApproximationWarning, warn
from preimage.features import FourierMap, Moments, NystromMap
from preimage.gram import tiles
from preimage.gram.operators import refuse_overflow

SAMPLE = 2000  # rows kept for methods that learn from examples
ENOUGH = 1000  # of these rows used for diagnostics
POOR = 0.1  # squared residual of an axis, relative to its squared eigenvalue, above which we warn


@dataclass(frozen=True, eq=False, repr=False)
class Approximate(Expanded, OnFeatures):
    """Kernel PCA on landmarks: the axes are unit vectors of the landmarks' span.

    ``trace_error`` is Σ (k(x, x) − ‖f(x)‖²) / Σ k(x, x) over all rows so far: the part outside the landmarks' span.
    """

    def without_moments(self) -> Self:
        """The same model without the moments and the feature map, which the axes do not need."""
        slim = replace(self, moments=None, features=None)
        slim.share_memory(self)
        return slim


@singledispatch
def decompose(
    features: Any, moments: Moments, sample: Rows, n_components: int | float | None, *, center: bool = True
) -> OnFeatures:
    """Kernel PCA from the moments of the features; ``sample`` holds some of the rows, for diagnostics."""
    raise TypeError(
        f"kernel PCA does not support features of the class {type(features).__name__}; use Nystrom or RandomFourier."
    )


decompose.register(FourierMap, spectral.from_moments)


@decompose.register(NystromMap)
def _on_landmarks(
    features: NystromMap, moments: Moments, sample: Rows, n_components: int | float | None, *, center: bool = True
) -> Approximate:
    mean, scatter = features.finish(moments.mean, moments.scatter)
    trace_error = max(0.0, 1 - (np.trace(scatter) + moments.n * mean @ mean) / moments.trace)
    if not center:
        scatter, mean = scatter + moments.n * np.outer(mean, mean), np.zeros_like(mean)
    spectrum, axes = leading_pairs(scatter, n_components)
    missed = _Missed(features, sample, moments.n)
    variance = moments.trace - moments.n * (mean @ mean + (missed.mean() if center else 0.0))
    dtype = tiles.value_dtype(features.landmarks, features.landmarks)
    q = count_components(spectrum.astype(dtype), 0, moments.n, moments.trace, variance, n_components)
    values, axes = spectrum[:q].copy(), axes[:, :q] * column_signs(features.root @ axes[:, :q])
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


class _Missed:
    """The part R = K − FFᵀ of the kernel matrix that the features miss, on a sample of rows."""

    def __init__(self, features: NystromMap, sample: Rows, n: int) -> None:
        sample = sample[:: -(-sample.shape[0] // ENOUGH)]
        self.F, self.n = features(sample), n
        self.R = tiles.gram(features.kernel, sample) - self.F @ self.F.T

    def mean(self) -> float:
        """The mean of R over all pairs of the n rows, where the diagonal weighs less than in the sample."""
        s, diagonal = len(self.R), self.R.diagonal()
        if s == 1:
            return max(float(diagonal[0]) / self.n, 0.0)
        others = (self.R.sum() - diagonal.sum()) / (s * (s - 1))
        return max(float(diagonal.mean() / self.n + (1 - 1 / self.n) * others), 0.0)

    def residuals2(self, axes: Array, mean: Array) -> Array:
        """‖CVₖ − (λₖ/n)Vₖ‖² with the covariance C: the part of CVₖ that leaves the span, Σᵢⱼ βᵢβⱼRᵢⱼ / n².

        Estimated without bias over pairs of different rows of the sample.
        """
        s = len(self.R)
        codes = (self.F - mean) @ axes
        pairs = np.einsum("ik,ij,jk->k", codes, self.R, codes, optimize=True)
        pairs -= np.einsum("ik,i->k", np.square(codes), self.R.diagonal())
        return np.maximum(pairs / max(s * (s - 1), 1), 0)


def _warn_if_poor(values: Array, residuals: Array, missed: _Missed, m: int) -> None:
    """Warn if an axis has a large residual, with a number of landmarks m that suffices if it² falls like m^(−2/3)."""
    ratio = np.square(residuals / values)
    refuse_overflow(float(ratio.sum()))
    worst = int(np.argmax(ratio))
    if ratio[worst] <= POOR:
        return
    enough = min(max(int(np.ceil(m * (ratio[worst] / POOR) ** 1.5)), m + 1), missed.n)
    warn(
        f"{m} landmarks are too few for component {worst + 1}: its residual is {np.sqrt(ratio[worst]):.0%} of its "
        f"eigenvalue. Use about {enough} landmarks, or fewer components.",
        PoorApproximationWarning,
    )
