"""The best linear filter: what a table of few rows allows, and a good start for what is not linear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.denoising.examples import Examples
from preimage.denoising.views import Images

__all__ = ["LinearFilter"]


@dataclass(frozen=True, eq=False)
class LinearFilter:
    """x̂ = x̄ + C_xy C_yy⁻¹ (y − ȳ), with the covariances of rows y and their truth x (Wiener 1949)."""

    input_mean: np.ndarray
    truth_mean: np.ndarray
    gain: np.ndarray

    @classmethod
    def fit(cls, examples: Examples) -> LinearFilter:
        """From all examples; directions in which no row differs from another are left out."""
        input_mean, truth_mean, inputs, cross = examples.covariances()
        values, axes = np.linalg.eigh(inputs)
        seen = values > len(values) * np.finfo(np.float32).eps * values[-1]
        gain = cross @ (axes[:, seen] / values[seen]) @ axes[:, seen].T
        return cls(*(part.astype(np.float32) for part in (input_mean, truth_mean, gain)))

    def __call__(self, maps: list[Images]) -> Images:
        """What the filter makes of the noisy images, the first map."""
        rows = maps[0].reshape(len(maps[0]), -1)
        return (self.truth_mean + (rows - self.input_mean) @ self.gain.T).reshape(maps[0].shape)

    def left_out(self, maps: list[Images], fold: np.ndarray) -> Images:
        """The same: so few numbers, shared by all rows, know little of any one of them."""
        return self(maps)
