"""The library's own errors and warnings, a class for each kind."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

__all__ = [
    "ClusterError",
    "ConstantColumnWarning",
    "ConvergenceWarning",
    "DataFileError",
    "DataFileWarning",
    "FewRowsWarning",
    "FewerComponentsWarning",
    "IndefiniteKernelWarning",
    "LengthScaleWarning",
    "ModelFileError",
    "NoiseLevelWarning",
    "NotExpressible",
    "NothingFilteredWarning",
    "NothingFoundWarning",
    "PoorApproximationWarning",
    "PreimageWarning",
]

# Packages whose frames are never the user's line.
PASSED_THROUGH = {"preimage", "sklearn", "joblib", "numpy", "contextlib", "functools"}


_SILENCED: ContextVar[tuple[type[Warning], ...]] = ContextVar("silenced", default=())


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the innermost frame outside this library and the packages that call it."""
    if issubclass(category, _SILENCED.get()):
        return
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in PASSED_THROUGH:
        frame = frame.f_back
    place = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        place.get("__name__"),
        place.setdefault("__warningregistry__", {}),
    )


@contextmanager
def silenced(*categories: type[Warning]) -> Iterator[None]:
    """Silence the library's warnings of these kinds, in this thread only."""
    token = _SILENCED.set(_SILENCED.get() + categories)
    try:
        yield
    finally:
        _SILENCED.reset(token)


