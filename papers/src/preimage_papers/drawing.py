"""Figures of the reproduction, drawn from the measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from preimage import plot
from preimage.plot.style import page_axes, style
from preimage.report import Picture

__all__ = ["canvas", "curves", "image_grid", "join", "points"]


def canvas(n_rows: int, n_columns: int, size: tuple[float, float]):
    """A figure without a window, and its axes as a matrix; ``size`` is in inches per axes."""
    axes = page_axes(n_rows, n_columns, (size[0] * n_columns, size[1] * n_rows))
    return axes[0, 0].figure, axes


def curves(
    ax, x: Sequence[float], lines: Mapping[str, Any], spreads: Mapping[str, Any] | None = None, **labels
) -> None:
    """One curve per name over x, with bars if a spread is given; ``labels`` go to the axes."""
    for number, (name, y) in enumerate(lines.items()):
        spread = (spreads or {}).get(name)
        ax.errorbar(x[: len(y)], y, spread, label=name, capsize=2, linewidth=1.2, **style(number))
    ax.set(**labels)
    if lines:
        ax.legend(fontsize="x-small")


def points(ax, X, denoised, title: str) -> None:
    """Small points before denoising, big ones after."""
    X, denoised = np.asarray(X), np.asarray(denoised)
    ax.scatter(*X.T, s=3, color="0.6", linewidths=0)
    ax.scatter(*denoised.T, s=9, color="black", linewidths=0)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.set_title(title, fontsize="small")


def image_grid(groups: Mapping[str, Any], shape: tuple[int, int], caption: str, *, own_scale: bool = False) -> Picture:
    """One line of images per group; all on the scale of the first, or each image on its own."""
    arrays = {name: np.asarray(rows, dtype=float) for name, rows in groups.items()}
    if own_scale:
        arrays = {name: _unit(rows) for name, rows in arrays.items()}
    count = max(map(len, arrays.values()))
    figure, axes = canvas(len(arrays), count, (0.62, 0.66))
    plot.images(arrays, shape, axes, n_images=count, cmap="gray_r")
    return Picture(figure, caption)


def join(values: Iterable[float], form: str = ".3g") -> str:
    """Numbers as one text, separated by commas."""
    return ", ".join(format(value, form) for value in values)


def _unit(rows: np.ndarray) -> np.ndarray:
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    return (rows - low) / np.where(high > low, high - low, 1)
