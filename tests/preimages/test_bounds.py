"""No pre-image leaves the neighbourhood of the data, whatever the table."""

import warnings

import numpy as np
import pytest

from preimage import Expansion, KernelPCA, find_preimage
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, NothingFilteredWarning
from preimage.kernels import Gaussian, Linear
from preimage.preimages import (
    NAMES,
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    OneStep,
    Wiener,
)
from preimage.preimages.bounds import Box

METHODS = [
    Conformal(),
    ConvexCombination(max_iter=100),
    Distance(),
    Distance(reading="paper"),
    FixedPoint(max_iter=30),
    Gradient(max_iter=30),
    Learned(),
    Nearest(),
    OneStep(),
    Wiener(),
    "auto",
]


def test_the_methods_tried_are_all_there_are():
    assert {type(method) for method in METHODS[:-1]} == set(NAMES.values())


def random_table(seed):
    """Rows of 2 to 60 columns: correlated, heavy-tailed, of low rank, or with rows that repeat."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 60)), int(rng.integers(2, 61))
    rows = rng.standard_normal((n, d))
    kind = seed % 5
    if kind == 1:
        rows = rows @ rng.standard_normal((d, d)) * 10.0 ** rng.uniform(-3, 1)
    elif kind == 2:
        rows = rng.standard_t(2, (n, d))
    elif kind == 3:
        rank = int(rng.integers(1, 5))
        rows = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 100 * rng.standard_normal(d)
    elif kind == 4:
        rows = rows[rng.integers(0, n // 2, n)] + 1e-9 * rng.standard_normal((n, d))
    return rows


def beyond(answers, train, given):
    """Entries outside twice the range of the training rows and the given row's own entries."""
    low, high = train.min(axis=0), train.max(axis=0)
    slack = 1e-9 * np.abs(train).max()
    margin = (high - low) / 2 + slack
    return (answers < np.minimum(low - margin, given - slack)) | (answers > np.maximum(high + margin, given + slack))


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_no_answer_leaves_twice_the_range_of_the_data_unless_the_row_did(first):
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, FewerComponentsWarning, NothingFilteredWarning):
            warnings.simplefilter("ignore", category)
        for seed in range(first, first + 20):
            rows, rng = random_table(seed), np.random.default_rng(seed)
            train, test = rows[: -len(rows) // 4], rows[-len(rows) // 4 :]
            given = test + rng.choice([0.0, 0.3, 1.0]) * train.std(axis=0) * rng.standard_normal(test.shape)
            kpca = KernelPCA(int(rng.integers(1, len(train) - 1)), random_state=0).fit(train)
            for method in METHODS:
                kpca.set_params(preimage=method)
                answers = kpca.denoise(given)
                assert np.isfinite(answers).all()
                assert not beyond(answers, train, given).any(), (seed, method)
                decoded = kpca.inverse_transform(kpca.transform(given))
                assert not beyond(decoded, train, given).any(), (seed, method, "decoded")


def test_answers_inside_the_box_are_left_alone_and_others_go_to_its_nearest_point():
    points = np.random.default_rng(0).standard_normal((20, 3))
    box = Box.around(points)
    assert np.array_equal(box.hold(points), points)
    assert np.allclose(box.high - box.low, 2 * np.ptp(points, axis=0))
    far = points + np.array([100.0, 0, 0])
    held = box.hold(far)
    assert np.array_equal(held[:, 1:], far[:, 1:]) and np.all(held[:, 0] == box.high[0])
    assert np.array_equal(box.hold(far, far), far)  # the row itself was there
    assert box.holds(points).all() and not box.holds(far).any()


def test_projection_onto_the_box_never_moves_an_answer_away_from_a_point_of_it():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((50, 4))
    answers = points + 5 * rng.standard_normal(points.shape)
    held = Box.around(points).hold(answers)
    assert np.all(np.abs(held - points) <= np.abs(answers - points))


def test_an_expansion_of_inner_products_may_be_any_multiple_of_an_image():
    points = np.random.default_rng(2).standard_normal((6, 3))
    found = find_preimage(Expansion(Linear(), points, 50 * np.eye(6)), Gradient())
    assert np.allclose(found.points, 50 * points, atol=1e-4)


def test_a_kernel_of_the_distance_keeps_the_descent_near_its_points():
    points = np.random.default_rng(3).standard_normal((30, 2))
    weights = np.random.default_rng(4).standard_normal((40, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for method in (FixedPoint(), Gradient(), Distance(), OneStep()):
            answers = find_preimage(Expansion(Gaussian(0.5), points, weights), method).points
            assert Box.around(points).holds(answers).all()
