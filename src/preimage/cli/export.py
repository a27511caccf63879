"""``preimage export``."""

from __future__ import annotations

from pathlib import Path

import click

from preimage.cli.common import Command, CommandResult, counted, output_option, shared_options


@click.command("export", cls=Command)
@click.argument("model")
@output_option("The file to write, .onnx.")
@click.option("--method", default="transform", show_default=True, help="The method, such as denoise or predict.")
@click.option(
    "--precision",
    type=click.Choice(["float32", "float64"]),
    help="Precision of the file; by default that of the model.",
)
@shared_options
def command(model: str, output: str, method: str, precision: str | None, force: bool, as_json: bool) -> CommandResult:
    """Write one method of the fitted model in the file MODEL as an ONNX file, which runs without Python.

    The file takes any number of rows.
    """
    from preimage.cli.apply import load_model
    from preimage.export import to_onnx

    if output == "-" or Path(output).suffix.lower() != ".onnx":
        raise click.UsageError(f"{output}: an ONNX file ends in .onnx.")
    fitted = load_model(model)
    to_onnx(fitted, output, method, precision, overwrite=force)
    size, name = Path(output).stat().st_size, type(fitted).__name__
    facts = {"model": model, "output": output, "class": name, "method": method, "bytes": size}
    return CommandResult(facts, f"wrote {output}: {name}.{method}, {counted(size, 'byte')}")
