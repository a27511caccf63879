"""Choice of settings without clean data: number of components, noise level, risk, and the search.

>>> import numpy as np
>>> from preimage.datasets import half_circle
>>> from preimage.selection import select
>>> rng = np.random.default_rng(0)
>>> noisy = np.pad(half_circle(300, random_state=0).X, [(0, 0), (0, 8)]) + 0.1 * rng.standard_normal((300, 10))
>>> result = select(noisy, sigma=0.1, grid={"n_components": [1, 2, 4, 8, 16]}, random_state=0)
>>> result.best.denoise(noisy).shape
(300, 10)
"""

from preimage.selection.scorers import imputation_scorer, reconstruction_scorer, sure_scorer
from preimage.selection.search import Candidate, Selection, select
from preimage.statistics.noise_level import NoiseLevel, from_differences, from_frequencies, from_spectrum, noise_level
from preimage.statistics.parallel_analysis import ParallelAnalysis, parallel_analysis
from preimage.statistics.risk import Masked, RiskEstimate, Sure, masked_error, sure

__all__ = [
    "select",
    "Selection",
    "Candidate",
    "parallel_analysis",
    "ParallelAnalysis",
    "noise_level",
    "from_frequencies",
    "from_spectrum",
    "from_differences",
    "NoiseLevel",
    "sure",
    "masked_error",
    "Sure",
    "Masked",
    "RiskEstimate",
    "reconstruction_scorer",
    "sure_scorer",
    "imputation_scorer",
]
