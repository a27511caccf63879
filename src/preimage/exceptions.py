"""Errors and warnings of this library's own, so that a caller can tell each kind by its class."""


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
    """Landmarks or features miss so much that components which were kept may be wrong."""


class NoiseLevelWarning(PreimageWarning):
    """The data cannot tell their noise level well."""


class NothingFoundWarning(PreimageWarning):
    """No component stands out of what independent columns would show."""


class DataFileWarning(PreimageWarning):
    """A data file was read or written in a way that is worth a look."""


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file holds no model that can be trusted."""


class DataFileError(ValueError):
    """A data file cannot be read, or cannot hold what shall be written to it."""


class ClusterError(ConnectionError):
    """The Dask cluster was lost, cannot be reached, or cannot do the work."""
