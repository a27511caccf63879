"""The fixed-point iteration of :mod:`preimage.preimages.descent` as a loop over all rows at once.

Rows that have stopped keep their state. Rows that fail are not restarted at other points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.exceptions import NotExpressible
from preimage.export.kernel_values import diagonal
from preimage.export.program import Symbol, loop
from preimage.kernels import knows
from preimage.preimages.descent import SHORTEST, SUFFICIENT, Descent
from preimage.preimages.objective import WEAK, rms_radius

ROUNDING = 16  # errors of values, in units in the last place
LEAST = 1e-30  # lower bound of curvatures and denominators
NEAR, STEEPER = 1e-6, 100  # a cusp: slope at 0, relative to that at this part of the points' squared radius


class FeatureDistances:
    """ρ(z) = k(z, z) − 2⟨φ(z), Ψ⟩ + ‖Ψ‖² with its gradient and curvature, as by ``FeatureDistance``."""

    def __init__(self, targets: Any):
        self.kernel, self.points = targets.model.kernel, targets.points
        if not knows(self.kernel, "profile") or self.kernel.argument is None:
            raise NotExpressible(f"FixedPoint() needs a kernel with a profile, which {self.kernel!r} lacks.")
        self.weights, self.norm2 = targets.weights, targets.norm2
        self.spread = rms_radius(self.points.points)
        self.scale = self.norm2 + float(np.abs(self.kernel.diagonal(self.points.points)).mean())
        if targets.eps > np.finfo(float).eps and self._has_cusp():
            raise NotExpressible(
                f"FixedPoint() cannot be exported in float32 with {self.kernel!r}, whose slope is not bounded at the "
                "training points: export it in float64."
            )

    def _has_cusp(self) -> bool:
        """Whether the slope of a kernel of the distance grows without bounds towards distance 0."""
        at_points, nearby = self.kernel.derivative(np.array([0.0, NEAR * self.spread**2]))
        return self.kernel.argument == "distance" and bool(abs(at_points) > STEEPER * abs(nearby))

    def __call__(self, Z: Symbol) -> tuple[Symbol, Symbol, Symbol]:
        kernel, arguments = self.kernel, self.points.arguments(self.kernel, Z)
        inner = (self.weights * kernel.profile(arguments)).sum(axis=1)
        value = diagonal(kernel, Z) - 2.0 * inner + self.norm2
        pulls = self.weights * kernel.derivative(arguments)
        if kernel.argument == "inner":
            own = kernel.derivative((Z * Z).sum(axis=1))
            return value, 2.0 * (own[:, None] * Z - self.points.combined(pulls)), np.maximum(2.0 * own, LEAST)
        total, size = -pulls.sum(axis=1), np.abs(pulls).sum(axis=1)
        gradient = 4.0 * (total[:, None] * Z + self.points.combined(pulls))
        return value, gradient, np.maximum(4.0 * np.where(total > WEAK * size, total, size), LEAST)


def descend(targets: Any, descent: Descent, starts: Symbol) -> Symbol:
    """The points at which the iteration ends from these starts."""
    objective = FeatureDistances(targets)
    low, high = descent.box if descent.box is not None else (-np.inf, np.inf)
    tolerance2 = (descent.tol * objective.spread) ** 2
    rounding = ROUNDING * targets.eps * objective.scale

    def inside(Z: Symbol) -> Any:
        return np.clip(Z, low, high) if np.all(np.isfinite(low)) else Z

    def step(*state: Symbol) -> tuple[Symbol, ...]:
        Z, value, gradient, curvature, shorten, *memory, active = state
        free = _free(Z, gradient, low, high)
        direction = np.where(np.abs(free) > 0.0, _direction(free, curvature, memory), 0.0)
        whole = inside(Z + direction) - Z
        moving = active & ((whole * whole).sum(axis=1) > tolerance2)
        trial = inside(Z + shorten[:, None] * direction)
        moved = trial - Z
        new_value, new_gradient, new_curvature = objective(trial)
        promised = SUFFICIENT * (free * moved).sum(axis=1)
        flat = -(free * direction).sum(axis=1) <= 100.0 * rounding
        falls = new_value <= value + np.minimum(promised, 0.0) + rounding
        slopes = 0.5 * ((free + new_gradient) * moved).sum(axis=1)
        accepted = moving & ((flat & (slopes <= promised)) | (~flat & falls))
        halved = shorten * 0.5
        going = accepted | (moving & (halved >= SHORTEST))
        memory = _remembered(memory, moved, new_gradient - gradient, accepted, moving)
        return (
            np.where(accepted[:, None], trial, Z),
            np.where(accepted, np.minimum(new_value, value), value),
            np.where(accepted[:, None], new_gradient, gradient),
            np.where(accepted, new_curvature, curvature),
            np.where(accepted, 1.0, np.where(moving, halved, shorten)),
            *memory,
            going,
        )

    Z = inside(starts)
    value, gradient, curvature = objective(Z)
    ones = value * 0.0 + 1.0
    empty = [Z * 0.0] * (2 * descent.memory)
    return loop(step, (Z, value, gradient, curvature, ones, *empty, ones > 0.0), descent.max_iter)[0]


def _free(Z: Symbol, gradient: Symbol, low: Any, high: Any) -> Any:
    """The gradient without the entries that push against the walls of the box."""
    if not np.all(np.isfinite(low)):
        return gradient
    return np.where(((low >= Z) & (gradient > 0.0)) | ((high <= Z) & (gradient < 0.0)), 0.0, gradient)


def _direction(gradient: Symbol, curvature: Symbol, memory: list[Symbol]) -> Any:
    """−H∇f by the two-loop recursion, H₀ = 1/curvature; empty slots are zeros and drop out."""
    plain = gradient / curvature[:, None]
    if not memory:
        return -plain
    moves, changes = memory[: len(memory) // 2], memory[len(memory) // 2 :]
    q, pairs = gradient, []
    for move, change in zip(moves, changes, strict=True):
        inner = (move * change).sum(axis=1)
        inverse = np.where(inner > LEAST, 1.0 / np.maximum(inner, LEAST), 0.0)
        alpha = inverse * (move * q).sum(axis=1)
        q = q - alpha[:, None] * change
        pairs.append((move, change, inverse, alpha))
    q = q / curvature[:, None]
    for move, change, inverse, alpha in reversed(pairs):
        q = q + (alpha - inverse * (change * q).sum(axis=1))[:, None] * move
    return -np.where(((q * gradient).sum(axis=1) > 0.0)[:, None], q, plain)


def _remembered(memory: list[Symbol], move: Any, change: Any, accepted: Any, moving: Any) -> list[Any]:
    """The memory, newest pair first, after an accepted step; empty if the step was refused or bends downwards."""
    if not memory:
        return []
    usable = (move * change).sum(axis=1) > 1e-10 * (change * change).sum(axis=1)
    emptied = (moving & ~(accepted & usable))[:, None]
    pushed = accepted[:, None]
    half = len(memory) // 2
    found = []
    for newest, slots in ((move, memory[:half]), (change, memory[half:])):
        shifted = [newest, *slots[:-1]]
        found += [np.where(emptied, 0.0, np.where(pushed, new, old)) for new, old in zip(shifted, slots, strict=True)]
    return found
