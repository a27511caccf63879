"""The basis of block Krylov keeps its relation, whatever passes, turns and restarts it has been through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import prescribed
from preimage.eigen.space import BlockSpace
from preimage.gram.operators import Stored

N, K, WIDTH = 120, 6, 8
SPECTRA = {"slow": np.linspace(2, 1, N), "fast": 0.7 ** np.arange(N), "copies": np.repeat([3.0, 2.0, 1.0, 0.0], N // 4)}


def steps_of(space, names, rng):
    for name in names:
        ritz = space.ritz(K)
        if name == "narrow" and ritz is not None:
            space.narrow(ritz.weights[:, -2:], 2)
        elif name == "restart" and ritz is not None:
            space.restart(K)
        elif name == "add" and space.total + 3 < N:
            space.add(rng.standard_normal((N, 3)))
        space.multiply()
        space.extend(K, rng)


@given(st.lists(st.sampled_from(["multiply", "narrow", "restart", "add"]), max_size=14), st.sampled_from([*SPECTRA]))
@settings(deadline=None, max_examples=80)
def test_the_operator_maps_what_it_has_multiplied_into_the_basis(names, spectrum):
    A, rng = prescribed(SPECTRA[spectrum]), np.random.default_rng(0)
    space = BlockSpace(Stored(A.copy()), rng.standard_normal((N, WIDTH)), K)
    steps_of(space, names, rng)
    Q, T, scale = space.Q[:, : space.total], space.T[: space.total, : space.size], np.abs(A).sum(axis=0).max()
    tolerance = N * np.finfo(float).eps * max(scale, 1) * 10
    np.testing.assert_allclose(Q.T @ Q, np.eye(space.total), atol=tolerance)
    np.testing.assert_allclose(A @ Q[:, : space.size], Q @ T, atol=20 * tolerance)
    ritz = space.ritz(K)
    if ritz is not None:
        vectors = space.vectors(ritz.weights)
        true = np.linalg.norm(A @ vectors - vectors * ritz.values, axis=0)
        np.testing.assert_allclose(ritz.residuals, true, atol=20 * tolerance)


def test_a_narrow_pass_multiplies_few_columns_and_loses_none():
    """The residuals of the chosen pairs lie in what is multiplied next; the rest of the frontier stays for later."""
    A, rng = prescribed(SPECTRA["slow"]), np.random.default_rng(0)
    space = BlockSpace(Stored(A.copy()), rng.standard_normal((N, WIDTH)), K)
    for _ in range(3):
        space.multiply()
    ritz, before = space.ritz(K), space.total
    space.narrow(ritz.weights[:, :2], 2)
    assert space.width == 2 and space.total == before
    left = space.T[space.size + 2 : space.total, : space.size] @ ritz.weights[:, :2]
    assert np.abs(left).max() < 1e-14
    np.testing.assert_allclose(space.ritz(K).residuals, ritz.residuals, rtol=1e-10)
    space.multiply()
    assert (space.size, space.width) == (before - WIDTH + 2, WIDTH)


def test_a_pass_of_fewer_columns_than_pairs_takes_the_strongest_directions_of_their_residuals():
    """What stays for later is the least that a single direction can leave: the other singular values."""
    A, rng = prescribed(SPECTRA["slow"]), np.random.default_rng(0)
    space = BlockSpace(Stored(A.copy()), rng.standard_normal((N, WIDTH)), K)
    for _ in range(3):
        space.multiply()
    weights = space.ritz(K).weights
    strengths = np.linalg.svd(space.T[space.frontier, : space.size] @ weights, compute_uv=False)
    space.narrow(weights, 1)
    left = space.T[space.size + 1 : space.total, : space.size] @ weights
    assert strengths[1] < 0.9 * np.linalg.norm(strengths)  # another direction would leave more
    np.testing.assert_allclose(np.linalg.norm(left), np.linalg.norm(strengths[1:]), rtol=1e-10)
    space.multiply()
    ritz = space.ritz(K)
    vectors = space.vectors(ritz.weights)
    true = np.linalg.norm(A @ vectors - vectors * ritz.values, axis=0)
    np.testing.assert_allclose(ritz.residuals, true, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_space_that_is_mapped_to_itself_has_no_frontier(dtype):
    A, rng = prescribed([3.0, 2.0, 1.0, *np.zeros(N - 3)], dtype=dtype), np.random.default_rng(0)
    space = BlockSpace(Stored(A.copy()), rng.standard_normal((N, 4)), 2)
    space.multiply()
    space.multiply()
    assert space.total == space.size
    space.extend(2, rng)
    assert space.total - space.size == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_off_does_not_enter_the_basis(dtype):
    """What is left of a block in the span is noise, most of it in the span, too: one direction at most is outside."""
    A, eps = prescribed(np.ones(N), dtype=dtype), np.finfo(dtype).eps
    for seed in range(20):
        rng = np.random.default_rng(seed)
        space = BlockSpace(Stored(A.copy()), rng.standard_normal((N, N - 1)), K)
        block = space.Q[:, : space.total] @ rng.standard_normal((space.total, 4)).astype(dtype)
        P, _, _ = space._orthonormal(block)
        assert P.shape[1] <= 1 and np.abs(space.Q[:, : space.total].T @ P).max(initial=0) < 100 * N * eps
