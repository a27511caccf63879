"""Tables as lines of cells: which cells are numbers, what kind a column is, and whether there is a header."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time
from itertools import islice
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io.base import Reading, note
from preimage.io.chunks import rows_at_once
from preimage.io.columns import column_label

MISSING = {"", "na", "nan", "n/a", "#n/a", "#na", "<na>", "null", "none", "nil", "nat", "missing", "?", "-", "--", "."}
MISSING |= {"#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"}  # what a spreadsheet shows in place of a number
CELL = 100  # bytes of a cell, while it is text
HEAD = 200  # rows from which the kinds of columns are detected
THOUSANDS = re.compile(r"[+-]?\d{1,3}( \d{3})+(?![ \d]).*")  # thousands, separated by spaces
MISTYPED = re.compile(r"[+-]?[.,]?\d[\d.,]*[A-Za-z ]?[\d.,]*")  # a number with a wrong letter in it

Line = tuple[int, Sequence[Any]]


class Records:
    """A table as lines of cells: text, or the values of a spreadsheet.

    Parameters
    ----------
    name : str
    walk : function without arguments that yields lines
        The number of a line and its cells; the first may be a header.
    reading : Reading
    decimal : str
        The decimal sign.
    """

    metadata: dict | None = None

    def __init__(self, name: str, walk: Callable[[], Iterator[Line]], reading: Reading, decimal: str = "."):
        self.name, self._walk, self.decimal = name, walk, decimal
        self._missing = MISSING | {mark.lower() for mark in reading.missing}
        self._thousands = reading.thousands
        self._is_usual = decimal == "." and not (reading.missing or reading.thousands)
        lines = list(islice(walk(), HEAD + 1))
        if not lines:
            raise DataFileError(f"{name} is empty.")
        self._first, first = lines[0][0], [cells for _, cells in lines]
        self.width = len(first[0])
        if len(first) > 1 and len(first[1]) == self.width + 1 and None in self._values(first[0]):  # as R writes it
            self.width += 1
            first[0] = ["", *first[0]]
        below = [cells for cells in first[1:] if len(cells) == self.width]
        named = self._is_header(first[0], below) if reading.header is None else reading.header
        self.names = tuple(_text(cell) for cell in first[0]) if named else None
        rows = below if named else [first[0], *below]
        columns = [[row[place] for row in rows] for place in range(self.width)]
        self.kinds = [self._kind(column) for column in columns]
        self.head: list[Sequence[Any]] = [self._values(column) for column in columns]

    def blocks(self, numbers: Sequence[int], others: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Matrices of the columns of numbers, each with the other columns."""
        for lines in self._blocks():
            columns = list(zip(*(cells for _, cells in lines), strict=True))
            matrix = np.empty((len(lines), len(numbers)))
            for number, place in enumerate(numbers):
                matrix[:, number] = self._numbers(columns[place], place, lines)
            yield matrix, [list(columns[place]) for place in others]

    def count(self) -> int:
        """The number of rows."""
        return sum(len(matrix) for matrix, _ in self.blocks((), (0,)))

    def _blocks(self) -> Iterator[list[Line]]:
        lines = iter(self._walk())
        if self.names is not None:
            next(lines)
        while block := list(islice(lines, rows_at_once(self.width, CELL))):
            for number, cells in block:
                if len(cells) != self.width:
                    raise DataFileError(
                        f"{self.name}, line {number}: {len(cells)} cells, but the first line has {self.width}."
                    )
            yield block

    def _numbers(self, cells: Sequence[Any], place: int, lines: list[Line]) -> Any:
        if self._is_usual and all(type(cell) is str for cell in cells):
            try:  # fast, but knows no other marks of gaps, nor where it failed
                if not any("_" in cell for cell in cells):
                    return np.array([cell or "nan" for cell in cells], dtype=float)
            except ValueError:
                pass
        values = self._values(cells)
        if None in values:
            row = values.index(None)
            named = column_label(self.names, place)
            first = self.names is None and lines[row][0] == self._first
            cell = _text(cells[row])
            raise DataFileError(
                f"{self.name}, line {lines[row][0]}, column {named}: {cell!r:.60} is not a number "
                f"({'header=True, if this line names the columns' if first else self._advice(cell, place)})."
            )
        return values

    def _advice(self, cell: str, place: int) -> str:
        """What to do about a cell that is not a number."""
        if self.names and cell == self.names[place]:
            return "this line repeats the names of the columns: delete it"
        other = "." if self.decimal == "," else ","
        parted = THOUSANDS.fullmatch(cell.replace(other, " "))
        return (
            f"thousands={other!r} if that separates thousands"
            if parted
            else f"keep=('{place + 1}',) carries the column along"
        )

    def _values(self, cells: Sequence[Any]) -> list[Any]:
        return [self.number(cell) for cell in cells]

    def number(self, cell: Any) -> float | None:
        """The number in a cell, NaN if it is missing, None if it holds something else."""
        if cell is None:
            return np.nan
        if not isinstance(cell, str):
            return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
        cell = cell.strip()
        if cell.lower() in self._missing:
            return np.nan
        if self._thousands and THOUSANDS.fullmatch(cell.replace(self._thousands, " ")):
            cell = cell.replace(self._thousands, "")
        if self.decimal == ",":
            cell = cell.replace(",", ".") if "." not in cell else "_"
        return parsed_float(cell)

    def _kind(self, cells: Sequence[Any]) -> str:
        values = self._values(cells)
        there = [(cell, value) for cell, value in zip(cells, values, strict=True) if value is None or value == value]
        found = [cell for cell, value in there if value is not None]
        if 2 * len(found) < len(there):
            return _kind_of_other(next(cell for cell, value in there if value is None))
        whole = all(isinstance(cell, int) or (isinstance(cell, str) and _is_whole(cell)) for cell in found)
        return "whole numbers" if found and whole else "numbers"

    def _is_header(self, cells: Sequence[Any], below: list[Sequence[Any]]) -> bool:
        """Whether the first line names the columns.

        It does if a word stands above numbers, unless it looks like a mistyped number. Numbers are data, unless they
        count the columns after an empty cell above an index, as pandas writes them.
        """
        values = self._values(cells)
        words = [place for place, value in enumerate(values) if value is None]
        kinds = [self._kind([row[place] for row in below]) for place in range(self.width)] if below else []
        if not words:
            return self._counts(values, cells)
        if not below:
            return not any(value == value for value in values if value is not None)
        over_numbers = [place for place in words if "number" in kinds[place]]
        return not all(MISTYPED.fullmatch(_text(cells[place])) for place in over_numbers)

    def _counts(self, values: list[Any], cells: Sequence[Any]) -> bool:
        """Whether an empty cell precedes numbers that count the columns: 0, 1, 2, … or 1, 2, 3, …"""
        nameless = _text(cells[0]).strip() == ""
        counted = values[1:] if nameless else values
        counts = any(counted == list(range(first, first + len(counted))) for first in (0, 1))
        if counts and not nameless and len(counted) > 2:
            shown = ", ".join(_text(cell) for cell in cells[:3])
            note(f"{self.name}: the first line ({shown}, …) is read as numbers; header=True takes it for names.")
        return counts and nameless and len(counted) > 0


def parsed_float(text: str) -> float | None:
    """The number in a text; None if there is none, or one like 1_000, which only Python reads."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _is_whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit()


def _kind_of_other(cell: Any) -> str:
    if isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in ("true", "false")):
        return "true or false"
    if isinstance(cell, date | time) or (isinstance(cell, str) and re.match(r"\d{4}-\d\d-\d\d\b", cell.strip())):
        return "dates"
    return "text"


def _text(cell: Any) -> str:
    return "" if cell is None else cell.strip() if isinstance(cell, str) else str(cell)
