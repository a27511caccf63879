"""What a pre-image method is, and what it returns.

A method is a small frozen object in two steps: ``prepare(model)`` does once what can be done once, and what it returns
maps a batch of targets (an expansion, with optional starting points) to a :class:`Preimages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from preimage.expansion import Expansion
from preimage.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Preimages:
    """Points z of input space for a batch of targets Ψ, and what happened to each.

    Attributes
    ----------
    points : array of shape (m, d)
        The pre-images (indices of training points where the points are known by number only).
    converged : array of bool, shape (m,)
        Whether the method reached its goal; False where the best training point was the best that could be had.
    steps : array of int, shape (m,)
        Iterations taken; 0 for methods without any.
    residual : array of shape (m,)
        ‖φ(z) − Ψ‖², the squared distance in feature space.
    """

    points: np.ndarray
    converged: np.ndarray
    steps: np.ndarray
    residual: np.ndarray


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


def residual(targets: Expansion, points: np.ndarray) -> np.ndarray:
    """‖φ(zⱼ) − Ψⱼ‖² = k(zⱼ, zⱼ) − 2⟨Ψⱼ, φ(zⱼ)⟩ + ‖Ψⱼ‖², clipped at 0."""
    return np.maximum(targets.kernel.diagonal(points) - 2 * targets.inner_paired(points) + targets.norm2(), 0)


def closed_form(targets: Expansion, points: np.ndarray) -> Preimages:
    """The result of a method without iterations."""
    m = len(targets)
    return Preimages(points, np.isfinite(points).all(axis=1), np.zeros(m, dtype=int), residual(targets, points))
