"""Commands killed and calls interrupted at random moments, full disks, and limits of memory.

Commands run in forked processes, in which the library is imported already: a signal strikes their work.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
from sklearn.base import clone
from tally import Tally, generator
from threadpoolctl import threadpool_info

import preimage
from preimage import KernelPCA, io
from preimage.cli import main

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LONGEST = 120.0  # seconds of one command
MOST_ATTEMPTS = 10  # for each case that a signal shall reach


@dataclass(frozen=True)
class Ended:
    """How a forked process ended: its exit code, negative for a signal, and what it wrote to both streams."""

    code: int
    told: str
    said: str


class Forked:
    """A function that runs in a forked process, under limits of its resources."""

    def __init__(self, action: Callable[[], object], folder: Path, limits: dict[int, int] | None = None):
        self._streams = {1: folder / "stdout.txt", 2: folder / "stderr.txt"}
        self.process = os.fork()
        if not self.process:
            os._exit(self._run(action, limits or {}))

    def _run(self, action: Callable[[], object], limits: dict[int, int]) -> int:
        try:
            for stream, place in self._streams.items():
                os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            for which, limit in limits.items():
                resource.setrlimit(which, (limit, limit))
            action()
            return 0
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            traceback.print_exc()
            return 70
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    def ended(self, seconds: float = LONGEST) -> Ended | None:
        """How it ended, or None if it still runs after some seconds."""
        last = perf_counter() + seconds
        while True:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                said, told = (self._written(stream) for stream in self._streams)
                return Ended(os.waitstatus_to_exitcode(status), told, said)
            if perf_counter() > last:
                return None
            sleep(0.002)

    def _written(self, stream: int) -> str:
        place = self._streams[stream]
        return place.read_bytes().decode(errors="replace") if place.exists() else ""

    def signalled(self, which: int, seconds: float) -> tuple[bool, Ended | None]:
        """Whether a signal reached it after some seconds, and how it ended; None if it had to be killed."""
        ended = self.ended(seconds)
        if ended is not None:
            return False, ended
        os.kill(self.process, which)
        ended = self.ended()
        if ended is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        return True, ended


def command(arguments: list[str], folder: Path, limits: dict[int, int] | None = None) -> Forked:
    """A command in a process of its own."""
    return Forked(lambda: main(arguments), folder, limits)


def commands_killed(cases: int, seed: int) -> list[Tally]:
    """Signals at random moments: the output is the old file or the new one, and the next run leaves nothing else.

    Only commands that a signal reached before their end are counted.
    """
    tally, rng = Tally("kills"), generator(seed, "kills")
    with TemporaryDirectory() as name, TemporaryDirectory() as logs:
        folder, log = Path(name), Path(logs)
        calls = _calls(folder, rng)
        durations = {number: _duration(call, log) for number, (call, _) in enumerate(calls)}
        for attempt in range(MOST_ATTEMPTS * cases):
            number = attempt % len(calls)
            call, output = calls[number]
            which = SIGNALS[int(rng.integers(len(SIGNALS)))]
            before, stale = _content(output), _leftovers(output)
            reached, ended = command(call, log).signalled(which, float(rng.uniform(0, 1.2) * durations[number]))
            told = f"{which.name}, {call[0]}"
            tally.cases += reached
            tally.refused += ended is not None and ended.code != 0
            tally.check(ended is not None, "hangs after a signal", told)
            tally.check(_is_whole(output, before), "half-written", told)
            left = _leftovers(output)
            tally.check(set(left) <= set(stale) or which == signal.SIGKILL, "leftovers", f"{told}: {left}")
            if left and rng.random() < 0.5:  # sometimes several kills leave theirs
                command(call, log).ended()
                tally.check(not _leftovers(output), "leftovers after the next run", f"{told}: {_leftovers(output)}")
            if tally.cases == cases:
                break
        for call, output in calls:
            command(call, log).ended()
            tally.check(not _leftovers(output), "leftovers after the last run", f"{call[0]}: {_leftovers(output)}")
    return [tally]


def _calls(folder: Path, rng: np.random.Generator) -> list[tuple[list[str], Path]]:
    """Commands that replace an output, each run once."""
    X = rng.standard_normal((300, 4))
    np.savetxt(folder / "rows.csv", X, delimiter=",")
    np.save(folder / "images.npy", rng.integers(0, 255, (20, 8, 8)).astype(np.uint8))
    rows, model = str(folder / "rows.csv"), str(folder / "model.npz")
    KernelPCA(3, random_state=0).fit(X).save(model)
    outputs = {name: folder / f"{name}.csv" for name in ("transform", "reconstruct", "score", "impute")}
    calls = [([name, model, rows, "-o", str(output), "--force"], output) for name, output in outputs.items()]
    for name, source, ending in (
        ("fit", rows, "fitted.npz"),
        ("denoise", rows, "denoised.parquet"),
        ("denoise", str(folder / "images.npy"), "images"),
    ):
        calls.append(([name, source, "-o", str(folder / ending), "--force"], folder / ending))
    calls.append((["monitor", rows, rows, "-o", str(folder / "alarms.csv"), "--force"], folder / "alarms.csv"))
    calls.append((["export", model, "-o", str(folder / "model.onnx"), "--force"], folder / "model.onnx"))
    with TemporaryDirectory() as log:
        ended = [(call, command(call, Path(log)).ended()) for call, _ in calls]
    for call, found in ended:
        if found is None or found.code:
            raise RuntimeError(f"{call} does not run: {found}")
    return calls


def _duration(call: list[str], log: Path) -> float:
    return _seconds(lambda: command(call, log).ended())


def _content(output: Path) -> bytes | dict[str, bytes]:
    return {file.name: file.read_bytes() for file in output.iterdir()} if output.is_dir() else output.read_bytes()


def _is_whole(output: Path, before: bytes | dict[str, bytes]) -> bool:
    if not output.exists():
        return False
    if _content(output) == before:
        return True
    if output.suffix == ".onnx":
        import onnx

        return onnx.load(output) is not None
    try:
        found = preimage.load(output) if output.suffix == ".npz" else io.read(output).whole(gaps=True)
        return found is not None
    except ValueError:
        return False


def _leftovers(output: Path) -> list[str]:
    """What unfinished runs left beside an output."""
    names = os.listdir(output.parent)
    return [name for name in names if name.startswith(f".{output.stem}-") and name.endswith(output.suffix)]


def calls_interrupted(cases: int, seed: int) -> list[Tally]:
    """Ctrl-C inside library calls: the estimator, the threads and the limits of BLAS are as before.

    Only calls that it reached before their end are counted.
    """
    tally, rng = Tally("interrupts"), generator(seed, "interrupts")
    X = rng.standard_normal((1500, 5))  # enough that a signal arrives before the end on a busy machine
    model = KernelPCA(3, random_state=0).fit(X)
    expected, before = model.transform(X), (_blas(), threading.active_count())
    calls = {
        "fit": lambda: model.fit(X),
        "fit on landmarks": lambda: KernelPCA(3, approximation=50, random_state=0).fit(X),
        "denoise": lambda: clone(model).fit(X).denoise(X[:50]),
    }
    durations = {name: _seconds(call) for name, call in calls.items()}
    for attempt in range(MOST_ATTEMPTS * cases):
        name = list(calls)[attempt % len(calls)]
        state = dict(vars(model))
        stopped = _interrupted(calls[name], rng.uniform(0, durations[name]))
        tally.cases += stopped
        tally.check((_blas(), threading.active_count()) == before, "threads or BLAS limit changed", name)
        if stopped:
            same = vars(model).keys() == state.keys() and all(vars(model)[key] is state[key] for key in state)
            tally.check(same, "estimator changed", name)
        if tally.cases == cases:
            break
    tally.check(np.allclose(model.transform(X), expected, atol=1e-9), "other answers", "after all")
    return [tally]


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _interrupted(action: Callable[[], object], seconds: float) -> bool:
    """Whether Ctrl-C after some seconds reached an action before its end."""
    timer, finished = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)), False
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start jobs with it ignored
    try:
        timer.start()
        action()
        finished = True
        timer.cancel()
        timer.join()
        return False
    except KeyboardInterrupt:
        timer.join()
        return not finished
    finally:
        signal.signal(signal.SIGINT, before)


def _blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def disk_full(cases: int, seed: int) -> list[Tally]:
    """Files that may not grow, and as root a small file system: a sentence, and the old file stays."""
    tally, rng = Tally("disk full"), generator(seed, "disk")
    with TemporaryDirectory() as name, TemporaryDirectory() as small:
        folder, mounted = Path(name), _mount(small)
        np.save(folder / "rows.npy", rng.standard_normal((3000, 4)))
        KernelPCA(12, approximation=200, random_state=0).fit(np.load(folder / "rows.npy")).save(folder / "model.npz")
        try:
            for number in range(cases):
                on_disk = mounted and number % 2 == 0
                output = Path(small if on_disk else name) / f"out{rng.choice(['.npy', '.csv', '.npz', '.parquet'])}"
                output.write_bytes(b"old")
                limits = {} if on_disk else {resource.RLIMIT_FSIZE: int(rng.integers(1, 150_000))}
                inputs = [str(folder / "model.npz"), str(folder / "rows.npy")]
                ended = command(["transform", *inputs, "-o", str(output), "--force"], folder, limits).ended()
                tally.cases += 1
                _check_refusal(tally, ended, f"{number}: {output.name} {limits}")
                tally.check(output.read_bytes() == b"old", "old file lost", f"{number}: {output.name}, {limits}")
                tally.check(not _leftovers(output), "leftovers", output.name)
        finally:
            if mounted:
                os.system(f"umount {small}")
    return [tally]


def _mount(folder: str) -> bool:
    """Whether a file system of 200 kB could be mounted on a folder."""
    return os.geteuid() == 0 and os.system(f"mount -t tmpfs -o size=200k tmpfs {folder} 2> {os.devnull}") == 0


def _check_refusal(tally: Tally, ended: Ended | None, told: str) -> None:
    """Count a command that must have been refused with a sentence."""
    tally.refused += ended is not None and ended.code == 1
    tally.check(ended is not None, "hangs", told)
    if ended is not None:
        tally.check(ended.code == 1, f"exit {ended.code}", f"{told}: {ended.told[-200:]}")
        tally.check(
            "Traceback" not in ended.told and "rror" in ended.told, "no sentence", f"{told}: {ended.told[-200:]}"
        )


def memory_limits(cases: int, seed: int) -> list[Tally]:
    """Fits under ``ulimit -v``: a model, or a sentence."""
    tally, rng = Tally("memory"), generator(seed, "memory")
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rng.standard_normal((2000, 8)))
        now = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
        for number in range(cases):
            limits = {resource.RLIMIT_AS: now + int(rng.integers(1, 200)) * 2**20}
            call = ["fit", str(folder / "rows.npy"), "-o", str(folder / "m.npz"), "--force"]
            ended = command(call, folder, limits).ended()
            tally.cases += 1
            told = f"{number}: {(limits[resource.RLIMIT_AS] - now) >> 20} MB more"
            if ended is not None and ended.code == 0:
                tally.check(preimage.load(folder / "m.npz") is not None, "no model", told)
            else:
                _check_refusal(tally, ended, told)
    return [tally]
