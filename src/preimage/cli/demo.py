"""``preimage demo``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from preimage.cli.common import Command, folder_option, force_option, seed_option

if TYPE_CHECKING:
    from preimage.demo.contest import Contest


@click.command("demo", cls=Command)
@folder_option("demo", "report.html")
@seed_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(out: Path, seed: int, force: bool, as_json: bool) -> None:
    """Denoise handwritten digits by every method, beside linear PCA and scikit-learn, and write a report."""
    from preimage.demo import run

    contest, page = run(out, seed, overwrite=force)
    if as_json:
        groups = {"taught": contest.taught, "alone": contest.alone}
        figures = {name: [entry.figures() for entry in entries] for name, entries in groups.items()}
        click.echo(json.dumps(figures | {"report": str(page)}, indent=1))
        return
    _show(contest)
    click.echo(page)


def _show(contest: Contest) -> None:
    from rich.console import Console
    from rich.table import Table

    from preimage.demo.contest import best

    groups = {
        f"with {len(contest.digits.train)} clean examples": contest.taught,
        f"with nothing clean: {len(contest.digits.pile)} noisy digits": contest.alone,
    }
    table = Table(title=f"{len(contest.digits.clean)} noisy digits of 8×8 pixels", title_justify="left")
    table.add_column("method")
    table.add_column("SNR, dB", justify="right")
    table.add_column("seconds", justify="right")
    for title, entries in groups.items():
        table.add_row(title, style="italic")
        for entry in entries:
            look = "bold green" if entry is best(entries) else ""
            seconds = f"{entry.seconds:.2f}" if entry.seconds else ""
            table.add_row(f"  {entry.method}", f"{entry.snr:.2f}", seconds, style=look)
        table.add_section()
    Console().print(table)
