"""``KernelPCA``: the estimator."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import metadata_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage import eigen, features, kernels, preimages, reduced
from preimage._typing import Generator, RowsLike
from preimage.decomposition import Decomposition, Exact, OnFeatures
from preimage.estimators import conventions, fitting
from preimage.estimators.fitting import Settings
from preimage.estimators.inverse import InverseMixin
from preimage.expansion import FeatureVectors
from preimage.gram import slicing, threads
from preimage.io import chunks
from preimage.io.models import Persistent
from preimage.tensors import as_numpy, is_tensor


def _is_approximate(estimator) -> bool:
    if estimator.approximation is None:
        raise AttributeError(
            "partial_fit needs an approximation, because exact kernel PCA needs all rows at once: "
            "give approximation=1000, or more landmarks."
        )
    return True


class KernelPCA(
    InverseMixin,
    Persistent,
    ClassNamePrefixFeaturesOutMixin,
    conventions.KernelTransformerMixin,
    conventions.NestedParameters,
):
    """Kernel principal component analysis with pre-images.

    ``inverse_transform`` decodes codes alone; ``denoise`` also uses the noisy rows, which are near the result. With
    ``preimage="auto"`` each takes the method that suits it (:func:`preimage.preimages.choose_preimage_method`), so
    ``denoise(X)`` is not ``inverse_transform(transform(X))``. A method given by name or object serves both; in
    ``denoise``, iterative methods still start at the noisy row.

    Parameters
    ----------
    n_components : int, float in (0, 1), "auto" or None
        The number of components, the fraction of variance that they must reach, or None for all. "auto" keeps those
        that exceed chance, see :func:`preimage.selection.parallel_analysis`.
    kernel : kernel object, name, callable or "precomputed"
        See :mod:`preimage.kernels`. A callable takes two matrices and returns the matrix of values.
    approximation : None, int or approximation object
        None is exact. A number of landmarks, or an object of :mod:`preimage.features` such as ``Nystrom(points)`` with
        landmarks of your own, makes time linear in the number of rows and allows rows from files and streams.
    solver : "auto", name or solver object
        See :mod:`preimage.eigen`.
    preimage : "auto", name or method object
        The pre-image method, see :mod:`preimage.preimages`.
    center : bool
        Whether to centre the images in feature space.
    random_state : int, RandomState, Generator or None
        Random numbers for solvers and methods.
    copy_X : bool
        Whether an exact model keeps a copy of the training rows, or of the precomputed kernel matrix. If False it keeps
        the array itself, which must not change afterwards. Rows of a memmap or of a file given by its path are never
        copied: an exact model reads them from the file, and changes when the file does. A model with an approximation
        always copies what it keeps.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: process affinity,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and joblib's worker limits, which also cap a given number.

    Attributes
    ----------
    eigenvalues_ : array of shape (q,)
        Leading eigenvalues of the centred kernel matrix.
    explained_variance_ratio_ : array of shape (q,)
        Their share of the total variance, exact even if few are computed.
    kernel_ : Kernel
        The kernel with numbers for all its parameters.
    components_ : Expansion
        The unit axes of feature space.
    decomposition_ : Decomposition
        The fitted model itself.
    n_components_ : int
        The number q of components kept.
    trace_error_ : float
        With an approximation: the share of Σ k(x, x) that its features cannot express.

    See Also
    --------
    Denoiser : Stages of kernel features, for images, signals and tables.
    InvertibleKernelPCA : Features that can be inverted step by step.
    preimage.compat.KernelPCA : With scikit-learn's signature.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import half_circle, half_circle_distance
    >>> X = half_circle(200, random_state=0).X
    >>> kpca = KernelPCA(n_components=4, preimage="fixed_point").fit(X)
    >>> kpca.transform(X).shape, kpca.inverse_transform(kpca.transform(X)).shape
    ((200, 4), (200, 2))
    >>> bool(half_circle_distance(kpca.denoise(X)).mean() < 0.8 * half_circle_distance(X).mean())
    True
    """

    _objects = {
        "kernel": kernels.as_kernel,
        "approximation": features.as_approximation,
        "solver": eigen.as_solver,
        "preimage": preimages.as_preimage_method,
    }
    __metadata_request__transform = {"out": metadata_routing.UNUSED}

    def __init__(
        self,
        n_components=None,
        *,
        kernel="gaussian",
        approximation=None,
        solver="auto",
        preimage="auto",
        center=True,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.approximation = approximation
        self.solver = solver
        self.preimage = preimage
        self.center = center
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def fit(self, X: RowsLike, y=None):
        """Find the leading components of the rows of X; with a precomputed kernel, X is the kernel matrix.

        X is a matrix, dense or sparse, a memmap, the path of an .npy file, :class:`preimage.Chunks` or a Dask array;
        chunks need an approximation. An exact model of a memmap or a path keeps reading the file (see ``copy_X``). If
        the fit fails or is interrupted, the estimator stays as it was.
        """
        jobs = None if conventions.is_dask(X) else self.n_jobs
        with conventions.unchanged_on_failure(self), threads.limited(jobs):
            settings, rng = Settings.of(self), conventions.generator(self.random_state)
            self._adopt(self._model(settings, X, rng), rng)
        return self

    def fit_transform(self, X: RowsLike, y=None):
        """Fit, and return the codes of the training rows; an exact model evaluates no kernel again."""
        model = self.fit(X).decomposition_
        known = isinstance(model, Exact) and not (conventions.is_dask(X) or is_tensor(X))
        return model.training_codes.copy() if known else self.transform(X)

    @available_if(_is_approximate)
    def partial_fit(self, X: RowsLike, y=None):
        """Add rows of a stream. The first call fixes the length scale and the landmarks; give it thousands of rows.

        ``Nystrom(points)`` fixes the landmarks in advance, so that models of separate parts can be combined by
        :meth:`merge`. X may be a buffer that is reused for every call: the model copies the rows that it keeps.
        """
        with conventions.unchanged_on_failure(self), threads.limited(self.n_jobs):
            settings, rng = Settings.of(self), conventions.generator(self.random_state)
            known = getattr(self, "decomposition_", None)
            X = conventions.read_rows(self, X, accept_sparse="csr", reset=known is None)
            model = fitting.fit_rows(settings, X, rng) if known is None else fitting.extend(settings, known, X, rng)
            self._adopt(model, rng)
        return self

    @conventions.keeps_n_jobs
    def merge(self, other):
        """Add all rows that another estimator with the same landmarks has seen, as if this one had seen them."""
        check_is_fitted(self)
        check_is_fitted(other)
        rng = conventions.generator(self.random_state)
        with conventions.unchanged_on_failure(self):
            self._adopt(fitting.merge(Settings.of(self), self.decomposition_, other.decomposition_, rng), rng)
        return self

    @conventions.also_distributed
    def transform(self, X: RowsLike, out=None):
        """Codes of the rows of X: their coordinates along the components.

        X may also be a memmap, the path of an .npy file or :class:`preimage.Chunks`. With ``out``, the codes are
        written to that .npy file and returned as a memmap. For a Dask array the codes are a lazy Dask array.
        """
        check_is_fitted(self)
        streamed, model = chunks.is_streamed(X), self.decomposition_
        rows: Any = chunks.as_chunks(X) if streamed else self._rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} features, but this model expects {self.n_features_in_}.")
        if out is None and not streamed:
            return model.codes(rows)
        some_rows = slicing.slices(rows.shape[0], chunks.rows_at_once(rows.shape[1]))
        blocks = rows if streamed else (rows[some] for some in some_rows)
        codes = (conventions.finite_answer(self, "transform", model.codes(block)) for block in blocks)
        shape = rows.shape[0], model.n_components
        return (
            chunks.joined(codes, shape, model.dtype)
            if out is None
            else chunks.save_rows(out, codes, shape, model.dtype)
        )

    def project(self, X: RowsLike) -> FeatureVectors:
        """The projections Pφ(x) of the rows onto the subspace, mean included, as an expansion."""
        X = self._rows(X)
        with threads.limited(self.n_jobs):
            return self.decomposition_.expand(self.decomposition_.codes(X))

    @conventions.also_distributed
    def score_samples(self, X: RowsLike, diagonal=None):
        """Minus the squared distance ‖φ(x) − Pφ(x)‖² to the subspace: low for rows unlike the training rows.

        A precomputed kernel needs the values k(x, x) of the rows as ``diagonal``.
        """
        X = self._rows(X)
        return -self.decomposition_.residual(X, conventions.own_values(self.kernel_, X, diagonal))

    def compress(self, n_points, *, method="auto") -> KernelPCA:
        """A fitted copy whose axes and mean are expansions over ``n_points`` points (Schölkopf et al. 1998, §4.3).

        Its ``transform`` and its projections take ``n_points`` kernel values per row; so do iterated pre-images.
        ``Learned`` and ``Wiener`` have landmarks of their own. ``Distance`` and ``ConvexCombination`` find neighbours
        among the ``n_points`` points only and lose accuracy; the others lose little.
        ``compression_errors_`` holds the relative error of a projection for every size, see
        :class:`preimage.reduced.ReducedSet`; ``method`` is one of :mod:`preimage.reduced`.
        """
        check_is_fitted(self)
        with threads.limited(self.n_jobs):
            model, errors = reduced.compress(self.decomposition_, n_points, method=method)
        small = copy(self)
        small._adopt(model, conventions.generator(self.random_state))
        small.compression_errors_ = errors
        return small

    def truncate(self, n_components: int) -> KernelPCA:
        """A fitted copy with the leading ``n_components`` components; nothing is solved again."""
        check_is_fitted(self)
        if not 1 <= n_components <= self.n_components_:
            raise ValueError(f"n_components must lie between 1 and {self.n_components_}, not {n_components}.")
        small = copy(self)
        small.n_components = n_components
        small._adopt(self.decomposition_.truncate(n_components), np.random.default_rng(self._seed))
        return small

    @property
    def components_(self) -> FeatureVectors:
        """The unit axes of feature space."""
        check_is_fitted(self)
        return self.decomposition_.axes

    def _model(self, settings: Settings, X: RowsLike, rng: Generator) -> Decomposition:
        """The model of X, whose rows may be in memory, in files or on a cluster."""
        if conventions.is_dask(X):
            conventions.remember_width(self, X.shape[1])
            return import_module("preimage.distributed").fit_kernel_pca(settings, X, rng)
        if is_tensor(X) and settings.approximation is not None:
            return import_module("preimage.export").fit_tensor(self, settings, X, rng)
        streamed = chunks.is_streamed(X)
        if isinstance(X, chunks.Chunks) or (streamed and settings.approximation is not None):
            rows = chunks.as_chunks(X)
            conventions.remember_width(self, rows.shape[1])
            return fitting.fit_chunks(settings, rows, rng)
        copied = bool(self.copy_X) and settings.approximation is None and not streamed
        X = as_numpy(X) if is_tensor(X) else chunks.open_rows(X)
        X = conventions.read_rows(self, X, accept_sparse="csr", ensure_min_samples=2, copy=copied)
        return fitting.fit_rows(settings, X, rng)

    def _adopt(self, model: Decomposition, rng: Generator) -> None:
        self.decomposition_ = model
        self.kernel_ = model.kernel
        self.eigenvalues_ = model.eigenvalues
        self.explained_variance_ratio_ = model.explained_variance_ratio
        self.n_components_ = model.n_components
        self.__dict__.pop("compression_errors_", None)
        self.__dict__.pop("trace_error_", None)
        if isinstance(model, OnFeatures):
            self.trace_error_ = model.trace_error
        self._seed = int(rng.integers(2**31))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_
