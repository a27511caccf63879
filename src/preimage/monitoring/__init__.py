"""Process monitoring: T² and SPE of a kernel PCA, limits from rows that it has not seen, and the faulty sensor."""

from preimage.monitoring.ewma_cusum import CUSUM, EWMA, Memory
from preimage.monitoring.limits import Cross, HeldOut, LastRows, LimitRule, Reference, Training
from preimage.monitoring.t2_spe import Statistics

__all__ = [
    "CUSUM",
    "EWMA",
    "Cross",
    "HeldOut",
    "LastRows",
    "LimitRule",
    "Memory",
    "Reference",
    "Statistics",
    "Training",
]
