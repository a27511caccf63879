"""How many kernel values the way back takes: what costs n² of them is computed once."""

from dataclasses import dataclass
from threading import Lock

import numpy as np
import pytest

from preimage import Expansion, KernelPCA, find_preimage
from preimage.imputation import GaussianModel
from preimage.kernels import Gaussian
from preimage.kernels.scales import FEW
from preimage.noise import GaussianNoise
from preimage.preimages import (
    Conformal,
    ConvexCombination,
    Distance,
    FixedPoint,
    Gradient,
    Learned,
    Nearest,
    OneStep,
)

pytestmark = pytest.mark.filterwarnings("ignore::preimage.exceptions.ConvergenceWarning")
ITERATED = [FixedPoint(), FixedPoint(max_iter=2), Gradient()]
ON_EXPANSIONS = [*ITERATED, Distance(), OneStep(), ConvexCombination(), Nearest()]
METHODS = [*ON_EXPANSIONS, Learned(), Conformal()]
N, M = 300, 40  # points, rows
NEIGHBOURS = 20**2  # values among the neighbours of a row, of ConvexCombination


@dataclass(frozen=True)
class Counted(Gaussian):
    """A Gaussian that counts its values; those of its derivative come with a step and are not counted again."""

    def profile(self, t):
        if np.ndim(t):
            count(np.size(t))
        return super().profile(t)

    def from_closeness(self, u):
        count(u.size)
        return super().from_closeness(u)

    def derivative(self, t):
        return Gaussian(self.length_scale).derivative(t)


counter, lock = {"values": 0}, Lock()


def count(number):
    with lock:
        counter["values"] += number


def evaluated(function, *args, **options):
    """What a call returns, and how many kernel values it took."""
    counter["values"] = 0
    return function(*args, **options), counter["values"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N + M, 3)) @ rng.standard_normal((3, 8))
    return X[:N], X[N:] + 0.3 * rng.standard_normal((M, 8))


def test_the_counter_counts_a_matrix_of_kernel_values(data):
    train, rows = data
    _, values = evaluated(Counted(2.0), train, rows)
    assert values == N * M
    _, values = evaluated(KernelPCA(5, kernel=Counted(2.0)).fit, train)
    assert N * N / 2 <= values <= N * N + FEW + 1  # some rows show whether the length scale is useful


@pytest.mark.parametrize("starts", [False, True])
@pytest.mark.parametrize("method", ON_EXPANSIONS, ids=str)
def test_the_way_back_of_an_expansion_takes_one_pass_over_the_kernel_matrix_and_its_steps(method, starts, data):
    train, rows = data
    targets = Expansion(Counted(2.0), train, np.random.default_rng(1).dirichlet(np.ones(N), M))
    found, values = evaluated(find_preimage, targets, method, starts=rows if starts else None)
    steps = N * np.sum(1 + found.steps) if method in ITERATED else 0
    allowed = steps + M * NEIGHBOURS * isinstance(method, ConvexCombination)
    assert values <= N * N + allowed
    _, values = evaluated(lambda: found.residual)
    assert values == M * N  # the norms are known
    assert evaluated(lambda: found.residual)[1] == 0
    again, values = evaluated(find_preimage, targets, method, starts=rows if starts else None)
    assert values <= allowed
    np.testing.assert_array_equal(again.points, found.points)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_denoising_takes_two_kernel_values_a_row_and_point_and_one_a_step(method, data):
    train, rows = data
    kpca = KernelPCA(6, kernel=Counted(2.0), preimage=method, random_state=0).fit(train)
    found, values = evaluated(kpca.find_preimages, rows)
    assert M * N <= values <= N * np.sum(2 + found.steps)
    _, again = evaluated(kpca.denoise, rows)
    assert again == values
    _, values = evaluated(lambda: found.residual)
    assert values == M * N


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_model_on_landmarks_takes_their_kernel_matrix_once(method, data):
    train, rows = data
    kpca = KernelPCA(6, kernel=Counted(2.0), approximation=100, preimage=method, random_state=0).fit(train)
    found, _ = evaluated(kpca.find_preimages, rows)
    _, values = evaluated(kpca.denoise, rows)
    assert values <= 100 * np.sum(2 + found.steps) + M * NEIGHBOURS * isinstance(method, ConvexCombination)


@pytest.mark.parametrize("method", [Learned(), Conformal()], ids=str)
def test_maps_on_codes_learn_from_the_training_codes_of_the_fit(method, data):
    train, _ = data
    kpca = KernelPCA(6, kernel=Counted(2.0), preimage=method, random_state=0).fit(train)
    codes = kpca.transform(train)
    _, values = evaluated(kpca.inverse_transform, codes)
    assert values == 0
    np.testing.assert_allclose(kpca.decomposition_.input_codes, codes, atol=1e-10)


def test_noisy_copies_are_projected_once(data):
    train, rows = data
    method = Learned(noise=GaussianNoise(0.3), n_copies=2)
    kpca = KernelPCA(6, kernel=Counted(2.0), preimage=method, random_state=0).fit(train)
    assert evaluated(kpca.denoise, rows)[1] == 2 * N * N + M * N
    assert evaluated(kpca.denoise, rows)[1] == M * N


def test_parts_and_multiples_of_an_expansion_know_what_it_knows(data):
    train, _ = data
    whole = Expansion(Counted(2.0), train, np.random.default_rng(1).standard_normal((9, N)))
    products, values = evaluated(whole.inner_points)
    assert values <= N * N
    for part, expected in (
        (whole[2:5], products[2:5]),
        (whole[[7, 1]][1:], products[[1]]),
        (whole[4], products[[4]]),
        (whole[np.arange(9) > 6], products[7:]),
        (-2 * whole, -2 * products),
        (np.arange(9.0) * whole, np.arange(9.0)[:, None] * products),
    ):
        assert evaluated(part.norm2)[1] == evaluated(part.inner_points)[1] == 0
        fresh = Expansion(part.kernel, part.points, part.weights)
        np.testing.assert_allclose(part.inner_points(), expected, rtol=1e-12)
        np.testing.assert_allclose(part.inner_points(), fresh.inner_points(), atol=1e-10)
        np.testing.assert_allclose(part.norm2(), fresh.norm2(), rtol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        products[0, 0] = 1


def test_pictures_of_both_signs_of_an_axis_share_one_pass(data):
    train, _ = data
    kpca = KernelPCA(3, kernel=Counted(2.0)).fit(train)
    (plus, minus), values = evaluated(kpca.eigenvector_preimages)
    assert values <= N * N + N * np.sum(2 + plus.steps + minus.steps)


def test_the_gaussian_model_behind_impute_is_fitted_once(data, monkeypatch):
    fitted, plain = [], GaussianModel.of
    monkeypatch.setattr(GaussianModel, "of", lambda rows: fitted.append(len(rows)) or plain(rows))
    train, rows = data
    gaps = np.where(np.random.default_rng(2).random(rows.shape) < 0.2, np.nan, rows)
    kpca = KernelPCA(6, preimage=Learned(), random_state=0).fit(train)
    first = kpca.impute(gaps)
    np.testing.assert_array_equal(kpca.impute(gaps), first)
    kpca.truncate(3).impute(gaps)
    assert fitted == [N, N]  # once for each model
