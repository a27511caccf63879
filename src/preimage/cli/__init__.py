"""The command line, one command a file. A command is imported when it is called, so that ``--help`` answers at once."""

from __future__ import annotations

from importlib import import_module

import click

from preimage import __version__

# Where each command lives, and what it is for; the help of the group needs no more than this.
COMMANDS = {
    "demo": ("preimage.cli.demo", "Denoise handwritten digits by every method, with a report."),
    "denoise": ("preimage.cli.denoise", "Remove noise from rows, images, one image or one signal."),
    "fit": ("preimage.cli.fit", "Kernel PCA of the rows of a file, kept in a model file."),
    "transform": ("preimage.cli.transform", "Codes of rows by a model."),
    "reconstruct": ("preimage.cli.reconstruct", "What a model's components keep of rows."),
    "impute": ("preimage.cli.impute", "Fill the gaps of rows by a model."),
    "score": ("preimage.cli.score", "How far rows lie from a model's subspace."),
    "inspect": ("preimage.cli.inspect", "What is in a model file."),
    "reproduce": ("preimage_papers.command", "The papers, reproduced: published beside measured, with verdicts."),
}


class _Lazy(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return getattr(import_module(COMMANDS[name][0]), name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="preimage")
def main() -> None:
    """Kernel PCA with a way back: denoise, reconstruct and picture what lives in feature space."""
