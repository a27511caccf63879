"""Limits of the statistics from rows that the model has not seen, and p-values.

A row that a model was fitted on lies closer to it than a new row does, and more so the more components it has. Normal
rows exceed limits taken from such rows far more often than stated. Here every row that sets a limit is scored by a
model that was fitted without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr

from preimage.kernels.base import is_number

SMALLEST = 1e-12  # relative size below which a statistic is round-off


@dataclass(frozen=True)
class LimitRule:
    """Where limits come from.

    Parameters
    ----------
    tail : "quantile" or "kde"
        The conformal quantile, or the quantile of a kernel density estimate of the log index, which is smoother if few
        rows set the limit but has no guarantee.
    """

    tail: str = "quantile"
    fits = True
    """Whether ``fit`` of the monitor fits the model."""

    def __post_init__(self):
        if self.tail not in ("quantile", "kde"):
            raise ValueError(f'tail must be "quantile" or "kde", not {self.tail!r}.')

    def n_fitted(self, n: int) -> int:
        """The number of rows, the first of n, that the model is fitted on."""
        return n


@dataclass(frozen=True)
class Cross(LimitRule):
    """Every block of consecutive rows is scored by a model of the other blocks.

    Blocks keep rows that are correlated in time together; rows beside a block, as far as lags and memory reach, are
    left out of its model. A model of fewer rows returns slightly larger statistics than the final one of all rows. A
    second pass with blocks twice as long measures by how much, and the statistics are corrected accordingly.

    Parameters
    ----------
    tail : "quantile" or "kde"
        The conformal quantile, or the quantile of a kernel density estimate of the log index, which is smoother if few
        rows set the limit but has no guarantee.
    n_blocks : int
        The number of blocks, at least 4.

    See Also
    --------
    LastRows : One split, with a guarantee.
    preimage.Monitor : Takes it as ``limits``.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.monitoring import Cross
    >>> rng = np.random.default_rng(0)
    >>> normal, new = rng.standard_normal((200, 4)), rng.standard_normal((2000, 4))
    >>> monitor = Monitor(KernelPCA(2, kernel="linear"), alpha=0.05, limits=Cross(n_blocks=5)).fit(normal)
    >>> bool(0.02 < np.mean(monitor.predict(new) == -1) < 0.08)  # false alarms, near alpha
    True
    """

    n_blocks: int = 10

    def __post_init__(self):
        super().__post_init__()
        if not is_number(self.n_blocks) or self.n_blocks < 4 or self.n_blocks != int(self.n_blocks):
            raise ValueError(f"n_blocks must be a whole number of at least 4, not {self.n_blocks!r}.")


@dataclass(frozen=True)
class LastRows(LimitRule):
    """The last rows set the limits, and the model is fitted on the others alone.

    For exchangeable rows the probability of a false alarm is then at most alpha, for any distribution and any model:
    P(p ≤ alpha) ≤ alpha (Vovk et al. 2005).

    Parameters
    ----------
    tail : "quantile" or "kde"
        See :class:`Cross`; the guarantee holds for "quantile".
    share : float
        The share of the rows that sets the limits.

    See Also
    --------
    Cross : Uses all rows for the model and for the limits.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.monitoring import LastRows
    >>> normal = np.random.default_rng(0).standard_normal((200, 4))
    >>> monitor = Monitor(KernelPCA(2, kernel="linear"), alpha=0.05, limits=LastRows(share=0.5)).fit(normal)
    >>> bool(np.mean(monitor.predict(normal[100:]) == -1) <= 0.05)  # those that set the limits
    True
    """

    share: float = 0.3

    def __post_init__(self):
        super().__post_init__()
        if not is_number(self.share) or not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, not {self.share!r}.")

    def n_fitted(self, n: int) -> int:
        return n - max(1, round(self.share * n))


@dataclass(frozen=True)
class HeldOut(LimitRule):
    """The rows given to ``fit`` set the limits only; the model was fitted before, on other rows.

    Parameters
    ----------
    tail : "quantile" or "kde"
        See :class:`Cross`.

    See Also
    --------
    LastRows : Splits the rows itself.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.monitoring import HeldOut
    >>> normal = np.random.default_rng(0).standard_normal((200, 4))
    >>> kpca = KernelPCA(2, kernel="linear").fit(normal[:100])
    >>> monitor = Monitor(kpca, alpha=0.05, limits=HeldOut()).fit(normal[100:])
    >>> bool(np.mean(monitor.predict(normal[100:]) == -1) <= 0.05)  # those that set the limits
    True
    """

    fits = False


@dataclass(frozen=True)
class Training(LimitRule):
    """The training rows set the limits: common, but false alarms exceed the stated rate; for comparison.

    Parameters
    ----------
    tail : "quantile" or "kde"
        See :class:`Cross`.

    See Also
    --------
    Cross : Limits from rows that the model has not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.monitoring import Training
    >>> rng = np.random.default_rng(0)
    >>> normal, new = rng.standard_normal((60, 20)), rng.standard_normal((1000, 20))
    >>> monitor = Monitor(KernelPCA(15, kernel="linear"), alpha=0.05, limits=Training()).fit(normal)
    >>> bool(np.mean(monitor.predict(new) == -1) > 0.1)  # twice as many false alarms as stated, and more
    True
    """


NAMES = {"cross": Cross(), "kde": Cross("kde"), "split": LastRows(), "held_out": HeldOut(), "training": Training()}


def as_limits(limits: Any) -> LimitRule:
    """A limit rule from a name or an object."""
    if isinstance(limits, LimitRule):
        return limits
    if isinstance(limits, str) and limits in NAMES:
        return NAMES[limits]
    raise ValueError(
        f"limits must be {', '.join(map(repr, NAMES))} or an object such as Cross(n_blocks=5), not {limits!r}."
    )


def time_blocks(n: int, n_blocks: int, gap: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive blocks, each with the indices of the rows to fit its model on."""
    edges = np.linspace(0, n, n_blocks + 1).astype(int)
    for start, stop in pairwise(edges):
        yield slice(start, stop), np.r_[0 : max(0, start - gap), min(n, stop + gap) : n]


