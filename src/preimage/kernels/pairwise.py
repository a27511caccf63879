"""A kernel given as a function of two rows, as in scikit-learn: one call per pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp

from preimage._typing import Array, Rows
from preimage.kernels.base import Kernel


@dataclass(frozen=True)
class Pairwise(Kernel):
    """A function of two rows, called once per pair, in one thread at a time: others would wait for Python's lock."""

    function: Callable[..., float]
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    positive_definite = False  # unknown

    def __call__(self, X: Rows, Y: Rows) -> Array:
        values, xs, ys = np.zeros((X.shape[0], Y.shape[0])), _each_row(X), _each_row(Y)
        with self._lock:
            for i, x in enumerate(xs):
                start = i if X is Y else 0
                values[i, start:] = [self.function(x, y) for y in ys[start:]]
        return values + np.triu(values, 1).T if X is Y else values

    def diagonal(self, X: Rows) -> Array:
        return np.array([self.function(x, x) for x in _each_row(X)], dtype=float)


def _each_row(X: Rows) -> list[Rows]:
    """The rows as vectors, or as one-row matrices where X is sparse."""
    return [X[[i], :] if sp.issparse(X) else X[i] for i in range(X.shape[0])]
