"""``preimage reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from preimage.cli.common import Command, CommandResult, folder_option, force_option, seed_option
from preimage_papers import PAPERS


@click.command(cls=Command)
@click.argument("paper", type=click.Choice([*PAPERS, "all"]))
@click.option("--quick", is_flag=True, help="Small sizes: takes minutes, and figures scatter more.")
@folder_option("papers", "report.html, results.json and the pictures")
@seed_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def reproduce(paper: str, quick: bool, out: Path, seed: int, force: bool, as_json: bool) -> CommandResult:
    """Repeat a paper's experiments: every table and figure, published and measured, with a verdict on every claim.

    Finished parts are kept in the folder, so an interrupted run continues where it stopped. USPS digits and heartbeats
    are read from the folder that PREIMAGE_DATA names; a part without its data says how to get them, and the others run.
    """
    from preimage_papers import runs
    from preimage_papers.page import summary

    results = runs.reproduce(PAPERS if paper == "all" else [paper], out, seed=seed, quick=quick, overwrite=force)
    report = out / "report.html"
    lines = [
        f"{claim.verdict:18}  {one.paper.name:13}  {claim.statement}"
        for one in results
        for claim in one.findings.claims
    ]
    facts = runs.as_json(results, seed, quick) | {"report": str(report)}
    return CommandResult(facts, "\n".join([*lines, "", summary(results), str(report)]))
