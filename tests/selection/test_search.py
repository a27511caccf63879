import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import Denoiser, KernelPCA, decomposition
from preimage.exceptions import NoiseLevelWarning
from preimage.features import RandomFourier
from preimage.kernels import Gaussian, Linear
from preimage.preimages import Distance, FixedPoint, Learned
from preimage.selection import (
    imputation_scorer,
    reconstruction_scorer,
    select,
    sure,
    sure_scorer,
)
from preimage.statistics import risk
from preimage.statistics.risk import Masked


def curve(n=240, d=12, sigma=0.15, seed=0):
    """Noisy points of a closed curve that fills four dimensions, turned into d of them; clean ones first."""
    rng = np.random.default_rng(seed)
    t = 2 * np.pi * rng.random(n)
    clean = np.column_stack([np.cos(t), np.sin(t), 0.5 * np.cos(2 * t), 0.5 * np.sin(2 * t)])
    clean = clean @ np.linalg.qr(rng.standard_normal((d, 4)))[0].T
    return clean, clean + sigma * rng.standard_normal((n, d))


GRID = {
    "kernel__length_scale": [0.5, 1.0, 3.0],
    "n_components": [1, 2, 4, 8, 30],
    "preimage": [Distance(), FixedPoint()],
}


def test_the_choice_is_as_good_as_with_clean_data():
    clean, noisy = curve(1000)
    train, validation, noisy_test, test = noisy[:150], noisy[150:600], noisy[600:], clean[600:]
    whole, halved = (select(train, grid=GRID, noisy=validation, sigma=0.15, keep=k, random_state=0) for k in (1, 1 / 3))

    def error(params):
        model = KernelPCA(random_state=0).set_params(**params).fit(train)
        return np.mean((model.denoise(noisy_test) - test) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = {str(candidate.params): error(candidate.params) for candidate in whole.table}
    for result in (whole, halved):
        assert errors[str(result.best_params)] <= 1.1 * min(errors.values())
        assert len(result.table) == 30
        assert result.best.n_components_ == result.best_params["n_components"]
        assert result.best.decomposition_.inputs.shape == (150, 12)
    assert {candidate.n_rows for candidate in whole.table} == {450}
    assert [candidate.n_rows for candidate in halved.table] == 4 * [450] + 6 * [150] + 20 * [50]


def test_the_risk_of_the_table_is_that_of_models_fitted_one_by_one():
    _, noisy = curve()
    train, validation = noisy[:160], noisy[160:]
    grid = {"kernel": [Gaussian(1.0), Linear()], "n_components": [1, 3, 5], "preimage": [FixedPoint()]}
    result = select(train, grid=grid, noisy=validation, sigma=0.15, keep=1, random_state=0)
    for candidate in result.table:
        model = KernelPCA(random_state=0).set_params(**candidate.params).fit(train)
        alone = sure(model.denoise, validation, 0.15)
        # Other probes, the same rows: the values differ by no more than the probes do.
        assert candidate.risk == pytest.approx(alone.value, abs=4 * alone.standard_error)
        assert candidate.standard_error == pytest.approx(alone.standard_error, rel=0.3)
    risks = [candidate.risk for candidate in result.table]
    assert risks == sorted(risks)


def test_every_kernel_is_decomposed_once(monkeypatch):
    fitted, fit = [], decomposition.fit
    monkeypatch.setattr(decomposition, "fit", lambda *args, **kwargs: fitted.append(args) or fit(*args, **kwargs))
    select(curve()[1], grid=GRID, sigma=0.15, random_state=0)
    assert len(fitted) == 3 + 1  # three scales, and the best on all rows
    assert [args[2] for args in fitted[:3]] == [30, 30, 30]


def test_truncated_models_are_those_fitted_with_fewer_components():
    _, noisy = curve(80)
    large, small = KernelPCA(8, random_state=0).fit(noisy), KernelPCA(3, random_state=0).fit(noisy)
    cut = large.truncate(3)
    np.testing.assert_allclose(cut.transform(noisy), small.transform(noisy), atol=1e-10)
    np.testing.assert_allclose(cut.denoise(noisy), small.denoise(noisy), atol=1e-8)
    assert (cut.n_components, cut.n_components_, large.n_components_) == (3, 3, 8)
    with pytest.raises(ValueError, match="between 1 and 8, not 9"):
        large.truncate(9)
    with pytest.raises(NotFittedError):
        KernelPCA().truncate(1)


def test_everything_is_chosen_where_nothing_is_said():
    _, noisy = curve(200)
    result = select(noisy, random_state=0)
    assert result.noise.sigma == pytest.approx(0.15, rel=0.05)
    assert set(result.best_params) == {"kernel__length_scale", "n_components", "preimage"}
    assert len(result.columns()["risk"]) == len(result.table)


def test_rows_far_from_the_origin_are_compared_alike_and_the_chosen_model_keeps_their_precision():
    _, noisy = curve(200)
    near, far = (select(noisy + offset, grid=GRID, sigma=0.15, keep=1, random_state=0) for offset in (0, 1e6))
    assert near.best_params == far.best_params
    np.testing.assert_allclose(near.columns()["risk"], far.columns()["risk"], rtol=0.02)
    assert far.best.decomposition_.inputs.dtype == float
    np.testing.assert_allclose(far.best.decomposition_.inputs, noisy + 1e6, rtol=1e-15)


def test_the_same_seed_gives_the_same_table():
    _, noisy = curve()
    grid = {"n_components": [1, 4, 20]}
    tables = [select(noisy, grid=grid, sigma=0.15, random_state=3).columns()["risk"] for _ in range(2)]
    assert tables[0] == tables[1]


def test_hidden_entries_choose_without_knowing_the_noise():
    rng = np.random.default_rng(0)
    clean, _ = curve(300)
    noisy = clean + 0.1 * rng.laplace(size=clean.shape)
    grid = {"n_components": [1, 2, 4, 100], "preimage": [Learned()]}
    result = select(noisy, grid=grid, risk="masked", random_state=0)
    assert result.noise is None
    assert result.best_params["n_components"] in (2, 4)
    assert select(noisy, grid={"n_components": [2]}, risk=Masked(0.3), random_state=0).risk == Masked(0.3)


def test_other_numbers_of_components_and_approximations_take_part():
    _, noisy = curve()
    result = select(
        noisy,
        estimator=KernelPCA(approximation=60, random_state=0),
        grid={"n_components": [0.5, 0.8, 4], "preimage__n_neighbors": [5, 10], "preimage": [Distance()]},
        sigma=0.15,
        random_state=0,
    )
    assert len(result.table) == 6
    assert hasattr(result.best, "trace_error_")
    chosen = select(noisy, grid={"n_components": [0.8]}, sigma=0.15, random_state=0).best
    assert chosen.explained_variance_ratio_.sum() == pytest.approx(0.8, abs=0.1)


def test_more_components_than_there_are_count_as_all():
    _, noisy = curve(60, d=6)
    estimator = KernelPCA(kernel=Linear(), preimage=FixedPoint())
    result = select(noisy, estimator=estimator, grid={"n_components": [2, 6, 20, 50]}, sigma=0.15, random_state=0)
    assert sorted(candidate.params["n_components"] for candidate in result.table) == [2, 6]


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"risk": "best"}, "risk must be"),
        ({"keep": 0}, "keep must be"),
        ({"noisy": np.zeros((5, 3))}, "columns"),
        ({"grid": {"n_components": []}}, "grid is empty"),
        ({"grid": {"kernel": [lambda X, Y: X @ Y.T], "preimage": [Distance()]}}, "Distance"),
        ({"estimator": KernelPCA(kernel="precomputed")}, "precomputed"),
    ],
)
def test_wrong_settings_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(curve(40)[1], **{"sigma": 0.1} | settings)


