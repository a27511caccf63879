"""``KernelKMeans``: the estimator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin
from sklearn.utils.validation import check_array, check_is_fitted

from preimage import clustering, features, kernels, preimages
from preimage._typing import RowsLike
from preimage.estimators import conventions
from preimage.expansion import Expansion
from preimage.gram import threads, tiles
from preimage.gram.operators import FeatureGram, plain_gram
from preimage.io import chunks
from preimage.io.models import Persistent
from preimage.kernels import Kernel, Precomputed, scales
from preimage.kernels.base import is_number
from preimage.preimages.base import Preimages


class KernelKMeans(
    Persistent,
    ClassNamePrefixFeaturesOutMixin,
    conventions.KernelTransformerMixin,
    ClusterMixin,
    conventions.NestedParameters,
):
    """k-means in feature space, with pre-images of the centroids.

    Lloyd's steps are followed by moves of single points, best first, as long as one lowers the inertia. The moves
    improve partitions at which Lloyd's steps stop.

    Parameters
    ----------
    n_clusters : int
        The number of clusters.
    kernel : kernel object, name, callable or "precomputed"
        See :mod:`preimage.kernels`.
    init : "k-means++", "random" or array of shape (n_clusters, d)
        Seeds: drawn far apart, drawn uniformly, or given as points, whose images are the first centroids.
    n_init : int
        The number of starts, of which the best is kept; given seeds are one start.
    max_iter : int
        The most Lloyd steps per start; there are at most ``max_iter`` × ``n_clusters`` moves.
    tol : float
        Lloyd's steps end when one lowers the inertia by less than this fraction of it.
    approximation : None, int or approximation object
        None is exact: the kernel matrix is stored if it fits, else recomputed in tiles. A number of landmarks, or
        ``Nystrom(...)``, clusters explicit features of the rows instead; the centroids are then expansions over the
        landmarks.
    random_state : int, RandomState, Generator or None
        Random numbers for seeds and landmarks.
    copy_X : bool
        Whether an exact model keeps a copy of the training rows, or of the precomputed kernel matrix. If False it keeps
        the array itself, which must not change afterwards. Rows of a memmap are never copied: an exact model reads them
        from the file, and changes when the file does. Landmarks are always copied.
    n_jobs : int or None
        The most threads to use, −1 for all cores. None takes what the environment allows: process affinity,
        ``OMP_NUM_THREADS``, ``threadpool_limits`` and joblib's worker limits, which also cap a given number.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The cluster of every training row; 0 is the largest cluster.
    centroids_ : Expansion
        Σ_{i∈C} wᵢφ(xᵢ) / Σ_{i∈C} wᵢ, one vector per cluster.
    inertia_ : float
        Σᵢ wᵢ‖φ(xᵢ) − its centroid‖².
    inertia_history_ : array
        The inertia of the start, after every Lloyd step, and after every move; it never rises.
    n_iter_ : int
        Lloyd steps of the best start.
    kernel_ : Kernel
        The kernel with numbers for all its parameters.

    See Also
    --------
    KernelPCA : Components of the same Gram matrix.

    Examples
    --------
    >>> from preimage import KernelKMeans
    >>> from preimage.datasets import three_clusters
    >>> X, _, labels, centers = three_clusters(random_state=0)
    >>> found = KernelKMeans(3, random_state=0).fit(X)
    >>> [len(set(found.labels_[labels == cluster])) for cluster in range(3)]
    [1, 1, 1]
    >>> points = found.centroid_preimages().points
    >>> bool(abs(points[found.predict(centers)] - centers).max() < 0.1)
    True
    """

    _objects = {"kernel": kernels.as_kernel, "approximation": features.as_approximation}

    def __init__(
        self,
        n_clusters=8,
        *,
        kernel="gaussian",
        init="k-means++",
        n_init=4,
        max_iter=300,
        tol=1e-6,
        approximation=None,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.approximation = approximation
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    @conventions.also_distributed
    def fit(self, X: RowsLike, y=None, sample_weight=None):
        """Cluster the rows of X; with a precomputed kernel, X is the kernel matrix.

        Rows of weight 0 are ignored; they get the label of the nearest centroid.
        """
        with conventions.unchanged_on_failure(self):
            copy_X = bool(self.copy_X) and self.approximation is None and not chunks.is_streamed(X)
            X = conventions.read_rows(self, X, accept_sparse="csr", ensure_min_samples=2, copy=copy_X)
            weights = sample_weights(sample_weight, X.shape[0])
            self._check(X, weights)
            self._fit(X, weights, conventions.generator(self.random_state))
        return self

    def fit_predict(self, X: RowsLike, y=None, sample_weight=None):
        """Fit, and return the clusters of the training rows."""
        return self.fit(X, sample_weight=sample_weight).labels_.copy()

    @conventions.also_distributed
    def predict(self, X: RowsLike):
        """The nearest centroid of every row of X."""
        return self._relative_distances2(self._rows(X)).argmin(axis=1)

    @conventions.also_distributed
    def transform(self, X: RowsLike, diagonal=None):
        """Distances in feature space of the rows to the centroids, shape (rows, n_clusters).

        A precomputed kernel needs the values k(x, x) of the rows as ``diagonal``.
        """
        return self._distances(self._rows(X), diagonal)

    def fit_transform(self, X: RowsLike, y=None, sample_weight=None):
        """Fit, and return the distances of the training rows to the centroids."""
        diagonal = np.diagonal(np.asarray(X)) if isinstance(self._object("kernel"), Precomputed) else None
        return self.fit(X, sample_weight=sample_weight).transform(X, diagonal)

    def score(self, X: RowsLike, y=None, diagonal=None):
        """Minus the sum of squared distances of the rows to their nearest centroids.

        A precomputed kernel needs the values k(x, x) of the rows as ``diagonal``.
        """
        return -float(np.square(self._distances(self._rows(X), diagonal).min(axis=1)).sum())

    def centroid_preimages(self, method="auto") -> Preimages:
        """Points of input space whose images are nearest to the centroids (Kwok & Tsang 2003, §4.2).

        ``method`` is a name or object of :mod:`preimage.preimages`.
        """
        check_is_fitted(self)
        with threads.limited(self.n_jobs):
            return preimages.find_preimage(self.centroids_, method)

    def _fit(self, X: RowsLike, weights: np.ndarray, rng: np.random.Generator) -> None:
        kept = np.flatnonzero(weights)
        points = X if len(kept) == len(weights) else X[kept]
        kernel = scales.resolve(kernels.as_kernel(self.kernel), _distinct(scales.spread_rows(points, scales.SAMPLE)[:]))
        if isinstance(kernel, Precomputed):
            kernel, points = Precomputed(X), kept[:, None]
        features_map = self._feature_map(kernel, points, rng)
        gram = plain_gram(kernel, points) if features_map is None else _feature_gram(features_map, points)
        if self.n_clusters > 1 and clustering.is_single_point(gram):
            raise ValueError(
                f"all rows are equal for this kernel, so they cannot form {self.n_clusters} clusters: check the data "
                "and the kernel's parameters."
            )
        starts = self._starts(gram, kernel, points, weights[kept], rng)
        found = clustering.cluster(gram, weights[kept], self.n_clusters, starts, max_iter=self.max_iter, tol=self.tol)
        self._adopt(found, kernel, points, weights[kept], features_map)
        self.labels_ = np.empty(len(weights), dtype=np.int32)
        self.labels_[kept] = found.partition.labels
        if len(kept) < len(weights):
            rest = np.flatnonzero(weights == 0)
            self.labels_[rest] = self._relative_distances2(X[rest]).argmin(axis=1)

    def _feature_map(self, kernel: Kernel, points, rng):
        approximation = features.as_approximation(self.approximation)
        if approximation is None:
            return None
        approximation.check(kernel)
        found = approximation.prepare(kernel, points, rng)
        if not hasattr(found, "root"):
            raise TypeError(
                f"KernelKMeans needs landmarks: give a number of them, or Nystrom(...), not {approximation!r}."
            )
        return found

    def _starts(self, gram, kernel: Kernel, points, weights, rng) -> list[Callable[[], np.ndarray]]:
        """Functions that return initial labels, one per start."""
        if not isinstance(self.init, str):
            seeds = self._seeds(kernel, points)
            return [lambda: (kernel.diagonal(seeds) - 2 * tiles.cross(kernel, points, seeds)).argmin(axis=1)]
        draw = clustering.plus_plus if self.init == "k-means++" else clustering.random
        return [lambda: draw(gram, weights, self.n_clusters, rng)] * self.n_init

    def _adopt(self, found: clustering.Clustering, kernel: Kernel, points, weights, features_map) -> None:
        part = found.partition
        shares = np.zeros((self.n_clusters, len(weights)))
        shares[part.labels, np.arange(len(weights))] = weights / part.masses[part.labels]
        missed = 0.0
        if isinstance(part.gram, FeatureGram):  # turn means of features into weights on the landmarks
            shares = part.gram.combine(shares) @ features_map.root.T
            missed = float(weights @ (part.gram.own - part.gram.diagonal))
            points = features_map.landmarks
        dtype = tiles.value_dtype(points, points)
        self.kernel_ = kernel
        self.centroids_ = Expansion(kernel, points, shares.astype(dtype, copy=False))
        self._norms2 = part.norms2.astype(dtype)
        self.inertia_history_ = found.history + missed
        self.inertia_ = float(self.inertia_history_[-1])
        self.n_iter_ = found.n_steps

    def _distances(self, X: RowsLike, diagonal) -> np.ndarray:
        own = conventions.own_values(self.kernel_, X, diagonal)
        distances2 = self._relative_distances2(X) + own[:, None]
        rounding = 32 * np.finfo(distances2.dtype).eps * (np.abs(own)[:, None] + self._norms2)
        return np.sqrt(np.where(distances2 > rounding, distances2, 0))

    def _relative_distances2(self, X: RowsLike) -> np.ndarray:
        """Squared distances to the centroids without the term k(x, x), which is the same for all of them."""
        return self._norms2 - 2 * self.centroids_.inner(X).T

    def _check(self, X: RowsLike, weights: np.ndarray) -> None:
        conventions.check_flags(self, "copy_X")
        for name, value in (("n_clusters", self.n_clusters), ("n_init", self.n_init), ("max_iter", self.max_iter)):
            if not is_number(value) or value != int(value) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
        if not is_number(self.tol) or self.tol < 0:
            raise ValueError(f"tol must be a number of at least 0, not {self.tol!r}.")
        n_rows = int(np.count_nonzero(weights))
        if self.n_clusters > n_rows:
            weighty = "" if n_rows == len(weights) else " of positive weight"
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than n_samples={n_rows}, the number of rows{weighty}."
            )
        kernel = kernels.as_kernel(self.kernel)
        conventions.check_kernel_takes(kernel, X)
        if isinstance(kernel, Precomputed):
            conventions.check_kernel_matrix(X)
        if isinstance(self.init, str) and self.init not in ("k-means++", "random"):
            raise ValueError(f'init must be "k-means++", "random" or an array of points, not {self.init!r}.')

    def _seeds(self, kernel: Kernel, points) -> np.ndarray:
        """The points given as ``init``."""
        if isinstance(kernel, Precomputed):
            raise ValueError('a precomputed kernel has no values for given points: use init="k-means++" or "random".')
        seeds = check_array(self.init, dtype=conventions.FLOATS, input_name="init")
        if seeds.shape != (self.n_clusters, points.shape[1]):
            raise ValueError(
                f"init must hold one point per cluster, shape {(self.n_clusters, points.shape[1])}, not {seeds.shape}."
            )
        return seeds.astype(points.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return len(self.centroids_)


def _feature_gram(features_map, points) -> FeatureGram:
    """The Gram matrix of explicit features; those of a Dask array stay on the workers."""
    if hasattr(points, "feature_gram"):
        return points.feature_gram(features_map)
    return FeatureGram(features_map(points), features_map.kernel.diagonal(points))


def sample_weights(sample_weight, n: int) -> np.ndarray:
    """Weights as floats, 1 each if none are given; refuses invalid ones."""
    if sample_weight is None:
        return np.ones(n)
    weights = np.full(n, float(sample_weight)) if is_number(sample_weight) else np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must hold one weight per row, shape ({n},), not {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must hold finite numbers that are not negative.")
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere: give at least one row a positive weight.")
    return weights


def _distinct(X: RowsLike):
    """The distinct rows, so that repeating a row and doubling its weight give the same length scale."""
    if sp.issparse(X):
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        keys = [(X.indices[i:j].tobytes(), X.data[i:j].tobytes()) for i, j in ends]
    else:
        keys = [row.tobytes() for row in X]
    return X[np.sort(list({key: number for number, key in enumerate(keys)}.values()))]
