"""Estimators with scikit-learn's conventions, one class per file."""

from preimage.estimators.denoiser import Denoiser
from preimage.estimators.invertible_kernel_pca import InvertibleKernelPCA
from preimage.estimators.kernel_kmeans import KernelKMeans
from preimage.estimators.kernel_pca import KernelPCA
from preimage.estimators.monitor import Monitor

__all__ = ["Denoiser", "InvertibleKernelPCA", "KernelKMeans", "KernelPCA", "Monitor"]
