"""Control charts: statistics over time with their limits, and which sensors made an alarm."""

from __future__ import annotations

import numpy as np

from preimage._typing import RowsLike
from preimage.plot.style import COLORS, GREY, grid_of_axes, one_axes


def chart(monitor, X: RowsLike, axes=None, *, first: int = 1):
    """T² and SPE of a run over time, each with its limit, on logarithmic scales; rows with an alarm are marked.

    Where a constant sensor has moved SPE is infinite, and is drawn at the top.

    Parameters
    ----------
    monitor : Monitor
        Fitted.
    X : array of shape (rows, d)
        A run in time order.
    axes : two matplotlib axes, optional
        A new figure where it is None.
    first : int
        The number of the first row.

    Returns
    -------
    axes : array of two matplotlib axes
    """
    axes = grid_of_axes(axes, 2, 1, size=(7.2, 2.1)).ravel()
    found = monitor.statistics(X)
    time = np.arange(first, first + len(found.T2))
    for ax, title, values, limit in zip(axes, ("T²", "SPE"), found, monitor.limits_, strict=True):
        shown = _drawable(values, limit)
        over = values > limit
        ax.plot(time, shown, color=COLORS[0], linewidth=0.9, label=title)
        ax.plot(time[over], shown[over], "v", color=COLORS[4], markersize=3, label=f"alarm, {over.sum()} rows")
        ax.axhline(limit, color="black", linestyle="--", linewidth=1, label=f"limit {limit:.3g}")
        ax.set(yscale="log", ylabel=title)
        ax.margins(x=0.01)
        ax.legend(fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    axes[-1].set_xlabel("row")
    return axes


def contributions(monitor, X: RowsLike, row: int, ax=None, *, n_columns: int = 10):
    """What each sensor contributes to the statistics of one row of a run, the largest on top.

    Each bar shows the reading, and the expected one if all other sensors are right.

    Parameters
    ----------
    monitor : Monitor
        Fitted.
    X : array of shape (rows, d)
        A run in time order, up to the row at least.
    row : int
        Its number, counted from 0.
    ax : matplotlib axes, optional
        Where to draw; a new figure where it is None.
    n_columns : int
        How many sensors.

    Returns
    -------
    ax : matplotlib axes
    """
    ax = one_axes(ax)
    table = monitor.diagnose(X, rows=[row], n_columns=n_columns)
    sizes = np.array(table["contribution"])
    finite = sizes[np.isfinite(sizes)]
    sizes = np.where(np.isfinite(sizes), sizes, 1.2 * finite.max(initial=1.0))
    places = np.arange(len(sizes))[::-1]
    ax.barh(places, sizes, color=[COLORS[4]] + [GREY] * (len(sizes) - 1))
    for place, size, reading, expected in zip(places, sizes, table["reading"], table["expected"], strict=True):
        ax.text(size, place, f" {reading:.4g}, expected {expected:.4g}", va="center", fontsize="small")
    ax.set(yticks=places, yticklabels=table["column"], xlabel="contribution", xlim=(0, 1.9 * max(sizes.max(), 1e-300)))
    return ax


def _drawable(values: np.ndarray, limit: float) -> np.ndarray:
    """Positive finite numbers for a logarithmic scale."""
    finite = values[np.isfinite(values)]
    top = 10 * max(finite.max(initial=0), limit)
    return np.clip(values, 1e-6 * limit if limit > 0 else np.finfo(float).tiny, top)
