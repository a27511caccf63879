"""Text columns with few levels: as numbers, so that their gaps can be filled, and back to text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage.io.columns import Pieces, plain_values

GAPS = {"", "na", "nan", "n/a", "#n/a", "#na", "<na>", "null", "?"}  # "none" and "-" may be levels
MOST_LEVELS, FEWEST_EACH = 30, 3  # levels of a category, and mean number of rows per level


@dataclass(frozen=True)
class Category:
    """The levels of a column in their order; ``gaps`` are the marks of missing cells, in lower case."""

    levels: tuple[Any, ...]
    gaps: frozenset[str]

    @classmethod
    def of(cls, columns: Sequence[Any], missing: Sequence[str]) -> Category | None:
        """The category of a column in parts; None if its levels are too many, or only one."""
        gaps = frozenset(GAPS | {mark.lower() for mark in missing})
        found, count = set[Any](), 0
        for column in columns:
            there = [value for value in plain_values([column]) if not _is_gap(value, gaps)]
            found, count = found | set(there), count + len(there)
        few = 2 <= len(found) <= min(MOST_LEVELS, count // FEWEST_EACH)
        return cls(tuple(sorted(found, key=str)), gaps) if few else None

    def numbers(self, column: Any) -> np.ndarray:
        """The place of every cell's level; NaN for a gap."""
        places = {level: float(place) for place, level in enumerate(self.levels)}
        return np.array([places.get(value, np.nan) for value in plain_values([column])])

    def filled(self, pieces: Pieces, numbers: np.ndarray) -> Pieces:
        """The cells of a column, with gaps filled by the levels of their numbers."""
        found, first = [], 0
        for piece in pieces:
            wanted = numbers[first : first + len(piece)]
            values = [
                self.levels[int(number)] if _is_gap(value, self.gaps) else value
                for value, number in zip(plain_values([piece]), wanted, strict=True)
            ]
            found.append(_like(piece, values))
            first += len(piece)
        return found


def _is_gap(value: Any, gaps: frozenset[str]) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in gaps)


def _like(piece: Any, values: list[Any]) -> Any:
    """Values as an arrow array of the same type if the piece is one."""
    if not hasattr(piece, "to_pylist"):
        return values
    import pyarrow

    return pyarrow.array(values, type=piece.type)
