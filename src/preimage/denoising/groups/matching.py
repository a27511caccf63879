"""Groups of similar patches: how they are found, and how estimates of patches become an image.

An image is an array of one axis (signals), two, or three (volumes). A patch is identified by its first corner, and
corners are numbered in C order. Reference patches form a coarser grid of corners that includes the last ones. They are
processed in blocks, which need little memory besides the image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from preimage.gram import threads

MATCHED = {1: 64, 2: 8, 3: 4}  # references along a side of a block in the search for patches, by the number of axes
DENOISED = {1: 256, 2: 16, 3: 6}  # the same while groups are denoised

FRAMES = 5  # frames of a stack in which similar patches are searched

Rule = Callable[..., tuple[list[np.ndarray], np.ndarray]]


@dataclass(frozen=True)
class Search:
    """Settings of the search for similar patches.

    Parameters
    ----------
    side : int or tuple of ints
        Points along the sides of a patch.
    n_similar : int
        Patches in a group, including the reference.
    window : int or tuple of ints
        Corners along the sides of the search window around a reference.
    stride : int or tuple of ints
        Corners from one reference to the next.
    """

    side: int | tuple[int, ...]
    n_similar: int
    window: int | tuple[int, ...]
    stride: int | tuple[int, ...]

    def within(self, grid: tuple[int, ...]) -> Search:
        """The settings for an image of this shape: patches have at most half its sides, and one frame of a stack."""
        longest = tuple(max(1, length // 2) for length in grid)
        sides, strides, windows = (_each(value, grid) for value in (self.side, self.stride, self.window))
        if len(grid) == 3:
            sides, strides, windows = (1, *sides[1:]), (1, *strides[1:]), (FRAMES, *windows[1:])
        return Search(tuple(map(min, sides, longest)), self.n_similar, windows, tuple(map(min, strides, longest)))

    def sides(self, grid: tuple[int, ...]) -> tuple[int, ...]:
        """The sides of a patch, no longer than those of the image."""
        return tuple(map(min, _each(self.side, grid), grid))

    def strides(self, grid: tuple[int, ...]) -> tuple[int, ...]:
        """The strides along all axes."""
        return _each(self.stride, grid)

    def windows(self, corners: tuple[int, ...]) -> tuple[int, ...]:
        """The sides of a window, at most the number of corners."""
        return tuple(map(min, _each(self.window, corners), corners))


@dataclass(frozen=True, eq=False)
class PatchGroups:
    """The similar patches of every reference.

    Attributes
    ----------
    grid, sides : tuples of ints
        The shape of the image and of a patch.
    shape : tuple of ints
        How many references there are along each axis.
    members : array of shape (references, n_similar)
        The corners of the patches of a group.
    """

    grid: tuple[int, ...]
    sides: tuple[int, ...]
    shape: tuple[int, ...]
    members: np.ndarray

    @property
    def n(self) -> int:
        """Points of a patch."""
        return int(np.prod(self.sides))

    @cached_property
    def corners(self) -> tuple[int, ...]:
        """How many corners there are along each axis."""
        return tuple(length - side + 1 for length, side in zip(self.grid, self.sides, strict=True))

    def apply(self, rule: Rule, maps: list[np.ndarray], *flat: np.ndarray) -> list[np.ndarray]:
        """Images from a rule applied to all groups; each point is the weighted mean of the patches that contain it.

        Parameters
        ----------
        rule : callable
            Takes the patches of each map as an array of shape (groups, n_similar, n), and the means over the same
            patches of each flat map, (groups, n_similar); returns estimates of the shape of the patches, and weights.
        maps, flat : arrays of shape ``grid``
            Maps given as patches, and maps given as means over patches.
        """
        found = threads.parallel_map(lambda block: self._part(block, rule, maps, flat), _blocks(self.shape, DENOISED))
        sums = [np.zeros(self.grid, dtype=np.float32) for _ in found[0][1]]
        for place, parts in found:
            for total, part in zip(sums, parts, strict=True):
                total[place] += part
        *estimates, weight = sums
        return [estimate / weight for estimate in estimates]

    def _part(self, block: tuple[slice, ...], rule: Rule, maps, flat):
        """The place of one block of references, and its sums of weighted estimates and, last, of weights."""
        members = self.members.reshape(*self.shape, -1)[block].reshape(-1, self.members.shape[1])
        at = np.unravel_index(members, self.corners)
        first = [int(axis.min()) for axis in at]
        local = tuple(int(axis.max()) - start + 1 for axis, start in zip(at, first, strict=True))
        place = _place(first, local, self.sides)
        numbers = np.ravel_multi_index([axis - start for axis, start in zip(at, first, strict=True)], local)
        seen = [_patches(image[place], self.sides)[numbers] for image in maps]
        means = [_patches(image[place], self.sides).mean(axis=1)[numbers] for image in flat]
        estimates, weights = rule(*seen, *means)
        put = sp.csr_array(
            (weights.ravel(), numbers.ravel(), np.arange(numbers.size + 1)), shape=(numbers.size, int(np.prod(local)))
        ).T
        counts = np.broadcast_to((put @ np.ones(numbers.size, dtype=np.float32))[:, None], (put.shape[0], self.n))
        sums = [put @ estimate.reshape(numbers.size, self.n) for estimate in estimates]
        return place, [_overlaid(values, local, self.sides) for values in (*sums, counts)]


def find_groups(image: np.ndarray, search: Search) -> PatchGroups:
    """The patches nearest to each reference, itself included, by squared distance within its window.

    ‖a − b‖² = ‖a‖² + ‖b‖² − 2aᵀb takes one product of the references of a block with all patches around them.
    """
    grid, sides = image.shape, search.sides(image.shape)
    corners = tuple(length - side + 1 for length, side in zip(grid, sides, strict=True))
    windows = search.windows(corners)
    along = [_references(length, step) for length, step in zip(corners, search.strides(grid), strict=True)]
    shape, k = tuple(map(len, along)), min(search.n_similar, int(np.prod(windows)))
    members = np.empty((*shape, k), dtype=np.int32 if np.prod(corners) < 2**31 else np.int64)

    def fill(block: tuple[slice, ...]) -> None:
        at = [axis[part] for axis, part in zip(along, block, strict=True)]
        members[block] = _nearest(image, sides, corners, windows, at, k)

    threads.parallel_map(fill, _blocks(shape, MATCHED))
    return PatchGroups(grid, sides, shape, members.reshape(-1, k))


def _nearest(image, sides, corners, windows, at: list[np.ndarray], k: int) -> np.ndarray:
    """The corners of the k patches nearest to the references of one block."""
    starts = [np.clip(axis - w // 2, 0, length - w) for axis, w, length in zip(at, windows, corners, strict=True)]
    first = [int(start[0]) for start in starts]
    local = tuple(int(start[-1]) + w - low for start, w, low in zip(starts, windows, first, strict=True))
    place = _place(first, local, sides)
    there = _patches(image[place] - image[place].mean(), sides)
    own = _numbers([axis - low for axis, low in zip(at, first, strict=True)], local)
    gaps = np.einsum("ij,ij->i", there, there) - 2 * (there[own] @ there.T)
    gaps[np.arange(len(own)), own] = -np.inf
    inside = _numbers([np.arange(w) for w in windows], local)
    candidates = _numbers([start - low for start, low in zip(starts, first, strict=True)], local)[:, None] + inside
    chosen = np.argpartition(np.take_along_axis(gaps, candidates, axis=1), k - 1, axis=1)[:, :k]
    found = np.unravel_index(np.take_along_axis(candidates, chosen, axis=1), local)
    numbers = np.ravel_multi_index([axis + low for axis, low in zip(found, first, strict=True)], corners)
    return numbers.reshape(*map(len, at), k)


def _place(first: list[int], local: tuple[int, ...], sides: tuple[int, ...]) -> tuple[slice, ...]:
    """The part of an image with ``local`` corners along each axis, from the corner ``first`` on."""
    return tuple(slice(low, low + n + side - 1) for low, n, side in zip(first, local, sides, strict=True))


def _patches(image: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """All patches of an image, one per row, in the order of their corners."""
    return np.lib.stride_tricks.sliding_window_view(image, sides).reshape(-1, int(np.prod(sides)))


def _blocks(shape: tuple[int, ...], sizes: dict[int, int]) -> list[tuple[slice, ...]]:
    """Blocks that cover an array of this shape."""
    size = sizes[len(shape)]
    starts = np.stack(np.meshgrid(*(np.arange(0, n, size) for n in shape), indexing="ij"), axis=-1)
    return [tuple(slice(int(at), int(at) + size) for at in corner) for corner in starts.reshape(-1, len(shape))]


def _overlaid(rows: np.ndarray, local: tuple[int, ...], sides: tuple[int, ...]) -> np.ndarray:
    """The sum of patches at all corners of a part of an image."""
    total = np.zeros([n + side - 1 for n, side in zip(local, sides, strict=True)], dtype=np.float32)
    columns = (rows.T if rows.strides[1] == 0 else np.ascontiguousarray(rows.T)).reshape(*sides, *local)
    for offset in np.ndindex(*sides):
        total[tuple(slice(start, start + n) for start, n in zip(offset, local, strict=True))] += columns[offset]
    return total


def _references(length: int, step: int) -> np.ndarray:
    return np.unique(np.append(np.arange(0, length, step), length - 1))


def _numbers(along: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The flat indices of the points of a grid in an array of this shape."""
    return np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), shape).ravel()


def _each(value: int | tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,) * len(axes)
