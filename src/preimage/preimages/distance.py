"""Pre-images from their distances to neighbours (Kwok & Tsang 2003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array, Generator
from preimage.expansion import FeatureVectors
from preimage.kernels import knows
from preimage.preimages.base import (
    PreimageMethod,
    Preimages,
    Source,
    closed_form,
    dense_rows,
    map_targets,
    nearest,
)
from preimage.preimages.bounds import OPEN, Box

FLAT = 1e-12  # eigenvalues of a neighbourhood below this fraction of the largest count as 0
BISECTIONS = 30  # steps to find the logarithm of a ridge, to a relative error of about 1e-6
ILL = 1e-9  # neighbourhoods with other eigenvalues below this fraction are solved by SVD


@dataclass(frozen=True)
class Distance(PreimageMethod):
    """Multidimensional scaling on the distances to a target's neighbours (Kwok & Tsang 2003, eq. 14–16).

    The kernel's inverse converts the inner products sᵢ = ⟨Ψ, φ(xᵢ)⟩ with the nearest points in feature space into
    distances in input space. Least squares gives the point with these distances, without iterations.

    Parameters
    ----------
    n_neighbors : int
        Neighbours to use. The paper uses 10; many more blur the result.
    reading : "inner" or "paper"
        How to get the distance to z from Ψ, which is itself not the image of any point. "inner" uses κ⁻¹(sᵢ). "paper"
        uses κ⁻¹ of sᵢ + ½(κ(0) − ‖Ψ‖²), which follows from equal distances in feature space. Projections are shorter
        than any φ(z), so "paper" adds the same amount to all kernel values, and makes all distances too short; "inner"
        is better on USPS digits, unless the noise is strong. For kernels of the inner product both are the same.

    See Also
    --------
    FixedPoint : Iterates to the nearest image.
    OneStep : Another method without iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import Distance
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 0.5]])
    >>> image = Expansion(Gaussian(2.0), X, np.array([[0.0, 0.0, 0.0, 0.0, 1.0]]))  # the image of the last row
    >>> find_preimage(image, Distance(n_neighbors=4)).points.round(3)
    array([[1. , 0.5]])
    """

    abilities = ("profile", "inverse")
    instead = "Gradient() takes kernels with a gradient, Learned() and Nearest() take any."

    n_neighbors: int = 10
    reading: str = "inner"

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, not {self.n_neighbors!r}.")
        if self.reading not in ("inner", "paper"):
            raise ValueError(f'reading must be "inner" or "paper", not {self.reading!r}.')

    def prepare(self, model: Source, rng: Generator) -> _DistanceMap:
        """The points as dense rows."""
        return _DistanceMap(self, dense_rows(model.points), Box.of(model))


@dataclass(frozen=True, eq=False)
class _DistanceMap:
    method: Distance
    points: Array
    box: Box = OPEN

    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
        row_bytes = 4 * len(self.points) * self.points.itemsize + 24 * self.method.n_neighbors * self.points.shape[1]

        def solve(part: FeatureVectors, rows: slice) -> tuple[Array, Array]:
            return self._solve(part, None if starts is None else starts[rows])

        points, sound = map_targets(solve, targets, row_bytes)
        return closed_form(targets, self.box.hold(points, starts), sound)

    def _solve(self, targets: FeatureVectors, starts: Array | None) -> tuple[Array, Array]:
        chosen = nearest(targets, self.method.n_neighbors)
        values = np.take_along_axis(targets.inner_points(), chosen, axis=1)
        neighbours = self.points[chosen]
        radial = targets.kernel.argument == "distance"
        read = self._radial if radial else self._dot
        sound = values.max(axis=1) > 0 if radial else np.ones(len(values), dtype=bool)  # where False, no point is near
        return locate(neighbours, read(targets, values, neighbours, starts)), sound

    def _radial(self, targets: FeatureVectors, values: Array, neighbours: Array, starts: Array | None) -> Array:
        """‖z − xᵢ‖² = κ⁻¹(σᵢ); σᵢ outside (0, κ(0)] is clipped."""
        kernel = targets.kernel
        assert knows(kernel, "inverse")
        top = float(kernel.diagonal(self.points[:1])[0])
        if self.method.reading == "paper":
            values = values + (top - targets.norm2()[:, None]) / 2
        distances2: Array = kernel.inverse(np.clip(values, 1e-12 * top, top))
        return distances2

    def _dot(self, targets: FeatureVectors, values: Array, neighbours: Array, starts: Array | None) -> Array:
        """‖z − xᵢ‖² = κ⁻¹(‖Ψ‖²) + ‖xᵢ‖² − 2κ⁻¹(sᵢ)."""
        kernel = targets.kernel
        assert knows(kernel, "inverse")
        inner = kernel.inverse(values)
        if starts is not None and knows(kernel, "other_root"):  # of two roots, the one on the side of the input
            inner = kernel.other_root(inner, np.einsum("ij,ikj->ik", starts, neighbours))
        own = np.maximum(kernel.inverse(targets.norm2()), 0)[:, None]
        distances2: Array = np.maximum(own + np.square(neighbours).sum(axis=2) - 2 * inner, 0)
        return distances2


def locate(neighbours: Array, distances2: Array) -> Array:
    """The points, one per row, with given squared distances to their neighbours, by least squares in their span.

    With centred neighbours N and their squared norms d₀²: N(z − x̄) = −½(d² − d₀²), up to constants. A direction in
    which the neighbours hardly differ would amplify every error of the distances. But the distances also determine how
    far the point is from the mean of the neighbours,

        ‖z − x̄‖² = mean(d²) − mean(d₀²),

    and the solution is the best one within that distance. This amounts to a ridge for each row, which is 0 if the
    least-squares solution is near enough. The result is exact if the distances are exact and z lies in the affine span.
    It is computed from the small Gram matrix NNᵀ, or by SVD if that is badly conditioned.

    Parameters
    ----------
    neighbours : array of shape (m, k, d)
    distances2 : array of shape (m, k)
    """
    middle = neighbours.mean(axis=1, keepdims=True, dtype=float)  # double precision distinguishes flat from small
    centred = neighbours - middle
    norms2 = np.square(centred).sum(axis=2)
    reach2 = np.maximum((distances2 - norms2).mean(axis=1), 0)
    right = (norms2 - distances2) / 2
    right -= right.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred @ centred.transpose(0, 2, 1))
    kept = values > FLAT * values[:, -1:]
    products = np.where(kept, np.einsum("mij,mi->mj", vectors, right), 0)
    inverse = _inverse_within(np.where(kept, values, 0), products, reach2)
    offset = np.einsum("mkd,mk->md", centred, np.einsum("mij,mj->mi", vectors, products * inverse))
    ill = np.flatnonzero((kept & (values < ILL * values[:, -1:])).any(axis=1))
    if ill.size:
        offset[ill] = _by_svd(centred[ill], right[ill], reach2[ill])
    points: Array = (middle[:, 0] + offset).astype(neighbours.dtype, copy=False)
    return points


def _by_svd(centred: Array, right: Array, reach2: Array) -> Array:
    left, values, axes = np.linalg.svd(centred, full_matrices=False)
    kept = values > np.sqrt(FLAT) * 1e-3 * values[:, :1]
    products = np.where(kept, np.einsum("mkr,mk->mr", left, right), 0)
    inverse = _inverse_within(np.where(kept, values**2, 0), products, reach2)
    offset: Array = np.einsum("mrd,mr->md", axes, products * inverse * values)
    return offset


def _inverse_within(values: Array, products: Array, reach2: Array) -> Array:
    """1/(μ + τ) with the least τ ≥ 0 for which Σ μ(p/(μ + τ))² ≤ reach²; 0 where μ is 0.

    The sum decreases in τ and is below reach² at τ = √(Σ μp²)/reach; bisection finds log τ.
    """
    usable = values > 0
    inverse: Array = np.divide(1, values, out=np.zeros_like(values), where=usable)
    bound2 = reach2 * (1 + 1e-6)  # lets exact distances pass in spite of round-off
    far = np.flatnonzero((values * np.square(products * inverse)).sum(axis=1) > bound2)
    if not far.size:
        return inverse
    tiny, eps = np.finfo(values.dtype).tiny, np.finfo(values.dtype).eps
    values, products, bound2 = values[far], products[far], np.maximum(bound2[far], tiny)
    high = np.log(np.maximum((values * products**2).sum(axis=1), tiny)) / 2 - np.log(bound2) / 2
    low = np.log(eps * values.max(axis=1))
    low = np.minimum(low, high)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        ridged = np.maximum(values + np.exp(middle)[:, None], tiny)
        inside = (values * np.square(products / ridged)).sum(axis=1) <= bound2
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    inverse[far] = np.where(values > 0, 1 / np.maximum(values + np.exp(high)[:, None], tiny), 0)
    return inverse
