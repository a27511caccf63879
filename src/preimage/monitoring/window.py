"""The input of the model: each row, filtered by the memory, beside the rows before it."""

from __future__ import annotations

import numpy as np

from preimage.monitoring.ewma_cusum import Memory


class Window:
    """Rows with their past, (zₜ, zₜ₋₁, …, zₜ₋ₖ), from scaled rows in time order, given in blocks of any size.

    The first row stands in for the missing rows before it. The state has a fixed size.
    """

    def __init__(self, d: int, lags: int, memory: Memory):
        self._lags, self._memory = lags, memory
        self._average = np.zeros(d)
        self._past: np.ndarray | None = None

    def extend(self, Z: np.ndarray) -> np.ndarray:
        """The rows with their past, shape (rows, (k + 1) d)."""
        Z = self._memory.filter(Z, self._average)
        self._average = Z[-1]
        if not self._lags:
            return Z
        past = np.repeat(Z[:1], self._lags, axis=0) if self._past is None else self._past
        run = np.concatenate([past, Z])
        self._past = run[-self._lags :]
        return np.hstack([run[self._lags - lag : len(run) - lag] for lag in range(self._lags + 1)])
