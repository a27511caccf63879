"""The fixed-point iteration (Mika et al. 1998), with safeguards."""

from __future__ import annotations

from dataclasses import dataclass

from preimage._typing import Generator
from preimage.preimages.base import PreimageMethod, Source
from preimage.preimages.bounds import Box
from preimage.preimages.descent import Descent
from preimage.preimages.iterated import Iterated


@dataclass(frozen=True)
class FixedPoint(PreimageMethod):
    """z⁺ = Σᵢ wᵢxᵢ / Σᵢ wᵢ with wᵢ = −γᵢκ′(‖z − xᵢ‖²), for every radial kernel (Mika et al. 1998, eq. 10).

    For kernels of the inner product, z⁺ = Σᵢ γᵢκ′(zᵀxᵢ)xᵢ / κ′(zᵀz), damped. Both are gradient steps, divided by a
    curvature, on ρ(z) = ‖φ(z) − Ψ‖². A step that raises ρ is shortened. If Σw is not safely positive, a plain gradient
    step replaces the fixed-point step. A short memory of past steps accelerates the iteration (L-BFGS with that
    curvature). Each row stops on its own.

    The iteration starts at the given point, which is the noisy input when denoising. Without one it starts at the
    result of ``Distance`` if the kernel has an inverse, and else at the nearest point. Rows that fail start again at
    the nearest points of the expansion, best first.

    Parameters
    ----------
    tol : float
        A row stops when its step is shorter than this fraction of the data's spread.
    max_iter : int
        The most steps from one start.
    pull : float
        λ of a penalty λ‖z − z₀‖² that keeps z near the given start z₀ (Abrahamsen & Hansen 2009).
    memory : int
        How many past steps accelerate the iteration; 0 is the plain iteration.

    See Also
    --------
    Gradient : Descent for kernels without a profile.
    OneStep : A single step, without a start.
    preimage.find_preimage : Pre-images of any expansion.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import Expansion, find_preimage
    >>> from preimage.kernels import Gaussian
    >>> from preimage.preimages import FixedPoint
    >>> mean = Expansion(Gaussian(2.0), np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([[0.5, 0.5]]))
    >>> found = find_preimage(mean, FixedPoint())
    >>> found.points.round(3), found.converged
    (array([[1., 1.]]), array([ True]))
    """

    needs = frozenset({"weights"})
    abilities = ("profile",)
    instead = "Gradient() takes any kernel with a gradient."

    tol: float = 1e-5
    max_iter: int = 200
    pull: float = 0.0
    memory: int = 4

    def __post_init__(self) -> None:
        if not self.tol > 0 or self.max_iter < 1 or self.pull < 0 or self.memory < 0:
            raise ValueError("FixedPoint needs tol > 0, max_iter ≥ 1, pull ≥ 0 and memory ≥ 0.")

    def prepare(self, model: Source, rng: Generator) -> Iterated:
        """The descent, within the bounds of the data."""
        return Iterated(Descent(self.memory, self.tol, self.max_iter, Box.of(model).ends), self.pull)
