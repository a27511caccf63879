"""``Standardised`` against the same model on columns that were standardised by scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from console import good, put
from preimage import Chunks, KernelPCA, Standardised, export, load

X = load_wine().data
X[:, 3] = 7.0  # a constant column


@pytest.fixture(scope="module")
def models():
    model = Standardised(KernelPCA(6, random_state=0)).fit(X[:150])
    scaler = StandardScaler().fit(X[:150])
    unbiased = np.where(scaler.var_ > 0, scaler.scale_ * np.sqrt(150 / 149), 1.0)
    np.testing.assert_allclose((scaler.mean_, unbiased), (model.scaling_.mean, model.scaling_.deviation), rtol=1e-12)
    scaler.mean_, scaler.scale_ = model.scaling_.mean, model.scaling_.deviation  # to the last bit
    return scaler, KernelPCA(6, random_state=0).fit(scaler.transform(X[:150])), model


def test_answers_are_those_of_columns_that_were_standardised_before(models):
    scaler, plain, model = models
    new, Z = X[150:], scaler.transform(X[150:])
    np.testing.assert_allclose(model.transform(new), plain.transform(Z), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(new), plain.score_samples(Z), atol=1e-9)
    for found, expected in (
        (model.denoise(new), plain.denoise(Z)),
        (model.inverse_transform(model.transform(new)), plain.inverse_transform(plain.transform(Z))),
    ):
        np.testing.assert_allclose(scaler.transform(found), expected, atol=1e-6)


def test_gaps_are_filled_in_the_units_of_the_columns_and_the_rest_stays(models):
    scaler, plain, model = models
    gappy = np.where((np.random.default_rng(0).random((28, 13)) < 0.2) & (X.std(axis=0) > 0), np.nan, X[150:])
    filled = model.impute(gappy)
    np.testing.assert_array_equal(filled[~np.isnan(gappy)], gappy[~np.isnan(gappy)])
    np.testing.assert_allclose(scaler.transform(filled), plain.impute(scaler.transform(gappy)), atol=1e-6)
    gappy[:, 3] = np.nan
    assert np.all(model.impute(gappy)[:, 3] == 7)


def test_chunks_files_and_programs_give_the_same_answers(models, tmp_path):
    model, new = models[2], X[150:]
    landmarks = Standardised(KernelPCA(6, approximation=150, random_state=0))
    whole, parts = (landmarks.fit(rows).transform(new) for rows in (X[:150], Chunks([X[:70], X[70:150]])))
    np.testing.assert_allclose(parts, whole, atol=1e-8)
    model.save(tmp_path / "m.npz")
    np.testing.assert_array_equal(load(tmp_path / "m.npz").transform(new), model.transform(new))
    for method in ("transform", "denoise", "score_samples"):
        found = export.evaluate(export.to_program(model, method), new)
        np.testing.assert_allclose(found, getattr(model, method)(new), rtol=1e-6, atol=1e-8)


def test_the_command_line_standardises_tables_and_not_arrays(tmp_path):
    units, names = 10.0 ** np.arange(-6, 7), [f"c{number}" for number in range(13)]

    def framed(name, rows):
        return pd.DataFrame(rows, columns=names) if name.endswith(".csv") else rows

    codes = {}
    for name, rows in (("a.csv", X), ("b.csv", X * units), ("c.npy", X)):
        put(tmp_path / name, rows, tuple(names))
        good("fit", tmp_path / name, "-o", tmp_path / f"{name}.npz", "--components", 6)
        codes[name] = load(tmp_path / f"{name}.npz").transform(framed(name, rows))
    np.testing.assert_allclose(codes["a.csv"], codes["b.csv"], atol=1e-6)
    np.testing.assert_allclose(codes["c.npy"], KernelPCA(6, random_state=0).fit(X).transform(X), atol=1e-12)
    good("fit", tmp_path / "a.csv", "-o", tmp_path / "n.npz", "--components", 6, "--scale", "none")
    np.testing.assert_allclose(load(tmp_path / "n.npz").transform(framed("a.csv", X)), codes["c.npy"], atol=1e-12)


def test_single_precision_stays_single(models):
    X = load_wine().data.astype(np.float32)
    model, gaps = Standardised(KernelPCA(3, random_state=0)).fit(X), X[:5].copy()
    gaps[0, 0] = np.nan
    codes = model.transform(X[:5])
    answers = codes, model.denoise(X[:5]), model.inverse_transform(codes), model.impute(gaps)
    assert [answer.dtype for answer in answers] == [np.float32] * 4
