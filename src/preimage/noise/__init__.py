"""Noise laws, which make clean data noisy.

A law is a frozen dataclass; ``law(X, rng)`` returns a corrupted copy of ``X``. Floating types are kept, other real
types become float64, and ``X`` itself is never changed.

>>> import numpy as np
>>> Y = GaussianNoise(0.25)(np.zeros((2, 3), dtype=np.float32), np.random.default_rng(0))
>>> Y.shape, Y.dtype
((2, 3), dtype('float32'))
"""

from preimage.noise.counts import PoissonGaussianNoise, PoissonNoise
from preimage.noise.custom import CustomNoise
from preimage.noise.gaussian import ColumnNoise, GaussianNoise
from preimage.noise.impulses import RandomImpulses, SaltAndPepper
from preimage.noise.law import NoiseLaw
from preimage.noise.masking import Masking
from preimage.noise.speckle import SpeckleNoise

__all__ = [
    "ColumnNoise",
    "CustomNoise",
    "GaussianNoise",
    "Masking",
    "NoiseLaw",
    "PoissonGaussianNoise",
    "PoissonNoise",
    "RandomImpulses",
    "SaltAndPepper",
    "SpeckleNoise",
]
