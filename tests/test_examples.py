"""The scripts under examples/, run as a user runs them; what they print lies within bounds."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")

    def run(name):
        import matplotlib.pyplot as plt

        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        plt.close("all")
        return capsys.readouterr().out

    return run


def figure(text, label):
    """The number in the line that begins with this label."""
    (line,) = (line for line in text.splitlines() if line.startswith(label))
    return float(re.search(r"-?\d+(\.\d+)?(e-?\d+)?", line[len(label) :])[0])


def test_digits_come_out_of_the_noise(run):
    text = run("denoise_digits")
    assert figure(text, "noisy input") == pytest.approx(4.24, abs=0.01)
    assert figure(text, "linear PCA") == pytest.approx(8.68, abs=0.02)
    assert figure(text, "kernel PCA") == pytest.approx(11.48, abs=0.05)
    assert 10 < figure(text, "noisy digits only") < 11.2
    assert figure(text, "noise level found") == pytest.approx(0.3, rel=0.04)


@pytest.mark.slow
def test_lost_pixels_are_found(run):
    text = run("missing_pixels")
    assert figure(text, "mean of the column") == pytest.approx(0.271, abs=0.002)
    assert figure(text, "kernel PCA, distances") < figure(text, "nearest neighbours") - 0.005
    assert 0.12 < figure(text, "kernel PCA, distances") < 0.145
    assert 0.17 < figure(text, "kernel PCA, learned") < 0.19  # where a peer wins, the guide says so
    assert "known pixels unchanged: True" in text


def test_images_of_other_digits_have_more_novelty(run):
    text = run("odd_one_out")
    areas = {name: figure(text, f"{name:18} mean area under the curve") for name in ("isolation forest", "kernel PCA")}
    assert areas["isolation forest"] + 0.02 < areas["kernel PCA"] < 0.995
    worst = {name: float(worst) for name, worst in re.findall(r"^(.*\w) +mean.*digit ([\d.]+)$", text, re.MULTILINE)}
    assert worst["kernel PCA"] > worst["linear PCA"] > worst["isolation forest"]


def test_unknown_classes_are_told_from_an_embedding(run):
    text = run("novel_embeddings")
    area = {
        name: figure(text, f"{name:24} mean area under the curve")
        for name in ("isolation forest", "local outlier factor", "one-class SVM", "monitor, both")
    }
    assert area["monitor, both"] > area["isolation forest"] + 0.2
    assert area["monitor, both"] > area["one-class SVM"] + 0.2
    assert area["monitor, both"] == pytest.approx(area["local outlier factor"], abs=0.03)
    assert 3 < float(re.search(r"measured ([\d.]+) %", text)[1]) < 9  # 5 % are stated, and 300 rows set the limit


@pytest.mark.slow
def test_windows_of_a_signal_denoise_each_other(run):
    text = run("noisy_signal")
    assert figure(text, "noisy   ") == pytest.approx(0.89, abs=0.02)
    assert figure(text, "kernel PCA of windows") > figure(text, "Savitzky-Golay, its best width") + 3
    assert 9.5 < figure(text, "kernel PCA of windows") < 12
    assert figure(text, "Savitzky-Golay, its best width") + 4 < figure(text, "Denoiser") < 13
    assert figure(text, "noise level found") == pytest.approx(0.2, rel=0.05)


def test_a_nearly_linear_table_has_little_to_gain(run):
    text = run("noisy_table")
    assert figure(text, "noisy") == pytest.approx(0.248, abs=0.001)
    assert figure(text, "linear PCA at its best") == pytest.approx(0.137, abs=0.001)
    assert 0.115 < figure(text, "kernel PCA") < figure(text, "linear PCA at its best")


def test_rows_in_a_file_have_the_components_of_rows_in_memory(run):
    text = run("many_rows")
    assert "codes of 60000 rows: 6 columns" in text
    assert 0 < figure(text, "share of the kernel's trace that the landmarks miss:") < 1e-3
    assert figure(text, "explained variance against an exact fit of 1500 rows: at most") < 1.5
    assert figure(text, "the same from a stream: at most") < 0.05


def test_fewer_points_do_the_same(run):
    text = run("fewer_points")
    assert 0.1 < figure(text, "kernel PCA: 800 points to 80, error of codes") < 2
    exact, small = (
        figure(text, label) for label in ("SVC: 373 support vectors, accuracy", "compressed: 37 points, accuracy")
    )
    assert exact > 98
    assert small > exact - 1


@pytest.mark.slow
def test_two_components_hold_more_than_half_of_four_digits(run):
    assert 0.5 < figure(run("code_plane"), "share of the variance that two components keep:") < 0.8


@pytest.mark.slow
def test_a_photograph_is_denoised_from_itself(run):
    noisy, answer, told = map(float, re.findall(r"([\d.]+) dB", run("photograph")))
    assert answer > noisy + 5
    assert told == pytest.approx(answer, abs=1.5)


@pytest.mark.slow
def test_rings_are_told_apart_by_the_kernel_alone(run):
    text = run("kmeans_centroids")
    assert figure(text, "k-means          adjusted Rand index") < 0.1
    assert figure(text, "kernel k-means   adjusted Rand index") > 0.9


@pytest.mark.slow
def test_a_cluster_gives_the_numbers_of_one_machine(run):
    pytest.importorskip("dask")
    assert figure(run("dask_cluster"), "explained variance, cluster against one machine: at most") < 1


@pytest.mark.slow
def test_the_migration_changes_no_numbers(run):
    codes, back = map(float, re.search(r"of codes (\S+), of reconstructions (\S+)", run("from_scikit_learn")).groups())
    assert max(codes, back) < 1e-8


@pytest.mark.slow
def test_the_sensor_that_is_off_is_named(run):
    text = run("watched_process")
    assert re.search(r"row \d+: x2 reads", text)
    before, after = (float(share) for share in re.findall(r"(?:fault|it) ([\d.]+)%", text))
    assert before < 5 < 80 < after
