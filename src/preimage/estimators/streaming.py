"""Fitting through an approximation: rows in memory, in files, in chunks, or coming once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage import features
from preimage.decomposition import Decomposition, on_features
from preimage.decomposition.on_features import Approximate
from preimage.estimators import conventions
from preimage.features.fourier import FourierMap
from preimage.gram import threads
from preimage.io import chunks
from preimage.kernels import Kernel, scales

ENOUGH = 50_000  # rows of a stream from which landmarks and length scales are taken


def _is_approximate(estimator) -> bool:
    if estimator.approximation is None:
        raise AttributeError(
            "partial_fit needs an approximation, because exact kernel PCA needs all rows at once: "
            "give approximation=1000, or more landmarks."
        )
    return True


class StreamingMixin:
    """``partial_fit``, ``merge`` and transforms of files for an estimator with an ``approximation``."""

    approximation: Any
    center: bool
    kernel: Any
    n_components: Any
    random_state: Any
    decomposition_: Decomposition
    n_features_in_: int
    n_jobs: Any
    _check_settings: Callable[[], Kernel]
    _adopt: Callable[[Decomposition, np.random.Generator], None]

    @available_if(_is_approximate)
    def partial_fit(self, X, y=None):
        """Add rows that come once. The first rows fix the kernel's scale and the landmarks; give thousands of them.

        ``Nystrom(points)`` fixes the landmarks beforehand, so that parts fitted apart can be put together by
        :meth:`merge`. X may be a buffer that is filled anew for every call: what is kept of it is copied.
        """
        with conventions.unchanged_on_failure(self), threads.limited(self.n_jobs):
            model, rng = getattr(self, "decomposition_", None), conventions.generator(self.random_state)
            X = conventions.read_rows(self, X, accept_sparse="csr", reset=model is None)
            if model is not None:
                model = _extensible(model)
                seen = _moments(model)
                moments = on_features.accumulate(model.features, [X], seen)
                sample = _join(model.inputs, seen.n, X, X.shape[0], rng)
                self._adopt_moments(model.features, moments, sample, rng)
            else:
                self._fit_approximate(X, rng)
        return self

    @conventions.keeps_n_jobs
    def merge(self, other):
        """Add all rows that another estimator has seen through the same landmarks; as if one had seen them all."""
        check_is_fitted(self)
        check_is_fitted(other)
        ours, theirs = _extensible(self.decomposition_), _extensible(other.decomposition_)
        if not ours.features.same_as(theirs.features):
            raise ValueError(
                "the two estimators have different landmarks or kernels: fit both with the same Nystrom(points) and "
                "a kernel whose parameters are numbers."
            )
        mine, others = _moments(ours), _moments(theirs)
        rng = conventions.generator(self.random_state)
        sample = _join(ours.inputs, mine.n, theirs.inputs, others.n, rng)
        with conventions.unchanged_on_failure(self):
            self._adopt_moments(ours.features, mine + others, sample, rng)
        return self

    def _fit_stream(self, X, rng: np.random.Generator) -> None:
        """Fit on rows that are walked in chunks."""
        if self.approximation is None:
            raise ValueError("exact kernel PCA needs all rows at once: give approximation=1000 to fit on chunks.")
        rows = chunks.as_chunks(X)
        n, d = rows.shape
        if n < 2:
            raise ValueError(f"kernel PCA needs at least 2 rows, and there is {n} in the chunks.")
        sample = rows.sample(min(ENOUGH, max(2, int(threads.working_bytes() / 8 / (8 * d)))), rng)
        self.n_features_in_ = d
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        feature_map = self._prepare(sample, rng)
        moments = on_features.accumulate(feature_map, rows, total=n)
        self._adopt_moments(feature_map, moments, _some(sample, rng), rng)

    def _fit_approximate(self, X, rng: np.random.Generator) -> None:
        """Fit on rows in memory."""
        feature_map = self._prepare(X, rng)
        if isinstance(feature_map, FourierMap) and feature_map.width > X.shape[0]:
            n, kernel = X.shape[0], feature_map.kernel
            q = conventions.find_component_number(self.n_components, kernel, X, n, self.center, rng)
            model = on_features.decompose_wide(feature_map, X, _some(X, rng), q, center=self.center)
            self._adopt(model, rng)
            return
        moments = on_features.accumulate(feature_map, [X], total=X.shape[0])
        self._adopt_moments(feature_map, moments, _some(X, rng), rng)

    def _prepare(self, X, rng: np.random.Generator, scaled_by=None):
        """The feature map for the rows of X; rules for length scales look at ``scaled_by`` where X is not at hand."""
        kernel = self._check_settings()
        conventions.check_kernel_takes(kernel, X)
        approximation = features.as_approximation(self.approximation)
        return approximation.prepare(scales.resolve(kernel, X if scaled_by is None else scaled_by), X, rng)

    def _adopt_moments(self, feature_map, moments, sample, rng) -> None:
        n, kernel = moments.n, feature_map.kernel
        n_components = conventions.find_component_number(self.n_components, kernel, sample, n, self.center, rng)
        model = on_features.decompose(feature_map, moments, sample, n_components, center=self.center)
        self._adopt(model, rng)

    def _transform_stream(self, X, out):
        """Codes of chunked rows: in memory, or in an .npy file that appears when it is complete."""
        check_is_fitted(self)
        rows, model = chunks.as_chunks(X), self.decomposition_
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} features, but this model expects {self.n_features_in_}.")
        shape, dtype = (rows.shape[0], model.n_components), model.alphas.dtype
        if out is not None:
            return chunks.save(out, (model.codes(block) for block in rows), shape, dtype)
        codes, first = np.empty(shape, dtype=dtype), 0
        for block in rows:
            codes[first : first + len(block)] = model.codes(block)
            first += len(block)
        return codes


def _extensible(model: Decomposition) -> Approximate:
    """A model that can take more rows, because it has the moments of those that it has seen."""
    if isinstance(model, Approximate):
        return model
    raise ValueError(
        "only a model that was fitted with an approximation, and not compressed since, can take more rows; this one "
        "keeps no moments of the rows it has seen. Add the rows before compressing, or call fit to start anew."
    )


def _moments(model: Approximate) -> features.Moments:
    if model.moments is None:
        raise ValueError(
            "this model was fitted on fewer rows than features, by their Gram matrix, and cannot take more rows: "
            "fit it on more rows than features first, or take fewer features."
        )
    return model.moments


def _some(X, rng: np.random.Generator, n_rows: int = on_features.SAMPLE):
    """At most ``n_rows`` of the rows, drawn uniformly, as a copy."""
    return X.copy() if X.shape[0] <= n_rows else X[np.sort(rng.choice(X.shape[0], n_rows, replace=False))]


def _join(old, n_old: int, new, n_new: int, rng: np.random.Generator):
    """A uniform sample of all rows, from uniform samples of n_old and of n_new rows."""
    size = min(on_features.SAMPLE, old.shape[0] + new.shape[0])
    taken = int(np.clip(rng.hypergeometric(n_new, n_old, min(size, n_old + n_new)), size - old.shape[0], new.shape[0]))
    return on_features.stack(_some(old, rng, size - taken), _some(new, rng, taken))
