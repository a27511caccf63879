"""Columns of text as numbers: a level becomes its index among the levels, and a gap becomes NaN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from preimage._typing import Array


@dataclass(frozen=True, eq=False)
class TextLevels:
    """The levels of every column of text, in alphabetical order; none for a column of numbers.

    A table is an array of objects. Its gaps are None, NaN, pandas' NA, and the value ``missing``.
    """

    levels: tuple[tuple[str, ...], ...]
    missing: Any = None

    @classmethod
    def of(cls, table: Array, missing: Any = None) -> TextLevels:
        """The levels in a table; a column is text if one of its values is not a number."""
        found = cls((), missing)
        return cls(tuple(found._levels(column) for column in table.T), missing)

    @property
    def are_any(self) -> bool:
        """Whether there is a column of text."""
        return any(self.levels)

    @property
    def columns(self) -> Array:
        """Which columns are text."""
        return np.array([bool(levels) for levels in self.levels])

    def encode(self, table: Array) -> Array:
        """The table in numbers; an unknown level is NaN."""
        return np.stack([self._numbers(*pair) for pair in zip(table.T, self.levels, strict=True)], axis=1)

    def decode(self, rows: Array, given: Array | None = None) -> Array:
        """A table from numbers; text values present in ``given`` stay unchanged."""
        table = rows.astype(object)
        for place in np.flatnonzero(self.columns):
            levels = self.levels[place]
            table[:, place] = [levels[int(number)] for number in rows[:, place]]
            if given is not None:
                there = [not self._is_gap(value) for value in given[:, place]]
                table[there, place] = given[there, place]
        return table

    def kept(self, columns: Array) -> TextLevels:
        """The levels of some of the columns."""
        return TextLevels(tuple(self.levels[place] for place in np.flatnonzero(columns)), self.missing)

    def _levels(self, column: Array) -> tuple[str, ...]:
        values = [value for value in column if not self._is_gap(value)]
        return tuple(sorted(set(map(str, values)))) if any(map(_is_word, values)) else ()

    def _numbers(self, column: Array, levels: Sequence[str]) -> list[float]:
        places = {level: float(place) for place, level in enumerate(levels)}
        number = (lambda value: places.get(str(value), np.nan)) if levels else float
        return [np.nan if self._is_gap(value) else number(value) for value in column]

    def _is_gap(self, value: Any) -> bool:
        marked = self.missing is not None and value == self.missing
        return value is None or is_scalar_nan(value) or is_pandas_na(value) or bool(marked)


def _is_word(value: Any) -> bool:
    """Whether a value is text, but not a number in text."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False
