import numpy as np
import pytest

from preimage.imputation.gaussian import EqualNoise, GaussianModel, OwnNoise


def law(d=5, q=2, seed=0):
    """Loadings and own noise of a factor model."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, q)), rng.uniform(0.1, 0.5, d)


def drawn(n, W, own, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, W.shape[1])) @ W.T + np.sqrt(own) * rng.standard_normal((n, len(own)))


@pytest.mark.parametrize("own", [0.3, np.array([0.1, 0.2, 0.3, 0.4, 0.5])], ids=["equal", "own"])
def test_means_deviations_and_draws_are_those_of_the_conditional_normal_law(own):
    W, _ = law()
    mean, covariance = np.arange(5.0), W @ W.T + np.diag(np.broadcast_to(own, 5))
    model = GaussianModel(mean, W, own)
    row = np.array([0.5, np.nan, 2.0, np.nan, 3.0])
    lost, seen = np.isnan(row), ~np.isnan(row)
    regression = covariance[np.ix_(lost, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    expected = mean[lost] + regression @ (row[seen] - mean[seen])
    rest = covariance[np.ix_(lost, lost)] - regression @ covariance[np.ix_(seen, lost)]
    np.testing.assert_allclose(model(row[None])[0, lost], expected, rtol=1e-9)
    np.testing.assert_allclose(model.deviation(row[None])[0], _put(np.sqrt(np.diag(rest)), lost))
    n = 20_000
    draws = model.draw(np.tile(row, (n, 1)), np.random.default_rng(0))
    assert not draws[:, seen].any()
    bound = 5 * np.sqrt(2 / n) * np.abs(rest).max()  # five standard errors of a variance
    np.testing.assert_allclose(draws[:, lost].T @ draws[:, lost] / n, rest, atol=bound)


def _put(values, where):
    found = np.zeros(len(where))
    found[where] = values
    return found


@pytest.mark.parametrize("noise", [OwnNoise(2), EqualNoise(1e-9)], ids=str)
def test_em_finds_the_covariance_behind_the_gaps(noise):
    W, own = law()
    X = drawn(2500, W, own)
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = GaussianModel.start(X).improved(X, noise, 30)
    truth = W @ W.T + np.diag(own)
    found = model.loadings @ model.loadings.T + np.diag(np.broadcast_to(model.variance, 5))
    error = 5 * np.sqrt(2 / len(X))  # five standard errors of a variance
    assert np.abs(found - truth).max() < error * np.abs(truth).max()


def test_a_step_of_em_never_lowers_the_likelihood_of_what_is_observed():
    W, own = law()
    X = drawn(300, W, own)
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    model, before = GaussianModel.start(X), -np.inf
    for _ in range(8):
        model = model.improved(X, EqualNoise(0.0), 1)
        after = _likelihood(model, X)
        assert after >= before - 1e-9 * abs(after)
        before = after


def _likelihood(model, X):
    covariance = model.loadings @ model.loadings.T + np.diag(np.broadcast_to(model.variance, X.shape[1]))
    total = 0.0
    for row in X:
        seen = ~np.isnan(row)
        part, gap = covariance[np.ix_(seen, seen)], (row - model.mean)[seen]
        total -= 0.5 * (np.linalg.slogdet(part)[1] + gap @ np.linalg.solve(part, gap))
    return total
