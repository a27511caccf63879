"""Warnings point at the user's line, come once, and are silenced in one thread only."""

import threading

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import rows
from preimage import Denoiser, Expansion, KernelKMeans, KernelPCA, find_preimage
from preimage.eigen import PowerDeflation
from preimage.exceptions import ConvergenceWarning, FewerComponentsWarning, PreimageWarning, silenced, warn
from preimage.kernels import Gaussian, Sigmoid
from preimage.preimages import FixedPoint
from preimage.selection import noise_level

X = rows(60, 3)
LINE = rows(60, 3) @ np.diag([1.0, 0, 0])
NOISE = np.random.default_rng(3).standard_normal((80, 6))
NEARLY_EQUAL = np.diag(np.linspace(1, 0.9, 60))
FAR = Expansion(Gaussian(3.0), rows(6, 3), np.array([[-1.0, -0.2, -0.3, -0.1, -0.4, -0.5]]))


CALLS = {
    "fit": lambda: KernelPCA(2, kernel="linear").fit(LINE),
    "fit_transform": lambda: KernelPCA(2, kernel="linear").fit_transform(LINE),
    "partial_fit": lambda: KernelPCA(2, kernel="linear", approximation=60).partial_fit(LINE),
    "in a pipeline": lambda: make_pipeline(StandardScaler(), KernelPCA(2, kernel="linear")).fit(LINE),
    "poor landmarks": lambda: KernelPCA(20, kernel=Gaussian(0.3), approximation=30, random_state=0).fit(rows(600)),
    "indefinite": lambda: KernelPCA(2, kernel=Sigmoid(1.0, -1.0)).fit(X),
    "solver": lambda: KernelPCA(3, kernel="precomputed", solver=PowerDeflation(max_iter=2)).fit(NEARLY_EQUAL),
    "auto components": lambda: KernelPCA("auto", random_state=0).fit(NOISE),
    "nothing filtered": lambda: KernelPCA(kernel=Gaussian(1.0)).fit(X).denoise(X[:3] + 0.01),
    "k-means": lambda: KernelKMeans(5, max_iter=1, n_init=1, random_state=0).fit(rows(500, 3)),
    "pre-image": lambda: find_preimage(FAR, "distance"),
    "pre-image that starts with another": lambda: find_preimage(FAR, FixedPoint()),
    "noise level": lambda: noise_level(np.ones((30, 10))),
    "noise of rows": lambda: Denoiser(n_landmarks=20, n_stages=1, random_state=0).fit(NOISE),
    "sigma": lambda: Denoiser(n_landmarks=20, n_stages=1, noise=3.0, random_state=0).fit(
        np.tile(NOISE[:, :2], 6) + 0.1 * rows(80, 12)
    ),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_warning_points_at_the_users_line_and_comes_once(call):
    with pytest.warns(PreimageWarning) as caught:
        call()
    (warning,) = caught
    assert warning.filename == __file__
    lines = range(call.__code__.co_firstlineno, call.__code__.co_firstlineno + 3)
    assert warning.lineno in lines


@pytest.mark.parametrize("outlier_scale", [None, 1.0])
def test_rounds_that_fail_are_told_of_once(outlier_scale):
    model, gappy = KernelPCA(2, preimage=FixedPoint(1e-15, 1)).fit(X), np.where(np.arange(3) == 1, np.nan, X)
    for call in (lambda: model.impute(gappy), lambda: model.denoise(X, outlier_scale=outlier_scale)):
        with pytest.warns(ConvergenceWarning, match="did not converge") as caught:
            call()
        assert len(caught) == 1


def test_a_warning_about_a_dask_array_points_at_the_users_line():
    da = pytest.importorskip("dask.array")
    model = KernelPCA(kernel=Gaussian(1.0)).fit(X)
    with pytest.warns(PreimageWarning, match="filters nothing") as caught:
        model.denoise(da.from_array(X, chunks=(30, 3)))
    assert [warning.filename for warning in caught] == [__file__]


def test_a_warning_from_scikit_learns_search_points_at_the_users_line():
    with pytest.warns(FewerComponentsWarning) as caught:
        cross_val_score(KernelPCA(2, kernel="linear"), LINE, scoring=lambda *_: 0.0, cv=2)
    assert {warning.filename for warning in caught} == {__file__}


def test_silence_is_of_the_named_kind_and_of_this_thread():
    heard = []

    def other():
        with pytest.warns(ConvergenceWarning, match="elsewhere"):
            warn("elsewhere", ConvergenceWarning)
        heard.append(True)

    with silenced(ConvergenceWarning):
        warn("not heard", ConvergenceWarning)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with pytest.warns(FewerComponentsWarning):
            warn("heard", FewerComponentsWarning)
    with pytest.warns(ConvergenceWarning):
        warn("heard again", ConvergenceWarning)
    assert heard
