"""Tensors given to estimators: methods and fits that run in the tensor's own library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage.decomposition import Decomposition
from preimage.estimators import KernelPCA, conventions, fitting
from preimage.estimators.fitting import Settings
from preimage.export.arrays import check_shape, evaluate
from preimage.export.kernel_values import PointSet, diagonal, fourier_features
from preimage.export.models import to_program
from preimage.export.program import Program, Symbol
from preimage.features import FourierMap, Moments, NystromMap
from preimage.gram import slicing
from preimage.io.chunks import drawn_numbers
from preimage.tensors import as_double, as_numpy, namespace


def answer_tensor(model: Any, method: str, X: Any, **options: Any) -> Any:
    """The result of a method of a fitted model for a tensor: a tensor of the same library, device and precision."""
    check_is_fitted(model)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ValueError(f"{method} takes no {', '.join(given)} with a tensor: give a numpy array.")
    kind = precision(X)
    program = _remembered(model, (method, kind), lambda: to_program(model, method, kind))
    check_shape(program, X)
    if not _is_finite(X):
        raise ValueError("X contains NaN or infinity, but tensors must hold finite numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        found = evaluate(program, X)
    if not _is_finite(found):
        raise conventions.overflow(model, method)
    return found


def _is_finite(X: Any) -> bool:
    xp = namespace(X)
    return bool(xp.all(xp.isfinite(X)))


def precision(X: Any) -> np.dtype:
    """The precision of a tensor as a numpy dtype; refuses all but float32 and float64."""
    name = str(X.dtype).rpartition(".")[2]
    if name not in ("float32", "float64"):
        raise TypeError(f"tensors must have the type float32 or float64, not {X.dtype}.")
    return np.dtype(name)


def fit_tensor(model: Any, settings: Settings, X: Any, rng: np.random.Generator) -> Decomposition:
    """Kernel PCA on landmarks or random features of a tensor's rows: their moments are summed in its own library."""
    kind = precision(X)
    if X.ndim != 2 or X.shape[0] < 2:
        raise ValueError(f"kernel PCA needs at least 2 rows, but X has the shape {tuple(X.shape)}.")
    conventions.remember_width(model, X.shape[1])
    n = X.shape[0]
    sample = as_numpy(X)[drawn_numbers(n, fitting.ENOUGH, rng)]
    conventions.read_rows(model, sample)  # refuses rows that are not finite
    features = fitting.prepare_features(settings, sample, rng)
    if isinstance(features, FourierMap) and features.width > n:
        return fitting.fit_rows(settings, sample, rng)
    program = _columns(features, X.shape[1], kind)
    parts = [_moments(program, features, X[rows, :]) for rows in slicing.row_blocks(n, 12 * 8 * features.width)]
    moments = sum(parts[1:], parts[0])
    return fitting.fit_moments(settings, features, moments, fitting.sample_rows(sample, rng), rng)


def _columns(features: Any, n_columns: int, kind: np.dtype) -> Program:
    """The columns whose moments are summed, with k(x, x) as the last of them."""
    X = Symbol.input("X")
    if isinstance(features, NystromMap):
        values: Any = PointSet(features.landmarks).values(features.kernel, X)
        values = values if features.turned_late else values @ features.root
    else:
        values = fourier_features(features, X)
    own = diagonal(features.kernel, X) + (X * 0.0).sum(axis=1)
    return Program("columns", X, np.concatenate([values, own[:, None]], axis=1), n_columns)


def _moments(program: Program, features: Any, X: Any) -> Moments:
    """Moments of some rows, in double precision."""
    xp, found = namespace(X), as_double(evaluate(program, X))
    columns, trace = found[:, :-1], float(xp.sum(found[:, -1]))
    mean = xp.mean(columns, axis=0)
    centred = columns - mean
    return Moments(X.shape[0], as_numpy(mean), as_numpy(xp.matmul(centred.T, centred)), trace)


def _remembered(model: Any, key: Any, make: Callable[[], Program]) -> Program:
    """A program, made once per fitted decomposition of a kernel PCA."""
    if not isinstance(model, KernelPCA):
        return make()
    return model.decomposition_.remembered(("program", *key, model.preimage), make)
