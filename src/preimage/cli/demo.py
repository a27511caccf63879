"""``preimage demo``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from preimage.cli.common import Command, folder_option, force_option, seed_option

if TYPE_CHECKING:
    from preimage.demo.digits import Demonstration, Entry


@click.command("demo", cls=Command)
@folder_option("demo", "report.html")
@seed_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(out: Path, seed: int, force: bool, as_json: bool) -> None:
    """Denoise handwritten digits by kernel PCA, linear PCA and scikit-learn, and write a report."""
    from preimage.demo import run

    shown, page = run(out, seed, overwrite=force)
    if as_json:
        groups = {"clean_examples": shown.clean_examples, "noisy_only": shown.noisy_only}
        figures = {name: [_figures(entry) for entry in entries] for name, entries in groups.items()}
        click.echo(json.dumps(figures | {"report": str(page)}, indent=1, ensure_ascii=False))
        return
    _show(shown)
    click.echo(page)


def _figures(entry: Entry) -> dict[str, Any]:
    """The entry without its images."""
    return {name: value for name, value in vars(entry).items() if name != "images"}


def _show(shown: Demonstration) -> None:
    from rich.console import Console
    from rich.table import Table

    from preimage.demo.digits import best

    groups = {
        f"with {len(shown.digits.train)} clean examples": shown.clean_examples,
        f"with {len(shown.digits.noisy_only)} noisy digits only": shown.noisy_only,
    }
    table = Table(title=f"{len(shown.digits.clean)} noisy digits of 8×8 pixels", title_justify="left")
    table.add_column("method")
    table.add_column("SNR, dB", justify="right")
    table.add_column("seconds", justify="right")
    for title, entries in groups.items():
        table.add_row(title, style="italic")
        for entry in entries:
            look = "bold green" if entry is best(entries) else ""
            table.add_row(f"  {entry.method}", f"{entry.snr:.2f}", f"{entry.seconds:.2f}", style=look)
        table.add_section()
    Console().print(table)
