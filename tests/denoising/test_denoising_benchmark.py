"""The peers of the denoising benchmark do what they say, on data whose best answer is known."""

import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from preimage.noise import GaussianNoise
from preimage_papers.protocols import Protocol, load

FOLDER = Path(__file__).parents[2] / "benchmarks"
SIGMA, D = 0.5, 8
VARIANCES = np.geomspace(4, 0.01, D)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not here")


@pytest.fixture(scope="module", autouse=True)
def folder():
    """The benchmarks import each other by name, as scripts of one folder do."""
    names = ("denoising", "denoising_peers", "denoising_filters", "denoising_networks")
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def peers(folder):
    return import_module("denoising_peers")


@pytest.fixture(scope="module")
def bench(folder):
    return import_module("denoising")


def rows(n, seed):
    """Gaussian rows with prescribed variances along rotated axes."""
    rng = np.random.default_rng([seed, 12345])  # of a stream that no noise is drawn from
    axes = np.linalg.qr(np.random.default_rng(99).standard_normal((D, D)))[0]
    return 3 + (rng.standard_normal((n, D)) * np.sqrt(VARIANCES)) @ axes.T


def noisy(clean, seed):
    return GaussianNoise(SIGMA)(clean, np.random.default_rng(seed))


def mse(denoise, clean, dirty):
    return float(np.mean(np.square(denoise(dirty) - clean)))


def clean_task(peers, noise=None, n=4000):
    return peers.Task(rows(n, 0), np.arange(0, n, 4), noise or GaussianNoise(SIGMA), (D,))


def blind_task(peers, n=4000):
    return peers.Task(noisy(rows(n, 0), 1), np.arange(0, n, 4), GaussianNoise(SIGMA), (D,), blind=True)


@pytest.fixture(scope="module")
def test_rows():
    clean = rows(20_000, 5)
    return clean, noisy(clean, 6)


BEST = float(np.mean(VARIANCES * SIGMA**2 / (VARIANCES + SIGMA**2)))


def test_the_wiener_filter_reaches_the_least_error_of_gaussian_rows(peers, test_rows):
    assert 0.98 * BEST < mse(peers.wiener(clean_task(peers)), *test_rows) < 1.02 * BEST
    assert 0.98 * BEST < mse(peers.wiener(blind_task(peers)), *test_rows) < 1.03 * BEST


def test_the_wiener_filter_from_copies_is_the_one_in_closed_form(peers, test_rows):
    far = GaussianNoise(SIGMA, clip=(-1000, 1000))
    copied, closed = (peers.wiener(task)(test_rows[1]) for task in (clean_task(peers, far), clean_task(peers)))
    assert np.mean(np.square(copied - closed)) < 0.01 * BEST


def test_a_mixture_reaches_the_least_error_of_gaussian_rows(peers, test_rows):
    for task in (clean_task(peers, n=1000), blind_task(peers, n=1000)):
        assert 0.98 * BEST < mse(peers.mixture(task), *test_rows) < 1.08 * BEST


