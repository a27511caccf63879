"""A fitted kernel PCA: what exact and approximate models share.

Codes βₖ = ⟨Vₖ, φ(x) − φ̄⟩ along unit axes Vₖ give the projection Pφ(x) = φ̄ + Σₖ βₖVₖ.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from preimage._typing import Array, Rows
from preimage.caching import Remembering
from preimage.expansion import FeatureVectors
from preimage.features import Moments
from preimage.kernels import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Remembering):
    """A fitted kernel PCA: orthonormal axes Vₖ and a mean φ̄ of feature space.

    Parameters
    ----------
    kernel, points
        The kernel, and known points xᵢ of input space.
    eigenvalues
        λₖ of the centred Gram matrix, n times the variance along the axes.
    offsets
        ⟨Vₖ, φ̄⟩, shape (q,).
    mean_norm2, total_variance
        ‖φ̄‖², and n times the whole variance tr K̃.
    residuals
        ‖K̃uₖ − λₖuₖ‖ of the eigensolver.
    inputs
        Training rows for methods that learn from examples.
    """

    kernel: Kernel
    points: Any
    eigenvalues: Array
    offsets: Array
    mean_norm2: float
    total_variance: float
    residuals: Array
    inputs: Any

    @property
    def explained_variance_ratio(self) -> Array:
        """λₖ / tr K̃, exact for any number of components.

        Negative eigenvalues of an indefinite kernel lower the trace; where Σ λₖ is larger, it replaces the trace.
        """
        return self.eigenvalues / max(self.total_variance, float(self.eigenvalues.sum(dtype=float)))

    @property
    def n_components(self) -> int:
        """The number q of axes."""
        return len(self.eigenvalues)

    @property
    def is_complete(self) -> bool:
        """Whether the axes span all the variance."""
        return bool(self.eigenvalues.sum() >= (1 - 1e-9) * self.total_variance)

    @property
    @abstractmethod
    def is_centred(self) -> bool:
        """Whether the mean was subtracted."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """The type of the codes."""

    @property
    @abstractmethod
    def axes(self) -> FeatureVectors:
        """The unit axes Vₖ."""

    @property
    @abstractmethod
    def mean(self) -> FeatureVectors:
        """The mean φ̄ of the training points in feature space."""

    @abstractmethod
    def products(self, X: Rows) -> tuple[Array, Array]:
        """⟨Vₖ, φ(x)⟩, shape (rows, q), and ⟨φ̄, φ(x)⟩, from one pass over the rows."""

    @abstractmethod
    def codes(self, X: Rows) -> Array:
        """βₖ(x) = ⟨Vₖ, φ(x) − φ̄⟩, shape (rows, q)."""

    @abstractmethod
    def expand(self, codes: Array) -> FeatureVectors:
        """The vectors φ̄ + Σₖ βₖVₖ for rows of codes."""

    @abstractmethod
    def truncate(self, q: int) -> Self:
        """The same model with its q leading axes."""

    @property
    def input_codes(self) -> Array:
        """Codes of the training rows ``inputs``."""
        return self.remembered("input_codes", lambda: self.codes(self.inputs))

    def residual(self, X: Rows, diagonal: Array | None = None) -> Array:
        """‖φ(x) − Pφ(x)‖² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − ‖β‖², clipped at 0."""
        axes, means = self.products(X)
        diagonal = self.kernel.diagonal(X) if diagonal is None else diagonal
        return np.maximum(diagonal - 2 * means + self.mean_norm2 - np.square(axes - self.offsets).sum(axis=1), 0)

    def without_moments(self) -> Self:
        """The same model without the moments, which only a further fit needs."""
        return self

    def _leading(self, q: int, **axes: Any) -> Self:
        changed: dict[str, Any] = {name: getattr(self, name)[:q] for name in ("eigenvalues", "offsets", "residuals")}
        return replace(self, **changed, **axes)


@dataclass(frozen=True, eq=False, repr=False)
class OnFeatures(Decomposition):
    """Kernel PCA on explicit features f(x) with f(x)ᵀf(y) ≈ k(x, y).

    Parameters
    ----------
    features, moments
        The feature map, and the moments of all rows seen, or None if no rows can be added.
    trace_error
        The relative part of the kernel that the features miss.
    """

    features: Any
    moments: Moments | None
    trace_error: float

    def without_moments(self) -> Self:
        slim = replace(self, moments=None)
        slim.share_memory(self)
        return slim
