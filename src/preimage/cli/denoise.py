"""``preimage denoise``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from preimage.cli import common
from preimage.cli.common import CommandResult
from preimage.cli.options import COMPONENTS, KERNEL, METHOD, NOISE, SHAPE

if TYPE_CHECKING:
    from preimage.io import Data, Reading


@click.command("denoise", cls=common.Command)
@click.argument("input")
@common.output_option("Where to write; the ending sets the format.")
@click.option("--train", metavar="CLEAN", help="Clean examples to learn from; by default only the rows of INPUT.")
@click.option(
    "--noise",
    type=NOISE,
    default="auto",
    show_default=True,
    help="The noise: its standard deviation in the units of the data (pixels lie in [0, 1]), or a law, "
    "such as poisson:30.",
)
@click.option("--shape", type=SHAPE, help="Every row is an image of this shape; not needed for folders of images.")
@common.scale_option("unless rows are images or signals")
@click.option("--kernel", type=KERNEL, help="Denoise by a single kernel PCA with this kernel.")
@click.option("--components", type=COMPONENTS, help="Denoise by a single kernel PCA with this many components.")
@click.option("--preimage", "method", type=METHOD, help="Denoise by a single kernel PCA with this pre-image method.")
@click.option(
    "--effort",
    type=click.Choice(["quick", "standard", "best"]),
    default="standard",
    show_default=True,
    help="How much time to spend; quick is fast, best removes most noise.",
)
@click.option("--signal", is_flag=True, help="The columns of a table are channels of one signal, the rows its samples.")
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), help="Samples per second of a signal; sound files state it."
)
@click.option(
    "--mains", type=click.FloatRange(0, min_open=True), help="First remove mains hum of this frequency, 50 or 60 Hz."
)
@click.option("--baseline", is_flag=True, help="First remove baseline wander.")
@click.option("--report", metavar="PAGE", help="Write an HTML page that shows the data before and after.")
@common.table_options
@common.safe_csv_option
@common.seed_option
@common.shared_options
def command(
    input: str,
    output: str,
    train: str | None,
    report: str | None,
    reading: Reading,
    force: bool,
    as_json: bool,
    **choices: Any,
) -> CommandResult:
    """Remove the noise from INPUT, and write OUTPUT in the same form.

    INPUT is a table (.npy, .npz, .csv, .tsv, .parquet; - is CSV on standard input), a folder of images of one size, one
    image, or one signal (.wav, .flac, a table of one column, or of several with --signal). You need not know the noise.
    """
    from preimage import io
    from preimage.cli.denoise_run import DenoiseRun
    from preimage.io.atomic import written

    reading = replace(reading, signal=choices["signal"])
    data = io.read(input, reading)
    run = DenoiseRun(data, None if train is None else _examples(train, data, reading), **choices)
    with (
        io.writing(output, run.form, overwrite=force) as write,
        written(report, overwrite=force) if report else nullcontext() as unfinished,
    ):
        write(run.blocks())
        facts = common.file_facts(data, output) | run.facts() | ({"report": report} if report else {})
        if unfinished:
            from preimage.cli.denoise_page import page
            from preimage.cli.python_code import denoising

            page(run, facts, denoising(run, reading, input, train)).write(unfinished)
    return CommandResult(facts, f"wrote {output}: {run.words()}")


def _examples(path: str, data: Data, reading: Reading) -> Data:
    """Clean examples, of the same columns if both files name them."""
    from preimage import io

    return io.read(path, replace(reading, expected=None if reading.columns else data.form.columns))
