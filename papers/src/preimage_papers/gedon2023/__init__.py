"""Gedon, Ribeiro, Wahlström and Schön (2023): Invertible kernel PCA with random Fourier features."""

from preimage_papers.claims import Paper, Part, Plan
from preimage_papers.gedon2023 import heartbeats, letter_s, noisy_digits

PAPER = Paper(
    "gedon2023",
    "Gedon, Ribeiro, Wahlström, Schön: Invertible kernel PCA with random Fourier features. IEEE Signal Processing "
    "Letters, 2023.",
    (
        Part(
            "s-curve",
            "Figs. 2, A-1 and A-2, the S-curve",
            letter_s.measure,
            letter_s.conclude,
            full=Plan(letter_s.NOISES, {"runs": 20, "n_points": 2000}),
            quick=Plan(letter_s.NOISES, {"runs": 2, "n_points": 600}),
        ),
        Part(
            "usps",
            "Figs. 3, 4 and A-3 to A-7, USPS digits",
            noisy_digits.measure,
            noisy_digits.conclude,
            full=Plan(noisy_digits.PIECES, {"runs": 20, "n_train": 1000, "n_test": 400, "n_features": 30000}),
            quick=Plan(noisy_digits.PIECES, {"runs": 1, "n_train": 500, "n_test": 200, "n_features": 3000}),
        ),
        Part(
            "ecg",
            "Figs. 5 and A-8, Table A-1, heartbeats",
            heartbeats.measure,
            heartbeats.conclude,
            full=Plan(("a", "b", "c"), {"splits": 500}),
            quick=Plan(("a", "b", "c"), {"splits": 30}),
        ),
    ),
)
