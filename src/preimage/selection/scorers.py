"""Scorers for ``GridSearchCV`` and ``cross_val_score``: greater is better, no target is needed.

They take any estimator with the methods they call, and pipelines that end in one. Bind settings with
:func:`functools.partial`, as in ``scoring=partial(sure_scorer, sigma=0.25)``.
"""

from __future__ import annotations

from collections.abc import Callable

from sklearn.pipeline import Pipeline

from preimage._typing import RowsLike
from preimage.statistics import risk
from preimage.statistics.metrics import mse
from preimage.statistics.noise_level import noise_level


def reconstruction_scorer(estimator, X: RowsLike, y=None) -> float:
    """Minus the mean squared error of ``inverse_transform(transform(X))``.

    Every added component lowers it, so it chooses kernels and pre-image methods, not the number of components.

    See Also
    --------
    sure_scorer, imputation_scorer : Scorers that can choose the number of components.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.selection import reconstruction_scorer
    >>> X = s_curve(200, random_state=0).X
    >>> few, many = (KernelPCA(q, random_state=0).fit(X[:100]) for q in (1, 10))
    >>> bool(reconstruction_scorer(few, X[100:]) < reconstruction_scorer(many, X[100:]) < 0)
    True
    """
    return -mse(X, estimator.inverse_transform(estimator.transform(X)))


def sure_scorer(estimator, X: RowsLike, y=None, *, sigma: float | None = None, random_state: int = 0) -> float:
    """Minus Stein's estimate of the mean squared error of ``denoise``, for rows with Gaussian noise.

    An estimator without ``denoise`` is scored by its reconstruction. Without ``sigma``, the noise level is estimated
    from X; a fold holds few rows, so better estimate it once from all rows and pass it.

    See Also
    --------
    sure : The estimate itself.
    select : A search that shares work between settings.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.selection import sure_scorer
    >>> from sklearn.model_selection import GridSearchCV
    >>> rng = np.random.default_rng(0)
    >>> noisy = rng.standard_normal((200, 1)) @ rng.standard_normal((1, 10)) + 0.1 * rng.standard_normal((200, 10))
    >>> kpca = KernelPCA(kernel="linear", preimage="conformal")
    >>> search = GridSearchCV(kpca, {"n_components": [1, 5]}, scoring=partial(sure_scorer, sigma=0.1), cv=2)
    >>> search.fit(noisy).best_params_
    {'n_components': 1}
    """
    sigma = noise_level(X).sigma if sigma is None else sigma
    return -risk.sure(_denoiser(estimator), X, sigma, random_state=random_state).value


def imputation_scorer(estimator, X: RowsLike, y=None, *, fraction: float = 0.1, random_state: int = 0) -> float:
    """Minus the mean squared error at hidden entries that ``impute`` fills; for noise of any law.

    See Also
    --------
    masked_error : The error itself.
    sure_scorer : For Gaussian noise.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.selection import imputation_scorer
    >>> X = s_curve(200, random_state=0).X
    >>> kpca = KernelPCA(5, random_state=0).fit(X[:100])
    >>> bool(-X.var() < imputation_scorer(kpca, X[100:]) < 0)  # better than the mean
    True
    """
    return -risk.masked_error(_through(estimator, "impute"), X, fraction=fraction, random_state=random_state).value


def _denoiser(estimator) -> Callable:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(last, "denoise"):
        return _through(estimator, "denoise")
    return lambda X: estimator.inverse_transform(estimator.transform(X))


def _through(estimator, verb: str) -> Callable:
    """A method of the last step in the units of the data: earlier steps are applied before it and inverted after it."""
    if not isinstance(estimator, Pipeline):
        return getattr(estimator, verb)
    before, last = estimator[:-1], estimator.steps[-1][1]
    if not len(before):
        return getattr(last, verb)
    return lambda X: before.inverse_transform(getattr(last, verb)(before.transform(X)))
