"""Measured figures in README and docs are the recorded ones."""

import json
import sys
from pathlib import Path

import pytest

import preimage

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
figures = pytest.importorskip("figures", reason="the benchmarks are not here")


@pytest.mark.parametrize("document", figures.documents(), ids=lambda path: path.name)
def test_a_document_shows_the_recorded_figures(document):
    text = document.read_text(encoding="utf-8")
    assert text == figures.filled(text), "run make figures"


@pytest.mark.parametrize("document", figures.documents(), ids=lambda path: path.name)
def test_a_document_says_when_its_figures_were_measured_and_holds_no_others(document):
    text = document.read_text(encoding="utf-8")
    assert bool(figures.sources(text)) == bool(figures.MEASURED.search(text))
    assert not figures.unmarked(text), "record it, and mark it: see benchmarks/figures"


def test_every_recorded_table_is_shown_and_says_when_it_was_measured():
    shown = "".join(document.read_text(encoding="utf-8") for document in figures.documents())
    for path in figures.FOLDER.glob("*.json"):
        for name, table in json.loads(path.read_text(encoding="utf-8")).items():
            assert f"{path.stem}/{name}" in shown
            assert table["measured"]
            assert {len(row) for row in table["rows"]} == {len(table["columns"])}


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    figures.tables.cache_clear()
    figures.record("speed.py", "fits", ["", "seconds", "ratio"], [["ours", "1.25", "1"], ["theirs", "8e-9 s", "−6.40"]])
    yield
    figures.tables.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("9<!--= speed/fits: ours -->", "1<!--= speed/fits: ours -->"),
        ("takes 9.9<!--= speed/fits: ours --> s", "takes 1.2<!--= speed/fits: ours --> s"),
        ("9.99<!--= speed/fits: ours // ratio -->", "1<!--= speed/fits: ours // ratio -->"),
        ("+0.00<!--= speed/fits: theirs // ratio -->", "−6.40<!--= speed/fits: theirs // ratio -->"),
        ("1e-3<!--= speed/fits: theirs -->", "8e-9<!--= speed/fits: theirs -->"),
        (
            "9.9<!--= speed/fits: theirs // ratio ÷ speed/fits: ours -->",
            "−5.1<!--= speed/fits: theirs // ratio ÷ speed/fits: ours -->",
        ),
        ("2.5 and 3", "2.5 and 3"),
    ],
)
def test_a_marked_number_becomes_the_recorded_one_with_the_decimals_of_the_text(recorded, old, new):
    assert figures.filled(old) == new


def test_what_was_measured_in_part_keeps_the_other_cells_and_says_so(recorded):
    figures.record("speed.py", "fits", ["", "seconds"], [["theirs", "9"], ["others", "7"]], in_part=True)
    figures.tables.cache_clear()
    table = figures.find("speed", "fits")
    assert table["rows"] == [["ours", "1.25", "1"], ["theirs", "9", "−6.40"], ["others", "7", ""]]
    assert ", in part; the rest 20" in table["measured"]


def test_a_marked_table_becomes_the_recorded_one(recorded):
    text = "before\n<!-- figures: speed/fits -->\n| old |\n<!-- end -->\nafter"
    table = "| | seconds | ratio |\n| --- | --- | --- |\n| ours | 1.25 | 1 |\n| theirs | 8e-9 s | −6.40 |\n"
    assert figures.filled(text) == f"before\n<!-- figures: speed/fits -->\n{table}<!-- end -->\nafter"


def test_a_document_says_when_and_with_what_its_figures_were_measured(recorded):
    text = "1<!--= speed/fits: ours -->\n<!-- measured -->\nlong ago\n<!-- end -->"
    said = figures.filled(text).splitlines()[2]
    assert said.startswith("Measured by `benchmarks/speed.py`: 20")
    assert f"preimage {preimage.__version__}" in said
    assert figures.machine() in said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("| ours | 1.25 |", ["1.25"]),
        ("| ours | 1.25 / 2 | 30 % | 3 GB | 12 |", ["1.25 / 2", "30 %", "3 GB"]),
        ("it takes 3 s and wins by 0.12, or 1.5 at best", ["3 s", "0.12", "1.5"]),
        ("| ours | 1.25<!--= speed/fits: ours --> |", []),
        ("<!-- figures: speed/fits -->\n| 1.25 |\n<!-- end -->", []),
        ("σ = 0.25, `0.25`, Python 3.11, 20 % missing, 250<!-- set --> times", []),
        ("```\n0.25 s\n```", []),
    ],
)
def test_figures_without_a_mark_are_found(text, found):
    assert [one.partition(":")[0] for one in figures.unmarked(text)] == found


def test_the_history_has_a_row_per_ratio_and_a_column_per_version(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FOLDER", tmp_path / "figures")
    text = "<!-- history -->\n<!-- end -->"
    assert "No version" in figures.filled(text)
    (tmp_path / "history").mkdir()
    lines = [
        {"version": "0.1.0", "date": "2026-01-01", "ratios": {"fit": 4.0}},
        {"version": "0.2.0", "date": "2026-01-02", "ratios": {"map": 2}},
    ]
    (tmp_path / "history" / "a.json").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    _, versions, _, first, second, _ = figures.filled(text).splitlines()
    assert versions == "| | 0.1.0, 2026-01-01 | 0.2.0, 2026-01-02 |"
    assert (first, second) == ("| fit | 4 | |", "| map | | 2 |")


@pytest.mark.parametrize(
    "mark", ["other/fits: ours", "speed/none: ours", "speed/fits: nobody", "speed/fits: ours // no", "ours"]
)
def test_a_mark_that_leads_nowhere_is_an_error(recorded, mark):
    with pytest.raises(KeyError, match="benchmarks/figures"):
        figures.filled(f"1<!--= {mark} -->")
