"""The named protocols draw the rows and the noise that published tables were measured on."""

import numpy as np
import pytest

from preimage.datasets import DatasetNotFound
from preimage.statistics.metrics import snr
from preimage_papers.protocols import NAMES, load

USPS_ROWS = (193529.86748, 33145.88150)
SUMS = {  # of the training rows, the test rows, the third noisy test rows and the first noisy training rows
    "P1g25": (*USPS_ROWS, 33004.65808, 193795.15786),
    "P1g50": (*USPS_ROWS, 32863.43463, 194060.44823),
    "P1sp40": (*USPS_ROWS, 45661.05400, 269502.56899),
    "P2g": (*USPS_ROWS, 44922.43868, 268082.65493),
    "P2sp": (*USPS_ROWS, 42506.70400, 250564.06099),
    "P3": (19519.25, 15588.125, 15463.43116, 19517.51323),
    "P4": (6930.51011, 4320.94498, 4262.68443, 6976.57024),
    "P5": (*USPS_ROWS, 33004.65808, 193795.15786),
}


def loaded(name):
    try:
        return load(name)
    except DatasetNotFound as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_draws_the_same_rows_and_the_same_noise_everywhere(name):
    protocol = loaded(name)
    arrays = (protocol.train, protocol.test, protocol.noisy_tests[2], protocol.noisy_trains[0])
    assert [array.sum(dtype=float) for array in arrays] == pytest.approx(SUMS[name], rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_rows_to_fit_and_to_tune_on_are_apart_and_make_up_the_training_rows(name):
    protocol = loaded(name)
    rows = np.concatenate([protocol.fit, protocol.val])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(protocol.train)))
    assert protocol.train.shape[1] == np.prod(protocol.shape)
    assert not {row.tobytes() for row in protocol.train} & {row.tobytes() for row in protocol.test}


@pytest.mark.parametrize("name", ["P1g25", "P1g50", "P3", "P4", "P5"])
def test_the_three_noises_are_independent_and_of_the_level_that_the_protocol_names(name):
    protocol = loaded(name)
    first, second, _ = (noisy - protocol.test for noisy in protocol.noisy_tests)
    n, sigma = first.size, protocol.noise.sigma
    assert first.std() == pytest.approx(sigma, rel=5 / np.sqrt(2 * n))  # five standard errors
    assert abs(np.mean(first * second)) < 5 * sigma**2 / np.sqrt(n)


def test_heartbeats_have_six_decibels_of_signal_over_noise():
    protocol = loaded("P4")
    assert np.mean(snr(protocol.test, protocol.noisy_tests[0])) == pytest.approx(6, abs=0.05)


def test_an_unknown_protocol_gets_a_sentence():
    with pytest.raises(ValueError, match=r"unknown protocol 'P9'; they are P1g25"):
        load("P9")
