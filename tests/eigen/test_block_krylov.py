import warnings

import numpy as np
import pytest

from helpers import centring, prescribed, rows
from preimage import progress
from preimage.eigen import BlockKrylov, CertifiedLanczos, Dense
from preimage.exceptions import ConvergenceWarning
from preimage.gram import operators, tiles
from preimage.gram.operators import Centred, Stored, Symmetric, gram_operator
from preimage.kernels import Gaussian, Polynomial

N, K = 300, 20
SPECTRA = {
    "geometric": 0.9 ** np.arange(N),
    "linear": np.linspace(1, 0, N),
    "degenerate": np.repeat([1.0, 0.5, 0.1], [30, 30, N - 60]),
    "clustered": np.concatenate([1 + 1e-7 * np.arange(30), np.full(20, 0.5), np.zeros(N - 50)]),
    "low rank": np.concatenate([np.linspace(2, 1, 12), np.zeros(N - 12)]),
    "indefinite": np.linspace(3, -5, N),
    "identity": np.ones(N),
    "zero": np.zeros(N),
}


def solve(spectrum, solver, k=K):
    A = prescribed(spectrum)
    return A, solver.solve(Stored(A.copy()), k, np.random.default_rng(0))


@pytest.mark.parametrize("block_size", [None, 1, 4, 40])
@pytest.mark.parametrize("name", SPECTRA)
def test_leading_eigenpairs_of_a_prescribed_spectrum(name, block_size):
    if block_size == 1 and name in ("degenerate", "identity", "zero", "clustered"):
        pytest.skip("twenty copies one at a time: right, and slow")
    spectrum = np.sort(SPECTRA[name])[::-1]
    A, pairs = solve(spectrum, BlockKrylov(block_size, max_iter=2000))
    largest = np.abs(spectrum[:K]).max()
    np.testing.assert_allclose(pairs.values, spectrum[:K], atol=1e-9 * largest)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(K), atol=1e-10)
    measured = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert measured.max() <= 1e-6 * largest + 1e-12
    assert pairs.converged


def test_reported_residuals_are_the_true_ones():
    A, pairs = solve(SPECTRA["linear"], BlockKrylov(tol=1e-4))
    measured = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(pairs.residuals, measured, rtol=1e-6)
    assert 1e-7 < measured.max() <= 1e-4  # it stopped at the tolerance and not far beyond


def test_a_smaller_tolerance_takes_more_passes():
    steps = [solve(SPECTRA["linear"], BlockKrylov(tol=tol))[1].steps for tol in (1e-3, 1e-5, 1e-9)]
    assert steps[0] < steps[1] < steps[2]


def test_it_warns_when_passes_run_out_and_returns_what_it_has():
    with pytest.warns(ConvergenceWarning, match="stopped before it reached its tolerance"):
        _, pairs = solve(SPECTRA["linear"], BlockKrylov(max_iter=3))
    assert not pairs.converged and pairs.steps == 3 and len(pairs.values) == K


def test_a_restart_keeps_the_space_small():
    class Watched(Stored):
        widest = 0

        def _matmat(self, V):
            Watched.widest = max(Watched.widest, V.shape[1])
            return super()._matmat(V)

    spectrum = np.linspace(1, 0, N)
    operator = Watched(prescribed(spectrum))
    pairs = BlockKrylov(block_size=2, tol=1e-7, max_iter=2000).solve(operator, 5, np.random.default_rng(0))
    assert pairs.steps > 2 * (5 + 12 * 2) / 2 and Watched.widest == 2
    np.testing.assert_allclose(pairs.values, spectrum[:5], atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Polynomial(gamma=0.2, degree=2)], ids=["gaussian", "polynomial"])
@pytest.mark.parametrize("center", [True, False])
def test_recomputed_is_stored_is_dense(kernel, center):
    X = rows(700, 4)
    found = []
    for storage in ("memory", "recompute"):
        operator, _ = gram_operator(kernel, X, center=center, storage=storage)
        found.append(BlockKrylov(tol=1e-9).solve(operator, 8, np.random.default_rng(1)))
    operator, _ = gram_operator(kernel, X, center=center, storage="memory")
    exact = Dense().solve(operator, 8, np.random.default_rng(1))
    for pairs in found:
        np.testing.assert_allclose(pairs.values, exact.values, rtol=1e-10, atol=1e-10 * exact.values[0])
        np.testing.assert_allclose(np.abs(np.diagonal(pairs.vectors.T @ exact.vectors)), 1, atol=1e-6)