def installed(module: str, extra: str) -> Any:
    """A module of an optional package; the error says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f'{module} is not installed: pip install "preimage[{extra}]"') from error


class PreimageWarning(UserWarning):
    """Something worth knowing about a result; the base class of this library's warnings.

    See Also
    --------
    ConvergenceWarning, FewerComponentsWarning, NoiseLevelWarning : Some of its kinds.

    Examples
    --------
    >>> import warnings
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import PreimageWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", PreimageWarning)  # silences all of them
    ...     kpca = KernelPCA(3, kernel="linear").fit([[0, 1], [1, 0], [2, 2], [3, 1]])
    >>> kpca.n_components_
    2
    """


class IndefiniteKernelWarning(PreimageWarning):
    """The kernel matrix has negative eigenvalues that are not round-off.

    See Also
    --------
    preimage.kernels.Sigmoid : A kernel that is not positive definite.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import IndefiniteKernelWarning
    >>> K = np.array([[5.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])  # its eigenvalues are 5, 1 and −1
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", IndefiniteKernelWarning)
    ...     kpca = KernelPCA(1, kernel="precomputed").fit(K)
    >>> str(caught[0].message).partition(":")[0]
    'the kernel matrix is indefinite'
    """


class FewerComponentsWarning(PreimageWarning):
    """The data have fewer components than were asked for.

    See Also
    --------
    preimage.KernelPCA : Its ``n_components_`` are those kept.

    Examples
    --------
    >>> import warnings
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import FewerComponentsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", FewerComponentsWarning)
    ...     kpca = KernelPCA(3, kernel="linear").fit([[0, 1], [1, 0], [2, 2], [3, 1]])
    >>> print(caught[0].message)
    3 components were asked for, but the kernel matrix has only 2 above round-off; 2 are kept.
    """


class ConvergenceWarning(PreimageWarning):
    """An iteration stopped before it reached its tolerance.

    See Also
    --------
    preimage.preimages.Preimages : Its ``converged`` says which rows.

    Examples
    --------
    >>> import warnings
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import half_circle
    >>> from preimage.eigen import PowerDeflation
    >>> from preimage.exceptions import ConvergenceWarning
    >>> X = half_circle(50, random_state=0).X
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ConvergenceWarning)
    ...     kpca = KernelPCA(2, solver=PowerDeflation(max_iter=2), random_state=0).fit(X)
    >>> str(caught[0].message).partition(":")[0]
    'the eigensolver stopped before it reached its tolerance'
    """


class NothingFilteredWarning(PreimageWarning):
    """All components are kept, so a projection changes nothing.

    See Also
    --------
    preimage.KernelPCA.denoise : Needs fewer components than there are.

    Examples
    --------
    >>> import warnings
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import NothingFilteredWarning
    >>> kpca = KernelPCA(kernel="linear").fit([[0, 1], [1, 0], [2, 2]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", NothingFilteredWarning)
    ...     clean = kpca.denoise([[1, 1]])
    >>> print(caught[0].message)
    all components are kept, so the projection filters nothing: choose n_components to denoise.
    """


class PoorApproximationWarning(PreimageWarning):
    """Landmarks or features miss so much of the kernel that some of the components may be wrong.

    See Also
    --------
    preimage.features.Nystrom : More landmarks make it better.

    Examples
    --------
    >>> import warnings
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import load_digits
    >>> from preimage.exceptions import PoorApproximationWarning
    >>> from preimage.features import Nystrom
    >>> X = load_digits().X[:300]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", PoorApproximationWarning)
    ...     kpca = KernelPCA(1, approximation=Nystrom(X[:2])).fit(X)
    >>> str(caught[0].message).partition(":")[0]
    '2 landmarks are too few for component 1'
    """


class NoiseLevelWarning(PreimageWarning):
    """The noise level cannot be estimated well from the data.

    See Also
    --------
    preimage.selection.noise_level : The estimate, with an interval.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage.exceptions import NoiseLevelWarning
    >>> from preimage.selection import noise_level
    >>> X = np.random.default_rng(0).standard_normal((10, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", NoiseLevelWarning)
    ...     found = noise_level(X)
    >>> str(caught[0].message).partition(": ")[2]
    '3 columns are too few to tell noise from signal.'
    """


class NothingFoundWarning(PreimageWarning):
    """No component exceeds what independent columns would show by chance, or a column has no entry to learn from.

    See Also
    --------
    preimage.selection.parallel_analysis : The comparison with chance.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import NothingFoundWarning
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", NothingFoundWarning)
    ...     kpca = KernelPCA("auto", kernel="linear", random_state=0).fit(X)
    >>> str(caught[0].message).partition(",")[0]
    'no component exceeds what independent columns would show'
    """


class DataFileWarning(PreimageWarning):
    r"""A data file was read or written in a way that should be checked.

    See Also
    --------
    DataFileError : The file cannot be read at all.

    Examples
    --------
    >>> import tempfile, warnings
    >>> from pathlib import Path
    >>> from preimage.exceptions import DataFileWarning
    >>> from preimage.io import read
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", DataFileWarning)
    ...     path = Path(folder, "table.csv")
    ...     n_characters = path.write_text("name,a,b\nfirst,1,2\nsecond,3,4\n")
    ...     X = read(path).whole()
    >>> str(caught[0].message).partition(".csv: ")[2]
    "carried along unchanged: 'name' (text)."
    """


class FewRowsWarning(PreimageWarning):
    """There are too few rows for the requested result.

    See Also
    --------
    preimage.Monitor : Its limits need at least 1/alpha rows.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.exceptions import FewRowsWarning
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", FewRowsWarning)
    ...     monitor = Monitor(KernelPCA(2, kernel="linear"), alpha=0.01).fit(X)
    >>> str(caught[0].message).partition(":")[0]
    '40 normal rows cannot guarantee a false-alarm rate below 0.024, but alpha is 0.01'
    """


class LengthScaleWarning(PreimageWarning):
    """The length scale of a kernel is so short that the kernel is nearly 0 between most rows and all others.

    See Also
    --------
    preimage.kernels.scales.length_scale : Rules that fit the rows.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.exceptions import LengthScaleWarning
    >>> from preimage.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(0, 1000, (200, 3))  # such as columns in their own units
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", LengthScaleWarning)
    ...     kpca = KernelPCA(2, kernel=Gaussian(1.0)).fit(X)
    >>> str(caught[0].message).startswith("the length scale of Gaussian(length_scale=1.0) is too short")
    True
    """


class ConstantColumnWarning(PreimageWarning):
    """A column is constant in the rows of a fit.

    See Also
    --------
    preimage.Monitor : Raises an alarm if the column changes later.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> from preimage.exceptions import ConstantColumnWarning
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> X[:, 1] = 5
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ConstantColumnWarning)
    ...     monitor = Monitor(KernelPCA(1, kernel="linear")).fit(X)
    >>> print(caught[0].message)
    x1: constant in the normal rows; any later change is an alarm.
    """


class ModelFileError(ValueError):
    """A model cannot be saved, or a file does not hold a valid model.

    See Also
    --------
    preimage.load : Raises it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import preimage
    >>> from preimage.exceptions import ModelFileError
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.npz")
    ...     n_bytes = path.write_bytes(b"not a model")
    ...     try:
    ...         preimage.load(path)
    ...     except ModelFileError as error:
    ...         print(str(error).partition("cannot be loaded: ")[2])
    it is damaged, or not a model file (BadZipFile).
    """


class DataFileError(ValueError):
    """A data file cannot be read, or its format cannot hold the data.

    See Also
    --------
    DataFileWarning : The file is read, but should be checked.
    preimage.io.read : Raises it.

    Examples
    --------
    >>> from preimage.io import read
    >>> read("absent.csv")
    Traceback (most recent call last):
        ...
    preimage.exceptions.DataFileError: absent.csv does not exist.
    """


class NotExpressible(TypeError):
    """A model, or one of its methods, cannot be exported.

    See Also
    --------
    preimage.export.to_program : Raises it.

    Examples
    --------
    >>> from preimage import KernelPCA, export
    >>> kpca = KernelPCA(1, kernel="linear").fit([[0, 0], [1, 1], [2, 2]])
    >>> export.to_program(kpca, "impute")
    Traceback (most recent call last):
        ...
    preimage.exceptions.NotExpressible: KernelPCA.impute cannot be exported; transform, score_samples, ...
    """


class ClusterError(ConnectionError):
    """The Dask cluster was lost, cannot be reached, or cannot do the work.

    See Also
    --------
    preimage.KernelPCA : Its rows may be a Dask array.

    Examples
    --------
    >>> from preimage.exceptions import ClusterError
    >>> issubclass(ClusterError, ConnectionError)  # what handles lost connections handles it too
    True
    """
