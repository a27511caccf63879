import os
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets

from preimage import datasets
from preimage.datasets import DatasetNotFound

TOYS = [
    datasets.parabola,
    datasets.three_clusters,
    lambda n, **keywords: datasets.eleven_gaussians(n, **keywords).train,
    datasets.half_circle,
    datasets.square,
    datasets.s_curve,
]
NAMES = ["parabola", "three_clusters", "eleven_gaussians", "half_circle", "square", "s_curve"]
USPS_TEST_COUNTS = [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]
USPS_TRAIN_COUNTS = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]

every_toy = pytest.mark.parametrize("toy", TOYS, ids=NAMES)


def within(estimate, truth, standard_error):
    """Two-sided: five standard errors of the estimate."""
    return np.all(np.abs(estimate - truth) < 5 * standard_error)


def is_uniform(sample, low, high):
    """Kolmogorov's distance to the uniform law stays below its 10⁻⁶ quantile, and the range is kept."""
    u, n = np.sort((sample - low) / (high - low)), len(sample)
    distance = np.abs(u - (np.arange(n) + 0.5) / n).max() + 0.5 / n
    return u[0] >= 0 and u[-1] <= 1 and distance < 2.7 / np.sqrt(n)


# Toy sets


@every_toy
def test_a_seed_repeats_the_set(toy):
    for first, second in zip(toy(40, random_state=3), toy(40, random_state=3), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(toy(40, random_state=3).X, toy(40, random_state=4).X)


@every_toy
def test_a_generator_is_used_and_advanced(toy):
    rng = np.random.default_rng(3)
    first, second = toy(40, random_state=rng), toy(40, random_state=rng)
    np.testing.assert_array_equal(first.X, toy(40, random_state=3).X)
    assert not np.array_equal(first.X, second.X)


@every_toy
def test_without_noise_points_are_clean(toy):
    sample = toy(40, noise=0, random_state=0)
    np.testing.assert_array_equal(sample.X, sample.clean)


@every_toy
def test_negative_noise_is_refused(toy):
    with pytest.raises(ValueError, match="must be ≥ 0"):
        toy(40, noise=-0.1)


@pytest.mark.parametrize("toy", [toy for toy in TOYS if toy is not datasets.parabola], ids=NAMES[1:])
@pytest.mark.parametrize("noise", [0.1, 0.4])
def test_noise_is_white_gaussian(toy, noise):
    sample = toy(3000, noise=noise, random_state=1)
    error = sample.X - sample.clean
    n, d = error.shape
    assert within(error.mean(axis=0), 0, noise / np.sqrt(n))
    covariance_error = noise**2 * np.sqrt((1 + np.eye(d)) / n)
    assert within(error.T @ error / n, noise**2 * np.eye(d), covariance_error)


def test_parabola_follows_its_law():
    X, clean, x = datasets.parabola(20_000, random_state=0)
    assert is_uniform(x, -1, 1)
    np.testing.assert_array_equal(X[:, 0], x)
    np.testing.assert_array_equal(clean, np.column_stack([x, x**2]))
    error = X[:, 1] - x**2
    assert within(error.mean(), 0, 0.2 / np.sqrt(20_000))
    assert within(error.var(), 0.2**2, 0.2**2 * np.sqrt(2 / 20_000))
    assert within(np.corrcoef(error, x)[0, 1], 0, 1 / np.sqrt(20_000))


def test_three_clusters_lie_in_the_depicted_region():
    sample = datasets.three_clusters(random_state=0)
    assert sample.X.shape == (90, 2)
    np.testing.assert_array_equal(np.bincount(sample.labels), [30, 30, 30])
    # Three standard deviations of every cluster fit into the region that the paper depicts.
    assert np.all(sample.centers - 0.3 >= [-1, -0.5]) and np.all(sample.centers + 0.3 <= [1, 1])
    gaps = np.linalg.norm(sample.centers[:, None] - sample.centers, axis=2)[np.triu_indices(3, 1)]
    assert gaps.min() > 6 * 0.1


def test_eleven_gaussians_have_the_sizes_of_the_paper():
    train, test = datasets.eleven_gaussians(random_state=0)
    assert train.X.shape == (1100, 10) and test.X.shape == (363, 10)
    np.testing.assert_array_equal(np.bincount(train.labels), [100] * 11)
    np.testing.assert_array_equal(np.bincount(test.labels), [33] * 11)
    np.testing.assert_array_equal(train.centers, test.centers)
    np.testing.assert_array_equal(test.clean, test.centers[test.labels])


@pytest.mark.parametrize("spread", [0.5, 1.0])
def test_eleven_centres_fill_their_cube(spread):
    draws = [datasets.eleven_gaussians(1, 1, spread=spread, random_state=seed).train.centers for seed in range(50)]
    assert is_uniform(np.ravel(draws), -spread, spread)


def test_half_circle_follows_its_law():
    _, clean, angle = datasets.half_circle(20_000, random_state=0)
    assert is_uniform(angle, 0, np.pi)
    np.testing.assert_allclose(np.linalg.norm(clean, axis=1), 1)
    assert clean[:, 1].min() >= 0
    assert within(clean.mean(axis=0), [0, 2 / np.pi], 1 / np.sqrt(20_000))


def test_square_follows_its_law():
    _, clean, length = datasets.square(20_000, random_state=0)
    assert is_uniform(length, 0, 8)
    np.testing.assert_allclose(np.abs(clean).max(axis=1), 1)
    # On the boundary of [-1, 1]² the second moment of a coordinate is (1 + 1/3)/2, and coordinates are uncorrelated.
    assert within(clean.T @ clean / 20_000, 2 / 3 * np.eye(2), 1 / np.sqrt(20_000))
    sides = [np.sum((clean == side).any(axis=1) & (clean[:, axis] == side)) for axis in (0, 1) for side in (-1, 1)]
    assert within(np.array(sides) / 20_000, 0.25, np.sqrt(3 / 16 / 20_000))


def test_s_curve_follows_its_equations():
    X, clean, t = datasets.s_curve(20_000, random_state=0)
    assert X.shape == (20_000, 3)
    assert is_uniform(t, -1.5 * np.pi, 1.5 * np.pi)
    assert is_uniform(clean[:, 1], 0, 2)
    # Each half of the S is an arc of a unit circle, around (0, ∓1) in the plane of the first and third coordinate.
    centre = np.where(t > 0, -1, 1)
    np.testing.assert_allclose(np.hypot(clean[:, 0], clean[:, 2] - centre), 1)
    np.testing.assert_allclose(clean[:, 0], np.sin(t))
    np.testing.assert_allclose(np.cos(t), 1 + np.sign(t) * clean[:, 2])


@pytest.mark.parametrize("name", ["half_circle", "square"])
def test_distances_vanish_on_the_curve_and_equal_the_nearest_of_many_points(name):
    distance = getattr(datasets, f"{name}_distance")
    _, curve, _ = getattr(datasets, name)(200_000, random_state=0)
    np.testing.assert_allclose(distance(curve), 0, atol=1e-12)
    points = np.random.default_rng(1).uniform(-2, 2, (50, 2))
    nearest = [np.linalg.norm(curve - point, axis=1).min() for point in points]
    np.testing.assert_allclose(distance(points), nearest, atol=2e-3)


@pytest.mark.parametrize(
    "point, half_circle, square",
    [
        ((0.0, 0.0), 1.0, 1.0),
        ((0.0, 3.0), 2.0, 2.0),
        ((0.0, -1.0), np.sqrt(2), 0.0),
        ((4.0, 5.0), np.sqrt(41) - 1, 5.0),
        ((-1.0, -0.5), 0.5, 0.0),
        ((0.5, -0.2), np.hypot(0.5, 0.2), 0.5),
    ],
)
def test_distances_at_known_points(point, half_circle, square):
    np.testing.assert_allclose(datasets.half_circle_distance([point]), [half_circle], atol=1e-15)
    np.testing.assert_allclose(datasets.square_distance([point]), [square], atol=1e-15)


# Real data


def stored(file):
    """Skip a test where a data file is absent; nothing is downloaded."""
    folder = os.environ.get("PREIMAGE_DATA")
    present = folder and (Path(folder) / file).is_file()
    return pytest.mark.skipif(not present, reason=f"needs {file} in the folder named by PREIMAGE_DATA")


def test_digits_are_the_bundled_ones_scaled():
    X, y, shape = datasets.load_digits()
    bunch = sklearn.datasets.load_digits()
    np.testing.assert_array_equal(16 * X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)
    assert shape == (8, 8) and X.min() == 0 and X.max() == 1


@stored("usps.npz")
def test_usps_has_the_official_class_counts():
    train, test = datasets.load_usps()
    np.testing.assert_array_equal(np.bincount(train.y), USPS_TRAIN_COUNTS)
    np.testing.assert_array_equal(np.bincount(test.y), USPS_TEST_COUNTS)
    assert train.X.shape == (7291, 256) and test.X.shape == (2007, 256) and train.shape == (16, 16)
    assert train.X.dtype == np.float32 and train.X.min() == 0 and train.X.max() == 1


@stored("usps.npz")
def test_usps_ink_is_one_and_rows_are_rows():
    train, _ = datasets.load_usps()
    means = np.array([train.X[train.y == digit].mean(axis=0).reshape(train.shape) for digit in (0, 1)])
    centre, zero, one = (slice(6, 10), slice(6, 10)), means[0], means[1]
    assert zero[centre].mean() < 0.2 < 0.6 < one[centre].mean()
    # A one is a vertical stroke, so that ink varies from column to column and hardly from row to row.
    assert one.mean(axis=0).std() > 3 * one.mean(axis=1).std()


@stored("mnist.npz")
def test_mnist_has_the_official_class_counts():
    train, test = datasets.load_mnist()
    np.testing.assert_array_equal(np.bincount(train.y), [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])
    np.testing.assert_array_equal(np.bincount(test.y), [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])
    assert train.X.dtype == np.float32 and train.X.min() == 0 and train.X.max() == 1 and train.shape == (28, 28)


@stored("cpsc_normal_beats.npz")
@pytest.mark.parametrize("recording, n_beats", [("a", 70), ("b", 62), ("c", 40)])
def test_ecg_beats_peak_where_they_should(recording, n_beats):
    beats = datasets.load_ecg(recording)
    assert beats.X.shape == (n_beats, 512)
    assert np.abs(beats.X.argmax(axis=1) - beats.peak).max() <= 10


@stored("mitbih_100_beats.npz")
def test_mitbih_beats_peak_where_they_should():
    beats = datasets.load_mitbih()
    assert beats.X.shape == (2237, 288) and beats.rate == 360
    assert beats.peak == 0.3 * beats.rate
    assert np.abs(beats.X.argmax(axis=1) - beats.peak).max() <= 5


def test_an_unknown_recording_is_refused():
    with pytest.raises(ValueError, match="one of a, b, c, got 'd'"):
        datasets.load_ecg("d")


# Where the loaders look, and what they say


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two empty data folders, and a network that is down."""

    def down(*arguments, **keywords):
        raise OSError("the network is down")

    own, home = tmp_path / "own", tmp_path / "home"
    own.mkdir()
    monkeypatch.setenv("PREIMAGE_DATA", str(own))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(home))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", down)
    monkeypatch.setattr(datasets.downloads, "download", down)
    home.mkdir()
    return own, home


def save_beats(folder, value=0.0, **arrays):
    np.savez(folder / "mitbih_100_beats.npz", **{"beats": np.full((2237, 288), value), **arrays})


@pytest.mark.parametrize(
    "load, file, advice",
    [
        (datasets.load_usps, "usps.npz", "data_id=41082"),
        (datasets.load_mnist, "mnist.npz", "mnist_784"),
        (datasets.load_ecg, "cpsc_normal_beats.npz", "dgedon/invertible_kernel_PCA"),
        (datasets.load_mitbih, "mitbih_100_beats.npz", "wfdb.rdrecord"),
        (datasets.load_tennessee_eastman, "tennessee_eastman.npz", "camaramm/tennessee-eastman-profBraatz"),
        (datasets.load_set12, "set12.npz", "cszn/DnCNN"),
    ],
)
def test_a_missing_file_says_where_it_was_looked_for_and_how_to_get_it(folders, load, file, advice):
    with pytest.raises(DatasetNotFound) as caught:
        load()
    sentence = str(caught.value)
    assert all(part in sentence for part in [file, advice, "PREIMAGE_DATA", *map(str, folders)])
    assert isinstance(caught.value, FileNotFoundError)


def test_a_failed_download_says_why(folders):
    with pytest.raises(DatasetNotFound, match="the download failed \\(the network is down\\)"):
        datasets.load_usps()


def test_the_own_folder_comes_before_the_data_home(folders):
    own, home = folders
    save_beats(home, 1.0)
    assert datasets.load_mitbih().X[0, 0] == 1
    save_beats(own, 2.0)
    assert datasets.load_mitbih().X[0, 0] == 2


def test_the_data_home_serves_alone(folders, monkeypatch):
    monkeypatch.delenv("PREIMAGE_DATA")
    save_beats(folders[1], 1.0)
    assert datasets.load_mitbih().X[0, 0] == 1


def test_a_data_home_that_is_not_there_is_passed_over_and_not_made(folders, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFound, match="PREIMAGE_DATA"):
        datasets.load_mitbih()
    assert not datasets.is_present("mitbih_100_beats.npz") and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    "arrays, sentence",
    [
        ({"beats": np.zeros((2237, 287))}, r"'beats' is float64 of shape \(2237, 287\)"),
        ({"beats": np.zeros((2237, 288), dtype=complex)}, "'beats' is complex128"),
        ({"beats": np.full((2237, 288), "x")}, "'beats' is <U1"),
        ({"beats": np.full((2237, 288), np.nan)}, r"'beats' has values outside \[-100, 100\]"),
        ({"beats": np.full((2237, 288), np.inf)}, r"'beats' has values outside \[-100, 100\]"),
        ({"beats": np.full((2237, 288), None)}, "cannot be read as an npz file of plain arrays"),
    ],
    ids=["shape", "complex", "text", "nan", "infinite", "object"],
)
def test_wrong_arrays_are_refused(folders, arrays, sentence):
    save_beats(folders[0], **arrays)
    with pytest.raises(ValueError, match=sentence):
        datasets.load_mitbih()


def test_a_file_without_the_array_is_refused(folders):
    np.savez(folders[0] / "mitbih_100_beats.npz", waves=np.zeros(3))
    with pytest.raises(ValueError, match=r"no array 'beats'.*must hold the arrays beats \(2237, 288\)"):
        datasets.load_mitbih()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + bytes(50)], ids=["empty", "text", "damaged"])
def test_a_file_that_is_no_npz_is_refused(folders, content):
    (folders[0] / "mitbih_100_beats.npz").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as an npz file"):
        datasets.load_mitbih()


def test_damage_anywhere_in_a_file_is_refused_or_harmless(folders):
    path = folders[0] / "mitbih_100_beats.npz"
    np.savez_compressed(path, beats=np.zeros((2237, 288)))
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for position in rng.integers(len(content), size=60):
        path.write_bytes(content[:position] + bytes([content[position] ^ 255]) + content[position + 1 :])
        try:
            assert not datasets.load_mitbih().X.any()
        except ValueError as error:
            assert "mitbih_100_beats.npz" in str(error)


# Downloads, with OpenML played by a function


def openml_usps(order=slice(None)):
    digits = np.concatenate([np.repeat(np.arange(10), counts) for counts in (USPS_TRAIN_COUNTS, USPS_TEST_COUNTS)])
    X = np.full((9298, 256), -1.0)
    X[np.arange(9298), digits] = 1.0
    return lambda **keywords: (X[order], (digits + 1).astype(str).astype(object)[order])


def test_a_downloaded_usps_is_scaled_and_relabelled(folders, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", openml_usps())
    train, test = datasets.load_usps()
    np.testing.assert_array_equal(np.bincount(train.y), USPS_TRAIN_COUNTS)
    np.testing.assert_array_equal(np.bincount(test.y), USPS_TEST_COUNTS)
    np.testing.assert_array_equal(train.X, np.eye(256, dtype=np.float32)[train.y])


def test_a_downloaded_usps_in_another_order_is_refused(folders, monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", openml_usps(slice(None, None, -1)))
    with pytest.raises(DatasetNotFound, match="not in the official order"):
        datasets.load_usps()


def test_a_downloaded_mnist_is_scaled(folders, monkeypatch):
    digits = np.arange(70_000) % 10
    X = np.zeros((70_000, 784), dtype=np.uint8)
    X[:, 0] = 51 * (digits % 6)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **keywords: (X, digits.astype(str)))
    train, test = datasets.load_mnist()
    assert len(train.X) == 60_000 and len(test.X) == 10_000
    np.testing.assert_allclose(test.X[:, 0], 0.2 * (test.y % 6), rtol=1e-6)
