"""Whether a model from a file can be used: its numbers are finite, and its parts fit together."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from preimage.exceptions import ModelFileError, PreimageWarning, silenced

SIZES = ("n_features_in_", "n_components_")
METHODS = ("transform", "predict", "score_samples")


def check_usable(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Refuse a model with numbers that are not finite, sizes beyond its arrays, or no answer to a row of its own."""
    if not all(np.isfinite(array).all() for array in arrays if array.dtype.kind in "fc"):
        raise ModelFileError("one of its arrays holds numbers that are not finite.")
    largest = max((max(array.shape, default=1) for array in arrays), default=1)
    for name in SIZES:
        size = getattr(model, name, 0)
        if type(size) is not int and not isinstance(size, np.integer):
            raise ModelFileError(f"its {name} is no whole number.")
        if not 0 <= size <= largest:
            raise ModelFileError(f"its {name} is {size:.3g}, and no array of it has that many rows or columns.")
    if hasattr(model, "n_features_in_"):
        _try(model, arrays)


def _try(model: Any, arrays: Sequence[np.ndarray]) -> None:
    """Ask a copy for its answer to one row."""
    model = copy(model)
    vars(model).pop("feature_names_in_", None)  # scikit-learn would warn about a row without names
    row = _row(model.n_features_in_, arrays)
    try:
        with silenced(PreimageWarning), np.errstate(all="ignore"):
            answers = [getattr(model, name)(row) for name in METHODS if hasattr(model, name)]
    except Exception as error:  # parts that do not fit together can fail in any way
        raise ModelFileError(f"its parts do not fit together ({type(error).__name__}).") from error
    if not all(np.isfinite(answer).all() for answer in answers if np.asarray(answer).dtype.kind in "fc"):
        raise ModelFileError("its answers are not finite.")


def _row(width: int, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A row that the model was fitted on, if it holds any."""
    for array in arrays:
        if array.ndim == 2 and array.shape[1] == width and len(array) and array.dtype.kind == "f":
            return array[:1]
    return np.full((1, width), 0.5)
