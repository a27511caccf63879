import os
import platform
import subprocess
import sys

import pytest

from preimage.gram import memory

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system made of files: ``system(path, text)`` writes one, and nothing else is there."""
    monkeypatch.setattr(memory, "_own_limits", lambda: [])
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "sys/fs/cgroup")
    read = memory._lines
    monkeypatch.setattr(
        memory, "_lines", lambda path: read(path if path.is_relative_to(tmp_path) else tmp_path / str(path).strip("/"))
    )

    def write(path, text):
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(str(text))

    write("proc/meminfo", f"MemTotal: 99 kB\nMemAvailable:   {16 * 2**20} kB\n")
    return write


def test_the_machine_tells_what_is_available(system):
    assert memory.free_memory() == 16 * GIB


def test_a_container_leaves_its_limit_less_what_is_used(system):
    """Version 2: pages of files that nobody uses can be given up, and limits of outer groups hold too."""
    system("proc/self/cgroup", "0::/jobs/mine\n")
    group = "sys/fs/cgroup/jobs/mine"
    system(f"{group}/memory.max", "max\n")
    system(f"{group}/memory.current", 3 * GIB)
    assert memory.free_memory() == 16 * GIB
    system(f"{group}/memory.max", 4 * GIB)
    system(f"{group}/memory.stat", f"anon 5\ninactive_file {2 * GIB}\n")
    assert memory.free_memory() == 3 * GIB
    system("sys/fs/cgroup/jobs/memory.max", 5 * GIB)
    system("sys/fs/cgroup/jobs/memory.current", 9 * GIB // 2)
    assert memory.free_memory() == GIB / 2
    system("sys/fs/cgroup/jobs/memory.current", 6 * GIB)
    assert memory.free_memory() == 0


@pytest.mark.parametrize("seen", ["docker/abc", ""], ids=["in its place", "as the root"])
def test_a_container_of_version_1(system, seen):
    system("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n")
    group = f"sys/fs/cgroup/memory/{seen}"
    system(f"{group}/memory.limit_in_bytes", 2 * GIB)
    system(f"{group}/memory.usage_in_bytes", GIB)
    system(f"{group}/memory.stat", f"inactive_file 1\ntotal_inactive_file {GIB // 2}\n")
    assert memory.free_memory() == 1.5 * GIB


def test_a_system_that_tells_nothing_has_a_finite_number(system, monkeypatch):
    system("proc/meminfo", "")
    assert 2**20 < memory.free_memory() < 2**60

    def only_all(name):
        if name == "SC_AVPHYS_PAGES":
            raise ValueError
        return {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}[name]

    monkeypatch.setattr(memory.os, "sysconf", only_all)
    assert memory.free_memory() == 1000 * 4096 / 2
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.free_memory() == memory.UNKNOWN


def test_a_limit_of_the_process_is_obeyed():
    """``ulimit -v`` of 3 GiB: what this process has taken already is gone."""
    pytest.importorskip("resource")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30,) * 2);"
        "from preimage.gram import memory; before = memory.free_memory(); taken = bytearray(2**30);"
        "print(before / 2**30, (before - memory.free_memory()) / 2**30)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    before, gone = map(float, done.stdout.split())
    assert 1 < before < 3
    assert gone == pytest.approx(1, abs=0.01)


FAULTS = """
import resource, sys
import numpy as np
from preimage.gram import memory

if sys.argv[1] == "kept":
    memory.keep_freed_arrays()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for number in range(20):
    np.ones(200_000 + 1000 * number)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc returns freed arrays at once")
def test_the_pages_of_freed_arrays_are_not_fetched_anew():
    """Each array is larger than all before, so glibc gives all of them memory of their own, 400 pages each."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}  # dask sets one

    def faults(how):
        call = [sys.executable, "-c", FAULTS, how]
        return int(subprocess.run(call, capture_output=True, check=True, text=True, env=settings).stdout)

    plain, kept = faults("plain"), faults("kept")
    if plain < 20 * 100:
        pytest.skip("the system has huge pages everywhere, or another allocator")
    assert kept < plain / 4
