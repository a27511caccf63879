"""``KernelPCA``: the estimator."""

from __future__ import annotations

from copy import copy

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from preimage import decomposition, eigen, features, kernels, preimages, reduced
from preimage.decomposition import Decomposition, Exact, Projection
from preimage.decomposition.on_features import Approximate
from preimage.estimators import conventions
from preimage.estimators.inverse import WayBackMixin
from preimage.estimators.streaming import StreamingMixin
from preimage.expansion import Expansion
from preimage.features.fourier import RandomFourier
from preimage.gram import threads, tiles
from preimage.io import chunks
from preimage.io.models import Persistent
from preimage.kernels import Kernel, Precomputed, scales


class KernelPCA(
    WayBackMixin,
    StreamingMixin,
    Persistent,
    ClassNamePrefixFeaturesOutMixin,
    conventions.KernelTransformerMixin,
    conventions.NestedParameters,
):
    """Kernel principal component analysis with pre-images.

    Two methods lead back to input space, and by default they take different ways: ``inverse_transform`` decodes a code
    with no input to look at, and ``denoise`` knows the noisy row itself, which is near the answer. With
    ``preimage="auto"`` each takes the method that serves it best (:func:`preimage.preimages.choose`), so that
    ``denoise(X)`` is not ``inverse_transform(transform(X))``. A method given by name or object serves both; iterative
    methods then still start at the noisy row in ``denoise``.

    Parameters
    ----------
    n_components : int, float in (0, 1), "auto" or None
        The number of components, the fraction of variance that they must reach, or None for all. "auto" keeps those
        that stand out by parallel analysis, see :func:`preimage.selection.parallel_analysis`.
    kernel : kernel object, name, callable or "precomputed"
        See :mod:`preimage.kernels`. A callable takes two matrices and returns the matrix of values.
    approximation : None, int or approximation object
        None is exact. A number of landmarks, or an object of :mod:`preimage.features` such as ``Nystrom(points)`` with
        landmarks of your own, makes time linear in the number of rows and lets them come from files and streams.
    solver : "auto", name or solver object
        See :mod:`preimage.eigen`.
    preimage : "auto", name or method object
        The way back, see :mod:`preimage.preimages`.
    center : bool
        Whether to centre in feature space.
    random_state : int, RandomState, Generator or None
        Where solvers and methods take their random numbers from.
    copy_X : bool
        Whether an exact model keeps a copy of the training rows (of the kernel matrix where it is precomputed). If
        False it keeps the array itself, which must not change from then on. Rows of a memmap or of a file given by its
        path are never copied: an exact model reads them where they are, and changes when the file does. What a model
        with an approximation keeps is always copied.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: the affinity of the process,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and the limits of joblib's workers, which a number obeys as well.

    Attributes
    ----------
    eigenvalues_ : array of shape (q,)
        Leading eigenvalues of the centred kernel matrix.
    explained_variance_ratio_ : array of shape (q,)
        Their share of the total variance, exact also when few are computed.
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

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import half_circle
    >>> X = half_circle(200, random_state=0).X
    >>> kpca = KernelPCA(n_components=4).fit(X)
    >>> kpca.transform(X).shape
    (200, 4)
    >>> kpca.inverse_transform(kpca.transform(X)).shape
    (200, 2)
    """

    _objects = {
        "kernel": kernels.as_kernel,
        "approximation": features.as_approximation,
        "solver": eigen.as_solver,
        "preimage": preimages.as_method,
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

    @conventions.also_distributed
    def fit(self, X, y=None):
        """Find the leading components of the rows of X (of the kernel matrix X where it is precomputed).

        X is a matrix, dense or sparse, a memmap, the path of an .npy file, :class:`preimage.Chunks` or a Dask array;
        chunks need an approximation. An exact model of a memmap or a path goes on reading the file (see ``copy_X``). If
        it fails or is interrupted, the estimator stays as it was.
        """
        self._fit(X)
        return self

    @conventions.also_distributed
    def fit_transform(self, X, y=None):
        """Fit, and return the codes of the training rows (where it is exact, no kernel is evaluated again)."""
        self._fit(X)
        model = self.decomposition_
        return model.training_codes.copy() if isinstance(model, Exact) else self.transform(X)

    @conventions.also_distributed
    def transform(self, X, out=None):
        """Codes of the rows of X: their coordinates along the components.

        Rows may come from a memmap, the path of an .npy file or :class:`preimage.Chunks`, and the codes of any rows may
        go to the .npy file ``out``, which is then returned as a memmap. For a Dask array the codes are a lazy one.
        """
        if chunks.is_streamed(X):
            return self._transform_stream(X, out)
        X, model = self._rows(X), self.decomposition_
        if out is None:
            return model.codes(X)
        blocks = (model.codes(X[rows]) for rows in tiles.slices(X.shape[0], chunks.BLOCK))
        return chunks.save(out, blocks, (X.shape[0], model.n_components), model.alphas.dtype)

    def project(self, X) -> Projection:
        """The projections Pφ(x) of the rows onto the subspace, mean included, as an expansion."""
        X = self._rows(X)
        with threads.limited(self.n_jobs):
            return self.decomposition_.expand(self.decomposition_.codes(X))

    @conventions.also_distributed
    def score_samples(self, X, diagonal=None):
        """Minus the squared distance ‖φ(x) − Pφ(x)‖² to the subspace: low for what is unlike the training rows.

        With a precomputed kernel the values k(x, x) of the new rows must be given as ``diagonal``.
        """
        X = self._rows(X)
        return -self.decomposition_.residual(X, conventions.own_values(self.kernel_, X, diagonal))

    def compress(self, n_points, *, method="auto") -> KernelPCA:
        """A fitted copy whose axes and mean are expansions over ``n_points`` points (Schölkopf et al. 1998, §4.3).

        Its ``transform``, its projections and the ways back that start from them take ``n_points`` kernel values a row.
        Ways back that look for neighbours (``Distance``, ``ConvexCombination``) find them among those points, and are
        poorer for it; ``FixedPoint``, ``Gradient`` and ``Learned`` are hardly.
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
        """A fitted copy with the leading ``n_components`` of the components, without solving anything again."""
        check_is_fitted(self)
        if not 1 <= n_components <= self.n_components_:
            raise ValueError(f"of {self.n_components_} components between 1 and all can be kept, not {n_components}.")
        small = copy(self)
        small.n_components = n_components
        small._adopt(self.decomposition_.truncate(n_components), np.random.default_rng(self._seed))
        return small

    @property
    def components_(self) -> Expansion:
        """The unit axes of feature space."""
        check_is_fitted(self)
        return self.decomposition_.axes

    def _fit(self, X) -> None:
        with conventions.unchanged_on_failure(self):
            kernel, rng = self._check_settings(), conventions.generator(self.random_state)
            if chunks.is_streamed(X) and (self.approximation is not None or isinstance(X, chunks.Chunks)):
                self._fit_stream(X, rng)
                return
            copy_X = bool(self.copy_X) and self.approximation is None and not chunks.is_streamed(X)
            X = conventions.read_rows(self, chunks.open_rows(X), accept_sparse="csr", ensure_min_samples=2, copy=copy_X)
            if self.approximation is None:
                self._fit_exact(X, kernel, rng)
            else:
                self._fit_approximate(X, rng)

    def _fit_exact(self, X, kernel: Kernel, rng: np.random.Generator) -> None:
        conventions.check_kernel_takes(kernel, X)
        if isinstance(kernel, Precomputed):
            conventions.check_kernel_matrix(X)
        kernel = scales.resolve(kernel, X)
        n_components = conventions.find_component_number(self.n_components, kernel, X, X.shape[0], self.center, rng)
        self._adopt(decomposition.fit(kernel, X, n_components, center=self.center, solver=self.solver, rng=rng), rng)

    def _check_settings(self) -> Kernel:
        """Refuse, before any work, settings that make no sense or do not go together; the kernel of those that do."""
        conventions.check_flags(self, "center", "copy_X")
        kernel, approximation = kernels.as_kernel(self.kernel), features.as_approximation(self.approximation)
        if approximation is not None:
            approximation.check(kernel)
        eigen.as_solver(self.solver)
        self._check_way_back(kernel)
        if isinstance(approximation, RandomFourier):
            for task in ("decode", "denoise"):
                preimages.refuse_explicit(self._method(kernel, task))
        return kernel

    def _adopt(self, model: Decomposition, rng: np.random.Generator) -> None:
        self.decomposition_ = model
        self.kernel_ = model.kernel
        self.eigenvalues_ = model.eigenvalues
        self.explained_variance_ratio_ = model.explained_variance_ratio
        self.n_components_ = model.n_components
        self.__dict__.pop("compression_errors_", None)
        if isinstance(model, Approximate):
            self.trace_error_ = model.trace_error
        elif hasattr(self, "trace_error_"):
            del self.trace_error_
        self._seed = int(rng.integers(2**31))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_
