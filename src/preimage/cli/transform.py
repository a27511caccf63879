"""``preimage transform``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from preimage.cli.common import Command, CommandResult, applies_model

if TYPE_CHECKING:
    from preimage.io import Reading


@click.command("transform", cls=Command)
@applies_model
def command(
    model: str, input: str, output: str, reading: Reading, scheduler: str | None, force: bool, as_json: bool
) -> CommandResult:
    """Compute the codes of the rows of INPUT by the model in the file MODEL."""
    from preimage.cli.apply import opened_for, write_answers

    with opened_for("transform", model, input, reading, scheduler) as (fitted, data):
        form = data.form.with_columns(*map(str, fitted.get_feature_names_out()))
        return write_answers(data, fitted.transform, output, form, force=force)
