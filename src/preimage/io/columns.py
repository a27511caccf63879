"""All columns of a table: numbers to work on, and others that are carried along in their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

Pieces = list[Any]  # parts of one column in order, lists or arrow arrays
NAMED = 5  # columns that a message names


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table in their order.

    Attributes
    ----------
    names : tuple of str or None
        The names of all columns.
    numbers : tuple of int
        The place of every column of the matrix.
    others : tuple of int
        The places of the columns that are carried along.
    walk : function without arguments that yields lists of sequences
        Blocks of the columns that are carried along; each is a list or an arrow array.
    whole : frozenset of int
        The places of columns that held whole numbers.
    metadata : dict or None
        Of a parquet file.
    categories : dict of Category
        By place, text columns that are also numbers in the matrix, after the others.
    """

    names: tuple[str, ...] | None
    numbers: tuple[int, ...]
    others: tuple[int, ...] = ()
    walk: Callable[[], Iterable[Sequence[Any]]] = tuple
    whole: frozenset[int] = frozenset()
    metadata: dict | None = None
    categories: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of_files(cls, names: Sequence[str]) -> Columns:
        """A table that holds only the names of files."""
        return cls(("file",), (), (0,), lambda: [[list(names)]])

    @property
    def carried(self) -> tuple[str, ...]:
        """Names, or numbers from 1, of the columns that are carried along."""
        return tuple(self.name(place) for place in self.others if place not in self.categories)

    def name(self, place: int) -> str:
        """The name of a column, or its number from 1."""
        return self.names[place] if self.names else str(place + 1)

    def carried_rows(self) -> Iterator[tuple[str, ...]]:
        """The cells that are carried along, as text, row by row."""
        for block in self.walk():
            columns = [plain_values([column]) for column in block]
            yield from zip(*([cell_text(value) for value in column] for column in columns), strict=True)

    def followed_by(self, names: Sequence[str]) -> Columns:
        """The columns that are carried along, with other numbers after them."""
        width = len(self.others)
        numbers = tuple(range(width, width + len(names)))
        return Columns((*map(self.name, self.others), *names), numbers, tuple(range(width)), self.walk)

    def beside(self, blocks: Iterable[np.ndarray]) -> Iterator[list[np.ndarray | Pieces]]:
        """All columns, in their places, for blocks of rows: numbers as arrays, the others as pieces."""
        feed = _Feed(self.walk(), len(self.others))
        for block in blocks:
            width = len(self.numbers)
            columns: dict[int, np.ndarray | Pieces] = dict(zip(self.numbers, block.T[:width], strict=True))
            kept = dict(zip(self.others, feed.take(len(block)), strict=True))
            for (place, category), numbers in zip(self.categories.items(), block.T[width:], strict=True):
                kept[place] = category.filled(kept[place], numbers)
            columns |= kept
            yield [columns[place] for place in range(len(columns))]


class _Feed:
    """Blocks of columns, from which any number of rows can be taken."""

    def __init__(self, blocks: Iterable[Sequence[Any]], width: int):
        self._blocks, self._width = iter(blocks), width
        self._rest: list[Any] = [[]] * width

    def take(self, n_rows: int) -> list[Pieces]:
        taken: list[Pieces] = [[] for _ in range(self._width)]
        while self._width and n_rows:
            if not len(self._rest[0]):
                self._rest = list(next(self._blocks))
            for pieces, column in zip(taken, self._rest, strict=True):
                pieces.append(column[:n_rows])
            self._rest = [column[n_rows:] for column in self._rest]
            n_rows -= len(taken[0][-1])
        return taken


def all_columns(blocks: Iterable[np.ndarray], table: Columns | None) -> Iterator[list[np.ndarray | Pieces]]:
    """The columns of blocks of rows, with those that a table carries along."""
    return (list(block.T) for block in blocks) if table is None else table.beside(blocks)


def arrow_matrix(batch: Any, places: Sequence[int]) -> np.ndarray:
    """Columns of an arrow batch of rows in double precision."""
    matrix = np.empty((len(batch), len(places)))
    for number, place in enumerate(places):
        matrix[:, number] = batch.column(place).cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return matrix


def column_label(names: Sequence[str] | None, place: int) -> str:
    """The name of a column in quotes, or its number from 1."""
    return repr(names[place]) if names else str(place + 1)


def in_words(names: Iterable[Any]) -> str:
    """Columns in a sentence: column 'a', or columns 'a', 'b' and 7 others."""
    named = [repr(name) for name in names]
    rest = f" and {len(named) - NAMED} others" if len(named) > NAMED + 1 else ""
    shown = named[:NAMED] if rest else named
    return f"column{'' if len(named) == 1 else 's'} {', '.join(shown)}{rest}"


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Names of columns, made distinct: repeated ones end in _2, _3 and so on."""
    given = list(names)
    taken, found = set(given), dict.fromkeys(given[:1])
    for name in given[1:]:
        numbered = (f"{name}_{number}" for number in count(2))
        own = next(other for other in numbered if other not in taken) if name in found else name
        taken.add(own)
        found[own] = None
    return tuple(found)


def cell_text(value: Any) -> str:
    """A cell that is carried along as text, empty if it is missing."""
    return "" if value is None else str(value)


def plain_values(column: np.ndarray | Pieces) -> list[Any]:
    """A column as Python values."""
    if isinstance(column, np.ndarray):
        return column.tolist()
    return [value for piece in column for value in (piece.to_pylist() if hasattr(piece, "to_pylist") else piece)]
