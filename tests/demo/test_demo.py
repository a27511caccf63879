"""The demonstration, run once through the console entry a user types; its page, read back and looked at."""

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from browser import chromium
from preimage.cli import main
from preimage.demo import run
from preimage.demo.digits import Entry

PREIMAGE = Path(sys.executable).with_name("preimage")


def demo(*arguments):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [PREIMAGE, "demo", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Figures and page of one run."""
    folder = tmp_path_factory.mktemp("demo") / "here"
    answer = demo("--out", folder, "--json")
    assert answer.returncode == 0, answer.stderr
    figures = json.loads(answer.stdout)
    assert [path.name for path in folder.iterdir()] == ["report.html"]
    return figures, Path(figures["report"])


class Page(HTMLParser):
    """Cells of the tables, blocks of code and pictures of a page."""

    def __init__(self, path):
        super().__init__()
        self.code, self.rows, self.pictures, self.text = [], [], 0, ""
        self._in = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self._in.append(tag)
        if tag == "pre":
            self.code.append("")
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "img":
            self.pictures += 1

    def handle_endtag(self, tag):
        while self._in.pop() != tag:
            pass

    def handle_data(self, data):
        self.text += data
        if "pre" in self._in:
            self.code[-1] += data
        elif "td" in self._in:
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def page(done):
    return Page(done[1])


def scores(entries):
    return {entry["method"].partition(" (")[0]: entry["snr"] for entry in entries}


def test_kernel_pca_removes_more_noise_than_its_peers(done):
    snr = scores(done[0]["clean_examples"])
    assert 4.0 < snr["noisy input"] < 4.5
    assert 8.3 < snr["linear PCA"] < 9.1
    assert 9.7 < snr["scikit-learn KernelPCA"] < 10.5
    for method in ("fixed point", "distances"):
        assert snr["scikit-learn KernelPCA"] + 0.8 < snr[method] < 12.5
    assert max(snr.values()) == snr["Denoiser, noise law given"] > snr["fixed point"] + 0.3


def test_noisy_digits_alone_are_denoised_too(done):
    snr = scores(done[0]["noisy_only"])
    assert snr["noisy input"] == scores(done[0]["clean_examples"])["noisy input"]
    assert snr["linear PCA"] + 0.5 < snr["scikit-learn KernelPCA"] < snr["Denoiser"] - 0.6
    assert snr["Denoiser"] < scores(done[0]["clean_examples"])["Denoiser, noise law given"] - 1


def test_the_page_holds_the_same_figures(done, page):
    for entry in done[0]["clean_examples"] + done[0]["noisy_only"]:
        assert [entry["method"], f"{entry['snr']:.2f}", f"{entry['seconds']:.2f}", entry["settings"]] in page.rows
    best = max(entry["snr"] for entry in done[0]["clean_examples"][:-1])
    assert f"to {best:.1f} dB" in " ".join(page.text.split())


@pytest.mark.slow
def test_the_python_code_does_what_the_page_says(done, page, tmp_path, monkeypatch):
    """The code runs, and its denoised digits have the figures of the tables."""
    import matplotlib.pyplot as plt

    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    (code,) = page.code
    exec(compile(code, "report.html", "exec"), names)
    plt.close("all")

    def snr(denoised):
        error = np.square(denoised - names["clean"]).sum(axis=1)
        return np.mean(10 * np.log10(np.square(names["clean"]).sum(axis=1) / error))

    assert snr(names["noisy"]) == pytest.approx(scores(done[0]["clean_examples"])["noisy input"], abs=1e-9)
    assert snr(names["denoised"]) == pytest.approx(scores(done[0]["clean_examples"])["fixed point"], abs=0.01)
    assert snr(names["denoised_alone"]) == pytest.approx(scores(done[0]["noisy_only"])["Denoiser"], abs=0.01)
    gaps = np.isnan(names["gappy"])
    np.testing.assert_array_equal(names["filled"][~gaps], names["clean"][~gaps])
    assert np.sqrt(np.mean((names["filled"] - names["clean"])[gaps] ** 2)) < 0.2
    assert names["novelty"].min() > 0


def test_the_page_opens_without_network_at_every_width(done, page):
    path = done[1]
    assert path.stat().st_size < 3_000_000
    assert page.pictures == 4
    with chromium() as look:
        for width in (1280, 390):
            seen = look(path, width)
            assert len(seen.pictures) == page.pictures
            assert all(natural > 600 and 250 < shown <= width for natural, shown in seen.pictures)
            assert (seen.overflow, seen.beyond, seen.complaints) == (0, 0, [])
            assert [url for url in seen.requests if not url.startswith("data:")] == [path.as_uri()]


def test_the_terminal_shows_the_table_and_ends_with_the_path(done, monkeypatch):
    """The same figures, as the command shows them."""
    groups = {
        name: tuple(Entry(**entry, images=np.zeros(0)) for entry in done[0][name])
        for name in ("clean_examples", "noisy_only")
    }
    rows = SimpleNamespace(train=range(1000), clean=range(200), noisy_only=range(800))
    shown = SimpleNamespace(digits=rows, **groups)
    monkeypatch.setattr("preimage.demo.run", lambda out, seed, overwrite: (shown, out / f"{seed}.html"))
    answer = CliRunner().invoke(main, ["demo", "--out", "there", "--seed", "7"])
    assert answer.exit_code == 0
    for entry in done[0]["clean_examples"]:
        assert f"{entry['snr']:.2f}" in answer.stdout
    assert "with 1000 clean examples" in answer.stdout
    assert answer.stdout.splitlines()[-1] == str(Path("there", "7.html"))


def test_interrupted_work_leaves_no_folder(tmp_path, monkeypatch):
    def interrupt(seed):
        raise KeyboardInterrupt

    monkeypatch.setattr("preimage.demo.digits.demonstrate", interrupt)
    (tmp_path / "old").mkdir()
    for out in (tmp_path / "new" / "below", tmp_path / "old"):
        with pytest.raises(KeyboardInterrupt):
            run(out, 0)
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


def test_a_place_that_cannot_be_written_gets_a_sentence_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    answer = demo("--out", tmp_path / "file" / "below")
    assert answer.returncode == 1
    assert "not a directory" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
