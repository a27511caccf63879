"""Commands in forked processes, in which the library is imported already: a signal or a limit strikes their work."""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep

from preimage.cli import main

LONGEST = 600.0  # seconds of one command, on a busy machine


@dataclass(frozen=True)
class Ended:
    """How a forked process ended: its exit code, negative for a signal, and what it wrote to both streams."""

    code: int
    told: str
    said: str


@dataclass(frozen=True)
class Limits:
    """Of a process: limits by the numbers of ``resource``, and the folder of its control group."""

    resources: Mapping[int, int] = field(default_factory=dict)
    group: Path | None = None

    def enter(self) -> None:
        """Put this process under them."""
        for which, limit in self.resources.items():
            resource.setrlimit(which, (limit, limit))
        if self.group is not None:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))


class Forked:
    """A function that runs in a forked process and session, under limits of its resources."""

    def __init__(self, action: Callable[[], object], folder: Path, limits: Limits | None = None):
        self._streams = {1: folder / "stdout.txt", 2: folder / "stderr.txt"}
        for place in self._streams.values():
            place.write_bytes(b"")
        self.process = os.fork()
        if not self.process:
            os._exit(self._run(action, limits or Limits()))

    def _run(self, action: Callable[[], object], limits: Limits) -> int:
        try:
            os.setsid()
            for stream, place in self._streams.items():
                os.dup2(os.open(place, os.O_WRONLY), stream)
            limits.enter()
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
        return self._streams[stream].read_bytes().decode(errors="replace")

    def has_no_children(self, seconds: float) -> bool:
        """Whether all processes that it started have ended after some seconds."""
        last = perf_counter() + seconds
        while found := self._is_session_alive():
            if perf_counter() > last:
                break
            sleep(0.05)
        return not found

    def _is_session_alive(self) -> bool:
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has just ended
                if int(path.read_text().rpartition(")")[2].split()[3]) == self.process:
                    return True
        return False

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


def command(arguments: list[str], folder: Path, limits: Limits | None = None) -> Forked:
    """A command in a process of its own."""
    return Forked(lambda: main(arguments), folder, limits)
