import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from helpers import rows, sparse_rows
from preimage import KernelPCA
from preimage.exceptions import LengthScaleWarning
from preimage.kernels import (
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    scales,
)

RULES = ["median", "mean", "mika"]


def plain(X, rule):
    """ℓ by the definitions, 2ℓ² = c."""
    c = {
        "median": np.median(pdist(X, "sqeuclidean")),
        "mean": np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)),
        "mika": 2 * X.shape[1] * np.mean(X.var(axis=0)),
    }[rule]
    return np.sqrt(c / 2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n, d", [(2, 1), (3, 4), (50, 1), (101, 7)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rules_are_their_formulas(rule, n, d, offset):
    X = rows(n, d) * np.arange(1, d + 1) + offset
    np.testing.assert_allclose(scales.length_scale(X, rule), plain(X, rule), rtol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_rules_on_float32_sparse_and_whole_numbers(rule):
    X = sparse_rows(60)
    expected = plain(X.toarray(), rule)
    np.testing.assert_allclose(scales.length_scale(X, rule), expected, rtol=1e-10)
    np.testing.assert_allclose(scales.length_scale(X.toarray().astype("f4"), rule), expected, rtol=1e-5)
    counts = np.random.default_rng(0).integers(0, 256, (40, 3), dtype=np.uint8)
    np.testing.assert_allclose(scales.length_scale(counts, rule), plain(counts.astype(float), rule), rtol=1e-12)


def test_none_is_the_median_and_mika_is_the_mean_times_root_two():
    X = rows(30, 4)
    assert scales.length_scale(X) == scales.length_scale(X, None) == scales.length_scale(X, "median")
    np.testing.assert_allclose(scales.mika(X), np.sqrt(2) * scales.mean(X), rtol=1e-14)


@pytest.mark.parametrize("rule", RULES)
def test_a_length_scale_follows_the_unit_and_not_the_origin(rule):
    X = rows(40, 3)
    np.testing.assert_allclose(scales.length_scale(7 * X + 100, rule), 7 * scales.length_scale(X, rule), rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_duplicates_are_left_out_of_the_median_where_they_are_most_pairs(offset):
    distinct = rows(20, 5) + offset
    X = np.vstack([np.repeat(distinct[:1], 80, axis=0), distinct])  # two pairs in three are equal rows
    distances = pdist(X, "sqeuclidean")
    assert np.mean(distances == 0) > 0.5
    expected = np.sqrt(np.median(distances[distances > 0]) / 2)
    np.testing.assert_allclose(scales.median(X), expected, rtol=1e-7)
    np.testing.assert_allclose(scales.median(X[::-1]), expected, rtol=1e-7)


def test_few_duplicates_change_nothing():
    X = np.vstack([rows(50, 3), rows(10, 3)])
    np.testing.assert_allclose(scales.median(X), plain(X, "median"), rtol=1e-10)


CONSTANT = {
    "zero": np.zeros((5, 2)),
    "tenths": np.full((7, 3), 0.1),
    "many": np.tile(0.1 + np.arange(30) / 7, (700, 1)),
    "large": np.tile([1e6 / 3, -1e5 / 7], (11, 1)),
    "float32": np.full((7, 3), 0.1, dtype="f4"),
    "sparse": sp.csr_array(np.tile([0.1, 0, 0.3], (7, 1))),
    "one row": rows(1, 3),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("X", CONSTANT.values(), ids=CONSTANT)
def test_equal_rows_have_no_length_scale(rule, X):
    with pytest.raises(
        ValueError, match="all rows are equal, so no length scale can be computed from them: give a number"
    ):
        scales.length_scale(X, rule)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rule", RULES)
def test_rows_whose_squares_underflow_are_not_called_equal(rule, make):
    with pytest.raises(ValueError, match=r"squared distances between the rows underflow: .* larger scale"):
        scales.length_scale(make(1e-200 * rows(30, 2)), rule)


@pytest.mark.parametrize("rule", RULES)
def test_a_small_spread_is_no_constant(rule):
    X = 1e-6 * rows(30, 2) + 1
    np.testing.assert_allclose(scales.length_scale(X, rule), plain(X, rule), rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_distances_that_overflow_are_named(rule, form):
    with pytest.raises(ValueError, match="the distances between the rows overflow: bring the columns to a smaller"):
        scales.length_scale(form(1e200 * rows(10, 2)), rule)


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="unknown rule 'medium' for a length scale; the rules are median, mean, mika"):
        scales.length_scale(rows(5, 2), "medium")


def test_large_data_are_sampled_evenly(monkeypatch):
    monkeypatch.setattr(scales, "SAMPLE", 300)
    X = rows(1200, 2) * np.linspace(0.2, 2, 1200)[:, None]  # the spread depends on the position
    sampled, whole = scales.median(X), plain(X, "median")
    assert sampled == scales.median(X)
    np.testing.assert_allclose(sampled, whole, rtol=0.1)
    assert abs(plain(X[:300], "median") / whole - 1) > 0.5  # the first rows alone would not do


def test_spread_rows_keeps_both_ends_and_all_of_a_small_set():
    X = np.arange(1000)[:, None]
    taken = scales.spread_rows(X, 10)[:, 0]
    assert taken[0] == 0 and taken[-1] == 999 and len(set(np.diff(taken))) <= 2
    assert scales.spread_rows(X, 1000) is X


# Resolution


def test_resolve_fills_numbers_in_however_deep():
    X = rows(30, 4)
    kernel = 2 * (Gaussian() + Matern("mean", nu=2.5) * Polynomial()) + Laplacian()
    found = scales.resolve(kernel, X)
    median, mean = plain(X, "median"), plain(X, "mean")
    assert found.left.part.left.length_scale == pytest.approx(median, rel=1e-10)
    assert found.left.part.right.left.length_scale == pytest.approx(mean, rel=1e-10)
    assert found.left.part.right.left.nu == 2.5
    assert found.left.part.right.right.gamma == found.right.gamma == 1 / 4
    assert found.left.scale == 2
    assert kernel == 2 * (Gaussian() + Matern("mean", nu=2.5) * Polynomial()) + Laplacian()  # itself untouched


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(2.0), Linear(), Cosine(), Sigmoid(0.5), Precomputed(np.eye(2)), 2 * Gaussian(1.0)],
    ids=lambda kernel: type(kernel).__name__,
)
def test_resolve_leaves_numbers_alone(kernel):
    found = scales.resolve(kernel, np.zeros((3, 2)))  # no rule is asked: these rows are all equal
    assert found is kernel or found == kernel


def test_the_median_makes_the_median_kernel_value_one_over_e():
    X = rows(79, 3)  # an odd number of pairs: the median is one of them
    values = scales.resolve(Gaussian(), X)(X, X)[np.triu_indices(79, 1)]
    np.testing.assert_allclose(np.median(values), np.exp(-1), rtol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Exponential(1.0), Gaussian(1.0) + Gaussian(0.5)])
def test_a_length_scale_that_gives_new_rows_equal_codes_is_warned_of(kernel):
    X, new = np.random.default_rng(0).uniform(0, 1000, (2, 200, 4))
    with pytest.warns(LengthScaleWarning, match="median rule gives about 5"):  # the mean gives √(4 · 1000²/6 / 2) = 577
        kpca = KernelPCA(2, kernel=kernel).fit(X)
    assert np.ptp(kpca.transform(new), axis=0).max() < 1e-6
    KernelPCA(2, kernel=Gaussian(100.0)).fit(X)


def test_rows_that_are_repeated_are_not_alone():
    KernelPCA(2, kernel=Gaussian(1e-3)).fit(np.repeat(np.arange(40.0), 3)[:, None])


def test_rows_that_are_near_a_few_others_only_are_not_alone():
    middles = 1000 * np.random.default_rng(0).standard_normal((100, 3))
    X = np.repeat(middles, 2, axis=0) + 0.1 * np.random.default_rng(1).standard_normal((200, 3))
    KernelPCA(2, kernel=Gaussian(1.0)).fit(X)  # of rows drawn from X hardly two are of one pair
