import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import preimage
from helpers import rotation, rows
from preimage import KernelPCA, Monitor, monitoring
from preimage.datasets import DatasetNotFound, load_tennessee_eastman
from preimage.exceptions import ConstantColumnWarning, FewRowsWarning, NothingFilteredWarning
from preimage.features import RandomFourier
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial
from preimage.monitoring import CUSUM, EWMA, Cross, Reference
from preimage.monitoring.limits import average_run_length, conformal_quantile, moment_limits, time_blocks
from preimage.monitoring.t2_spe import derivatives, nested_statistics, statistics
from preimage.scaling import Scaling

LINEAR = KernelPCA(3, kernel="linear")
CURVED = KernelPCA(8, kernel=Gaussian(3.0))


def plant(n, seed=0, *, noise=0.3, d=8):
    """Normal rows: three hidden quantities seen by d sensors."""
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((3, d))
    return rng.standard_normal((n, 3)) @ mixing + noise * rng.standard_normal((n, d))


def pca_statistics(train, X, q):
    """T² and SPE by the textbook: PCA of standardised columns with the unbiased covariance."""
    mean, deviation = train.mean(axis=0), train.std(axis=0, ddof=1)
    Z, new = (train - mean) / deviation, (X - mean) / deviation
    values, axes = np.linalg.eigh(np.cov(Z.T))
    values, axes = values[::-1][:q], axes[:, ::-1][:, :q]
    scores = new @ axes
    return (scores**2 / values).sum(axis=1), np.square(new - scores @ axes.T).sum(axis=1)


# Conventions


@pytest.mark.filterwarnings("ignore::preimage.exceptions.PreimageWarning")
@parametrize_with_checks([Monitor(KernelPCA(1, kernel="linear")), Monitor(limits="split", alpha=0.1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_parameters_of_the_parts_can_be_set():
    monitor = Monitor(KernelPCA(2), memory="ewma")
    monitor.set_params(model__n_components=4, memory__weight=0.3, limits__n_blocks=5, model__kernel__length_scale=2.0)
    assert monitor.model.n_components == 4
    assert monitor.model.kernel == Gaussian(2.0)
    assert monitor.memory == EWMA(0.3)
    assert monitor.limits == Cross(n_blocks=5)
    with pytest.raises(ValueError, match="no parameter 'other__weight'"):
        monitor.set_params(other__weight=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0}, "alpha must lie between 0 and 1"),
        ({"lags": -1}, "lags must be a whole number"),
        ({"lags": 30}, "30 lags need at least 124 rows"),
        ({"memory": "ewm"}, "memory must be None, 'ewma', 'cusum'"),
        ({"limits": "crossed"}, "limits must be 'cross', 'kde'"),
        ({"limits": "held_out"}, "needs a fitted KernelPCA"),
        ({"model": "gaussain"}, "gaussain"),
        ({"model": KernelPCA(2, kernel="precomputed")}, "not a precomputed kernel matrix"),
    ],
)
def test_wrong_settings_are_told(settings, message):
    with pytest.raises(ValueError, match=message):
        Monitor(**{"model": LINEAR} | settings).fit(plant(100))


@pytest.mark.parametrize(
    "settings",
    [
        {"model": LINEAR},
        {"model": CURVED, "lags": 2, "memory": EWMA(0.3)},
        {"model": CURVED, "memory": "cusum", "limits": Cross("kde", n_blocks=4)},
        {"model": "linear", "limits": "split"},
        {"model": KernelPCA(5, kernel=Gaussian(3.0), approximation=RandomFourier(40))},
    ],
)
def test_a_saved_monitor_says_the_same(settings, tmp_path):
    monitor = Monitor(alpha=0.05, random_state=0, **settings).fit(plant(120))
    monitor.save(tmp_path / "monitor.npz")
    again, new = preimage.load(tmp_path / "monitor.npz"), plant(30, 1)
    new[20:, 3] += 4
    for verb in ("predict", "p_values", "score_samples", "statistics", "contributions"):
        np.testing.assert_array_equal(getattr(again, verb)(new), getattr(monitor, verb)(new), err_msg=verb)
    assert again.diagnose(new) == monitor.diagnose(new)
    assert again.limits_ == monitor.limits_


