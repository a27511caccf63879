"""Fit kernel PCA to rows in memory, in chunks or in a stream, from checked settings.

The estimator, :mod:`preimage.distributed` and the search over settings call these functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage import decomposition, eigen, features, kernels, preimages
from preimage._typing import Generator, Rows
from preimage.decomposition import Decomposition, Exact, OnFeatures, on_features, spectral
from preimage.estimators import conventions
from preimage.expansion import stack
from preimage.features import FeatureMap, FourierMap, Moments
from preimage.gram import threads
from preimage.gram.operators import gram_operator
from preimage.io.chunks import Chunks
from preimage.kernels import Kernel, Precomputed, scales

ENOUGH = 50_000  # rows of a stream that landmarks and length scales are taken from


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a kernel PCA, checked before any work."""

    n_components: Any
    kernel: Kernel
    approximation: Any
    solver: Any
    center: bool

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """The settings of an estimator; refuses invalid and incompatible ones."""
        conventions.check_flags(estimator, "center", "copy_X")
        kernel = kernels.as_kernel(estimator.kernel)
        approximation = features.as_approximation(estimator.approximation)
        if approximation is not None:
            approximation.check(kernel)
        solver = eigen.as_solver(estimator.solver)
        for task in ("decode", "denoise"):
            method = preimages.method_for(estimator.preimage, kernel, task)
            method.check(kernel)
            preimages.check_needs(method, getattr(approximation, "provides", preimages.EVERYTHING))
        return cls(estimator.n_components, kernel, approximation, solver, estimator.center)

    def component_number(self, kernel: Kernel, X: Rows, n_rows: int, rng: Generator) -> int | float | None:
        """How many components to ask for; X holds all or some of the rows."""
        return conventions.find_component_number(self.n_components, kernel, X, n_rows, self.center, rng)


def fit_rows(settings: Settings, X: Rows, rng: Generator) -> Decomposition:
    """The model of rows in memory."""
    if settings.approximation is None:
        return fit_exact(settings, X, rng)
    feature_map = prepare_features(settings, X, rng)
    if isinstance(feature_map, FourierMap) and feature_map.width > X.shape[0]:
        wanted = settings.component_number(feature_map.kernel, X, X.shape[0], rng)
        return spectral.from_rows(feature_map, X, sample_rows(X, rng), wanted, center=settings.center)
    moments = features.accumulate(feature_map, [X], total=X.shape[0])
    return fit_moments(settings, feature_map, moments, sample_rows(X, rng), rng)


def fit_exact(settings: Settings, X: Rows, rng: Generator, *, solver: Any = None, gram: Any = gram_operator) -> Exact:
    """The exact model of all rows; ``gram`` makes the operator, and ``solver`` replaces that of the settings."""
    conventions.check_kernel_takes(settings.kernel, X)
    if isinstance(settings.kernel, Precomputed):
        conventions.check_kernel_matrix(X)
    kernel = _resolved(settings.kernel, X)
    wanted = settings.component_number(kernel, X, X.shape[0], rng)
    with threads.suited(X.shape[0] * X.size + X.shape[0] ** 3):
        return decomposition.fit(
            kernel, X, wanted, center=settings.center, solver=solver or settings.solver, rng=rng, gram=gram
        )


def fit_chunks(settings: Settings, rows: Chunks, rng: Generator) -> OnFeatures:
    """The model of rows that are read in chunks."""
    if settings.approximation is None:
        raise ValueError("exact kernel PCA needs all rows at once: give approximation=1000 to fit on chunks.")
    n, d = rows.shape
    if n < 2:
        raise ValueError(f"kernel PCA needs at least 2 rows, and the chunks hold {n}.")
    sample = rows.sample(min(ENOUGH, max(2, int(threads.working_bytes() / 8 / (8 * d)))), rng)
    feature_map = prepare_features(settings, sample, rng)
    moments = features.accumulate(feature_map, rows, total=n)
    return fit_moments(settings, feature_map, moments, sample_rows(sample, rng), rng)


def extend(settings: Settings, model: Decomposition, X: Rows, rng: Generator) -> OnFeatures:
    """The model of the rows seen before and those of X."""
    seen, known = _moments(model)
    moments = features.accumulate(seen.features, [X], known)
    sample = _joint_sample(seen.inputs, known.n, X, X.shape[0], rng)
    return fit_moments(settings, seen.features, moments, sample, rng)


def merge(settings: Settings, ours: Decomposition, theirs: Decomposition, rng: Generator) -> OnFeatures:
    """The model of all rows that two models have seen through the same features."""
    (first, mine), (second, others) = _moments(ours), _moments(theirs)
    if not first.features.same_as(second.features):
        raise ValueError(
            "the two estimators have different landmarks or kernels: fit both with the same Nystrom(points) and "
            "a kernel whose parameters are numbers."
        )
    sample = _joint_sample(first.inputs, mine.n, second.inputs, others.n, rng)
    return fit_moments(settings, first.features, mine + others, sample, rng)


def prepare_features(settings: Settings, X: Rows, rng: Generator, scaled_by: Any = None) -> FeatureMap:
    """The feature map for the rows of X; length-scale rules use ``scaled_by`` instead if it is given."""
    conventions.check_kernel_takes(settings.kernel, X)
    kernel = _resolved(settings.kernel, X if scaled_by is None else scaled_by)
    return settings.approximation.prepare(kernel, X, rng)


def _resolved(kernel: Kernel, X: Rows) -> Kernel:
    """The kernel with numbers in place of its rules; warns if a given length scale is too short."""
    if not scales.takes_rows(kernel):
        scales.warn_if_too_short(kernel, X)
    return scales.resolve(kernel, X)


def fit_moments(
    settings: Settings, feature_map: FeatureMap, moments: Moments, sample: Rows, rng: Generator
) -> OnFeatures:
    """The model from the moments of its features and a sample of the rows."""
    wanted = settings.component_number(feature_map.kernel, sample, moments.n, rng)
    return on_features.decompose(feature_map, moments, sample, wanted, center=settings.center)


def sample_rows(X: Rows, rng: Generator, n_rows: int = on_features.SAMPLE) -> Any:
    """At most ``n_rows`` of the rows, drawn uniformly, as a copy."""
    return X.copy() if X.shape[0] <= n_rows else X[np.sort(rng.choice(X.shape[0], n_rows, replace=False))]


def _joint_sample(old: Rows, n_old: int, new: Rows, n_new: int, rng: Generator) -> Any:
    """A uniform sample of all rows, from uniform samples of n_old and of n_new rows."""
    size = min(on_features.SAMPLE, old.shape[0] + new.shape[0])
    taken = int(np.clip(rng.hypergeometric(n_new, n_old, min(size, n_old + n_new)), size - old.shape[0], new.shape[0]))
    return stack(sample_rows(old, rng, size - taken), sample_rows(new, rng, taken))


def _moments(model: Decomposition) -> tuple[OnFeatures, Moments]:
    """The model and the moments of the rows it has seen; refuses a model that cannot take more rows."""
    if not isinstance(model, OnFeatures):
        raise ValueError(
            "this model cannot take more rows: it was fitted without an approximation, or compressed since. Add the "
            "rows before compressing, or call fit to start again."
        )
    if model.moments is None:
        raise ValueError(
            "this model was fitted on fewer rows than features, so it cannot take more rows: fit it on more rows than "
            "features first, or use fewer features."
        )
    return model, model.moments
