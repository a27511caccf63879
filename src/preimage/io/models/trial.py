"""Whether a model from a file can be used: its numbers are finite, and its parts fit together."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from preimage.exceptions import ModelFileError, PreimageWarning, silenced
from preimage.kernels import Kernel

WIDEST = 10**6  # columns, if the model's arrays do not show their number
METHODS = ("transform", "predict", "score_samples", "denoise")
SLOW = ("denoise",)  # for a kernel PCA, which would search for pre-images


def check_usable(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Refuse a fitted model with matrices that are not finite, sizes beyond its arrays, or no result for rows."""
    if not hasattr(model, "n_features_in_"):
        return
    tags = get_tags(model).input_tags
    matrices = [array for array in arrays if array.ndim == 2 and array.dtype.kind == "f"]
    if not tags.allow_nan and not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ModelFileError("one of its matrices holds numbers that are not finite.")
    largest = max((max(array.shape, default=1) for array in arrays), default=1)
    _check_size(model, "n_features_in_", max(largest, WIDEST))
    _check_size(model, "n_components_", largest)
    if not tags.pairwise:  # rows of a kernel matrix may also need their diagonal
        _check_parts(model)
        _try(model, arrays)


def _check_size(model: Any, name: str, largest: int) -> None:
    size = getattr(model, name, 1)
    if not isinstance(size, int | np.integer) or not 1 <= size <= largest:
        raise ModelFileError(f"its {name} is {size!r:.40}, which does not match its arrays.")


def _check_parts(model: Any) -> None:
    """Refuse a kernel PCA whose parts for pre-images disagree; trying pre-images would take too long."""
    parts, matrices = getattr(model, "decomposition_", None), [getattr(model, "rows_", None)]
    if parts is not None:
        matrices = [getattr(parts, "inputs", ()), getattr(parts, "points", ())]
        shapes = {getattr(getattr(parts, name, None), "shape", ()) for name in ("eigenvalues", "offsets", "residuals")}
        if [len(shape) for shape in shapes] != [1]:
            raise ModelFileError("its parts do not fit together: a component lacks its eigenvalue, offset or residual.")
        if not isinstance(getattr(parts, "kernel", None), Kernel):
            raise ModelFileError("its parts do not fit together: it has no kernel.")
    if not all(_is_matrix(rows, model.n_features_in_) for rows in matrices if parts is not None or rows is not None):
        raise ModelFileError("its parts do not fit together: its training rows do not have the columns of the model.")
    seed = getattr(model, "_seed", 0 if parts is None else None)
    if type(seed) is not int or seed < 0:
        raise ModelFileError(f"its seed is {seed!r:.40}, not a whole number.")


def _is_matrix(rows: Any, width: int) -> bool:
    """Whether rows are a matrix of this width, dense or sparse, of numbers whose squares can be summed."""
    values = getattr(rows, "data", None) if sp.issparse(rows) else rows
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or rows.ndim != 2 or rows.shape[1] != width:
        return False
    reach = np.sqrt(np.finfo(values.dtype).max / max(values.size, 1))
    return rows.shape[0] > 0 and float(np.nanmax(np.abs(values), initial=0)) <= reach


def _try(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Refuse a model that fails for trial rows, or whose results are not finite."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # scikit-learn would warn about rows without names
    rows = _rows(model.n_features_in_, arrays)
    names = [
        name for name in METHODS if hasattr(model, name) and not (name in SLOW and hasattr(model, "decomposition_"))
    ]
    try:
        with silenced(PreimageWarning), np.errstate(all="ignore"):
            answers = {name: np.asarray(getattr(model, name)(rows)) for name in names}
    except Exception as error:  # parts that do not fit together can fail in any way
        raise ModelFileError(f"its parts do not fit together ({type(error).__name__}).") from error
    scores = answers.pop("score_samples", np.zeros(0))  # −∞ where a constant sensor has changed
    finite = all(np.isfinite(answer).all() for answer in answers.values() if answer.dtype.kind == "f")
    if not finite or np.isnan(scores).any():
        raise ModelFileError("its results are not finite.")


def _rows(width: int, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Trial rows, training rows if the model holds any; no axis of its arrays is as long as their number."""
    sizes = {size for array in arrays for size in array.shape}
    number = next(number for number in count(2) if number not in sizes)
    for array in arrays:
        if array.ndim == 2 and array.shape[1] == width and len(array) and array.dtype.kind == "f":
            return np.resize(array[:number], (number, width))
    return np.full((number, width), 0.5)
