"""Kernel PCA whose axes and mean are expansions over points, and the projections onto its subspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from preimage._typing import Array, Rows
from preimage.decomposition.base import Decomposition
from preimage.expansion import Expansion, Weighted, Which, as_batch
from preimage.gram import tiles
from preimage.gram.prepared import kept
from preimage.kernels import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class Expanded(Decomposition):
    """A kernel PCA whose axes and mean are expansions over points: all training points, landmarks, or a reduced set.

    Parameters
    ----------
    alphas
        Weights of the axes, Vₖ = Σᵢ αᵢₖ φ(xᵢ), shape (points, q).
    mean_weights
        Weights of the mean, φ̄ = Σᵢ μᵢ φ(xᵢ): 1/n each, or 0 where nothing is centred.
    """

    alphas: Array
    mean_weights: Array

    @property
    def is_centred(self) -> bool:
        return bool(np.any(self.mean_weights))

    @property
    def dtype(self) -> np.dtype:
        return self.alphas.dtype

    @property
    def axes(self) -> Expansion:
        return Expansion(self.kernel, self.points, self.alphas.T)

    @property
    def mean(self) -> Expansion:
        return Expansion(self.kernel, self.points, self.mean_weights[None, :])

    @property
    def axis_values(self) -> Array:
        """⟨Vₖ, φ(xᵢ)⟩ at the points themselves, shape (points, q)."""
        return self._point_values[0]

    @property
    def mean_values(self) -> Array:
        """⟨φ̄, φ(xᵢ)⟩ at the points themselves, shape (points,)."""
        return self._point_values[1]

    @property
    def _point_values(self) -> tuple[Array, Array]:
        def values() -> tuple[Array, Array]:
            products = tiles.multiply_symmetric(self.kernel, self.points, self._axes_and_mean)
            return products[:, :-1], products[:, -1]

        return self.remembered("point_values", values)

    @property
    def _axes_and_mean(self) -> Array:
        return np.column_stack([self.alphas, self.mean_weights])

    def codes(self, X: Rows) -> Array:
        """βₖ(x) = ⟨Vₖ, φ(x) − φ̄⟩ = αₖᵀkₓ − ⟨Vₖ, φ̄⟩."""
        codes = self._multiply(X, self.alphas)
        codes -= self.offsets
        return codes

    def products(self, X: Rows) -> tuple[Array, Array]:
        products = self._multiply(X, self._axes_and_mean)
        return products[:, :-1], products[:, -1]

    def _multiply(self, X: Rows, weights: Array) -> Array:
        return tiles.multiply(self.kernel, X, self.points, weights, kept(self, self.kernel, self.points, X))

    def expand(self, codes: Array) -> Projection:
        return Projection(self, codes)

    def truncate(self, q: int) -> Self:
        return self._leading(q, alphas=self.alphas[:, :q].copy())


@dataclass(frozen=True, eq=False, repr=False)
class Projection(Weighted):
    """Vectors φ̄ + Σₖ βₖVₖ of a kernel PCA's subspace: an expansion that also has codes.

    Its weights over the training points are γ̃ᵢ = Σₖ βₖαᵢₖ + 1/n (Kwok & Tsang 2003, eq. 6), and they sum to 1. Inner
    products and norms are computed from the codes.

    Parameters
    ----------
    model : Expanded
    codes : array of shape (m, q)
    """

    model: Expanded
    codes: Array

    provides = frozenset({"weights", "codes", "gradient"})

    @property
    def kernel(self) -> Kernel:
        return self.model.kernel

    @property
    def points(self) -> Any:
        return self.model.points

    @property
    def weights(self) -> Array:
        """γ̃, shape (m, points)."""
        return self._once("weights", lambda: self.codes @ self.model.alphas.T + self.model.mean_weights)

    def __len__(self) -> int:
        return self.codes.shape[0]

    def __getitem__(self, which: Which) -> Projection:
        which = as_batch(which)
        return self._part(which, Projection(self.model, self.codes[which]))

    def inner(self, X: Rows) -> Array:
        """⟨Pφ, φ(x)⟩ through the axes: q products per point instead of m."""
        axes, means = self.model.products(X)
        return self.codes @ axes.T + means

    def inner_paired(self, X: Rows) -> Array:
        """⟨Pφⱼ, φ(xⱼ)⟩ through the axes."""
        axes, means = self.model.products(X)
        return np.einsum("jk,jk->j", self.codes, axes) + means

    def _inner_points(self) -> Array:
        """(Kγ̃)ᵢ without a kernel value."""
        return self.codes @ self.model.axis_values.T + self.model.mean_values

    def _norm2(self) -> Array:
        """‖φ̄ + Σₖ βₖVₖ‖² = ‖β‖² + ‖φ̄‖² + 2 Σₖ βₖ⟨Vₖ, φ̄⟩."""
        model = self.model
        return np.maximum(np.square(self.codes).sum(axis=1) + model.mean_norm2 + 2 * self.codes @ model.offsets, 0)
