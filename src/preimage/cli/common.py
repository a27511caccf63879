"""What commands share: errors as sentences, warnings as notes, a progress bar, and the printing of results."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from preimage.cli.options import DELIMITER, ENCODING, NAMES
from preimage.io.atomic import printable

INTERRUPTED = 130
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

SETTING = re.compile(
    r"\b(?P<name>overwrite|header|examples|keep|encoding|thousands|noise)="
    r"((?P<implied>True|'clean')|\('(?P<listed>[^']*)',\))?"
)
SPELT = {"overwrite": "force", "examples": "train"}  # settings whose options have other names

Decorator = Callable[[Callable], Callable]


@dataclass(frozen=True)
class CommandResult:
    """The result of a command, for a program and for a person."""

    facts: dict[str, Any]
    words: str


class Command(click.Command):
    """A command that fails with one sentence and exit code 1, and shows a traceback only with ``--debug``.

    Its result is printed on standard output, unless the rows go there. Ctrl-C removes what was being written and ends
    the command with exit code 130; a second Ctrl-C is ignored.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(click.Option(["--debug"], is_flag=True, help="Show the traceback of an error."))

    def invoke(self, context: click.Context) -> Any:
        debug, as_json = context.params.pop("debug"), context.params.get("as_json")
        standard = context.params.get("output") == "-"
        if as_json and standard:
            raise click.UsageError("--json and the rows would both go to standard output: name a file with -o.")
        _refuse_same_places(context.params)
        try:
            with _one_signal_only(), reported_warnings(_note), shown_progress(beside_rows=standard):
                result = super().invoke(context)
            if isinstance(result, CommandResult) and not standard:
                click.echo(
                    printable(json.dumps(result.facts, indent=1, ensure_ascii=False) if as_json else result.words)
                )
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if debug or getattr(error, "errno", None) == errno.EPIPE:  # click ends quietly if a pipe was closed
                raise
            raise click.ClickException(printable(as_typed(sentence(error)))) from error


def _refuse_same_places(given: dict[str, Any]) -> None:
    """Refuse an output that is an input, or another output: one of the two would be lost."""
    inputs = {f"the {name}": given[name] for name in ("input", "model", "train") if given.get(name) not in (None, "-")}
    outputs = {name: given[name] for name in ("output", "report") if given.get(name) not in (None, "-")}
    seen = {os.path.realpath(place): name for name, place in inputs.items()}
    for name, place in outputs.items():
        real = os.path.realpath(place)
        if real in seen:
            raise click.UsageError(f"{place} is both {seen[real]} and the {name}: name another file.")
        seen[real] = f"the {name}"
        if inside := next((other for other in inputs.values() if _holds(other, real)), None):
            raise click.UsageError(f"{place} lies inside the input {inside}: write beside it.")


def _holds(folder: str, place: str) -> bool:
    return os.path.isdir(folder) and place.startswith(os.path.realpath(folder) + os.sep)


def sentence(error: Exception) -> str:
    """The message of an error, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{_place(error)}{error.strerror[0].lower()}{error.strerror[1:]}."
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"there is not enough memory: use fewer rows, or an approximation ({text or 'nothing more is known'})."
    if isinstance(error, OSError | ValueError | TypeError | ImportError) and text:
        return text
    return f"{type(error).__name__}: {text}; --debug shows where."


def _place(error: OSError) -> str:
    """Where an error of the file system happened; users do not know the names of unfinished files."""
    if not error.filename:
        return ""
    path = Path(os.fsdecode(error.filename))
    return f"cannot write to the folder {path.parent}: " if path.name.startswith(".") else f"{path}: "


def as_typed(text: str) -> str:
    """A message of the library, with settings in Python replaced by options of the command line."""

    def option(found: re.Match[str]) -> str:
        name, value = found["name"], found["listed"] or ""
        follows = value or (not found["implied"] and re.match(r"[\w'\"]", text[found.end() :]))
        return f"--{SPELT.get(name, name)}{' ' if follows else ''}{value}"

    return SETTING.sub(option, text)


def counted(number: int, thing: str) -> str:
    """A number and its noun, in the plural unless it is 1."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def file_facts(data: Any, output: str) -> dict[str, Any]:
    """The files of a command and the size of its input, for a program."""
    rows, columns = data.shape
    return {"input": data.name, "output": output, "rows": rows, "columns": columns, "carried": list(data.form.carried)}


def output_option(required: str = "") -> Decorator:
    """``-o``; required if its help is given, else CSV on standard output by default."""
    settings = {"required": True} if required else {"default": "-", "show_default": True}
    words = required or "Where to write; - is CSV on standard output."
    return click.option("-o", "--output", metavar="OUTPUT", help=words, **settings)


