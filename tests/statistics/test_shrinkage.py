"""Spectra of samples beside the variances that new rows have along their eigenvectors."""

import numpy as np
import pytest

from preimage.statistics.shrinkage import shrunken_spectrum


def sample(population, n, seed):
    """Eigenvalues of a sample covariance, and the population's variances along its eigenvectors."""
    rows = np.random.default_rng(seed).standard_normal((n, len(population))) * np.sqrt(population)
    rows -= rows.mean(axis=0)
    values, axes = np.linalg.eigh(rows.T @ rows / (n - 1))
    return values, np.einsum("ji,j,ji->i", axes, population, axes)


SPECTRA = {
    "equal": np.ones(60),
    "two levels": np.repeat([1.0, 5.0], 30),
    "power law": 10.0 / np.arange(1, 61),
    "one factor": np.append(np.ones(59), 30.0),
}


@pytest.mark.parametrize("population", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("n", [61, 100, 300])
def test_it_is_nearer_to_the_variances_of_new_rows_than_the_eigenvalues_are(population, n):
    pairs = [sample(population, n, seed) for seed in range(5)]
    ours = sum(distance(shrunken_spectrum(values, n - 1)[1:], truth[1:]) for values, truth in pairs)
    assert ours < 0.6 * sum(distance(values[1:], truth[1:]) for values, truth in pairs)


def distance(found, truth):
    """The root mean squared logarithm of the ratio."""
    return np.sqrt(np.mean(np.square(np.log(found / truth))))


def test_a_spread_of_chance_alone_becomes_nearly_one_variance():
    values, _ = sample(np.full(40, 3.0), 200, 0)
    assert distance(shrunken_spectrum(values, 199), 3.0) < 0.2 < 0.4 < distance(values, 3.0)


def test_directions_without_variance_stay_without():
    values, truth = sample(np.append(np.zeros(3), np.ones(10)), 100, 0)
    found = shrunken_spectrum(values, 99)
    np.testing.assert_array_equal(found[:3], np.maximum(values[:3], 0))
    assert distance(found[3:], truth[3:]) < 0.5 * distance(values[3:], truth[3:])


def test_fewer_rows_than_columns_change_only_what_they_show():
    values, truth = sample(np.ones(80), 30, 0)
    found, shown = shrunken_spectrum(values, 29), values > 1e-9
    assert shown.sum() == 29
    np.testing.assert_array_equal(found[~shown], np.maximum(values[~shown], 0))
    assert distance(found[shown], truth[shown]) < 0.3 * distance(values[shown], truth[shown])


def test_units_do_not_matter_and_the_order_stays():
    values, _ = sample(SPECTRA["power law"], 100, 1)
    found = shrunken_spectrum(values, 99)
    np.testing.assert_allclose(shrunken_spectrum(1e6 * values, 99), 1e6 * found, rtol=1e-9)
    np.testing.assert_allclose(shrunken_spectrum(values[::-1], 99), found[::-1], rtol=1e-12)
    assert np.all(np.diff(found) >= 0)


def test_too_little_to_correct_stays_as_it_is():
    np.testing.assert_array_equal(shrunken_spectrum(np.array([2.0]), 10), [2.0])
    np.testing.assert_array_equal(shrunken_spectrum(np.zeros(3), 10), np.zeros(3))
