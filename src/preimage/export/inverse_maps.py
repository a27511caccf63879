"""Prepared pre-image methods as programs: from codes, and rows to start at, to points."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from preimage import decoding
from preimage.decomposition.expanded import Expanded
from preimage.exceptions import NotExpressible
from preimage.export.descent import LEAST, descend
from preimage.export.feature_space import Subspace
from preimage.export.kernel_values import PointSet, diagonal
from preimage.export.program import Symbol
from preimage.preimages.base import dense_rows
from preimage.preimages.conformal import _ConformalMap
from preimage.preimages.iterated import Iterated
from preimage.preimages.learned import LearnedMap
from preimage.preimages.nearest import _NearestMap
from preimage.preimages.objective import WEAK
from preimage.preimages.one_step import _OneStepMap
from preimage.preimages.wiener import _WienerMap


class Targets:
    """Projections φ̄ + Σₖ βₖVₖ with the codes β, as pre-image methods see them."""

    def __init__(self, subspace: Subspace, codes: Symbol):
        model, self.codes, self.eps = subspace.model, codes, subspace.eps
        if not isinstance(model, Expanded) or subspace.points is None:
            raise NotExpressible(
                "random features have no points to start from or to combine: Learned(), Conformal() and Wiener() can "
                "be exported for them."
            )
        self.model, self.points = model, subspace.points

    @property
    def weights(self) -> Symbol:
        """γ̃, shape (rows, points)."""
        return self.codes @ self.model.alphas.T + self.model.mean_weights

    @property
    def inner_points(self) -> Symbol:
        """⟨Ψ, φ(xᵢ)⟩, shape (rows, points)."""
        return self.codes @ self.model.axis_values.T + self.model.mean_values

    @property
    def norm2(self) -> Symbol:
        """‖Ψ‖² = ‖β‖² + ‖φ̄‖² + 2 Σₖ βₖ⟨Vₖ, φ̄⟩."""
        codes = self.codes
        return np.maximum((codes * codes).sum(axis=1) + self.model.mean_norm2 + 2.0 * (codes @ self.model.offsets), 0.0)

    def nearest(self) -> Symbol:
        """The point with the nearest image."""
        own = self.model.kernel.diagonal(self.points.points)
        return self.points.taken((own - 2.0 * self.inner_points).argmin())


@singledispatch
def decoded(code_map: Any, codes: Symbol) -> Any:
    """Rows for the codes of a :class:`preimage.Decoder`."""
    raise NotExpressible('distances of a Decoder cannot be exported: fit Decoder("learned") or Decoder("neighbors").')


@decoded.register
def regression(fitted: LearnedMap, codes: Symbol) -> Any:
    """x̄ + l(b, B)W, always in double precision: Σ|W| magnifies the round-off of l, often a thousandfold."""
    return (fitted.mean + PointSet(fitted.landmarks).values(fitted.kernel, codes.double()) @ fitted.weights).like(codes)


@decoded.register
def _(fitted: decoding.Neighbours, codes: Symbol) -> Any:
    """The weighted mean, as a product with weights of all known rows, most of them 0."""
    known = fitted.known
    distances2 = PointSet(known.codes).exact_squared_distances(codes)
    width2, reach2 = (
        distances2.smallest(min(n, len(known.codes))) for n in (fitted.count, decoding.REACH * fitted.count)
    )
    weights = np.exp(-0.5 * distances2 / np.maximum(width2, LEAST)[:, None])
    weights = np.where(distances2 <= reach2[:, None], weights, 0.0)
    return (weights @ dense_rows(known.rows)) / weights.sum(axis=1)[:, None]


@decoded.register
def _(fitted: decoding.Mean, codes: Symbol) -> Any:
    return 0.5 * (decoded(fitted.first, codes) + decoded(fitted.second, codes))


@singledispatch
def preimages(inverse_map: Any, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    """Points for codes; ``starts`` are the noisy rows when denoising, else None."""
    name = type(getattr(inverse_map, "method", inverse_map)).__name__.strip("_").removesuffix("Map")
    raise NotExpressible(
        f"{name}() cannot be exported; Learned(), Conformal(), Wiener(), FixedPoint(), OneStep() and Nearest() can."
    )


@preimages.register
def _(inverse_map: LearnedMap, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    return inverse_map.box.hold(regression(inverse_map, codes), starts)  # type: ignore[arg-type, return-value]


@preimages.register
def _(inverse_map: _ConformalMap, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    return inverse_map.box.hold(codes @ inverse_map.matrix + inverse_map.offset, starts)  # type: ignore


@preimages.register
def _(inverse_map: _WienerMap, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    if starts is None:
        return preimages(inverse_map._decoder, subspace, codes, None)
    correction = 0.0 if inverse_map.correction is None else regression(inverse_map.correction, codes)
    answers: Symbol = inverse_map.answers(starts, correction)
    return answers


@preimages.register
def _(inverse_map: _NearestMap, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    return Targets(subspace, codes).nearest()


@preimages.register
def _(inverse_map: _OneStepMap, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    """Σᵢ wᵢxᵢ / Σᵢ wᵢ; the nearest point where Σw is not safely positive or the result lies outside the box."""
    kernel, targets = subspace.model.kernel, Targets(subspace, codes)
    top = float(diagonal(kernel, codes))
    values = targets.inner_points + (0.5 * (top - targets.norm2))[:, None]
    slopes = kernel.derivative(kernel.inverse(np.clip(values, 1e-12 * top, top)))  # type: ignore[attr-defined]
    weights = -(targets.weights * slopes)
    total, size = weights.sum(axis=1), np.abs(weights).sum(axis=1)
    sound = total > WEAK * size
    points = targets.points.combined(weights) / np.where(sound, total, 1.0)[:, None]
    low, high = inverse_map.box.ends
    outside = np.maximum(np.maximum(low - points, points - high), 0.0).sum(axis=1)
    return np.where((sound & (outside <= 0.0))[:, None], points, targets.nearest())


@preimages.register
def _(inverse_map: Iterated, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Symbol:
    targets = Targets(subspace, codes)
    if inverse_map.pull and starts is not None:
        raise NotExpressible("FixedPoint(pull=...) cannot be exported; FixedPoint() can.")
    return descend(targets, inverse_map.descent, targets.nearest() if starts is None else starts)
