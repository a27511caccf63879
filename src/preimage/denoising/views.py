"""Views: how a stage reads images, and how its predictions become images.

Images are arrays of shape (rows, grid…, channels), with a grid of one axis (signals) or two. A stage reads several
*maps* of the same images: the noisy images, and estimates by earlier stages. A view turns them into rows of values, one
per *place*: a whole image (:class:`Whole`), or the surroundings of each of its points (:class:`Windows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from preimage.decomposition import Decomposition, fit
from preimage.exceptions import FewerComponentsWarning, silenced
from preimage.kernels import Radial
from preimage.kernels.scales import resolve

Images = np.ndarray
Reader = Callable[[np.ndarray], np.ndarray]

POINTS, CODES = 1000, 128  # training rows and components of the kernel PCA of whole images
PATCH_WIDTH = 1.0  # width of the Gaussian weights that average overlapping patches, in points of an image


class View(Protocol):
    """The geometry of a stage."""

    def places(self, shape: tuple[int, ...]) -> int:
        """The number of places in images of this shape."""

    def reader(self, maps: list[Images]) -> Reader:
        """A function from the indices of places to the values that the stage reads there, one row per place."""

    def targets(self, images: Images) -> Reader:
        """A function from the indices of places to the values of these images that a stage predicts there."""

    def assemble(self, predictions: np.ndarray, shape: tuple[int, ...]) -> Images:
        """Images from the predictions at all places."""


class _PerImage:
    """One place per image, whose prediction is the image."""

    def places(self, shape):
        return shape[0]

    def targets(self, images):
        return lambda places: _flat(images)[places]

    def assemble(self, predictions, shape):
        return predictions.reshape(shape)


@dataclass(frozen=True)
class Whole(_PerImage):
    """One place per image: all points of the maps with a weight.

    Parameters
    ----------
    weights : tuple of floats
        One per map; a map of weight 0 is left out.
    with_values : bool
        Whether the stage reads the values in addition to their codes.
    """

    weights: tuple[float, ...]
    with_values: bool = False

    def reader(self, maps):
        seen = [weight * _flat(images) for images, weight in zip(maps, self.weights, strict=True) if weight]
        rows = seen[0] if len(seen) == 1 else np.concatenate(seen, axis=1)
        return lambda places: rows[places]


@dataclass(frozen=True, eq=False)
class Coded(_PerImage):
    """Whole images, read as their kernel PCA codes β(x).

    The codes combine many points, and leave out directions that contain little but noise.
    """

    whole: Whole
    model: Decomposition

    @classmethod
    def fit(cls, whole: Whole, maps: list[Images], kernel: Radial, rng: np.random.Generator) -> Coded:
        """The view with a kernel PCA of some of the images."""
        rows = whole.reader(maps)(rng.permutation(len(maps[0]))[:POINTS])
        ruled: Any = replace(kernel, length_scale="mika") if kernel.length_scale is None else kernel  # type: ignore[attr-defined, type-var]
        with silenced(FewerComponentsWarning):  # few rows have fewer
            return cls(whole, fit(resolve(ruled, rows), rows, min(CODES, len(rows) - 1), rng=rng))

    def reader(self, maps):
        rows = self.whole.reader(maps)(slice(None))
        codes = self.model.codes(rows)
        seen = np.concatenate([codes, rows], axis=1) if self.whole.with_values else codes
        return lambda places: seen[places]


@dataclass(frozen=True)
class Lens:
    """The weights of a window: weight · exp(−r²/2 width²) at distance r from its centre, up to the radius.

    Widths are in points of an image. Along a signal the weights have the same sum as in the plane,
    √(2π) width′ = 2π width², so that a window holds as many points.
    """

    weight: float
    width: float

    def along(self, n_axes: int) -> tuple[float, int]:
        """The width and the radius on a grid of one or two axes."""
        width = self.width if n_axes > 1 else np.sqrt(2 * np.pi) * self.width**2
        return width, int(np.ceil(2 * width))


@dataclass(frozen=True)
class Windows:
    """One place per point: the windows of all maps around it, and its coordinates.

    A stage predicts the patch around the point; each point is then the mean of the patches that contain it, with
    Gaussian weights.

    Parameters
    ----------
    lenses : tuple of Lens
        One per map.
    position : float
        Weight of the coordinates, which run from −1 to 1; 0 for images of any size.
    """

    lenses: tuple[Lens, ...]
    position: float = 0.0

    def places(self, shape):
        return int(np.prod(shape[:-1]))

    def reader(self, maps):
        shape = maps[0].shape
        seen = [_Window.of(images, *lens.along(len(shape) - 2)) for images, lens in zip(maps, self.lenses, strict=True)]
        weights = [lens.weight * window.weights for lens, window in zip(self.lenses, seen, strict=True)]
        where = self.position * _coordinates(shape[1:-1])

        def read(places):
            at = np.unravel_index(places, shape[:-1])
            parts = [window[at] * weight for window, weight in zip(seen, weights, strict=True)]
            if self.position:
                parts.append(where[at[1:]])
            return np.concatenate(parts, axis=1)

        return read

    def targets(self, images):
        window = _Window.of(images, *self._patch(images.ndim - 2))
        return lambda places: window[np.unravel_index(places, images.shape[:-1])]

    def assemble(self, predictions, shape):
        grid, n_channels = shape[1:-1], shape[-1]
        width, radius = self._patch(len(grid))
        sides = (2 * radius + 1,) * len(grid)
        weights, predictions = _gaussian(width, radius, len(grid)), predictions.reshape(*shape[:-1], n_channels, *sides)
        total = np.zeros((shape[0], *(side + 2 * radius for side in grid), n_channels), dtype=predictions.dtype)
        count = np.zeros((*total.shape[1:-1], 1), dtype=predictions.dtype)
        for offset in np.ndindex(*sides):
            here = tuple(slice(start, start + side) for start, side in zip(offset, grid, strict=True))
            total[(slice(None), *here)] += weights[offset] * predictions[(..., *offset)]
            count[here] += weights[offset]
        inside = tuple(slice(radius, radius + side) for side in grid)
        return total[(slice(None), *inside)] / count[inside]

    @staticmethod
    def _patch(n_axes: int) -> tuple[float, int]:
        return Lens(1.0, PATCH_WIDTH).along(n_axes)[0], 1 if n_axes > 1 else 2


@dataclass(frozen=True, eq=False)
class _Window:
    """The surroundings of every point, mirrored at the borders; ``window[at]`` gives those of some points."""

    around: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, images: Images, width: float, radius: int) -> _Window:
        axes = tuple(range(1, images.ndim - 1))
        margins = [(radius, radius) if axis in axes else (0, 0) for axis in range(images.ndim)]
        padded = np.pad(images, margins, mode="reflect")
        around = np.lib.stride_tricks.sliding_window_view(padded, (2 * radius + 1,) * len(axes), axis=axes)
        weights = np.tile(_gaussian(width, radius, len(axes)).ravel(), images.shape[-1])
        return cls(around, weights.astype(images.dtype))

    def __getitem__(self, at) -> np.ndarray:
        return self.around[at].reshape(len(at[0]), -1)


def _gaussian(width: float, radius: int, n_axes: int) -> np.ndarray:
    one = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / width)).astype(np.float32)
    return one if n_axes == 1 else np.multiply.outer(one, one)


def _coordinates(grid: tuple[int, ...]) -> np.ndarray:
    axes = [np.linspace(-1, 1, side, dtype=np.float32) for side in grid]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def _flat(images: Images) -> np.ndarray:
    return images.reshape(len(images), -1)
