"""Denoising by stages of kernel features with a learned way back, for rows, images and signals."""

from preimage.denoising.learning import Learner, Units
from preimage.denoising.pieces import cut, small_patches
from preimage.denoising.saturation import Limits
from preimage.denoising.stack import Level, Plan, Stack
from preimage.denoising.stage import Recipe, Stage

__all__ = ["Learner", "Level", "Limits", "Plan", "Recipe", "Stack", "Stage", "Units", "cut", "small_patches"]
