"""Whether a model from a file can be used: its numbers are finite, and its parts fit together."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from preimage.exceptions import ModelFileError, PreimageWarning, silenced

WIDEST = 10**7  # columns of rows that leave no trace in a model's arrays
METHODS = ("transform", "predict")


def check_usable(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Refuse a fitted model with matrices that are not finite, sizes beyond its arrays, or no answer to a row."""
    if not hasattr(model, "n_features_in_"):
        return
    tags = get_tags(model).input_tags
    matrices = [array for array in arrays if array.ndim == 2 and array.dtype.kind == "f"]
    if not tags.allow_nan and not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ModelFileError("one of its matrices holds numbers that are not finite.")
    largest = max((max(array.shape, default=1) for array in arrays), default=1)
    _check_size(model, "n_features_in_", max(largest, WIDEST))
    _check_size(model, "n_components_", largest)
    if not tags.pairwise:  # rows of a kernel matrix may need their own values beside them
        _try(model, arrays)


def _check_size(model: Any, name: str, largest: int) -> None:
    size = getattr(model, name, 1)
    if not isinstance(size, int | np.integer) or not 1 <= size <= largest:
        raise ModelFileError(f"its {name} is {size!r:.40}, which does not go with its arrays.")


def _try(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Ask a copy for its answer to one row."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # scikit-learn would warn about a row without names
    row = _row(model.n_features_in_, arrays)
    try:
        with silenced(PreimageWarning), np.errstate(all="ignore"):
            answers = [np.asarray(getattr(model, name)(row)) for name in METHODS if hasattr(model, name)]
    except Exception as error:  # parts that do not fit together can fail in any way
        raise ModelFileError(f"its parts do not fit together ({type(error).__name__}).") from error
    if not all(np.isfinite(answer).all() for answer in answers if answer.dtype.kind == "f"):
        raise ModelFileError("its answers are not finite.")


def _row(width: int, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A row that the model was fitted on, if it holds any."""
    for array in arrays:
        if array.ndim == 2 and array.shape[1] == width and len(array) and array.dtype.kind == "f":
            return array[:1]
    return np.full((1, width), 0.5)
