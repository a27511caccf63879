"""The memory that this process may still allocate, by its machine, container and own limits; and what it gave back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

UNKNOWN = 2.0**30  # bytes, assumed if the system does not say
CGROUPS = Path("/sys/fs/cgroup")
REUSED = 31 * 2**20  # bytes; glibc's own limit is 32 MiB


def keep_freed_arrays() -> None:
    """Let the next arrays take the memory of freed ones.

    glibc returns freed arrays to the system, and has every page of the next one fetched anew, unless an array as large
    has been freed before. This frees one that was never touched. Other C libraries do not mind.
    """
    np.empty(REUSED, np.uint8)


def free_memory() -> float:
    """Bytes that may still be allocated: the least of what the machine, the container and ``ulimit`` leave."""
    return max(0.0, min([_machine(), *_containers(), *_own_limits()]))


def _machine() -> float:
    """Free memory of the machine; where only its size is known, half of that."""
    available = _fields(Path("/proc/meminfo")).get("MemAvailable")
    if available is not None:
        return 1024.0 * available
    for pages, share in (("SC_AVPHYS_PAGES", 1.0), ("SC_PHYS_PAGES", 0.5)):
        try:
            return share * os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError, AttributeError):
            pass
    return UNKNOWN


def _containers() -> Iterator[float]:
    """What the control groups of this process leave, v1 or v2; the file cache counts as free."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            names, root = ("memory.max", "memory.current", "inactive_file"), CGROUPS
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            root = CGROUPS / "memory"
        else:
            continue
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            limit, used = (_number(folder / name) for name in names[:2])
            if limit is not None and used is not None:
                yield limit - used + _fields(folder / "memory.stat").get(names[2], 0)
            if folder == root:
                break


def _own_limits() -> Iterator[float]:
    """What ``ulimit -v`` and ``ulimit -d`` leave."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    status = _fields(Path("/proc/self/status"))
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield soft - 1024.0 * status.get(used, 0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> float | None:
    """The number in a file; None where there is none, as in "max"."""
    found = _lines(path)
    return float(found[0]) if found and found[0].strip().isdigit() else None


def _fields(path: Path) -> dict[str, int]:
    """Names and whole numbers of a file of lines such as "MemAvailable: 123 kB"."""
    words = (line.replace(":", " ").split() for line in _lines(path))
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}
