import warnings

import numpy as np
import pytest

from helpers import centring, groups_of_equal, prescribed, rows
from preimage.eigen import (
    BlockKrylov,
    CertifiedLanczos,
    Dense,
    Lanczos,
    PowerDeflation,
    as_solver,
    choose_solver,
    lapack,
    storage_for,
)
from preimage.eigen.base import sketched_residuals
from preimage.eigen.mixed import Mixed
from preimage.exceptions import ConvergenceWarning
from preimage.gram import operators
from preimage.gram.operators import Centred, Stored, Symmetric, gram_operator
from preimage.kernels import Gaussian, Linear

N = 60
SPECTRA = {
    "spread": np.linspace(10, 1, N),
    "geometric": 5 * 0.7 ** np.arange(N),
    "clustered": np.concatenate([[4.0, 4 - 1e-7, 4 - 2e-7], [2 + 1e-9, 2.0], np.linspace(1, 0.1, N - 5)]),
    "degenerate": np.concatenate([[3.0] * 4, [2.0] * 3, np.linspace(1, 0.1, N - 7)]),
    "rank-deficient": np.concatenate([np.linspace(3, 1, 7), np.zeros(N - 7)]),
    "indefinite": np.concatenate([np.linspace(3, 1, 10), np.linspace(0.5, -0.9, N - 12), [-1.7, -2.6]]),
}
SOLVERS = {
    "dense": Dense(),
    "block_krylov": BlockKrylov(block_size=4, tol=1e-11),
    "lanczos": Lanczos(),
    "certified": CertifiedLanczos(),
    "power": PowerDeflation(),
}


class Products(Symmetric):
    """An operator that can do nothing but multiply."""

    def __init__(self, matrix):
        super().__init__(matrix.dtype, len(matrix))
        self.kept, self.count = matrix, 0

    def _matmat(self, V):
        self.count += V.shape[1]
        return self.kept @ V


OPERATORS = {"stored": lambda A: Stored(A.copy()), "products": Products}

every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
every_operator = pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)


def solve(solver, operator, k, seed=0):
    return solver.solve(operator, k, np.random.default_rng(seed))


def assert_leading_pairs(pairs, A, k, atol):
    """Values equal numpy's; where they meet, the spanned subspaces do; vectors are orthonormal."""
    true, vectors = (part[..., ::-1] for part in np.linalg.eigh(A.astype(float)))
    scale = np.abs(true).max()
    np.testing.assert_allclose(pairs.values, true[:k], atol=atol * scale)
    assert np.all(np.diff(pairs.values) <= 0)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(k), atol=max(atol, 1e-9))
    for group in groups_of_equal(true, 1e-5):
        if group.stop <= k:  # a group that k cuts in two has no subspace of its own
            ours, theirs = pairs.vectors[:, group], vectors[:, group]
            np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=max(1e4 * atol, 1e-6))


def assert_residuals_are_true_and_bound_the_error(pairs, A):
    scale = np.abs(np.linalg.eigvalsh(A)).max()
    measured = scale * np.linalg.norm((A @ pairs.vectors - pairs.vectors * pairs.values) / scale, axis=0)
    np.testing.assert_allclose(pairs.residuals, measured, atol=1e-13 * scale)
    distance = np.abs(pairs.values[:, None] - np.linalg.eigvalsh(A)).min(axis=1)
    assert np.all(distance <= pairs.residuals + 1e-13 * scale)


@pytest.mark.parametrize("spectrum", ["spread", "geometric", "degenerate", "indefinite"])
def test_mixed_precision_has_a_subspace_of_single_and_values_of_double_precision(spectrum):
    A = prescribed(SPECTRA[spectrum])
    pairs = solve(Mixed(), Stored(A.copy()), 7)
    true = np.linalg.eigvalsh(A)[::-1]
    np.testing.assert_allclose(pairs.values, true[:7], atol=1e-11 * true[0])
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(7), atol=1e-12)
    assert pairs.residuals.max() < 1e-5 * true[0]
    assert_residuals_are_true_and_bound_the_error(pairs, A)


def test_mixed_precision_gives_way_where_single_precision_is_blind():
    A = prescribed(10.0 ** -np.arange(N))
    np.testing.assert_allclose(solve(Mixed(), Stored(A.copy()), 12).values, 10.0 ** -np.arange(12.0), atol=1e-14)


@every_solver
@every_operator
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("k", [1, 5, 12])
def test_leading_pairs_equal_numpys(solver, operator, spectrum, k):
    A, atol = prescribed(SPECTRA[spectrum]), 1e-10
    if isinstance(solver, PowerDeflation) and spectrum == "clustered":
        solver, atol = PowerDeflation(tol=1e-6), 1e-6  # power iterations cannot tell 4 from 4 − 10⁻⁷
    pairs = solve(solver, operator(A), k)
    assert pairs.converged and pairs.steps >= 1
    assert pairs.values.shape == pairs.residuals.shape == (k,) and pairs.vectors.shape == (N, k)
    assert_leading_pairs(pairs, A, k, atol)
    assert_residuals_are_true_and_bound_the_error(pairs, A)


