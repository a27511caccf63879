"""The main ratios to peers, one JSON line per version in benchmarks/history/ratios.jsonl, and a picture of them.

    python benchmarks/history.py [--rows 1000] [--draw]

A line holds the version, the commit, the date and the ratios (the peer's CPU time divided by ours, in one thread).
``--draw`` only draws the lines there are.
"""

import argparse
import datetime
import json
import subprocess
import warnings
from pathlib import Path

import small

import kernels
import preimage
from preimage.exceptions import PreimageWarning

FOLDER = Path(__file__).parent / "history"
LINES, PICTURE = FOLDER / "ratios.jsonl", FOLDER / "ratios.png"
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5)


def measure(n):
    """Ratios by name."""
    found = {}
    for size in (200, n):
        for k in (10, None):
            X, new = small.table(2 * size)[:size], small.table(2 * size)[size:]
            ratios = small.compare(X, new, k, 1)
            case = f"{size} rows, {k or 'all'} components"
            found |= {f"{task}, {case}": ratios[task] for task in ("fit", "transform")}
    X = small.table(n + 1000)
    for name in ("matern 3/2", "polynomial", "laplacian", "cosine"):
        fit, _, transform, _ = kernels.compare(name, X[:n], X[n:], 1, 3)
        found |= {f"fit, {n} rows, {name}": fit, f"transform, {n} rows, {name}": transform}
    return found


def commit():
    """The commit of this folder; empty outside a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parent).stdout.strip()


def draw(lines):
    """Ratios against versions, one line per measurement."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 5), sharey=True, layout="constrained")
    places = range(len(lines))
    for axes, task in zip(panels, ("fit", "transform"), strict=True):
        for name in dict.fromkeys(name for line in lines for name in line["ratios"] if name.startswith(f"{task}, ")):
            ratios = [line["ratios"].get(name, float("nan")) for line in lines]
            axes.semilogy(places, ratios, "o-", label=name.removeprefix(f"{task}, "))
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(places, [f"{line['version']}\n{line['commit']}" for line in lines])
        axes.set_yticks(TICKS, map(str, TICKS))
        axes.minorticks_off()
        axes.set_title(task)
    panels[0].legend(fontsize=8, frameon=False)
    panels[0].set_ylabel("times as fast as scikit-learn")
    figure.savefig(PICTURE, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    FOLDER.mkdir(exist_ok=True)
    if not options.draw:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        line = {"version": preimage.__version__, "commit": commit(), "date": today, "ratios": measure(options.rows)}
        line["ratios"] = {name: round(ratio, 2) for name, ratio in line["ratios"].items()}
        with LINES.open("a") as file:
            file.write(json.dumps(line) + "\n")
    draw([json.loads(line) for line in LINES.read_text().splitlines()])
    print(f"{LINES} and {PICTURE}")


if __name__ == "__main__":
    main()