# Statistics


@pytest.mark.parametrize("q", [1, 3, 7])
def test_with_the_linear_kernel_they_are_those_of_pca(q):
    train, new = plant(60), 2 * plant(20, 1)
    found = Monitor(KernelPCA(q, kernel="linear"), alpha=0.05).fit(train).statistics(new)
    t2, spe = pca_statistics(train, new, q)
    np.testing.assert_allclose(found.T2, t2, rtol=1e-9)
    np.testing.assert_allclose(found.SPE, spe, rtol=1e-9)


def test_spe_is_the_models_distance_and_t2_has_the_mean_of_its_components():
    X = plant(150)
    monitor = Monitor(CURVED, alpha=0.05).fit(X)
    Z = Scaling.of(X).apply(X)
    found = monitor.statistics(X)
    np.testing.assert_allclose(found.SPE, -monitor.model_.score_samples(Z), rtol=1e-9, atol=1e-12)
    assert found.T2.mean() == pytest.approx(8 * (len(X) - 1) / len(X), rel=1e-9)  # tr of the covariance with itself


def test_all_numbers_of_components_at_once_are_each_by_itself():
    X, new = plant(80), plant(15, 1)
    model = KernelPCA(12, kernel=Gaussian(4.0)).fit(X)
    variances, numbers = model.eigenvalues_ / (len(X) - 1), np.array([1, 5, 12])
    for q, found in zip(numbers, nested_statistics(model.decomposition_, variances, new, numbers), strict=True):
        plain = statistics(model.truncate(int(q)).decomposition_, variances[:q], new)
        np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("approximation", [None, 40, RandomFourier(60)])
def test_a_row_alone_has_the_statistics_it_has_among_many(approximation):
    model = KernelPCA(6, kernel=Gaussian(3.0), approximation=approximation, random_state=0)
    monitor = Monitor(model, alpha=0.05, random_state=0).fit(plant(100))
    new = plant(30, 1)
    alone = np.array([monitor.statistics(row[None]) for row in new])[:, :, 0]
    np.testing.assert_allclose(alone, np.array(monitor.statistics(new)).T, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(2.0), Polynomial(gamma=0.1, coef0=1.0, degree=3), Gaussian(3.0) + 0.2 * Linear()]
)
@pytest.mark.parametrize("approximation", [None, 30])
def test_derivatives_are_those_by_differences(kernel, approximation):
    X, new, step = plant(60), plant(4, 1), 1e-5
    model = KernelPCA(4, kernel=kernel, approximation=approximation, random_state=0).fit(X)
    variances = model.eigenvalues_ / (len(X) - 1)
    found = np.stack(derivatives(model.decomposition_, variances, new), axis=2)
    for column in range(X.shape[1]):
        shift = step * np.eye(X.shape[1])[column]
        above, below = (statistics(model.decomposition_, variances, new + sign * shift) for sign in (1, -1))
        scale = np.abs(found).max(axis=(0, 1))
        np.testing.assert_allclose(found[:, column] / scale, (above - below) / (2 * step) / scale, atol=1e-6)


# Time


