import os
import stat
import sys

import pytest

from preimage import leftovers
from preimage.io.atomic import written
from preimage.leftovers import remove_leftovers


def test_the_file_appears_when_the_block_ends_well(tmp_path):
    path = tmp_path / "out.txt"
    with written(path) as unfinished:
        assert unfinished.parent == tmp_path
        assert unfinished.suffix == ".txt"
        unfinished.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_block_leaves_the_folder_as_it_was(tmp_path, end):
    path = tmp_path / "out.txt"
    path.write_text("before")
    with pytest.raises(end), written(path) as unfinished:
        unfinished.write_text("half")
        raise end
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_permissions_are_those_of_any_new_file_or_of_the_file_replaced(tmp_path):
    plain, path = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("")
    with written(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    with written(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("folder", IsADirectoryError, "is a folder"),
        ("there", FileExistsError, "exists already"),
        ("nowhere/file", FileNotFoundError, "does not exist"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path, name, error, sentence):
    (tmp_path / "folder").mkdir()
    (tmp_path / "there").write_text("kept")
    with pytest.raises(error, match=sentence), written(tmp_path / name, overwrite=False):
        pytest.fail("the block ran")
    assert (tmp_path / "there").read_text() == "kept"


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "target").write_text("before")
    for name, target in (("link", "target"), ("dangling", "new")):
        (tmp_path / name).symlink_to(tmp_path / target)
        with written(tmp_path / name) as unfinished:
            unfinished.write_text("after")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / target).read_text() == "after"


@pytest.mark.parametrize("place", ["a pipe", "a device"])
def test_pipes_and_devices_are_refused_and_stay(place, tmp_path):
    node = tmp_path / "node"
    if place == "a pipe":
        os.mkfifo(node)
    else:
        try:
            os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    before = node.stat().st_mode
    with pytest.raises(FileExistsError, match="is a device or a pipe"), written(node):
        pytest.fail("the block ran")
    assert node.stat().st_mode == before


def test_a_file_reaches_the_disk_before_it_takes_its_name(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.readlink(f"/proc/self/fd/{handle}")))
    with written(tmp_path / "out.txt") as unfinished:
        unfinished.write_text("whole")
    assert done == [str(unfinished), str(tmp_path)]


def test_a_private_file_is_replaced_in_private(tmp_path):
    path = tmp_path / "secret"
    path.touch(0o600)
    with written(path) as unfinished:
        assert stat.S_IMODE(unfinished.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "out.csv"
    ours, folder = tmp_path / ".out-0123abcd.unfinished.csv", tmp_path / ".out-89abcdef.unfinished.csv"
    ours.write_text("half")
    folder.mkdir()
    others = {".out-0123abcd.csv", ".other-0123abcd.unfinished.csv", ".out-0123abcd.unfinished.npy", "out.txt"}
    for name in others:
        (tmp_path / name).write_text("kept")
    with written(path) as unfinished:
        unfinished.write_text("whole")
    assert set(os.listdir(tmp_path)) == others | {"out.csv"}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_what_another_process_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "out.csv"
    with written(path) as first:
        first.write_text("first")
        with written(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_folder_that_a_killed_process_had_moved_aside_comes_back(tmp_path):
    path, aside = tmp_path / "pictures", tmp_path / ".pictures-0123abcd.unfinished"
    (aside / "pictures").mkdir(parents=True)
    (aside / "pictures" / "a.png").write_text("old")
    remove_leftovers(path)
    assert os.listdir(tmp_path) == ["pictures"]
    assert (path / "a.png").read_text() == "old"


def test_a_file_that_another_run_removes_before_it_is_locked_is_begun_again(tmp_path, monkeypatch):
    locked, names = leftovers._locked, []

    def late(place, **options):
        names.append(place)
        if len(names) == 1:
            leftovers._remove(place)
        return locked(place, **options)

    monkeypatch.setattr(leftovers, "_locked", late)
    with written(tmp_path / "a.txt") as unfinished:
        unfinished.write_text("whole")
    assert len(names) == 2
    assert [file.read_text() for file in tmp_path.iterdir()] == ["whole"]
