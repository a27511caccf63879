"""The papers, reproduced in full: the tables of docs/results/papers.md.

    python benchmarks/papers.py [--out build/papers] [--quick] [--record]

It does what ``preimage reproduce all`` does: pieces that the present code has finished in the folder are not measured
again.
"""

import argparse
from pathlib import Path

from figures import record

from preimage_papers import PAPERS
from preimage_papers.page import summary
from preimage_papers.runs import reproduce

TABLES = {  # of these parts the page shows the first table, too
    "scholkopf1998": ["table1", "best"],
    "mika1998": ["table1", "figure1", "figure4"],
    "kwok2003": ["tables"],
    "gedon2023": ["s-curve", "ecg"],
}


def claims(results):
    """Every claim of a paper, published, measured, and its verdict."""
    rows = [one for result in results for one in result.findings.claims]
    return [[claim.statement, claim.published, claim.measured, str(claim.verdict)] for claim in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/papers"))
    parser.add_argument("--quick", action="store_true", help="small sizes, which are not recorded")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    results = reproduce(PAPERS, options.out, quick=options.quick)
    print(summary(results))
    if not options.record or options.quick:
        return
    for paper in PAPERS:
        own = [result for result in results if result.paper.name == paper]
        record(__file__, paper, ["claim", "published", "measured", "verdict"], claims(own))
        for result in own:
            if result.part.name in TABLES.get(paper, []):
                table = result.findings.tables[0]
                record(__file__, f"{paper} {result.part.name}", table.header, table.cells)


if __name__ == "__main__":
    main()
