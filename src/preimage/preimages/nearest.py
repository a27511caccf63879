"""The training point nearest to the target: a pre-image that always exists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array, Generator
from preimage.expansion import FeatureVectors
from preimage.kernels import Kernel
from preimage.preimages.base import PreimageMethod, Preimages, Source, dense_rows, map_targets, nearest


@dataclass(frozen=True)
class Nearest(PreimageMethod):
    """The point xᵢ of the expansion with the least ‖φ(xᵢ) − Ψ‖².

    With a precomputed kernel it returns the indices of the training points, for objects that are not vectors.

    See Also
    --------
    ConvexCombination : A weighted mean of several near points.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import Nearest
    >>> vector = Expansion(Gaussian(1.0), np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.4, 0.6]]))
    >>> find_preimage(vector, Nearest()).points
    array([[2., 0.]])
    """

    def check(self, kernel: Kernel) -> None:
        """Accept any kernel, precomputed ones included."""

    def prepare(self, model: Source, rng: Generator) -> _NearestMap:
        """The inverse map, which needs no preparation."""
        return _NearestMap()


@dataclass(frozen=True)
class _NearestMap:
    def __call__(self, targets: FeatureVectors, starts: Array | None = None) -> Preimages:
        row_bytes = 4 * targets.points.shape[0] * 8
        (chosen,) = map_targets(lambda part, rows: (nearest(part, 1)[:, 0],), targets, row_bytes)
        points = dense_rows(targets.points[chosen])
        return Preimages(points, np.ones(len(points), dtype=bool), np.zeros(len(points), dtype=int), targets)
