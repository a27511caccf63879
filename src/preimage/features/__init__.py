"""Explicit feature maps that approximate a kernel, k(x, y) ≈ f(x)ᵀf(y): Nyström and random Fourier features."""

from preimage.features.fourier import FourierMap as FourierMap
from preimage.features.fourier import RandomFourier
from preimage.features.landmarks import KMeans, RPCholesky, Uniform
from preimage.features.moments import FeatureMap as FeatureMap
from preimage.features.moments import Moments as Moments
from preimage.features.moments import accumulate as accumulate
from preimage.features.nystrom import Nystrom
from preimage.features.nystrom import NystromMap as NystromMap
from preimage.features.nystrom import as_approximation as as_approximation

__all__ = ["KMeans", "Nystrom", "RPCholesky", "RandomFourier", "Uniform"]
