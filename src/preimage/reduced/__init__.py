"""Reduced sets: expansions over many points, approximated over few (Burges 1996; Schölkopf et al. 1998, §4.3).

Vectors Ψₖ = Σᵢ wₖᵢ φ(xᵢ) that share their points are replaced by Ψ̂ₖ = Σⱼ bₖⱼ φ(zⱼ) with m shared points zⱼ, such that
Σₖ ‖Ψₖ − Ψ̂ₖ‖² is small (Schölkopf et al. 1998, eq. 4.2). Inner products with the vectors then cost m kernel values.
"""

from __future__ import annotations

from preimage.reduced.base import ReducedSet, ReductionMethod
from preimage.reduced.compression import compress as compress
from preimage.reduced.greedy import Greedy
from preimage.reduced.selected import Selected
from preimage.reduced.sets import as_reduction_method as as_reduction_method
from preimage.reduced.sets import choose_reduction_method as choose_reduction_method
from preimage.reduced.sets import reduced_set

__all__ = [
    "Greedy",
    "ReductionMethod",
    "ReducedSet",
    "Selected",
    "reduced_set",
]