def conformal_quantile(values: np.ndarray, alpha: float) -> float:
    """The ⌈(1 − alpha)(n + 1)⌉-th smallest: a new value of the same law exceeds it with probability at most alpha.

    With fewer than 1/alpha − 1 values none is large enough, and the largest is returned.
    """
    place = min(ceil((1 - alpha) * (len(values) + 1) * (1 - 1e-12)), len(values)) - 1
    return float(np.partition(values, place)[place])


def moment_limits(values: np.ndarray, alpha: float) -> np.ndarray:
    """The 1 − alpha quantile of the g χ²ₕ with the mean and variance of each column.

    This is the classical limit (Box 1954; Nomikos & MacGregor 1995). Here it only makes T² and SPE comparable.
    """
    mean, variance = values.mean(axis=0), values.var(axis=0)
    mean = np.maximum(mean, SMALLEST * max(float(mean.max()), np.finfo(float).tiny))
    variance = np.maximum(variance, (SMALLEST * mean) ** 2)
    return variance / (2 * mean) * chdtri(2 * mean**2 / variance, alpha)


def average_run_length(alarms: np.ndarray) -> float:
    """Average number of rows from one alarm to the next; consecutive alarms count once. Infinite without alarms."""
    begun = int(alarms[0]) + int(np.sum(alarms[1:] & ~alarms[:-1]))
    return len(alarms) / begun if begun else float("inf")


@dataclass(frozen=True, eq=False)
class Reference:
    """The statistics of normal rows that the model has not seen: limits, the index and p-values follow from them.

    The index of a row is max(T²/limit, SPE/limit). Normal rows exceed one or both limits at the rate alpha: the limits
    are the scales of the two times the one number that makes the quantile of the index 1.

    Parameters
    ----------
    limits : array of shape (2,)
    indices : array of shape (n,)
        Of the normal rows, ascending.
    tail : str
        See :class:`LimitRule`.
    """

    limits: np.ndarray
    indices: np.ndarray
    tail: str

    @classmethod
    def of(cls, values: np.ndarray, scales: np.ndarray, alpha: float, tail: str = "quantile") -> Reference:
        """The reference from statistics of normal rows, shape (n, 2), and scales that make the two comparable.

        The scales must not be extremes of the same rows: those rows could never exceed them, but new ones would.
        """
        indices = np.sort((values / scales).max(axis=1))
        joint = conformal_quantile(indices, alpha) if tail == "quantile" else _density_quantile(indices, alpha)
        joint = max(joint, np.finfo(float).tiny)
        return cls(joint * scales, indices / joint, tail)

    def index(self, values: np.ndarray) -> np.ndarray:
        """max(T²/limit, SPE/limit): an alarm where it exceeds 1."""
        return (values / self.limits).max(axis=1)

    def p_values(self, index: np.ndarray) -> np.ndarray:
        """(1 + how many normal rows have at least that index) / (n + 1); by the density estimate with ``"kde"``."""
        if self.tail == "kde":
            return _density_tail(self.indices, index)
        n = len(self.indices)
        return (1 + n - np.searchsorted(self.indices, index, side="left")) / (n + 1)


def _bandwidth(logs: np.ndarray) -> float:
    """Silverman's bandwidth (1986, eq. 3.31)."""
    spread = min(logs.std(), np.subtract(*np.quantile(logs, [0.75, 0.25])) / 1.349) or logs.std()
    return max(0.9 * spread * len(logs) ** -0.2, SMALLEST)


def _density_tail(indices: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The probability of a larger index, by a Gaussian density estimate of its logarithm; zeros are never larger."""
    logs = np.log(indices[indices > 0])
    if not len(logs):
        return (index <= 0).astype(float)
    width, share = _bandwidth(logs), len(logs) / len(indices)
    asked = np.log(np.maximum(index, np.finfo(float).tiny))
    return np.array([share * ndtr((logs - value) / width).mean() for value in asked])


def _density_quantile(indices: np.ndarray, alpha: float) -> float:
    """The index that is exceeded with probability alpha by the same estimate; 0 if too few are positive."""
    positive = indices[indices > 0]
    if len(positive) <= alpha * len(indices):
        return 0.0
    reach = 40 * _bandwidth(np.log(positive))
    low, high = np.log(positive[[0, -1]]) + [-reach, reach]
    return float(np.exp(brentq(lambda value: _density_tail(indices, np.exp([value]))[0] - alpha, low, high)))
