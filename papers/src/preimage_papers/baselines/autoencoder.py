"""The autoassociative perceptron with a bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Autoencoder:
    """Five layers, d – h – q – h – d, with tanh units between, trained by L-BFGS to reproduce their input.

    The best of several starts is kept, because training may end in a poor local minimum.

    Parameters
    ----------
    hidden : int
        Units h of the second and fourth layer.
    bottleneck : int
        Units q of the third layer.
    penalty : float
        Penalty of the squared weights.
    n_starts : int
        The number of random starts.

    References
    ----------
    Mika et al. (1998), Figure 1; Schölkopf et al. (1998), §6.3.2.
    """

    hidden: int = 10
    bottleneck: int = 1
    penalty: float = 1e-4
    n_starts: int = 3

    def fit(self, X: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Train the network; return a function that reconstructs rows."""
        from sklearn.neural_network import MLPRegressor

        mean, scale = X.mean(axis=0), X.std()
        unit = (X - mean) / scale
        networks = [
            MLPRegressor(
                hidden_layer_sizes=(self.hidden, self.bottleneck, self.hidden),
                activation="tanh",
                solver="lbfgs",
                alpha=self.penalty,
                max_iter=1000,
                random_state=int(rng.integers(2**31)),
            ).fit(unit, unit)
            for _ in range(self.n_starts)
        ]
        best = min(networks, key=lambda network: network.loss_)
        return lambda rows: mean + scale * best.predict((rows - mean) / scale)
