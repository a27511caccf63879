"""``preimage monitor``."""

from __future__ import annotations

from typing import Any

import click

from preimage.cli.common import Command, CommandResult, seed_option, shared_options
from preimage.cli.options import COMPONENTS, KERNEL, MEMORY, n_components

LIMITS = ("cross", "kde", "split", "training")


@click.command("monitor", cls=Command)
@click.argument("normal")
@click.argument("new", required=False)
@click.option("-o", "--output", metavar="OUTPUT", help="Where to list alarms, as CSV; else standard output.")
@click.option("--save", metavar="MODEL", help="Keep what was fitted_monitor from NORMAL in a model file.")
@click.option("--report", metavar="PAGE", help="Write a page, .html, with charts, alarms and sensors.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="The rate of false alarms.")
@click.option("--kernel", type=KERNEL, help="linear or gaussian; else the one that finds more of planted faults.")
@click.option("--components", type=COMPONENTS, help="How many, of the kernel given or the linear one; else chosen too.")
@click.option("--limits", type=click.Choice(LIMITS), default="cross", show_default=True, help="Where limits come from.")
@click.option("--lags", type=click.IntRange(0), default=0, show_default=True, help="Earlier rows beside each.")
@click.option("--memory", type=MEMORY, help="For small faults that last.")
@seed_option
@shared_options
def command(
    normal: str,
    new: str | None,
    output: str | None,
    save: str | None,
    report: str | None,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> CommandResult | None:
    """List the alarms of the rows NEW, which are in time order, and the sensor that explains each.

    NORMAL is a table of rows of normal operation in time order, or a model file that --save has written. NEW is a
    table, or - for CSV lines on standard input, which are scored as they come, in memory that does not grow:

        tail -f log.csv | preimage monitor model.npz -
    """
    from preimage.cli.alarms import fitted_monitor, monitor_file, monitor_lines

    _check(new, output, save, report, as_json)
    model = fitted_monitor(normal, save, lambda: _template(**settings), settings=_typed(), force=force)
    if new is None:
        return CommandResult(model.facts(), f"wrote {save}: {model.words()}")
    if new == "-":
        monitor_lines(model, output, force=force)
        return None
    told = monitor_file(model, new, output, report, force=force)
    return None if output is None else told


def _check(new: str | None, output: str | None, save: str | None, report: str | None, as_json: bool) -> None:
    if new is None and save is None:
        raise click.UsageError("name the rows to monitor, NEW, or a model file to write, --save.")
    if new == "-" and report:
        raise click.UsageError("a page needs a run that ends: name a file in the place of -.")
    if new is not None and output is None and as_json:
        raise click.UsageError("--json and the alarms would both go to standard output: name a file with -o.")


def _typed() -> list[str]:
    """The settings of a fit that were typed."""
    context = click.get_current_context()
    names = ("alpha", "kernel", "components", "limits", "lags", "memory", "seed", "save")
    typed = click.core.ParameterSource.COMMANDLINE
    return [f"--{name}" for name in names if context.get_parameter_source(name) is typed]


def _template(*, alpha: float, kernel: Any, components: Any, limits: str, lags: int, memory: Any, seed: int) -> Any:
    """The monitor that was asked for."""
    from preimage import KernelPCA, Monitor

    model = kernel if components is None else KernelPCA(n_components(components), kernel=kernel or "linear")
    return Monitor(model, alpha=alpha, limits=limits, lags=lags, memory=memory, random_state=seed)
