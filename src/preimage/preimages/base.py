"""What a pre-image method is, and what it returns.

A method is a small frozen object in two steps: ``prepare(model)`` does once what can be done once, and what it returns
maps a batch of targets (an expansion, with optional starting points) to a :class:`Preimages`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from preimage.exceptions import ConvergenceWarning, warn
from preimage.expansion import Expansion
from preimage.kernels import Kernel, Precomputed


@dataclass(frozen=True, eq=False)
class Preimages:
    """Points z of input space for a batch of targets Ψ, and what happened to each.

    Attributes
    ----------
    points : array of shape (m, d)
        The pre-images; the numbers of training points, in one column, where points are known by number only.
    converged : array of bool, shape (m,)
        Whether the method reached its goal; False where the best training point was the best that could be had.
    steps : array of int, shape (m,)
        Iterations taken; 0 for methods without any.
    residual : array of shape (m,)
        ‖φ(z) − Ψ‖², the squared distance in feature space; computed when it is asked for.
    """

    points: np.ndarray
    converged: np.ndarray
    steps: np.ndarray
    targets: Expansion = field(repr=False)

    @cached_property
    def residual(self) -> np.ndarray:
        """‖φ(zⱼ) − Ψⱼ‖² = k(zⱼ, zⱼ) − 2⟨Ψⱼ, φ(zⱼ)⟩ + ‖Ψⱼ‖², clipped at 0."""
        diagonal = self.targets.kernel.diagonal(self.points)
        return np.maximum(diagonal - 2 * self.targets.inner_paired(self.points) + self.targets.norm2(), 0)


def concatenate(results: list[Preimages]) -> Preimages:
    """Results of consecutive batches as one."""
    joined = Preimages(
        np.concatenate([result.points for result in results]),
        np.concatenate([result.converged for result in results]),
        np.concatenate([result.steps for result in results]),
        results[0].targets,
    )
    joined.__dict__["residual"] = np.concatenate([result.residual for result in results])
    return joined


class WayBack(Protocol):
    """A prepared method."""

    def __call__(self, targets: Any, starts: np.ndarray | None = None) -> Preimages:
        """Pre-images of a batch of targets."""


class Method(Protocol):
    """A way back before it has seen a model."""

    def check(self, kernel: Kernel) -> None:
        """Refuse a kernel that lacks what this method needs, with a sentence."""

    def prepare(self, model: Any, rng: np.random.Generator) -> WayBack:
        """Do once what can be done once for a fitted model or an expansion."""


def closed_form(targets: Expansion, points: np.ndarray, converged: np.ndarray | None = None) -> Preimages:
    """The result of a method without iterations; where it has no answer, the best point of the expansion."""
    usable = np.isfinite(points).all(axis=1)
    if converged is not None:
        usable &= converged
    if not usable.all():
        lost = np.flatnonzero(~usable)
        points = points.copy()
        points[lost] = best_points(targets[lost])
        warn_of_failures(usable)
    return Preimages(points, usable, np.zeros(len(points), dtype=int), targets)


def warn_of_failures(converged: np.ndarray) -> None:
    """One warning for a batch in which some rows failed."""
    if not converged.all():
        warn(
            f"{np.sum(~converged)} of {len(converged)} pre-images did not converge; for them the best point found is "
            "returned. More steps or another method may help.",
            ConvergenceWarning,
        )


def best_points(targets: Expansion) -> np.ndarray:
    """For every target, the point of its expansion that is nearest to it in feature space."""
    return dense_rows(targets.points[nearest(targets, 1)[:, 0]])


def nearest(targets: Expansion, count: int, products: np.ndarray | None = None) -> np.ndarray:
    """Numbers of the ``count`` points nearest to every target in feature space, nearest first, shape (m, count).

    ‖φ(xᵢ) − Ψ‖² orders the points as k(xᵢ, xᵢ) − 2⟨Ψ, φ(xᵢ)⟩ does.
    """
    products = targets.inner_points() if products is None else products
    distances = targets.kernel.diagonal(targets.points) - 2 * products
    count = min(count, distances.shape[1])
    few = np.argpartition(distances, count - 1, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(distances, few, axis=1), axis=1)
    return np.take_along_axis(few, order, axis=1)


def dense_rows(X) -> np.ndarray:
    """Rows as a dense array."""
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def refuse_precomputed(kernel: Kernel, who: str) -> None:
    """A precomputed kernel has no input space to come back to."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            f"{who} needs the training inputs, which a precomputed kernel matrix does not hold: "
            "use preimage=Nearest(), which names training points, or give a kernel and the rows themselves."
        )
