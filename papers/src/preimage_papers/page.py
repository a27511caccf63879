"""The page: a summary of all claims, then every table and figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from preimage.report import Block, Page, Section, Table, Text
from preimage_papers.claims import Verdict

if TYPE_CHECKING:
    from preimage_papers.runs import PartResult

HOW = """
Verdicts are computed from the measured figures and from tolerances that are stored with the published figures.
`holds`: in every case of the claim; `holds in part`: in at least half of them; `does not hold here`: in fewer. If a
figure varies with the draw, its tolerance comes from its spread over seeds; the column `why` names it. Cells that had
to be inferred from our copies of the papers carry an asterisk; figures that are missing in our copies are not shown as
published. Claims that do not hold are highlighted. Those marked `not in the paper` are ours: baselines that it omits.
"""


def page(results: Sequence[PartResult], quick: bool) -> Page:
    """The report of a run."""
    size = "The quick run: small sizes, so figures scatter more." if quick else "The full run."
    return Page("The papers, reproduced", f"{summary(results)} {size}", [_summary(results), *map(_section, results)])


def summary(results: Sequence[PartResult]) -> str:
    """How many claims hold, in a sentence."""
    counts = Counter(claim.verdict for one in results for claim in one.findings.claims)
    words = [f"{counts[verdict]} × {verdict}" for verdict in Verdict if counts[verdict]]
    return f"{sum(counts.values())} claims: {', '.join(words)}."


def _summary(results: Sequence[PartResult]) -> Section:
    blocks: list[Block] = [Text(HOW)]
    for name in dict.fromkeys(one.paper.name for one in results):
        parts = [one for one in results if one.paper.name == name]
        rows = [
            [claim.statement, claim.published, claim.measured, str(claim.verdict), claim.why]
            for one in parts
            for claim in one.findings.claims
        ]
        weak = [number for number, row in enumerate(rows) if row[3] != Verdict.HOLDS]
        header = ["claim", "published", "measured", "verdict", "why"]
        blocks.append(Table(header, rows, parts[0].paper.reference, highlight=weak))
    return Section("Every claim", blocks)


def _section(one: PartResult) -> Section:
    blocks: list[Block] = [*one.findings.tables, *one.findings.pictures]
    if any(claim.verdict is Verdict.ABSENT for claim in one.findings.claims):
        blocks.append(Text(one.findings.claims[0].why))
    blocks.append(Text(f"Measured in {one.seconds:.0f} s."))
    return Section(f"{one.paper.name}: {one.part.title}", blocks)
