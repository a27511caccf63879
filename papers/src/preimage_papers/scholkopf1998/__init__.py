"""Schölkopf, Smola and Müller (1998): Nonlinear component analysis as a kernel eigenvalue problem."""

from preimage_papers.claims import Paper, Part, Plan
from preimage_papers.scholkopf1998 import approaches, best, recognition, toys

_SIZES = {"n_points": 2000, "n_final": None, "sizes": [1024, 2048], "n_landmarks": 3000}
_QUICK_SIZES = {"n_points": 1000, "n_final": 2000, "sizes": [256, 512], "n_landmarks": 500}

PAPER = Paper(
    "scholkopf1998",
    "Schölkopf, Smola, Müller: Nonlinear component analysis as a kernel eigenvalue problem. Neural Computation, 1998.",
    (
        Part(
            "figure3",
            "Fig. 3, a parabola under polynomial kernels",
            toys.measure_parabola,
            toys.conclude_parabola,
            full=Plan(sizes={"draws": 500}),
            quick=Plan(sizes={"draws": 100}),
        ),
        Part(
            "figure4",
            "Fig. 4, three clusters under a Gaussian",
            toys.measure_clusters,
            toys.conclude_clusters,
            full=Plan(("gaussian",), {"draws": 200}),
            quick=Plan(("gaussian",), {"draws": 40}),
        ),
        Part(
            "figure5",
            "Fig. 5, three clusters under a sigmoid kernel",
            toys.measure_clusters,
            toys.conclude_sigmoid,
            full=Plan(("sigmoid",), {"draws": 200}),
            quick=Plan(("sigmoid",), {"draws": 40}),
        ),
        Part(
            "table1",
            "Table 1, recognition of digits",
            recognition.measure,
            recognition.conclude,
            full=Plan(recognition.PIECES, {"n_points": 3000, "most": 2048}),
            quick=Plan(recognition.QUICK_PIECES, {"n_points": 2000, "most": 512}),
        ),
        Part(
            "approaches",
            "§6.3, five approaches to nonlinear components",
            approaches.measure,
            approaches.conclude,
            full=Plan(sizes={"draws": 20}),
            quick=Plan(sizes={"draws": 3}),
        ),
        Part(
            "best",
            "the best error of this library on the digits",
            best.measure,
            best.conclude,
            full=Plan(sizes={**_SIZES, "kernels": list(best.KERNELS)}),
            quick=Plan(sizes={**_QUICK_SIZES, "kernels": ["polynomial 5", "gaussian 0.5"]}),
        ),
    ),
)
