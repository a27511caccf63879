"""``preimage reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from preimage.cli.common import Command, Told, folder_option, force_option, seed_option
from preimage_papers import PAPERS


@click.command(cls=Command)
@click.argument("paper", type=click.Choice([*PAPERS, "all"]))
@click.option("--quick", is_flag=True, help="Small sizes: minutes, and figures that scatter more.")
@folder_option("papers", "report.html, results.json and the pictures")
@seed_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Tell the result as JSON.")
def reproduce(paper: str, quick: bool, out: Path, seed: int, force: bool, as_json: bool) -> Told:
    """Run a paper's experiments again: every table and figure, published beside measured, a verdict on every claim.

    What is finished is kept in the folder: a run that was stopped goes on where it was. USPS digits and heartbeats are
    looked for in the folder that PREIMAGE_DATA names; a part without its data says how to get them, and the rest runs.
    """
    from preimage_papers import runs
    from preimage_papers.page import summary

    told = runs.reproduce(PAPERS if paper == "all" else [paper], out, seed=seed, quick=quick, overwrite=force)
    report = out / "report.html"
    lines = [
        f"{claim.verdict:18}  {one.paper.name:13}  {claim.statement}" for one in told for claim in one.findings.claims
    ]
    facts = runs.as_json(told, seed, quick) | {"report": str(report)}
    return Told(facts, "\n".join([*lines, "", summary(told), str(report)]))
