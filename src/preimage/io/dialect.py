"""Detects the format of a text table: encoding, delimiter, quotes, decimal sign, and lines before the table."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from preimage.exceptions import DataFileError
from preimage.io.base import Dialect, Reading, note

DELIMITERS = ("\t", ";", "|", ",", " ")
SAMPLE = 50  # lines from which the dialect is detected
POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
MARKS |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Found:
    """The detected format.

    Attributes
    ----------
    dialect : Dialect
    skip : int
        Lines before the table.
    names : tuple of str
        The names of the columns, if the last of these lines is a comment that holds them, as numpy writes it.
    spaced : bool
        Whether a space stands before a quote.
    """

    dialect: Dialect
    skip: int = 0
    names: tuple[str, ...] = ()
    spaced: bool = False

    def cells(self, lines: Sequence[str]) -> Iterator[list[str]]:
        """The cells of lines of text."""
        return _cells(lines, self.dialect.delimiter, self.dialect.quote, self.spaced)


def encoding(open_bytes: Callable[[], BinaryIO]) -> str:
    """The encoding: UTF-8, unless a byte order mark or zero bytes at the beginning show another."""
    with open_bytes() as file:
        head = file.read(400)
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name
    even, odd = head[::2].count(0), head[1::2].count(0)
    return "utf-16-le" if odd > len(head) // 4 > even else "utf-16-be" if even > len(head) // 4 > odd else "utf-8"


def recognised(name: str, file: TextIO, reading: Reading, encoding: str) -> Found:
    """The format of a text, detected from its first lines."""
    lines = _first_lines(file)
    skip, comments, named = _leading(lines)
    sample = [line for number, line in lines if number > skip]
    if not sample:
        raise DataFileError(f"{name} is empty.")
    quote = _quote(sample)
    delimiter = reading.delimiter or named or _delimiter(sample, quote)
    spaced = f"{delimiter} {quote}" in "".join(sample)
    rows = list(_cells(sample, delimiter, quote, spaced))
    cells = [cell.strip() for row in rows for cell in row]
    decimal = reading.decimal or (_other_sign(reading.thousands) if reading.thousands else _decimal(name, cells))
    last = comments[-1] if comments and not comments[-1].startswith("##") else ""  # ## begins a label of JCAMP
    names = _names(list(_cells([last, last.lstrip("# ")], delimiter, quote, spaced)), rows[0])
    dialect = Dialect(delimiter, quote, decimal, encoding, tuple(comments[:-1] if names else comments))
    return Found(dialect, skip, names, spaced)


def _first_lines(file: TextIO) -> list[tuple[int, str]]:
    """Comments and the other lines that show the dialect, with their numbers; empty ones are left out."""
    found, left = list[tuple[int, str]](), SAMPLE
    for number, line in enumerate(file, 1):
        found += [(number, line)] * bool(line.strip())
        left -= not line.startswith("#")
        if not left:
            break
    return found


def _leading(lines: Sequence[tuple[int, str]]) -> tuple[int, list[str], str]:
    """The number of lines before the table, the comments in them, and the delimiter that Excel's first line names."""
    skip, comments, named = 0, list[str](), ""
    for number, line in lines:
        if found := re.fullmatch(r"sep=(.)", line.strip(), re.IGNORECASE):
            named = found.group(1)
        elif line.startswith("#"):
            comments.append(line.strip())
        else:
            break
        skip = number
    return skip, comments, named


def _names(candidates: Sequence[list[str]], first: list[str]) -> tuple[str, ...]:
    """The names in a comment over a row of numbers."""
    if not any(map(_is_number, first)):
        return ()
    fitting = [cells for cells in candidates if len(cells) == len(first) and not any(map(_is_number, cells))]
    return tuple(cell.strip() for cell in fitting[-1]) if fitting else ()


def _quote(sample: Sequence[str]) -> str:
    text = "".join(sample)
    return "'" if '"' not in text and re.search(r"(^|[,;\t|])\s*'[^'\n]*'\s*([,;\t|]|$)", text, re.MULTILINE) else '"'


def _delimiter(sample: Sequence[str], quote: str) -> str:
    """The delimiter that gives rows of equal width, with the largest share of numbers in them."""
    shares = {}
    for delimiter in DELIMITERS:
        rows = list(_cells(sample, delimiter, quote, f"{delimiter} {quote}" in "".join(sample)))
        rows = [row for row in (rows[:-1] if len(sample) == SAMPLE else rows) if row]
        if rows and _are_equally_wide([len(row) for row in rows]):
            cells = [cell for row in rows[1:] or rows for cell in row]  # the first line may hold names
            shares[delimiter] = sum(map(_is_number, cells)) / len(cells)
    if shares:
        return max(shares, key=shares.__getitem__)  # the first of equals
    common = [found for found in DELIMITERS if 2 * sum(found in line.strip() for line in sample) > len(sample)]
    return common[0] if common else ","


def _are_equally_wide(widths: Sequence[int]) -> bool:
    """Whether lines are equally wide; the first may lack the name of the row names, as R writes it."""
    return widths[-1] > 1 and len(set(widths[1:])) <= 1 and widths[0] in (widths[-1], widths[-1] - 1)


def _decimal(name: str, cells: Sequence[str]) -> str:
    commas = [cell for cell in cells if COMMA.fullmatch(cell)]
    if not commas or any("." in cell and POINT.fullmatch(cell) for cell in cells):
        return "."
    if all(re.fullmatch(r"[+-]?\d{1,3},\d{3}", cell) for cell in commas):
        note(f"{name}: {commas[0]!r} is read with a decimal comma; give thousands=',' if it separates thousands.")
    return ","


def _other_sign(thousands: str) -> str:
    """The decimal sign of numbers with this separator of thousands."""
    return "," if thousands == "." else "."


def _cells(lines: Sequence[str], delimiter: str, quote: str, spaced: bool) -> Iterator[list[str]]:
    if delimiter == " ":
        return (_words(line, quote) for line in lines)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, skipinitialspace=spaced)


def _words(line: str, quote: str) -> list[str]:
    """Cells between any number of spaces."""
    if quote not in line:
        return line.split()
    return next(csv.reader([line.strip()], delimiter=" ", quotechar=quote, skipinitialspace=True))


def _is_number(cell: str) -> bool:
    return bool(POINT.fullmatch(cell.strip()) or COMMA.fullmatch(cell.strip()))
