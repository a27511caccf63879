"""``KernelPCA`` with scikit-learn's signature."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from preimage._typing import RowsLike
from preimage.compat.kernels import named, wrapped
from preimage.compat.matrices import center_any, nonnegative, writable_square
from preimage.eigen import Dense, Eigenpairs, Lanczos, Solver
from preimage.eigen.randomized import Randomized
from preimage.estimators.conventions import generator
from preimage.gram import threads, tiles
from preimage.gram.operators import Stored, Symmetric, gram_operator
from preimage.io.models import Persistent
from preimage.kernels import Kernel
from preimage.kernels.pairwise import Pairwise

SQUARE = 1000  # rows up to which products with a full matrix are faster than with one triangle


class KernelPCA(Persistent, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel principal component analysis with the interface of ``sklearn.decomposition.KernelPCA``.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None keeps all that are not zero.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'cosine', 'precomputed'} or callable, default='linear'
        A callable takes two rows and returns a number; a kernel of ``sklearn.gaussian_process`` or of
        :mod:`preimage.kernels` takes two matrices.
    gamma : float, default=None
        γ of rbf exp(−γ‖x−y‖²), poly (γxᵀy + c₀)ᵖ and sigmoid tanh(γxᵀy + c₀); None is 1/n_features.
    degree, coef0 : float, default=3 and 1
        p and c₀.
    kernel_params : dict, default=None
        Keyword arguments of a callable kernel.
    alpha : float, default=1.0
        Ridge of the regression that learns the inverse map.
    fit_inverse_transform : bool, default=False
        Whether to learn the inverse map (not for precomputed kernels or sparse data).
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        'dense' is :class:`preimage.eigen.Dense`, 'arpack' is :class:`preimage.eigen.Lanczos`, and 'randomized' is
        :class:`Randomized`, which chooses eigenvalues by their size, as scikit-learn's does. 'auto' is 'arpack' for
        fewer than 10 components of more than 200 rows, and 'dense' otherwise or if ARPACK fails.
    tol, max_iter : float, default=0, and int, default=None
        Tolerance and largest number of restarts of 'arpack'; 0 and None leave them to ARPACK.
    iterated_power : int or 'auto', default='auto'
        Power iterations of 'randomized'; 'auto' is 7 for less than a tenth of the components, else 4.
    remove_zero_eig : bool, default=False
        Whether components with zero eigenvalues are dropped. They always are when ``n_components`` is None.
    random_state : int, RandomState or None, default=None
        Start of 'arpack' and 'randomized'; None always gives the same start.
    copy_X : bool, default=True
        Whether X is copied before it is kept as ``X_fit_``. A precomputed kernel matrix is centred there.
    n_jobs : int, default=None
        Has no effect: a callable of two rows runs in one thread, other kernels run on all cores.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix in decreasing order.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its eigenvectors, of unit length.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the inverse map, if it was learned.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Codes of the training rows, if the inverse map was learned.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows.
    gamma_ : float
        The γ in use.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X has names that are all strings.

    See Also
    --------
    preimage.KernelPCA : The library's own interface, with all its abilities.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from preimage.compat import KernelPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> KernelPCA(n_components=7, kernel="linear").fit_transform(X).shape
    (1797, 7)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        iterated_power="auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @threads.limited()
    def fit(self, X: RowsLike, y=None):
        """Find the components of the rows of X; with a precomputed kernel, X is the kernel matrix."""
        if self.fit_inverse_transform and self._precomputed:
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = validate_data(self, X, accept_sparse=self._accepted, copy=self.copy_X)
        if self.fit_inverse_transform and sp.issparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        self._find_components(X)
        if self.fit_inverse_transform:
            self._learn_inverse_map(X)
        self.X_fit_ = X
        return self

    def fit_transform(self, X: RowsLike, y=None, **params):
        """Fit, and return the codes √λₖuₖ of the training rows, without evaluating the kernel again."""
        return self.fit(X, **params)._training_codes

    def transform(self, X: RowsLike):
        """Codes of the rows of X: their coordinates along the components."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=self._accepted, reset=False)
        roots = np.sqrt(self.eigenvalues_)
        axes = np.divide(self.eigenvectors_, roots, out=np.zeros_like(self.eigenvectors_), where=roots > 0)
        axes -= axes.mean(axis=0)  # centres the rows of the kernel matrix; the offsets centre its columns
        offsets = self._column_means @ axes
        if self._precomputed:
            return tiles.floating(X) @ axes - offsets
        return self._multiply(X, self.X_fit_, axes) - offsets

    def inverse_transform(self, X: RowsLike):
        """Rows of input space for rows of codes, by the kernel ridge regression learned in ``fit``.

        The kernel is that of the inputs, with the same parameters, and there is no intercept; for better pre-images see
        :class:`preimage.KernelPCA`.
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        X, codes = check_array(X, accept_sparse="csr"), self.X_transformed_fit_
        if X.shape[1] != codes.shape[1]:
            raise ValueError(
                "Incompatible dimension for X and Y matrices: "
                f"X.shape[1] == {X.shape[1]} while Y.shape[1] == {codes.shape[1]}"
            )
        return self._multiply(X, codes, self.dual_coef_)

    def _find_components(self, X: RowsLike) -> None:
        n = X.shape[0]
        k = n if self.n_components is None else min(n, self.n_components)
        solver = self._solver(n, k)
        square = isinstance(solver, Dense) or callable(self.kernel) or n <= SQUARE
        operator, self._column_means = self._centred_gram(X, square)
        if self._precomputed and isinstance(solver, Dense):
            tiles.mirror(operator.dense().T)  # scikit-learn reads below the diagonal
        pairs = self._solve(solver, operator, k)
        values = nonnegative(pairs.values)
        kept = values > 0 if self.remove_zero_eig or self.n_components is None else slice(None)
        self.eigenvalues_, self.eigenvectors_ = values[kept], pairs.vectors[:, kept]

    def _learn_inverse_map(self, X: RowsLike) -> None:
        """Solve (K + αI) C = X, K the kernel matrix of the codes (Bakır, Weston & Schölkopf 2004)."""
        codes = check_array(self._training_codes)  # there may be no component to learn from
        ridge = tiles.gram(self._kernel(), codes)
        ridge.flat[:: len(ridge) + 1] += self.alpha
        with threads.threaded_blas(len(ridge)):
            self.dual_coef_ = scipy.linalg.solve(ridge.T, X, assume_a="pos", overwrite_a=True)
        self.X_transformed_fit_ = codes

    def _centred_gram(self, X: RowsLike, square: bool) -> tuple[Symmetric, np.ndarray]:
        """The centred kernel matrix, in full or as an operator, and the column means that centred it."""
        if self._precomputed:
            matrix = writable_square(X)
        else:
            kernel = self._kernel()
            X = _rows(kernel, X)
            if not square:
                operator, statistics = gram_operator(kernel, X, center=True)
                return operator, statistics.row_means
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
                matrix = tiles.gram(kernel, X)
        assert_all_finite(matrix, input_name="K, the kernel matrix,")
        return Stored(matrix), center_any(matrix)

    def _solver(self, n: int, k: int) -> Solver:
        if self.eigen_solver == "randomized":
            return Randomized(self.iterated_power)
        few_of_many = n > 200 and k < 10
        if self.eigen_solver == "dense" or (self.eigen_solver == "auto" and not few_of_many):
            return Dense()
        return Lanczos(self.tol, self.max_iter)

    def _solve(self, solver: Solver, operator: Symmetric, k: int) -> Eigenpairs:
        fixed = self.random_state is None or isinstance(solver, Dense)
        rng = generator(0 if fixed else self.random_state)
        try:
            pairs = solver.solve(operator, k, rng)
            if len(pairs.values) < k:
                found = f"No convergence ({len(pairs.values)}/{k} eigenvectors converged)"
                raise ArpackNoConvergence(found, pairs.values, pairs.vectors)
            return pairs
        except ArpackError:
            if self.eigen_solver != "auto":
                raise
            return Dense().solve(operator, k, rng)

    def _kernel(self) -> Kernel:
        effective_n_jobs(self.n_jobs)  # refuses 0
        if callable(self.kernel):
            return wrapped(self.kernel, self.kernel_params or {})
        return named(self.kernel, float(self.gamma_), float(self.coef0), float(self.degree))

    def _multiply(self, X: RowsLike, points, weights: np.ndarray) -> np.ndarray:
        """K(X, points) @ weights in tiles."""
        kernel = self._kernel()
        return tiles.multiply(kernel, _rows(kernel, X), _rows(kernel, points), weights)

    @property
    def _training_codes(self) -> np.ndarray:
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _accepted(self) -> str | bool:
        return False if self._precomputed else "csr"

    @property
    def _n_features_out(self) -> int:
        return self.eigenvalues_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _rows(kernel: Kernel, X: RowsLike):
    """Rows as the kernel takes them: as floats, except that a function of two rows gets whole numbers unchanged."""
    return X if isinstance(kernel, Pairwise) and X.dtype.kind in "iub" else tiles.floating(X)