@pytest.mark.parametrize("settings", [{}, {"lags": 3}, {"memory": EWMA(0.2), "lags": 1}, {"memory": CUSUM(0.3)}])
def test_a_stream_says_of_each_row_what_the_run_says(settings):
    monitor = Monitor(CURVED, alpha=0.05, **settings).fit(plant(150))
    new = plant(40, 1)
    new[25:, 2] += 3
    run, parts = monitor.stream(), monitor.stream()
    readings = [run.update(row) for row in new]
    blockwise = np.concatenate([parts.extend(new[:7]), parts.extend(new[7:8]), parts.extend(new[8:])])
    found = np.array(monitor.statistics(new)).T
    np.testing.assert_allclose([reading[:2] for reading in readings], found, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(blockwise, found, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal([reading.alarm for reading in readings], monitor.predict(new) == -1)
    np.testing.assert_allclose([reading.p_value for reading in readings], monitor.p_values(new))


def test_lags_are_pca_of_rows_beside_their_past():
    train, new = plant(80), plant(20, 1)

    def beside(X):
        first = np.vstack([X[:1], X[:1], X])
        return np.hstack([X, first[1:-1], first[:-2]])

    monitor = Monitor(KernelPCA(6, kernel="linear"), alpha=0.05, lags=2).fit(train)
    mean, deviation = train.mean(axis=0), train.std(axis=0, ddof=1)
    Z, Y = beside((train - mean) / deviation)[2:], beside((new - mean) / deviation)
    values, axes = np.linalg.eigh(np.cov(Z.T))
    values, axes = values[::-1][:6], axes[:, ::-1][:, :6]
    scores = (Y - Z.mean(axis=0)) @ axes
    np.testing.assert_allclose(monitor.statistics(new).T2, (scores**2 / values).sum(axis=1), rtol=1e-8)


@given(st.floats(0.01, 1), st.integers(0, 100))
@settings(max_examples=20)
def test_an_ewma_is_its_recursion(weight, seed):
    Z, state = rows(15, 3, seed), rows(1, 3, seed + 1)[0]
    found, expected = EWMA(weight).filter(Z, state), state
    for row, average in zip(Z, found, strict=True):
        expected = (1 - weight) * expected + weight * row
        np.testing.assert_allclose(average, expected, atol=1e-12)


@given(st.floats(0, 2), st.integers(0, 100))
@settings(max_examples=20)
def test_a_cusum_is_its_recursion(slack, seed):
    values, sums = rows(40, 2, seed), np.abs(rows(1, 2, seed + 1)[0])
    for row, found in zip(values, CUSUM(slack).accumulate(values, sums), strict=True):
        sums = np.maximum(0, sums + row - slack)
        np.testing.assert_allclose(found, sums, atol=1e-12)


@pytest.mark.parametrize("memory", [EWMA(0.1), CUSUM(0.25)])
def test_memory_finds_a_small_shift_that_lasts(memory):
    normal, new = plant(600), plant(300, 1)
    new[100:] += 0.35 * np.random.default_rng(2).choice([-1, 1], 8)
    plain, remembering = (Monitor(LINEAR, alpha=0.02, memory=kind).fit(normal) for kind in (None, memory))
    found = {kind: np.mean(monitor.predict(new)[150:] == -1) for kind, monitor in [(0, plain), (1, remembering)]}
    assert found[1] > found[0] + 0.3
    assert np.mean(remembering.predict(new[:100]) == -1) < 0.15


# Limits


@given(st.integers(20, 400), st.sampled_from([0.2, 0.1, 0.05]))
def test_the_conformal_quantile_is_exceeded_at_most_at_the_stated_rate(n, alpha):
    """A new value is equally likely to have any rank among n + 1."""
    values = np.random.default_rng(n).permutation(n).astype(float)
    limit = conformal_quantile(values, alpha)
    assert np.sum(values >= limit) / (n + 1) <= alpha + 1e-12 or n + 1 < 1 / alpha
    assert np.sum(values >= limit) / (n + 1) > alpha - 1 / (n + 1)


def test_conformal_p_values_are_super_uniform():
    """P(p ≤ a) ≤ a, over draws of the training rows, the rows of the limits and the new ones."""
    n_draws, per_draw = 60, 200
    p = np.concatenate(
        [
            Monitor(LINEAR, alpha=0.05, limits="split").fit(plant(100, seed)).p_values(plant(per_draw, 1000 + seed))
            for seed in range(n_draws)
        ]
    )
    for level in (0.05, 0.1, 0.3, 0.6):
        # Given the 30 rows of the limits, the rate is Beta distributed with at most this deviation.
        deviation = np.sqrt(level * (1 - level) * (1 / 31 + 1 / per_draw) / n_draws)
        assert level - 1 / 31 - 4 * deviation < np.mean(p <= level) < level + 4 * deviation


@pytest.mark.parametrize(
    ("model", "limits"), [(LINEAR, "cross"), (CURVED, "cross"), (CURVED, "split"), (LINEAR, "kde")]
)
def test_false_alarms_come_at_the_stated_rate(model, limits):
    alpha, n, draws = 0.1, 200, 12
    rates = [
        np.mean(Monitor(model, alpha=alpha, limits=limits).fit(plant(n, seed)).predict(plant(2000, 500 + seed)) == -1)
        for seed in range(draws)
    ]
    setting = n if limits != "split" else 0.3 * n
    deviation = np.sqrt(alpha * (1 - alpha) * (1 / setting + 1 / 2000) / draws)
    assert abs(np.mean(rates) - alpha) < 4 * deviation + 0.1 * alpha


def test_limits_of_training_rows_do_not_keep_what_they_state():
    model, X, new = KernelPCA(40, kernel=Gaussian(2.0)), plant(200), plant(2000, 1)
    rates = {
        kind: np.mean(Monitor(model, alpha=0.05, limits=kind).fit(X).predict(new) == -1)
        for kind in ("training", "cross")
    }
    assert rates["training"] > 0.15
    assert 0.02 < rates["cross"] < 0.1


def test_both_limits_together_are_crossed_at_the_rate_alpha():
    values = np.abs(rows(999, 2, 3)) * [5, 0.1]
    found = Reference.of(values, moment_limits(values, 0.05), 0.05)
    assert np.sum((values > found.limits).any(axis=1)) == 49  # the 950th of 999 is the limit
    np.testing.assert_array_equal(found.index(values) > 1, (values > found.limits).any(axis=1))
    index = np.delete(found.index(values), np.argmin(np.abs(found.index(values) - 1)))  # not the row that is the limit
    np.testing.assert_array_equal(found.p_values(index) <= 0.05, index > 1)


def test_the_density_estimate_has_its_quantile_where_the_p_value_is_alpha():
    values = np.random.default_rng(0).chisquare(5, (300, 2))
    found = Reference.of(values, moment_limits(values, 0.02), 0.02, "kde")
    assert found.p_values(np.ones(1))[0] == pytest.approx(0.02, rel=1e-6)


def test_moment_limits_are_those_of_chi_squared_values():
    from scipy.stats import chi2

    values = np.random.default_rng(0).chisquare([4, 20], (100_000, 2))
    np.testing.assert_allclose(moment_limits(3 * values, 0.05), 3 * chi2.isf(0.05, [4, 20]), rtol=0.02)


def test_blocks_are_scored_without_their_neighbours():
    seen = np.zeros(50, dtype=int)
    for block, others in time_blocks(50, 7, gap=3):
        seen[block] += 1
        held = np.arange(50)[block]
        assert min(abs(held[:, None] - others).ravel()) == 4
    assert np.all(seen == 1)


def test_run_lengths_count_alarms_in_a_row_once():
    assert average_run_length(np.array([1, 1, 0, 0, 1, 0, 0, 1, 1, 0], dtype=bool)) == pytest.approx(10 / 3)
    assert average_run_length(np.zeros(5, dtype=bool)) == float("inf")


def test_a_model_that_keeps_everything_is_told():
    with pytest.warns(NothingFilteredWarning, match="so SPE is 0"):
        Monitor(KernelPCA(kernel="linear"), alpha=0.05).fit(plant(100))


def test_a_chosen_model_leaves_a_part_to_spe_where_a_column_is_constant():
    X = plant(200)
    X[:, 5] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingFilteredWarning)
        warnings.simplefilter("ignore", ConstantColumnWarning)
        monitor = Monitor("linear", alpha=0.05, random_state=0).fit(X)
    assert monitor.model_.n_components_ < 7
    assert monitor.constant_columns_ == ["x5"]


def test_too_few_rows_for_the_rate_are_told():
    with pytest.warns(FewRowsWarning, match="50 normal rows cannot guarantee a false-alarm rate below 0.02"):
        Monitor(LINEAR).fit(plant(50))


def test_a_fitted_model_is_taken_as_it_is():
    kpca = KernelPCA(4, kernel=Gaussian(6.0)).fit(plant(100))
    monitor = Monitor(kpca, alpha=0.05, limits="held_out").fit(plant(400, 1))
    assert monitor.model_ is kpca
    np.testing.assert_allclose(
        monitor.statistics(plant(9, 2)).SPE, -kpca.score_samples(plant(9, 2)), rtol=1e-9, atol=1e-12
    )
    assert np.mean(monitor.predict(plant(3000, 3)) == -1) == pytest.approx(0.05, abs=0.045)
    with pytest.raises(ValueError, match="the model was fitted on these rows"):
        Monitor(kpca, limits="held_out").fit(plant(100))
    with pytest.raises(ValueError, match="rows of 8 columns, without lags"):
        Monitor(kpca, limits="held_out", lags=1).fit(plant(100, 1))


# Choice


def test_a_curved_process_takes_the_gaussian_kernel_and_a_flat_one_the_linear():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])
    curved = Monitor(alpha=0.05, random_state=0).fit(circle + 0.05 * rng.standard_normal(circle.shape))
    flat = Monitor(alpha=0.05, random_state=0).fit(plant(400))
    assert isinstance(curved.model_.kernel_, Gaussian)
    assert isinstance(flat.model_.kernel_, Linear)
    best = max(candidate.detection for candidate in curved.choice_)
    linear = max(candidate.detection for candidate in curved.choice_ if isinstance(candidate.kernel, Linear))
    assert best > linear + 0.1


