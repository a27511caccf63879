"""``preimage inspect``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any

import click

from preimage.cli.common import Command, CommandResult, json_option
from preimage.io.atomic import printable

LONGEST = 1000  # characters of the first line


@click.command("inspect", cls=Command)
@click.argument("model")
@json_option
def command(model: str, as_json: bool) -> CommandResult:
    """Show what the file MODEL holds, from its header alone."""
    from preimage.io.models import describe

    found = describe(model)
    size, name = Path(model).stat().st_size, found.name.split(".")[-1]
    facts: dict[str, Any] = {"file": model, "bytes": size} | asdict(found)
    values = facts.pop("values")
    for key in ("parameters", "fitted"):  # values if JSON can hold them, else words
        facts[key] = {name: values.get(name, words) for name, words in facts[key].items()}
    lines = [f"{model}: {name}, {size:,} bytes, format {found.version}, preimage {found.library}"[:LONGEST]]
    for title, part in (("parameters", found.parameters), ("fitted", found.fitted or {"nothing": "not fitted yet"})):
        width = max(map(len, part), default=0)
        rows = (printable(f"  {name:<{width}}  {words}") for name, words in part.items())
        lines += ["", title, *(fill(row, 100, subsequent_indent=" " * (width + 4)) for row in rows)]
    return CommandResult(facts, "\n".join(lines))
