"""``preimage inspect``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from textwrap import fill

import click

from preimage.cli.common import Command


@click.command(cls=Command)
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Tell it as JSON.")
def inspect(model: str, as_json: bool) -> None:
    """What is in the file MODEL, from its header alone."""
    import json

    from preimage.persistence import describe

    found = describe(model)
    size = Path(model).stat().st_size
    if as_json:
        click.echo(json.dumps({"file": model, "bytes": size} | asdict(found), indent=1, ensure_ascii=False))
        return
    click.echo(
        f"{model}: {found.name.split('.')[-1]}, {size:,} bytes, format {found.version}, preimage {found.library}"
    )
    for title, part in (("parameters", found.parameters), ("fitted", found.fitted or {"nothing": "not fitted yet"})):
        click.echo(f"\n{title}")
        width = max(map(len, part), default=0)
        for name, words in part.items():
            click.echo(fill(f"  {name:<{width}}  {words}", 100, subsequent_indent=" " * (width + 4)))
