"""``Imputer``: the estimator."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._missing import is_scalar_nan
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from preimage._typing import Array
from preimage.estimators import conventions
from preimage.exceptions import NothingFoundWarning, warn
from preimage.gram import threads
from preimage.imputation import ErrorCalibration, FilledByMixture, learn
from preimage.imputation.levels import Levels
from preimage.imputation.text import TextLevels
from preimage.io.columns import in_words
from preimage.io.models import Persistent
from preimage.kernels.base import is_number


class Imputer(Persistent, TransformerMixin, BaseEstimator):
    """Fills missing entries of a table from the other entries of their row.

    It learns from rows with gaps anywhere and needs no complete ones. Columns are standardised, and a Gaussian model is
    fitted by EM. Then kernel ridge regressions of every column on the others, a density with a Gaussian around every
    row, and kernel PCA are fitted to the filled rows until the entries settle. Their settings minimise the error at
    observed entries, hidden in the pattern of the gaps. The result is a weighted mean of these candidates; every column
    has its own weights, from the same errors, and a candidate that does not help has weight 0. Observed entries stay as
    they are.

    Parameters
    ----------
    missing_values : float or NaN
        The value that marks a missing entry.
    categorical : None or list of columns
        Columns, by number or name, whose numbers are levels; their gaps are filled with a level seen in ``fit``. Text
        columns are always categorical. A table with text is returned as an array of objects, or as a frame if
        ``set_output`` asks for one.
    add_indicator : bool
        Whether to append columns that mark missing entries, as scikit-learn's imputers do.
    keep_empty_features : bool
        Whether to fill columns without any entry with 0; otherwise they are dropped, as in scikit-learn.
    random_state : int, RandomState, Generator or None
        Random numbers for hidden entries and draws.
    n_jobs : int or None
        The most threads to use, see :class:`preimage.KernelPCA`.

    Attributes
    ----------
    weights_ : dict of floats
        The mean weight of each candidate.
    errors_ : array of shape (d,)
        The expected root mean squared error of a filled entry, for each column.
    indicator_ : array of ints
        The columns that had gaps at ``fit``, which ``add_indicator`` marks.

    See Also
    --------
    KernelPCA.impute : Imputes by a single kernel PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Imputer
    >>> t = np.random.default_rng(0).uniform(0, 3, 200)
    >>> X = np.column_stack([t, np.sin(t), t**2])
    >>> X[::5, 1] = np.nan
    >>> filled = Imputer(random_state=0).fit_transform(X)
    >>> bool(np.abs(filled[::5, 1] - np.sin(t[::5])).mean() < 0.1)
    True
    """

    mixture_: FilledByMixture
    text_: TextLevels
    calibration_: ErrorCalibration

    def __init__(
        self,
        *,
        missing_values=np.nan,
        categorical=None,
        add_indicator=False,
        keep_empty_features=False,
        random_state=None,
        n_jobs=None,
    ):
        self.missing_values = missing_values
        self.categorical = categorical
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Learn to fill gaps of rows like those of X; if it fails, the estimator stays as it was."""
        conventions.check_flags(self, "add_indicator", "keep_empty_features")
        with conventions.unchanged_on_failure(self), threads.limited(self.n_jobs):
            X, _ = self._read(X, reset=True)
            rng = conventions.generator(self.random_state)
            self.known_ = self._with_entries(X)
            self.levels_ = Levels.of(X[:, self.known_], self._categorical()[self.known_])
            rows = self.levels_.spread(X[:, self.known_])
            self.offset_, self.unit_ = np.nanmean(rows, axis=0), _unit(rows)
            self.mixture_, self.calibration_ = learn((rows - self.offset_) / self.unit_, rng)
            self.rows_, self._seed = X, int(rng.integers(2**31))
            self.weights_ = dict(zip(self.mixture_.names, self.mixture_.weights.mean(axis=0).tolist(), strict=True))
            self.indicator_ = np.flatnonzero(np.isnan(X).any(axis=0))
        return self

    @conventions.keeps_n_jobs
    def transform(self, X):
        """The rows with their gaps filled, followed by indicator columns if ``add_indicator`` is set."""
        rows, given = self._read(X)
        filled = self._answer(self._filled(rows), given)
        if self.add_indicator:
            filled = np.hstack([filled, np.isnan(rows[:, self.indicator_])]).astype(filled.dtype)
        return self._framed(filled, X)

    @conventions.in_input_columns
    def impute(self, X):
        """The filled rows without indicator columns, under the name of :meth:`KernelPCA.impute`."""
        rows, given = self._read(X)
        return self._framed(self._answer(self._filled(rows), given), X)

    @conventions.keeps_n_jobs
    def uncertainty(self, X):
        """The expected standard deviation of the error of every filled entry; 0 where an entry is observed.

        It is the deviation of the Gaussian model given the observed entries of the row, times the factor, per column,
        by which the errors at hidden entries exceed it. For a category it is that of the level's indicator.
        """
        return self._deviations(self._read(X)[0])

    @conventions.keeps_n_jobs
    def interval(self, X, level=0.9):
        """Lower and upper ends of an interval that holds the true entry with probability ``level``; equal if observed.

        The width is calibrated on hidden entries (split conformal prediction), for errors of any distribution. Text has
        no interval: NaN.
        """
        if not (is_number(level) and 0 < level < 1):
            raise ValueError(f"level must be a probability between 0 and 1, not {level!r}.")
        X = self._read(X)[0]
        filled, reach = self._filled(X), self.calibration_.half_width(float(level)) * self._deviations(X)
        if self.text_.are_any:
            filled[:, self._kept_text().columns] = np.nan
        return filled - reach, filled + reach

    @conventions.keeps_n_jobs
    def sample(self, n_samples=5, X=None):
        """Tables for multiple imputation, shape (n_samples, rows, columns): gaps are drawn, not filled with their mean.

        The gaps of a row are drawn jointly, with the deviations of ``uncertainty``.

        Parameters
        ----------
        n_samples : int
            The number of tables.
        X : array of shape (rows, d), optional
            Rows with gaps; by default those of ``fit``.
        """
        check_is_fitted(self)
        if not (is_number(n_samples) and n_samples == int(n_samples) and n_samples >= 1):
            raise ValueError(f"n_samples must be a whole number of at least 1, not {n_samples!r}.")
        X = self.rows_ if X is None else self._read(X)[0]
        rng = np.random.default_rng(self._seed)
        inside = self._inside(X)
        filled = self.mixture_(inside)
        draws = (self.mixture_.gaussian.draw(inside, rng) * self.calibration_.factors for _ in range(int(n_samples)))
        tables = [self._outside(filled + draw, X) for draw in draws]
        return np.stack([self._kept_text().decode(table) for table in tables] if self.text_.are_any else tables)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of ``transform``."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        kept = names[self.known_ | self.keep_empty_features]
        indicators = [f"missingindicator_{name}" for name in names[self.indicator_]]
        return np.concatenate([kept, np.array(indicators, dtype=object)]) if self.add_indicator else kept

    def _read(self, X, *, reset: bool = False) -> tuple[Array, Array]:
        """The rows in double precision with NaN for missing entries, and the rows as given."""
        if not reset:
            check_is_fitted(self)
        conventions.check_axes(self, X)
        if reset:
            self.text_ = self._text_of(X)
        if self.text_.are_any:
            given = validate_data(self, X, dtype=object, ensure_all_finite=False, reset=reset)
            rows = self.text_.encode(given)
            if np.isinf(rows).any():
                raise ValueError("Input X contains infinity.")
            return rows, given
        finite = "allow-nan" if is_scalar_nan(self.missing_values) else True
        given = validate_data(self, X, dtype=conventions.FLOATS, ensure_all_finite=finite, reset=reset, copy=True)
        rows = given.astype(float)
        if not is_scalar_nan(self.missing_values):
            rows[given == self.missing_values] = np.nan
        return rows, given

    def _with_entries(self, X: Array) -> Array:
        """Which columns have any entry; warns of the others."""
        known = np.asarray(np.isfinite(X).any(axis=0))
        if not known.any():
            raise ValueError("X has no entry in any column: give rows with some observed entries.")
        if not known.all():
            empty = in_words(getattr(self, "feature_names_in_", np.arange(X.shape[1]))[~known].tolist())
            fate = "filled with 0" if self.keep_empty_features else "left out of the result"
            warn(f"no entry to learn from in {empty}, {fate}.", NothingFoundWarning)
        return known

    def _text_of(self, X) -> TextLevels:
        """The levels of the columns of text."""
        table = X if sp.issparse(X) else np.asarray(X)
        if table.dtype.kind not in "OUS" or table.ndim != 2:
            return TextLevels(())
        missing = None if is_scalar_nan(self.missing_values) else self.missing_values
        return TextLevels.of(np.asarray(X, dtype=object), missing)

    def _kept_text(self) -> TextLevels:
        """The levels of the columns that are returned."""
        return self.text_.kept(self.known_ | self.keep_empty_features)

    def _answer(self, filled: Array, given: Array) -> Array:
        """Filled rows in the type of the given ones: text, or numbers of the same precision."""
        if not self.text_.are_any:
            return filled.astype(given.dtype, copy=False)
        return self._kept_text().decode(filled, given[:, self.known_ | self.keep_empty_features])

    def _framed(self, found: Array, X):
        """A pandas frame with a type for every column, where ``set_output`` asks for one and there is text."""
        if not self.text_.are_any or _get_output_config("transform", self)["dense"] != "pandas":
            return found
        import pandas as pd

        names = self.get_feature_names_out()[: found.shape[1]]
        return pd.DataFrame(found, columns=names, index=getattr(X, "index", None)).infer_objects()

    def _inside(self, X: Array) -> Array:
        """The rows in the units of the models."""
        return (self.levels_.spread(X[:, self.known_]) - self.offset_) / self.unit_

    def _outside(self, filled: Array, X: Array) -> Array:
        """Filled rows in the units of the columns, with the observed entries of X as they were."""
        found = np.where(np.isnan(X), 0, X)
        known = X[:, self.known_]
        levels = self.levels_.gather(filled * self.unit_ + self.offset_)
        found[:, self.known_] = np.where(np.isnan(known), levels, known)
        return found if self.keep_empty_features else found[:, self.known_]

    def _filled(self, X: Array) -> Array:
        if not np.isnan(X).any():
            return X.copy()
        return self._outside(self.mixture_(self._inside(X)), X)

    def _deviations(self, X: Array) -> Array:
        inside = self._inside(X)
        spread = self.mixture_.gaussian.deviation(inside) * self.calibration_.factors * self.unit_
        found = np.zeros_like(X)
        found[:, self.known_] = self.levels_.first(spread)
        return found if self.keep_empty_features else found[:, self.known_]

    @property
    def errors_(self) -> Array:
        """The root mean squared error expected of a filled entry of each column, in the column's units."""
        check_is_fitted(self)
        lost = np.isnan(self.rows_)
        squares = np.square(self._deviations(self.rows_)).sum(axis=0)
        counts = lost.sum(axis=0)[self.known_ | self.keep_empty_features]
        return np.sqrt(squares / np.maximum(counts, 1))

    def _categorical(self) -> Array:
        """Which columns hold levels."""
        text = self.text_.columns if self.text_.are_any else False
        chosen = np.zeros(self.n_features_in_, dtype=bool) | text
        names = list(getattr(self, "feature_names_in_", ()))
        for column in () if self.categorical is None else self.categorical:
            if isinstance(column, str) and column not in names:
                raise ValueError(f"categorical names the column {column!r}, which X does not have.")
            place = names.index(column) if isinstance(column, str) else int(column)
            if not 0 <= place < len(chosen):
                raise ValueError(f"categorical names the column {place}, but X has only {len(chosen)}.")
            chosen[place] = True
        return chosen

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        mark = self.missing_values
        tags.input_tags.allow_nan = is_scalar_nan(mark) or isinstance(mark, str)  # tables of text may hold both
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _unit(rows: Array) -> Array:
    """Standard deviations of the observed entries; 1 for a constant column."""
    found = np.nanstd(rows, axis=0)
    return np.where(found > 1e-12 * np.maximum(np.abs(np.nanmean(rows, axis=0)), 1e-300), found, 1.0)