@every_solver
@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e20, 1e200])
def test_the_unit_of_the_values_does_not_matter(solver, unit):
    A = prescribed(SPECTRA["geometric"])
    plain, scaled = solve(solver, Stored(A.copy()), 5), solve(solver, Stored(unit * A), 5)
    assert scaled.converged
    np.testing.assert_allclose(scaled.values, unit * plain.values, rtol=1e-12)
    np.testing.assert_allclose(scaled.vectors, plain.vectors, atol=1e-8)
    assert_residuals_are_true_and_bound_the_error(scaled, unit * A)


@every_solver
@pytest.mark.parametrize("n, k", [(1, 1), (2, 1), (2, 2), (3, 2), (10, 9), (10, 10)])
def test_small_matrices_and_all_pairs(solver, n, k):
    A = prescribed(2.0 ** -np.arange(n))
    pairs = solve(solver, Stored(A.copy()), k)
    assert pairs.converged
    assert_leading_pairs(pairs, A, k, atol=1e-10)
    assert_residuals_are_true_and_bound_the_error(pairs, A)


@every_solver
def test_negative_eigenvalues_of_the_largest_size_come_last(solver):
    A = prescribed([-5.0, -4.0, 3.0, 2.0, 1.0, 0.5])
    pairs = solve(solver, Stored(A.copy()), 2)
    np.testing.assert_allclose(pairs.values, [3, 2], rtol=1e-9)


@every_solver
def test_float32_pairs_are_float32_and_accurate_to_it(solver):
    A = prescribed(SPECTRA["geometric"], dtype="f4")
    pairs = solve(solver, Stored(A.copy()), 5)
    assert pairs.vectors.dtype == np.float32
    np.testing.assert_allclose(pairs.values, SPECTRA["geometric"][:5], atol=1e-5 * 5)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(5), atol=1e-5)


@every_solver
def test_the_zero_matrix_has_the_eigenvalue_zero(solver):
    pairs = solve(solver, Stored(np.zeros((30, 30))), 2)
    np.testing.assert_allclose(pairs.values, 0, atol=1e-14)
    np.testing.assert_allclose(pairs.residuals, 0, atol=1e-14)
    assert pairs.converged


@every_solver
def test_signs_make_the_largest_entry_positive(solver):
    A = prescribed(SPECTRA["geometric"], seed=3)
    for seed in range(3):
        vectors = solve(solver, Stored(A.copy()), 6, seed).vectors
        assert np.all(vectors[np.abs(vectors).argmax(axis=0), np.arange(6)] > 0)


