"""Text that a spreadsheet program would run."""

import csv

import pytest

from console import X, good
from preimage import KernelPCA, Monitor
from preimage.io.spreadsheets import for_spreadsheets, harmless

FORMULAS = ["=1+1", "+x", "-cmd", "@SUM(A1)", "\t=1", "\r=1"]
PLAIN = ["", "a=1", "-5", "+5.5", "-1,5", "1e-3", "'=1", 7, None]


def test_only_formulas_get_an_apostrophe_and_only_on_demand():
    assert harmless(FORMULAS + PLAIN) == FORMULAS + PLAIN
    with for_spreadsheets():
        assert harmless(FORMULAS + PLAIN) == [f"'{cell}" for cell in FORMULAS] + PLAIN
    assert harmless(FORMULAS) == FORMULAS


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["@who", "=a", "b", "c", "d"])
        writer.writerows([f"=HYPERLINK({i})", *row] for i, row in enumerate(X.tolist()))
    return path


def cells(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("safe", [False, True])
def test_a_table_for_spreadsheets(safe, table, tmp_path):
    model, out = tmp_path / "m.npz", tmp_path / "out.csv"
    KernelPCA(2, random_state=0).fit(X).save(model)
    good("reconstruct", model, table, "-o", out, *["--safe-csv"] * safe)
    header, first, *_ = cells(out)
    mark = "'" if safe else ""
    assert header == [f"{mark}@who", f"{mark}=a", "b", "c", "d"]
    assert first[0] == f"{mark}=HYPERLINK(0)"
    assert [float(cell) for cell in first[1:]]


def test_a_list_of_alarms_for_spreadsheets(table, tmp_path):
    model, out = tmp_path / "m.npz", tmp_path / "alarms.csv"
    Monitor(alpha=0.3).fit(X).save(model)
    good("monitor", model, table, "-o", out, "--safe-csv")
    header, *alarms = cells(out)
    assert header[1] == "'@who"
    assert alarms
    assert all(alarm[1].startswith("'=") for alarm in alarms)
