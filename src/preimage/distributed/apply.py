"""A fitted model applied to the rows of a Dask array: lazy Dask arrays of known shapes."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._typing import RowsLike
from preimage.distributed import cluster
from preimage.distributed.rows import checked, checked_block
from preimage.estimators.inverse import warn_if_nothing_is_filtered
from preimage.gram.tiles import floating_dtype

ONE_NUMBER = {"predict": np.dtype(np.int64), "score_samples": None}  # methods with one number per row: its type


@cluster.sized
@dataclass(frozen=True, eq=False)
class ChunkTask:
    """A method of a fitted model with its options, for every chunk."""

    model: Any
    method: str
    options: dict[str, Any]
    dtype: np.dtype
    working_memory: float

    def __call__(self, block: np.ndarray, number: int, expected: np.dtype) -> np.ndarray:
        """The result for a chunk; threads share the model."""
        block = checked_block(block, number, expected, nan=self.method == "impute")
        if not len(block):
            return self._nothing(block.shape[1])
        with cluster.as_one_of_many(self.working_memory):
            answer = getattr(self.model, self.method)(block, **self.options)
        return np.asarray(answer).astype(self.dtype, copy=False)

    def _nothing(self, n_columns: int) -> np.ndarray:
        width = answer_width(self.model, self.method, n_columns)
        return np.empty((0,) if width is None else (0, width), self.dtype)


def lazy(model, method: str, X: RowsLike, **options: Any):
    """The results of a method for the rows of a Dask array, as a lazy array."""
    check_is_fitted(model)
    array = checked(X)
    _check(model, method, array, options)
    dtype, width = _dtype(model, method, array.dtype), answer_width(model, method, array.shape[1])
    task = ChunkTask(slim(model), method, options, dtype, cluster.budget())
    return da.map_blocks(
        _ask,
        array,
        task=dask.delayed(task, traverse=False),  # once in the graph, so that the array needs no data of a client
        expected=array.dtype,
        dtype=dtype,
        meta=np.empty((0,) if width is None else (0, 0), dtype),
        **({"drop_axis": 1} if width is None else {"chunks": (array.chunks[0], (width,))}),
    )


def answer_width(model, method: str, n_columns: int) -> int | None:
    """Columns of the result; None if it is one number per row."""
    if method in ONE_NUMBER:
        return None
    if method == "inverse_transform":
        return model.n_features_in_
    return getattr(model, "_n_features_out", n_columns) if method == "transform" else n_columns


def slim(model):
    """A copy without the moments, which only a further fit needs and which are most of a model on landmarks."""
    small = copy(model)
    if hasattr(model, "decomposition_"):
        small.decomposition_ = model.decomposition_.without_moments()
    return small


def _check(model, method: str, array, options: dict[str, Any]) -> None:
    coded = method == "inverse_transform"
    width, what = (model.n_components_, "components") if coded else (model.n_features_in_, "columns")
    if array.shape[1] != width:
        raise ValueError(f"the Dask array has {array.shape[1]} columns, but this model has {width} {what}.")
    for name in ("out", "diagonal"):
        if options.get(name) is not None:
            raise ValueError(f"{name} is for rows in memory: leave it out for a Dask array.")
    if method == "denoise" and hasattr(model, "decomposition_"):
        warn_if_nothing_is_filtered(model.decomposition_)


def _dtype(model, method: str, given) -> np.dtype:
    if ONE_NUMBER.get(method) is not None:
        return ONE_NUMBER[method]  # type: ignore[return-value]
    fitted = getattr(model, "decomposition_", None)
    return floating_dtype(given) if fitted is None else np.result_type(floating_dtype(given), fitted.dtype)


def _ask(block, task: ChunkTask, expected, block_id=None):
    return task(block, block_id[0], expected)
