"""Choice of kernel, scale and number of components by the share of planted faults that they detect.

Normal rows hold no faults, so faults are planted: in rows that a model has not seen, one sensor at a time is shifted by
a few standard deviations. The limits come from the same rows without the shifts, so all settings have the same rate of
false alarms. The simplest setting within a standard error of the best is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage import progress
from preimage.kernels import Kernel, Linear, scales
from preimage.monitoring.ewma_cusum import Memory
from preimage.monitoring.limits import Reference, moment_limits, time_blocks
from preimage.monitoring.process_model import ProcessModel
from preimage.monitoring.t2_spe import nested_statistics
from preimage.monitoring.window import Window
from preimage.scaling import Scaling

N_BLOCKS = 5
ROWS = 1000  # of a longer run, only the latest rows are used
COPIES = 10  # copies of every row, each with one sensor shifted
SHIFTS = (1.0, 2.0, 3.0, 4.0, 5.0)  # standard deviations
FACTORS = (1.0, 2.0, 4.0, 8.0, 32.0, 128.0, 512.0)  # times the median distance; the last are almost linear

FitKernel = Callable[[Kernel, int, np.ndarray], Any]  # from kernel, number of components and rows to a fitted KernelPCA


@dataclass(frozen=True)
class Setting:
    """A kernel with a number of components, and the share of planted faults that it detects."""

    kernel: Kernel
    n_components: int
    detection: float


def choose_setting(
    fit: FitKernel,
    kernels: Sequence[Kernel],
    X: np.ndarray,
    alpha: float,
    lags: int,
    memory: Memory,
    rng: np.random.Generator,
) -> list[Setting]:
    """All settings: the chosen one first, then the others by the share of planted faults that they detect.

    Of those within a standard error of the best, the first kernel is chosen, with its largest length scale. The linear
    kernel then takes the most components, because T² weights every direction by its own variance and SPE weights the
    rest equally; other kernels take the fewest, because their late components are the least certain.
    """
    X = X[-ROWS:]
    seed, found = int(rng.integers(2**31)), []
    tried = [scaled for kernel in kernels for scaled in _scaled(kernel, X, lags, memory)]
    for number, kernel in enumerate(tried, 1):
        numbers = _numbers(kernel, X, lags)
        detections = _detections(fit, kernel, numbers, X, alpha, lags, memory, np.random.default_rng(seed))
        found += [Setting(kernel, int(q), float(rate)) for q, rate in zip(numbers, detections, strict=True)]
        progress.report("kernels", number, len(tried))
    found.sort(key=lambda candidate: -candidate.detection)
    best = found[0].detection
    good = [candidate for candidate in found if candidate.detection >= best - np.sqrt(best * (1 - best) / len(X))]
    first = min(tried.index(candidate.kernel) for candidate in good)
    sign = -1 if isinstance(tried[first], Linear) else 1
    same = (candidate for candidate in good if candidate.kernel == tried[first])
    taken = min(same, key=lambda candidate: sign * candidate.n_components)
    return [taken, *(candidate for candidate in found if candidate is not taken)]


def _scaled(kernel: Kernel, X: np.ndarray, lags: int, memory: Memory) -> list[Kernel]:
    """The kernel with several length scales, or as it is if its length scale is given."""
    if getattr(kernel, "length_scale", 1.0) is not None:
        return [kernel]
    features = Window(X.shape[1], lags, memory).extend(Scaling.of(X).apply(X))
    length = scales.length_scale(features, "median")
    return [replace(kernel, length_scale=factor * length) for factor in reversed(FACTORS)]  # type: ignore[type-var]


def _numbers(kernel: Kernel, X: np.ndarray, lags: int) -> np.ndarray:
    """Numbers of components: few, nearly all columns, and more for kernels that are not linear.

    Components beyond the columns are determined by the rows alone, so there are at least three rows for each.
    """
    columns, rows = int(np.ptp(X, axis=0).astype(bool).sum()) * (lags + 1), (N_BLOCKS - 1) * len(X) // N_BLOCKS
    steps = {step for k in range(10) for step in (2**k, 3 * 2**k // 2)}
    most = min(rows // 2, columns - 1) if isinstance(kernel, Linear) else min(rows // 3, 2 * columns)
    numbers = sorted(q for q in steps | {columns - step for step in steps} if 1 <= q <= most)
    return np.array(numbers or [1])


def _detections(fit: FitKernel, kernel, numbers, X, alpha, lags, memory, rng) -> np.ndarray:
    """The share of planted faults detected, for every number of components."""
    normal, faulty = [], []
    for block, others in time_blocks(len(X), N_BLOCKS, lags + memory.span):
        process = ProcessModel.of(lambda rows: fit(kernel, int(numbers[-1]), rows), X, others, lags, memory)
        features = process.past(X)[max(block.start, lags) : block.stop]
        model, variances = process.model.decomposition_, process.variances
        kept = np.minimum(numbers, len(variances))
        planted = _planted(np.repeat(features, COPIES, axis=0), X.shape[1], rng)
        normal.append(nested_statistics(model, variances, features, kept))
        faulty.append(nested_statistics(model, variances, planted, kept))
    pairs = zip(np.concatenate(normal, axis=1), np.concatenate(faulty, axis=1), strict=True)
    return np.array([np.mean(Reference.of(a, moment_limits(a, alpha), alpha).index(b) > 1) for a, b in pairs])


def _planted(features: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """The rows, each with one sensor shifted over its whole window."""
    rows = np.arange(len(features))
    sensors, sizes = rng.integers(d, size=len(rows)), rng.choice(SHIFTS, len(rows)) * rng.choice([-1, 1], len(rows))
    moved = features.reshape(len(rows), -1, d).copy()
    moved[rows, :, sensors] += sizes[:, None]
    return moved.reshape(len(rows), -1)
