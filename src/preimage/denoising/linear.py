"""The best linear filter: all that a table of few rows supports, and a good start for nonlinear stages."""

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
        """The filter of all examples, without directions in which the rows do not vary."""
        input_mean, truth_mean, inputs, cross = examples.covariances()
        values, axes = np.linalg.eigh(inputs)
        seen = values > len(values) * np.finfo(np.float32).eps * values[-1]
        gain = cross @ (axes[:, seen] / values[seen]) @ axes[:, seen].T
        return cls(*(part.astype(np.float32) for part in (input_mean, truth_mean, gain)))

    def __call__(self, maps: list[Images]) -> Images:
        """The filtered noisy images, which are the first map."""
        rows = maps[0].reshape(len(maps[0]), -1)
        return (self.truth_mean + (rows - self.input_mean) @ self.gain.T).reshape(maps[0].shape)

    def left_out(self, maps: list[Images], fold: np.ndarray) -> Images:
        """The same estimate: so few parameters, shared by all rows, hardly overfit any of them."""
        return self(maps)
