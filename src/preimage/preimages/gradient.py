"""Descent on the feature-space distance for any kernel with a gradient."""

from __future__ import annotations

from dataclasses import dataclass

from preimage._typing import Generator
from preimage.preimages.base import PreimageMethod, Source
from preimage.preimages.bounds import Box
from preimage.preimages.descent import Descent
from preimage.preimages.iterated import Iterated


@dataclass(frozen=True)
class Gradient(PreimageMethod):
    """L-BFGS on ρ(z) = ‖φ(z) − Ψ‖² for any kernel with a gradient, sums and products included.

    Each step evaluates the kernel for all targets at once; each target has its own memory and stops on its own.

    Parameters
    ----------
    box : tuple (low, high), optional
        Bounds of every coordinate, such as the range of a pixel. None allows twice the range of the data.
    tol : float
        A row stops when its step is shorter than this fraction of the data's spread.
    max_iter : int
        The most steps from one start.
    memory : int
        How many past steps L-BFGS uses.

    See Also
    --------
    FixedPoint : Faster for kernels of the distance or the inner product.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian, Linear
    >>> from preimage.preimages import Gradient
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0]])
    >>> mean = Expansion(Gaussian(2.0) + Linear(), X, np.array([[0.5, 0.5]]))
    >>> find_preimage(mean, Gradient()).points.round(3)
    array([[1., 1.]])
    """

    needs = frozenset({"gradient"})
    abilities = ("gradient",)
    instead = "Learned() and Nearest() take any kernel."

    box: tuple[float, float] | None = None
    tol: float = 1e-6
    max_iter: int = 300
    memory: int = 8

    def __post_init__(self) -> None:
        if not self.tol > 0 or self.max_iter < 1 or self.memory < 1:
            raise ValueError("Gradient needs tol > 0, max_iter ≥ 1 and memory ≥ 1.")
        if self.box is not None:
            if not (len(self.box) == 2 and self.box[0] < self.box[1]):
                raise ValueError(f"box must be None or (low, high) with low < high, not {self.box!r}.")
            object.__setattr__(self, "box", tuple(self.box))  # a list cannot be hashed

    def prepare(self, model: Source, rng: Generator) -> Iterated:
        """The descent, within the box or the bounds of the data."""
        return Iterated(Descent(self.memory, self.tol, self.max_iter, self.box or Box.of(model).ends))
