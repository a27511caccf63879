"""Estimators with scikit-learn's conventions, one class per file."""

from preimage.estimators.decoder import Decoder
from preimage.estimators.denoiser import Denoiser
from preimage.estimators.imputer import Imputer
from preimage.estimators.invertible import Invertible
from preimage.estimators.invertible_kernel_pca import InvertibleKernelPCA
from preimage.estimators.kernel_kmeans import KernelKMeans
from preimage.estimators.kernel_pca import KernelPCA
from preimage.estimators.monitor import Monitor
from preimage.estimators.standardised import Standardised

__all__ = [
    "Decoder",
    "Denoiser",
    "Imputer",
    "Invertible",
    "InvertibleKernelPCA",
    "KernelKMeans",
    "KernelPCA",
    "Monitor",
    "Standardised",
]