@every_solver
def test_the_same_draws_give_the_same_numbers(solver):
    A = prescribed(SPECTRA["geometric"])
    first, second = (solve(solver, Stored(A.copy()), 3, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    assert first.steps == second.steps


@every_solver
@pytest.mark.parametrize("storage", ["memory", "recompute"])
def test_solvers_agree_on_a_gram_matrix(solver, storage):
    X = rows(80, 3) * [3, 2, 1]
    K = Gaussian(4.0)(X, X)
    operator, _ = gram_operator(Gaussian(4.0), X, center=True, storage=storage)
    pairs = solve(solver, operator, 4)
    assert_leading_pairs(pairs, centring(80) @ K @ centring(80), 4, atol=1e-9)


def test_centring_leaves_no_constant_vector_among_the_pairs():
    operator = Centred(Stored(np.full((40, 40), 100.0) + prescribed(np.linspace(1, 0.1, 40))))
    for solver in SOLVERS.values():
        pairs = solve(solver, operator, 3)
        assert pairs.values[0] < 1 + 1e-12
        np.testing.assert_allclose(pairs.vectors.sum(axis=0), 0, atol=1e-8)


# Dense


@pytest.mark.parametrize("n, k", [(1, 1), (7, 2), (7, 7), (520, 3), (520, 60), (520, 520)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_leaves_the_operators_matrix_as_it_was(n, k, dtype, order):
    matrix = np.array(prescribed(np.linspace(2, -1, n), dtype=dtype), order=order)
    before = matrix.copy()
    solve(Dense(), Stored(matrix), k)
    np.testing.assert_array_equal(matrix, before)


def test_dense_answers_a_second_time():
    operator = Stored(prescribed(SPECTRA["spread"]))
    first, second = solve(Dense(), operator, 4), solve(Dense(), operator, 4)
    np.testing.assert_array_equal(first.values, second.values)


# Repeated eigenvalues, where LAPACK's subset driver loses pairs


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("solver", [*SOLVERS.values(), Mixed()], ids=[*SOLVERS, "mixed"])
def test_repeated_eigenvalues_are_all_found(solver, dtype):
    for n in (*range(5, 60), 80, 128, 150):
        for matrix in (np.eye(n), centring(n)):
            pairs = solve(solver, Stored(matrix.astype(dtype)), 4)
            bound = 10 * n * np.finfo("f4" if isinstance(solver, Mixed) else dtype).eps
            np.testing.assert_allclose(pairs.values, np.ones(4), atol=bound)
            np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(4), atol=bound)
            np.testing.assert_allclose(matrix @ pairs.vectors, pairs.vectors, atol=bound)


@pytest.mark.parametrize("routine, n, k", [("stein", 60, 6), ("stemr", 60, 4), ("stein", 520, 60)])
def test_dense_sees_vectors_that_are_not_orthogonal_and_leaves_the_matrix_as_it_was(monkeypatch, routine, n, k):
    routines = dict(lapack._routines(np.dtype(float)))
    call = routines[routine]

    def careless(*arguments):
        *others, vectors, failed = call(*arguments)
        vectors[:, -1] = vectors[:, 0]
        return (*others, vectors, failed)

    monkeypatch.setattr(lapack, "_routines", lambda _: {**routines, routine: careless})
    spectrum = np.linspace(2, -1, n)
    A = prescribed(spectrum)
    operator = Stored(A.copy())
    assert_leading_pairs(solve(Dense(), operator, k), A, k, 1e-12)
    np.testing.assert_array_equal(operator.matrix, A)


# Settings


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: BlockKrylov(block_size=0), "block_size must be a whole number of at least 1, not 0"),
        (lambda: BlockKrylov(block_size=2.5), "block_size must be a whole number of at least 1, not 2.5"),
        (lambda: BlockKrylov(max_iter=0), "max_iter must be a whole number of at least 1, not 0"),
        (lambda: BlockKrylov(max_iter=None), "max_iter must be a whole number of at least 1, not None"),
        (lambda: BlockKrylov(tol=-1), "tol must be a positive finite number, not -1"),
        (lambda: BlockKrylov(storage="memroy"), 'storage must be "auto", "memory" or .* not \'memroy\''),
        (lambda: Lanczos(tol=-1e-3), "tol must be a positive finite number, not -0.001"),
        (lambda: Lanczos(max_iter=0), "max_iter must be a whole number of at least 1, not 0"),
        (lambda: PowerDeflation(tol=0), "tol must be a positive finite number, not 0"),
        (lambda: PowerDeflation(tol="small"), "tol must be a positive finite number, not 'small'"),
        (lambda: PowerDeflation(max_iter=1.5), "max_iter must be a whole number of at least 1, not 1.5"),
    ],
)
def test_settings_that_make_no_sense_are_refused_when_the_solver_is_made(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_settings_may_be_numpy_numbers_or_left_to_their_defaults():
    assert BlockKrylov(np.int64(3), np.float32(1e-3), np.int32(5)).max_iter == 5
    assert Lanczos(tol=0, max_iter=None) == Lanczos() and as_solver("block_krylov") == BlockKrylov()


# Convergence


@pytest.mark.parametrize("solver", [Lanczos(max_iter=1), PowerDeflation(max_iter=3)], ids=["lanczos", "power"])
def test_too_few_steps_are_reported(solver):
    slow = prescribed(np.linspace(1, 0.9, 300))
    with pytest.warns(ConvergenceWarning, match=r"before it reached its tolerance: \d+ eigenpairs .*solver='dense'"):
        pairs = solve(solver, Stored(slow), 5)
    assert not pairs.converged
    assert len(pairs.values) == pairs.vectors.shape[1] == len(pairs.residuals) <= 5
    if len(pairs.values):
        assert_residuals_are_true_and_bound_the_error(pairs, slow)


def test_a_loose_tolerance_takes_fewer_steps_and_says_how_far_it_is():
    A = prescribed(1 / np.arange(1, 401))
    tight, loose = (solve(Lanczos(tol=tol), Stored(A.copy()), 5) for tol in (0, 1e-2))
    assert loose.converged and loose.steps < tight.steps
    assert tight.residuals.max() < 1e-12 < loose.residuals.max() < 1e-2
    assert_residuals_are_true_and_bound_the_error(loose, A)
    tight, loose = (solve(PowerDeflation(tol=tol), Stored(A.copy()), 3) for tol in (1e-10, 1e-3))
    assert loose.converged and loose.steps < tight.steps
    assert 1e-10 < loose.residuals.max() <= 1e-3 * np.sqrt(3)


def test_steps_count_products_with_the_operator():
    A = prescribed(SPECTRA["geometric"])
    for solver in (Lanczos(), PowerDeflation()):
        operator = Products(A)
        assert solve(solver, operator, 3).steps == operator.count - 3  # the residuals take one each


@pytest.mark.parametrize("n", [300, 700])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.05), Gaussian(1e-4), Linear()], ids=repr)
def test_the_automatic_solver_finds_every_copy_of_a_repeated_eigenvalue(n, kernel):
    angles = 2 * np.pi * np.arange(n) / n  # the kernel matrix of a circle has every eigenvalue but the first twice
    operator, _ = gram_operator(kernel, np.column_stack([np.cos(angles), np.sin(angles)]), center=True)
    A = operator.dense().copy()
    for k in (2, 5, 12):
        pairs = solve(as_solver("auto"), operator, k)
        assert pairs.converged
        assert_leading_pairs(pairs, A, k, 1e-10)


