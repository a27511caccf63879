"""The stages of ``Denoiser`` on rows, and the phase decoder of ``InvertibleKernelPCA``, as programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.denoising.linear import LinearFilter
from preimage.denoising.stack import Stack
from preimage.denoising.stage import Crossed, Stage
from preimage.denoising.tables import DenoisedTable
from preimage.denoising.views import Coded
from preimage.estimators import Denoiser
from preimage.exceptions import NotExpressible
from preimage.export.feature_space import Subspace
from preimage.export.kernel_values import PointSet
from preimage.export.program import Symbol, loop
from preimage.invertible.map import REFINEMENTS, AnchoredDecoder

TURN = 2 * np.pi


def denoise_rows(model: Denoiser, X: Symbol, eps: float) -> Any:
    """The denoised rows: all levels in turn, in the units in which they were fitted."""
    stack = model.stack_
    if not stack.levels:
        return X * 1.0
    if isinstance(stack, DenoisedTable):
        return _table(stack, X, eps)
    units = model.units_
    return units.offset + units.scale * _stacked(stack, (X - units.offset) / units.scale, eps)


def _table(table: DenoisedTable, X: Any, eps: float) -> Any:
    """Columns in their own units; those that take no part stay as they are."""
    units = table.units
    changed = units.used & np.array([column.cleaned for column in table.columns])
    used, scale = units.used.astype(float), np.where(changed, units.scale, 0.0)
    largest = np.where(np.isfinite(units.reach), units.reach, np.finfo(np.float32).max)
    inside = used * np.clip((X - units.offset) / units.scale, -largest, largest)
    return X + scale * (_stacked(table.stack, inside, eps) - inside)


def _stacked(stack: Stack, noisy: Any, eps: float) -> Any:
    estimate: Any = None
    for level in stack.levels:
        if level.local is not None or level.mending is not None:
            raise NotExpressible("only a Denoiser of plain rows can be exported.")
        estimate = _seen(level.whole, [noisy] if estimate is None else [noisy, estimate], eps)
    return noisy + stack.share * (estimate - noisy)


def _seen(sight: Any, maps: list[Any], eps: float) -> Any:
    """The estimate of one level from the rows and the estimate of the level below."""
    if isinstance(sight, LinearFilter):
        return sight.truth_mean + (maps[0] - sight.input_mean) @ sight.gain.T
    assert isinstance(sight, Crossed)
    answers = [_answer(stage, maps, eps) for stage in sight.stages]
    return sum(answers[1:], answers[0]) / float(len(answers))


def _answer(stage: Stage, maps: list[Any], eps: float) -> Any:
    """Kernel features of the codes of a row, times weights (see ``Features.times``)."""
    view, features, weights = stage.view, stage.features, stage.weights
    assert isinstance(view, Coded)
    seen = [weight * rows for weight, rows in zip(view.whole.weights, maps, strict=True) if weight]
    rows = seen[0] if len(seen) == 1 else np.concatenate(seen, axis=1)
    codes = Subspace(view.model, eps).codes(rows)
    shown = np.concatenate([codes, rows], axis=1) if view.whole.with_values else codes
    centred, m = shown - features.mean, features.n_kernel
    values = PointSet(features.landmarks).values(features.kernel, centred @ features.basis)
    return values @ weights[:m] + centred @ weights[m:-1] + weights[-1]


def follow_phases(decoder: AnchoredDecoder, codes: Symbol, anchors: Symbol) -> Any:
    """Points re-anchored until the phases settle, as by :class:`preimage.invertible.AnchoredDecoder`."""
    mapping, regression = decoder.map, np.asarray(decoder.regression)
    sine = mapping.components.expand(codes) / mapping.scale
    cosine = codes @ regression[:-1] + regression[-1]
    amplitude = np.sqrt(sine * sine + cosine * cosine)
    mean = (amplitude.sum(axis=1) / float(regression.shape[1]))[:, None]
    worth = amplitude / np.where(mean > 0.0, mean, 1.0)
    phase = np.arctan2(sine, cosine)
    spread = float(np.sqrt(np.var(decoder.points, axis=0).sum())) or 1.0

    def step(Z: Any, moving: Any) -> tuple[Any, ...]:
        gap = phase - mapping.arguments(Z)
        gap = (gap - TURN * np.rint(gap / TURN)) * worth
        move = gap @ mapping.linear_inverse
        far = (move * move).sum(axis=1) > (1e-6 * spread) ** 2
        return np.where(moving[:, None], Z + move, Z), moving & far

    return loop(step, (anchors, (anchors * 0.0).sum(axis=1) > -1.0), REFINEMENTS)[0]
