"""Groups of similar patches of one image, denoised by ridge regression."""

from preimage.denoising.groups.matching import PatchGroups, Search, find_groups
from preimage.denoising.groups.steps import Steps, Variance

__all__ = ["PatchGroups", "Search", "Steps", "Variance", "find_groups"]
