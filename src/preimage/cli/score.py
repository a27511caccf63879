"""``preimage score``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from preimage.cli.common import Command, CommandResult, applies_model

if TYPE_CHECKING:
    from preimage.io import Reading


@click.command("score", cls=Command)
@applies_model
def command(
    model: str, input: str, output: str, reading: Reading, scheduler: str | None, force: bool, as_json: bool
) -> CommandResult:
    """Score every row of INPUT by minus its squared distance to the subspace of the model in the file MODEL.

    The lower the score, the less a row resembles those that the model was fitted on.
    """
    from preimage.cli.apply import opened_for, write_answers

    with opened_for("score_samples", model, input, reading, scheduler) as (fitted, data):
        form = data.form.with_columns("score")
        return write_answers(data, lambda rows: fitted.score_samples(rows)[:, None], output, form, force=force)
