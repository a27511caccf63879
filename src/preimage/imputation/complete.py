"""Imputation of new rows with a kernel PCA of complete rows: pre-image methods and a Gaussian model, averaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import compress
from typing import TypeAlias

import numpy as np

from preimage import decomposition
from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, silenced
from preimage.imputation.gaussian import FOLDS, GaussianModel
from preimage.imputation.mixture import best_weights
from preimage.imputation.rounds import Rounds
from preimage.kernels.scales import spread_rows
from preimage.preimages.base import PreimageMethod, dense_rows

SAMPLE = 600  # training rows used to find the weights of the methods
RATES = (0.1, 0.3, 0.5)  # shares of hidden entries in a row
Filler: TypeAlias = Callable[[Array], Array]


@dataclass(frozen=True)
class Imputation:
    """Fill gaps by a Gaussian model of the training rows, and by rounds of one or more pre-image methods.

    The result is a weighted mean. A single method has all the weight. For several, entries of training rows are hidden,
    and models fitted without those rows fill them. The weights wₘ ≥ 0, Σw = 1, have the least squared error, separately
    for few, some and many hidden entries in a row.

    Parameters
    ----------
    methods : tuple of methods
    n_rounds : int
        How many times the filled rows are projected and replaced by pre-images.
    """

    methods: tuple[PreimageMethod, ...]
    n_rounds: int = 5

    def prepare(self, model: Decomposition, rng: Generator) -> _ImputationMap:
        """The map that fills gaps, with the methods that have a weight."""
        rng = np.random.default_rng(0)  # the same hidden entries every time, so that a loaded model gives equal results
        examples = dense_rows(model.inputs)
        if len(self.methods) > 1 and len(examples) > FOLDS:
            weights = self._weights(model, examples, rng)
        else:
            weights = np.tile(np.arange(1 + len(self.methods)) == 1, (len(RATES), 1)).astype(float)
        used = np.append(True, weights[:, 1:].any(axis=0))  # all methods start at the Gaussian model
        useful = replace(self, methods=tuple(compress(self.methods, used[1:])))
        return _ImputationMap(useful._fillers(model, examples, rng), weights[:, used])

    def _fillers(self, model: Decomposition, examples: Array, rng: Generator) -> list[Filler]:
        """The Gaussian model and the prepared methods."""
        first = GaussianModel.of(examples)
        return [first, *(Rounds(first, model, method.prepare(model, rng), self.n_rounds) for method in self.methods)]

    def _weights(self, model: Decomposition, examples: Array, rng: Generator) -> Array:
        """One row of weights per rate, the Gaussian model first."""
        rows = spread_rows(examples, SAMPLE)
        fold = rng.permutation(len(rows)) % FOLDS
        rest, held = rows[fold > 0], rows[fold == 0]
        n_components = min(model.n_components, len(rest) - 1)
        with silenced(FewerComponentsWarning, ConvergenceWarning):
            part = decomposition.fit(model.kernel, rest, n_components, center=model.is_centred, rng=rng)
            fillers = self._fillers(part, rest, rng)
            return np.stack([_best_mixture(fillers, held, rate, rng) for rate in RATES])


def _best_mixture(fillers: list[Filler], rows: Array, rate: float, rng: Generator) -> Array:
    """Weights of the fillers with the least squared error at hidden entries."""
    hidden = rng.random(rows.shape) < rate
    hidden[hidden.all(axis=1), 0] = rows.shape[1] == 1
    known = np.where(hidden, np.nan, rows)
    misfits = np.stack([(fill(known) - rows)[hidden] for fill in fillers]).astype(float)
    return best_weights((misfits @ misfits.T)[None])[0]


@dataclass(frozen=True, eq=False)
class _ImputationMap:
    fillers: list[Filler]
    weights: Array  # one row per rate, one column per filler

    def __call__(self, X: Array) -> Array:
        missing = np.isnan(X)
        nearest = np.abs(missing.mean(axis=1)[:, None] - RATES).argmin(axis=1)
        shares = self.weights[nearest].astype(X.dtype)
        filled = np.zeros_like(X)
        for fill, share in zip(self.fillers, shares.T, strict=True):
            if share.any():
                filled += share[:, None] * fill(X)
        return np.where(missing, filled, X)
