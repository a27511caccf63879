"""What the app computes, against the library itself and planted truths."""

import numpy as np
import pytest

from preimage import KernelPCA, io
from preimage.app import compare, explore, gaps, novelty
from preimage.app.catalogue import ENDINGS, PROVIDED
from preimage.app.compare import Patches, stein
from preimage.app.limits import Refused
from preimage.app.sources import LOADERS, Dataset
from preimage.datasets import load_digits
from preimage.scaling import Scaling

RNG = np.random.default_rng(0)


def floats(path, columns):
    return np.fromfile(path, "<f4").reshape(-1, columns)


def table(path, values, names="abcdefgh"):
    header = ",".join(names[: values.shape[1]])
    np.savetxt(path, values, delimiter=",", header=header, comments="")
    return {"path": str(path), "name": path.name}


def test_the_lists_name_what_can_be_loaded_and_read():
    assert list(PROVIDED) == list(LOADERS)
    assert set(ENDINGS) == set(io.FORMATS)
    assert all(LOADERS[name]().as_json()["rows"] > 50 for name in ("digits", "square", "eleven_gaussians"))


# Explore


def test_codes_are_those_of_kernel_pca_and_decoding_is_its_inverse(tmp_path):
    told, explorer = explore.explore({"source": "square", "components": 4, "method": "distance"}, tmp_path)
    X = LOADERS["square"]().X
    model = KernelPCA(4, preimage="distance", random_state=0).fit(X)
    codes = floats(tmp_path / "codes.f32", 4)
    np.testing.assert_allclose(codes, model.transform(X), atol=1e-6)
    np.testing.assert_allclose(told["shares"], model.explained_variance_ratio_)
    found = np.frombuffer(explorer.decode(codes[:7].tolist()), "<f4").reshape(7, 3)
    np.testing.assert_allclose(found[:, :2], model.inverse_transform(model.transform(X[:7])), atol=1e-4)


def test_contours_are_the_components_at_the_points_of_the_grid(tmp_path):
    told, explorer = explore.explore({"source": "three_clusters", "components": 3}, tmp_path)
    side, (left, _), (_, top) = told["grid"]["side"], told["grid"]["x"], told["grid"]["y"]
    maps = np.fromfile(tmp_path / "contours.f32", "<f4").reshape(3, side, side)
    np.testing.assert_allclose(maps[:, -1, 0], explorer.model.transform([[left, top]])[0], atol=1e-6)


def test_the_distance_is_zero_at_a_row_and_counts_spacings_elsewhere():
    X = np.column_stack([np.arange(100.0), np.zeros(100)])  # neighbours are 1 apart
    model = KernelPCA(2, preimage="nearest").fit(X)
    explorer = explore.Explorer.of(model, Dataset(X, "line"), Scaling.none(2))
    codes = model.transform(X)
    assert explorer.spacing == 1
    np.testing.assert_allclose(explorer.points(codes[:5])[1], 0, atol=1e-9)
    shifted = explore.Explorer.of(model, Dataset(X + [0, 3.0], "line"), Scaling.none(2))
    np.testing.assert_allclose(shifted.points(codes[:5])[1], 3, atol=1e-9)


def test_the_units_of_columns_do_not_matter(tmp_path):
    values = RNG.standard_normal((60, 3)) @ RNG.standard_normal((3, 3))
    units = np.array([1000.0, 1.0, 0.01])
    answers = []
    for number, factor in enumerate((np.ones(3), units)):
        folder = tmp_path / str(number)
        folder.mkdir()
        request = table(folder / "t.csv", values * factor) | {"components": 2}
        _, explorer = explore.explore(request, folder)
        codes = floats(folder / "codes.f32", 2)
        answers.append((np.abs(codes), np.abs(explorer.points(codes[:5])[0] / factor)))
    np.testing.assert_allclose(*(codes for codes, _ in answers), atol=1e-5)
    np.testing.assert_allclose(*(points for _, points in answers), rtol=1e-3, atol=1e-3)


def test_a_model_file_is_explored_as_it_is(tmp_path):
    X = load_digits().X[:200]
    model = KernelPCA(5, random_state=0).fit(X)
    model.save(tmp_path / "model.npz")
    request = {"path": str(tmp_path / "model.npz"), "name": "model.npz", "shape": [8, 8]}
    told, explorer = explore.explore(request, tmp_path)
    assert told["data"]["kind"] == "image" and told["components"] == 5
    np.testing.assert_allclose(floats(tmp_path / "codes.f32", 5), model.transform(X), atol=1e-6)
    np.testing.assert_array_equal(np.frombuffer(explorer.row(3), "<f4"), X[3].astype("<f4"))


