"""What a paper claims, what was measured, and what follows."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from preimage.report import Picture, Table

__all__ = ["Claim", "Findings", "Paper", "Part", "Plan", "Verdict", "expected", "grade", "verdict"]


class Verdict(StrEnum):
    """The outcome of a claim."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    FAILS = "does not hold here"
    ABSENT = "not run"


def grade(cases: Iterable[bool]) -> Verdict:
    """The verdict: the claim holds if all cases do, in part if at least half do, else it does not hold here.

    >>> grade([True, True]), grade([True, False]), grade([True, False, False])
    (<Verdict.HOLDS: 'holds'>, <Verdict.PARTLY: 'holds in part'>, <Verdict.FAILS: 'does not hold here'>)
    """
    cases = list(cases)
    if not cases:
        raise ValueError("a claim without a case has no verdict.")
    share = sum(map(bool, cases)) / len(cases)
    return verdict(share == 1, share >= 0.5)


def verdict(holds: bool, partly: bool) -> Verdict:
    """The verdict on a claim that holds, or at least in part, or not."""
    return Verdict.HOLDS if holds else Verdict.PARTLY if partly else Verdict.FAILS


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Parameters
    ----------
    statement : str
        What the paper says.
    published, measured : str
        Its figures and ours; a dash if our copy of the paper has no figure.
    verdict : Verdict
    why : str
        One line: the tolerance, and where it comes from.
    """

    statement: str
    published: str
    measured: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Findings:
    """The conclusions from the figures of a part: claims with their verdicts, tables and pictures."""

    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class Plan:
    """How much to measure: the pieces, each stored by itself, and the sizes passed to ``measure``."""

    pieces: Sequence[str] = ("all",)
    sizes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One table or figure.

    Parameters
    ----------
    name, title : str
    measure : callable
        ``measure(piece, seed, **sizes)`` returns all that is needed later: numbers, lists and arrays by name.
    conclude : callable
        ``conclude(found, published)`` takes the measurements by piece, and the part's entry in ``expected.toml``.
    full, quick : Plan
        How much to measure.
    """

    name: str
    title: str
    measure: Callable[..., dict[str, Any]]
    conclude: Callable[[dict[str, Any], dict[str, Any]], Findings]
    full: Plan
    quick: Plan

    def plan(self, quick: bool) -> Plan:
        """The plan of a run."""
        return self.quick if quick else self.full


@dataclass(frozen=True)
class Paper:
    """A paper: its short name, its reference, its parts."""

    name: str
    reference: str
    parts: Sequence[Part]


@cache
def expected(paper: str, part: str) -> dict[str, Any]:
    """Published figures and tolerances of a part; empty if it has none."""
    published = tomllib.loads((files("preimage_papers") / "expected.toml").read_text(encoding="utf-8"))
    return published.get(paper, {}).get(part, {})
