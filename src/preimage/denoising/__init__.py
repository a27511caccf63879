"""Denoising by stages of kernel features with a learned inverse map, and, of one picture alone, by similar patches."""

from preimage.denoising.chroma import CoarseColours
from preimage.denoising.impulses import filled, lost
from preimage.denoising.learning import Learner, Units
from preimage.denoising.levels import measured_noise
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.pictures import EFFORTS, NoisyPicture, in_tiles
from preimage.denoising.pieces import cut, small_patches
from preimage.denoising.saturation import Limits
from preimage.denoising.similar_rows import SimilarRows, censored_level
from preimage.denoising.stack import Level, Plan, Stack
from preimage.denoising.stage import Recipe, Stage

__all__ = [
    "EFFORTS",
    "CoarseColours",
    "NoiseCurve",
    "Learner",
    "Level",
    "Limits",
    "NoisyPicture",
    "Plan",
    "Recipe",
    "SimilarRows",
    "Stack",
    "Stage",
    "Units",
    "censored_level",
    "cut",
    "filled",
    "in_tiles",
    "lost",
    "measured_noise",
    "small_patches",
]
