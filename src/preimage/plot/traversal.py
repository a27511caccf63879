"""A walk through the codes of a model, along one component or across a plane of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from preimage.plot.style import COLORS, grid_of_axes

INNER = 0.02, 0.98  # quantiles of the codes where the walk starts and ends


def traverse(
    model: Any,
    shape: tuple[int, ...] | None = None,
    axes=None,
    *,
    components: int | tuple[int, int] = 0,
    n_steps: int = 9,
    codes=None,
    cmap: str = "gray",
):
    """Rows that a model decodes from codes along one component, or on a lattice of two.

    The walk goes through the median of the codes, from their 2 % quantile to their 98 % quantile.

    Parameters
    ----------
    model : estimator with ``inverse_transform``
        :class:`preimage.KernelPCA`, :class:`preimage.Decoder`, :class:`preimage.Invertible`, or any other if its
        ``codes`` are given.
    shape : tuple, optional
        The shape of a row: (height, width) for images; None draws curves.
    axes : matplotlib axes, optional
        One per step along a component, or the square of that across a plane; None makes a new figure.
    components : int or pair of ints
        Which component, counted from 0, or which two: the first runs to the right, the second upwards.
    n_steps : int
        The number of pictures along a component.
    codes : array of shape (rows, q), optional
        Codes of known rows, which set the range; None takes those that the model knows.
    cmap : str
        The colours of grey images.

    Returns
    -------
    axes : array of matplotlib axes, shape (1, n_steps) or (n_steps, n_steps)

    See Also
    --------
    eigenvectors : The two ends of every component.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import load_digits
    >>> kpca = KernelPCA(3, random_state=0).fit(load_digits().X[:100])
    >>> axes = plot.traverse(kpca, (8, 8), n_steps=5)
    >>> axes.shape, axes[0, 2].get_xlabel()
    ((1, 5), 'component 1')
    """
    pair = (components,) if isinstance(components, int | np.integer) else tuple(components)
    known = _codes_of(model) if codes is None else np.asarray(codes)
    rows = np.asarray(model.inverse_transform(_lattice(known, pair, n_steps)))
    if shape is not None and np.prod(shape) != rows.shape[1]:
        raise ValueError(f"rows of {rows.shape[1]} numbers do not have the shape {shape}.")
    axes = grid_of_axes(axes, n_steps if len(pair) == 2 else 1, n_steps, size=(0.9, 0.95))
    limits = float(rows.min()), float(rows.max())
    for ax, row in zip(axes.ravel(), rows, strict=True):
        if shape is None:
            ax.plot(row, color=COLORS[0])
            ax.set_ylim(*limits)
        else:
            ax.imshow(row.reshape(shape), cmap=cmap, interpolation="nearest", vmin=limits[0], vmax=limits[1])
        ax.set(xticks=[], yticks=[])
    axes[-1, n_steps // 2].set_xlabel(f"component {pair[0] + 1}")
    if len(pair) == 2:
        axes[n_steps // 2, 0].set_ylabel(f"component {pair[1] + 1}")
    return axes


def _lattice(codes: np.ndarray, pair: tuple[int, ...], n_steps: int) -> np.ndarray:
    """Codes of the walk, row by row of the picture, the top row first."""
    if not all(0 <= k < codes.shape[1] for k in pair) or len(pair) not in (1, 2):
        raise ValueError(f"components must be one or two of 0 to {codes.shape[1] - 1}, not {pair}.")
    low, high = np.quantile(codes, INNER, axis=0)
    steps = np.linspace(low, high, n_steps)
    walk = np.tile(np.median(codes, axis=0), (n_steps ** len(pair), 1))
    walk[:, pair[0]] = np.tile(steps[:, pair[0]], len(walk) // n_steps)
    if len(pair) == 2:
        walk[:, pair[1]] = np.repeat(steps[::-1, pair[1]], n_steps)
    return walk


def _codes_of(model: Any) -> np.ndarray:
    if hasattr(model, "codes_"):
        return model.codes_
    if hasattr(model, "decomposition_"):
        return model.decomposition_.input_codes
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    raise TypeError(f"{type(model).__name__} does not keep the codes of its rows: give codes=.")
