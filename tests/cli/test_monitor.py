"""``preimage monitor``: alarms of files and of lines as they come."""

import csv
import html
import json
import re
import subprocess
import sys
from io import StringIO

import numpy as np
import pytest

import preimage
from console import ENVIRONMENT, PREIMAGE, call, good, put
from preimage import KernelPCA, Monitor
from preimage.io.log import Layout, lines_as_they_arrive

NAMES = tuple("abcdefgh")
LEARN = ("--kernel", "linear", "--components", "3", "--alpha", "0.05")


def plant(n, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((3, 8))
    return rng.standard_normal((n, 3)) @ mixing + 0.3 * rng.standard_normal((n, 8))


@pytest.fixture
def files(tmp_path):
    new = plant(60, 1)
    new[40:, 4] += 8
    return put(tmp_path / "normal.csv", plant(200), NAMES), put(tmp_path / "new.csv", new, NAMES), new


def alarms(text):
    return list(csv.DictReader(StringIO(text)))


def test_alarms_are_listed_with_their_sensors(files, tmp_path):
    normal, new, rows = files
    told = good("monitor", normal, new, "-o", tmp_path / "alarms.csv", *LEARN)
    found = alarms((tmp_path / "alarms.csv").read_text())
    monitor = Monitor(KernelPCA(3, kernel="linear"), alpha=0.05, random_state=0).fit(plant(200))
    assert [int(line["row"]) - 1 for line in found] == np.flatnonzero(monitor.predict(rows) == -1).tolist()
    late = [line for line in found if int(line["row"]) > 40]
    assert len(late) == 20
    assert {line["sensor"] for line in late} == {"e"}
    table = monitor.diagnose(rows, n_columns=1)
    np.testing.assert_allclose([float(line["expected"]) for line in found], table["expected"], rtol=1e-4)
    np.testing.assert_allclose(
        [float(line["p_value"]) for line in found], monitor.p_values(rows)[table["row"]], rtol=1e-4
    )
    assert f"alarms in {len(found)} of 60 rows" in told.output
    assert "e (20)" in told.output


def test_json_tells_the_run(files, tmp_path):
    normal, new, _ = files
    told = json.loads(good("monitor", normal, new, "-o", tmp_path / "alarms.csv", "--json", *LEARN).output)
    assert told["rows"] == 60
    assert told["alarms"] == len(alarms((tmp_path / "alarms.csv").read_text()))
    assert told["sensors"]["e"] == 20
    assert told["components"] == 3
    assert told["first_alarms"][0]["row"] == told["first_alarm"]


def test_no_alarm_is_no_error(files, tmp_path):
    normal, _, _ = files
    quiet = put(tmp_path / "quiet.csv", np.zeros((5, 8)) + plant(200).mean(axis=0), NAMES)
    done = good("monitor", normal, quiet, "-o", tmp_path / "alarms.csv", *LEARN)
    assert "no alarm in 5 rows" in done.output
    assert alarms((tmp_path / "alarms.csv").read_text()) == []


@pytest.mark.parametrize("memory", [(), ("--memory", "ewma:0.3", "--lags", "1"), ("--memory", "cusum")])
def test_lines_raise_the_alarms_of_the_file(files, tmp_path, memory):
    normal, new, _ = files
    told = good("monitor", normal, "--save", tmp_path / "model.npz", *LEARN, *memory).output
    assert "Linear(), 3 components, false-alarm rate 0.05" in told
    whole = good("monitor", tmp_path / "model.npz", new).output
    lines = good("monitor", tmp_path / "model.npz", "-", input=new.read_text()).output
    assert alarms(lines) == alarms(whole)
    assert len(alarms(whole)) >= 15
    assert preimage.load(tmp_path / "model.npz").columns_ == list(NAMES)


def test_gaps_broken_lines_and_moved_constants_are_alarms(files, tmp_path):
    normal, _, _ = files
    X, new = plant(200), plant(6, 1)
    X[:, 7] = new[:, 7] = 2.5
    put(normal, X, NAMES)
    good("monitor", normal, "--save", tmp_path / "model.npz", *LEARN)
    new[1, 3], new[3, 7] = np.nan, 2.6
    text = put(tmp_path / "new.csv", new, NAMES).read_text() + "1,2,3\n" + "1,2,3,4,5,6,7,what\n"
    found = {int(line["row"]): line for line in alarms(good("monitor", tmp_path / "model.npz", "-", input=text).output)}
    assert (found[2]["alarm"], found[2]["sensor"], found[2]["T2"]) == ("missing", "d", "")
    assert (found[4]["alarm"], found[4]["sensor"], found[4]["reading"], found[4]["expected"]) == (
        "constant",
        "h",
        "2.6",
        "2.5",
    )
    assert [found[number]["alarm"] for number in (7, 8)] == ["unreadable", "unreadable"]
    listed = good("monitor", tmp_path / "model.npz", tmp_path / "new.csv").output
    assert {int(line["row"]) for line in alarms(listed)} == {row for row in found if row < 7}


def test_a_page_shows_the_run(files, tmp_path):
    normal, new, _ = files
    good("monitor", normal, new, "-o", tmp_path / "alarms.csv", "--report", tmp_path / "page.html", *LEARN)
    page = (tmp_path / "page.html").read_text()
    for words in ("The run", "Alarms", "Which sensor", "Limits", "data:image/png", ">e<"):
        assert words in page


@pytest.fixture
def log(tmp_path):
    """A log as a plant writes it: times, text, a constant and a gap; in the last ten rows one sensor is off."""

    def text(rows, day):
        lines = [",".join(["time", *NAMES, "operator"])]
        for minute, row in enumerate(rows):
            cells = ["" if np.isnan(value) else f"{value:.4f}" for value in row]
            lines.append(",".join([f"2026-03-{day:02d} {minute // 60:02d}:{minute % 60:02d}:00", *cells, "Ann"]))
        return "\n".join(lines) + "\n"

    normal, new = plant(200), plant(60, 1)
    normal[:, 7] = new[:, 7] = 2.5
    new[20, 3], new[30, 7], normal[9, 0] = np.nan, 3.5, np.nan
    new[50:, 4] += 8
    for name, rows, day in (("normal.csv", normal, 1), ("new.csv", new, 2)):
        (tmp_path / name).write_text(text(rows, day))
    return tmp_path


def test_times_and_text_are_carried_to_the_alarms(log):
    told = good("monitor", log / "normal.csv", "--save", log / "model.npz", *LEARN).output
    assert "constant: 'h'; any later change is an alarm" in told
    assert "1 row of 200 with gaps left out" in told
    whole = good("monitor", log / "model.npz", log / "new.csv").output
    found = {int(line["row"]): line for line in alarms(whole)}
    assert (found[21]["time"], found[21]["operator"], found[21]["alarm"]) == ("2026-03-02 00:20:00", "Ann", "missing")
    assert (found[31]["alarm"], found[31]["sensor"]) == ("constant", "h")
    assert {found[row]["sensor"] for row in range(51, 61)} == {"e"}
    text = (log / "new.csv").read_text()
    for lines in (text, text.split("\n", 1)[1]):  # with the header, and without it as ``tail -f`` begins
        assert alarms(good("monitor", log / "model.npz", "-", input=lines).output) == alarms(whole)


def test_a_stream_in_json_is_one_object_per_line(log):
    good("monitor", log / "normal.csv", "--save", log / "model.npz", *LEARN)
    text = (log / "new.csv").read_text()
    listed = alarms(good("monitor", log / "model.npz", "-", input=text).output)
    found = [
        json.loads(line) for line in good("monitor", log / "model.npz", "-", "--json", input=text).output.splitlines()
    ]
    assert [str(alarm["row"]) for alarm in found] == [line["row"] for line in listed]
    assert found[-1]["carried"] == {"time": "2026-03-02 00:59:00", "operator": "Ann"}


@pytest.mark.filterwarnings("ignore::preimage.exceptions.PreimageWarning")
def test_a_page_names_a_changed_constant_within_other_alarms_and_its_python_runs(log, monkeypatch):
    monkeypatch.chdir(log)
    text = (log / "new.csv").read_text().splitlines()
    text[56] = text[56].replace(",2.5000,", ",3.5000,")
    (log / "new.csv").write_text("\n".join(text))
    good("monitor", "normal.csv", "new.csv", "-o", "alarms.csv", "--report", "page.html", *LEARN)
    page = (log / "page.html").read_text()
    for rows in ("51–55", "57–60"):
        assert f">{rows}<" in page
    assert page.count(">constant<") == 2
    code = html.unescape(re.search(r"<pre[^>]*>(?:<code[^>]*>)?(.*?)<", page, re.DOTALL)[1])
    done = {}
    exec(code, done)
    listed = [int(line["row"]) for line in alarms((log / "alarms.csv").read_text()) if line["alarm"] != "missing"]
    gap = 20  # the row that is left out
    assert [row + 1 + (row >= gap) for row in np.flatnonzero(done["alarms"])] == listed


def test_normal_rows_that_mostly_have_gaps_are_refused_with_the_column(files, tmp_path):
    normal, new, _ = files
    X = plant(200)
    X[:150, 2] = np.nan
    put(normal, X, NAMES)
    done = call("monitor", normal, new, *LEARN)
    assert done.exit_code == 1
    assert "150 of 200 rows have gaps, most in column 'c': leave such columns out with --keep" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("normal.csv",), "give the rows to monitor"),
        (("normal.csv", "-", "--report", "page.html"), "--report needs a complete run"),
        (("normal.csv", "narrow.csv"), "has 2 columns, but the model was fitted on 8"),
        (("other.npz", "new.csv", "--seed", "1"), "is already fitted"),
        (("normal.csv", "new.csv", "--memory", "long"), "is not a memory"),
        (("normal.csv", "new.csv", "--alpha", "2"), "alpha must lie between 0 and 1"),
        (("normal.csv", "missing.csv"), "does not exist"),
        (("normal.csv", "new.csv", "--json"), "would both go to standard output"),
        (("model.npz", "new.csv", "--lags", "1"), "is already fitted, so --lags"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(files, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "narrow.csv", plant(5)[:, :2], None)
    KernelPCA(2).fit(plant(20)).save(tmp_path / "other.npz")
    Monitor(KernelPCA(2)).fit(plant(200)).save(tmp_path / "model.npz")
    done = call("monitor", *arguments, *(() if {"--alpha", "--lags"} & {*arguments} else LEARN))
    assert done.exit_code != 0
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_damaged_model_is_not_read_as_rows(files, tmp_path):
    model = tmp_path / "model.npz"
    Monitor(KernelPCA(3, kernel="linear"), random_state=0).fit(plant(200)).save(model)
    content = bytearray(model.read_bytes())
    content[content.index(b"estimator")] ^= 1
    model.write_bytes(content)
    done = call("monitor", model, files[1])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {model} cannot be loaded")


def test_a_model_of_another_class_is_told(tmp_path):
    KernelPCA(2).fit(plant(20)).save(tmp_path / "other.npz")
    done = call("monitor", tmp_path / "other.npz", "-", input="")
    assert done.exit_code == 1
    assert "holds a KernelPCA, which has no p_values" in done.output


def test_alarms_come_out_while_the_input_is_open(files, tmp_path):
    normal, _, rows = files
    good("monitor", normal, "--save", tmp_path / "model.npz", *LEARN)
    command = [PREIMAGE, "monitor", tmp_path / "model.npz", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout.readline().startswith("row,alarm,T2")
        process.stdin.write(",".join(map(str, rows[45])) + "\n")
        process.stdin.flush()
        line = process.stdout.readline().split(",")
        assert (line[0], line[5]) == ("1", "e")
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_header_in_any_delimiter_is_no_row():
    for mark in (",", ";", "\t", " "):
        text = "\ufeff" + mark.join(["x", "y"]) + "\n" + mark.join(["1", "2"]) + "\n\n" + mark.join(["3", "nan"]) + "\n"
        found = [line.row for line in lines_as_they_arrive(StringIO(text), Layout(("x0", "x1"), (0, 1)))]
        np.testing.assert_array_equal(found, [[1, 2], [3, np.nan]])


LOG = Layout(("time", "a", "unit", "b"), (1, 3))


def log_lines(text, **settings):
    return list(lines_as_they_arrive(StringIO(text), LOG, **settings))


def test_lines_without_a_header_have_the_columns_of_the_model():
    (line,) = log_lines("2026-03-01 10:00,1.5,bar,2\n")
    np.testing.assert_array_equal(line.row, [1.5, 2])
    assert line.carried == ("2026-03-01 10:00", "bar")


def test_a_header_at_any_place_says_where_the_columns_are():
    first, second = log_lines("t1,1,bar,2\nb,other,time,a\n4,9,t2,3\n")
    np.testing.assert_array_equal([first.row, second.row], [[1, 2], [3, 4]])
    assert (first.carried, second.carried) == (("t1", "bar"), ("t2", ""))


def test_a_header_without_a_column_of_the_model_is_refused():
    with pytest.raises(ValueError, match="standard input has no column 'b'"):
        log_lines("time,a,unit,c\n")


def test_cells_in_quotes_decimal_commas_and_marks_of_missing_numbers_are_read():
    assert log_lines('"10:00, Monday",1,bar,2\n')[0].carried == ("10:00, Monday", "bar")
    np.testing.assert_array_equal(log_lines("t;1,5;bar;-2,25\n")[0].row, [1.5, -2.25])
    np.testing.assert_array_equal(log_lines("t,BAD,bar,2\n", missing=("bad",))[0].row, [np.nan, 2])


def test_lines_that_are_no_rows_say_what_is_wrong():
    short, wrong = log_lines("t,1,bar,2\n1,2\nt,1,bar,ERR\n")[1:]
    assert (short.row, short.wrong, short.carried) == (None, None, ("", ""))
    assert (wrong.row, wrong.wrong, wrong.carried) == (None, 1, ("t", "bar"))


FLAT = """
import resource, sys
import numpy as np
import preimage
run = preimage.load(sys.argv[1]).stream()
rows = np.random.default_rng(0).standard_normal((100, 8))
for number in range(int(sys.argv[2])):
    run.update(rows[number % 100])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_the_memory_of_a_stream_does_not_grow(tmp_path):
    Monitor(KernelPCA(3, kernel="linear"), alpha=0.05, lags=2, memory="cusum").fit(plant(200)).save(tmp_path / "m.npz")
    unit = 1024 if sys.platform != "darwin" else 1
    used = [
        int(
            subprocess.run(
                [sys.executable, "-c", FLAT, tmp_path / "m.npz", str(count)],
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for count in (500, 8000)
    ]
    assert (used[1] - used[0]) * unit < 4 * 2**20
