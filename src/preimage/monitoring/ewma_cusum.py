"""Memory for faults that are too small for one row: averages of rows, and sums of what exceeds the usual.

A memory has two parts, of which it uses one: a filter of the scaled rows, before the model sees them, and a recursion
over the statistics that the model returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from scipy.signal import lfilter

from preimage.kernels.base import is_number

__all__ = ["CUSUM", "EWMA", "Memory", "as_memory"]


@dataclass(frozen=True)
class Memory:
    """No memory: every row stands for itself."""

    @property
    def span(self) -> int:
        """How many earlier rows a filtered row still holds a good part of."""
        return 0

    def filter(self, Z: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The scaled rows as the model shall see them; ``state`` is the filtered row before the first."""
        return Z

    def accumulate(self, values: np.ndarray, state: np.ndarray) -> np.ndarray:
        """The charted values from standardised ones, shape (rows, 2); ``state`` is what was charted before."""
        raise NotImplementedError

    @property
    def sums(self) -> bool:
        """Whether standardised statistics are accumulated."""
        return False


@dataclass(frozen=True)
class EWMA(Memory):
    """Exponentially weighted moving average of the rows, z̄ₜ = (1 − w) z̄ₜ₋₁ + w zₜ, z̄₀ = 0 (Lowry et al. 1992, eq. 2.2).

    The model is fitted on averaged rows too, so that T² takes their covariance, which is smaller by about w/(2 − w):
    a lasting shift stands out of it the more, the smaller w, and takes about 1/w rows to be seen.

    Parameters
    ----------
    weight : float
        w in (0, 1]; 1 has no memory.
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
    """Cumulative sum Sₜ = max(0, Sₜ₋₁ + uₜ − k), S₀ = 0, of the standardised logarithm u of each statistic.

    (Page 1954; logarithms, because T² and SPE have long right tails.) It keeps what single rows lose when a statistic
    is only a little higher than usual, for long. After a fault it comes down slowly.

    Parameters
    ----------
    slack : float
        k, in standard deviations: what is higher than usual by less than that is forgotten.
    """

    slack: float = 0.5

    def __post_init__(self):
        if not is_number(self.slack) or self.slack < 0:
            raise ValueError(f"the slack of a CUSUM must be a number of at least 0, not {self.slack!r}.")

    @property
    def sums(self) -> bool:
        return True

    def accumulate(self, values: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Without a loop: Sₜ = cₜ − min(0, min of c up to t), c the running sum from the state on."""
        running = state + np.cumsum(values - self.slack, axis=0)
        return running - np.minimum(np.minimum.accumulate(running, axis=0), 0)


MEMORIES: dict[str, Memory] = {"ewma": EWMA(), "cusum": CUSUM()}


def as_memory(memory: Any) -> Memory:
    """A memory from what users type: None, a name or an object."""
    if memory is None:
        return Memory()
    if isinstance(memory, Memory):
        return memory
    if isinstance(memory, str) and memory in MEMORIES:
        return MEMORIES[memory]
    raise ValueError(
        f"memory must be None, {', '.join(map(repr, MEMORIES))} or an object such as EWMA(0.2), not {memory!r}."
    )
