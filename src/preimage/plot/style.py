"""Colours, markers and line styles, and new axes if none are given."""

from __future__ import annotations

from typing import Any

import numpy as np

# Okabe & Ito (2008), "Color universal design"; yellow comes last, because it is hard to see on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vPX*<>p"  # eleven: with eight colours, styles repeat after 88
LINES = ("-", "--", "-.", ":")
GREY = "#8A9097"


def style(number: int) -> dict[str, Any]:
    """The look of the ``number``-th curve."""
    return {
        "color": COLORS[number % len(COLORS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
        "markersize": 4,
    }


def one_axes(ax):
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def grid_of_axes(axes, n_rows: int, n_columns: int, *, size: tuple[float, float]) -> np.ndarray:
    """The given axes as an array of this shape, or those of a new figure; ``size`` is in inches per axes."""
    if axes is None:
        import matplotlib.pyplot as plt

        width, height = size
        figsize = (width * n_columns, height * n_rows)
        return plt.subplots(n_rows, n_columns, figsize=figsize, squeeze=False, layout="constrained")[1]
    given = np.atleast_1d(np.asarray(axes, dtype=object))
    if given.size != n_rows * n_columns:
        raise ValueError(f"{given.size} axes are given, but {n_rows} × {n_columns} are needed.")
    return given.reshape(n_rows, n_columns)


def page_axes(n_rows: int, n_columns: int, size: tuple[float, float]) -> np.ndarray:
    """Axes of a figure of this size in inches, which is never shown in a window."""
    from matplotlib.figure import Figure

    return Figure(size, layout="constrained").subplots(n_rows, n_columns, squeeze=False)


def thinned(count: int, most: int = 12) -> int:
    """The interval between markers on a curve of so many points."""
    return max(1, -(-count // most))
