"""The Krylov space of CertifiedLanczos, and its proof that no eigenvalue is missing."""

import numpy as np
import pytest

from helpers import prescribed, rotation
from preimage.eigen import CertifiedLanczos, Dense, certified
from preimage.gram.operators import Centred, CentredStored, Stored, gram_operator
from preimage.kernels import Gaussian
from preimage.kernels.scales import length_scale

N = 240
DECAYING = 1 / np.arange(1.0, N + 1) ** 2


def space_of(operator, k):
    return certified._Krylov.with_pairs(operator, k)


def complement(space):
    """C = Q⊥ᵀAQ⊥ of a space in a matrix that is not centred."""
    Q = space.basis[: space.size].T
    others = np.linalg.qr(Q, mode="complete")[0][:, space.size :]
    return others.T @ space.matrix @ others


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_space_is_orthonormal_and_its_products_are_tridiagonal(dtype):
    matrix = prescribed(DECAYING, dtype=dtype)
    space = space_of(Stored(matrix), 6)
    Q, tolerance = space.basis[: space.size].astype(float).T, 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(Q.T @ Q, np.eye(space.size), atol=tolerance)
    diagonal, beside = space.T
    expected = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    np.testing.assert_allclose(Q.T @ matrix @ Q, expected, atol=tolerance)


@pytest.mark.parametrize("center", [False, True])
def test_pairs_of_a_fast_decaying_spectrum_are_as_accurate_as_lapacks(center):
    matrix = prescribed(10.0 ** (-np.arange(N) / 3)) + 100 * center
    operator = CentredStored(Stored(matrix)) if center else Stored(matrix)
    space = space_of(operator, 30)
    Q = space.basis[space.first : space.first + space.size]
    np.testing.assert_allclose(Q @ Q.T, np.eye(space.size), atol=N * np.finfo(float).eps)
    round_off = 10 * np.finfo(float).eps * (100 * N if center else 1)
    exact = np.linalg.eigvalsh(operator.dense())[::-1]
    np.testing.assert_allclose(space.values[::-1], exact[:30], atol=round_off)
    assert space_of(Stored(prescribed(10.0 ** -np.arange(N))), 15) is None  # too small for Lanczos


def test_pairs_of_a_smooth_kernel_keep_their_digits():
    """Without a second subtraction the space loses orthogonality here, and residuals are 20 to 100 times as large."""
    X = np.random.default_rng(0).random((400, 2))
    operator, _ = gram_operator(Gaussian(length_scale(X)), X, center=True, storage="square")
    pairs, matrix = CertifiedLanczos().solve(operator, 45, np.random.default_rng(0)), operator.dense()
    round_off = np.sqrt(len(X)) * np.finfo(float).eps * pairs.values[0]
    measured = np.linalg.norm(matrix @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert pairs.steps > 1  # not by LAPACK
    assert np.all(measured < round_off) and np.all(measured <= pairs.residuals)
    assert pairs.residuals.max() < 3 * round_off
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(matrix)[::-1][:45], rtol=0, atol=round_off)


def test_all_pairs_are_found_where_the_last_one_converges_first():
    """The two largest values are near each other, the third is far from all: it alone says nothing of the others."""
    values = np.concatenate([[1, 1 - 1e-7, 0.5], 0.01 * DECAYING[3:]])
    space = space_of(Stored(prescribed(values)), 3)
    np.testing.assert_allclose(space.values[::-1], values[:3], rtol=0, atol=50 * np.finfo(float).eps)
    assert np.all(space.residuals <= 20 * np.sqrt(N) * np.finfo(float).eps)
    early = certified._Krylov(space.matrix, space.size, center=False)
    while early.size < 3 or early._last_error(3) > 1:
        early.grow(1)
    assert early.size < space.size and early._error(3) > 1


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_cholesky_factor_proves_that_no_pair_is_missing(center, dtype):
    """Slowly falling values: the moments prove nothing, and a pair that is left out is noticed."""
    matrix = prescribed(0.98 ** np.arange(N), dtype=dtype)
    matrix += dtype(center)
    space = space_of(CentredStored(Stored(matrix)) if center else Stored(matrix), 4)
    level = float(space.values[0] * 1.001)
    assert not space._excludes(level, space._bound_by_moments())
    assert space._factors(level) and space.proves()
    space.values, space.weights = space.values[[0, 1, 3]], space.weights[:, [0, 1, 3]]
    assert not space._factors(level) and not space.proves()


@pytest.mark.parametrize("values", [DECAYING, np.exp(-np.arange(N) / 9), np.linspace(1, 0, N) ** 6 - 0.01])
def test_no_eigenvalue_outside_the_space_exceeds_the_bound(values):
    space = space_of(Stored(prescribed(values)), 3)
    outside = np.linalg.eigvalsh(complement(space))
    spread = np.sqrt((len(outside) - 1) * outside.var())
    assert space._bound_by_moments() == pytest.approx(outside.mean() + spread, abs=1e-7)  # √round-off
    assert space._bound_by_moments() >= outside[-1]
    rest = space._complement()
    rest.grow(24)
    assert outside[-1] <= rest._bound_by_chance() <= outside[-1] + 0.42 * np.ptp(outside)