def test_clusters_that_no_landmark_stands_in_are_found():
    """Far clusters make the matrix block diagonal: a start without a random part would never leave its blocks."""
    rng = np.random.default_rng(0)
    small = [np.full(2, 1e4 * (i + 1)) + 0.01 * rng.standard_normal((12, 2)) for i in range(3)]
    X = np.concatenate([rng.standard_normal((1500, 2)), *small])
    operator, _ = gram_operator(Gaussian(0.05), X, center=False, storage="recompute")
    pairs = BlockKrylov(tol=1e-8).solve(operator, 12, np.random.default_rng(3))
    exact = Dense().solve(operator, 12, np.random.default_rng(3))
    np.testing.assert_allclose(pairs.values, exact.values, rtol=1e-8)


def test_a_nystrom_start_saves_passes():
    X = rows(1500, 3)
    steps = {}
    for storage in ("memory", "recompute"):
        operator, _ = gram_operator(Gaussian(2.0), X, center=True, storage=storage)
        steps[storage] = BlockKrylov(block_size=24).solve(operator, 12, np.random.default_rng(0)).steps
    assert steps["recompute"] < steps["memory"]


def test_float32_rows_are_worked_in_float32():
    X = rows(600, 5).astype(np.float32)
    operator, _ = gram_operator(Gaussian(2.0), X, center=True)
    exact, _ = gram_operator(Gaussian(2.0), X.astype(float), center=True)
    pairs = BlockKrylov().solve(operator, 10, np.random.default_rng(0))
    assert pairs.vectors.dtype == pairs.values.dtype == np.float32
    expected = Dense().solve(exact, 10, np.random.default_rng(0)).values
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-4)


def test_the_same_seed_gives_the_same_pairs():
    first, second = (solve(SPECTRA["geometric"], BlockKrylov())[1] for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)


def test_a_space_as_large_as_the_whole_is_left_to_lapack():
    _, pairs = solve(np.linspace(1, 0, 30), BlockKrylov(), k=25)
    np.testing.assert_allclose(pairs.values, np.linspace(1, 0, 30)[:25], atol=1e-13)


def test_an_operator_known_by_its_products_alone():
    A = prescribed(SPECTRA["geometric"])

    class Own(Symmetric):
        def _matmat(self, V):
            return A @ V

    pairs = BlockKrylov().solve(Centred(Own(float, N)), 5, np.random.default_rng(0))
    assert np.all(pairs.residuals <= 1e-6 * pairs.values[0])
    np.testing.assert_allclose(pairs.vectors.sum(axis=0), 0, atol=1e-6)


def test_products_of_a_stored_matrix():
    A, V = rows(1500, 1500), rows(1500, 3)
    A += A.T
    np.testing.assert_allclose(tiles.multiply_stored(A, V), A @ V, atol=1e-11)
    np.testing.assert_allclose(tiles.multiply_stored(A, V[:, 0]), A @ V[:, 0], atol=1e-11)


