"""``Standardised``: the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from preimage._typing import Array
from preimage.decomposition import Decomposition
from preimage.estimators import conventions
from preimage.estimators.kernel_pca import KernelPCA
from preimage.io.chunks import Chunks
from preimage.io.models import Persistent
from preimage.kernels import Kernel
from preimage.scaling import Scaling


class Standardised(Persistent, TransformerMixin, BaseEstimator):
    """Kernel PCA of a table whose columns have different units: each becomes z = (x − mean) / deviation.

    Results in input space are in the units of the columns. ``preimage fit`` saves this model for tables.

    Parameters
    ----------
    model : KernelPCA, optional
        Fitted to the standardised columns, so its length scale is in standard deviations. None is ``KernelPCA()``.

    Attributes
    ----------
    model_ : KernelPCA
        The fitted model.
    scaling_ : Scaling
        Mean and standard deviation of every column; constant columns become 0.

    See Also
    --------
    KernelPCA : For columns in one unit. In a pipeline after ``StandardScaler`` it offers no ``impute`` or ``denoise``.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Standardised
    >>> t = np.random.default_rng(0).uniform(0, 3, 200)
    >>> X = np.column_stack([t, 1000 * np.sin(t)])  # seconds and millimetres
    >>> model = Standardised(KernelPCA(10, random_state=0)).fit(X)
    >>> filled = model.impute([[1.0, np.nan]])
    >>> bool(abs(filled[0, 1] - 1000 * np.sin(1)) < 50)
    True
    """

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y=None):
        """Fit the model to the standardised rows of X, an array or :class:`preimage.Chunks`."""
        with conventions.unchanged_on_failure(self):
            rows = self._read(X)
            self.scaling_ = Scaling.of_blocks(rows) if isinstance(rows, Chunks) else Scaling.of(rows)
            model = KernelPCA() if self.model is None else clone(self.model)
            self.model_ = model.fit(self._standardised(rows))
        return self

    @conventions.also_tensors
    def transform(self, X):
        """Codes of the rows of X."""
        return self.model_.transform(self._inside(X))

    @conventions.in_input_columns
    @conventions.also_tensors
    def inverse_transform(self, X):
        """The rows decoded from the codes X."""
        check_is_fitted(self)
        return self._outside(self.model_.inverse_transform(X))

    @conventions.in_input_columns
    @conventions.also_tensors
    def denoise(self, X, **options):
        """The denoised rows of X, see :meth:`KernelPCA.denoise`."""
        return self._outside(self.model_.denoise(self._inside(X), **options))

    @conventions.in_input_columns
    def impute(self, X, **options):
        """The rows of X with their gaps filled, see :meth:`KernelPCA.impute`; observed entries stay as they are."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=conventions.FLOATS, ensure_all_finite="allow-nan", reset=False)
        filled = self._outside(self.model_.impute(self._standardised(X), **options))
        return np.where(np.isnan(X), filled, X)

    @conventions.also_tensors
    def score_samples(self, X):
        """Minus the squared distance to the subspace, see :meth:`KernelPCA.score_samples`."""
        return self.model_.score_samples(self._inside(X))

    @property
    def decomposition_(self) -> Decomposition:
        """The decomposition of the standardised rows."""
        check_is_fitted(self, "model_")
        return self.model_.decomposition_

    @property
    def kernel_(self) -> Kernel:
        """The kernel of the standardised rows."""
        return self.decomposition_.kernel

    @property
    def explained_variance_ratio_(self) -> Array:
        """The share of the variance that each component explains."""
        return self.decomposition_.explained_variance_ratio

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return self.decomposition_.n_components

    def get_feature_names_out(self, input_features=None):
        """Names of the codes."""
        check_is_fitted(self)
        return self.model_.get_feature_names_out()

    @property
    def _seed(self) -> int:
        return self.model_._seed

    def _read(self, X: Any) -> Any:
        if isinstance(X, Chunks):
            conventions.remember_width(self, X.shape[1])
            return X
        return conventions.read_rows(self, X, ensure_min_samples=2)

    def _standardised(self, rows: Any) -> Any:
        if isinstance(rows, Chunks):
            return Chunks(lambda: (self.scaling_.apply(block) for block in rows))
        return self.scaling_.apply(rows).astype(rows.dtype, copy=False)

    def _outside(self, rows: Any) -> Any:
        """Answers in the units of the columns, of the same precision."""
        return self.scaling_.undo(rows).astype(rows.dtype, copy=False)

    def _inside(self, X: Any) -> Any:
        """New rows, standardised."""
        check_is_fitted(self)
        return self._standardised(conventions.read_rows(self, X, reset=False))
