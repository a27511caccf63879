"""Curves: spectra, convergence of pre-images, errors of reduced sets, risks of settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np

from preimage.plot.style import GREY, one_axes, style, thinned

if TYPE_CHECKING:
    from preimage.preimages import Preimages
    from preimage.reduced import ReducedSet
    from preimage.selection import Candidate, Selection
    from preimage.statistics.parallel_analysis import ParallelAnalysis


def scree(model, ax=None, *, chance: ParallelAnalysis | None = None):
    """Shares of variance λₖ / Σλ of the components and their running sum, in per cent on a logarithmic scale.

    The right axis shows the eigenvalues, if the model has them.

    Parameters
    ----------
    model : fitted estimator
        Any with ``explained_variance_ratio_``, also scikit-learn's PCA.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.
    chance : ParallelAnalysis, optional
        The result of :func:`preimage.selection.parallel_analysis`: the shares that independent columns would show.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    preimage.selection.parallel_analysis : The thresholds of ``chance``.
    components : Contours of the components in the plane.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import half_circle
    >>> ax = plot.scree(KernelPCA(5).fit(half_circle(100, random_state=0).X))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a component', 'sum, in all 97 %']
    """
    ax = one_axes(ax)
    shares = 100 * np.asarray(model.explained_variance_ratio_)
    number, every = np.arange(1, len(shares) + 1), thinned(len(shares), 40)
    ax.plot(number, shares, **style(0), markevery=every, label="a component")
    ax.plot(number, np.cumsum(shares), **style(1), markevery=every, label=f"sum, in all {shares.sum():.0f} %")
    if chance is not None:
        thresholds = 100 * chance.thresholds[: len(shares)] / chance.eigenvalues.sum()
        ax.plot(number[: len(thresholds)], thresholds, color=GREY, linestyle=":", label="by chance")
    ax.set(yscale="log", xlabel="component", ylabel="share of variance, %")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")
    if hasattr(model, "eigenvalues_") and shares[0] > 0:
        unit = float(model.eigenvalues_[0] / shares[0])
        right = ax.secondary_yaxis("right", functions=(lambda share: share * unit, lambda value: value / unit))
        right.set_ylabel("eigenvalue")
    return ax


def convergence(results: Preimages | Mapping[str, Preimages], ax=None):
    """Per cent of the rows that have converged after each number of steps; one step curve per method.

    Rows that never converge keep the curve below 100. The legend holds the mean of the squared distances
    ‖φ(z) − Ψ‖² that are left.

    Parameters
    ----------
    results : Preimages, or a dict of them by name
        Such as ``kpca.find_preimages(X)``.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    preimage.KernelPCA.find_preimages : The results to draw.

    Examples
    --------
    >>> from preimage import KernelPCA, plot
    >>> from preimage.datasets import half_circle
    >>> X = half_circle(100, random_state=0).X
    >>> found = KernelPCA(5, preimage="fixed_point").fit(X).find_preimages(X)
    >>> ax = plot.convergence({"fixed point": found})
    >>> float(ax.lines[0].get_ydata()[-1])  # per cent, after the last step
    100.0
    """
    ax = one_axes(ax)
    named = results if isinstance(results, Mapping) else {"pre-images": results}
    last = max(int(found.steps.max(initial=0)) for found in named.values())
    steps = np.arange(last + 2)
    for number, (name, found) in enumerate(named.items()):
        done = [100 * float(np.mean(found.converged & (found.steps <= step))) for step in steps]
        label = f"{name}, left over {float(np.mean(found.residual)):.2g}"
        ax.step(steps, done, where="post", **style(number) | {"marker": ""}, label=label)
    ax.set(xlabel="steps", ylabel="rows that have converged, %", ylim=(0, 104), xlim=(0, last + 1))
    ax.legend(fontsize="small")
    return ax


def reduced_set_errors(results: ReducedSet | Mapping[str, ReducedSet], ax=None):
    """The relative error of a reduced set over its number of points, both on logarithmic scales.

    Parameters
    ----------
    results : ReducedSet, array of errors, or a dict of either by name
        Such as ``kpca.compress(100).compression_errors_``.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    preimage.reduced_set : The results to draw.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, plot, reduced_set
    >>> from preimage.kernels import Gaussian
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> mean = Expansion(Gaussian(1.0), X, np.full((1, 50), 0.02))
    >>> ax = plot.reduced_set_errors({"mean": reduced_set(mean, 8)})
    >>> ax.get_xscale(), ax.lines[0].get_xdata()
    ('log', array([1, 2, 3, 4, 5, 6, 7, 8]))
    """
    ax = one_axes(ax)
    named = results if isinstance(results, Mapping) else {"": results}
    for number, (name, found) in enumerate(named.items()):
        errors = np.asarray(getattr(found, "errors", found), dtype=float)
        sizes, every = np.arange(1, len(errors) + 1), thinned(len(errors))
        shown = np.where(errors > 0, errors, np.nan)  # an exact set has no place on a logarithmic scale
        ax.plot(sizes, shown, **style(number), markevery=every, label=name)
    ax.set(xscale="log", yscale="log", xlabel="points", ylabel="relative error")
    if any(named):
        ax.legend(fontsize="small")
    return ax


def selection(result: Selection, ax=None):
    """The risk of every setting over its number of components, one curve for everything else; the best is marked.

    Parameters
    ----------
    result : Selection
        The result of :func:`preimage.selection.select`.
    ax : matplotlib axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib axes

    See Also
    --------
    preimage.selection.select : The search.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import plot
    >>> from preimage.selection import select
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> result = select(noisy, sigma=0.1, grid={"kernel": ["linear"], "n_components": [1, 2, 5]}, random_state=0)
    >>> plot.selection(result).get_xlabel()
    'number of components'
    """
    ax = one_axes(ax)
    curves: dict[str, list[Candidate]] = defaultdict(list)
    labels = [_parts(candidate) for candidate in result.table]
    same = set.intersection(*map(set, labels))  # what all settings share does not distinguish curves
    for candidate, parts in zip(result.table, labels, strict=True):
        curves[", ".join(part for part in parts if part not in same) or "risk"].append(candidate)
    for number, (label, curve) in enumerate(sorted(curves.items())):
        curve.sort(key=_number)
        ax.errorbar(
            [_number(candidate) for candidate in curve],
            [candidate.risk for candidate in curve],
            [candidate.standard_error for candidate in curve],
            **style(number),
            label=label,
        )
    best = result.table[0]
    ax.plot(_number(best), best.risk, marker="o", markersize=12, fillstyle="none", color="black", label="best")
    numbers = sorted({_number(candidate) for candidate in result.table})
    ax.set(xscale="log", xlabel="number of components", ylabel=f"risk ({type(result.risk).__name__})")
    ax.set_xticks(numbers[:: thinned(len(numbers), 10)], minor=False)
    ax.set_xticks([], minor=True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.legend(fontsize="small")
    return ax


def _number(candidate: Candidate) -> float:
    number = candidate.params.get("n_components")
    return float(number) if isinstance(number, int | float) else 1.0


def _parts(candidate: Candidate) -> list[str]:
    """All settings but the number of components, in words."""
    return [_short(name, value) for name, value in candidate.params.items() if name != "n_components"]


def _short(name: str, value) -> str:
    if is_dataclass(value) and not isinstance(value, type):  # kernels and methods: their class, unusual settings
        unusual = [f"{f.name}={getattr(value, f.name)!r}" for f in fields(value) if getattr(value, f.name) != f.default]
        return f"{type(value).__name__}({', '.join(unusual)})"
    shown = f"{value:.3g}" if isinstance(value, float) else str(value)
    return f"{name.split('__')[-1].replace('_', ' ')} {shown}"
