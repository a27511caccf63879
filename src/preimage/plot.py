"""Pictures with matplotlib, which is imported when one is drawn."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from preimage.selection import Candidate, Selection

__all__ = ["selection"]


def selection(result: Selection, ax=None):
    """The risk of every setting over its number of components, one curve for everything else; the best is marked.

    Parameters
    ----------
    result : Selection
        What :func:`preimage.selection.select` returned.
    ax : matplotlib axes, optional
        Where to draw; a new figure where it is None.

    Returns
    -------
    ax : matplotlib axes
    """
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1]
    curves: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in result.table:
        curves[_label(candidate)].append(candidate)
    for label, curve in sorted(curves.items()):
        curve.sort(key=_number)
        ax.errorbar(
            [_number(candidate) for candidate in curve],
            [candidate.risk for candidate in curve],
            [candidate.standard_error for candidate in curve],
            marker=".",
            label=label,
        )
    best = result.table[0]
    ax.plot(_number(best), best.risk, marker="o", markersize=12, fillstyle="none", color="black", label="best")
    ax.set(xscale="log", xlabel="number of components", ylabel=f"risk ({type(result.risk).__name__})")
    ax.legend(fontsize="small")
    return ax


def _number(candidate: Candidate) -> float:
    number = candidate.params.get("n_components")
    return float(number) if isinstance(number, int | float) else 1.0


def _label(candidate: Candidate) -> str:
    """All settings but the number of components."""
    parts = [f"{name} {_short(value)}" for name, value in candidate.params.items() if name != "n_components"]
    return ", ".join(parts) or "risk"


def _short(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
