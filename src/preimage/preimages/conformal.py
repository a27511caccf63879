"""Pre-images by a map that keeps inner products (Honeine & Richard 2009, 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from preimage._typing import Array, Generator
from preimage.decomposition import Decomposition
from preimage.preimages.base import PreimageMethod, Preimages, closed_form, dense_rows
from preimage.preimages.bounds import OPEN, Box


@dataclass(frozen=True)
class Conformal(PreimageMethod):
    """A linear map from codes to inputs that preserves the inputs' inner products (Honeine & Richard 2011).

    With centred inputs X (one per row), their codes C and XᵀX = S, the pre-image of a code β is

        x̂ = x̄ + (XᵀC − η S⁺XᵀC (CᵀC)⁻¹)(CᵀC)⁻¹ β,

    which is their solution for kernel PCA, where CᵀC is the diagonal matrix of the eigenvalues. With η = 0 it is the
    linear regression of the inputs on their codes. This is the fastest method: q × d products per point.

    Parameters
    ----------
    eta : float
        Weight of the penalty on the map's size, relative to the mean eigenvalue times the inputs' mean variance.

    See Also
    --------
    Learned : A nonlinear regression.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.datasets import s_curve
    >>> from preimage.preimages import Conformal
    >>> X = s_curve(200, random_state=0).X
    >>> kpca = KernelPCA(2, kernel="linear", preimage=Conformal()).fit(X)
    >>> centred = X - X.mean(axis=0)
    >>> axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    >>> bool(np.allclose(kpca.inverse_transform(kpca.transform(X)), X.mean(axis=0) + centred @ axes.T @ axes))  # PCA
    True
    """

    needs = frozenset({"codes"})

    eta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.eta < np.inf:
            raise ValueError(f"eta must be a number of at least 0, not {self.eta!r}.")

    def prepare(self, model: Decomposition, rng: Generator) -> _ConformalMap:
        """The matrix from codes to inputs."""
        inputs = dense_rows(model.inputs)
        codes = model.input_codes
        mean, centre = inputs.mean(axis=0), codes.mean(axis=0)
        box = Box.around(inputs)
        inputs, codes = inputs - mean, codes - centre
        moments = scipy.linalg.pinvh(codes.T @ codes)
        matrix = moments @ (codes.T @ inputs)
        if self.eta:
            scatter = inputs.T @ inputs
            eta = self.eta * np.trace(codes.T @ codes) / codes.shape[1] * np.trace(scatter) / scatter.shape[0]
            matrix -= eta * moments @ matrix @ scipy.linalg.pinvh(scatter)
        return _ConformalMap(matrix, mean - centre @ matrix, box)


@dataclass(frozen=True, eq=False)
class _ConformalMap:
    matrix: Array
    offset: Array
    box: Box = OPEN

    def __call__(self, targets: Any, starts: Array | None = None) -> Preimages:
        return closed_form(targets, self.box.hold(targets.codes @ self.matrix + self.offset, starts))
