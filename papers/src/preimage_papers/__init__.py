"""The papers behind the library, reproduced: published and measured figures, and a verdict on every claim.

There is one module per paper; ``expected.toml`` holds published figures and tolerances. A module follows the paper's
experiments in order: for each, a function that measures and one that draws conclusions from the figures.
``preimage reproduce`` runs them.
"""

from importlib import import_module

from preimage_papers.claims import Claim, Findings, Paper, Part, Plan, Verdict, grade

__all__ = ["PAPERS", "Claim", "Findings", "Paper", "Part", "Plan", "Verdict", "grade", "load"]

PAPERS = ("scholkopf1998", "mika1998", "kwok2003", "gedon2023", "chapter")


def load(name: str) -> Paper:
    """The paper with this name."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r}; choose one of {', '.join(PAPERS)}.")
    return import_module(f"preimage_papers.{name}").PAPER
