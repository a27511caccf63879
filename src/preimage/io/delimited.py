"""Delimited text: .csv, .tsv and .txt, with or without a header; an empty cell or line is a missing number."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import arrow_text, bounds, dialect, records, tables
from preimage.io.base import LARGE, Data, Form, Reading
from preimage.io.columns import Columns, Pieces, all_columns, cell_text, plain_values
from preimage.io.spreadsheets import harmless

ARROW = 2**20  # bytes from which pyarrow reads a text, if it is installed


def read(path: Path, reading: Reading) -> Data:
    """The rows of a text file; a large one is read again in every pass."""
    return _read(str(path), lambda: bounds.stream(path, timed=False, lines=True), path.stat().st_size, reading)


def read_standard_input(reading: Reading) -> Data:
    """Rows from standard input."""
    content = sys.stdin.buffer.read()
    return _read("standard input", lambda: io.BytesIO(content), len(content), reading)


def check(path: Path, form: Form) -> None:
    """Accept every form: text holds everything."""


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write comments and the header, if there are any, and the rows with as few digits as identify each number."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else form.text.delimiter
    with path.open("w", encoding=form.text.encoding, newline="") as file:
        _write(file, blocks, form, delimiter, form.text.decimal)


def write_standard_output(blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write rows to standard output."""
    _write(sys.stdout, blocks, form, ",", ".")


def _write(file: TextIO, blocks: Iterable[np.ndarray], form: Form, delimiter: str, decimal: str) -> None:
    table = form.as_table()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    for number, columns in enumerate(all_columns(blocks, table)):
        if not number:  # with the first rows, so that a command that fails earlier writes nothing
            file.writelines(delimiter.join(harmless(line.split(delimiter))) + "\n" for line in form.text.comments)
            writer.writerows([harmless(form.header)] if form.header else [])
        writer.writerows(zip(*_texts(columns, table, decimal), strict=True))


def _texts(columns: Sequence[np.ndarray | Pieces], table: Columns | None, decimal: str) -> Iterator[list[str]]:
    whole = frozenset[int]() if table is None else table.whole
    for place, column in enumerate(columns):
        if not isinstance(column, np.ndarray):
            yield harmless(map(cell_text, plain_values(column)))
            continue
        texts = ["" if text == "nan" else text for text in column.astype(str).tolist()]
        if place in whole:
            texts = [text.removesuffix(".0") for text in texts]
        yield [text.replace(".", decimal) for text in texts] if decimal != "." else texts


def _read(name: str, open_bytes: Callable[[], BinaryIO], size: int, reading: Reading) -> Data:
    text = _Text(name, open_bytes, reading, size > ARROW and reading.thousands is None)
    large = size > LARGE // 4  # a number takes about twice as many bytes in memory, and more while it is read
    return tables.tabled(text, reading, large=large, text=text.found.dialect)


class _Text(records.Records):
    """Cells in lines of text, in the dialect detected from the first lines."""

    def __init__(self, name: str, open_bytes: Callable[[], BinaryIO], reading: Reading, by_arrow: bool):
        self.name, self._open_bytes, self._by_arrow = name, open_bytes, by_arrow
        self._encoding = reading.encoding or dialect.encoding(open_bytes)
        with self._opened() as file:
            self.found = dialect.recognised(name, file, reading, self._encoding)
        super().__init__(name, self._lines, reading, self.found.dialect.decimal)

    def blocks(self, numbers: Sequence[int], others: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Matrices and other columns; by pyarrow, if installed, as far as it understands the text."""
        done = 0
        if self._by_arrow:
            first = self._first if self.names is not None else self._first - 1
            try:
                for matrix, kept in arrow_text.blocks(
                    self._open_bytes, self.found, first, self.width, numbers, others, self._missing
                ):
                    yield matrix, kept
                    done += len(matrix)
                return
            except arrow_text.NotUnderstood:
                pass
        for matrix, kept in super().blocks(numbers, others):
            if done < len(matrix):
                yield matrix[done:], [column[done:] for column in kept]
            done = max(0, done - len(matrix))

    def _lines(self) -> Iterator[records.Line]:
        """The number and the cells of every line, starting with a header found in a comment."""
        with self._opened() as file:
            for _ in range(self.found.skip):
                next(file)
            named = [(self.found.skip, self.found.names)] if self.found.names else []
            yield from _with_gaps(chain(named, self._parsed(file)))

    def _parsed(self, file: TextIO) -> Iterator[records.Line]:
        if self.found.dialect.delimiter == " ":
            return enumerate(self.found.cells(file), self.found.skip + 1)  # type: ignore[arg-type]
        reader: Any = self.found.cells(file)  # type: ignore[arg-type]
        return ((reader.line_num + self.found.skip, cells) for cells in reader)

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        with io.TextIOWrapper(self._open_bytes(), encoding=self._encoding, newline="") as file:
            try:
                yield file
            except UnicodeError as error:
                encoding = "UTF-8" if self._encoding.startswith("utf-8") else self._encoding
                raise DataFileError(
                    f"{self.name} is not text in {encoding}: give its encoding by encoding=, such as cp1252."
                ) from error
            except csv.Error as error:
                raise DataFileError(f"{self.name} is not a table in text: {error}.") from error


def _with_gaps(lines: Iterable[records.Line]) -> Iterator[records.Line]:
    """The lines of a table; an empty line between others is a row of gaps, and so is an empty cell in quotes."""
    width, empty = 0, list[int]()
    for number, cells in lines:
        if len(cells) <= 1 and not "".join(cells).strip() and not (cells == [""] and width == 1):
            empty.append(number)
            continue
        yield from ((line, [""] * width) for line in empty if width)
        width = width or len(cells)
        empty.clear()
        yield number, cells
