"""Commands killed at random moments: files stay whole, and the next run leaves nothing else.

Every command has a folder of its own, in which it replaces its output.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from urllib.request import urlopen

import numpy as np
from forked import Ended, Forked, command
from PIL import Image
from tally import Tally, generator

import preimage
from preimage import KernelPCA, io
from preimage.cli import main

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST_ATTEMPTS = 10  # for each case that a signal shall reach
GRACE = 60.0  # seconds in which the worker processes of a killed command must end, imports included


@dataclass(frozen=True)
class Trial:
    """A command, its folder, how it is started with a folder for its streams, and the port where it listens."""

    name: str
    folder: Path
    start: Callable[[Path], Forked]
    port: int | None = None

    def run(self, log: Path) -> Ended | None:
        """Let the command end by itself."""
        return self.start(log).ended()


def commands_killed(cases: int, seed: int) -> list[Tally]:
    """Signals at random moments; only commands that one reached before their end are counted."""
    tally, rng = Tally("kills"), generator(seed, "kills")
    with TemporaryDirectory() as name, TemporaryDirectory() as logs:
        log = Path(logs)
        trials = _trials(Path(name), rng)
        durations = [_first_run(trial, log) for trial in trials]
        for attempt in range(MOST_ATTEMPTS * cases):
            number = attempt % len(trials)
            _kill(tally, trials[number], durations[number], rng, log)
            if tally.cases == cases:
                break
        for trial in trials:
            _check_next_run(tally, trial, log, "at last")
    return [tally]


def _first_run(trial: Trial, log: Path) -> float:
    """How long a command runs; after this its output is there."""
    start = perf_counter()
    ended = trial.run(log)
    if ended is None or ended.code:
        raise RuntimeError(f"{trial.name} does not run: {ended}")
    return perf_counter() - start


def _kill(tally: Tally, trial: Trial, seconds: float, rng: np.random.Generator, log: Path) -> None:
    which = SIGNALS[int(rng.integers(len(SIGNALS)))]
    before, stale = _content(trial.folder), leftovers(trial.folder)
    process = trial.start(log)
    reached, ended = process.signalled(which, float(rng.uniform(0, 1.2) * seconds))
    told, left = f"{which.name}, {trial.name}", leftovers(trial.folder)
    tally.cases += reached
    tally.refused += ended is not None and ended.code != 0
    tally.check(ended is not None, "hangs after a signal", told)
    tally.check(process.has_no_children(GRACE), "processes left", told)
    tally.check(_is_free(trial.port), "port left", told)
    tally.check(_is_whole(trial.folder, before), "half-written", told)
    tally.check(set(left) <= set(stale) or which == signal.SIGKILL, "leftovers", f"{told}: {left}")
    if left and rng.random() < 0.5:  # sometimes several kills leave theirs
        _check_next_run(tally, trial, log, told)


def _check_next_run(tally: Tally, trial: Trial, log: Path, told: str) -> None:
    ended, left = trial.run(log), leftovers(trial.folder)
    tally.check(ended is not None and ended.code == 0, "next run fails", f"{told}, {trial.name}: {ended}")
    tally.check(not left, "leftovers after the next run", f"{told}, {trial.name}: {left}")


def _trials(folder: Path, rng: np.random.Generator) -> list[Trial]:
    """Every command, on small data."""
    X = rng.standard_normal((300, 4))
    rows, images, model = (str(folder / name) for name in ("rows.csv", "images.npy", "model.npz"))
    np.savetxt(rows, X, delimiter=",")
    np.save(images, rng.integers(0, 255, (20, 8, 8)).astype(np.uint8))
    KernelPCA(3, random_state=0).fit(X).save(model)
    applied = {(name, model, rows): "rows.csv" for name in ("transform", "reconstruct", "score", "impute")}
    outputs = applied | {
        ("fit", rows): "model.npz",
        ("denoise", rows, "--report", "{}/report.html"): "rows.parquet",
        ("denoise", images): "images",
        ("monitor", rows, rows, "--save", "{}/monitor.npz"): "alarms.csv",
        ("export", model): "model.onnx",
    }
    calls = [[*call, "-o", f"{{}}/{output}", "--force"] for call, output in outputs.items()]
    calls += [["inspect", model], ["demo", "--out", "{}", "--force"]]
    calls += [["reproduce", "chapter", "--quick", "--out", "{}", "--force"]]
    homes = [folder / f"{number} {call[0]}" for number, call in enumerate(calls)]
    return [*map(_trial, calls, homes), _app(folder / "app")]


def _trial(call: list[str], home: Path) -> Trial:
    home.mkdir()
    arguments = [word.format(home) for word in call]
    return Trial(call[0], home, lambda log: command(arguments, log))


def _app(home: Path) -> Trial:
    """The app with one visit, after which it ends."""
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def visited(log: Path) -> None:
        tempfile.tempdir = str(home)  # where it keeps what it is sent
        threading.Thread(target=_visit, args=(log / "stdout.txt",), daemon=True).start()
        main(["app", "--port", str(port), "--no-browser"])

    return Trial("app", home, lambda log: Forked(lambda: visited(log), log), port)


def _visit(told: Path) -> None:
    """Send a file to the app whose address stands in a file, let it start a worker, and end this process."""
    while not (lines := told.read_text().splitlines()):
        sleep(0.01)
    urlopen(f"{lines[0]}api/uploads?name=rows.csv", b"1,2\n3,4\n").close()
    urlopen(f"{lines[0]}api/start").close()
    sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_free(port: int | None) -> bool:
    """Whether another process may listen at a port."""
    if port is not None:
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            return False
    return True


def leftovers(folder: Path) -> list[str]:
    """What unfinished runs left in a folder."""
    return [str(path) for path in folder.rglob(".*-*.unfinished*")]


def _content(folder: Path) -> dict[Path, bytes]:
    """All finished files of a folder."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".unfinished" not in str(path)]
    return {path: path.read_bytes() for path in files}


def _is_whole(folder: Path, before: dict[Path, bytes]) -> bool:
    """Whether all files are still there, and those that changed can be read."""
    after = _content(folder)
    changed = [path for path, content in after.items() if before.get(path) != content]
    return before.keys() <= after.keys() and all(map(_is_readable, changed))


def _is_readable(path: Path) -> bool:
    try:
        READERS.get(path.suffix, lambda path: io.read(path).whole(gaps=True))(path)
        return True
    except Exception:
        return False


def _read_page(path: Path) -> None:
    if not path.read_text().rstrip().endswith("</html>"):
        raise ValueError(f"{path} has no end.")


def _read_onnx(path: Path) -> None:
    import onnx

    onnx.checker.check_model(onnx.load(path))


READERS: dict[str, Callable[[Path], object]] = {
    ".npz": preimage.load,
    ".onnx": _read_onnx,
    ".html": _read_page,
    ".json": lambda path: json.loads(path.read_text()),
    ".png": lambda path: Image.open(path).load(),
}
