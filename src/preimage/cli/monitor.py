"""``preimage monitor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from preimage.cli.common import Command, CommandResult, safe_csv_option, seed_option, shared_options, table_options
from preimage.cli.options import COMPONENTS, KERNEL, MEMORY, n_components

if TYPE_CHECKING:
    from preimage.io import Reading

LIMITS = ("cross", "kde", "split", "training")


@click.command("monitor", cls=Command)
@click.argument("normal")
@click.argument("new", required=False)
@click.option(
    "-o", "--output", metavar="OUTPUT", help="List the alarms in this CSV file instead of on standard output."
)
@click.option("--save", metavar="MODEL", help="Save the fitted monitor to this model file, .npz.")
@click.option("--report", metavar="PAGE", help="Write an HTML page with charts, alarms and sensors.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Rate of false alarms.")
@click.option("--kernel", type=KERNEL, help="linear or gaussian; by default the one that detects more planted faults.")
@click.option(
    "--components", type=COMPONENTS, help="Components to keep; by default the number that detects most planted faults."
)
@click.option(
    "--limits",
    type=click.Choice(LIMITS),
    default="cross",
    show_default=True,
    help="Which rows set the limits: held-out rows (cross, split, kde), or the training rows.",
)
@click.option(
    "--lags", type=click.IntRange(0), default=0, show_default=True, help="Number of earlier rows put beside each row."
)
@click.option("--memory", type=MEMORY, help="Sum up past rows, to detect small, lasting faults.")
@table_options
@safe_csv_option
@seed_option
@shared_options
def command(
    normal: str,
    new: str | None,
    output: str | None,
    save: str | None,
    report: str | None,
    reading: Reading,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> CommandResult | None:
    """List the alarms in the rows of NEW, each with the sensor that explains it.

    NORMAL is a table of normal operation, rows in time order, or a model file written by --save. NEW is a table of
    later rows, or - for lines of text on standard input, handled one by one as they arrive:

        tail -f log.csv | preimage monitor model.npz -

    Columns that are not numbers, such as times, are carried along. With -, --json lists one JSON object per line.
    """
    from preimage.cli.monitor_run import trained, watch_file, watch_lines

    _check(new, output, save, report, as_json)
    model = trained(normal, save, lambda: _template(**settings), reading, settings=_typed(), force=force)
    if new is None:
        return CommandResult(model.facts(), f"wrote {save}: {model.words()}")
    if new == "-":
        watch_lines(model, reading, output, force=force, as_json=as_json)
        return None
    result = watch_file(model, new, reading, output, report, force=force)
    return None if output is None else result


def _check(new: str | None, output: str | None, save: str | None, report: str | None, as_json: bool) -> None:
    if new is None and save is None:
        raise click.UsageError("give the rows to monitor, NEW, or a model file to write, --save.")
    if new == "-" and report:
        raise click.UsageError("--report needs a complete run: name a file instead of -.")
    if new not in (None, "-") and output is None and as_json:
        raise click.UsageError("--json and the alarms would both go to standard output: name a file with -o.")


def _typed() -> list[str]:
    """The settings of a fit that were given on the command line."""
    context = click.get_current_context()
    names = ("alpha", "kernel", "components", "limits", "lags", "memory", "seed", "save", "columns", "keep")
    typed = click.core.ParameterSource.COMMANDLINE
    return [f"--{name}" for name in names if context.get_parameter_source(name) is typed]


def _template(*, alpha: float, kernel: Any, components: Any, limits: str, lags: int, memory: Any, seed: int) -> Any:
    """The monitor to fit."""
    from preimage import KernelPCA, Monitor

    model = kernel if components is None else KernelPCA(n_components(components), kernel=kernel or "linear")
    return Monitor(model, alpha=alpha, limits=limits, lags=lags, memory=memory, random_state=seed)
