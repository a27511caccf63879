"""Mika, Schölkopf, Smola, Müller, Scholz and Rätsch (1998): Kernel PCA and de-noising in feature spaces."""

from preimage_papers.claims import Paper, Part, Plan
from preimage_papers.mika1998 import curves, digits, gaussians

_FULL = {"n_train": 300, "n_test": 50, "n_components": 2048}
_QUICK = {"n_train": 150, "n_test": 20, "n_components": 1024}

PAPER = Paper(
    "mika1998",
    "Mika, Schölkopf, Smola, Müller, Scholz, Rätsch: Kernel PCA and de-noising in feature spaces. NIPS 11, 1998.",
    (
        Part(
            "table1",
            "Table 1, eleven Gaussians",
            gaussians.measure,
            gaussians.conclude,
            full=Plan(gaussians.PIECES, {"draws": 25}),
            quick=Plan(gaussians.PIECES, {"draws": 4}),
        ),
        Part(
            "figure1",
            "Fig. 1, a half circle and a square",
            curves.measure,
            curves.conclude,
            full=Plan(tuple(curves.CURVES), {"draws": 10}),
            quick=Plan(tuple(curves.CURVES), {"draws": 2}),
        ),
        Part(
            "figure2",
            "Fig. 2, eigenvectors",
            digits.measure_eigenvectors,
            digits.conclude_eigenvectors,
            full=Plan(sizes=_FULL),
            quick=Plan(sizes=_QUICK),
        ),
        Part(
            "figure3",
            "Fig. 3, reconstruction",
            digits.measure_reconstruction,
            digits.conclude_reconstruction,
            full=Plan(sizes=_FULL),
            quick=Plan(sizes=_QUICK),
        ),
        Part(
            "figure4",
            "Fig. 4 and the ratios, denoising digits",
            digits.measure_denoising,
            digits.conclude_denoising,
            full=Plan(digits.PIECES, _FULL),
            quick=Plan(digits.PIECES, _QUICK),
        ),
    ),
)
