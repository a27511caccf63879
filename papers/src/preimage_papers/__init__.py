"""The papers behind the library, reproduced: published and measured figures, and a verdict on every claim.

One module per paper; published figures and tolerances are in ``expected.toml``. A module follows the experiments of
the paper from top to bottom: a protocol that measures, and what follows from the figures.
``preimage reproduce`` runs them.
"""

from importlib import import_module

from preimage_papers.claims import Claim, Findings, Paper, Part, Plan, Verdict, grade

__all__ = ["PAPERS", "Claim", "Findings", "Paper", "Part", "Plan", "Verdict", "grade", "load"]

PAPERS = ("scholkopf1998", "mika1998", "kwok2003", "gedon2023", "chapter")


def load(name: str) -> Paper:
    """The paper of that name, with its parts."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r}; there are {', '.join(PAPERS)}.")
    return import_module(f"preimage_papers.{name}").PAPER
