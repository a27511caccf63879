"""Parquet tables, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import base, tables
from preimage.io.base import Data, Form, Reading, needed
from preimage.io.chunks import BLOCK
from preimage.io.columns import Pieces, all_columns


def read(path: Path, reading: Reading) -> Data:
    """Rows of a table; nulls are missing numbers, and columns of other types are carried along."""
    table = _Parquet(path)
    return tables.tabled(table, reading, large=8 * table.count() * len(table.kinds) > base.LARGE)


def check(path: Path, form: Form) -> None:
    """A table holds everything, where pyarrow is installed."""
    needed("pyarrow.parquet", str(path))


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the rows as they come."""
    arrow, parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
    table, writer = form.as_table(), None
    try:
        for columns in all_columns(blocks, table):
            named = form.columns if table is None else table.names
            names = named or [f"column_{number + 1}" for number in range(len(columns))]
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
        return arrow.array(np.ascontiguousarray(column))
    pieces = [piece if hasattr(piece, "to_pylist") else _typed(arrow, piece) for piece in column]
    return arrow.chunked_array(pieces)


def _typed(arrow: Any, values: list[Any]) -> Any:
    try:
        return arrow.array(values)
    except arrow.ArrowException:  # cells of a spreadsheet may be of several types
        return arrow.array([None if value is None else str(value) for value in values])


class _Parquet:
    """A parquet file as a table."""

    def __init__(self, path: Path):
        self.name, self._path = str(path), path
        self._arrow, self._parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
        try:
            schema, self._rows = self._parquet.read_schema(path), self._parquet.read_metadata(path).num_rows
        except Exception as error:  # arrow's own errors, and others for damaged files
            raise DataFileError(f"{path} is empty, damaged, or no parquet file.") from error
        self.names: tuple[str, ...] | None = tuple(schema.names)
        self.metadata = schema.metadata
        self._types = [field.type for field in schema]
        self.kinds = [self._kind(found) for found in self._types]
        self.head = self._first()

    def count(self) -> int:
        """The number of rows."""
        return self._rows

    def blocks(self, numbers: Sequence[int], others: Sequence[int]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        """Matrices of the columns of numbers, each with the other columns as arrow arrays."""
        for batch in self._batches():
            matrix = np.empty((len(batch), len(numbers)))
            for number, place in enumerate(numbers):
                if "number" not in self.kinds[place]:
                    told = f"{self.name}, column {(self.names or ())[place]!r}"
                    raise DataFileError(f"{told}: values of type {self._types[place]} are no numbers.")
                matrix[:, number] = batch.column(place).cast("float64", safe=False).to_numpy(zero_copy_only=False)
            yield matrix, [batch.column(place) for place in others]

    def _batches(self) -> Iterator[Any]:
        try:
            with self._parquet.ParquetFile(self._path) as file:
                yield from file.iter_batches(batch_size=BLOCK)
        except (self._arrow.ArrowException, OSError, ValueError) as error:
            raise DataFileError(f"{self.name} is damaged.") from error

    def _first(self) -> list[Sequence[Any]]:
        for batch in self._batches():
            return [column[: tables.HEAD].to_numpy(zero_copy_only=False) for column in batch.columns]
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
