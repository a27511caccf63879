"""Full disks, and limits of memory: by ``ulimit`` and by control groups."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from forked import Ended, Limits, command
from kills import leftovers
from tally import Tally, generator

import preimage
from preimage import KernelPCA

GROUP_ROWS = 5000  # whose kernel matrix takes 100 MB as a triangle
GROUP_MEGABYTES = (160, 500)


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
                limits = Limits({} if on_disk else {resource.RLIMIT_FSIZE: int(rng.integers(1, 150_000))})
                inputs = [str(folder / "model.npz"), str(folder / "rows.npy")]
                ended = command(["transform", *inputs, "-o", str(output), "--force"], folder, limits).ended()
                tally.cases += 1
                _check_refusal(tally, ended, f"{number}: {output.name} {limits}")
                tally.check(output.read_bytes() == b"old", "old file lost", f"{number}: {output.name}, {limits}")
                tally.check(not leftovers(output.parent), "leftovers", output.name)
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
            more = int(rng.integers(1, 200))
            call = ["fit", str(folder / "rows.npy"), "-o", str(folder / "m.npz"), "--force"]
            limits = Limits({resource.RLIMIT_AS: now + more * 2**20})
            ended = command(call, folder, limits).ended()
            tally.cases += 1
            told = f"{number}: {more} MB more"
            if ended is not None and ended.code == 0:
                tally.check(preimage.load(folder / "m.npz") is not None, "no model", told)
            else:
                _check_refusal(tally, ended, told)
    return [tally]


def group_limits(cases: int, seed: int) -> list[Tally]:
    """Fits and denoising in a control group: the kernel matrix is held in memory only where that has room.

    The system ends a process that asks for more, so that all must end well. Without the right to make groups there are
    no cases.
    """
    tally, rng = Tally("control groups"), generator(seed, "groups")
    with TemporaryDirectory() as name, _group() as group:
        if group is None:
            print("control groups: skipped, since this process may not make one with a limit of memory.")
            return [tally]
        rows, output = (str(Path(name) / file) for file in ("rows.npy", "out.npz"))
        np.save(rows, rng.standard_normal((GROUP_ROWS, 8)))
        calls = [["fit", rows, "-o", output, "--force"], ["denoise", rows, "-o", f"{name}/out.npy", "--force"]]
        for number in range(cases):
            limit = int(rng.integers(*GROUP_MEGABYTES))
            (group / "memory.limit_in_bytes").write_text(str(limit * 2**20))
            ended = command(calls[number % 2], Path(name), Limits(group=group)).ended()
            tally.cases += 1
            told = f"{number}: {calls[number % 2][0]} in {limit} MB: {ended}"
            tally.check(ended is not None and ended.code == 0, "does not end well", told)
    return [tally]


@contextmanager
def _group() -> Iterator[Path | None]:
    """A new control group below that of this process, for its children; None if it may not make one (v1 only)."""
    own = re.search(r"^\d+:memory:(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    group = Path(f"/sys/fs/cgroup/memory{own[1] if own else ''}") / f"preimage-campaign-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()
