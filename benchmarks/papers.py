"""The papers, reproduced in full: the tables of docs/results/papers.md and claims.md.

    python benchmarks/papers.py [--out build/papers] [--quick] [--record]

It does what ``preimage reproduce all`` does: pieces that the present code has finished in the folder are not measured
again.
"""

import argparse
from collections import Counter
from pathlib import Path

from figures import record

from preimage_papers import PAPERS, Verdict
from preimage_papers.page import summary
from preimage_papers.runs import reproduce

TABLES = {  # of these parts the page shows the first table, too
    "scholkopf1998": ["table1", "best"],
    "mika1998": ["table1", "figure1", "figure4"],
    "kwok2003": ["tables"],
    "gedon2023": ["s-curve", "ecg"],
}


def claims(results):
    """The claims of these parts."""
    return [claim for result in results for claim in result.findings.claims]


def keep(results):
    """Record how many claims hold, every claim, and the tables that the page shows."""
    counts = Counter(claim.verdict for claim in claims(results))
    rows = [["all", str(counts.total())], *([str(verdict), str(counts[verdict])] for verdict in Verdict)]
    record(__file__, "verdicts", ["verdict", "claims"], rows)
    for paper in PAPERS:
        own = [result for result in results if result.paper.name == paper]
        rows = [[one.statement, str(one.verdict), one.published, one.measured] for one in claims(own)]
        record(__file__, paper, ["claim", "verdict", "published", "measured"], rows)
        for result in own:
            if result.part.name in TABLES.get(paper, []):
                table = result.findings.tables[0]
                record(__file__, f"{paper} {result.part.name}", table.header, table.cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/papers"))
    parser.add_argument("--quick", action="store_true", help="small sizes, which are not recorded")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    options = parser.parse_args()
    results = reproduce(PAPERS, options.out, quick=options.quick)
    print(summary(results))
    if options.record and not options.quick:
        keep(results)


if __name__ == "__main__":
    main()
