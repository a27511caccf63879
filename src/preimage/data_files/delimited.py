"""Delimited text: .csv, .tsv and .txt, with or without a header; an empty cell is a missing number."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from preimage.chunks import BLOCK
from preimage.data_files.base import LARGE, Data, Form
from preimage.exceptions import DataFileError

MISSING = {"", "na", "nan", "n/a", "null", "none"}
DELIMITERS = ("\t", ";", "|", ",", " ")

Lines = Iterator[tuple[int, str]]


def read(path: Path) -> Data:
    """Rows of a text file; a large one is read anew at every walk."""
    return _read(str(path), lambda: path.open(encoding="utf-8-sig", newline=None), path.stat().st_size)


def read_standard_input() -> Data:
    """Rows from standard input."""
    text = sys.stdin.read()
    return _read("standard input", lambda: io.StringIO(text.removeprefix("\ufeff")), len(text))


def check(path: Path, form: Form) -> None:
    """Text holds everything."""


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the header, if there is one, and the rows with as few digits as tell them apart."""
    with path.open("w", encoding="utf-8", newline="") as file:
        _write(file, blocks, form, "\t" if path.suffix.lower() == ".tsv" else ",")


def write_standard_output(blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write rows to standard output."""
    _write(sys.stdout, blocks, form, ",")


def _write(file: TextIO, blocks: Iterable[np.ndarray], form: Form, delimiter: str) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    if form.columns:
        writer.writerow(form.columns)
    for block in blocks:
        writer.writerows(block.astype(str).tolist())


def _read(name: str, open_text: Callable[[], TextIO], size: int) -> Data:
    text = _Text(name, open_text)
    form = Form(columns=text.columns, alone="signal" if text.width == 1 else "")
    if size > LARGE // 4:  # a number takes about twice as many bytes in memory, and more while it is read
        return Data(name, text.blocks, (text.count(), text.width), form)
    blocks = list(text.blocks())
    if not blocks:
        raise DataFileError(f"{name} is empty." if text.columns is None else f"{name} has a header and no rows.")
    rows = np.concatenate(blocks)
    return Data(name, rows, rows.shape, form)


class _Text:
    """Numbers in lines, with the delimiter and the header found in the first of them."""

    def __init__(self, name: str, open_text: Callable[[], TextIO]):
        self.name, self._open = name, open_text
        start = [line for _, line in islice(self._lines(), 2)]
        if not start:
            raise DataFileError(f"{name} is empty.")
        # A row tells the delimiter better than the header, whose names may have spaces.
        self.delimiter = next((found for found in DELIMITERS if found in start[-1].strip()), ",")
        cells = self._cells(start[0])
        self.width = len(cells)
        self.columns = tuple(cells) if _is_header(cells) else None

    def blocks(self) -> Iterator[np.ndarray]:
        lines = self._lines()
        if self.columns is not None:
            next(lines)
        while block := list(islice(lines, BLOCK)):
            yield self._parse(block)

    def count(self) -> int:
        """The number of rows."""
        return sum(1 for _ in self._lines()) - (self.columns is not None)

    def _lines(self) -> Lines:
        """Lines that are not empty, with their numbers."""
        try:
            with self._open() as file:
                yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())
        except UnicodeDecodeError as error:
            raise DataFileError(f"{self.name} is no text in UTF-8.") from error

    def _parse(self, lines: list[tuple[int, str]]) -> np.ndarray:
        try:  # fast, but it knows neither gaps nor where it failed
            rows = np.loadtxt(
                [line for _, line in lines], delimiter=self.delimiter.strip(" ") or None, ndmin=2, comments=None
            )
        except ValueError:
            rows = None
        if rows is None or rows.shape != (len(lines), self.width):
            rows = np.array([self._row(number, line) for number, line in lines])
        return rows

    def _row(self, number: int, line: str) -> list[float]:
        cells = self._cells(line)
        if len(cells) != self.width:
            raise DataFileError(
                f"{self.name}, line {number}: {len(cells)} cells, where the first line has {self.width}."
            )
        values = [_number(cell) for cell in cells]
        if None in values:
            column = values.index(None)
            told = repr(self.columns[column]) if self.columns else column + 1
            raise DataFileError(f"{self.name}, line {number}, column {told}: {cells[column]!r:.60} is no number.")
        return values  # type: ignore[return-value]

    def _cells(self, line: str) -> list[Any]:
        if self.delimiter == " ":
            return line.split()
        return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=self.delimiter))]


def _is_header(cells: list[str]) -> bool:
    """Whether cells are names: one of them is no number, or they count the columns, as pandas does."""
    counted = [[str(number + first) for number in range(len(cells))] for first in (0, 1)]
    return any(_number(cell) is None for cell in cells) or (len(cells) > 2 and cells in counted)


def _number(cell: str) -> float | None:
    if cell.lower() in MISSING:
        return np.nan
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000, and no other program writes it
    except ValueError:
        return None
