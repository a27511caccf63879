"""Categorical columns: one indicator per level for the models, and the nearest level in the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of categorical columns; empty for a column of plain numbers."""

    levels: tuple[Array, ...]

    @classmethod
    def of(cls, X: Array, categorical: Array) -> Levels:
        """The observed levels."""
        pairs = zip(X.T, categorical, strict=True)
        return cls(tuple(np.unique(column[~np.isnan(column)]) if own else np.empty(0) for column, own in pairs))

    def spread(self, X: Array) -> Array:
        """Rows with an indicator per level; all are missing if the level is missing."""
        return np.concatenate([_indicators(X[:, [j]], levels) for j, levels in enumerate(self.levels)], axis=1)

    def gather(self, rows: Array) -> Array:
        """Rows of indicators as levels: the nearest level, whose indicator is largest."""
        columns = [
            levels[part.argmax(axis=1)] if len(levels) else part[:, 0]
            for levels, part in zip(self.levels, self._parts(rows), strict=True)
        ]
        return np.stack(columns, axis=1)

    def first(self, rows: Array) -> Array:
        """One value per column: the largest of its indicators."""
        return np.stack([part.max(axis=1) for part in self._parts(rows)], axis=1)

    def _parts(self, rows: Array) -> list[Array]:
        ends = np.cumsum([max(len(levels), 1) for levels in self.levels])
        return np.split(rows, ends[:-1], axis=1)


def _indicators(column: Array, levels: Array) -> Array:
    return np.where(np.isnan(column), np.nan, column == levels) if len(levels) else column
