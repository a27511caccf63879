import numpy as np
import pytest
from sklearn import config_context

from preimage import KernelPCA
from preimage.statistics.risk import Masked, Sure, masked_error, sure


def noisy_rows(n=400, d=20, r=3, sigma=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r)) @ np.linalg.qr(rng.standard_normal((d, r)))[0].T * 2
    return X, X + sigma * rng.standard_normal((n, d))


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.9, 1.0])
def test_sure_of_shrinkage_is_its_risk(factor):
    X, Y = noisy_rows(4000)
    found, true = sure(lambda rows: factor * rows, Y, 0.3), np.mean((factor * Y - X) ** 2)
    assert found.value == pytest.approx(true, rel=0.03)


def test_sure_of_a_linear_map_is_stein_s_formula_but_for_the_probe():
    """Averaged over probes the divergence of y ↦ Ay is tr A."""
    _, Y = noisy_rows(30)
    A = np.random.default_rng(1).standard_normal((20, 20)) / 5
    probes = [sure(lambda rows: rows @ A.T, Y, 0.3, random_state=seed).value for seed in range(200)]
    stein = np.mean((Y @ A.T - Y) ** 2) - 0.09 + 2 * 0.09 * np.trace(A) / 20
    assert np.mean(probes) == pytest.approx(stein, abs=4 * np.std(probes) / np.sqrt(200))


def test_sure_does_not_depend_on_batches_and_follows_its_seed():
    _, Y = noisy_rows(50)
    sizes = []

    def smooth(rows):
        sizes.append(len(rows))
        return np.tanh(np.cumsum(rows, axis=1) / 4)

    whole = sure(smooth, Y, 0.3)
    with config_context(working_memory=0.02):
        batched = sure(smooth, Y, 0.3)
    np.testing.assert_allclose(batched.rows, whole.rows)
    assert len(sizes) > 3
    assert sure(smooth, Y, 0.3, random_state=1).value != whole.value


@pytest.mark.parametrize("method", ["distance", "fixed_point"])
def test_sure_follows_the_true_error_of_kernel_pca(method):
    X, Y = noisy_rows(500, sigma=0.4)
    models = [KernelPCA(q, preimage=method, random_state=0).fit(Y[:300]) for q in (1, 2, 3, 8, 40)]
    found = np.array([sure(model.denoise, Y[300:], 0.4).value for model in models])
    true = np.array([np.mean((model.denoise(Y[300:]) - X[300:]) ** 2) for model in models])
    np.testing.assert_allclose(found, true, rtol=0.1)
    assert np.corrcoef(found, true)[0, 1] > 0.99


def test_masked_error_is_that_of_the_map_plus_the_noise():
    X, Y = noisy_rows(3000)
    found = masked_error(lambda rows: np.where(np.isnan(rows), X, rows), Y, fraction=0.2)
    assert found.value == pytest.approx(0.09, rel=0.05)
    zeros = masked_error(np.nan_to_num, Y, fraction=0.2)
    assert zeros.value == pytest.approx(np.mean(Y**2), rel=0.05)


@pytest.mark.parametrize("fraction", [0.01, 0.3, 0.99])
@pytest.mark.parametrize("d", [1, 2, 20])
def test_every_row_hides_some_entries_and_shows_some(fraction, d):
    Y = np.random.default_rng(0).standard_normal((200, d))
    hidden = np.isnan(Masked(fraction).ask(Y, np.random.default_rng(0)).rows)
    assert hidden.any(axis=1).all()
    assert d == 1 or not hidden.all(axis=1).any()


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="sigma"):
        Sure(0.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Masked(1.0)
    with pytest.raises(ValueError, match="needs a matrix of real numbers"):
        sure(np.tanh, np.zeros(3), 0.1)
