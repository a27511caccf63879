"""The command line. A command is imported when it is called, so that ``--help`` is fast."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from preimage import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

# The module and the purpose of each command; the help of the group needs no more.
COMMANDS = {
    "demo": ("preimage.cli.demo:command", "Denoise handwritten digits by a few methods, with a report."),
    "app": ("preimage.app.command:open_app", "Explore, denoise and compare in the browser."),
    "denoise": ("preimage.cli.denoise:command", "Remove noise from rows, images, one image or one signal."),
    "fit": ("preimage.cli.fit:command", "Fit kernel PCA to the rows of a file, and save the model."),
    "transform": ("preimage.cli.apply:transform", "Compute the codes of rows."),
    "reconstruct": ("preimage.cli.apply:reconstruct", "Project rows onto a model's components, and map them back."),
    "impute": ("preimage.cli.impute:command", "Fill in missing values."),
    "score": ("preimage.cli.apply:score", "Score rows by their distance from a model's subspace."),
    "monitor": ("preimage.cli.monitor:command", "List alarms of a process, and the sensor that explains each."),
    "export": ("preimage.cli.export:command", "Write a model as an ONNX file, which runs without Python."),
    "inspect": ("preimage.cli.inspect:command", "Show what a model file holds."),
}
# Commands of other distributions, found through the entry points of this group, and how to install the known ones.
GROUP = "preimage.commands"
ELSEWHERE = {
    "reproduce": ("preimage[papers]", "Reproduce the papers' tables: published beside measured, with verdicts.")
}


class _Lazy(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*COMMANDS, *sorted({*ELSEWHERE, *_found().names})]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            module, _, command = COMMANDS[name][0].partition(":")
            return getattr(import_module(module), command)
        for found in _found().select(name=name):
            return found.load()
        return _absent(name) if name in ELSEWHERE else None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in (COMMANDS | ELSEWHERE).items()])


def _found() -> EntryPoints:
    """Commands of other distributions."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    return entry_points(group=GROUP)


def _absent(name: str) -> click.Command:
    """A command that says how to install it, whatever its arguments."""

    def refuse() -> None:
        raise click.ClickException(f'{name} comes in a separate package: pip install "{ELSEWHERE[name][0]}".')

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=refuse, context_settings=anything, add_help_option=False)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="preimage")
def main() -> None:
    """Kernel PCA with pre-images: encode, denoise, impute, detect novelty."""