def test_the_automatic_solver_finds_every_copy_on_a_grid_where_arpack_does_not():
    X = np.stack(np.meshgrid(*[np.arange(7.0)] * 3), axis=-1).reshape(-1, 3)
    operator, _ = gram_operator(Gaussian(np.sqrt(2)), X, center=True)
    true = np.linalg.eigvalsh(operator.dense())[::-1]
    for k in (5, 12, 15, 24):
        for seed in range(3):
            np.testing.assert_allclose(solve(as_solver("auto"), operator, k, seed).values, true[:k], rtol=1e-10)


def test_residuals_of_many_pairs_are_estimated_to_a_fifth():
    rng = np.random.default_rng(0)
    A = prescribed(np.linspace(3, 1, 400))
    values, vectors = np.linalg.eigh(A)
    vectors += 1e-6 * rng.standard_normal(A.shape)
    exact = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    ratio = sketched_residuals(A, values, vectors, rng) / exact
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(ratio))), 1, atol=0.05)  # they share the sketch
    assert np.std(ratio) < 0.2 and np.all((ratio > 0.25) & (ratio < 1.9))  # of χ² with 16 degrees of freedom


def test_lapack_reports_residuals_of_round_off_for_all_pairs():
    A = prescribed(np.geomspace(1, 1e-6, 400))
    pairs = solve(Dense(), Stored(A.copy()), 400)
    assert_leading_pairs(pairs, A, 400, 1e-13)
    measured = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    assert pairs.residuals.max() <= 400 * np.finfo(float).eps and measured.max() <= 400 * np.finfo(float).eps


# Choice


@pytest.mark.parametrize(
    "n, k, expected",
    [
        (2, 1, Dense),
        (149, 2, Dense),
        (150, 12, CertifiedLanczos),
        (150, 13, Dense),
        (299, 24, CertifiedLanczos),
        (299, 25, Dense),
        (300, 37, CertifiedLanczos),
        (500, 62, CertifiedLanczos),
        (500, 63, Dense),
        (500, 499, Dense),
        (2500, 150, CertifiedLanczos),
        (2500, 151, Dense),
        (2501, 1, BlockKrylov),
        (2501, 125, BlockKrylov),
        (2501, 126, Dense),
        (5000, 250, BlockKrylov),
        (5000, 251, Dense),
        (5001, 5000, BlockKrylov),  # does not fit
    ],
)
def test_the_choice_follows_its_documented_rules(n, k, expected, monkeypatch):
    monkeypatch.setattr(operators, "free_memory", lambda: 2 * 8 * 5000**2)
    assert isinstance(choose_solver(n, k), expected)
    stored = "auto" if expected is BlockKrylov else "square"
    assert storage_for(as_solver("auto"), n, k) == storage_for(choose_solver(n, k), n, k) == stored


@pytest.mark.parametrize("k", [3, 40])
def test_the_automatic_solver_is_the_one_it_chooses(k):
    operator, _ = gram_operator(Gaussian(2.0), rows(600, 4), center=True, storage="square")
    ours, theirs = (solve(solver, operator, k) for solver in (as_solver("auto"), choose_solver(600, k)))
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)


def test_names_and_objects():
    assert as_solver("dense") == Dense() and as_solver("lanczos") == Lanczos()
    assert as_solver("power") == PowerDeflation()
    own = Lanczos(tol=1e-4)
    assert as_solver(own) is own
    with pytest.raises(ValueError, match=r"unknown solver 'arpack'; the names are auto, dense, .*power"):
        as_solver("arpack")
    for bad in (Lanczos, 3, None):
        with pytest.raises(TypeError, match=r"solver must be a name or an object of preimage.eigen such as Dense\(\)"):
            as_solver(bad)


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        operator, _ = gram_operator(Linear(), rows(600, 4), center=True)
        assert solve(Lanczos(), operator, 6).converged  # two of them are zero
