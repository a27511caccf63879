"""Learning from rows with gaps to fill them: settings and weights are chosen by the error at hidden entries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from preimage import progress
from preimage._typing import Array, Generator
from preimage.gram.threads import parallel_map
from preimage.imputation.calibration import ErrorCalibration
from preimage.imputation.chained import ChainedRegression
from preimage.imputation.gaussian import EqualNoise, GaussianModel, OwnNoise
from preimage.imputation.local import LocalGaussians
from preimage.imputation.mixture import weights_by_column
from preimage.imputation.rounds import RefittedKernelPCA

SHARES = (0.3, 0.1, 0.03, 0.01, 1e-3)
FACTORS = (1, 2, 4, 8, 12, 16, 24, 32, 48)
STEPS = 6  # of EM per setting, starting at the model of the setting before
FAMILIES: dict[str, tuple[Any, ...]] = {
    "chained kernel ridge": tuple(
        ChainedRegression(scale, ridge, related=1.0)
        for scale, ridge in ((1.0, 0.1), (1.0, 0.3), (1.0, 1.0), (2.0, 0.3), (2.0, 1.0), (2.0, 3.0))
    ),
    "by related columns": tuple(ChainedRegression(1.0, ridge, related=2.0) for ridge in (0.03, 0.1, 0.3, 1.0)),
    "local Gaussians": (LocalGaussians(0.2, 1.0), LocalGaussians(0.4, 0.3), LocalGaussians(0.7, 0.3)),
    "kernel PCA": (RefittedKernelPCA(1.0, 0.9), RefittedKernelPCA(2.0, 0.97)),
}
MOST_ROWS = 2000  # used for learning
FEWEST_ROWS = 12  # with fewer rows, only the Gaussian model of most noise is used
FEW_ENTRIES, FOLDS = 10_000, 3  # in smaller tables entries are hidden in all rows, in this many folds
RATE = 0.2  # share of hidden entries in a complete table
Parts: TypeAlias = Iterator[AbstractContextManager]  # of the progress, one per table and setting


@dataclass(frozen=True, eq=False)
class FilledByMixture:
    """Fitted candidates, by name, with one row of weights per column; the first is a Gaussian model."""

    names: tuple[str, ...]
    fillers: tuple[Any, ...]
    weights: Array

    def __call__(self, X: Array) -> Array:
        answers = np.zeros_like(X)
        for number, (fill, weights) in enumerate(zip(self.fillers, self.weights.T, strict=True)):
            if weights.any():
                with progress.part_of("filling", number, len(self.fillers)):
                    answers += weights * fill(X)
        return np.where(np.isnan(X), answers, X)

    @property
    def gaussian(self) -> GaussianModel:
        """The model of the uncertainty of filled entries."""
        first: GaussianModel = self.fillers[0]
        return first


def learn(X: Array, rng: Generator) -> tuple[FilledByMixture, ErrorCalibration]:
    """The mixture for standardised rows with gaps, and the calibration of its errors."""
    some = X if len(X) <= MOST_ROWS else X[np.sort(rng.choice(len(X), MOST_ROWS, replace=False))]
    constant = not (np.nanmax(some, axis=0) > np.nanmin(some, axis=0)).any()
    if len(some) < FEWEST_ROWS or X.shape[1] == 1 or constant:
        model = GaussianModel.start(some).improved(some, EqualNoise(SHARES[0]), STEPS)
        return FilledByMixture(("Gaussian",), (model,), np.ones((X.shape[1], 1))), ErrorCalibration.none(X.shape[1])
    trial = _Trial.of(some, rng)
    weights = weights_by_column(trial.errors, trial.hidden)
    fillers = tuple(trial.refitted(some, rng, np.asarray(weights.any(axis=0))))
    calibration = ErrorCalibration.of(np.einsum("jm,mrj->rj", weights, trial.errors), trial.deviations, trial.hidden)
    return FilledByMixture(trial.names, fillers, weights), calibration


def hidden_entries(missing: Array, fold: Array, rng: Generator) -> Array:
    """Observed entries to hide in the rows of a fold: each row loses the entries that another row misses.

    Every row and every column keeps some entries. If nothing is missing, random entries are hidden.
    """
    with_gaps = missing[missing.any(axis=1)]
    if len(with_gaps):
        patterns = with_gaps[rng.integers(len(with_gaps), size=len(missing))]
    else:
        patterns = rng.random(missing.shape) < RATE
    hidden = patterns & ~missing & fold[:, None]
    hidden[(hidden | missing).all(axis=1)] = False
    scarce = (~(hidden | missing)).sum(axis=0) < 2
    hidden[:, scarce] = False
    return hidden


def gaussian_path(X: Array, noises: list[Any]) -> Iterator[GaussianModel]:
    """A model for every noise model, each starting at the one before."""
    model = GaussianModel.start(X)
    for number, noise in enumerate(noises):
        model = model.improved(X, noise, STEPS)
        progress.report("models", number + 1, len(noises))
        yield model


@dataclass(frozen=True, eq=False)
class _Trial:
    """The best setting of every family, and its errors at hidden entries, shape (families, rows, columns)."""

    names: tuple[str, ...]
    settings: tuple[Any, ...]
    errors: Array
    hidden: Array
    deviations: Array

    @classmethod
    def of(cls, X: Array, rng: Generator) -> _Trial:
        tables = list(_tables(X, rng))
        noises = _noises(X.shape[1])
        part = progress.parts_of("settings", len(tables) * (len(noises) + sum(map(len, FAMILIES.values()))))
        parts = map(part, itertools.count())
        found = [_best_paths(X, tables, path, parts) for path in noises.values()]
        best = int(np.argmin([path[2] for path in found]))
        firsts = found[best][1]
        deviations = _joined([first.deviation(rows) for first, (rows, _) in zip(firsts, tables, strict=True)], tables)
        chosen: list[Any] = [(name, path, error) for name, (path, _, _, error) in zip(noises, found, strict=True)]
        chosen.insert(0, chosen.pop(best))
        for name, family in FAMILIES.items():
            tried = zip(family, _errors(X, tables, firsts, family, rng, parts), strict=True)
            chosen.append((name, *min(tried, key=lambda pair: float(np.square(pair[1]).sum()))))
        names, settings, errors = zip(*chosen, strict=True)
        hidden = np.logical_or.reduce([hidden for _, hidden in tables])
        return cls(names, settings, np.stack(errors), hidden, deviations)

    def refitted(self, X: Array, rng: Generator, used: Array) -> Iterator[Any]:
        """The families fitted to the rows with all observed entries; None for kernel families without weight."""
        first: GaussianModel | None = None
        model: Any
        for number, (setting, use) in enumerate(zip(self.settings, used, strict=True)):
            with progress.part_of("models", number, len(used)):
                if isinstance(setting, list):
                    *_, model = gaussian_path(X, setting)
                    first = first or model
                else:
                    model = setting.fit(X, first, rng) if use else None
            yield model


def _tables(X: Array, rng: Generator) -> Iterator[tuple[Array, Array]]:
    """Rows with additional gaps, and the hidden entries: in every fold, or in half of the rows of a large table."""
    small = X.size < FEW_ENTRIES
    part = rng.permutation(len(X)) % (FOLDS if small else 2)
    for number in range(FOLDS if small else 1):
        hidden = hidden_entries(np.isnan(X), part == number, rng)
        yield np.where(hidden, np.nan, X), hidden


def _noises(d: int) -> dict[str, list[Any]]:
    """The two paths of Gaussian models."""
    return {
        "Gaussian": [EqualNoise(share) for share in SHARES],
        "factors": [OwnNoise(q) for q in FACTORS if q <= max(1, 0.8 * d)],
    }


def _best_paths(
    X: Array, tables: list, noises: list[Any], parts: Parts
) -> tuple[list[Any], list[GaussianModel], float, Array]:
    """The path up to the best setting, its models of all tables, its total error, and its errors at hidden entries."""

    def path(task: tuple[Array, AbstractContextManager]) -> list[GaussianModel]:
        rows, part = task
        with part:
            return list(gaussian_path(rows, noises))

    models = parallel_map(path, [(rows, next(parts)) for rows, _ in tables])
    errors = [
        _joined([model[k](rows) - X for model, (rows, _) in zip(models, tables, strict=True)], tables)
        for k in range(len(noises))
    ]
    sizes = [float(np.square(error).sum()) for error in errors]
    k = int(np.argmin(sizes))
    return noises[: k + 1], [model[k] for model in models], sizes[k], errors[k]


def _errors(
    X: Array, tables: list, firsts: list[GaussianModel], settings: tuple[Any, ...], rng: Generator, parts: Parts
) -> list[Array]:
    """The errors of every setting at the hidden entries of all tables, 0 elsewhere; settings and tables in parallel."""

    def error(task: tuple[Any, Any, GaussianModel, int, AbstractContextManager]) -> Array:
        setting, (rows, hidden), first, seed, part = task
        chosen, answer = hidden.any(axis=1), np.array(X)
        with part:
            if chosen.any():
                answer[chosen] = setting.fit(rows, first, np.random.default_rng(seed))(rows[chosen])
        return answer - X

    cases = [(setting, *pair) for setting in settings for pair in zip(tables, firsts, strict=True)]
    seeds = rng.integers(2**63, size=len(cases))
    found = parallel_map(error, [(*case, seed, next(parts)) for case, seed in zip(cases, seeds, strict=True)])
    n = len(tables)
    return [_joined(found[k * n : (k + 1) * n], tables) for k in range(len(settings))]


def _joined(parts: list[Array], tables: list) -> Array:
    """One array with the values at the hidden entries of each table, 0 elsewhere."""
    found = np.zeros_like(parts[0])
    for part, (_, hidden) in zip(parts, tables, strict=True):
        found[hidden] = part[hidden]
    return found
