"""scikit-learn's conventions for all estimators: nested parameters of frozen objects, checks, random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, wraps
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from preimage._typing import RowsLike
from preimage.exceptions import NothingFoundWarning, warn
from preimage.gram import threads
from preimage.kernels import Kernel, Precomputed
from preimage.kernels.base import is_number
from preimage.statistics import parallel_analysis
from preimage.tensors import as_numpy, is_tensor

FLOATS = [np.float64, np.float32]


class NestedParameters(BaseEstimator):
    """Nested parameters, such as ``kernel__length_scale``, of the frozen objects that an estimator holds.

    ``_objects`` maps each parameter that holds such an object to the function that makes the object from the user's
    value. Nested names therefore also work for an object given by name. Setting a nested parameter replaces the object.
    """

    _objects: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, also those of kernels, solvers and methods."""
        params = super().get_params(deep=deep)
        if deep:
            for name in self._objects:
                params.update(_nested(name, self._object(name)))
        return params

    def set_params(self, **params):
        """Set parameters, also nested ones, by name; return the estimator."""
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        for name, value in params.items():
            head, separator, tail = name.partition("__")
            if separator and hasattr(getattr(self, head, None), "set_params"):
                getattr(self, head).set_params(**{tail: value})
            elif separator and head not in self._objects:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
            elif separator:
                setattr(self, head, _replaced(self._object(head), tail, value, name))
        return self

    def _object(self, name: str) -> Any:
        """The object that a parameter stands for, or its value if there is none, as for "auto"."""
        value = getattr(self, name)
        try:
            return self._objects[name](value)
        except (TypeError, ValueError):
            return value


class KernelTransformerMixin(TransformerMixin):
    """A transformer with a ``kernel`` that reads rows, dense or sparse, or the rows of a precomputed matrix."""

    kernel_: Kernel
    _object: Callable[[str], Any]

    def _rows(self, X: RowsLike):
        """New rows, checked against the training rows."""
        check_is_fitted(self)
        X = read_rows(self, X, accept_sparse="csr", reset=False)
        check_kernel_takes(self.kernel_, X)
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self._object("kernel"), Precomputed)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _settings(value: Any) -> list[str]:
    """The names of an object's parameters."""
    if not is_dataclass(value) or isinstance(value, type):
        return []
    return [item.name for item in fields(value) if item.init and item.repr]


def _nested(prefix: str, value: Any) -> dict[str, Any]:
    found = {}
    for name in _settings(value):
        inner = getattr(value, name)
        found[f"{prefix}__{name}"] = inner
        found.update(_nested(f"{prefix}__{name}", inner))
    return found


def _replaced(owner: Any, path: str, value: Any, full: str) -> Any:
    head, separator, tail = path.partition("__")
    known = _settings(owner)
    if head not in known:
        have = f"it has {', '.join(known)}" if known else "it has no parameters of its own; give an object first"
        raise ValueError(f"cannot set {full!r}: {owner!r} has no parameter {head!r} ({have}).")
    if separator:
        value = _replaced(getattr(owner, head), tail, value, full)
    return replace(owner, **{head: value})


def read_rows(estimator: Any, X: RowsLike, **options: Any):
    """X as rows of floats, checked by ``validate_data`` of scikit-learn, with clearer errors for NaN and shapes."""
    X = as_numpy(X) if is_tensor(X) else X
    check_axes(estimator, X)
    try:
        found = validate_data(estimator, X, dtype=FLOATS, **options)
        _check_squares(estimator, found)
        return found
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        fitting = options.get("reset", True)
        raise ValueError(f"Input X contains NaN. {_what_fills_gaps(estimator, fitting)}") from None


def check_axes(estimator: Any, X: RowsLike) -> None:
    """Refuse arrays that are not 2D; scikit-learn's own error would print all their values."""
    axes = getattr(X, "ndim", 2)
    if axes == 1:
        alone = " For one signal, use denoise_signal." if hasattr(estimator, "denoise_signal") else ""
        raise ValueError(
            f"Expected 2D array, got 1D array of {len(X)} values. Reshape your data: array.reshape(-1, 1) is a table "
            f"of one column, array.reshape(1, -1) of one row.{alone}"
        )
    if axes > 2:
        name = type(estimator).__name__
        shape = f" and give their shape: {name}(geometry={X.shape[1:]})" if hasattr(estimator, "geometry") else ""
        raise ValueError(
            f"Found array with dim {axes}, while {name} takes a table with one row per image or observation: use "
            f"X.reshape(len(X), -1){shape}."
        )