def test_a_mixture_of_points_answers_with_the_nearest(peers):
    points = np.array([[-3.0, 0.0], [3.0, 1.0], [0.0, 5.0]])
    train = np.repeat(points, 100, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((300, 2))
    task = peers.Task(train, np.arange(0, 300, 4), GaussianNoise(0.3), (2,))
    again = np.repeat(points, 50, axis=0)
    assert np.abs(peers.mixture(task)(GaussianNoise(0.3)(again, np.random.default_rng(3))) - again).max() < 0.25


def test_linear_pca_keeps_the_directions_that_exceed_the_noise(peers, test_rows):
    kept = VARIANCES > SIGMA**2
    expected = float(np.mean(np.where(kept, SIGMA**2, VARIANCES)))
    for task in (clean_task(peers), blind_task(peers)):
        assert 0.97 * expected < mse(peers.linear_pca(task), *test_rows) < 1.03 * expected


def test_scored_without_clean_rows_a_map_has_its_true_error(peers):
    blind, told = blind_task(peers, 8000), clean_task(peers, n=8000)
    peers.N_VALIDATION, before = 8000, peers.N_VALIDATION
    try:
        for factor in (0.3, 0.8):
            seen, true = (task.risk(lambda Y, factor=factor: 3 + factor * (Y - 3)) for task in (blind, told))
            exact = float(np.mean(factor**2 * SIGMA**2 + (1 - factor) ** 2 * VARIANCES))
            assert abs(true / exact - 1) < 0.1
            assert abs(seen / exact - 1) < 0.15
    finally:
        peers.N_VALIDATION = before


def test_peers_that_need_clean_rows_refuse_noisy_ones(peers):
    assert peers.learned(blind_task(peers, 100)) is None
    assert peers.kernel_ridge(blind_task(peers, 100)) is None


def test_kernel_ridge_on_corrupted_copies_comes_near_the_least_error(peers, test_rows, monkeypatch):
    monkeypatch.setattr(peers, "COPIES", 800)
    clean, dirty = (part[:2000] for part in test_rows)
    assert 0.95 * BEST < mse(peers.kernel_ridge(clean_task(peers, n=300)), clean, dirty) < 1.4 * BEST


def test_one_task_a_class_learns_and_is_tested_on_that_class_alone(bench):
    labels = np.repeat(np.arange(10), 6)
    X = labels[:, None] + np.zeros((60, 4))
    protocol = Protocol(
        "P2g", X, X, np.flatnonzero(np.arange(60) % 6 < 4), np.flatnonzero(np.arange(60) % 6 >= 4), (2, 2),
        GaussianNoise(0.1), labels, labels,
    )  # fmt: skip
    tasks = list(bench.tasks(protocol, draws=2, every=1))
    assert [len(tests) for _, tests in tasks] == [2] * 10
    for digit, (task, tests) in enumerate(tasks):
        assert np.all(task.train == digit) and np.array_equal(task.validation, [4, 5])
        assert all(np.all(clean == digit) and len(dirty) == 6 for clean, dirty in tests)


def test_the_noisy_input_is_measured_as_it_is(bench, peers):
    protocol = load("P3")
    value, *_ = bench.measured("noisy input", lambda task: lambda Y: Y, protocol, 1)
    power = np.mean(10 * np.log10(np.square(protocol.test).sum(axis=1) / (64 * 0.25**2)))
    assert abs(value - power) < 0.15


def test_the_oracle_takes_the_setting_of_the_least_error():
    filters = import_module("denoising_filters")
    clean = np.sin(np.arange(400) / 15)
    dirty = clean + 0.3 * np.random.default_rng(0).standard_normal(400)
    apply, settings = filters.SIGNAL_SETTINGS["Savitzky–Golay"]
    found, chosen = filters.oracle(apply, settings, dirty, 0.3, clean)
    errors = {s: np.mean(np.square(apply(dirty, 0.3, s) - clean)) for s in settings}
    assert chosen == min(errors, key=errors.get)
    assert np.mean(np.square(found - clean)) < 0.15 * 0.3**2


def test_filters_of_images_remove_noise():
    pytest.importorskip("skimage")
    pytest.importorskip("pywt")
    filters = import_module("denoising_filters")
    clean = np.kron(np.random.default_rng(0).random((3, 3)), np.ones((16, 16)))
    dirty = clean + 0.1 * np.random.default_rng(1).standard_normal(clean.shape)
    for name in ("NLM", "TV", "wavelets"):
        found, _ = filters.oracle(*filters.SETTINGS[name], dirty, 0.1, clean)
        assert np.mean(np.square(found - clean)) < 0.4 * 0.1**2, name


def test_the_table_shows_the_figures_and_a_dash_where_there_are_none(bench, capsys):
    report = {"protocols": {"one": {"P3": {"dB": -1.234, "fit": 12.3, "apply": 0.5}}}}
    bench.take_in(report, {"protocols": {"two": {"P3": {"dB": None, "fit": None, "apply": None}}}})
    bench.show("protocols", report["protocols"], SimpleNamespace(markdown=True, record=False))
    printed = capsys.readouterr().out
    assert "| | P3 |\n| --- | --- |\n| one | −1.23 |\n| two | – |" in printed
    assert "| one | 12 + 0.5 |" in printed
