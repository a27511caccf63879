"""A signal that is read in parts: an array, a memory map, or anything else with slices of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from preimage._typing import Array
from preimage.gram import slicing, tiles
from preimage.io.chunks import release

PART = 2**17  # samples read at once


@dataclass(frozen=True, eq=False)
class Recording:
    """Samples of shape (length, channels) or (length,); ``which`` tells by booleans which channels to read."""

    source: Any
    which: Array | None = None

    def __len__(self) -> int:
        return int(self.source.shape[0])

    @property
    def n_channels(self) -> int:
        """The number of channels that are read."""
        if self.which is not None:
            return int(np.count_nonzero(self.which))
        return int(self.source.shape[1]) if len(self.source.shape) > 1 else 1

    @property
    def dtype(self) -> np.dtype:
        """The type of the parts."""
        return tiles.floating_dtype(self.source.dtype)

    def of(self, which: Array) -> Self:
        """Some channels."""
        return replace(self, which=which)

    def part(self, start: int, stop: int) -> Array:
        """The samples from ``start`` to ``stop`` as floats, one column per channel."""
        release(self.source)  # so that at most one part of a memory map stays in memory
        return self._floats(self.source[start:stop])

    def parts(self) -> Iterator[Array]:
        """All samples, one part after another."""
        for rows in slicing.slices(len(self), PART):
            yield self.part(rows.start, rows.stop)

    def every(self, step: int) -> Array:
        """One sample in ``step``."""
        return self._floats(self.source[::step])

    def _floats(self, samples: Any) -> Array:
        values = tiles.floating(np.asarray(samples))
        values = values.reshape(len(values), -1)
        return values if self.which is None else values[:, self.which]

    def means(self) -> Array:
        """The mean of every channel, in double precision."""
        total: Array = sum((part.sum(axis=0, dtype=float) for part in self.parts()), start=np.zeros(self.n_channels))
        return total / len(self)

    def deviations(self) -> Array:
        """The standard deviation of every channel, in double precision."""
        means, total = self.means(), np.zeros(self.n_channels)
        for part in self.parts():
            total += np.square(part - means, dtype=float).sum(axis=0)
        found: Array = np.sqrt(total / len(self))
        return found

    def extremes(self) -> Array:
        """The least and the largest number; NaN if any is NaN."""
        ends = [(part.min(), part.max()) for part in self.parts()]
        return np.array([min(low for low, _ in ends), max(high for _, high in ends)])
