"""Process monitoring: T² and SPE of a kernel PCA, limits from rows it has not seen, and the faulty sensor."""

from preimage.monitoring.ewma_cusum import CUSUM, EWMA
from preimage.monitoring.ewma_cusum import Memory as Memory
from preimage.monitoring.limits import Cross, HeldOut, LastRows, Training
from preimage.monitoring.limits import LimitRule as LimitRule
from preimage.monitoring.limits import Reference as Reference
from preimage.monitoring.t2_spe import Statistics

__all__ = ["CUSUM", "EWMA", "Cross", "HeldOut", "LastRows", "Statistics", "Training"]
