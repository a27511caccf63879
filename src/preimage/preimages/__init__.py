"""The way back: from a vector of feature space to a point of input space, one method a file."""

from __future__ import annotations

import numpy as np

from preimage.expansion import Expansion, Explicit
from preimage.kernels import Kernel, Precomputed, knows
from preimage.preimages.base import Method, Preimages, WayBack, dense_rows, find_in_batches
from preimage.preimages.conformal import Conformal
from preimage.preimages.convex import ConvexCombination
from preimage.preimages.distance import Distance
from preimage.preimages.fixed_point import FixedPoint
from preimage.preimages.gradient import Gradient
from preimage.preimages.learned import Learned
from preimage.preimages.nearest import Nearest
from preimage.preimages.one_step import OneStep
from preimage.preimages.wiener import Wiener

__all__ = [
    "Conformal",
    "ConvexCombination",
    "Distance",
    "FixedPoint",
    "Gradient",
    "Learned",
    "Method",
    "Nearest",
    "OneStep",
    "Preimages",
    "WayBack",
    "Wiener",
    "as_method",
    "choose",
    "find_in_batches",
    "find_preimage",
    "imputers",
    "refuse_explicit",
]

NAMES = {
    "fixed_point": FixedPoint,
    "gradient": Gradient,
    "distance": Distance,
    "learned": Learned,
    "conformal": Conformal,
    "one_step": OneStep,
    "convex": ConvexCombination,
    "nearest": Nearest,
    "wiener": Wiener,
}
ON_CODES = (Learned, Conformal, Wiener)
ON_WEIGHTS = (FixedPoint, OneStep)  # methods that need an expansion over points


def as_method(method) -> Method:
    """A method from what users type: an object with ``prepare``, or a name."""
    if isinstance(method, str):
        if method not in NAMES:
            raise ValueError(f"unknown pre-image method {method!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[method]()
    if isinstance(method, type) or not hasattr(method, "prepare"):
        raise TypeError(f"preimage must be a name or a method object such as Learned(), not {method!r}.")
    return method


def choose(kernel: Kernel, task: str) -> Method:
    """The method where the user left it to us.

    ===================  =====================================================================================
    task                 method
    ===================  =====================================================================================
    any, precomputed     ``Nearest``: there is no input space to come back to
    "decode" a code      ``Learned``: codes like the training ones are what a regression knows best
    "denoise" a row      ``Wiener``: the one that lost to linear PCA on no table, nor on digits
    "expansion"          ``FixedPoint`` where the kernel has a profile; ``Gradient`` where it has a gradient;
                         else ``Nearest``
    ===================  =====================================================================================
    """
    if isinstance(kernel, Precomputed):
        return Nearest()
    if task == "expansion":
        if knows(kernel, "profile") and kernel.argument == "distance":
            return FixedPoint()
        return Gradient() if knows(kernel, "gradient") else Nearest()
    return Wiener() if task == "denoise" else Learned()


def imputers(kernel: Kernel) -> tuple[Method, ...]:
    """The methods that fill gaps together where the user left it to us; :class:`gaps.Imputation` weighs them."""
    return (Learned(), Distance() if knows(kernel, "inverse") else Nearest())


def refuse_explicit(method: Method) -> None:
    """Refuse methods that weigh points, for vectors of random features, which have none."""
    if isinstance(method, ON_WEIGHTS):
        raise ValueError(
            f"{type(method).__name__} needs an expansion over points, which random features do not have: "
            "take Distance(), Gradient(), Learned() or Conformal()."
        )


def _choose_for(expansion: Expansion | Explicit) -> Method:
    return Gradient() if isinstance(expansion, Explicit) else choose(expansion.kernel, "expansion")


def find_preimage(expansion: Expansion | Explicit, method="auto", *, starts=None, random_state: int = 0) -> Preimages:
    """Points of input space for anybody's expansion.

    Parameters
    ----------
    expansion : Expansion or Explicit
        A batch of vectors of feature space.
    method : "auto", name or method object
        Methods that work on codes (``Learned``, ``Conformal``) need a fitted model and are refused.
    starts : array of shape (vectors, d), optional
        Where iterative methods start.
    random_state : int
        Seed of methods that draw.
    """
    automatic = isinstance(method, str) and method == "auto"
    chosen = _choose_for(expansion) if automatic else as_method(method)
    if isinstance(expansion, Explicit):
        refuse_explicit(chosen)
    if isinstance(chosen, ON_CODES):
        raise TypeError(
            f"{type(chosen).__name__} maps codes of a fitted model and cannot read a bare expansion: "
            "use KernelPCA(preimage=...), or FixedPoint, Gradient, Distance or Nearest here."
        )
    chosen.check(expansion.kernel)
    way_back = chosen.prepare(expansion, np.random.default_rng(random_state))
    return find_in_batches(way_back, expansion, None if starts is None else dense_rows(starts))
