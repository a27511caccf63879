import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import preimage
from preimage import Imputer, progress


@parametrize_with_checks([Imputer(random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def curved(n=150, seed=0):
    """Columns in units of their own that follow one hidden number."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    whole = np.column_stack([300 + 40 * t, 0.01 * np.sin(3 * t), 5 * t**2, 1e4 * np.cos(2 * t), t])
    whole += 0.05 * whole.std(axis=0) * rng.standard_normal(whole.shape)
    lost = rng.random(whole.shape) < 0.2
    lost[lost.all(axis=1), 0] = False
    return whole, lost


@pytest.fixture(scope="module")
def fitted():
    whole, lost = curved()
    rows = np.where(lost, np.nan, whole)
    return Imputer(random_state=0).fit(rows), rows, whole, lost


def test_curved_columns_are_filled_better_than_by_a_linear_model(fitted):
    imputer, rows, whole, lost = fitted
    filled = imputer.transform(rows)
    np.testing.assert_array_equal(filled[~lost], whole[~lost])
    shares = ((filled - whole) / whole.std(axis=0))[lost]
    linear = (imputer.mixture_.gaussian(imputer._inside(rows)) - imputer._inside(whole))[lost]
    assert np.sqrt(np.mean(np.square(shares))) < 0.85 * np.sqrt(np.mean(np.square(linear)))
    np.testing.assert_allclose(sum(imputer.weights_.values()), 1)


def test_progress_goes_forward_in_small_steps():
    whole, lost = curved(60)
    shares = {}
    with progress.listen(lambda stage, done, total: shares.setdefault(stage, [0.0]).append(done / total)):
        Imputer(random_state=0).fit_transform(np.where(lost, np.nan, whole))
    assert set(shares) == {"settings", "models", "filling"}
    for steps in shares.values():
        assert steps == sorted(steps)
        assert steps[-1] == 1
    assert np.diff(shares["settings"]).max() < 0.03


def test_units_of_columns_do_not_matter(fitted):
    imputer, rows, _, _ = fitted
    factors = 2.0 ** np.array([3, -4, 0, 7, -20])  # powers of 2 change no digit
    other = Imputer(random_state=0).fit(rows * factors)
    np.testing.assert_allclose(other.transform(rows * factors) / factors, imputer.transform(rows), rtol=1e-6)


def test_intervals_and_draws_agree_with_the_uncertainty(fitted):
    imputer, rows, whole, lost = fitted
    low, high = imputer.interval(rows, 0.9)
    np.testing.assert_array_equal(low[~lost], whole[~lost])
    assert 0.8 < np.mean(((low <= whole) & (whole <= high))[lost]) < 0.98
    tables = imputer.sample(400)
    np.testing.assert_array_equal(tables[:, ~lost], np.broadcast_to(whole[~lost], (400, (~lost).sum())))
    deviation = imputer.uncertainty(rows)
    assert not deviation[~lost].any()
    ratios = tables.std(axis=0)[lost] / deviation[lost]
    np.testing.assert_allclose(ratios, 1, atol=6 / np.sqrt(2 * 400))
    np.testing.assert_array_equal(imputer.sample(2, rows), imputer.sample(2))


def test_a_saved_imputer_answers_as_before(fitted, tmp_path):
    imputer, rows, _, _ = fitted
    imputer.save(tmp_path / "m.npz")
    loaded = preimage.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.transform(rows), imputer.transform(rows))
    np.testing.assert_array_equal(loaded.sample(1), imputer.sample(1))


def test_frames_pipelines_and_indicators():
    whole, lost = curved(60)
    frame = pd.DataFrame(np.where(lost, np.nan, whole), columns=list("abcde"), index=np.arange(60) + 5)
    frame["c"] = whole[:, 2]
    imputer = Imputer(add_indicator=True, random_state=0).set_output(transform="pandas")
    filled = imputer.fit_transform(frame)
    told = [f"missingindicator_{name}" for name in "abde"]
    assert list(filled.columns) == [*"abcde", *told]
    np.testing.assert_array_equal(filled[told].to_numpy(bool), frame[list("abde")].isna())
    np.testing.assert_array_equal(filled.index, frame.index)
    assert list(imputer.impute(frame).columns) == list("abcde")
    codes = make_pipeline(Imputer(random_state=0), StandardScaler()).fit_transform(frame)
    np.testing.assert_allclose(codes.std(axis=0), 1)


def test_categories_are_filled_by_levels_and_other_marks_are_known():
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=120)
    X = np.column_stack([np.array([10.0, 20.0, 40.0])[group], group + 0.1 * rng.standard_normal(120), -group])
    gappy = X.copy()
    gappy[::4, 0] = -1
    filled = Imputer(missing_values=-1, categorical=[0], random_state=0).fit_transform(gappy)
    np.testing.assert_array_equal(filled[:, 0], X[:, 0])
    with pytest.raises(ValueError, match="categorical names the column 7"):
        Imputer(categorical=[7]).fit(X)


def test_columns_without_entries_are_left_out_or_filled_by_zero_and_named():
    whole, lost = curved(40)
    X = np.where(lost, np.nan, whole)
    X[:, 1] = np.nan
    with pytest.warns(preimage.exceptions.NothingFoundWarning, match=r"entry to learn from in column 1, left out"):
        assert Imputer(random_state=0).fit_transform(X).shape == (40, 4)
    with pytest.warns(preimage.exceptions.NothingFoundWarning, match="filled with 0"):
        kept = Imputer(keep_empty_features=True, random_state=0).fit_transform(X)
    assert kept.shape == (40, 5)
    assert not kept[:, 1].any()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(d=np.nan)
    with pytest.warns(preimage.exceptions.NothingFoundWarning, match="in columns 'b', 'd', left out"):
        assert Imputer(random_state=0).fit_transform(frame).shape == (40, 3)
    with pytest.raises(ValueError, match="no entry in any column"):
        Imputer().fit(np.full((5, 2), np.nan))


# Text


def animals(n=240, seed=0):
    """Three kinds of animals, whose size tells the kind, and the same table with gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["cat", "dog", "horse"], n)
    size = np.select([kind == "cat", kind == "dog"], [1.0, 2.0], 4.0) + 0.1 * rng.standard_normal(n)
    whole = pd.DataFrame({"kind": kind, "size": size, "weight": 3 * size + 0.1 * rng.standard_normal(n), "legs": 4})
    lost = rng.random((n, 2)) < 0.2
    gappy = whole.copy()
    gappy.loc[lost[:, 0], "kind"] = None
    gappy.loc[lost[:, 1], "size"] = np.nan
    return whole, gappy, lost


def test_text_is_filled_by_the_level_that_fits_and_helps_to_fill_numbers():
    whole, gappy, lost = animals()
    filled = Imputer(random_state=0).set_output(transform="pandas").fit_transform(gappy)
    assert list(filled.columns) == list(whole.columns)
    assert (filled["kind"] == whole["kind"]).all()
    assert filled["size"].dtype == float
    np.testing.assert_array_equal(filled["size"][~lost[:, 1]], whole["size"][~lost[:, 1]])
    assert np.abs(filled["size"] - whole["size"])[lost[:, 1]].max() < 0.5
    assert (filled["legs"] == 4).all()
    numbers = gappy.assign(kind=gappy["kind"].map({"cat": 0.0, "dog": 1.0, "horse": 2.0}))
    coded = Imputer(categorical=["kind"], random_state=0).fit_transform(numbers)
    np.testing.assert_array_equal(coded[:, 1], filled["size"])


def test_tables_of_objects_lists_and_files_of_models_hold_text(tmp_path):
    whole, gappy, _ = animals(60)
    imputer = Imputer(missing_values="?", random_state=0)
    table = gappy.astype(object).fillna("?").to_numpy()
    imputer.fit(table).save(tmp_path / "m.npz")
    table[0, 0] = "unicorn"  # a level that was not seen is observed nevertheless
    filled = preimage.load(tmp_path / "m.npz").transform(table)
    assert filled[0, 0] == "unicorn"
    np.testing.assert_array_equal(filled[1:, 0], whole["kind"][1:])
    np.testing.assert_array_equal(filled, imputer.transform(table.tolist()))
    assert set(imputer.sample(3)[:, :, 0].ravel()) == {"cat", "dog", "horse"}
    low, high = imputer.interval(table)
    assert np.isnan(low[:, 0]).all()
    assert np.all(low[:, 1] <= high[:, 1])
    with pytest.raises(ValueError, match="infinity"):
        Imputer().fit(whole.assign(size=np.inf))


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-200])
def test_a_table_of_constants_is_filled_by_them(value):
    X = np.full((20, 3), value)
    np.testing.assert_array_equal(Imputer(random_state=0).fit(X).transform(X), X)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    np.testing.assert_allclose(Imputer(random_state=0).fit_transform(gaps), X, rtol=1e-12)


def test_arrays_that_are_no_table_are_refused_without_printing_them():
    with pytest.raises(ValueError, match=r"got 1D array of 50 values\. Reshape your data"):
        Imputer().fit(np.arange(50.0))
    with pytest.raises(ValueError, match=r"Found array with dim 3, while Imputer takes a table"):
        Imputer().fit(np.ones((5, 4, 3)))
