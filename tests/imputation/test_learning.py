import numpy as np
import pytest

from preimage.imputation import ErrorCalibration
from preimage.imputation.chained import ChainedRegression
from preimage.imputation.gaussian import EqualNoise, GaussianModel
from preimage.imputation.learning import hidden_entries
from preimage.imputation.levels import Levels
from preimage.imputation.local import LocalGaussians
from preimage.imputation.mixture import best_weights, weights_by_column


def gappy(n=80, d=4, rate=0.2, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, (n, 1))
    X = np.hstack([t, np.sin(3 * t), t**2, np.cos(2 * t)])[:, :d] + 0.05 * rng.standard_normal((n, d))
    return np.where(rng.random((n, d)) < rate, np.nan, X)


def test_weights_are_those_of_least_squared_error_on_the_simplex():
    rng = np.random.default_rng(0)
    errors = rng.standard_normal((3, 500)) * np.array([[1.0], [2.0], [30.0]])
    (weights,) = best_weights((errors @ errors.T)[None])
    inverse = 1 / np.square(errors[:2]).mean(axis=1)
    np.testing.assert_allclose(weights[:2], inverse / inverse.sum(), atol=0.1)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 51) for b in np.linspace(0, 1 - a, 51)]
    assert np.square(weights @ errors).sum() <= min(np.square(np.array(w) @ errors).sum() for w in grid) + 1e-6


def test_columns_with_many_hidden_entries_have_weights_of_their_own():
    rng = np.random.default_rng(0)
    sizes = np.array([[1.0, 5.0], [5.0, 1.0]])
    errors = sizes[:, None, :] * rng.standard_normal((2, 3000, 2))
    weights = weights_by_column(errors, np.ones((3000, 2), dtype=bool))
    assert weights[0, 0] > 0.9
    assert weights[1, 1] > 0.9
    few = np.zeros((3000, 2), dtype=bool)
    few[:, 0], few[:2, 1] = True, True
    np.testing.assert_allclose(*weights_by_column(errors, few), atol=0.2)


def test_hidden_entries_are_observed_ones_in_the_pattern_of_another_row():
    X = np.zeros((60, 6))
    X[::2, 1:3] = np.nan
    missing = np.isnan(X)
    hidden = hidden_entries(missing, np.arange(60) % 3 > 0, np.random.default_rng(0))
    assert not (hidden & missing).any()
    assert not hidden[::3].any()
    assert set(np.flatnonzero(hidden.any(axis=0))) == {1, 2}
    assert (~(hidden | missing)).any(axis=1).all()


@pytest.mark.parametrize("related", [0.0, 2.0])
def test_chained_regressions_of_new_rows_follow_the_plain_formula(related):
    X, others = gappy(), [0, 2, 3]
    first = GaussianModel(np.zeros(4), np.random.default_rng(0).standard_normal((4, 2)), 0.2)
    setting = ChainedRegression(1.0, 0.1, n_rounds=1, related=related)
    fitted = setting.fit(X, first, np.random.default_rng(0))
    row = np.array([[0.3, np.nan, 0.1, 0.9]])
    covariance = first.loadings @ first.loadings.T + 0.2 * np.eye(4)
    correlations = np.abs(covariance[1, others]) / np.sqrt(np.diag(covariance)[others] * covariance[1, 1])
    weights = correlations**related / np.mean(correlations**related)
    distances = np.square(row[:, others] - fitted.points[:, others]) @ weights
    values = np.exp(-distances / fitted.width[1])
    values += 0.3 / 4 * (fitted.points[:, others] * weights) @ row[0, others]
    expected = fitted.means[1] + values @ fitted.weights[:, 1]
    np.testing.assert_allclose(fitted(row)[0, 1], expected, rtol=1e-9)
    seen = ~np.isnan(X[:, 1])
    assert not fitted.weights[~seen, 1].any()


def test_a_column_that_follows_few_of_many_is_filled_by_these():
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, (200, 20))
    X = np.column_stack([t, np.sin(3 * t[:, 0]) + t[:, 0]])
    gaps = X.copy()
    gaps[::5, -1] = np.nan
    first = GaussianModel.start(gaps).improved(gaps, EqualNoise(0.1), 6)
    errors = [
        np.std((ChainedRegression(1.0, 0.1, related=p).fit(gaps, first, rng)(gaps) - X)[::5, -1]) for p in (0.0, 2.0)
    ]
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("width", [0.3, 0.8])
def test_local_gaussians_condition_a_mixture_of_normal_laws(width):
    X = np.where(np.isnan(gappy()), 0.0, gappy())
    first = GaussianModel(np.zeros(4), np.random.default_rng(0).standard_normal((4, 2)), 0.2)
    row = np.array([[0.3, np.nan, 0.1, np.nan]])
    found = LocalGaussians(width, 0.1).fit(X, first, np.random.default_rng(0))(row)
    H = width**2 * (first.loadings @ first.loadings.T + 0.2 * np.eye(4)) + 0.1 * np.eye(4)
    seen, lost = [0, 2], [1, 3]
    gaps = row[0, seen] - X[:, seen]
    solved = np.linalg.solve(H[np.ix_(seen, seen)], gaps.T).T
    weights = np.exp(-np.einsum("ij,ij->i", gaps, solved) / 2)
    answers = X[:, lost] + solved @ H[np.ix_(seen, lost)]
    np.testing.assert_allclose(found[0, lost], weights @ answers / weights.sum(), rtol=1e-8)


def test_a_row_is_no_neighbour_of_itself():
    X = gappy(40)
    first = GaussianModel.start(X)
    fitted = LocalGaussians(1e-3, 1e-3).fit(X, first, np.random.default_rng(0))
    row = np.isnan(X).any(axis=1).argmax()
    others = LocalGaussians(1e-3, 1e-3).fit(np.delete(X, row, axis=0), first, np.random.default_rng(0))
    np.testing.assert_allclose(fitted(X[[row]]), others(X[[row]]), rtol=1e-9)


def test_intervals_hold_the_share_that_they_promise():
    rng = np.random.default_rng(0)
    deviations, hidden = rng.uniform(0.5, 2, (400, 3)), np.ones((400, 3), dtype=bool)
    scales = np.array([0.5, 1.0, 3.0])
    errors = deviations * scales * rng.standard_t(3, (400, 3))
    calibration = ErrorCalibration.of(errors, deviations, hidden)
    new = deviations * scales * rng.standard_t(3, (400, 3))
    for level in (0.5, 0.9):
        inside = np.abs(new) <= calibration.half_width(level) * calibration.factors * deviations
        assert abs(inside.mean() - level) < 4 * np.sqrt(2 * level * (1 - level) / new.size)


def test_levels_come_back_as_they_were_and_unknown_ones_as_the_nearest():
    X = np.array([[1.0, 3.0], [2.0, 7.0], [3.0, 9.0]])
    levels = Levels.of(X, np.array([False, True]))
    np.testing.assert_array_equal(levels.gather(levels.spread(X)), X)
    np.testing.assert_array_equal(levels.gather(np.array([[1.5, 0.2, 0.3, 0.1]])), [[1.5, 7.0]])
