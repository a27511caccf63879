import os
import stat

import pytest

from preimage.files import written


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
