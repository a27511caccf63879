"""T² inside the subspace, SPE outside it, and their derivatives.

With the codes β of a row, their variances vₖ = λₖ/(n − 1) over the n training rows, and the projection P,

    T² = Σₖ βₖ²/vₖ,      SPE = ‖φ(x) − Pφ(x)‖² = k(x, x) − 2⟨φ(x), φ̄⟩ + ‖φ̄‖² − Σₖ βₖ²

(Lee et al. 2004, "Nonlinear process monitoring using kernel principal component analysis", eqs. 21 and 26). With the
linear kernel they are those of PCA.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from preimage.decomposition import Decomposition
from preimage.decomposition.expanded import Expanded
from preimage.kernels import knows, require

FEW = 8  # rows up to which the plain formula is faster than tiles on several cores


class Statistics(NamedTuple):
    """T² and SPE, each an array with one number per row; ``pandas.DataFrame(found._asdict())`` is their table.

    See Also
    --------
    preimage.Monitor : Its ``statistics`` and ``limits_`` return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA, Monitor
    >>> normal = np.random.default_rng(0).standard_normal((200, 3)) @ np.diag([3.0, 2.0, 0.1])
    >>> monitor = Monitor(KernelPCA(2, kernel="linear")).fit(normal)
    >>> inside, outside = monitor.statistics([[0, 0, 0], [0, 0, 9]]).SPE
    >>> bool(inside < monitor.limits_.SPE < outside)
    True
    """

    T2: Any
    """Squared distance from the mean inside the subspace, in standard deviations."""
    SPE: Any
    """Squared distance from the subspace."""


def statistics(model: Decomposition, variances: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """T² and SPE of the rows, shape (rows, 2), from one pass over the kernel values."""
    squares, distance2 = _squared_codes(model, Z)
    return np.column_stack([squares @ (1 / variances), np.maximum(distance2 - squares.sum(axis=1), 0)])


def nested_statistics(model: Decomposition, variances: np.ndarray, Z: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The same for several numbers of components of one model, shape (numbers, rows, 2)."""
    squares, distance2 = _squared_codes(model, Z)
    inside = np.cumsum(squares / variances, axis=1)[:, numbers - 1].T
    outside = np.maximum(distance2[:, None] - np.cumsum(squares, axis=1)[:, numbers - 1], 0).T
    return np.stack([inside, outside], axis=2)


def derivatives(model: Decomposition, variances: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∇T² = 2 Σₖ (βₖ/vₖ) ∇βₖ and ∇SPE = ∇k(x, x) − 2∇⟨Pφ(x), φ(x)⟩ with Pφ(x) held fixed, shape (rows, d) each."""
    kernel = model.kernel
    require(kernel, "contributions", "gradient", serve="Gaussian and linear kernels have one.")
    assert knows(kernel, "gradient")
    codes = model.codes(Z)
    mean = model.expand(np.zeros_like(codes)).gradient(Z)
    inside = model.expand(2 * codes / variances).gradient(Z) - mean
    return inside, kernel.diagonal_gradient(Z) - 2 * model.expand(codes).gradient(Z)


def _squared_codes(model: Decomposition, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """βₖ² and ‖φ(x) − φ̄‖²."""
    axes, means = _products(model, Z)
    return np.square(axes - model.offsets), model.kernel.diagonal(Z) - 2 * means + model.mean_norm2


def _products(model: Decomposition, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """⟨Vₖ, φ(x)⟩ and ⟨φ̄, φ(x)⟩."""
    if len(Z) > FEW or not isinstance(model, Expanded):
        return model.products(Z)
    values = model.kernel(Z, model.points)
    return values @ model.alphas, values @ model.mean_weights