def test_progress_counts_the_passes_and_an_interruption_ends_them():
    seen = []

    def stop(stage, done, total):
        seen.append((stage, done))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listen(stop):
        solve(SPECTRA["linear"], BlockKrylov())
    assert seen == [("eigenpairs", 1), ("eigenpairs", 2), ("eigenpairs", 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solve(SPECTRA["linear"], BlockKrylov(max_iter=4))
    assert len(seen) == 3  # nobody listens any more


# Passes in single precision


class Recorded(Stored):
    """A stored matrix that notes the precision of every product; its copies write to the same list."""

    notes: list

    def _matmat(self, V):
        Recorded.notes.append(self.dtype.name)
        return super()._matmat(V)


@pytest.fixture
def products(monkeypatch):
    monkeypatch.setattr(Recorded, "notes", [], raising=False)
    return Recorded.notes


def pairs_of(A, solver, products):
    pairs = solver.solve(Recorded(A.copy()), 10, np.random.default_rng(0))
    measured = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert measured.max() <= 1e-6 * np.abs(pairs.values).max()
    assert pairs.steps == len(products)
    return pairs


@pytest.mark.parametrize("name", ["geometric", "linear", "degenerate", "low rank", "indefinite"])
def test_all_passes_but_the_last_are_single_and_the_pairs_are_double(name, products):
    spectrum = np.sort(SPECTRA[name])[::-1]
    pairs = pairs_of(prescribed(spectrum), BlockKrylov(max_iter=500), products)
    n_single = products.count("float32")
    assert products == ["float32"] * n_single + ["float64"] * (len(products) - n_single)
    assert n_single >= 2
    if name not in ("linear", "indefinite"):  # where residuals fall slowly, double precision goes on
        assert len(products) - n_single <= 3
    np.testing.assert_allclose(pairs.values, spectrum[:10], atol=1e-11 * np.abs(spectrum).max())


def test_a_tolerance_out_of_reach_of_single_precision_takes_double_throughout(products):
    pairs_of(prescribed(SPECTRA["geometric"]), BlockKrylov(tol=1e-9), products)
    assert set(products) == {"float64"}


@pytest.mark.parametrize("unit", [1e-150, 1e-30, 1e30, 1e150])
def test_values_that_single_precision_cannot_hold_are_not_rounded(unit, products):
    spectrum = SPECTRA["geometric"]
    pairs = pairs_of(unit * prescribed(spectrum), BlockKrylov(), products)
    assert set(products) == {"float64"}
    np.testing.assert_allclose(pairs.values, unit * spectrum[:10], rtol=1e-10)


def test_a_single_value_too_large_for_single_precision_is_noticed(products):
    A = np.diag(1.0 + np.arange(N))
    A[0, 1] = A[1, 0] = 1e39
    pairs = BlockKrylov().solve(Recorded(A), 1, np.random.default_rng(0))
    assert set(products) == {"float64"}
    np.testing.assert_allclose(pairs.values, 1e39, rtol=1e-9)


def test_round_off_of_single_precision_ends_its_passes(products):
    """Rounding K = 1 + S to single precision changes S by more than the tolerance, so the rest is double."""
    spectrum = 1e-3 * 0.8 ** np.arange(N - 1)
    S = centring(N) @ prescribed(np.append(spectrum, 0)) @ centring(N)
    pairs = BlockKrylov().solve(Centred(Recorded(1 + S)), 5, np.random.default_rng(0))
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(S)[::-1][:5], atol=1e-9 * spectrum[0])
    assert pairs.converged
    assert products.count("float32") < 25 and products.count("float64") < 25


def test_without_memory_for_a_copy_passes_are_double(monkeypatch, products):
    monkeypatch.setattr(operators, "free_memory", lambda: 8.0 * N * N - 1)
    pairs_of(prescribed(SPECTRA["geometric"]), BlockKrylov(), products)
    assert set(products) == {"float64"}


def test_a_triangle_in_single_precision_has_the_rounded_values():
    operator, _ = gram_operator(Gaussian(2.0), rows(700, 4), center=True, storage="memory")
    np.testing.assert_array_equal(operator.rounded().operator.dense(), operator.operator.dense().astype(np.float32))
    assert operator.rounded().rounded() is None


# The other end of the spectrum


@pytest.mark.parametrize("solver", [BlockKrylov(tol=1e-9), CertifiedLanczos()], ids=["block", "certified"])
@pytest.mark.parametrize("negative", [[-0.3], [-2.0, -0.7, -0.1], [-1e-3]])
def test_the_lowest_ritz_values_bound_the_lowest_eigenvalues_from_above(solver, negative):
    spectrum = np.sort(np.concatenate([0.7 ** np.arange(N - len(negative)), negative]))
    A = prescribed(spectrum)
    lowest = solver.solve(Stored(A.copy()), 6, np.random.default_rng(0)).lowest
    assert lowest is not None
    assert np.all(lowest >= spectrum[: len(lowest)] - 1e-12)
    np.testing.assert_allclose(lowest[0], spectrum[0], atol=2e-4)


def test_a_lower_end_that_is_far_from_found_is_not_told():
    spectrum = np.sort(np.concatenate([[1e6], np.linspace(10, -1000, N - 1)]))  # a wide lower end, one pair at the top
    pairs = BlockKrylov(block_size=1, tol=1e-1).solve(Stored(prescribed(spectrum)), 1, np.random.default_rng(0))
    assert pairs.converged and pairs.lowest is None