def test_many_rows_take_landmarks(monkeypatch):
    monkeypatch.setattr("preimage.estimators.monitor.EXACT", 150)
    monitor = Monitor("linear", alpha=0.05, random_state=0).fit(plant(200))
    assert monitor.model_.approximation == 1000


# Which sensor


def test_contributions_of_the_linear_kernel_are_those_of_alcala_and_qin():
    """With f(x) = xᵀMx, sensor i contributes (Mx)ᵢ² / Mᵢᵢ, and is expected at xᵢ − (Mx)ᵢ / Mᵢᵢ."""
    train, new = plant(100), plant(6, 1)
    new[:, 4] += 5
    monitor = Monitor(LINEAR, alpha=0.05).fit(train)
    mean, deviation = train.mean(axis=0), train.std(axis=0, ddof=1)
    Z = (new - mean) / deviation
    values, axes = np.linalg.eigh(np.cov(((train - mean) / deviation).T))
    axes, values = axes[:, ::-1], values[::-1]
    inside = (axes[:, :3] / values[:3]) @ axes[:, :3].T
    outside = axes[:, 3:] @ axes[:, 3:].T
    for of, M in (
        ("T2", inside),
        ("SPE", outside),
        ("both", inside / monitor.calibration_.scales[0] + outside / monitor.calibration_.scales[1]),
    ):
        found, product = monitor.contributions(new, of=of), Z @ M
        np.testing.assert_allclose(found, product**2 / np.diag(M), rtol=1e-6, atol=1e-9 * found.max())
        slopes = monitor.contributions(new, of=of, form="derivative")
        np.testing.assert_allclose(slopes, 2 * product, rtol=1e-7, atol=1e-9 * np.abs(slopes).max())
    table = monitor.diagnose(new, rows=[2], n_columns=8)
    order = [int(name[1:]) for name in table["column"]]
    np.testing.assert_allclose(table["reading"], new[2, order])
    expected = mean + deviation * (Z[2] - (Z[2] @ M) / np.diag(M))
    np.testing.assert_allclose(table["expected"], expected[order], rtol=1e-5, atol=1e-6)


