"""``preimage impute``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from preimage.cli.common import Command, CommandResult, applies_model

if TYPE_CHECKING:
    from preimage.io import Reading


@click.command("impute", cls=Command)
@applies_model
def command(
    model: str, input: str, output: str, reading: Reading, scheduler: str | None, force: bool, as_json: bool
) -> CommandResult:
    """The rows of INPUT with their gaps filled by the model in the file MODEL; all other numbers stay as they are."""
    from preimage.cli.apply import opened_for, write_answers

    with opened_for("impute", model, input, reading, scheduler) as (fitted, data):
        return write_answers(data, fitted.impute, output, data.form, force=force, gaps=True)
