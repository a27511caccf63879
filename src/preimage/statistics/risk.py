"""The error of a map from noisy rows to clean ones, estimated without clean rows.

``ask(Y, rng)`` returns the rows to map, and a function that evaluates the mapped rows, so that any caller can map them
in one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from preimage._typing import Array, RowsLike
from preimage.gram import slicing
from preimage.kernels.base import positive

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class RiskQuery:
    """Rows to map, and the function that turns the mapped rows into one error per noisy row."""

    rows: np.ndarray
    evaluate: Callable[[np.ndarray], np.ndarray]


class Risk(Protocol):
    """An estimate of the error of a map; ``verb`` names the estimator's method, "denoise" or "impute"."""

    verb: str

    def ask(self, Y: np.ndarray, rng: np.random.Generator) -> RiskQuery:
        """The query for noisy rows Y."""


@dataclass(frozen=True, eq=False)
class RiskEstimate:
    """An estimate of the mean squared error of an entry.

    Attributes
    ----------
    value : float
        The estimate; it may be negative if the error is small compared to the noise.
    standard_error : float
        The standard error of the value, from the variation between rows; NaN for a single row.
    rows : array of shape (rows,)
        The error of every row; single errors are noisy, so use their mean.

    See Also
    --------
    sure, masked_error : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import sure
    >>> noisy = 1 + 0.4 * np.random.default_rng(0).standard_normal((500, 20))
    >>> risk = sure(lambda Y: (Y + 1) / 2, noisy, sigma=0.4)  # halves the noise
    >>> bool(abs(risk.value - 0.4**2 / 4) < 3 * risk.standard_error)
    True
    """

    value: float
    standard_error: float
    rows: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> RiskEstimate:
        """The estimate from the errors of rows."""
        error = float(rows.std(ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else float("nan")
        return cls(float(rows.mean()), error, rows)


@dataclass(frozen=True)
class Sure:
    """Stein's unbiased risk estimate by a random probe, for y = x + σε with Gaussian ε.

        ‖f(y) − x‖²/d  ≈  ‖f(y) − y‖²/d − σ² + (2σ²/d) · bᵀ(f(y + hb) − f(y))/h,      b = ±1

    unbiased up to O(h) for any f that is independent of the noise of y: rows used to fit f give too low a risk.

    Parameters
    ----------
    sigma : float
        The standard deviation of the noise; an error of 1 % in it changes the risk of all maps by about 2σ²/100.
    step : float
        h as a fraction of σ. Maps that jump, such as nearest neighbours, need a longer step for less noise; smooth maps
        need a shorter step for less bias.

    See Also
    --------
    sure : The estimate for one map.
    Masked : For noise of another law.

    References
    ----------
    Stein (1981); Ramani, Blu & Unser (2008), eq. 14, for the probe.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import Sure, select
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> grid = {"kernel": ["linear"], "n_components": [1, 5]}
    >>> select(noisy, risk=Sure(sigma=0.1), grid=grid, random_state=0).best.n_components_
    1
    """

    sigma: float
    step: float = 0.2
    verb = "denoise"

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)
        positive("step", self.step)

    def ask(self, Y: np.ndarray, rng: np.random.Generator) -> RiskQuery:
        """The query: the rows, and the rows moved along b."""
        h = self.step * self.sigma
        # One draw per sign, so that the probe of a row does not depend on the batches.
        probe = np.where(rng.random(Y.shape) < 0.5, -1, 1).astype(Y.dtype)

        return RiskQuery(np.concatenate([Y, Y + h * probe]), lambda answers: self.evaluate(Y, probe, answers))

    def evaluate(self, Y: np.ndarray, probe: np.ndarray, answers: np.ndarray, where: np.ndarray | bool = True) -> Array:
        """The risk of each row, from the mapped rows Y followed by the mapped rows Y + h · probe.

        ``where`` selects the entries that count; it must not depend on their own noise.
        """
        still, moved = answers[: len(Y)], answers[len(Y) :]
        divergence = probe * (moved - still) / (self.step * self.sigma)
        entries = np.square(still - Y) + self.sigma**2 * (2 * divergence - 1)
        return np.mean(entries, axis=tuple(range(1, Y.ndim)), dtype=float, where=where)


@dataclass(frozen=True)
class Masked:
    """The error at hidden entries that the map fills in.

    For noise of any law that is independent between entries, this is the error of the map at unseen entries plus the
    variance of the noise. The latter is the same for all maps, so the estimate ranks maps without knowing the noise.

    Parameters
    ----------
    fraction : float
        The share of entries to hide, at least one in every row.

    See Also
    --------
    masked_error : The estimate for one map.
    Sure : For Gaussian noise of known level.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import Masked, select
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> grid = {"kernel": ["linear"], "n_components": [1, 5]}
    >>> result = select(noisy, risk=Masked(0.2), grid=grid, random_state=0)
    >>> round(result.table[0].risk, 2)  # the noise's variance, 0.01, is part of it
    0.01
    """

    fraction: float = 0.1
    verb = "impute"

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise ValueError(f"fraction, the share of hidden entries, must lie between 0 and 1, not {self.fraction!r}.")

    def ask(self, Y: np.ndarray, rng: np.random.Generator) -> RiskQuery:
        """The query: the rows with hidden entries as NaN."""
        draws = rng.random(Y.shape)
        hidden = draws < np.maximum(self.fraction, np.nextafter(draws.min(axis=1, keepdims=True), 1))
        hidden[hidden.all(axis=1), 0] = Y.shape[1] == 1  # some entry must stay visible
        count = hidden.sum(axis=1)

        def evaluate(answers: np.ndarray) -> np.ndarray:
            return np.sum(np.square(answers - Y), axis=1, where=hidden, dtype=float) / count

        return RiskQuery(np.where(hidden, np.nan, Y), evaluate)


def sure(function: Map, Y: RowsLike, sigma: float, *, step: float = 0.2, random_state: int = 0) -> RiskEstimate:
    """The mean squared error of ``function`` as a denoiser, from noisy rows alone.

    Parameters
    ----------
    function : callable
        Maps noisy rows to clean ones, each row by itself. It must not have been fitted on these rows.
    Y : array of shape (rows, d)
        Noisy rows, processed in batches.
    sigma : float
        Standard deviation of the noise, see :func:`preimage.selection.noise_level`.
    step, random_state
        The probe's length as a fraction of σ, and its seed. The result does not depend on the batches.

    See Also
    --------
    masked_error : For noise of another law.
    Sure : The formula.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import sure
    >>> noisy = 1 + 0.4 * np.random.default_rng(0).standard_normal((500, 20))
    >>> risk = sure(lambda Y: (Y + 1) / 2, noisy, sigma=0.4)  # halves the noise
    >>> round(risk.value, 2)  # 0.4²/4
    0.04
    """
    return estimate(Sure(sigma, step), function, Y, random_state=random_state)


def masked_error(function: Map, X: RowsLike, *, fraction: float = 0.1, random_state: int = 0) -> RiskEstimate:
    """The mean squared error at hidden entries of a ``function`` that fills NaN entries.

    Parameters
    ----------
    function : callable
        Maps rows with NaN entries to complete ones.
    X : array of shape (rows, d)
        Rows in which to hide entries.
    fraction : float
        The share of entries to hide, at least one in every row.
    random_state : int
        Seed of the choice.

    See Also
    --------
    sure : For Gaussian noise of known level.
    Masked : The same as an object, for :func:`select`.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.selection import masked_error
    >>> X = np.random.default_rng(0).standard_normal((500, 20))
    >>> round(masked_error(np.nan_to_num, X).value, 1)  # filled with 0: the variance is left
    1.0
    """
    return estimate(Masked(fraction), function, X, random_state=random_state)


def estimate(risk: Risk, function: Map, Y: RowsLike, *, random_state: int = 0) -> RiskEstimate:
    """The estimate of a risk of any kind, batch by batch."""
    Y, rng = _rows(Y), np.random.default_rng(random_state)
    parts = []
    for rows in slicing.row_blocks(len(Y), 8 * Y.itemsize * Y.shape[1]):
        question = risk.ask(Y[rows], rng)
        parts.append(question.evaluate(np.asarray(function(question.rows))))
    return RiskEstimate.of(np.concatenate(parts))


def _rows(Y: RowsLike) -> np.ndarray:
    Y = np.asarray(Y)
    if Y.ndim != 2 or not Y.size or Y.dtype.kind not in "fiub":
        raise ValueError("a risk needs a matrix of real numbers, one observation per row.")
    return Y if Y.dtype.kind == "f" else Y.astype(float)
