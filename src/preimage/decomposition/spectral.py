"""Kernel PCA on random Fourier features, whose vectors are explicit coordinates, not expansions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from preimage._typing import Array, Rows
from preimage.decomposition.base import OnFeatures
from preimage.decomposition.exact import count_components
from preimage.decomposition.explicit import Components, leading_pairs
from preimage.eigen.base import column_signs
from preimage.expansion import Explicit
from preimage.features import FourierMap, Moments
from preimage.gram import slicing, tiles


@dataclass(frozen=True, eq=False, repr=False)
class Spectral(OnFeatures):
    """Axes and mean in the coordinates of random Fourier features.

    ``points`` are rows of the training set, and ``trace_error`` is ‖K − FFᵀ‖ / ‖K‖ on them in the Frobenius norm,
    because random features have the exact trace.

    Parameters
    ----------
    axis_coordinates
        The axes vₖ as columns, shape (features, q).
    mean_coordinates
        The mean μ of the features, or 0 where nothing is centred.
    """

    axis_coordinates: Array
    mean_coordinates: Array

    @property
    def is_centred(self) -> bool:
        return bool(np.any(self.mean_coordinates))

    @property
    def dtype(self) -> np.dtype:
        return self.axis_coordinates.dtype

    @property
    def axes(self) -> Explicit:
        return self._explicit(self.axis_coordinates.T)

    @property
    def mean(self) -> Explicit:
        return self._explicit(self.mean_coordinates[None, :])

    def codes(self, X: Rows) -> Array:
        """βₖ(x) = vₖᵀ(f(x) − μ)."""
        return np.concatenate([F @ self.axis_coordinates for F in self._features(X)]) - self.offsets

    def products(self, X: Rows) -> tuple[Array, Array]:
        both = np.column_stack([self.axis_coordinates, self.mean_coordinates])
        products = np.concatenate([F @ both for F in self._features(X)])
        return products[:, :-1], products[:, -1]

    def expand(self, codes: Array) -> Explicit:
        return self._explicit(codes @ self.axis_coordinates.T + self.mean_coordinates, codes)

    def truncate(self, q: int) -> Self:
        return self._leading(q, axis_coordinates=self.axis_coordinates[:, :q].copy())

    def _explicit(self, coordinates: Array, codes: Array | None = None) -> Explicit:
        return Explicit(self.kernel, self.points, self.features, coordinates, codes)

    def _features(self, X: Rows) -> Iterator[Array]:
        return (self.features(X[rows]) for rows in slicing.row_blocks(X.shape[0], 24 * self.features.width))


def from_rows(
    features: FourierMap, X: Rows, sample: Rows, n_components: int | float | None, *, center: bool = True
) -> Spectral:
    """The model of fewer rows than features, from the Gram matrix of the rows; it has no moments to add rows to."""
    F = features(X)
    found = Components.of(F if center else np.vstack([F, -F]), n_components)
    share = 1 if center else 2  # rows and their negatives have mean 0, and all variance counts twice
    values, variance = found.eigenvalues / share, found.total / share
    return _model(features, None, sample, values, found.axes, found.mean, variance)


def from_moments(
    features: FourierMap, moments: Moments, sample: Rows, n_components: int | float | None, *, center: bool = True
) -> Spectral:
    """The model of any number of rows, from the moments of their features."""
    mean, scatter = (moments.mean, moments.scatter) if center else (np.zeros_like(moments.mean), moments.second())
    spectrum, axes = leading_pairs(scatter, n_components)
    variance = moments.trace - moments.n * float(mean @ mean)
    values = spectrum.astype(features.frequencies.dtype)
    q = count_components(values, 0, moments.n, moments.trace, variance, n_components)
    return _model(features, moments, sample, spectrum[:q], axes[:, :q] * column_signs(axes[:, :q]), mean, variance)


def _model(
    features: FourierMap,
    moments: Moments | None,
    sample: Rows,
    values: Array,
    axes: Array,
    mean: Array,
    variance: float,
) -> Spectral:
    dtype, F = features.frequencies.dtype, features(sample)
    gram = tiles.gram(features.kernel, sample)
    return Spectral(
        kernel=features.kernel,
        points=sample,
        eigenvalues=values.astype(dtype),
        axis_coordinates=np.ascontiguousarray(axes, dtype=dtype),
        mean_coordinates=mean.astype(dtype),
        offsets=(axes.T @ mean).astype(dtype),
        mean_norm2=float(mean @ mean),
        total_variance=variance,
        residuals=np.zeros(len(values)),
        inputs=sample,
        features=features,
        moments=moments,
        trace_error=float(np.linalg.norm(gram - F @ F.T) / np.linalg.norm(gram)),
    )
