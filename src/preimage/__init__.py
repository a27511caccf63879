"""Kernel PCA with pre-images: encode, denoise, impute, detect novelty."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from preimage.estimators import Decoder as Decoder
    from preimage.estimators import Denoiser as Denoiser
    from preimage.estimators import Imputer as Imputer
    from preimage.estimators import Invertible as Invertible
    from preimage.estimators import InvertibleKernelPCA as InvertibleKernelPCA
    from preimage.estimators import KernelKMeans as KernelKMeans
    from preimage.estimators import KernelPCA as KernelPCA
    from preimage.estimators import Monitor as Monitor
    from preimage.estimators import Standardised as Standardised
    from preimage.expansion import Expansion as Expansion
    from preimage.io.chunks import Chunks as Chunks
    from preimage.io.models import load as load
    from preimage.preimages import find_preimage as find_preimage
    from preimage.reduced import reduced_set as reduced_set

# The module of each public name, imported on first use so that `import preimage` is fast.
_HOMES = {
    "Chunks": "preimage.io.chunks",
    "Decoder": "preimage.estimators",
    "Denoiser": "preimage.estimators",
    "Expansion": "preimage.expansion",
    "Imputer": "preimage.estimators",
    "Invertible": "preimage.estimators",
    "InvertibleKernelPCA": "preimage.estimators",
    "KernelKMeans": "preimage.estimators",
    "KernelPCA": "preimage.estimators",
    "Monitor": "preimage.estimators",
    "Standardised": "preimage.estimators",
    "find_preimage": "preimage.preimages",
    "load": "preimage.io.models",
    "reduced_set": "preimage.reduced",
}
_ROOMS = (
    "compat",
    "datasets",
    "decoding",
    "decomposition",
    "denoising",
    "eigen",
    "estimators",
    "exceptions",
    "export",
    "features",
    "imputation",
    "invertible",
    "io",
    "kernels",
    "monitoring",
    "noise",
    "plot",
    "preimages",
    "progress",
    "reduced",
    "report",
    "selection",
    "statistics",
)

__all__ = [*_HOMES, "__version__"]  # not the rooms: a star import would hide the standard io


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _ROOMS:
        return import_module(f"preimage.{name}")
    raise AttributeError(f"module 'preimage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
