"""Codes of kernel PCA and distances to its subspace as programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.decomposition import Decomposition
from preimage.decomposition.expanded import Expanded
from preimage.decomposition.spectral import Spectral
from preimage.export.kernel_values import PointSet, diagonal, fourier_features
from preimage.export.program import Symbol


class Subspace:
    """A fitted decomposition whose formulas take symbols; ``eps`` is the precision in which programs will run."""

    def __init__(self, model: Decomposition, eps: float):
        self.model, self.eps = model, eps
        self.points = PointSet(model.points) if isinstance(model, Expanded) else None

    def codes(self, X: Symbol) -> Symbol:
        """βₖ(x) = ⟨Vₖ, φ(x)⟩ − ⟨Vₖ, φ̄⟩."""
        return self._features(X) @ self._axes - self.model.offsets

    def statistics(self, X: Symbol) -> tuple[Symbol, Symbol]:
        """The codes, and ‖φ(x) − Pφ(x)‖² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − ‖β‖², at least 0."""
        model, features = self.model, self._features(X)
        codes = features @ self._axes - model.offsets
        distance2 = diagonal(model.kernel, X) - 2.0 * (features @ self._mean) + model.mean_norm2
        return codes, np.maximum(distance2 - (codes * codes).sum(axis=1), 0.0)

    def _features(self, X: Symbol) -> Any:
        """Kernel values with the points, or random features."""
        if self.points is not None:
            return self.points.values(self.model.kernel, X)
        assert isinstance(self.model, Spectral)
        return fourier_features(self.model.features, X)

    @property
    def _axes(self) -> Any:
        return self.model.alphas if isinstance(self.model, Expanded) else self.model.axis_coordinates  # type: ignore

    @property
    def _mean(self) -> Any:
        return self.model.mean_weights if isinstance(self.model, Expanded) else self.model.mean_coordinates  # type: ignore
