"""The figures of one or more campaigns as a table: python benchmarks/campaign/table.py FILE.json …"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HEADER = ["part", "cases", "refused", "failures", "worst time", "worst memory"]


def main() -> None:
    """Print the table."""
    rows = [row for name in sys.argv[1:] for row in json.loads(Path(name).read_text())]
    print(_line(HEADER), _line(["---"] * len(HEADER)), *map(_row, rows), sep="\n")


def _row(figures: dict) -> str:
    failed = ", ".join(f"{kind} {number}" for kind, number in figures["failures"].items()) or "none"
    worst = f"{figures['seconds']:.2f} s", f"{figures['megabytes']} MB"
    return _line([figures["name"], f"{figures['cases']:,}", f"{figures['refused']:,}", failed, *worst])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
