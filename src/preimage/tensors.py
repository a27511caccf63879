"""Arrays of libraries other than numpy: torch, and those that follow the array API."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def is_tensor(X: Any) -> bool:
    """Whether X is an array of a library other than numpy; imports none of them."""
    if isinstance(X, np.ndarray | np.generic):
        return False
    torch = sys.modules.get("torch")
    return hasattr(X, "__array_namespace__") or (torch is not None and isinstance(X, torch.Tensor))


def namespace(X: Any) -> Any:
    """The library that an array belongs to."""
    return X.__array_namespace__() if hasattr(X, "__array_namespace__") else sys.modules["torch"]


def as_numpy(X: Any) -> np.ndarray:
    """An array of any library as a numpy array, without a copy if it is in main memory."""
    return X.detach().cpu().numpy() if hasattr(X, "detach") else np.from_dlpack(X)


def as_double(X: Any) -> Any:
    """The array in double precision."""
    return cast(X, namespace(X).float64)


def cast(X: Any, dtype: Any) -> Any:
    """The array as numbers of another type of its library."""
    if isinstance(X, np.ndarray):
        return X.astype(dtype, copy=False)
    return X.to(dtype) if hasattr(X, "to") else namespace(X).astype(X, dtype)
