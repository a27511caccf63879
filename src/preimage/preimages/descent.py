"""Descent for a batch of independent problems that share matrix products; each row has its own step and history.

The steps are those of L-BFGS with the curvature of the objective as initial Hessian. Without a memory they are the
negative gradient divided by that curvature, which for kernel expansions is the fixed-point iteration. A step is
accepted if the objective falls (Armijo's rule), and halved otherwise. Close to a minimum the decrease is lost in the
round-off of the values. There the slopes at both ends measure it, f(z + p) − f(z) ≈ pᵀ(∇f(z) + ∇f(z + p))/2 (Hager &
Zhang 2005); their round-off shrinks with the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from preimage._typing import Array

SUFFICIENT = 1e-4  # Armijo's constant
SHORTEST = 1e-6  # a step cut to this fraction of its length has failed


class Objective(Protocol):
    """Values of a batch of functions, one per row."""

    spread: float  # a typical distance in input space, the unit of steps
    scale: Array  # the size of the terms whose difference is a value, the unit of round-off

    def __call__(self, Z: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Values, gradients and curvatures (NaN where not known) of the functions ``rows`` at the points Z."""


@dataclass(frozen=True)
class Descent:
    """Settings: length of the memory, tolerance of a step relative to the spread, largest number of steps, bounds."""

    memory: int = 0
    tol: float = 1e-6
    max_iter: int = 100
    box: tuple[Any, Any] | None = None  # low and high, each a number or one per column

    def run(self, objective: Objective, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Descend from the rows of Z; return (points, values, converged, steps)."""
        Z = self._inside(np.array(Z))
        state = _State(objective, Z, self.memory)
        for _ in range(self.max_iter):
            rows = np.flatnonzero(state.active)
            if not rows.size:
                break
            self._step(objective, state, rows)
        return state.Z, state.value, state.converged, state.steps

    def _step(self, objective: Objective, state: _State, rows: Array) -> None:
        Z, gradient = state.Z[rows], self._free(state.Z[rows], state.gradient[rows])
        direction = self._free_direction(Z, gradient, state.direction(rows, gradient))
        small = np.linalg.norm(self._inside(Z + direction) - Z, axis=1) <= self.tol * objective.spread
        state.finish(rows[small], converged=True)
        rows, Z, gradient, direction = rows[~small], Z[~small], gradient[~small], direction[~small]
        if not rows.size:
            return
        trial = self._inside(Z + state.shorten[rows, None] * direction)
        value, new_gradient, curvature = objective(trial, rows)
        promised = SUFFICIENT * _inner(gradient, trial - Z)
        rounding = 16 * np.finfo(Z.dtype).eps * objective.scale[rows]
        flat = -_inner(gradient, direction) <= 100 * rounding  # a decrease would be lost in round-off
        falls = value <= state.value[rows] + np.minimum(promised, 0) + rounding
        slopes = _inner(gradient + new_gradient, trial - Z) / 2
        accepted = np.isfinite(value) & np.where(flat, slopes <= promised, falls)
        state.accept(rows[accepted], trial[accepted], value[accepted], new_gradient[accepted], curvature[accepted])
        state.reject(rows[~accepted], flat[~accepted])

    def _inside(self, Z: Array) -> Array:
        return Z if self.box is None else np.clip(Z, *self.box)

    def _free(self, Z: Array, gradient: Array) -> Array:
        """The gradient without the entries that push against the bounds."""
        if self.box is None:
            return gradient
        low, high = self.box
        return np.where(((low >= Z) & (gradient > 0)) | ((high <= Z) & (gradient < 0)), 0, gradient)

    def _free_direction(self, Z: Array, gradient: Array, direction: Array) -> Array:
        return direction if self.box is None else np.where(gradient == 0, 0, direction)


class _State:
    """The state of every row."""

    def __init__(self, objective: Objective, Z: Array, memory: int):
        m = len(Z)
        self.Z = Z
        self.value, self.gradient, curvature = objective(Z, np.arange(m))
        cautious = np.linalg.norm(self.gradient, axis=1) / (0.1 * objective.spread)  # steps of a tenth of the spread
        self.curvature = _positive(np.where(np.isnan(curvature), cautious, curvature))
        self.active = np.isfinite(self.value)
        self.converged = np.zeros(m, dtype=bool)
        self.steps = np.zeros(m, dtype=int)
        self.shorten = np.ones(m)
        self.filled = np.zeros(m, dtype=int)  # memory slots that a row has filled
        self.moves = np.zeros((memory, *Z.shape), dtype=Z.dtype)
        self.changes = np.zeros((memory, *Z.shape), dtype=Z.dtype)

    def direction(self, rows: Array, gradient: Array) -> Array:
        """−H∇f by the two-loop recursion (Nocedal 1980), H₀ = 1/curvature; empty slots are zeros and drop out."""
        scale = (1 / self.curvature[rows])[:, None]
        if not len(self.moves) or not self.filled[rows].any():
            step: Array = -gradient * scale
            return step
        q, alphas, pairs = gradient.copy(), [], []
        for slot in range(len(self.moves)):
            move, change = self.moves[slot, rows], self.changes[slot, rows]
            inner = _inner(move, change)
            inverse = np.divide(1, inner, out=np.zeros_like(inner), where=inner > 1e8 * np.finfo(inner.dtype).tiny)
            alpha = inverse * _inner(move, q)
            q -= alpha[:, None] * change
            alphas.append(alpha)
            pairs.append((move, change, inverse))
        q *= scale
        for alpha, (move, change, inverse) in zip(reversed(alphas), reversed(pairs), strict=True):
            q += (alpha - inverse * _inner(change, q))[:, None] * move
        downhill = _inner(q, gradient) > 0
        return -np.where(downhill[:, None], q, gradient * scale)

    def accept(self, rows: Array, Z: Array, value: Array, gradient: Array, curvature: Array) -> None:
        if not rows.size:
            return
        move, change = Z - self.Z[rows], gradient - self.gradient[rows]
        bend, length2 = _inner(move, change), _inner(move, move)
        secant = np.divide(bend, length2, out=np.zeros_like(bend), where=length2 > 0)
        curvature = np.where(np.isnan(curvature), np.where(secant > 0, secant, self.curvature[rows]), curvature)
        self._remember(rows, move, change, bend > 1e-10 * _inner(change, change))
        self.Z[rows], self.value[rows], self.gradient[rows] = Z, np.minimum(value, self.value[rows]), gradient
        self.curvature[rows], self.shorten[rows] = _positive(curvature), 1.0
        self.steps[rows] += 1

    def _remember(self, rows: Array, move: Array, change: Array, usable: Array) -> None:
        """Put the newest pair in front; a pair of negative curvature empties the row's memory."""
        if not len(self.moves):
            return
        for store, entry in ((self.moves, move), (self.changes, change)):
            store[1:, rows] = store[:-1, rows]
            store[0, rows] = entry
            store[:, rows[~usable]] = 0
        self.filled[rows] = np.where(usable, self.filled[rows] + 1, 0)

    def reject(self, rows: Array, flat: Array) -> None:
        """Halve the step and clear the memory that suggested it; if even the shortest step fails, stop."""
        self.moves[:, rows] = 0
        self.changes[:, rows] = 0
        self.filled[rows] = 0
        self.shorten[rows] /= 2
        self.steps[rows] += 1
        failed = self.shorten[rows] < SHORTEST
        self.finish(rows[failed & flat], converged=True)  # what is left is round-off
        self.finish(rows[failed & ~flat], converged=False)

    def finish(self, rows: Array, *, converged: bool) -> None:
        self.active[rows] = False
        self.converged[rows] = converged


def _inner(A: Array, B: Array) -> Array:
    """⟨aᵢ, bᵢ⟩ of the rows."""
    products: Array = np.einsum("ij,ij->i", A, B)
    return products


def _positive(curvature: Array) -> Array:
    raised: Array = np.maximum(curvature, np.finfo(curvature.dtype).tiny * 1e10)
    return raised
