"""Gaps of a column, filled from its own entries: from neighbouring rows if these are a series, else by the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["FilledColumn", "filled_column", "line_error"]

MOVED = 8  # how many times the gaps of a column are moved along it, to measure the error of lines


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
    found = _on_lines(column) if is_series else np.full(len(column), known.mean())
    found[places] = known
    return FilledColumn(found, bool(is_series), min(from_line, from_mean))


def _on_lines(column: np.ndarray) -> np.ndarray:
    """A column whose gaps lie on lines between the entries before and after them; at an end, on the nearest entry."""
    places = np.flatnonzero(~np.isnan(column))
    return np.interp(np.arange(len(column)), places, column[places])


def line_error(column: np.ndarray) -> float:
    """The root mean squared error of the lines at observed entries, hidden by gaps moved along the column."""
    lost, errors = np.isnan(column), []
    for shift in np.linspace(0, len(column), MOVED + 2)[1:-1].astype(int):
        hidden = np.roll(lost, shift) & ~lost
        if hidden.any() and not (hidden | lost).all():
            errors.append((_on_lines(np.where(hidden, np.nan, column)) - column)[hidden])
    return _root_mean_square(np.concatenate(errors)) if errors else np.inf


def _between(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The line between its neighbours at every entry but the first and the last."""
    share = (places[1:-1] - places[:-2]) / (places[2:] - places[:-2])
    return known[:-2] + share * (known[2:] - known[:-2])


def _root_mean_square(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
