"""Principal curves by Hastie and Stuetzle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PrincipalCurve:
    """A curve whose every point is the mean of the rows that project onto it.

    It starts at the first principal line. In turn, every row is projected onto the curve, and each coordinate is
    smoothed over the rows' positions along it. The width of the smoother is annealed, as in Mika et al. (1998).

    Parameters
    ----------
    widths : tuple of two floats
        Width of the smoother as a fraction of the curve's length, at the start and at the end.
    n_rounds : int
        The number of turns.
    n_nodes : int
        The number of corners of the polygon that represents the curve.

    References
    ----------
    Hastie and Stuetzle (1989); Mika et al. (1998), Figure 1; Schölkopf et al. (1998), §6.3.3.
    """

    widths: tuple[float, float] = (0.3, 0.05)
    n_rounds: int = 30
    n_nodes: int = 100

    def fit(self, X: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Find the curve; return a function that projects rows onto it."""
        curve = self.curve(X)
        return lambda rows: _project(rows, curve)[0]

    def curve(self, X: np.ndarray) -> np.ndarray:
        """The corners of the curve, in order."""
        mean = X.mean(axis=0)
        axis = np.linalg.svd(X - mean, full_matrices=False)[2][0]
        position = (X - mean) @ axis
        for width in np.geomspace(*self.widths, self.n_rounds):
            nodes = np.linspace(position.min(), position.max(), self.n_nodes)
            curve = _smooth(nodes, position, X, width * np.ptp(position))
            position = _project(X, curve)[1]
        return curve


def _smooth(nodes: np.ndarray, position: np.ndarray, X: np.ndarray, width: float) -> np.ndarray:
    """Local linear regression of every coordinate on the position, with Gaussian weights."""
    offset = position - nodes[:, None]
    weights = np.exp(-(offset**2) / (2 * width**2)) + 1e-12
    s0, s1, s2 = (np.sum(weights * offset**k, axis=1, keepdims=True) for k in range(3))
    local = weights * (s2 - s1 * offset)
    return local @ X / np.maximum(s0 * s2 - s1**2, 1e-12 * s0 * s2 + 1e-300)


def _project(rows: np.ndarray, curve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest point of the polygon for every row, and its position along the polygon."""
    start, step = curve[:-1], np.diff(curve, axis=0)
    lengths = np.linalg.norm(step, axis=1)
    along = np.einsum("nsd,sd->ns", rows[:, None] - start, step) / np.maximum(lengths**2, 1e-300)
    along = np.clip(along, 0, 1)
    feet = start + along[..., None] * step
    best = np.argmin(np.square(rows[:, None] - feet).sum(axis=2), axis=1)
    pick = np.arange(len(rows))
    position = np.concatenate([[0], np.cumsum(lengths)])[best] + along[pick, best] * lengths[best]
    return feet[pick, best], position
