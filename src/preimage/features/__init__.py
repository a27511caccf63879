"""Explicit feature maps that approximate a kernel, k(x, y) ≈ f(x)ᵀf(y): Nyström on landmarks, and random Fourier."""

from __future__ import annotations

from preimage.features.fourier import FourierMap, RandomFourier
from preimage.features.landmarks import KMeans, RPCholesky, Uniform
from preimage.features.moments import FeatureMap, Moments, accumulate
from preimage.features.nystrom import Nystrom, NystromMap, as_approximation

__all__ = [
    "FeatureMap",
    "FourierMap",
    "KMeans",
    "Moments",
    "Nystrom",
    "NystromMap",
    "RPCholesky",
    "RandomFourier",
    "Uniform",
    "accumulate",
    "as_approximation",
]
