"""Spreadsheets: .xlsx, by openpyxl; the first sheet that is not empty."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import bounds, records, tables
from preimage.io.base import Data, Form, Reading, needed, note
from preimage.io.columns import all_columns, plain_values

CELL = 8  # bytes of an empty cell
OTHERWISE = ", or save the sheet as CSV"


def read(path: Path, reading: Reading) -> Data:
    """The rows of the first sheet that is not empty; columns that are not numbers are carried along."""
    excel = needed("openpyxl", str(path), OTHERWISE)
    with bounds.opened(path, ".xlsx file") as file:
        file.archive()
        book = excel.load_workbook(file.stream, read_only=True, data_only=True)
        sheets = {sheet.title: _cells(sheet, file) for sheet in book.worksheets}
        book.close()
    filled = {title: cells for title, cells in sheets.items() if cells}
    if not filled:
        raise DataFileError(f"{path} is empty.")
    title, cells = next(iter(filled.items()))
    if len(filled) > 1:
        note(f"{path}: the sheet {title!r} is read, but not {', '.join(map(repr, list(filled)[1:]))}.")
    return tables.tabled(records.Records(str(path), lambda: iter(cells), reading), reading, large=False)


def check(path: Path, form: Form) -> None:
    """Accept every form, if openpyxl is installed."""
    needed("openpyxl", str(path), OTHERWISE)


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the header, if there is one, and the rows."""
    book = needed("openpyxl", str(path), OTHERWISE).Workbook(write_only=True)
    sheet, table = book.create_sheet("Sheet1"), form.as_table()
    if form.header:
        sheet.append(list(form.header))
    for columns in all_columns(blocks, table):
        for row in zip(*map(plain_values, columns), strict=True):
            sheet.append([None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row])
    book.save(path)


def _cells(sheet: Any, file: bounds.BoundedFile) -> list[records.Line]:
    """The rows of a sheet without the empty ones around the table, and as wide as the widest."""
    rows, count = list[tuple[int, list[Any]]](), 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        count += len(row)
        file.allow(CELL * count)  # a single cell far down or right adds all before it
        rows.append((number, list(row)))
    filled = [number for number, row in rows if any(cell is not None for cell in row)]
    if not filled:
        return []
    rows = [(number, row) for number, row in rows if filled[0] <= number <= filled[-1]]
    width = max(place for _, row in rows for place, cell in enumerate(row, 1) if cell is not None)
    return [(number, row[:width] + [None] * (width - len(row))) for number, row in rows]