def test_a_contribution_is_what_no_other_reading_of_that_sensor_would_take_away_more_of():
    train, new = plant(120), plant(3, 1)
    new[:, 1] += 4 * train[:, 1].std()
    monitor = Monitor(CURVED, alpha=0.05).fit(train)
    found = monitor.contributions(new, of="SPE")
    start = monitor.statistics(new).SPE
    for row in range(3):
        for column in range(8):
            tried = np.repeat(new[row : row + 1], 400, axis=0)
            tried[:, column] = np.linspace(train[:, column].min(), train[:, column].max(), 400)
            best = start[row] - monitor.statistics(tried).SPE.min()
            assert found[row, column] >= best - 0.02 * start[row]


@pytest.mark.parametrize("model", [LINEAR, KernelPCA(12, kernel=Gaussian(8.0))])
@pytest.mark.parametrize("lags", [0, 1])
def test_the_faulty_sensor_is_named(model, lags):
    train, new = plant(300), plant(80, 1)
    monitor = Monitor(model, alpha=0.05, lags=lags).fit(train)
    named = []
    for column in range(8):
        faulty = new.copy()
        faulty[:, column] += 5 * train[:, column].std()
        some = np.arange(5 + column, 80, 15)
        named += [name == f"x{column}" for name in monitor.diagnose(faulty, rows=some, n_columns=1)["column"]]
    assert np.mean(named) > 0.9


