"""Pictures in a plane: components over two-dimensional data, and codes."""

from __future__ import annotations

import numpy as np

from preimage.plot.style import COLORS, MARKERS, grid_of_axes, one_axes
from preimage.preimages.base import dense_rows

FEW = 20  # up to this many different labels are classes, more are positions on a scale


def components(
    model, axes=None, *, n_components: int | None = None, labels=None, levels: int = 11, resolution: int = 80
):
    """Contours of the components of a model of two-dimensional data, one axes per component.

    Points with the same code lie on one line (Schölkopf et al. 1998, Figs. 3–5); the line of code 0 is thicker.

    Parameters
    ----------
    model : KernelPCA
        Fitted on rows of two columns; the rows are drawn too.
    axes : matplotlib axes, optional
        As many as components are drawn; None makes a new figure.
    n_components : int, optional
        The number of components; None draws as many as there are axes, or up to eight.
    labels : array, optional
        Of the training rows, see :func:`codes`.
    levels : int
        The number of lines; an odd number puts one at 0.
    resolution : int
        Points along each side at which the components are evaluated.

    Returns
    -------
    axes : array of matplotlib axes

    See Also
    --------
    codes : The rows, by their codes.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import three_clusters
    >>> kpca = KernelPCA(3).fit(three_clusters(random_state=0).X)
    >>> [ax.get_title() for ax in plot.components(kpca, resolution=20).flat]
    ['1: 53% of the variance', '2: 38% of the variance', '3: 4% of the variance']
    """
    if model.n_features_in_ != 2:
        raise ValueError(f"contours need data of two columns, but this model has {model.n_features_in_}.")
    count = n_components or (min(8, model.n_components_) if axes is None else np.size(axes))
    if count > model.n_components_:
        raise ValueError(f"{count} components cannot be drawn: this model has {model.n_components_}.")
    axes = _component_axes(axes, count)
    points = dense_rows(model.decomposition_.inputs)
    x, y = _lattice(points, resolution)
    values = model.transform(np.column_stack([x.ravel(), y.ravel()])).T.reshape(-1, *x.shape)
    for k in range(count):
        _contours(axes[k], x, y, values[k], levels)
        _scatter(axes[k], points, labels, size=8, legend=False)
        axes[k].set_title(f"{k + 1}: {model.explained_variance_ratio_[k]:.0%} of the variance", fontsize="medium")
    return axes


def codes(Z, labels=None, ax=None, *, pair: tuple[int, int] = (0, 1)):
    """Two components of the codes, one point per row.

    Parameters
    ----------
    Z : array of shape (rows, q)
        Codes, as ``kpca.transform(X)`` returns them.
    labels : array of shape (rows,), optional
        Up to twenty classes, each with a colour, a marker and a line in the legend; more labels are positions on a
        scale with a colour bar.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.
    pair : tuple of two ints
        Which components, counted from 0.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    components : The components as functions of the plane.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import three_clusters
    >>> data = three_clusters(random_state=0)
    >>> ax = plot.codes(KernelPCA(2).fit_transform(data.X), data.labels)
    >>> ax.get_xlabel(), len(ax.get_legend().get_texts())
    ('component 1', 3)
    """
    ax, Z = one_axes(ax), np.asarray(Z)
    if Z.ndim != 2 or max(pair) >= Z.shape[1]:
        raise ValueError(f"codes of shape {Z.shape} do not have the components {pair[0]} and {pair[1]}.")
    _scatter(ax, Z[:, list(pair)], labels, size=16, legend=True)
    ax.set(xlabel=f"component {pair[0] + 1}", ylabel=f"component {pair[1] + 1}")
    return ax


def _contours(ax, x, y, values, levels: int) -> None:
    bound = float(np.abs(values).max()) or 1.0
    at = np.linspace(-bound, bound, levels + 2)
    ax.contourf(x, y, values, at, cmap="PuOr_r", alpha=0.6)
    widths = np.where(np.abs(at[1:-1]) < 1e-9 * bound, 1.6, 0.6)
    ax.contour(x, y, values, at[1:-1], colors="#333333", linewidths=widths, linestyles="solid")
    ax.set(xticks=[], yticks=[], aspect="equal")


def _lattice(points: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.15 * np.maximum(high - low, np.finfo(float).tiny).max()
    x, y = (np.linspace(a - margin, b + margin, resolution) for a, b in zip(low, high, strict=True))
    xs, ys = np.meshgrid(x, y)
    return xs, ys


def _scatter(ax, points: np.ndarray, labels, *, size: float, legend: bool) -> None:
    if labels is None:
        ax.scatter(*points.T, s=size, color="black" if not legend else COLORS[0], alpha=0.7, linewidths=0)
        return
    labels = np.asarray(labels)
    classes = np.unique(labels)
    if len(classes) > FEW:
        shown = ax.scatter(*points.T, s=size, c=labels, cmap="cividis", linewidths=0)
        if legend:
            ax.figure.colorbar(shown, ax=ax)
        return
    for number, name in enumerate(classes):
        color, marker = COLORS[number % len(COLORS)], MARKERS[number % len(MARKERS)]
        chosen = points[labels == name]
        ax.scatter(*chosen.T, s=size, color=color, marker=marker, edgecolors="white", linewidths=0.3, label=str(name))
    if legend:
        ax.legend(fontsize="small", markerscale=1.5)


def _component_axes(axes, count: int) -> np.ndarray:
    """The given axes, or new ones in lines of at most four."""
    if axes is not None:
        return grid_of_axes(axes, 1, count, size=(0, 0))[0]
    n_rows = -(-count // 4)
    new = grid_of_axes(None, n_rows, -(-count // n_rows), size=(2.6, 2.4)).ravel()
    for ax in new[count:]:
        ax.remove()
    return new[:count]
