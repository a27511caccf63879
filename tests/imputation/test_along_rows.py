"""Gaps of one column alone."""

import numpy as np

from preimage.imputation.along_rows import filled_column, line_error


def test_gaps_of_a_line_lie_on_it_and_ends_keep_the_nearest_value():
    line = 3.0 + 0.5 * np.arange(12)
    gappy = line.copy()
    gappy[[0, 3, 4, 5, 9, 11]] = np.nan
    found = filled_column(gappy)
    assert found.is_series
    np.testing.assert_allclose(found.values[1:-1], line[1:-1], rtol=1e-14)
    assert (found.values[0], found.values[-1]) == (line[1], line[-2])
    assert found.error < 1e-14


def test_values_without_order_get_the_mean_and_its_error():
    values = np.random.default_rng(0).standard_normal(400)
    gappy = np.where(np.arange(400) % 10 == 0, np.nan, values)
    found, known = filled_column(gappy), gappy[~np.isnan(gappy)]
    assert not found.is_series
    np.testing.assert_allclose(found.values[::10], known.mean(), rtol=1e-12)
    alone = [value - np.delete(known, place).mean() for place, value in enumerate(known)]  # left out one by one
    np.testing.assert_allclose(found.error, np.sqrt(np.mean(np.square(alone))), rtol=1e-12)


def test_a_single_entry_fills_all():
    found = filled_column(np.array([np.nan, 2.0, np.nan]))
    np.testing.assert_array_equal(found.values, [2.0, 2.0, 2.0])
    assert not found.is_series


def test_the_error_of_lines_grows_with_the_length_of_the_gaps():
    """Entries of a random walk are missed by a variance of ½ between neighbours, and by l/6 in a long gap of l."""
    walk = np.cumsum(np.random.default_rng(0).standard_normal(4000))
    scattered, together = (np.where(lost, np.nan, walk) for lost in (np.arange(4000) % 20 == 0, np.arange(4000) < 240))
    np.testing.assert_allclose(line_error(scattered), np.sqrt(0.5), rtol=4 / np.sqrt(2 * 1600))
    assert 0.5 * np.sqrt(240 / 6) < line_error(together) < 2 * np.sqrt(240 / 6)
