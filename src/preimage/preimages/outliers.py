"""Rows with gross outliers: alternate between the subspace and the trusted part of the input.

Every round replaces the untrusted part of each entry by the pre-image of the projection, and projects again,

    x ← ω ∘ x₀ + (1 − ω) ∘ x̂(x),

with the weights ω of a bounded loss e²/(e² + s²) of the misfit e = x₀ − x̂ (Nguyen & De la Torre 2008). Missing entries
have ω = 0, see :mod:`preimage.imputation`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from preimage._typing import Array
from preimage.exceptions import ConvergenceWarning, silenced


def damp_outliers(project: Callable[[Array], Array], X: Array, scale: float, n_rounds: int) -> Array:
    """The rows with gross outliers replaced over several rounds; entries that the subspace explains stay.

    The scale of a row is at least its median misfit, so some of its entries are trusted even while the row is far from
    its pre-image.
    """
    trusted = X
    for _ in range(n_rounds):
        with silenced(ConvergenceWarning):  # only the last round's failures matter
            answer = project(trusted)
        misfit = np.abs(X - answer)
        scales = np.maximum(1.4826 * np.median(misfit, axis=1, keepdims=True), scale)
        trust = (scales**2 / (scales**2 + misfit**2)) ** 2
        trusted = trust * X + (1 - trust) * answer
    return trusted
