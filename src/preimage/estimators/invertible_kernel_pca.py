"""``InvertibleKernelPCA``: the estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from preimage._typing import RowsLike
from preimage.decomposition.explicit import Components
from preimage.estimators import conventions
from preimage.gram import slicing, threads
from preimage.invertible.activations import as_activation
from preimage.invertible.map import COPIES, AnchoredDecoder, InvertibleMap
from preimage.io.models import Persistent
from preimage.kernels.base import is_number

RIDGES = tuple(10.0 ** (exponent / 2) for exponent in range(-8, 5))  # relative to the mean eigenvalue of W⊤W


class InvertibleKernelPCA(Persistent, ClassNamePrefixFeaturesOutMixin, TransformerMixin, conventions.NestedParameters):
    """Kernel PCA on features σ(Wx + b), inverted step by step (Gedon et al. 2023).

    It has two inverse maps:

    * ``denoise(X)`` *filters an input*: the projection, the activation and the linear map are inverted in turn (eq. 4),
      and what the activation loses is taken from the input itself, bypassing the components;
    * ``inverse_transform(X)`` *decodes a code*: there is no input, and the training point with the nearest code
      serves as an anchor.

    Parameters
    ----------
    n_components : int, float in (0, 1) or None
        Components kept, or the fraction of variance that they must reach; None keeps all.
    activation : activation object or name
        ``Sine(kernel=...)`` for random Fourier features of a kernel, ``ReLU()`` for the arc-cosine kernel, or your own
        (see :mod:`preimage.invertible.activations`).
    n_features : int, optional
        The number r of features; None is 500, or twice the number of columns if that is more.
    ridge : float or "auto"
        λ of the last step, ‖Wx + b − a‖² + λ‖x‖². "auto" takes the value with the least error on held-out rows. As
        λ → 0 the inverse map approaches that of linear PCA.
    center : bool
        Whether to subtract the training mean from the inputs first.
    random_state : int, RandomState, Generator or None
        Random numbers for weights and held-out rows.
    copy_X : bool
        Whether the model keeps a copy of the training rows, which ``inverse_transform`` uses as anchors. If False it
        keeps the array itself, which must not change afterwards; rows of a memmap are never copied.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: process affinity,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and joblib's worker limits, which also cap a given number.

    Attributes
    ----------
    eigenvalues_, explained_variance_ratio_ : arrays of shape (q,)
    map_ : InvertibleMap
        The fitted map with its weights, offsets, activation and components.
    ridge_ : float
        The chosen λ.

    See Also
    --------
    KernelPCA : Kernel PCA with other pre-image methods.
    preimage.invertible.Sine, preimage.invertible.ReLU : The activations.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import InvertibleKernelPCA
    >>> from preimage.datasets import s_curve
    >>> X, clean, _ = s_curve(300, random_state=0)
    >>> ikpca = InvertibleKernelPCA(10, random_state=0).fit(X)
    >>> bool(np.mean((ikpca.denoise(X) - clean) ** 2) < np.mean((X - clean) ** 2))
    True
    >>> ikpca.inverse_transform(ikpca.transform(X)).shape
    (300, 3)
    """

    _objects = {"activation": as_activation}

    def __init__(
        self,
        n_components=None,
        *,
        activation="sine",
        n_features=None,
        ridge="auto",
        center=True,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.activation = activation
        self.n_features = n_features
        self.ridge = ridge
        self.center = center
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def fit(self, X: RowsLike, y=None):
        """Draw the features, find their principal components, and choose the ridge.

        If it fails or is interrupted, the estimator stays as it was.
        """
        with conventions.unchanged_on_failure(self), threads.limited(self.n_jobs):
            conventions.check_flags(self, "center", "copy_X")
            copy_X = bool(self.copy_X) and not isinstance(X, np.memmap)
            self._fit(conventions.read_rows(self, X, ensure_min_samples=2, copy=copy_X))
        return self

    def _fit(self, X: np.ndarray) -> None:
        activation = as_activation(self.activation)
        rng = conventions.generator(self.random_state)
        n_components = conventions.check_component_number(self.n_components, X.shape[0], center=True)
        n_features, ridge = self._sizes(X.shape[1])
        center = X.mean(axis=0) if self.center else np.zeros(X.shape[1], dtype=X.dtype)
        weights, offsets, activation = activation.draw(n_features, X - center, rng)
        features = activation.scale(n_features) * activation((X - center) @ weights.T + offsets)
        components = Components.of(features, n_components)
        fitted = InvertibleMap(center, weights, offsets, activation, components, ridge or 0.0)
        if ridge is None:
            fitted = fitted.with_ridge(_best_ridge(fitted, X, features, rng))
        self.map_, self.ridge_, self._decoder = fitted, fitted.ridge, AnchoredDecoder.of(fitted, X)
        self.eigenvalues_ = fitted.components.eigenvalues
        self.explained_variance_ratio_ = self.eigenvalues_ / fitted.components.total
        self.n_components_ = len(self.eigenvalues_)

    @conventions.also_tensors
    @conventions.finite_answers
    def transform(self, X: RowsLike):
        """Codes of the rows: the components of their features."""
        return self._by_rows(self._rows(X), self.map_.codes)

    @conventions.in_input_columns
    @conventions.also_tensors
    @conventions.finite_answers
    def denoise(self, X: RowsLike):
        """The filtered rows: the three steps inverted, with the rows themselves as bypass."""
        return self._by_rows(self._rows(X), self.map_.filter)

    @conventions.in_input_columns
    @conventions.also_tensors
    @conventions.finite_answers
    def inverse_transform(self, X: RowsLike):
        """Points for the rows X of codes, without a bypass."""
        check_is_fitted(self)
        codes = conventions.read_codes(X, self.n_components_)
        return self._by_rows(codes, self._decoder, self._decoder.row_bytes)

    def _sizes(self, d: int) -> tuple[int, float | None]:
        """The number of features, and the ridge, or None if it is "auto"."""
        n_features = max(500, 2 * d) if self.n_features is None else self.n_features
        if not is_number(n_features) or n_features < 1 or n_features != int(n_features):
            raise ValueError(f"n_features must be a whole number of at least 1, not {n_features!r}.")
        if isinstance(self.ridge, str) and self.ridge == "auto":
            return int(n_features), None
        if not is_number(self.ridge) or self.ridge < 0:
            raise ValueError(f'ridge must be a number of at least 0 or "auto", not {self.ridge!r}.')
        return int(n_features), float(self.ridge)

    def _by_rows(self, X: RowsLike, function, row_bytes: float | None = None) -> np.ndarray:
        """``function`` of blocks of rows; ``row_bytes`` is the memory per row, by default a few sets of features."""
        blocks = slicing.row_blocks(len(X), row_bytes or COPIES * self.map_.offsets.nbytes)
        with threads.limited(self.n_jobs):
            return np.concatenate([function(X[rows]) for rows in blocks])

    def _rows(self, X: RowsLike):
        check_is_fitted(self)
        return conventions.read_rows(self, X, reset=False)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _best_ridge(fitted: InvertibleMap, X: RowsLike, features: np.ndarray, rng: np.random.Generator) -> float:
    """The λ with the least filtering error on rows held out of the components."""
    order = rng.permutation(len(X))
    held, kept = np.split(order, [max(1, len(X) // 5)])
    q = len(fitted.components.eigenvalues)
    rest = Components.of(features[kept], q) if len(kept) > 1 and np.ptp(X[kept], axis=0).any() else fitted.components
    unit = float(np.square(fitted.weights).sum() / fitted.weights.shape[1])
    trial = replace(fitted, components=rest)
    errors = {r: float(np.mean(np.square(trial.with_ridge(r * unit).filter(X[held]) - X[held]))) for r in RIDGES}
    return unit * min(errors, key=errors.__getitem__)