def test_reconstruction_brings_a_bad_sensor_back():
    train = plant(300, noise=0.05)
    clean = plant(30, 1, noise=0.05)
    bad = clean.copy()
    bad[:, 2] += 3
    monitor = Monitor(LINEAR, alpha=0.05).fit(train)
    back = monitor.reconstruct(bad)
    assert np.sqrt(np.mean((back - clean) ** 2)) < 0.6 * np.sqrt(np.mean((bad - clean) ** 2))
    table = monitor.diagnose(bad, n_columns=1)
    assert set(table["column"]) == {"x2"}
    np.testing.assert_allclose(table["expected"], clean[table["row"], 2], atol=0.6)


def test_a_kernel_without_derivatives_is_refused_by_name():
    monitor = Monitor(KernelPCA(3, kernel=Laplacian(0.2)), alpha=0.05).fit(plant(60))
    assert monitor.contributions(plant(2, 1)).shape == (2, 8)
    if not hasattr(Laplacian(0.2), "gradient"):
        with pytest.raises(ValueError, match="gradient"):
            monitor.contributions(plant(2, 1), form="derivative")


# What sensors do


def test_a_constant_that_moves_is_an_alarm_of_that_sensor():
    train, new = plant(200), plant(20, 1)
    train[:, 5] = new[:, 5] = 0.1
    with pytest.warns(ConstantColumnWarning, match="x5: constant in the normal rows; any later change is an alarm"):
        monitor = Monitor(LINEAR, alpha=0.05).fit(train)
    assert np.mean(monitor.predict(new) == -1) < 0.4
    new[7, 5] += 1e-9
    assert monitor.predict(new)[7] == -1
    assert monitor.p_values(new)[7] == pytest.approx(1 / 201)
    assert monitor.diagnose(new, rows=[7], n_columns=1) == {
        "row": [7],
        "column": ["x5"],
        "contribution": [float("inf")],
        "reading": [new[7, 5]],
        "expected": [0.1],
    }
    assert monitor.stream().update(new[7]).alarm


