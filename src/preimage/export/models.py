"""The methods of estimators that have a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage import __version__, preimages
from preimage.denoising import DenoisedTable, Stack
from preimage.estimators import Decoder, Denoiser, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, Standardised
from preimage.estimators.inverse import prepared
from preimage.exceptions import NotExpressible
from preimage.export import inverse_maps, stages
from preimage.export.feature_space import Subspace
from preimage.export.kernel_values import PointSet, diagonal
from preimage.export.program import Program, Symbol, take
from preimage.kernels import Precomputed

Formula = Callable[[Any, Symbol, float], Any]  # a function of the model, the rows and the precision


def to_program(model: Any, method: str = "transform", dtype: Any = np.float64) -> Program:
    """The program of a method of a fitted model.

    Parameters
    ----------
    model : estimator
    method : str
        Such as "transform", "denoise", "score_samples", "inverse_transform" or "predict".
    dtype : numpy dtype
        The precision in which it will run.

    See Also
    --------
    evaluate : Runs a program.
    to_onnx, to_torch : Programs for other libraries.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, export
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    >>> kpca = KernelPCA(1, kernel="linear").fit(X)
    >>> program = export.to_program(kpca, "score_samples")
    >>> bool(np.allclose(export.evaluate(program, X), kpca.score_samples(X)))
    True
    """
    check_is_fitted(model)
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise TypeError(f"programs run in float32 or float64, not {kind}.")
    formulas = methods_of(model)
    if method not in formulas:
        raise NotExpressible(
            f"{type(model).__name__}.{method} cannot be exported; {', '.join(formulas)} of {type(model).__name__} can."
        )
    if isinstance(getattr(model, "kernel_", None), Precomputed):
        raise NotExpressible("a model of a precomputed kernel cannot be exported: it holds no points to compare with.")
    codes = method == "inverse_transform" or isinstance(model, Decoder)
    X = Symbol.input("codes" if codes else "X")
    output = formulas[method](model, X, float(np.finfo(kind).eps))
    columns = model.n_components_ if codes and not isinstance(model, Decoder) else model.n_features_in_
    about = {"model": type(model).__name__, "method": method, "preimage": __version__}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        about["columns"] = ",".join(map(str, names))
    return Program(f"{type(model).__name__}.{method}", X, output, int(columns), about)


def methods_of(model: Any) -> dict[str, Formula]:
    """The methods of an estimator that have a program."""
    for kind, formulas in FORMULAS.items():
        if isinstance(model, kind):
            return formulas
    raise NotExpressible(
        f"{type(model).__name__} cannot be exported; {', '.join(kind.__name__ for kind in FORMULAS)} can."
    )


def precision_of(model: Any) -> np.dtype:
    """float32 for a model of single precision, else float64."""
    found = getattr(getattr(model, "decomposition_", None), "dtype", None)
    return np.dtype(np.float32) if found == np.float32 else np.dtype(np.float64)


def _codes(model: KernelPCA, X: Symbol, eps: float) -> Any:
    return Subspace(model.decomposition_, eps).codes(X)


def _scores(model: KernelPCA, X: Symbol, eps: float) -> Any:
    return -Subspace(model.decomposition_, eps).statistics(X)[1]


def _decoded(model: KernelPCA, codes: Symbol, eps: float) -> Any:
    return _preimages(model, Subspace(model.decomposition_, eps), codes, None)


def _denoised(model: KernelPCA, X: Symbol, eps: float) -> Any:
    subspace = Subspace(model.decomposition_, eps)
    return _preimages(model, subspace, subspace.codes(X), X)


def _preimages(model: KernelPCA, subspace: Subspace, codes: Symbol, starts: Symbol | None) -> Any:
    task = "decode" if starts is None else "denoise"
    method = preimages.method_for(model.preimage, subspace.model.kernel, task)
    return inverse_maps.preimages(prepared(model, method), subspace, codes, starts)


def _standardised(model: Standardised, X: Symbol) -> Symbol:
    found: Symbol = (X - model.scaling_.mean) * (~model.scaling_.constant / model.scaling_.deviation)
    return found


def _cluster_distances2(model: KernelKMeans, X: Symbol) -> Any:
    """Squared distances to the centroids without the term k(x, x)."""
    centroids = model.centroids_
    return model._norms2 - 2.0 * (PointSet(centroids.points).values(centroids.kernel, X) @ centroids.weights.T)


def _cluster_distances(model: KernelKMeans, X: Symbol, eps: float) -> Any:
    own = diagonal(model.kernel_, X)
    own = own[:, None] if isinstance(own, Symbol) else own
    distances2 = _cluster_distances2(model, X) + own
    rounding = 32.0 * eps * (np.abs(own) + model._norms2)
    return np.sqrt(np.where(distances2 > rounding, distances2, 0.0))


def _anchored(model: InvertibleKernelPCA, codes: Symbol, eps: float) -> Any:
    """Decoding with the nearest known code's point as an anchor."""
    decoder = model._decoder
    anchors = take(decoder.points, PointSet(decoder.codes).squared_distances(codes).argmin())
    if decoder.regression is None:
        return decoder.map.undo(codes, decoder.map.activation.bypass(decoder.map.arguments(anchors)))
    return stages.follow_phases(decoder, codes, anchors)


