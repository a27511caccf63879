"""Control charts: statistics over time with their limits, and the contributions of the sensors."""

from __future__ import annotations

import numpy as np

from preimage.plot.style import COLORS, GREY, grid_of_axes, one_axes


def chart(monitor, X, axes=None, *, time=None):
    """T² and SPE of a run over time with their limits, on logarithmic scales; alarms are marked.

    SPE is infinite where a constant sensor has changed, and is then drawn at the top.

    Parameters
    ----------
    monitor : Monitor
        Fitted.
    X : array of shape (rows, d)
        A run in time order.
    axes : two matplotlib axes, optional
        None makes a new figure.
    time : array of shape (rows,), optional
        Numbers or datetimes of the rows, in time order; by default 1, 2, ….

    Returns
    -------
    axes : array of two matplotlib axes

    See Also
    --------
    contributions : Which sensor causes an alarm.
    preimage.Monitor : The statistics and their limits.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor, plot
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> monitor = Monitor(KernelPCA(2, kernel="linear")).fit(X)
    >>> [ax.get_ylabel() for ax in plot.chart(monitor, X[:50])]
    ['T²', 'SPE']
    """
    axes = grid_of_axes(axes, 2, 1, size=(7.2, 2.1)).ravel()
    found = monitor.statistics(X)
    time = np.arange(1, len(found.T2) + 1) if time is None else np.asarray(time)
    is_numbered = time.dtype.kind in "iuf"  # dates need no label
    for ax, title, values, limit in zip(axes, ("T²", "SPE"), found, monitor.limits_, strict=True):
        shown = _drawable(values, limit)
        over = values > limit
        ax.plot(time, shown, color=COLORS[0], linewidth=0.9, label=title)
        ax.plot(time[over], shown[over], "v", color=COLORS[4], markersize=3, label=f"alarms: {over.sum()}")
        ax.axhline(limit, color="black", linestyle="--", linewidth=1, label=f"limit {limit:.3g}")
        ax.set(yscale="log", ylabel=title)
        ax.margins(x=0.01)
        ax.legend(fontsize="small", ncols=3, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
        if not is_numbered:
            _shorten_dates(ax)
    axes[-1].set_xlabel("row" if is_numbered else "")
    return axes


def contributions(monitor, X, row: int, ax=None, *, n_columns: int = 10):
    """Contribution of each sensor to the statistics of one row of a run, the largest on top.

    Beside each bar are the reading, and the reading expected from all other sensors.

    Parameters
    ----------
    monitor : Monitor
        Fitted.
    X : array of shape (rows, d)
        A run in time order, at least up to the row.
    row : int
        The index of the row, from 0.
    ax : matplotlib axes, optional
        None makes a new figure.
    n_columns : int
        How many sensors to show.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    chart : The statistics over time, with the alarms.
    preimage.Monitor.diagnose : The same as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor, plot
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> monitor = Monitor(KernelPCA(2, kernel="linear")).fit(X)
    >>> X[10, 3] = 9  # a sensor is off
    >>> plot.contributions(monitor, X, 10).get_yticklabels()[0].get_text().split()[0]
    'x3'
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


def _shorten_dates(ax) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=8)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _drawable(values: np.ndarray, limit: float) -> np.ndarray:
    """Positive finite numbers for a logarithmic scale."""
    finite = values[np.isfinite(values)]
    top = 10 * max(finite.max(initial=0), limit)
    return np.clip(values, 1e-6 * limit if limit > 0 else np.finfo(float).tiny, top)