def _check_squares(estimator: Any, X: RowsLike) -> None:
    """Refuse rows whose squares overflow when summed; a precomputed kernel matrix is exempt."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.vdot(values, values) * values.size):  # nearly always, and in one pass
            return
    size, reach = max(X.max(), -X.min()), np.sqrt(np.finfo(X.dtype).max / X.size)
    if size > reach and not get_tags(estimator).input_tags.pairwise:
        raise ValueError(
            f"the numbers of X reach {size:.3g}, and their squares overflow: bring the columns to a smaller scale."
        )


def _what_fills_gaps(estimator: Any, fitting: bool) -> str:
    name = type(estimator).__name__
    if get_tags(estimator).input_tags.pairwise:
        return "A kernel matrix must be complete."
    if not fitting and hasattr(estimator, "impute"):
        return f"{name}.impute fills the gaps of rows; its other methods take complete rows."
    when = "is fitted on complete rows" if fitting else "takes complete rows"
    return f"{name} {when}: fill the gaps first with preimage.Imputer, which learns from rows with gaps."


def read_codes(codes: Any, n_components: int, name: str = "X") -> np.ndarray:
    """Rows of codes, one column per component."""
    codes = check_array(codes, dtype=FLOATS, input_name=name)
    if codes.shape[1] != n_components:
        raise ValueError(f"{name} has {codes.shape[1]} columns, but this model has {n_components} components.")
    return codes


def check_scale(values: np.ndarray, what: str, smallest: float | None = None) -> None:
    """Refuse numbers whose cubes overflow or underflow, unless all are 0; ``smallest`` replaces the lower bound."""
    limits = np.finfo(values.dtype)
    low = float(limits.tiny) ** (1 / 3) if smallest is None else smallest
    high = float(limits.max) ** (1 / 3)
    size = float(max(values.max(), -values.min()))
    if size and not low <= size <= high:
        raise ValueError(
            f"the numbers of {what} reach {size:.3g}: multiply them by a constant so that the largest lies between "
            f"{low:.0e} and {high:.0e}."
        )


def check_flags(estimator: Any, *names: str) -> None:
    """Refuse settings that must be True or False and are not."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name} must be True or False, not {value!r}.")


def keeps_n_jobs(method: Callable) -> Callable:
    """Decorate a method: it uses at most ``n_jobs`` threads, and its result must be finite."""

    @wraps(method)
    def limited(self, *args, **options):
        with threads.limited(self.n_jobs):
            return method(self, *args, **options)

    return finite_answers(limited)


def finite_answers(method: Callable) -> Callable:
    """Decorate a method: a result that is not finite raises an error, and numpy's overflow warnings are silenced."""

    @wraps(method)
    def answered(self, *args, **options):
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_answer(self, method.__name__, method(self, *args, **options))

    return answered


def finite_answer(estimator: Any, name: str, found: Any) -> Any:
    """The result itself, or an error if it is not finite; a memmap was checked while it was written."""
    if isinstance(found, np.memmap) or not isinstance(found, np.ndarray) or found.dtype.kind != "f":
        return found
    if np.isfinite(found).all():
        return found
    raise overflow(estimator, name)


def overflow(estimator: Any, name: str) -> ValueError:
    """The error of a method whose result is not finite."""
    return ValueError(
        f"{type(estimator).__name__}.{name} overflows for these rows: bring their columns to the scale of the "
        "training rows."
    )


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def also_distributed(method: Callable) -> Callable:
    """Decorate a method as ``keeps_n_jobs`` does; it also takes tensors, and Dask arrays on their cluster."""
    here = keeps_n_jobs(method)
    here = here if method.__name__ == "fit" else also_tensors(here)  # fit handles tensors itself
    return _handed_over(here, is_dask, "preimage.distributed", "call")


def also_tensors(method: Callable) -> Callable:
    """Decorate a method: :mod:`preimage.export` runs it for tensors and returns tensors."""
    return _handed_over(method, is_tensor, "preimage.export", "answer_tensor")


def _handed_over(method: Callable, theirs: Callable[[Any], bool], room: str, name: str) -> Callable:
    """The method; rows that satisfy ``theirs`` go to the function ``name`` of ``room``, imported when needed."""
    shape = signature(method)
    rows = list(shape.parameters)[1]

    @wraps(method)
    def handed_over(self, *args, **options):
        if not theirs(args[0] if args else options.get(rows)):
            return method(self, *args, **options)
        arguments = dict(shape.bind(self, *args, **options).arguments)
        del arguments["self"]
        return getattr(import_module(room), name)(self, method.__name__, arguments.pop(rows), **arguments)

    return handed_over


def in_input_columns(method: Callable) -> Callable:
    """Decorate a method whose result has the training rows' columns: it obeys ``set_output`` as ``transform`` does."""

    @wraps(method)
    def framed(self, X, *args, **options):
        return _framed(self, X, method(self, X, *args, **options))

    return framed


