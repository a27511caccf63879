"""Filling gaps: the Gaussian model and the weights of the methods, each against its formula."""

import numpy as np
import pytest

from preimage import KernelPCA, decomposition
from preimage.imputation.complete import RATES, Imputation, _best_mixture
from preimage.imputation.gaussian import GaussianModel
from preimage.imputation.rounds import Rounds
from preimage.kernels import Gaussian
from preimage.preimages import Distance, Learned
from preimage.preimages.bounds import principal_axes


def table(n=300, d=6, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((3, d))
    return rng.standard_normal((n, 3)) @ mixing + 0.3 * rng.standard_normal((n, d)) + 2.0


def with_gaps(X, rate=0.3, seed=1):
    lost = np.random.default_rng(seed).random(X.shape) < rate
    lost[lost.all(axis=1), 0] = False
    return np.where(lost, np.nan, X), lost


def test_the_gaussian_model_fills_gaps_by_the_conditional_mean():
    X = table()
    gappy, _ = with_gaps(table(n=25, seed=3))
    mean, C = X.mean(axis=0), np.cov(X.T, bias=True)  # the least variance is above the floor: nothing is cut
    expected = gappy.copy()
    for row in expected:
        m = np.isnan(row)
        row[m] = mean[m] + C[np.ix_(m, ~m)] @ np.linalg.solve(C[np.ix_(~m, ~m)], row[~m] - mean[~m])
    model = GaussianModel.of(X)
    floor = model.variance
    np.testing.assert_allclose(model.loadings @ model.loadings.T + floor * np.eye(6), C, atol=1e-12)
    np.testing.assert_allclose(model(gappy), expected, atol=1e-10)


def test_a_row_of_gaps_only_becomes_the_mean_and_observed_entries_stay():
    X = table()
    gappy, lost = with_gaps(table(n=25, seed=3))
    filled = GaussianModel.of(X)(np.vstack([gappy, np.full(6, np.nan)]))
    np.testing.assert_allclose(filled[-1], X.mean(axis=0))
    np.testing.assert_array_equal(filled[:-1][~lost], gappy[~lost])


@pytest.mark.parametrize("share", [0.3, 1e-3])
def test_the_left_out_error_is_that_of_hiding_every_entry_in_turn(share):
    model = GaussianModel._of(*principal_axes(table()), share)
    rows = table(n=12, seed=6)
    errors = []
    for column in range(rows.shape[1]):
        hidden = rows.copy()
        hidden[:, column] = np.nan
        errors.append(np.square(model(hidden) - rows)[:, column])
    assert model.left_out_error(rows) == pytest.approx(np.mean(errors), rel=1e-9)


def test_columns_that_depend_on_each_other_exactly_are_filled_exactly_and_few_rows_are_not_trusted():
    mixing = np.random.default_rng(3).standard_normal((3, 20))
    whole = np.random.default_rng(4).standard_normal((150, 3)) @ mixing
    gappy, _ = with_gaps(whole[100:])
    assert np.abs(GaussianModel.of(whole[:100])(gappy) - whole[100:]).max() < 1e-7
    noise = np.random.default_rng(5).standard_normal((30, 20))
    model = GaussianModel.of(noise)
    assert model.variance > 0.1 * noise.var()


@pytest.mark.parametrize("n", [4, 20])
def test_fewer_rows_than_columns_and_equal_columns_leave_the_model_finite(n):
    X = table(n=n, d=12)
    X[:, 3] = X[:, 4] = 1.0
    gappy, _ = with_gaps(X)
    filled = GaussianModel.of(X)(gappy)
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled[:, 3:5], 1.0, atol=1e-8)


class Constant:
    """Fills gaps with a number."""

    def __init__(self, value):
        self.value = value

    def __call__(self, X):
        return np.where(np.isnan(X), self.value, X)


def test_the_weights_are_those_of_the_least_squared_error_on_the_simplex():
    rng = np.random.default_rng(0)
    rows = 1.0 + 0.1 * rng.standard_normal((400, 5))
    inside = _best_mixture([Constant(0.0), Constant(4.0)], rows, 0.3, rng)
    np.testing.assert_allclose(inside, [0.75, 0.25], atol=0.01)  # 0 · 0.75 + 4 · 0.25 = 1, the mean
    outside = _best_mixture([Constant(2.0), Constant(4.0)], rows, 0.3, rng)
    np.testing.assert_allclose(outside, [1, 0], atol=1e-6)
    exact = _best_mixture([Constant(1.0), Constant(1.0)], np.ones((4, 5)), 0.3, rng)
    np.testing.assert_array_equal(exact, [1, 0])


def test_one_method_alone_has_all_the_weight_and_runs_its_rounds():
    X = table(n=120)
    gappy, lost = with_gaps(table(n=15, seed=4))
    model = decomposition.fit(Gaussian(3.0), X, 8)
    found = Imputation((Learned(),), n_rounds=3).prepare(model, np.random.default_rng(0))(gappy)
    way, filled = Learned().prepare(model, np.random.default_rng(0)), GaussianModel.of(X)(gappy)
    for _ in range(3):
        answers = way(model.expand(model.codes(filled)), filled).points
        filled = np.where(lost, answers, gappy)
    np.testing.assert_allclose(found, filled, atol=1e-8)


def test_several_methods_are_averaged_with_the_weights_of_the_nearest_rate():
    X = table(n=120)
    gappy, lost = with_gaps(table(n=40, seed=4), rate=0.35)
    model = decomposition.fit(Gaussian(3.0), X, 8)
    ready = Imputation((Learned(), Distance()), n_rounds=2).prepare(model, np.random.default_rng(0))
    assert ready.weights.shape == (len(RATES), 3)
    np.testing.assert_allclose(ready.weights.sum(axis=1), 1, atol=1e-9)
    assert (ready.weights >= 0).all()
    first = GaussianModel.of(X)
    answers = [first(gappy)]
    for method in (Learned(), Distance()):
        answers.append(Rounds(first, model, method.prepare(model, np.random.default_rng(0)), 2)(gappy))
    nearest = np.abs(np.subtract.outer(lost.mean(axis=1), RATES)).argmin(axis=1)
    expected = np.einsum("rm,mrd->rd", ready.weights[nearest], answers)
    np.testing.assert_allclose(ready(gappy)[lost], expected[lost], atol=1e-8)


def test_on_gaussian_rows_nearly_nothing_is_lost_against_the_conditional_mean():
    X = table(n=300)
    whole = table(n=200, seed=8)
    gappy, lost = with_gaps(whole)
    filled = KernelPCA(30, random_state=0).fit(X).impute(gappy)
    best = GaussianModel.of(X)(gappy)

    def error(answer):
        return np.sqrt(np.mean(np.square(answer - whole)[lost]))

    assert error(filled) < 1.03 * error(best)
