"""Lines of a log as they are written: the numbers that a model needs, and the other cells."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TextIO

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io.dialect import DELIMITERS
from preimage.io.records import MISSING, parsed_float


class Layout(NamedTuple):
    """The columns of a log."""

    names: tuple[str, ...]
    """The names of all columns."""
    numbers: tuple[int, ...]
    """The places of the columns that the model was fitted on, in its order."""

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the other columns."""
        return tuple(name for place, name in enumerate(self.names) if place not in self.numbers)

    def of_header(self, header: Sequence[str]) -> Layout:
        """The same columns in the places that a header gives them."""
        wanted = [self.names[place] for place in self.numbers]
        for name in wanted:
            if name not in header:
                raise DataFileError(f"standard input has no column {name!r}, but the model was fitted on one.")
        return Layout(tuple(header), tuple(header.index(name) for name in wanted))


class Line(NamedTuple):
    """One line of a log."""

    row: np.ndarray | None
    """The numbers, NaN where one is missing; None if the line is not a row of the table."""
    carried: tuple[str, ...]
    """The other cells."""
    wrong: int | None = None
    """The place of the number that cannot be read, if there is one."""


def lines_as_they_arrive(
    file: TextIO, layout: Layout, *, delimiter: str | None = None, missing: Collection[str] = ()
) -> Iterator[Line]:
    """Every line with cells but no headers; a header anywhere sets the places of the columns from there on.

    Without a header, ``layout`` sets them. The carried cells are always those of ``layout``, by name.
    """
    found, known = layout, {*MISSING, *(mark.lower() for mark in missing)}
    marks = DELIMITERS if delimiter is None else (delimiter,)
    for number, line in enumerate(file):
        text = line.removeprefix("\ufeff") if number == 0 else line
        if not text.strip():
            continue
        cells, mark = _cells(text, marks, found)
        if _is_header(cells, mark, found, known, first=number == 0):
            found = found.of_header(cells) if set(layout.names) & set(cells) else found
        else:
            yield _line(cells, mark, found, layout, known)


def _cells(line: str, marks: Sequence[str], layout: Layout) -> tuple[list[str], str]:
    """The cells of a line, and the delimiter that yields as many cells as columns, or the names of the columns."""
    split = {mark: _split(line, mark) for mark in marks}
    for mark, cells in split.items():
        if len(cells) == len(layout.names) or {layout.names[place] for place in layout.numbers} <= set(cells):
            return cells, mark
    mark = "," if "," in split else marks[0]
    return split[mark], mark


def _split(line: str, mark: str) -> list[str]:
    cells = line.split() if mark == " " else next(csv.reader([line.rstrip("\r\n")], delimiter=mark))
    return [cell.strip() for cell in cells]


def _is_header(cells: list[str], mark: str, layout: Layout, missing: Collection[str], *, first: bool) -> bool:
    if {layout.names[place] for place in layout.numbers} <= set(cells):
        return True
    return first and len(cells) > 1 and all(_number(cell, mark, missing) is None for cell in cells)


def _line(cells: list[str], mark: str, found: Layout, layout: Layout, missing: Collection[str]) -> Line:
    if len(cells) != len(found.names):
        return Line(None, ("",) * len(layout.carried))
    named = dict(zip(found.names, cells, strict=True))
    carried = tuple(named.get(name, "") for name in layout.carried)
    values = [_number(cells[place], mark, missing) for place in found.numbers]
    if None in values:
        return Line(None, carried, values.index(None))
    return Line(np.array(values, dtype=float), carried)


def _number(cell: str, mark: str, missing: Collection[str]) -> float | None:
    """The number in a cell, NaN where it is missing, None if it holds something else.

    A comma is a decimal sign unless it separates the cells.
    """
    if cell.lower() in missing:
        return float("nan")
    if mark != "," and "." not in cell:
        cell = cell.replace(",", ".")
    return parsed_float(cell)
