"""Invertible kernel PCA: explicit features that can be inverted step by step (Gedon et al. 2023)."""

from preimage.invertible.activations import ReLU, Sine
from preimage.invertible.map import AnchoredDecoder as AnchoredDecoder
from preimage.invertible.map import InvertibleMap as InvertibleMap

__all__ = ["ReLU", "Sine"]