@pytest.mark.parametrize("steps", [24, 30, 48])
def test_the_bound_by_chance_holds_for_every_start(steps, monkeypatch):
    """ε is that of the theorem, with half of the probability for each end."""
    values = np.linspace(-1, 1, N) ** 3  # many eigenvalues at both ends
    space = certified._Krylov(prescribed(values), steps + 3, center=False)
    space.grow(2)
    inside = np.linalg.eigvalsh(complement(space))
    error = (np.log(2 * 1.648 * np.sqrt(N) / 1e-8) / (2 * steps - 1)) ** 2
    for seed in range(1, 51):  # the space itself starts from seed 0
        start = np.random.default_rng(seed).standard_normal(N)
        monkeypatch.setattr(certified, "_start", lambda *_, start=start, **options: start)
        rest = space._complement()
        rest.grow(steps)
        ritz = np.linalg.eigvalsh(np.diag(rest.T[0]) + np.diag(rest.T[1], 1) + np.diag(rest.T[1], -1))
        assert ritz[-1] - 1e-12 < inside[-1] <= rest._bound_by_chance()
        assert rest._bound_by_chance() == pytest.approx(ritz[-1] + error / (1 - 2 * error) * np.ptp(ritz))


def test_the_count_bounds_the_eigenvalues_above_a_level_also_in_a_small_space():
    values = np.concatenate([[9, 7, 5, 3.0], np.full(N - 4, 0.01)])
    operator = Stored(prescribed(values))
    space = certified._Krylov(operator.matrix, 3, center=False)
    space.grow(3)  # it cannot hold four eigenvectors
    largest = np.linalg.eigvalsh(complement(space))[-1]
    for level in (largest + 0.1, largest + 1, 6.0, 8.0):
        if level > largest:
            assert space._count_above(level, largest) >= np.sum(values > level)


@pytest.mark.parametrize("floor", [0.0, 0.02])  # with a floor, the moments prove nothing
def test_few_steps_prove_a_decaying_spectrum_without_lapack(floor, monkeypatch):
    monkeypatch.setattr(certified, "Dense", lambda: pytest.fail("LAPACK was called"))
    values = np.maximum(DECAYING, floor * np.linspace(1, 0.5, N))
    pairs = CertifiedLanczos().solve(Stored(prescribed(values)), 6, np.random.default_rng(0))
    np.testing.assert_allclose(pairs.values, values[:6], atol=1e-14)


@pytest.mark.parametrize("values", [[9, 9, 5, 3], [9, 5, 5, 3], [9, 9, 9, 9, 5]])
def test_a_space_that_misses_a_copy_proves_nothing_and_the_copy_is_found(values):
    spectrum = np.concatenate([values, 0.1 * DECAYING[: N - len(values)]])
    diagonal = np.diag(spectrum)  # without rounding, a Krylov space holds one copy
    space = space_of(Stored(diagonal.copy()), 3)
    if space is not None and not np.allclose(space.values[::-1], spectrum[:3]):
        assert not space.proves()
    pairs = CertifiedLanczos().solve(Stored(diagonal), 3, np.random.default_rng(0))
    np.testing.assert_allclose(pairs.values, spectrum[:3], rtol=1e-13)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3])
def test_a_centred_space_needs_no_centred_matrix(offset):
    matrix = prescribed(DECAYING) + offset
    operator = CentredStored(Stored(matrix.copy()))
    space, exact = space_of(operator, 4), Centred(Stored(matrix)).dense()
    np.testing.assert_array_equal(operator.operator.matrix, matrix)
    round_off = 10 * N * np.finfo(float).eps * max(offset, 1)
    assert space.trace == pytest.approx(np.trace(exact), abs=round_off)
    assert space.squares == pytest.approx(np.sum(exact**2), abs=N * round_off * max(offset, 1))
    pairs, dense = (s.solve(operator, 4, np.random.default_rng(0)) for s in (CertifiedLanczos(), Dense()))
    np.testing.assert_allclose(pairs.values, dense.values, atol=round_off)
    np.testing.assert_allclose(pairs.vectors, dense.vectors, atol=100 * round_off)
    np.testing.assert_allclose(pairs.vectors.sum(axis=0), 0, atol=100 * round_off)


def test_an_invariant_space_ends_the_steps():
    axes = rotation(N)[:, :3]
    low_rank = axes * [3.0, 2.0, 1.0] @ axes.T
    space = certified._Krylov(low_rank, 20, center=False)
    space.grow(20)
    assert space.is_invariant and space.size <= 6
    pairs = CertifiedLanczos().solve(Stored(low_rank), 3, np.random.default_rng(0))
    np.testing.assert_allclose(pairs.values, [3, 2, 1], atol=1e-13)
