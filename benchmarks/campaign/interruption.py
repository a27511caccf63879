"""Commands killed and calls interrupted at random moments, full disks, and limits of memory."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from tally import Tally, generator
from threadpoolctl import threadpool_info

import preimage
from preimage import KernelPCA, io

COMMAND = [sys.executable, "-c", "from preimage.cli import main; main()"]
SIGNALS = {"SIGKILL": -signal.SIGKILL, "SIGTERM": 128 + signal.SIGTERM, "SIGINT": 130}


def commands_killed(cases: int, seed: int) -> list[Tally]:
    """Signals at random moments: the output is the old file or the new one, and the next run leaves nothing else."""
    tally, rng = Tally("kills"), generator(seed, "kills")
    with TemporaryDirectory() as name:
        folder = Path(name)
        calls = _calls(folder, rng)
        for number in range(cases):
            call, output = calls[number % len(calls)]
            which = str(rng.choice(list(SIGNALS)))
            before = output.read_bytes()
            _signalled(call, getattr(signal, which), float(rng.uniform(0, 1.2) * _duration(call)))
            tally.cases += 1
            tally.check(_is_whole(output, before), "half-written", f"{which}, {call}")
            if which != "SIGKILL":
                tally.check(not _leftovers(folder), "leftovers", f"{which}, {call}")
        for call, _ in calls:
            subprocess.run([*COMMAND, *call], check=True, capture_output=True)
        tally.check(not _leftovers(folder), "leftovers after the next run", str(_leftovers(folder)))
    return [tally]


def _calls(folder: Path, rng: np.random.Generator) -> list[tuple[list[str], Path]]:
    """Commands that replace an output, each run once."""
    X = rng.standard_normal((300, 4))
    np.savetxt(folder / "rows.csv", X, delimiter=",")
    rows, model = str(folder / "rows.csv"), str(folder / "model.npz")
    KernelPCA(3, random_state=0).fit(X).save(model)
    outputs = {name: folder / f"{name}.csv" for name in ("transform", "reconstruct", "score", "impute")}
    calls = [([name, model, rows, "-o", str(output), "--force"], output) for name, output in outputs.items()]
    calls.append((["fit", rows, "-o", str(folder / "fitted.npz"), "--force"], folder / "fitted.npz"))
    for call, _ in calls:
        subprocess.run([*COMMAND, *call], check=True, capture_output=True)
    return calls


_durations: dict[str, float] = {}


def _duration(call: list[str]) -> float:
    if call[0] not in _durations:
        start = perf_counter()
        subprocess.run([*COMMAND, *call], check=True, capture_output=True)
        _durations[call[0]] = perf_counter() - start
    return _durations[call[0]]


def _signalled(call: list[str], which: int, seconds: float) -> None:
    process = subprocess.Popen([*COMMAND, *call], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(which)
        process.wait()


def _is_whole(output: Path, before: bytes) -> bool:
    if output.read_bytes() == before:
        return True
    read = preimage.load if output.suffix == ".npz" else io.read
    try:
        return read(output) is not None
    except ValueError:
        return False


def _leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def calls_interrupted(cases: int, seed: int) -> list[Tally]:
    """Ctrl-C inside library calls: the estimator, the threads and the limits of BLAS are as before."""
    tally, rng = Tally("interrupts"), generator(seed, "interrupts")
    X = rng.standard_normal((400, 5))
    model = KernelPCA(3, random_state=0).fit(X)
    state, expected, blas = dict(vars(model)), model.transform(X), _blas()
    start = perf_counter()
    KernelPCA(3, random_state=0).fit(X).denoise(X[:50])
    whole = perf_counter() - start
    for number in range(cases):
        fitting = number % 2 == 0
        stopped = _interrupted(
            lambda fit=fitting: model.fit(X) if fit else model.denoise(X[:50]), rng.uniform(0, whole)
        )
        tally.cases += 1
        tally.refused += stopped
        tally.check(_blas() == blas, "BLAS limit changed", str(number))
        if stopped and fitting:
            same = vars(model).keys() == state.keys() and all(vars(model)[key] is state[key] for key in state)
            tally.check(same, "estimator changed", str(number))
        state = dict(vars(model))
    tally.check(np.allclose(model.transform(X), expected, atol=1e-9), "other answers", "after all")
    return [tally]


def _interrupted(action, seconds: float) -> bool:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        action()
        timer.cancel()
        timer.join()
        return False
    except KeyboardInterrupt:
        return True


def _blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def disk_full(cases: int, seed: int) -> list[Tally]:
    """Files that may not grow: a sentence, and the old file stays.

    The limit on the size of files stands for a full disk, which only root can make.
    """
    tally, rng = Tally("disk full"), generator(seed, "disk")
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rng.standard_normal((3000, 40)))
        for number in range(cases):
            output = folder / f"out{rng.choice(['.npy', '.csv', '.npz', '.parquet'])}"
            output.write_bytes(b"old")
            limit = int(rng.integers(1, 200_000))
            script = "import sys; from preimage import io; d = io.read(sys.argv[1])\n"
            script += "with io.writing(sys.argv[2], d.form, overwrite=True) as w: w(d.blocks())"
            done = _limited(["-c", script, str(folder / "rows.npy"), str(output)], resource.RLIMIT_FSIZE, limit)
            tally.cases += 1
            tally.check(done.returncode == 1 and b"Error" in done.stderr, f"exit {done.returncode}", str(output))
            tally.check(output.read_bytes() == b"old", "old file lost", f"{number}: {output.name}, {limit} bytes")
            tally.check(not _leftovers(folder), "leftovers", output.name)
    return [tally]


def memory_limits(cases: int, seed: int) -> list[Tally]:
    """Fits under ``ulimit -v``: a model, or a sentence."""
    tally, rng = Tally("memory"), generator(seed, "memory")
    with TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "rows.npy", rng.standard_normal((6000, 20)))
        for _ in range(cases):
            limit = int(rng.integers(600, 2000)) * 2**20
            command = [*COMMAND[1:], "fit", str(folder / "rows.npy"), "-o", str(folder / "m.npz"), "--force"]
            done = _limited(command, resource.RLIMIT_AS, limit)
            tally.cases += 1
            tally.refused += done.returncode == 1
            told = done.returncode in (0, 1) and b"Traceback" not in done.stderr
            tally.check(told, f"exit {done.returncode}", f"{limit >> 20} MB: {done.stderr[-120:]!r}")
    return [tally]


def _limited(arguments: list[str], which: int, limit: int) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(which, (limit, limit)),
    )
