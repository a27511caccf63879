"""A fitted model with its scaling: from rows in time order to T² and SPE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage.monitoring import t2_spe
from preimage.monitoring.ewma_cusum import Memory
from preimage.monitoring.limits import time_blocks
from preimage.monitoring.window import Window
from preimage.scaling import Scaling

Fit = Callable[[np.ndarray], Any]  # from rows to a fitted KernelPCA


@dataclass(frozen=True, eq=False)
class ProcessModel:
    """Maps rows to statistics.

    Parameters
    ----------
    scaling : Scaling
    model : KernelPCA
        Fitted on scaled, filtered rows with their past.
    variances : array of shape (q,)
        Of its codes over the training rows, λₖ/(n − 1).
    lags : int
    memory : Memory
    """

    scaling: Scaling
    model: Any
    variances: np.ndarray
    lags: int
    memory: Memory

    @classmethod
    def of(cls, fit: Fit, X: np.ndarray, rows: np.ndarray, lags: int, memory: Memory) -> ProcessModel:
        """Fit on some of the rows of a run, which also set the scaling."""
        scaling = Scaling.of(X[rows])
        features = Window(X.shape[1], lags, memory).extend(scaling.apply(X))[rows[rows >= lags]]
        model = fit(np.ascontiguousarray(features))
        return cls(scaling, model, model.eigenvalues_ / (len(features) - 1), lags, memory)

    def window(self) -> Window:
        """The state before the first row of a run."""
        return Window(len(self.scaling.mean), self.lags, self.memory)

    def statistics(self, features: np.ndarray) -> np.ndarray:
        """T² and SPE of rows with their past, shape (rows, 2)."""
        return t2_spe.statistics(self.model.decomposition_, self.variances, features)

    def past(self, X: np.ndarray) -> np.ndarray:
        """The rows of a run, scaled, filtered and with their past."""
        return self.window().extend(self.scaling.apply(X))


def cross_fitted(fit: Fit, X: np.ndarray, n_blocks: int, lags: int, memory: Memory) -> np.ndarray:
    """Statistics of the rows of a run, each by a model that has not seen it, in time order, from row ``lags`` on.

    They are corrected for the smaller training sets. If s(m) are the statistics by models of m rows, log s is nearly
    linear in 1/m. It is known at m = n(1 − 1/K) and, with half as many blocks, at n(1 − 2/K); it is extrapolated from
    these to n.
    """
    n_blocks = max(2, min(n_blocks, len(X) // (2 * (lags + memory.span + 1))))
    found = _left_out(fit, X, n_blocks, lags, memory)
    if n_blocks < 4:
        return found
    fewer = _left_out(fit, X, n_blocks // 2, lags, memory)
    more, less = 1 / (1 - 1 / n_blocks), 1 / (1 - 1 / (n_blocks // 2))  # n/m
    reach = (more - 1) / (less - more)
    return found * np.exp([reach * _slope(a, b) for a, b in zip(fewer.T, found.T, strict=True)])


def _slope(fewer: np.ndarray, more: np.ndarray) -> float:
    """The mean change of the logarithm over the largest quarter of the rows, which set the limits; at most 0."""
    known = (fewer > 0) & (more > 0)
    if not known.any():
        return 0.0
    logs = np.log(np.stack([fewer[known], more[known]]))
    size = logs.sum(axis=0)
    large = size >= np.quantile(size, 0.75)
    return min(0.0, float((logs[1] - logs[0])[large].mean()))


def _left_out(fit: Fit, X: np.ndarray, n_blocks: int, lags: int, memory: Memory) -> np.ndarray:
    found = np.empty((len(X), 2))
    for block, others in time_blocks(len(X), n_blocks, lags + memory.span):
        process = ProcessModel.of(fit, X, others, lags, memory)
        found[block] = process.statistics(process.past(X)[block])
    return found[lags:]
