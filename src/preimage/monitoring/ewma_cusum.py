"""Memory for faults that are too small to show in one row: averages of rows, or cumulative sums of the statistics.

A memory either filters the scaled rows before the model sees them, or accumulates the model's statistics.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.signal import lfilter

from preimage.kernels.base import is_number


@dataclass(frozen=True)
class Memory:
    """No memory: every row by itself."""

    sums = False
    """Whether the memory accumulates statistics."""

    @property
    def span(self) -> int:
        """How many earlier rows have a large weight in a filtered row."""
        return 0

    def filter(self, Z: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The filtered rows; ``state`` is the filtered row before the first."""
        return Z

    def accumulate(self, values: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The accumulated standardised values, shape (rows, 2); ``state`` is the value before the first."""
        raise NotImplementedError


@dataclass(frozen=True)
class EWMA(Memory):
    """Exponentially weighted moving average of the rows, z̄ₜ = (1 − w) z̄ₜ₋₁ + w zₜ, z̄₀ = 0 (Lowry et al. 1992, eq. 2.2).

    The model is fitted on averaged rows too, whose covariance is smaller by about w/(2 − w). The smaller w, the more a
    lasting shift stands out, and the longer it takes: about 1/w rows.

    Parameters
    ----------
    weight : float
        w in (0, 1]; 1 has no memory.

    See Also
    --------
    CUSUM : Accumulates the statistics rather than the rows.
    preimage.Monitor : Takes it as ``memory``.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.monitoring import EWMA
    >>> rng = np.random.default_rng(0)
    >>> normal, shifted = rng.standard_normal((400, 4)), rng.standard_normal((60, 4)) + 0.8
    >>> plain, averaged = (Monitor(KernelPCA(2, kernel="linear"), memory=memory) for memory in (None, EWMA(0.2)))
    >>> bool((averaged.fit(normal).predict(shifted) == -1).sum() > (plain.fit(normal).predict(shifted) == -1).sum())
    True
    """

    weight: float = 0.1

    def __post_init__(self):
        if not is_number(self.weight) or not 0 < self.weight <= 1:
            raise ValueError(f"the weight of an EWMA must lie in (0, 1], not {self.weight!r}.")

    @property
    def span(self) -> int:
        return ceil(1 / self.weight) - 1

    def filter(self, Z: np.ndarray, state: np.ndarray) -> np.ndarray:
        rest = 1 - self.weight
        return lfilter([self.weight], [1, -rest], Z, axis=0, zi=rest * state[None])[0]


@dataclass(frozen=True)
class CUSUM(Memory):
    """Cumulative sum Sₜ = max(0, Sₜ₋₁ + uₜ − k), S₀ = 0, of the standardised logarithm u of each statistic (Page 1954).

    It sums logarithms because T² and SPE have long right tails. It detects a statistic that stays slightly higher than
    usual, and comes down slowly after a fault.

    Parameters
    ----------
    slack : float
        k, in standard deviations: smaller excesses are not accumulated.

    See Also
    --------
    EWMA : Averages the rows rather than the statistics.
    preimage.Monitor : Takes it as ``memory``.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.monitoring import CUSUM
    >>> standardised = np.array([[0.0], [1.5], [1.5], [-3.0]])
    >>> CUSUM(slack=0.5).accumulate(standardised, np.zeros(1))[:, 0]
    array([0., 1., 2., 0.])
    """

    slack: float = 0.5
    sums = True

    def __post_init__(self):
        if not is_number(self.slack) or self.slack < 0:
            raise ValueError(f"the slack of a CUSUM must be a number of at least 0, not {self.slack!r}.")

    def accumulate(self, values: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Sₜ = cₜ − min(0, min of c up to t) without a loop; c is the running sum that starts at the state."""
        running = state + np.cumsum(values - self.slack, axis=0)
        return running - np.minimum(np.minimum.accumulate(running, axis=0), 0)


MEMORIES: dict[str, Memory] = {"ewma": EWMA(), "cusum": CUSUM()}


def as_memory(memory: Any) -> Memory:
    """A memory from None, a name or an object."""
    if memory is None:
        return Memory()
    if isinstance(memory, Memory):
        return memory
    if isinstance(memory, str) and memory in MEMORIES:
        return MEMORIES[memory]
    raise ValueError(
        f"memory must be None, {', '.join(map(repr, MEMORIES))} or an object such as EWMA(0.2), not {memory!r}."
    )
