"""Gaps of a single column, filled from neighbouring rows if these are a series, else by the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["FilledColumn", "filled_column"]


@dataclass(frozen=True, eq=False)
class FilledColumn:
    """A column without gaps.

    Attributes
    ----------
    values : array of shape (n,)
    is_series : bool
        Whether gaps are filled by lines between their neighbours; else they are filled by the mean.
    error : float
        The root mean squared leave-one-out error at observed entries.
    """

    values: np.ndarray
    is_series: bool
    error: float


def filled_column(column: np.ndarray) -> FilledColumn:
    """The column with gaps (NaN) filled by the line between the entries around them, or by the mean.

    An entry xᵢ left out has the error xᵢ − (xᵢ₋₁ + xᵢ₊₁)/2 on the line, and n/(n − 1) (xᵢ − x̄) at the mean; the better
    method is used. A gap at an end gets the value of the nearest entry.
    """
    places = np.flatnonzero(~np.isnan(column))
    known = column[places]
    from_mean = _root_mean_square((known - known.mean()) * len(known) / max(len(known) - 1, 1))
    from_line = _root_mean_square(known[1:-1] - _between(places, known)) if len(known) > 2 else np.inf
    is_series = from_line < from_mean
    found = np.interp(np.arange(len(column)), places, known) if is_series else np.full(len(column), known.mean())
    found[places] = known
    return FilledColumn(found, bool(is_series), min(from_line, from_mean))


def _between(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The line between its neighbours at every entry but the first and the last."""
    share = (places[1:-1] - places[:-2]) / (places[2:] - places[:-2])
    return known[:-2] + share * (known[2:] - known[:-2])


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
