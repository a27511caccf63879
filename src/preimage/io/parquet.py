"""Parquet tables, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import base, bounds, records, tables
from preimage.io.base import Data, Form, Reading, needed, note
from preimage.io.chunks import rows_at_once
from preimage.io.columns import Pieces, all_columns, arrow_matrix, distinct, in_words

RUN = 100_000  # numbers per byte of a table: columns that repeat one value are packed well


def read(path: Path, reading: Reading) -> Data:
    """Rows of a table; nulls are missing numbers, and columns of other types are carried along."""
    table = ParquetTable(path)
    return tables.tabled(table, reading, large=8 * table.count() * len(table.kinds) > base.LARGE)


def check(path: Path, form: Form) -> None:
    """Accept every form, if pyarrow is installed; equal names are changed, because most readers refuse them."""
    needed("pyarrow.parquet", str(path))
    given = form.header or ()
    if renamed := [own for name, own in zip(given, distinct(given), strict=True) if name != own]:
        note(f"{path}: equal column names are made distinct: {in_words(renamed)}.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the rows block by block."""
    arrow, parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
    table, writer, names = form.as_table(), None, distinct(form.header or ())
    try:
        for columns in all_columns(blocks, table):
            names = names or tuple(f"column_{number + 1}" for number in range(len(columns)))
            batch = arrow.Table.from_arrays([_column(arrow, column) for column in columns], names=list(names))
            if table is not None and table.metadata:
                batch = batch.replace_schema_metadata(table.metadata)
            writer = writer or parquet.ParquetWriter(path, batch.schema)
            writer.write_table(batch)
    finally:
        if writer is not None:
            writer.close()


def _column(arrow: Any, column: np.ndarray | Pieces) -> Any:
    if isinstance(column, np.ndarray):
        return arrow.array(np.ascontiguousarray(column), from_pandas=True)  # gaps are nulls
    pieces = [piece if hasattr(piece, "to_pylist") else _typed(arrow, piece) for piece in column]
    return arrow.chunked_array(pieces)


def _typed(arrow: Any, values: list[Any]) -> Any:
    try:
        return arrow.array(values)
    except arrow.ArrowException:  # cells of a spreadsheet may be of several types
        return arrow.array([None if value is None else str(value) for value in values])


class ParquetTable:
    """A parquet file as a table: in blocks of rows, or one of its row groups at a time."""

    def __init__(self, path: Path):
        self.name, self._path = str(path), path
        self._arrow, self._parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
        with bounds.opened(path, "parquet file") as file, self._parquet.ParquetFile(file.stream) as table:
            schema, found = table.schema_arrow, table.metadata
            groups = [found.row_group(number) for number in range(found.num_row_groups)]
            file.allow(sum(group.total_byte_size for group in groups))
            self.group_sizes = [group.num_rows for group in groups]
            file.allow(found.num_rows * len(schema), RUN)
        self.names: tuple[str, ...] | None = tuple(schema.names)
        self.metadata = schema.metadata
        self._types = [field.type for field in schema]
        self.kinds = [self._kind(found) for found in self._types]

    def count(self) -> int:
        """The number of rows."""
        return sum(self.group_sizes)

    @property
    def numeric(self) -> tuple[int, ...]:
        """The places of the columns of numbers or booleans; a column of only nulls is not one."""
        types = self._arrow.types
        tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
        return tuple(place for place, found in enumerate(self._types) if any(test(found) for test in tests))

    def group(self, number: int, places: Sequence[int]) -> np.ndarray:
        """Columns of the rows of one row group; nulls are missing numbers."""
        parts = [arrow_matrix(batch, places) for batch in self._batches(row_groups=[number])]
        return np.concatenate([np.empty((0, len(places))), *parts])

    def blocks(self, numbers: Sequence[int], others: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Matrices of the columns of numbers, each with the other columns as arrow arrays."""
        for batch in self._batches():
            for place in numbers:
                if "number" not in self.kinds[place]:
                    where = f"{self.name}, column {(self.names or ())[place]!r}"
                    raise DataFileError(f"{where}: values of type {self._types[place]} are not numbers.")
            yield arrow_matrix(batch, numbers), [batch.column(place) for place in others]

    def _batches(self, **options: Any) -> Iterator[Any]:
        try:
            with bounds.opened(self._path, timed=False) as file, self._parquet.ParquetFile(file.stream) as table:
                yield from table.iter_batches(batch_size=rows_at_once(len(self.kinds)), **options)
        except DataFileError:
            raise
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise DataFileError(f"{self.name} is damaged.") from error

    @cached_property
    def head(self) -> list[Sequence[Any]]:
        """The first cells of every column."""
        for batch in self._batches():
            return [column[: records.HEAD].to_numpy(zero_copy_only=False) for column in batch.columns]
        return [[] for _ in self.kinds]

    def _kind(self, found: Any) -> str:
        types = self._arrow.types
        if types.is_integer(found):
            return "whole numbers"
        if types.is_floating(found) or types.is_decimal(found) or types.is_null(found):
            return "numbers"
        if types.is_boolean(found):
            return "true or false"
        words = {types.is_temporal: "dates", types.is_string: "text", types.is_large_string: "text"}
        words |= {types.is_dictionary: "categories"}
        return next((word for test, word in words.items() if test(found)), str(found))
