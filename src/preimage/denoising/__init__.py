"""Denoising by stages of kernel features with a learned inverse map, and of single images by similar patches."""

# ruff: noqa: F401 (parts of Denoiser for other modules; the public names are those of __all__)

from preimage.denoising.alone import denoised_alone
from preimage.denoising.interference import without_baseline, without_mains
from preimage.denoising.learning import BUDGETS, Budget
from preimage.denoising.noise_law import Asked
from preimage.denoising.pictures import EFFORTS
from preimage.denoising.pieces import small_patches
from preimage.denoising.recording import Recording
from preimage.denoising.rows import learned_images, learned_table
from preimage.denoising.signals import denoised_signal
from preimage.denoising.stack import Stack
from preimage.denoising.tables import DenoisedTable

__all__ = ["without_baseline", "without_mains"]
