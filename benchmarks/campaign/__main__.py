"""The library among hostile files, extreme numbers, crowds, signals and limits.

    python benchmarks/campaign                                             # the full numbers, many hours
    python benchmarks/campaign --only numerics --rounds 1 --cases 500      # a part

A part runs in rounds, each with its number as seed, so that a failure comes again with the same numbers. After every
round the cases so far are printed, failures by kind with their first cases, and the worst time and memory of a case.
"""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

from crowds import threads_and_forks, workers_killed
from files import data_files, data_folders, model_files
from interruption import calls_interrupted
from kills import commands_killed
from limits import disk_full, group_limits, memory_limits
from names import hostile_names
from numerics import numerics
from tally import Tally

# Every part, with the cases of a full run; those of data files and folders are for each format.
PARTS = {
    "models": (model_files, 50_000),
    "data": (data_files, 5_000),
    "folders": (data_folders, 5_000),
    "numerics": (numerics, 15_000),
    "names": (hostile_names, 200),
    "crowds": (threads_and_forks, 2_000),
    "kills": (commands_killed, 500),
    "interrupts": (calls_interrupted, 200),
    "disk": (disk_full, 50),
    "memory": (memory_limits, 50),
    "groups": (group_limits, 50),
    "workers": (workers_killed, 30),
}


ROUNDS = 20


def main() -> int:
    """Run the parts; the exit code is 1 where one has failures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"How many of a full run's {ROUNDS}.")
    parser.add_argument("--first", type=int, default=1, help="The round to begin with; record.py adds up the files.")
    parser.add_argument("--cases", type=int, help="Of a part in each round; by default those of a full run.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write the figures there, too.")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell switches off for jobs in the background
    found: dict[str, Tally] = {}
    for seed in range(given.first - 1, given.first - 1 + given.rounds):
        for name in given.only:
            run, full = PARTS[name]
            for tally in run(given.cases or -(-full // ROUNDS), seed):
                found.setdefault(tally.name, Tally(tally.name)).add(tally)
                print(f"round {seed + 1}: {found[tally.name]}", flush=True)
            if given.json:
                given.json.write_text(json.dumps([tally.figures() for tally in found.values()], indent=2))
    return 1 if any(tally.failures for tally in found.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
