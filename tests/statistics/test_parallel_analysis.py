import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

from preimage import KernelPCA
from preimage.exceptions import NothingFoundWarning
from preimage.kernels import Gaussian, Linear, Precomputed
from preimage.statistics.parallel_analysis import parallel_analysis, permute_columns


def clusters(C, d, sigma, n=240, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((C, d))
    return centres[np.arange(n) % C] + sigma * rng.standard_normal((n, d))


def factors(r, sigma, n=200, d=15, seed=0):
    rng = np.random.default_rng(seed)
    loadings = np.linalg.qr(rng.standard_normal((d, r)))[0].T * np.sqrt(d)
    return rng.standard_normal((n, r)) @ loadings + sigma * rng.standard_normal((n, d))


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("C", [2, 3, 5])
def test_separated_clusters_have_one_component_fewer_than_they_are(C, sigma):
    assert parallel_analysis(clusters(C, 12, sigma), Gaussian()).n_components == C - 1


@pytest.mark.parametrize("sigma", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("r", [1, 2, 4])
def test_linear_factors_are_counted(r, sigma):
    assert parallel_analysis(factors(r, sigma), Linear()).n_components == r


@pytest.mark.parametrize("kernel", [Linear(), Gaussian()])
def test_false_positives_come_at_the_nominal_rate(kernel):
    rng, trials = np.random.default_rng(1), 150
    found = sum(
        parallel_analysis(rng.standard_normal((30, 4)), kernel, random_state=trial).n_components > 0
        for trial in range(trials)
    )
    assert binom.ppf(0.005, trials, 0.05) <= found <= binom.ppf(0.995, trials, 0.05)


def test_the_threshold_is_an_order_statistic():
    X = np.random.default_rng(0).standard_normal((25, 3))
    rng = np.random.default_rng(5)
    tops = [np.linalg.eigvalsh(np.cov(permute_columns(X, rng).T, bias=True) * 25)[-1] for _ in range(39)]
    found = parallel_analysis(X, Linear(), n_permutations=39, random_state=5)
    assert found.thresholds[0] == pytest.approx(np.sort(tops)[37])
    assert np.all(np.diff(found.thresholds) <= 0)
    assert found.eigenvalues.shape == found.thresholds.shape == (24,)


def test_the_excess_is_largest_near_the_scale_of_the_clusters():
    X = clusters(4, 10, 0.1)
    excess = {scale: parallel_analysis(X, Gaussian(scale)).excess for scale in (0.03, 1.5, 100.0)}
    assert max(excess, key=excess.get) == 1.5


def test_sparse_columns_keep_their_values():
    X = sp.random_array((30, 6), density=0.4, random_state=np.random.default_rng(0), format="csr")
    permuted = permute_columns(X, np.random.default_rng(1))
    np.testing.assert_allclose(np.sort(permuted.toarray(), axis=0), np.sort(X.toarray(), axis=0))
    assert parallel_analysis(X, Linear()).n_components == parallel_analysis(X, Linear()).n_components


@pytest.mark.parametrize("approximation", [None, 60])
def test_auto_is_parallel_analysis(approximation):
    X = clusters(4, 12, 0.1)
    kpca = KernelPCA("auto", approximation=approximation, random_state=0).fit(X)
    assert kpca.n_components_ == 3
    assert kpca.transform(X).shape == (240, 3)


def test_auto_without_centring_adds_an_axis_for_the_mean():
    assert KernelPCA("auto", center=False, random_state=0).fit(clusters(3, 12, 0.1)).n_components_ == 3


def test_auto_keeps_one_component_of_pure_noise_and_says_so():
    noise = np.random.default_rng(3).standard_normal((80, 6))
    with pytest.warns(NothingFoundWarning, match="1 is kept"):
        assert KernelPCA("auto", random_state=0).fit(noise).n_components_ == 1


def test_auto_refuses_a_kernel_matrix_and_other_words():
    X = clusters(3, 5, 0.1, n=20)
    with pytest.raises(ValueError, match="permutes the columns"):
        KernelPCA("auto", kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="permutes the columns"):
        parallel_analysis(X, Precomputed())
    with pytest.raises(TypeError, match="whole number"):
        KernelPCA("best").fit(X)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.NothingFoundWarning")
def test_hard_data_get_an_answer():
    rng = np.random.default_rng(0)
    constant = np.column_stack([np.ones(40), rng.standard_normal((40, 3))])
    doubled = np.repeat(rng.standard_normal((10, 4)), 4, axis=0)
    wide = rng.standard_normal((10, 50))
    tails = rng.standard_cauchy((60, 4))
    for X in (constant, doubled, wide, tails, rng.standard_normal((2, 3)), rng.standard_normal((20, 1))):
        assert 1 <= KernelPCA("auto", random_state=0).fit(X).n_components_ < len(X)
