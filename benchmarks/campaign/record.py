"""Keep the figures of campaigns for the docs: python benchmarks/campaign/record.py FILE.json …, then make figures."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from figures import record, tables
from tally import Tally

COLUMNS = ["part", "cases", "refused", "failures", "worst time", "worst memory"]


def main() -> None:
    """Record one table: files of the same part are added up, and parts without a file stay as they were recorded."""
    found: dict[str, Tally] = {}
    for name in sys.argv[1:]:
        for figures in json.loads(Path(name).read_text()):
            tally = Tally(**figures | {"failures": Counter(figures["failures"])})
            found.setdefault(tally.name, Tally(tally.name)).add(tally)
    rows = {row[0]: row for row in tables("campaign").get("parts", {"rows": []})["rows"]}
    rows |= {name: _row(tally.figures()) for name, tally in found.items()}
    record("campaign", "parts", COLUMNS, rows.values())


def _row(figures: dict) -> list[str]:
    failed = ", ".join(f"{kind} {number}" for kind, number in figures["failures"].items()) or "none"
    worst = [f"{figures['seconds']:.2f} s", f"{figures['megabytes']} MB"] if figures["seconds"] else ["", ""]
    return [figures["name"], f"{figures['cases']:,}", f"{figures['refused']:,}", failed, *worst]


if __name__ == "__main__":
    main()
