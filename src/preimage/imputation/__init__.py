"""Missing values: a Gaussian model, kernel regressions, neighbours and kernel PCA, weighted by hidden entries."""

from preimage.imputation.calibration import ErrorCalibration
from preimage.imputation.complete import Imputation
from preimage.imputation.gaussian import GaussianModel
from preimage.imputation.learning import FilledByMixture, learn

__all__ = ["ErrorCalibration", "FilledByMixture", "GaussianModel", "Imputation", "learn"]