def test_a_scale_of_two_doubles_the_length_scale_of_the_median_rule(tmp_path):
    _, explorer = explore.explore({"source": "parabola", "scale": 2.0, "kernel": "matern"}, tmp_path)
    plain = KernelPCA(2, kernel="matern").fit(explorer.data.X).kernel_
    assert explorer.model.kernel_.length_scale == pytest.approx(2 * plain.length_scale)


# Gaps


def test_gaps_are_filled_better_than_by_the_mean_and_the_rest_stays(tmp_path):
    told, filler = gaps.prepare({"source": "digits"}, tmp_path)
    rows = floats(tmp_path / "rows.f32", 64)
    assert len(rows) == told["shown"]
    lower = list(range(32, 64))
    answers = [filler.fill(number, lower) for number in range(20)]
    ours, means = (np.mean([answer[name] for answer in answers]) for name in ("error", "error_of_mean"))
    assert ours < 0.8 * means
    np.testing.assert_allclose([answer["filled"][:32] for answer in answers], rows[:20, :32], atol=1e-6)


@pytest.mark.parametrize("number, hidden", [(0, range(64)), (0, [64]), (0, [-1]), (1000, [1])])
def test_gaps_that_make_no_sense_are_refused(number, hidden):
    X = load_digits().X[:40]
    with pytest.raises(Refused):
        gaps.Filler(KernelPCA(3).fit(X), X.mean(axis=0), X).fill(number, list(hidden))


# Novelty


def test_a_planted_error_ranks_first_with_its_column_and_its_right_value(tmp_path):
    t = RNG.uniform(0, 6, 250)
    curve = np.column_stack([np.sin(t), np.cos(t), np.sin(t + 1), np.cos(t + 2)])
    values = 10 * (curve + 0.03 * RNG.standard_normal(curve.shape))
    wrong = values.copy()
    wrong[77, 2] += 12
    told, _ = novelty.rank(table(tmp_path / "t.csv", wrong), tmp_path)
    first = told["rows"][0]
    assert (first["row"], first["entries"][0]["column"]) == (78, "c")
    assert first["entries"][0]["share"] > 0.5
    assert abs(first["entries"][0]["expected"] - values[77, 2]) < 6  # half of the error
    assert first["times"] > 1.3 * told["rows"][1]["times"]


# Compare


@pytest.mark.parametrize("shape, side, stride", [((30, 2), 6, 3), ((20, 23, 1), 8, 2), ((17, 16, 3), 4, 3)])
def test_patches_joined_again_are_the_whole(shape, side, stride):
    values, patches = RNG.standard_normal(shape), Patches(shape, side, stride)
    np.testing.assert_allclose(patches.joined(patches.cut(values), values), values)


def test_steins_risk_of_a_multiple_is_its_formula():
    y, sigma, a = RNG.standard_normal((40, 30)), 0.7, 0.6
    found = stein(lambda values: a * values, y, a * y, sigma)
    assert found == pytest.approx((1 - a) ** 2 * np.mean(np.square(y)) + sigma**2 * (2 * a - 1))


def test_steins_risk_is_the_true_error_of_a_filter():
    x, noise = np.sin(np.arange(40_000) / 30), 0.5 * RNG.standard_normal(40_000)

    def smooth(values):
        return np.convolve(values, np.ones(9) / 9, mode="same")

    answer = smooth(x + noise)
    truth = np.mean(np.square(answer - x))
    # the sum of squares of the noise deviates by σ²√(2/n), which is 0.0018, and three of these are allowed
    assert abs(stein(smooth, x + noise, answer, 0.5) - truth) < 3 * 0.0018


def test_methods_are_sorted_by_their_risk_and_the_noise_comes_last(tmp_path):
    told, _ = compare.compare({"source": "digits"}, tmp_path)
    risks = [entry["risk"] for entry in told["entries"]]
    assert risks == sorted(risks)
    assert told["entries"][-1]["method"] == "noisy input"
    assert told["entries"][-1]["risk"] == pytest.approx(told["sigma"] ** 2)
    shown = [floats(tmp_path / f"{number}.f32", 64) for number in range(len(risks))]
    clean = LOADERS["digits"]().X
    clean = clean[np.linspace(0, len(clean) - 1, compare.ROWS).astype(int)][: compare.IMAGES]
    assert np.mean(np.square(shown[0] - clean)) < 0.6 * np.mean(np.square(shown[-1] - clean))
