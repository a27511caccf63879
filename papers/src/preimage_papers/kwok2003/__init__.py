"""Kwok and Tsang (2003): The pre-image problem in kernel methods.

The numbers of its Tables 1 to 4 are lost in our copy, so only its claims are compared.
"""

from preimage_papers.claims import Paper, Part, Plan
from preimage_papers.kwok2003 import clusters, denoising

PAPER = Paper(
    "kwok2003",
    "Kwok, Tsang: The pre-image problem in kernel methods. ICML, 2003.",
    (
        Part(
            "tables",
            "Tables 1 to 4 and Figs. 3 to 5, denoising digits",
            denoising.measure,
            denoising.conclude,
            full=Plan(denoising.pieces(denoising.NOISES), {"n_test": 100}),
            quick=Plan(denoising.pieces(("G 0.25", "G 0.5", "SP 0.3")), {"n_test": 20}),
        ),
        Part(
            "figure6",
            "Fig. 6, centroids of kernel k-means",
            clusters.measure,
            clusters.conclude,
            full=Plan(sizes={"n_digits": 3000}),
            quick=Plan(sizes={"n_digits": 1000}),
        ),
    ),
)
