"""Scorers for ``GridSearchCV`` and ``cross_val_score``: greater is better, no target is needed.

They take any estimator with the verbs they use, and pipelines that end in one. Settings are bound with
:func:`functools.partial`, as in ``scoring=partial(sure_scorer, sigma=0.25)``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.pipeline import Pipeline

from preimage.statistics import risk
from preimage.statistics.noise_level import noise_level

__all__ = ["imputation_scorer", "reconstruction_scorer", "sure_scorer"]


def reconstruction_scorer(estimator, X, y=None) -> float:
    """Minus the mean squared error of ``inverse_transform(transform(X))``.

    It falls with every component that is added, so it chooses kernels and ways back, not the number of components.
    """
    return -float(np.mean(np.square(estimator.inverse_transform(estimator.transform(X)) - np.asarray(X))))


def sure_scorer(estimator, X, y=None, *, sigma: float | None = None, random_state: int = 0) -> float:
    """Minus Stein's estimate of the mean squared error of ``denoise``, for rows with Gaussian noise.

    Where an estimator has no ``denoise``, what it reconstructs is judged. ``sigma`` of None is estimated from X; a fold
    holds few rows, so better estimate it once from all of them and give it.
    """
    sigma = noise_level(X).sigma if sigma is None else sigma
    return -risk.sure(_denoiser(estimator), X, sigma, random_state=random_state).value


def imputation_scorer(estimator, X, y=None, *, fraction: float = 0.1, random_state: int = 0) -> float:
    """Minus the mean squared error at entries that were hidden and filled by ``impute``; for noise of any law."""
    return -risk.masked_error(_through(estimator, "impute"), X, fraction=fraction, random_state=random_state).value


def _denoiser(estimator) -> Callable:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(last, "denoise"):
        return _through(estimator, "denoise")
    return lambda X: estimator.inverse_transform(estimator.transform(X))


def _through(estimator, verb: str) -> Callable:
    """A verb of the last step, in the units of the data: earlier steps are applied before and undone after it."""
    if not isinstance(estimator, Pipeline):
        return getattr(estimator, verb)
    before, last = estimator[:-1], estimator.steps[-1][1]
    if not len(before):
        return getattr(last, verb)
    return lambda X: before.inverse_transform(getattr(last, verb)(before.transform(X)))
