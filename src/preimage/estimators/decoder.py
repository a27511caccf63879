"""``Decoder``: the estimator."""

from __future__ import annotations

from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from preimage import kernels
from preimage._typing import Array
from preimage.decoding import METHODS, CodeMap, Known, Neighbours, Uncertainty, fit_map
from preimage.estimators import conventions
from preimage.gram import threads
from preimage.io.models import Persistent
from preimage.preimages.base import refuse_precomputed
from preimage.tensors import as_numpy, is_tensor


class Decoder(Persistent, conventions.NestedParameters):
    """Decodes any embedding: maps its codes back to rows of input space.

    UMAP, t-SNE, PaCMAP and others have no usable inverse. A decoder learns one from known rows and their codes.

    Parameters
    ----------
    method : "auto", "learned", "neighbors" or "distances"
        "learned" is kernel ridge regression, "neighbors" a weighted mean of the nearest rows, and "distances" the point
        at the right distances from them (:mod:`preimage.decoding`). "auto" takes the one that best predicts left-out
        rows, or the mean of the first two.
    kernel : kernel object or name
        The kernel of the regression on the codes. Without a length scale, leave-one-out chooses among several.
    random_state : int, RandomState, Generator or None
        Random numbers for landmarks, which are drawn if there are more than 1500 codes.

    Attributes
    ----------
    map_ : CodeMap
        The chosen map.
    error_ : float
        Its mean squared error per entry on left-out rows.

    See Also
    --------
    Invertible : An embedding and its decoder in one estimator.
    KernelPCA : Decodes its own codes.

    Examples
    --------
    >>> from preimage import Decoder
    >>> from preimage.datasets import load_digits
    >>> from sklearn.manifold import Isomap
    >>> X = load_digits().X[:500]
    >>> Z = Isomap(n_components=5).fit_transform(X)
    >>> decoder = Decoder().fit(Z[:400], X[:400])
    >>> decoder.predict(Z[400:]).shape
    (100, 64)
    >>> bool(decoder.uncertainty([[1e3] * 5]) > 10 * decoder.uncertainty(Z[400:]).max())
    True
    """

    _objects = {"kernel": kernels.as_kernel}

    def __init__(self, method="auto", *, kernel="gaussian", random_state=None):
        self.method = method
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, Z, X):
        """Learn from the codes Z of the rows X, dense or sparse."""
        with conventions.unchanged_on_failure(self), threads.limited():
            Z = conventions.read_rows(self, Z, ensure_min_samples=3)
            X = check_array(
                as_numpy(X) if is_tensor(X) else X, dtype=conventions.FLOATS, accept_sparse="csr", input_name="X"
            )
            check_consistent_length(Z, X)
            if self.method not in METHODS:
                raise ValueError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}.")
            kernel = kernels.as_kernel(self.kernel)
            refuse_precomputed(kernel, "Decoder")
            neighbours = Neighbours.fit(Known.of(Z, X))
            self.map_: CodeMap = fit_map(neighbours, kernel, self.method, conventions.generator(self.random_state))
            self._uncertainty = Uncertainty.of(self.map_, neighbours)
            self.error_ = float(self._uncertainty.errors.mean())
        return self

    @conventions.also_tensors
    @conventions.finite_answers
    @threads.limited()
    def predict(self, Z):
        """The rows decoded from the codes Z, as a dense array."""
        Z = self._codes(Z)
        return self.map_.values(Z).astype(self._known.rows.dtype, copy=False)

    def inverse_transform(self, X):
        """Same as ``predict``, under the name that transformers use."""
        return self.predict(X)

    def uncertainty(self, Z):
        """The error to expect at each code, relative to the error on left-out rows.

        It is about 1 among the known codes, and larger where rows are hard to predict or two maps disagree. It grows
        with the distance from all known codes, where the decoder extrapolates.
        """
        return self._uncertainty(self._codes(Z))

    @property
    def codes_(self) -> Array:
        """The known codes; repeated pairs count once."""
        check_is_fitted(self)
        return self._known.codes

    @property
    def _known(self) -> Known:
        return self._uncertainty.neighbours.known

    def _codes(self, Z) -> Array:
        check_is_fitted(self)
        return conventions.read_rows(self, Z, reset=False)
