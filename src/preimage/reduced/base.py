"""A reduced set, and the orthonormal basis that both methods build point by point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from preimage import progress
from preimage.expansion import Expansion
from preimage.gram import tiles
from preimage.kernels import Kernel

FLOOR = 1e-10  # squared distance to the span, relative to k(z, z), below which a point adds nothing
LOSS = 1e-4  # how negative, relative to k(x, x), round-off may make a squared distance


@dataclass(frozen=True, eq=False)
class ReducedSet:
    """Vectors over few points, and their error.

    Attributes
    ----------
    expansion : Expansion
        The vectors over the new points; fewer than ``n_points`` if these already span all.
    errors : array of shape (n_points,)
        √(Σₖ ‖Ψₖ − Ψ̂ₖ‖² / Σₖ ‖Ψₖ‖²) for the sizes 1, 2, …, n_points; never increasing. Only the largest size is
        polished, so the last error may be much lower.

    See Also
    --------
    reduced_set : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, reduced_set
    >>> from preimage.kernels import Gaussian
    >>> vector = Expansion(Gaussian(1.0), np.array([[0.0], [9.0]]), np.array([[2.0, 1.0]]))  # nearly orthogonal images
    >>> found = reduced_set(vector, 1, method="selection")
    >>> found.expansion.points, round(float(found.error), 4)  # √(1/5) is left
    (array([[0.]]), 0.4472)
    """

    expansion: Expansion
    errors: np.ndarray

    @property
    def error(self) -> float:
        """The relative error of the expansion."""
        return float(self.errors[-1])


class ReductionMethod(Protocol):
    """The interface of a method that finds reduced sets.

    See Also
    --------
    Greedy, Selected : Methods.

    Examples
    --------
    >>> from preimage.kernels import Precomputed
    >>> from preimage.reduced import Greedy
    >>> Greedy().check(Precomputed())
    Traceback (most recent call last):
        ...
    ValueError: Greedy needs the training inputs, which a precomputed kernel matrix does not contain: ...
    """

    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that lacks what this method needs."""

    def reduce(self, expansion: Expansion, n_points: int) -> ReducedSet:
        """The vectors over at most ``n_points`` points."""


class Image(NamedTuple):
    """The image φ(z) of a point, by its inner products."""

    values: np.ndarray  # k(z, xᵢ)
    inside: np.ndarray  # its coordinates ⟨eⱼ, φ(z)⟩ in the basis
    own: float  # k(z, z)


class Growth:
    """An orthonormal basis e₁, e₂, … of the span of chosen images φ(zⱼ), and the part of the vectors outside it.

    This is a partial Cholesky decomposition with pivots chosen for the vectors. With K_ZZ = LLᵀ the basis is
    e = L⁻¹φ(Z), the vectors have the coordinates cₖⱼ = ⟨Ψₖ, eⱼ⟩ in it, their least-squares weights are B = cL⁻¹, and
    the squared error falls by Σₖ cₖⱼ² with point j.
    """

    def __init__(self, expansion: Expansion, n_points: int) -> None:
        n, q = expansion.points.shape[0], len(expansion)
        self.kernel, self.X, self.W = expansion.kernel, expansion.points, expansion.weights.astype(float, copy=False)
        self.left = np.array(expansion.inner_points(), dtype=float)  # ⟨Ψₖ − Ψ̂ₖ, φ(xᵢ)⟩
        self.diagonal = np.asarray(self.kernel.diagonal(self.X), dtype=float)
        self.missing = self.diagonal.copy()  # squared distance of φ(xᵢ) to the span
        self.total = max(self._refuse_negative(float(np.sum(self.left * self.W))), np.finfo(float).tiny)
        self.basis = np.empty((n_points, n))  # ⟨eⱼ, φ(xᵢ)⟩
        self.L = np.zeros((n_points, n_points))
        self.c = np.empty((q, n_points))
        self.size = 0

    def gains(self) -> np.ndarray:
        """The decrease of the squared error by each point xᵢ: Σₖ ⟨Ψₖ − Ψ̂ₖ, φ(xᵢ)⟩² / its ``missing``."""
        new = self.missing > FLOOR * np.abs(self.diagonal)
        return np.divide(np.square(self.left).sum(axis=0), self.missing, out=np.zeros_like(self.missing), where=new)

    def image(self, i: int) -> Image:
        """The image of point i of the expansion."""
        values = tiles.cross(self.kernel, self.X[i : i + 1], self.X)[0].astype(float, copy=False)
        return Image(values, self.basis[: self.size, i], float(self.diagonal[i]))

    def image_of(self, z: np.ndarray, Z: np.ndarray) -> Image:
        """The image of any point z (one row), with Z the points chosen so far."""
        values = tiles.cross(self.kernel, z, self.X)[0].astype(float, copy=False)
        inside = np.zeros(0)
        if self.size:
            factor, products = self.L[: self.size, : self.size], self.kernel(z, Z)[0].astype(float, copy=False)
            inside = scipy.linalg.solve_triangular(factor, products, lower=True, check_finite=False)
        return Image(values, inside, float(self.kernel.diagonal(z)[0]))

    def direction(self, image: Image) -> tuple[float, np.ndarray]:
        """The distance of an image to the span, and ⟨Ψₖ, e⟩ with e the direction of its part outside the span."""
        beyond2 = image.own - image.inside @ image.inside
        if beyond2 <= FLOOR * image.own:
            return 0.0, np.zeros(len(self.W))
        beyond = float(np.sqrt(beyond2))
        return beyond, (self.W @ image.values - self.c[:, : self.size] @ image.inside) / beyond

    def add(self, image: Image) -> bool:
        """Add an image to the basis; return False if it lies in the span already."""
        j, (beyond, along) = self.size, self.direction(image)
        if not beyond:
            return False
        self.L[j, :j], self.L[j, j], self.c[:, j] = image.inside, beyond, along
        self.basis[j] = (image.values - image.inside @ self.basis[:j]) / beyond
        self.left -= np.outer(along, self.basis[j])
        self.missing -= np.square(self.basis[j])
        self._refuse_negative(float(self.missing.min()) + LOSS * float(self.diagonal.max()))
        np.maximum(self.missing, 0, out=self.missing)
        self.size += 1
        progress.report("reduced set", self.size, len(self.L))
        return True

    def _refuse_negative(self, norm2: float) -> float:
        if norm2 < 0:
            raise ValueError(
                f"{self.kernel!r} is indefinite here, so a reduced set has no distances to minimise: use a positive "
                "definite kernel."
            )
        return norm2

    def weights(self) -> np.ndarray:
        """B = cL⁻¹, the least-squares weights of the vectors over the chosen points, shape (q, size)."""
        factor, c = self.L[: self.size, : self.size], self.c[:, : self.size]
        return scipy.linalg.solve_triangular(factor, c.T, trans="T", lower=True, check_finite=False).T.copy()

    def errors(self) -> np.ndarray:
        """Relative errors for all sizes; the last error is repeated for sizes beyond the chosen points."""
        falls = np.square(self.c[:, : self.size]).sum(axis=0) / self.total
        left = np.sqrt(np.maximum(1 - np.cumsum(falls), 0))
        return np.append(left, np.full(len(self.L) - self.size, left[-1] if self.size else 1.0))
