"""The library's own errors and warnings: callers can tell each kind by its class."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "ClusterError",
    "ConstantColumnWarning",
    "ConvergenceWarning",
    "DataFileError",
    "DataFileWarning",
    "FewRowsWarning",
    "FewerComponentsWarning",
    "IndefiniteKernelWarning",
    "ModelFileError",
    "NoiseLevelWarning",
    "NothingFilteredWarning",
    "NothingFoundWarning",
    "PoorApproximationWarning",
    "PreimageWarning",
]

# Packages whose lines a user did not write.
PASSED_THROUGH = {"preimage", "sklearn", "joblib", "numpy", "contextlib", "functools"}


_SILENCED: ContextVar[tuple[type[Warning], ...]] = ContextVar("silenced", default=())


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the innermost frame outside this library and those that call it for the user."""
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


class PreimageWarning(UserWarning):
    """Something worth knowing about a result."""


class IndefiniteKernelWarning(PreimageWarning):
    """The kernel matrix has negative eigenvalues that are not round-off."""


class FewerComponentsWarning(PreimageWarning):
    """The data hold fewer components than were asked for."""


class ConvergenceWarning(PreimageWarning):
    """An iteration stopped before it reached its tolerance."""


class NothingFilteredWarning(PreimageWarning):
    """All components are kept, so a projection changes nothing."""


class PoorApproximationWarning(PreimageWarning):
    """Landmarks or features miss so much of the kernel that some of the components may be wrong."""


class NoiseLevelWarning(PreimageWarning):
    """The noise level cannot be estimated well from the data."""


class NothingFoundWarning(PreimageWarning):
    """No component exceeds what independent columns would show by chance."""


class DataFileWarning(PreimageWarning):
    """A data file was read or written in a way that should be checked."""


class FewRowsWarning(PreimageWarning):
    """There are too few rows for what was asked of them."""


class ConstantColumnWarning(PreimageWarning):
    """A column is constant in the rows of a fit."""


class ModelFileError(ValueError):
    """A model cannot be saved, or a file does not hold a valid model."""


class DataFileError(ValueError):
    """A data file cannot be read, or its format cannot hold the data."""


class NotExpressible(TypeError):
    """A model, or one of its methods, cannot be exported."""


class ClusterError(ConnectionError):
    """The Dask cluster was lost, cannot be reached, or cannot do the work."""
