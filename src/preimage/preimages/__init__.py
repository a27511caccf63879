"""The way back: from a vector of feature space to a point of input space, one method a file."""

from __future__ import annotations

from preimage.kernels import Kernel
from preimage.preimages.base import Method, Preimages, WayBack
from preimage.preimages.learned import Learned

__all__ = ["Learned", "Method", "Preimages", "WayBack", "as_method", "choose"]

NAMES = {"learned": Learned}


def as_method(method) -> Method:
    """A method from what users type: an object with ``prepare``, or a name."""
    if isinstance(method, str):
        if method not in NAMES:
            raise ValueError(f"unknown pre-image method {method!r}; the names are auto, {', '.join(NAMES)}.")
        return NAMES[method]()
    if isinstance(method, type) or not hasattr(method, "prepare"):
        raise TypeError(
            f"preimage must be a name or an object of preimage.preimages such as Learned(), not {method!r}."
        )
    return method


def choose(method, kernel: Kernel) -> Method:
    """The method for a kernel where the user left it to us."""
    return Learned() if isinstance(method, str) and method == "auto" else as_method(method)