force_option = click.option("--force", is_flag=True, help="Replace the output if it exists.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed.")
scheduler_option = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run on the Dask cluster of this scheduler, such as tcp://127.0.0.1:8786.",
)


def shared_options(command: Callable) -> Callable:
    """``--force`` and ``--json``."""
    return force_option(json_option(command))


def table_options(command: Callable) -> Callable:
    """``--columns`` and the other options for reading tables; the command gets them as one ``reading``."""

    @wraps(command)
    def collected(*args: Any, **given: Any) -> Any:
        from preimage.io import Reading

        names = [item.name for item in fields(Reading) if item.name not in ("expected", "categories", "signal")]
        return command(*args, reading=Reading(**{name: given.pop(name) for name in names}), **given)

    for option in reversed(_TABLE_OPTIONS):
        collected = option(collected)
    return collected


def safe_csv_option(command: Callable) -> Callable:
    """``--safe-csv``."""

    @wraps(command)
    def safely(*args: Any, safe_csv: bool, **given: Any) -> Any:
        from preimage.io.spreadsheets import for_spreadsheets

        with for_spreadsheets(safe_csv):
            return command(*args, **given)

    words = "Put an apostrophe before text in a CSV that a spreadsheet would run as a formula (=, +, -, @)."
    return click.option("--safe-csv", is_flag=True, help=words)(safely)


def folder_option(default: str, contents: str) -> Decorator:
    """``--out``, a folder for the results of a command."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(default), show_default=True, help=f"Folder for {contents}.")


def scale_option(automatic: str) -> Callable:
    """``--scale``; ``automatic`` says when auto standardises."""
    return click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "none"]),
        default="auto",
        show_default=True,
        help=f"Standardise the columns; auto does so {automatic}.",
    )


_TABLE_OPTIONS = (
    click.option("--columns", type=NAMES, help="Work on these columns of a table, and carry the others along."),
    click.option("--keep", type=NAMES, default=(), help="Carry these columns of a table along unchanged."),
    click.option("--delimiter", type=DELIMITER, help="Delimiter of a text file; detected by default."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal sign of a text file; detected by default."),
    click.option("--thousands", type=click.Choice([",", ".", "'", " "]), help="Thousands separator of a text file."),
    click.option(
        "--encoding", type=ENCODING, help="Encoding of a text file, such as cp1252; UTF-8 and UTF-16 are detected."
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether the first line names the columns; detected by default."
    ),
    click.option(
        "--missing", type=NAMES, default=(), help="Further marks of missing values, such as -999, besides NA, ?, …"
    ),
)


@contextmanager
def _one_signal_only() -> Iterator[None]:
    """The first interruption raises, so that unfinished work is undone; later ones are ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        for which in SIGNALS:
            signal.signal(which, signal.SIG_IGN)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    before = {which: signal.signal(which, stop) for which in SIGNALS}
    try:
        yield
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


@contextmanager
def reported_warnings(report: Callable[[str], Any]) -> Iterator[None]:
    """Report our own warnings, one line each, and ignore those of other packages."""
    from preimage.exceptions import PreimageWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PreimageWarning)
        warnings.showwarning = lambda message, *_, **__: report(" ".join(str(message).split()))
        yield


def _note(text: str) -> None:
    click.echo(printable(f"note: {as_typed(text)}"), err=True)


@contextmanager
def shown_progress(*, beside_rows: bool = False) -> Iterator[None]:
    """Show a bar for work of more than a second, if standard error is a terminal.

    There is none if rows go to standard output and that is a terminal too.
    """
    from preimage import progress

    if not sys.stderr.isatty() or (beside_rows and sys.stdout.isatty()):
        yield
        return
    bar = _Bar()
    try:
        with progress.listen(bar):
            yield
    finally:
        bar.close()


class _Bar:
    """A listener to the library's progress that draws one line per stage."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._display: Any = None
        self._lines: dict[str, Any] = {}

    def __call__(self, stage: str, done: float, total: float | None = None) -> None:
        if self._display is None and time.monotonic() - self._start < 1:
            return
        self._display = self._display or _display()
        if stage not in self._lines:
            self._lines[stage] = self._display.add_task(stage, total=total)
        self._display.update(self._lines[stage], completed=done, total=total)

    def close(self) -> None:
        """Remove the bar."""
        if self._display is not None:
            self._display.stop()


def _display() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    display = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False)
    display.start()
    return display