def test_a_row_with_a_gap_is_refused_in_a_run_and_an_alarm_in_a_stream():
    monitor = Monitor(LINEAR, alpha=0.05, lags=1, memory="cusum").fit(plant(100))
    new = plant(10, 1)
    gappy = new.copy()
    gappy[4, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        monitor.predict(gappy)
    run, whole = monitor.stream(), monitor.stream()
    found = [run.update(row) for row in gappy]
    assert found[4].alarm
    assert np.isnan(found[4].T2)
    expected = [whole.update(row) for row in np.delete(new, 4, axis=0)]
    assert found[:4] + found[5:] == expected
    with pytest.raises(ValueError, match="a row has 8 readings"):
        run.update(new[0, :7])


def test_columns_have_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(plant(100), columns=[f"sensor {k}" for k in range(8)])
    monitor = Monitor(LINEAR, alpha=0.05).fit(frame)
    new = frame[:10].copy()
    new.loc[3, "sensor 6"] += 9
    assert monitor.diagnose(new, rows=[3])["column"][0] == "sensor 6"


def test_scaling_by_columns_changes_nothing():
    X, new, units = plant(150), plant(10, 1), np.logspace(-3, 4, 8)
    plain, scaled = (Monitor(CURVED, alpha=0.05, random_state=0).fit(X * unit) for unit in (1, units))
    np.testing.assert_allclose(scaled.score_samples(new * units + 0), plain.score_samples(new), rtol=1e-7)


def test_a_compressed_monitor_raises_the_same_alarms_with_limits_of_its_own():
    X, new = plant(200), plant(1000, 1)
    monitor = Monitor(KernelPCA(6, kernel=Gaussian(8.0)), alpha=0.05).fit(X)
    small = monitor.compress(30, X)
    assert len(small.model_.decomposition_.points) == 30
    assert small.limits_ != monitor.limits_
    assert np.mean(small.predict(new) == -1) == pytest.approx(0.05, abs=0.04)
    new[:, 3] += 5
    assert np.mean(small.predict(new) == monitor.predict(new)) > 0.9


def test_false_alarms_on_tennessee_eastman_are_within_the_stated_rates():
    try:
        plant_runs = load_tennessee_eastman()
    except DatasetNotFound:
        pytest.skip("tennessee_eastman.npz is not in PREIMAGE_DATA")
    train, test = plant_runs
    assert (train.normal.shape, test.normal.shape, len(test.faulty), test.onset) == ((500, 52), (960, 52), 21, 160)
    assert (train.columns[0], train.columns[-1], len(train.columns)) == ("XMEAS(1)", "XMV(11)", 52)
    model = KernelPCA(48, kernel="linear")
    monitor = Monitor(model, alpha=0.05).fit(train.normal)
    assert 0.025 < np.mean(monitor.predict(test.normal) == -1) < 0.1
    classical = Monitor(model, alpha=0.05, limits="training").fit(train.normal)
    assert np.mean(classical.predict(test.normal) == -1) > 0.15
    found = monitor.predict(test.faulty[4]) == -1  # reactor cooling water, which XMV(10) answers
    assert found[test.onset :].mean() > 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            train.columns[int(monitor.diagnose(test.faulty[4], rows=[300], n_columns=1)["column"][0][1:])] == "XMV(10)"
        )


def test_rotated_sensors_have_the_same_spe_without_scaling():
    """The linear kernel knows no axes; held-out models are not scaled."""
    X, new, turn = plant(100), plant(10, 1), rotation(8)
    plain, turned = (
        Monitor(KernelPCA(3, kernel="linear").fit(A), alpha=0.05, limits="held_out").fit(B)
        for A, B in ((X, plant(50, 2)), (X @ turn, plant(50, 2) @ turn))
    )
    np.testing.assert_allclose(turned.statistics(new @ turn), plain.statistics(new), rtol=1e-8)


def test_public_names_are_in_the_room():
    for name in monitoring.__all__:
        assert getattr(monitoring, name).__doc__


def test_rows_with_gaps_and_arrays_that_are_no_table_get_a_sentence():
    X = rows(40, 4)
    monitor, gaps = Monitor("linear", alpha=0.05, random_state=0).fit(X), X.copy()
    gaps[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN\. Monitor is fitted on complete rows: .* with preimage\.Imputer"):
        Monitor("linear").fit(gaps)
    with pytest.raises(ValueError, match=r"contains NaN\. Monitor takes complete rows"):
        monitor.predict(gaps)
    with pytest.raises(ValueError, match=r"got 1D array of 40 values"):
        monitor.predict(X[:, 0])
