"""Leading pairs of small dense matrices, against prescribed spectra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import prescribed
from preimage.eigen import lapack

SPECTRA = {
    "linear": lambda n: np.linspace(2, -1, n),
    "decaying": lambda n: 0.5 ** np.arange(n),
    "copies": lambda n: np.repeat([3.0, 2.0, 1.0], -(-n // 3))[:n],
    "identity": np.ones,
    "zero": np.zeros,
    "rank one": lambda n: np.eye(n)[0],
    "tiny": lambda n: 1e-150 * np.linspace(2, 1, n),
    "huge": lambda n: 1e150 * np.linspace(2, 1, n),
}


def assert_leading(A, spectrum, k, pairs):
    """Values, residuals and orthogonality to n·eps, as LAPACK promises."""
    (values, vectors), exact = pairs, np.sort(spectrum)[-k:]
    bound = 20 * len(A) * np.finfo(A.dtype).eps
    scale = np.abs(spectrum).max(initial=0) or 1.0
    np.testing.assert_allclose(values / scale, exact / scale, atol=bound)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=bound)
    np.testing.assert_allclose((A @ vectors - vectors * values) / scale, 0, atol=bound)


SIZES = [
    (1, 1),
    (2, 2),
    (3, 1),
    (4, 2),
    (21, 2),
    (21, 10),
    (90, 6),
    (90, 45),
    (90, 90),
    (200, 30),
    (500, 3),
    (600, 600),
]


@pytest.mark.parametrize("n, k", SIZES)
@pytest.mark.parametrize("name", SPECTRA)
def test_leading_pairs_of_a_prescribed_spectrum(name, n, k):
    spectrum = SPECTRA[name](n)
    A = prescribed(spectrum)
    assert_leading(A, spectrum, k, lapack.leading(A, k))


@pytest.mark.parametrize("k", [2, 20])
def test_single_precision(k):
    spectrum = np.linspace(2, -1, 80)
    A = prescribed(spectrum).astype(np.float32)
    values, vectors = pairs = lapack.leading(A, k)
    assert values.dtype == vectors.dtype == np.float32
    assert_leading(A, spectrum, k, pairs)


@given(st.integers(0, 2**31), st.integers(3, 40), st.data())
@settings(deadline=None, max_examples=100)
def test_any_matrix_beside_numpy(seed, n, data):
    k = data.draw(st.integers(1, max(1, n // 2)))
    A = np.random.default_rng(seed).standard_normal((n, n))
    A += A.T
    assert_leading(A, np.linalg.eigvalsh(A), k, lapack.leading(A, k))


def test_a_matrix_stays_as_it_is():
    A = prescribed(np.linspace(2, -1, 30))
    before = A.copy()
    A.flags.writeable = False
    assert_leading(before, np.linspace(2, -1, 30), 5, lapack.leading(A, 5))
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("k", [1, 20, 80])
def test_overwriting_keeps_all_below_the_diagonal(k):
    spectrum = np.linspace(2, -1, 80)
    A = np.ascontiguousarray(prescribed(spectrum))
    overwritten = A.copy()
    pairs = lapack.reduced(overwritten, k, overwrite=True)
    if pairs is None:  # all pairs with scipy 1.14
        assert k == 80
        assert "stevd" not in lapack._routines(A.dtype)
    else:
        assert_leading(A, spectrum, k, pairs)
    np.testing.assert_array_equal(np.tril(overwritten, -1), np.tril(A, -1))


@pytest.mark.parametrize("k", [3, 12, 25])
def test_older_versions_of_scipy_and_failures_are_left_to_divide_and_conquer(k, monkeypatch):
    spectrum = np.linspace(2, -1, 60)
    A, routines = prescribed(spectrum), dict(lapack._routines(np.dtype(float)))
    routines.pop("stevd", None)
    nothing = {"stemr": lambda *_: (0, spectrum, np.zeros((60, 60)), 1), "stein": lambda *_: (np.zeros((60, k)), 1)}
    failing = {**routines, **nothing}
    for available in (routines, failing):
        monkeypatch.setattr(lapack, "_routines", lambda _, available=available: available)
        assert_leading(A, spectrum, k, lapack.leading(A, k))


@pytest.mark.parametrize("n", [1, 2, 30])
def test_a_tridiagonal_matrix_has_the_pairs_of_the_dense_one(n):
    rng = np.random.default_rng(n)
    diagonal, beside = rng.standard_normal(n), rng.standard_normal(n - 1)
    A = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    exact = np.linalg.eigvalsh(A)
    assert_leading(A, exact, n, lapack.tridiagonal(diagonal, beside))
    np.testing.assert_allclose(lapack.tridiagonal_values(diagonal, beside), exact, atol=1e-14 * n)


@pytest.mark.parametrize("number", [1, 4, 30])
def test_one_pair_of_a_tridiagonal_matrix_is_that_of_the_dense_one(number):
    rng = np.random.default_rng(number)
    diagonal, beside = rng.standard_normal(30), rng.standard_normal(29)
    value, weights = lapack.tridiagonal_pair(diagonal, beside, number)
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    np.testing.assert_allclose(value, values[-number], atol=1e-13)
    np.testing.assert_allclose(np.abs(weights), np.abs(vectors[:, -number]), atol=1e-12)
