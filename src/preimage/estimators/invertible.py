"""``Invertible``: the estimator."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from preimage._typing import Array
from preimage.estimators import conventions
from preimage.estimators.decoder import Decoder


def _embeds_new_rows(estimator) -> bool:
    embedding = getattr(estimator, "embedding_model_", estimator.embedding)
    if not hasattr(embedding, "transform"):
        raise AttributeError(
            f"{type(embedding).__name__} cannot embed new rows: use fit_transform, or an embedding with a transform, "
            "such as UMAP or Isomap."
        )
    return True


class Invertible(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """An embedding with an ``inverse_transform``, which a :class:`Decoder` learns from its codes.

    Parameters
    ----------
    embedding : transformer
        UMAP, TSNE, Isomap, PaCMAP or any other with ``fit_transform``. A fitted embedding is kept; ``fit`` then needs
        the rows that it was fitted on.
    decoder : Decoder, optional
        None is ``Decoder()``.

    Attributes
    ----------
    embedding_model_ : transformer
        The fitted embedding.
    decoder_ : Decoder
        The fitted decoder; ``decoder_.uncertainty(Z)`` is large where it extrapolates.

    See Also
    --------
    Decoder : The inverse map alone.

    Examples
    --------
    >>> from preimage import Invertible
    >>> from preimage.datasets import s_curve
    >>> from sklearn.manifold import Isomap
    >>> X = s_curve(200, noise=0, random_state=0).X
    >>> flat = Invertible(Isomap())
    >>> Z = flat.fit_transform(X)
    >>> bool(abs(flat.inverse_transform(Z) - X).mean() < 0.1)
    True
    """

    def __init__(self, embedding, *, decoder=None):
        self.embedding = embedding
        self.decoder = decoder

    def fit(self, X, y=None):
        """Fit the embedding unless it is already fitted, and learn the inverse map."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X, y=None):
        """Fit, and return the codes of the rows of X."""
        rows = conventions.read_rows(self, X, accept_sparse="csr")
        if not hasattr(self.embedding, "fit"):
            raise TypeError(f"embedding must be a transformer such as UMAP(), not {self.embedding!r}.")
        fitted = _is_fitted(self.embedding)
        model = self.embedding if fitted else clone(self.embedding, safe=False)
        labels = {} if y is None else {"y": y}
        codes = _known_codes(model, X) if fitted else model.fit_transform(X, **labels)
        codes = check_array(codes, dtype=conventions.FLOATS)
        decoder = Decoder() if self.decoder is None else clone(self.decoder)
        self.decoder_, self.embedding_model_ = decoder.fit(codes, rows), model
        return codes

    @available_if(_embeds_new_rows)
    def transform(self, X):
        """Codes of new rows, by the embedding."""
        check_is_fitted(self)
        return check_array(self.embedding_model_.transform(X), dtype=conventions.FLOATS)

    def inverse_transform(self, X):
        """The rows decoded from the codes X."""
        check_is_fitted(self)
        return self.decoder_.predict(X)

    def uncertainty(self, Z):
        """The error to expect at each code, see :meth:`Decoder.uncertainty`."""
        check_is_fitted(self)
        return self.decoder_.uncertainty(Z)

    @property
    def codes_(self) -> Array:
        """Codes of the training rows."""
        check_is_fitted(self)
        return self.decoder_.codes_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_fitted(embedding: Any) -> bool:
    if getattr(embedding, "embedding_", None) is not None:
        return True
    try:
        check_is_fitted(embedding)
    except (NotFittedError, TypeError):
        return False
    return True


def _known_codes(embedding: Any, X: Any) -> Any:
    """Codes of the rows that a fitted embedding was fitted on."""
    known, n = getattr(embedding, "embedding_", None), X.shape[0] if hasattr(X, "shape") else len(X)
    if known is not None and len(known) == n:
        return known
    if hasattr(embedding, "transform"):
        return embedding.transform(X)
    raise ValueError(
        f"this {type(embedding).__name__} holds the codes of {0 if known is None else len(known)} rows, but X has {n}: "
        "give the rows that it was fitted on."
    )
