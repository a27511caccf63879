"""What the model sees of a row: the row itself, filtered by the memory, and those before it."""

from __future__ import annotations

import numpy as np

from preimage.monitoring.ewma_cusum import Memory

__all__ = ["Window"]


class Window:
    """Scaled rows in time order, a few or many at a time, to rows with their past: (zₜ, zₜ₋₁, …, zₜ₋ₖ).

    Before the first row there is none; it stands for its own past. This is the only state beside the memory's sums, and
    its size does not grow.
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