def _framed(estimator: Any, X, found):
    """The result as the frame that ``set_output`` asks for, with the index of X; unchanged if it asks for none."""
    chosen = _get_output_config("transform", estimator)["dense"]
    if chosen == "default" or not isinstance(found, np.ndarray):
        return found
    adapter = ADAPTERS_MANAGER.adapters[chosen]
    names = getattr(estimator, "feature_names_in_", None)
    width = found.shape[1]
    columns = [f"x{j}" for j in range(width)] if names is None or len(names) != width else names
    return adapter.create_container(found, X, columns=columns, inplace=False)


def remember_width(estimator: Any, n_columns: int) -> None:
    """Set ``n_features_in_`` for rows that scikit-learn's ``validate_data`` cannot read; columns have no names."""
    estimator.n_features_in_ = n_columns
    vars(estimator).pop("feature_names_in_", None)


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Restore the estimator if the fit inside fails or is interrupted, and silence numpy's overflow warnings."""
    before = dict(vars(estimator))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def generator(random_state) -> np.random.Generator:
    """A numpy generator from scikit-learn's ``random_state`` (an int, a RandomState, a Generator or None)."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int) and not isinstance(random_state, bool):
        return np.random.default_rng(_first_draw(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


@lru_cache
def _first_draw(seed: int) -> int:
    """The first draw of scikit-learn's generator for a seed; making that generator takes a tenth of a fit."""
    return int(check_random_state(seed).randint(2**31))


def check_component_number(n_components: Any, n_rows: int, center: bool) -> int | float | None:
    """``n_components`` as an int, a float in (0, 1) or None; anything else is refused."""
    if n_components is None:
        return None
    if not is_number(n_components):
        raise TypeError(f"n_components must be a whole number, a fraction in (0, 1) or None, not {n_components!r}.")
    if isinstance(n_components, float | np.floating):
        if not 0 < n_components < 1:
            raise ValueError(f"n_components as a fraction of variance must lie between 0 and 1, not {n_components!r}.")
        return float(n_components)
    if n_components < 1:
        raise ValueError(f"n_components must be at least 1, not {n_components}.")
    if n_components > n_rows:
        most = f"{n_rows - 1} components" if center else f"{n_rows} components"
        raise ValueError(f"n_components={n_components} is more than {n_rows} rows allow: at most {most}.")
    return int(n_components)


def find_component_number(
    n_components: Any, kernel: Kernel, X: RowsLike, n_rows: int, center: bool, rng: np.random.Generator
):
    """The checked number of components; ``"auto"`` runs parallel analysis on X, which holds all or some of the rows."""
    if not (isinstance(n_components, str) and n_components == "auto"):
        return check_component_number(n_components, n_rows, center)
    found = parallel_analysis.parallel_analysis(X, kernel, random_state=rng).n_components
    if not found:
        warn(
            "no component exceeds what independent columns would show, so 1 is kept. Try another kernel or "
            "length scale; the data may also be pure noise.",
            NothingFoundWarning,
        )
    return max(found, 1) + (not center)  # without centring, the first axis describes the mean


def check_kernel_matrix(matrix: np.ndarray) -> None:
    """Refuse a precomputed kernel matrix that is not square or not symmetric."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"a precomputed kernel matrix must be square at fit, not of shape {matrix.shape}: row i, column j holds "
            "k(x_i, x_j) of the training points."
        )
    scale, tolerance = np.abs(matrix).max(initial=0), 100 * np.finfo(matrix.dtype).eps
    gap = max(
        (np.abs(matrix[i : i + 512] - matrix[:, i : i + 512].T).max() for i in range(0, len(matrix), 512)), default=0
    )
    if gap > tolerance * scale:
        raise ValueError(
            f"the precomputed kernel matrix is not symmetric: entries differ from their mirror image by up to "
            f"{gap:.3g}. A kernel has k(x, y) = k(y, x); average the matrix with its transpose if that is round-off."
        )


def own_values(kernel: Kernel, X: RowsLike, diagonal=None) -> np.ndarray:
    """k(x, x) of every row; a precomputed kernel cannot compute them and needs ``diagonal``."""
    if diagonal is None:
        if isinstance(kernel, Precomputed):
            raise ValueError("a precomputed kernel cannot compute k(x, x) of the rows: pass it as diagonal=.")
        return kernel.diagonal(X)
    values = np.asarray(diagonal)
    if values.shape != (X.shape[0],):
        raise ValueError(f"diagonal must hold one value per row, shape ({X.shape[0]},), not {values.shape}.")
    return values


def check_kernel_takes(kernel, X: RowsLike) -> None:
    """Refuse sparse rows if the kernel needs dense ones."""
    if sp.issparse(X) and not kernel.accepts_sparse:
        raise TypeError(f"{kernel!r} needs dense rows; convert the sparse matrix with X.toarray().")