def test_data_without_noise_are_refused_in_a_sentence():
    with pytest.warns(NoiseLevelWarning), pytest.raises(ValueError, match="no noise was found"):
        select(np.ones((40, 10)), grid={"n_components": [1]})


@pytest.mark.filterwarnings("ignore::preimage.exceptions.NoiseLevelWarning")
def test_hard_data_get_an_answer():
    rng = np.random.default_rng(0)
    constant = np.column_stack([np.ones((40, 2)), rng.standard_normal((40, 3))])
    doubled = np.repeat(rng.standard_normal((10, 4)), 4, axis=0)
    for X in (constant, doubled, rng.standard_normal((12, 50)), rng.standard_cauchy((60, 4)), rng.random((9, 2))):
        assert np.isfinite(select(X, grid={"n_components": [1, 2, 4]}, random_state=0).table[0].risk)
    assert np.isfinite(select(doubled, random_state=0).table[0].risk)


def test_the_table_is_drawn(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    from preimage import plot

    result = select(curve(100)[1], grid=GRID, sigma=0.15, random_state=0)
    ax = plot.selection(result)
    assert len(ax.containers) == 6
    best = ax.lines[-1].get_xydata()[0]
    np.testing.assert_allclose(best, [result.best_params["n_components"], result.table[0].risk])
    assert plot.selection(result, ax=ax) is ax
    plt.close(ax.figure)


def test_scorers_in_grid_search_and_pipelines():
    _, noisy = curve(300)
    pipeline = make_pipeline(StandardScaler(), KernelPCA(preimage=Distance(), random_state=0))
    search = GridSearchCV(
        pipeline, {"kernelpca__n_components": [1, 4, 60]}, scoring=partial(sure_scorer, sigma=0.15), cv=3
    ).fit(noisy)
    assert search.best_params_ == {"kernelpca__n_components": 4}
    scores = cross_val_score(KernelPCA(4, random_state=0), noisy, scoring=reconstruction_scorer, cv=3)
    assert np.all(scores < 0) and np.all(scores > -np.var(noisy))
    impute = [
        cross_val_score(make_pipeline(StandardScaler(), KernelPCA(q)), noisy, scoring=imputation_scorer, cv=3).mean()
        for q in (1, 4)
    ]
    assert impute[0] < impute[1] < 0


def test_the_sure_score_is_in_the_units_of_the_data():
    """A pipeline that scales and linear PCA without scaling, on columns of equal scale: the same map, the same risk."""
    clean, noisy = curve(3000)
    pca = make_pipeline(StandardScaler(with_std=False), PCA(4)).fit(noisy[:1500])
    true = np.mean((pca.inverse_transform(pca.transform(noisy[1500:])) - clean[1500:]) ** 2)
    assert -sure_scorer(pca, noisy[1500:], sigma=0.15) == pytest.approx(true, rel=0.05)
    assert -sure_scorer(pca, noisy[1500:]) == pytest.approx(true, rel=0.2)
    ours = make_pipeline(KernelPCA(4, kernel="linear", preimage="fixed_point")).fit(noisy[:1500])
    assert sure_scorer(ours, noisy[1500:], sigma=0.15) == pytest.approx(sure_scorer(pca, noisy[1500:], sigma=0.15))


def test_a_denoiser_is_scored_by_what_it_denoises():
    rng = np.random.default_rng(0)
    noisy = rng.uniform(-1, 1, (300, 1)) * np.ones(10) + 0.3 * rng.standard_normal((300, 10))
    denoiser = Denoiser(noise=0.3, n_landmarks=50, n_stages=1, random_state=0).fit(noisy[:200])
    np.testing.assert_array_equal(denoiser.denoise(noisy), denoiser.transform(noisy))
    expected = -risk.sure(denoiser.transform, noisy[200:], 0.3).value
    assert sure_scorer(denoiser, noisy[200:], sigma=0.3) == expected
    piped = make_pipeline(StandardScaler(with_mean=False, with_std=False), denoiser).fit(noisy[:200])
    assert sure_scorer(piped, noisy[200:], sigma=0.3) == pytest.approx(expected)
    assert -expected < 0.5 * 0.3**2


# Random features


def test_a_search_on_random_features_leaves_out_methods_that_weigh_points():
    rng = np.random.default_rng(0)
    noisy = rng.uniform(-1, 1, (80, 1)) * np.ones(6) + 0.3 * rng.standard_normal((80, 6))
    found = select(noisy, estimator=KernelPCA(approximation=RandomFourier(40)), sigma=0.3, random_state=0)
    assert {type(candidate.params["preimage"]) for candidate in found.table} == {Distance}
    assert found.best.denoise(noisy[:3]).shape == (3, 6)


def test_a_grid_that_does_not_go_with_the_approximation_is_refused_before_any_work(monkeypatch):
    def never(*_, **__):
        raise AssertionError("a model was fitted")

    monkeypatch.setattr(KernelPCA, "fit", never)
    with pytest.raises(ValueError, match="FixedPoint needs an expansion over points, which random features do not"):
        select(
            np.random.default_rng(0).standard_normal((40, 3)),
            estimator=KernelPCA(approximation=RandomFourier(40)),
            grid={"n_components": [1, 2], "preimage": [Distance(), FixedPoint()]},
            sigma=0.3,
        )
