"""Before and after: rows as images or signals, side by side; principal axes as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from preimage._typing import RowsLike
from preimage.plot.style import COLORS, GREY, grid_of_axes, style


def images(groups: Mapping[str, Any], shape: tuple[int, ...], axes=None, *, n_images: int = 8, cmap: str = "gray"):
    """One line of images per group, the same rows in each, all on the grey scale of the first group.

    Parameters
    ----------
    groups : dict of arrays of shape (rows, d)
        Such as ``{"clean": X, "noisy": Y, "denoised": kpca.denoise(Y)}``.
    shape : tuple
        The shape of a row: (height, width), or (height, width, 3) for colours in [0, 1].
    axes : matplotlib axes, optional
        As many as images are drawn; None makes a new figure.
    n_images : int
        The number of rows of each group.
    cmap : str
        The colours of grey images; "gray_r" draws ink on paper.

    Returns
    -------
    axes : array of matplotlib axes, one line per group

    See Also
    --------
    signals : Rows that are curves.

    Examples
    --------
    >>> from preimage import plot
    >>> from preimage.datasets import load_digits
    >>> X = load_digits().X[:4]
    >>> axes = plot.images({"digits": X, "negatives": 1 - X}, (8, 8), n_images=4)
    >>> [ax.get_ylabel() for ax in axes[:, 0]]
    ['digits', 'negatives']
    """
    rows = {name: _rows(name, X, int(np.prod(shape))) for name, X in groups.items()}
    first = next(iter(rows.values()))
    count = min(n_images, *(len(X) for X in rows.values()))
    axes = grid_of_axes(axes, len(rows), count, size=(0.9, 0.95))
    limits = {"vmin": float(first.min()), "vmax": float(first.max())}
    for line, (name, X) in zip(axes, rows.items(), strict=True):
        for ax, row in zip(line, X, strict=False):
            image = np.clip(row, 0, 1) if len(shape) == 3 else row
            ax.imshow(image.reshape(shape), cmap=cmap, interpolation="nearest", **limits)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set(linewidth=0.4, color=GREY)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", labelpad=6)
    return axes


def signals(groups: Mapping[str, Any], axes=None, *, n_signals: int = 3, rate: float | None = None):
    """One axes per signal, with one curve per group: the first group in grey, the others on top.

    Parameters
    ----------
    groups : dict of arrays of shape (rows, d) or (d,)
        Such as ``{"noisy": Y, "denoised": kpca.denoise(Y)}``.
    axes : matplotlib axes, optional
        As many as signals are drawn; None makes a new figure.
    n_signals : int
        The number of rows.
    rate : float, optional
        Samples per second; without it the samples are numbered.

    Returns
    -------
    axes : array of matplotlib axes

    See Also
    --------
    images : Rows that are images.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import plot
    >>> clean = np.sin(np.linspace(0, 6, 100))
    >>> noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(100)
    >>> axes = plot.signals({"noisy": noisy, "clean": clean})
    >>> [line.get_label() for line in axes.flat[0].lines]
    ['noisy', 'clean']
    """
    arrays = {name: np.atleast_2d(np.asarray(X, dtype=float)) for name, X in groups.items()}
    length = next(iter(arrays.values())).shape[1]
    rows = {name: _rows(name, X, length) for name, X in arrays.items()}
    count = min(n_signals, *(len(X) for X in rows.values()))
    axes = grid_of_axes(axes, count, 1, size=(7.0, 1.7)).ravel()
    time = np.arange(length) / (rate or 1)
    for k, ax in enumerate(axes):
        for number, (name, X) in enumerate(rows.items()):
            after = style(number - 1) | {"marker": "", "linewidth": 1.5}
            look = after if number else {"color": GREY, "linewidth": 0.8}
            ax.plot(time, X[k], **look, label=name)
        ax.margins(x=0)
    axes[0].legend(fontsize="small", ncols=len(rows), loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    axes[-1].set_xlabel("seconds" if rate else "sample")
    return axes


def eigenvectors(
    model, shape: tuple[int, ...] | None = None, axes=None, *, n_components: int = 8, step: float | None = 2.0
):
    """Pictures of the principal axes: points ``step`` standard deviations along them, on both sides of the mean.

    Parameters
    ----------
    model : KernelPCA or PCA
        A KernelPCA of this library, whose axes are shown by pre-images (see
        :meth:`preimage.KernelPCA.eigenvector_preimages`), or scikit-learn's PCA, whose axes lie in input space: x̄ ±
        step · σₖvₖ.
    shape : tuple, optional
        The shape of a row: (height, width) for images; None draws curves.
    axes : matplotlib axes, optional
        Two for every component; None makes a new figure.
    n_components : int
        The number of components.
    step : float, optional
        None takes the unit axes ±V themselves (Mika et al. 1998, Fig. 2).

    Returns
    -------
    axes : array of matplotlib axes, shape (2, n_components): along the axes above, against them below

    See Also
    --------
    traverse : Several steps along a component.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import load_digits
    >>> kpca = KernelPCA(3, random_state=0).fit(load_digits().X[:100])
    >>> axes = plot.eigenvectors(kpca, (8, 8), n_components=3)
    >>> [ax.get_title() for ax in axes[0]], [ax.get_ylabel() for ax in axes[:, 0]]
    (['1', '2', '3'], ['+', '−'])
    """
    sides = {"+": 0, "−": 1}
    found = _axes_of(model, n_components, step)
    axes = grid_of_axes(axes, 2, len(found[0]), size=(0.95, 1.0))
    for sign, side in sides.items():
        for k, (ax, row) in enumerate(zip(axes[side], found[side], strict=True)):
            if shape is None:
                ax.plot(row, color=COLORS[side])
            else:
                ax.imshow(row.reshape(shape), cmap="gray", interpolation="nearest")
            ax.set(xticks=[], yticks=[])
            if side == 0:
                ax.set_title(str(k + 1), fontsize="medium")
        axes[side, 0].set_ylabel(sign, rotation=0, ha="right", va="center", labelpad=6)
    return axes


def _axes_of(model, count: int, step: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Points on both sides of the mean, one row per component."""
    if hasattr(model, "eigenvector_preimages"):
        plus, minus = model.truncate(min(count, model.n_components_)).eigenvector_preimages(step)
        return plus.points, minus.points
    if not hasattr(model, "mean_"):
        raise TypeError(f"model must be a KernelPCA or scikit-learn's PCA, not {model!r}.")
    along = model.components_[:count]
    if step is None:
        return along, -along
    along = step * np.sqrt(model.explained_variance_[:count, None]) * along
    return model.mean_ + along, model.mean_ - along


def _rows(name: str, X: RowsLike, d: int) -> np.ndarray:
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != d or not len(X):
        raise ValueError(f"{name!r} has the shape {X.shape}, but rows of {d} numbers are needed.")
    return X
