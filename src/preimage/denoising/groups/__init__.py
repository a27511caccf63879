"""Groups of similar patches of one image, answered by ridge regression."""

from preimage.denoising.groups.matching import Groups, Search, find
from preimage.denoising.groups.steps import Steps, Variance

__all__ = ["Groups", "Search", "Steps", "Variance", "find"]
