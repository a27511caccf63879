"""Parquet tables, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from preimage.chunks import BLOCK
from preimage.data_files.base import Data, Form, needed
from preimage.exceptions import DataFileError


def read(path: Path) -> Data:
    """Rows of a table whose columns are all numbers; nulls are missing numbers."""
    arrow, parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
    try:
        schema, rows = parquet.read_schema(path), parquet.read_metadata(path).num_rows
    except (arrow.ArrowException, OSError) as error:
        raise DataFileError(f"{path} is empty, damaged, or no parquet file.") from error
    for field in schema:
        types = arrow.types
        if not (types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)):
            raise DataFileError(f"{path}, column {field.name!r}: values of type {field.type} are no numbers.")

    def walk() -> Iterator[np.ndarray]:
        try:
            for batch in parquet.ParquetFile(path).iter_batches(batch_size=BLOCK):
                columns = [column.to_numpy(zero_copy_only=False).astype(float) for column in batch.columns]
                yield np.stack(columns, axis=1)
        except (arrow.ArrowException, OSError) as error:
            raise DataFileError(f"{path} is damaged.") from error

    form = Form(columns=tuple(schema.names), alone="signal" if len(schema) == 1 else "")
    data = Data(str(path), walk, (rows, len(schema)), form)
    return data if data.is_large else Data(data.name, np.concatenate(list(walk())), data.shape, form)


def check(path: Path, form: Form) -> None:
    """A table holds everything, where pyarrow is installed."""
    needed("pyarrow.parquet", str(path))


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write the rows as they come."""
    arrow, parquet = needed("pyarrow", str(path)), needed("pyarrow.parquet", str(path))
    writer = None
    try:
        for block in blocks:
            names = form.columns or tuple(f"column_{number + 1}" for number in range(block.shape[1]))
            batch = arrow.table(
                {name: np.ascontiguousarray(column) for name, column in zip(names, block.T, strict=True)}
            )
            writer = writer or parquet.ParquetWriter(path, batch.schema)
            writer.write_table(batch)
    finally:
        if writer is not None:
            writer.close()