def _monitored(model: Monitor, X: Symbol, eps: float) -> tuple[Any, Any]:
    process = model.process_
    if process.lags or model.memory is not None:
        raise NotExpressible("a Monitor with lags or a memory needs earlier rows and cannot be exported.")
    if process.scaling.constant.any():
        raise NotExpressible("a Monitor with constant columns cannot be exported: leave them out of the fit.")
    Z = (X - process.scaling.mean) / process.scaling.deviation
    codes, outside = Subspace(process.model.decomposition_, eps).statistics(Z)
    return (codes * codes) @ (1 / process.variances), outside


def _statistics(model: Monitor, X: Symbol, eps: float) -> Any:
    """T² and SPE side by side."""
    inside, outside = _monitored(model, X, eps)
    return np.concatenate([inside[:, None], outside[:, None]], axis=1)


def _indices(model: Monitor, X: Symbol, eps: float) -> Any:
    """−max(T²/limit, SPE/limit)."""
    inside, outside = _monitored(model, X, eps)
    limits = model.limits_
    return -np.maximum(inside / limits.T2, outside / limits.SPE)


def _rows_of_codes(model: Decoder, codes: Symbol, eps: float) -> Any:
    return inverse_maps.decoded(model.map_, codes)


def _without_noise(model: Denoiser, X: Symbol, eps: float) -> Any:
    if model.geometry is not None or not isinstance(model.stack_, DenoisedTable | Stack):
        raise NotExpressible("a Denoiser of images or signals cannot be exported; one of rows (geometry=None) can.")
    return stages.denoise_rows(model, X, eps)


FORMULAS: dict[type, dict[str, Formula]] = {
    KernelPCA: {"transform": _codes, "score_samples": _scores, "inverse_transform": _decoded, "denoise": _denoised},
    Standardised: {
        "transform": lambda model, X, eps: _codes(model.model_, _standardised(model, X), eps),
        "score_samples": lambda model, X, eps: _scores(model.model_, _standardised(model, X), eps),
        "inverse_transform": lambda model, codes, eps: model.scaling_.undo(_decoded(model.model_, codes, eps)),
        "denoise": lambda model, X, eps: model.scaling_.undo(_denoised(model.model_, _standardised(model, X), eps)),
    },
    KernelKMeans: {
        "predict": lambda model, X, eps: _cluster_distances2(model, X).argmin(),
        "transform": _cluster_distances,
    },
    InvertibleKernelPCA: {
        "transform": lambda model, X, eps: model.map_.codes(X),
        "denoise": lambda model, X, eps: model.map_.filter(X),
        "inverse_transform": _anchored,
    },
    Decoder: {"predict": _rows_of_codes, "inverse_transform": _rows_of_codes},
    Monitor: {"statistics": _statistics, "score_samples": _indices},
    Denoiser: {"transform": _without_noise, "denoise": _without_noise},
}
