"""``compat.KernelPCA`` is scikit-learn's: its checks, its own tests, its numbers, its errors."""

import importlib.util
import inspect
import pickle
import re
import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import sklearn
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn import manifold
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import KernelPCA as Original
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from helpers import assert_same_codes
from preimage import compat, kernels
from preimage.gram import threads

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "degree": 3, "coef0": 1},
    "rbf": {"gamma": 0.05},
    "sigmoid": {"gamma": 0.005, "coef0": 0.1},
    "cosine": {},
}
FORMS = ["dense", "sparse", "precomputed"]


@pytest.fixture(autouse=True, scope="module")
def one_blas_thread():
    """Matrices are small here, and threads that wait for one another slow."""
    with threads.single_threaded_blas():
        yield


@cache
def digits(dtype="float64"):
    """Rows to fit and rows to transform."""
    X = (load_digits().data[:110] / 16).astype(dtype)
    return X[:80], X[80:]


def given(kernel, form, dtype="float64"):
    """The same digits and kernel in another form: kernel and parameters, rows to fit, rows to transform."""
    X, new = digits(dtype)
    if form == "precomputed":
        return {"kernel": form}, *(pairwise_kernels(rows, X, metric=kernel, **KERNELS[kernel]) for rows in (X, new))
    container = np.array if form == "dense" else sp.csr_array
    return {"kernel": kernel, **KERNELS[kernel]}, container(X), container(new)


def fitted(X, **params):
    """scikit-learn's model and ours."""
    return Original(**params).fit(X), compat.KernelPCA(**params).fit(X)


def relative(actual, expected):
    """The largest difference relative to the largest entry."""
    assert actual.shape == expected.shape
    return np.abs(actual - expected).max(initial=0) / np.abs(expected).max(initial=1e-300)


def outcome(action):
    """What an action raises, or None."""
    try:
        action()
    except Exception as error:
        return error
    return None


def assert_same_error(action):
    """Both classes raise the same, word for word."""
    theirs, ours = (outcome(lambda kind=kind: action(kind)) for kind in (Original, compat.KernelPCA))
    assert theirs is not None
    assert (type(ours), in_order(str(ours))) == (type(theirs), in_order(str(theirs)))


def in_order(words):
    """The words with their sets, whose order changes from run to run, in alphabetical order."""
    return re.sub(r"\{([^}]*)\}", lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", words)


# What scikit-learn asks of every estimator


@parametrize_with_checks([compat.KernelPCA()])
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


def test_no_check_is_left_out():
    def names(estimator):
        return [str(check) for _, check in estimator_checks_generator(estimator)]

    assert names(compat.KernelPCA()) == names(Original())


def test_the_interface_is_scikit_learns():
    for name in ("__init__", "fit", "transform", "fit_transform", "inverse_transform"):
        ours, theirs = (inspect.signature(getattr(kind, name)).parameters for kind in (compat.KernelPCA, Original))
        assert [str(p.replace(annotation=p.empty)) for p in ours.values()] == list(map(str, theirs.values()))
    theirs, ours = Original._parameter_constraints, compat.KernelPCA._parameter_constraints
    ours, theirs = ({name: [in_order(str(c)) for c in known[name]] for name in known} for known in (ours, theirs))
    assert ours == theirs
    assert not issubclass(compat.KernelPCA, Original)


def test_the_attributes_are_scikit_learns():
    frame = load_iris(as_frame=True).data
    theirs, ours = fitted(frame, n_components=2, kernel="rbf", fit_inverse_transform=True)
    public = {name for name in vars(theirs) if name.endswith("_")}
    assert {name for name in vars(ours) if name.endswith("_")} == public
    assert ours.get_params() == theirs.get_params()
    tags = theirs.__sklearn_tags__()
    tags.input_tags.sparse = True  # scikit-learn 1.6 takes sparse rows and does not say so
    assert ours.__sklearn_tags__() == tags
    for name in ("X_fit_", "gamma_", "n_features_in_", "feature_names_in_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


# scikit-learn's own tests of its class, run on ours


def scikit_learns_tests():
    """The functions of scikit-learn's test module, in a copy where ``KernelPCA`` means ours."""
    found = importlib.util.find_spec("sklearn.decomposition.tests.test_kernel_pca")
    if found is None:
        return {}
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    module.KernelPCA = compat.KernelPCA
    theirs = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of their perceptron
    return {f"test_scikit_learns_{name.removeprefix('test_')}": quiet(test) for name, test in theirs.items()}


@pytest.fixture
def global_random_seed():
    return 42


globals().update(scikit_learns_tests())


def test_scikit_learns_tests_were_found():
    if not scikit_learns_tests():
        pytest.skip("this scikit-learn comes without its tests")
    assert len(scikit_learns_tests()) >= 20


# Numbers


@pytest.mark.parametrize("remove_zero_eig", [False, True])
@pytest.mark.parametrize("n_components", [7, 79, None])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_eigenvalues_and_codes_equal_scikit_learns(kernel, form, n_components, remove_zero_eig):
    if kernel == "sigmoid":  # indefinite: more components are refused by both, see below
        n_components = 7
    params, X, new = given(kernel, form)
    params |= {"n_components": n_components, "remove_zero_eig": remove_zero_eig, "eigen_solver": "dense"}
    theirs, ours = fitted(X, **params)
    values = theirs.eigenvalues_
    assert relative(ours.eigenvalues_, values) < 1e-12
    assert_same_codes(ours.fit_transform(X), theirs.fit_transform(X), values, atol=1e-9)
    assert_same_codes(ours.transform(new), theirs.transform(new), values, atol=1e-9)
    leading = slice(0, 7)
    assert relative(ours.eigenvectors_[:, leading], theirs.eigenvectors_[:, leading]) < 1e-9  # signs too


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_single_precision_is_kept_and_agrees(kernel, form):
    params, X, new = given(kernel, form, "float32")
    theirs, ours = fitted(X, n_components=6, **params)
    results = [ours.eigenvalues_, ours.eigenvectors_, ours.fit_transform(X), ours.transform(new)]
    assert {result.dtype for result in results} == {np.dtype("float32")}
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) < 1e-6
    assert relative(results[2], theirs.fit_transform(X)) < 2e-5
    assert relative(results[3], theirs.transform(new)) < 2e-5


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_components", [5, 30])
@pytest.mark.parametrize("kernel", KERNELS)
def test_inverse_transform_equals_scikit_learns(kernel, n_components, dtype):
    X, new = digits(dtype)
    params = {"kernel": kernel, "n_components": n_components, "fit_inverse_transform": True, "alpha": 0.1}
    theirs, ours = fitted(X, **params, **KERNELS[kernel])
    codes, tolerance = theirs.transform(new), 1e-8 if dtype == "float64" else 1e-3
    assert ours.dual_coef_.dtype == theirs.dual_coef_.dtype == dtype
    assert relative(ours.X_transformed_fit_, theirs.X_transformed_fit_) < tolerance
    assert relative(ours.dual_coef_, theirs.dual_coef_) < tolerance
    assert relative(ours.inverse_transform(codes), theirs.inverse_transform(codes)) < tolerance
    assert relative(ours.inverse_transform(ours.transform(new)), theirs.inverse_transform(codes)) < tolerance


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_every_solver_agrees_over_several_tiles(solver):
    X = load_digits().data[:560] / 16
    expected = Original(8, kernel="rbf", gamma=0.05, eigen_solver="dense").fit(X)
    model = compat.KernelPCA(8, kernel="rbf", gamma=0.05, eigen_solver=solver, random_state=0).fit(X)
    tolerance = 1e-4 if solver == "randomized" else 1e-9
    assert relative(model.eigenvalues_, expected.eigenvalues_) < tolerance
    assert relative(model.transform(X[:50]), expected.transform(X[:50])) < tolerance


def test_eigenvalues_that_meet_are_all_found():
    angles = 2 * np.pi * np.arange(600) / 600
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    theirs = Original(12, kernel="rbf", gamma=5, eigen_solver="dense").fit(circle)
    ours = compat.KernelPCA(12, kernel="rbf", gamma=5, eigen_solver="arpack", random_state=0).fit(circle)
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) < 1e-12
    assert_same_codes(ours.transform(circle[:9]), theirs.transform(circle[:9]), theirs.eigenvalues_, atol=1e-9)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
@pytest.mark.parametrize("free", [0.0, 1e9], ids=["recomputed", "one triangle"])
def test_a_large_matrix_is_not_stored_in_full(solver, free, monkeypatch):
    X = load_digits().data[:520] / 16
    params = {"n_components": 4, "kernel": "rbf", "gamma": 0.05, "eigen_solver": solver, "random_state": 0}
    theirs = Original(**params, iterated_power=30).fit(X)
    monkeypatch.setattr("preimage.compat.kernel_pca.SQUARE", 100)
    monkeypatch.setattr("preimage.gram.operators.free_memory", lambda: free)
    monkeypatch.setattr("preimage.gram.tiles.gram", lambda *_: pytest.fail("the kernel matrix was stored"))
    ours = compat.KernelPCA(**params, iterated_power=30).fit(X)
    assert relative(ours.transform(X[:9]), theirs.transform(X[:9])) < 1e-9


@pytest.mark.parametrize("container", [list, np.float16, np.int64, np.bool_])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_other_types_of_numbers(kernel, container):
    X = np.round(digits()[0] * 3)
    X = X @ X.T if kernel == "precomputed" else X
    X = X.tolist() if container is list else X.astype(container)
    theirs, ours = fitted(X, n_components=3, kernel=kernel)
    assert ours.X_fit_.dtype == theirs.X_fit_.dtype
    assert relative(ours.transform(X), theirs.transform(X)) < 1e-9


def test_a_precomputed_matrix_that_is_not_symmetric_is_read_below_its_diagonal():
    rng = np.random.default_rng(0)
    A, noise, new = rng.standard_normal((20, 20)), rng.standard_normal((20, 20)), rng.standard_normal((3, 20))
    K = A @ A.T + 0.05 * noise
    theirs, ours = fitted(K, n_components=4, kernel="precomputed", eigen_solver="dense")
    assert relative(ours.eigenvalues_, theirs.eigenvalues_) < 1e-12
    assert relative(ours.transform(new), theirs.transform(new)) < 1e-9


@pytest.mark.parametrize("params", [{"gamma": 0}, {"gamma": 0, "kernel": "poly"}, {"degree": 0, "kernel": "poly"}])
def test_kernels_that_are_constant_give_zeros(params):
    theirs, ours = fitted(digits()[0], n_components=2, **({"kernel": "rbf"} | params))
    for model in (theirs, ours):
        assert not model.eigenvalues_.any()
        assert not model.transform(digits()[1]).any()
    assert not compat.KernelPCA(2, kernel="sigmoid", gamma=0).fit_transform(digits()[0]).any()


@pytest.mark.parametrize("n", [2, 49, 300])
def test_equal_rows_have_no_components(n):
    assert compat.KernelPCA().fit_transform(np.full((n, 3), 0.1)).shape == (n, 0)
    assert not compat.KernelPCA(2).fit_transform(np.full((n, 3), 0.1)).any()


@pytest.mark.parametrize("solver", ["dense", "randomized"])
@pytest.mark.parametrize("n_components", [None, 58, 7])
def test_indefinite_kernels_are_refused_where_scikit_learn_refuses_them(n_components, solver):
    X = np.random.default_rng(0).standard_normal((60, 3))
    params = {"kernel": "sigmoid", "gamma": 4, "eigen_solver": solver, "random_state": 0}
    if (n_components, solver) == (7, "dense"):  # the 7 largest eigenvalues are positive, the 7 of largest size are not
        theirs, ours = fitted(X, n_components=7, **params)
        assert relative(ours.eigenvalues_, theirs.eigenvalues_) < 1e-12
    else:
        for kind in (Original, compat.KernelPCA):
            with pytest.raises(ValueError, match=r"There are significant negative eigenvalues \(0\.2"):
                kind(n_components, **params).fit(X)


# Callables


def histogram(x, y, scale=1.0):
    assert x.ndim == y.ndim == 1
    return scale * np.minimum(x, y).sum()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_function_of_two_rows(n_jobs):
    X, new = digits()
    params = {"n_components": 5, "kernel": histogram, "kernel_params": {"scale": 0.3}, "n_jobs": n_jobs}
    theirs, ours = fitted(X, **params, fit_inverse_transform=True, alpha=100)
    assert relative(ours.transform(new), theirs.transform(new)) < 1e-9
    assert relative(ours.inverse_transform(ours.transform(new)), theirs.inverse_transform(theirs.transform(new))) < 1e-8


def test_a_function_sees_whole_numbers_and_sparse_rows_as_they_are():
    X = np.random.default_rng(0).integers(0, 16, (30, 4))
    theirs, ours = fitted(X, n_components=3, kernel=lambda x, y: (x & y).sum())
    assert relative(ours.transform(X), theirs.transform(X)) < 1e-9
    theirs, ours = fitted(sp.csr_array(X), n_components=3, kernel=lambda x, y: (x @ y.T).toarray()[0, 0])
    assert relative(ours.transform(sp.csr_array(X)), theirs.transform(sp.csr_array(X))) < 1e-9


def test_a_function_is_asked_as_in_scikit_learn_where_it_is_not_symmetric():
    theirs, ours = fitted(digits()[0], n_components=3, kernel=lambda x, y: 10 * x @ y + x.sum())
    assert relative(ours.transform(digits()[1]), theirs.transform(digits()[1])) < 1e-9


def test_kernel_objects_take_matrices():
    X, new = digits()
    theirs, ours = fitted(X, n_components=3, kernel=RBF(2.0) + WhiteKernel())
    assert relative(ours.transform(new), theirs.transform(new)) < 1e-9
    own = compat.KernelPCA(3, kernel=kernels.Gaussian(2.0)).fit(X)
    assert relative(own.transform(new), Original(3, kernel="rbf", gamma=1 / 8).fit(X).transform(new)) < 1e-9


# Errors


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 0},
        {"n_components": -1},
        {"n_components": 1.5},
        {"kernel": "laplacian"},
        {"kernel": None},
        {"gamma": -1},
        {"gamma": "scale"},
        {"gamma": np.inf},
        {"degree": -1},
        {"coef0": "a"},
        {"kernel_params": 3},
        {"alpha": -1.0},
        {"fit_inverse_transform": "yes"},
        {"eigen_solver": "lobpcg"},
        {"tol": -1},
        {"max_iter": 0},
        {"iterated_power": -1},
        {"iterated_power": "many"},
        {"remove_zero_eig": None},
        {"random_state": "seed"},
        {"copy_X": 2},
        {"n_jobs": 1.0},
        {"n_jobs": 0},
        {"kernel": "precomputed"},
        {"kernel": "precomputed", "fit_inverse_transform": True},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_the_same_words(params):
    assert_same_error(lambda kind: kind(**params).fit(digits()[0]))


def test_bad_data_is_refused_in_the_same_words():
    X, _ = digits()
    for bad in (X[0], X[:0], X[:, :0], X + np.nan, X + np.inf, X.astype(complex), [["a"]], [[1, 2], [3]]):
        assert_same_error(lambda kind, bad=bad: kind().fit(bad))
    assert_same_error(lambda kind: kind().transform(X))
    assert_same_error(lambda kind: kind().fit(X).transform(X[:, :5]))
    assert_same_error(lambda kind: kind().fit(X, unknown=1))
    assert_same_error(lambda kind: kind().fit_transform(X, unknown=1))
    assert_same_error(lambda kind: kind(fit_inverse_transform=True).fit(sp.csr_array(X)))
    assert_same_error(lambda kind: kind(kernel="precomputed").fit(sp.csr_array(X @ X.T)))
    assert_same_error(lambda kind: kind(kernel="precomputed").fit(X @ X.T).transform(X))
    assert_same_error(lambda kind: kind(2).fit(X).inverse_transform(X))
    assert_same_error(lambda kind: kind(2, fit_inverse_transform=True).fit(X).inverse_transform(X))
    assert_same_error(lambda kind: kind(2, fit_inverse_transform=True).fit(X).inverse_transform([[np.nan, 1]]))
    assert_same_error(lambda kind: kind(2, kernel="sigmoid", gamma=4, alpha=0, fit_inverse_transform=True).fit(X))


def test_kernel_values_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="contains NaN"):
        compat.KernelPCA(kernel=lambda x, y: np.nan).fit(digits()[0])
    with pytest.raises(ValueError, match="the kernel matrix, contains infinity"):
        compat.KernelPCA().fit([[1e200, 0], [0, 1], [1, 1]])


def test_the_way_back_must_have_been_fitted():
    with pytest.raises(NotFittedError):
        compat.KernelPCA(fit_inverse_transform=True).inverse_transform(digits()[0])
    with pytest.raises(ValueError, match="0 feature"):
        compat.KernelPCA(fit_inverse_transform=True).fit(np.ones((4, 2)))


@pytest.mark.filterwarnings("ignore::preimage.exceptions.ConvergenceWarning")
def test_arpack_that_does_not_converge_is_an_error_and_dense_where_we_chose_it():
    X = np.random.default_rng(0).standard_normal((300, 200))
    params = {"n_components": 3, "max_iter": 1, "tol": 1e-12}
    with pytest.raises(ArpackNoConvergence):
        compat.KernelPCA(eigen_solver="arpack", **params).fit(X)
    assert relative(compat.KernelPCA(**params).fit(X).eigenvalues_, Original(3).fit(X).eigenvalues_) < 1e-9


# Programs written for scikit-learn


def test_copies_pickles_and_names():
    X, new = digits()
    model = compat.KernelPCA(3, kernel="rbf", fit_inverse_transform=True).fit(X)
    again = pickle.loads(pickle.dumps(model))
    codes = model.transform(new)
    np.testing.assert_array_equal(again.transform(new), codes)
    np.testing.assert_array_equal(again.inverse_transform(codes), model.inverse_transform(codes))
    assert clone(model).get_params() == model.get_params()
    assert list(model.get_feature_names_out()) == ["kernelpca0", "kernelpca1", "kernelpca2"]


@pytest.mark.parametrize("solver", ["dense", "arpack", "randomized"])
def test_frames_go_in_and_come_out(solver):
    frame = load_iris(as_frame=True).data
    model = compat.KernelPCA(2, eigen_solver=solver, fit_inverse_transform=True).set_output(transform="pandas")
    codes = model.fit_transform(frame)
    assert list(codes.columns) == ["kernelpca0", "kernelpca1"]
    assert model.transform(frame).index.equals(frame.index)
    assert isinstance(model.inverse_transform(codes), np.ndarray)


def test_a_grid_search_finds_the_same():
    X, y = load_digits(return_X_y=True)
    grid = {"kernelpca__gamma": [1e-4, 1e-3], "kernelpca__n_components": np.array([3, 9])}

    def search(kind):
        steps = make_pipeline(kind(kernel="rbf"), KNeighborsClassifier(3))
        return GridSearchCV(steps, grid, cv=2).fit(X[:150], y[:150]).cv_results_["mean_test_score"]

    np.testing.assert_allclose(search(compat.KernelPCA), search(Original))


def test_isomap_runs_on_it(monkeypatch):
    X = load_digits().data[:150]
    expected = manifold.Isomap(n_neighbors=9, n_components=3).fit(X)
    monkeypatch.setattr(manifold._isomap, "KernelPCA", compat.KernelPCA)
    model = manifold.Isomap(n_neighbors=9, n_components=3).fit(X)
    assert isinstance(model.kernel_pca_, compat.KernelPCA)
    assert relative(model.embedding_, expected.embedding_) < 1e-9
    assert relative(model.transform(X[:9]), expected.transform(X[:9])) < 1e-9


def test_components_may_be_cut_after_the_fit():
    X, new = digits()
    for model in fitted(X, n_components=6, kernel="rbf"):
        codes = model.transform(new)
        model.eigenvalues_, model.eigenvectors_ = model.eigenvalues_[:2], model.eigenvectors_[:, :2]
        np.testing.assert_allclose(model.transform(new), codes[:, :2])


def test_copy_x_says_whether_the_data_are_kept_or_copied():
    X = digits()[0].copy()
    assert compat.KernelPCA(2, copy_X=False).fit(X).X_fit_ is X
    assert not np.shares_memory(compat.KernelPCA(2).fit(X).X_fit_, X)
    K = X @ X.T
    kept = K.copy()
    compat.KernelPCA(2, kernel="precomputed").fit(K)
    np.testing.assert_array_equal(K, kept)
    K.flags.writeable = False
    compat.KernelPCA(2, kernel="precomputed", copy_X=False).fit(K)
    np.testing.assert_array_equal(K, kept)


def test_random_states_are_left_alone_unless_needed():
    state = np.random.RandomState(0)
    before = state.get_state()[1].copy()
    compat.KernelPCA(2, eigen_solver="dense", random_state=state).fit(digits()[0])
    np.testing.assert_array_equal(state.get_state()[1], before)
    a, b = (compat.KernelPCA(2, eigen_solver="randomized").fit_transform(digits()[0]) for _ in range(2))
    np.testing.assert_array_equal(a, b)


# Better where nobody sees it


def test_the_way_back_is_learned_once(monkeypatch):
    solve, calls = scipy.linalg.solve, []
    monkeypatch.setattr(scipy.linalg, "solve", lambda *args, **options: calls.append(1) or solve(*args, **options))
    model = compat.KernelPCA(3, kernel="rbf", fit_inverse_transform=True)
    codes = model.fit_transform(digits()[0])
    assert len(calls) == 1
    assert not np.shares_memory(codes, model.X_transformed_fit_)


def peak_bytes(action):
    """Memory that an action takes at its height, beyond what is there."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_matrix_is_held_at_a_time():
    X = np.random.default_rng(0).standard_normal((900, 5))
    model = compat.KernelPCA(4, kernel="rbf", eigen_solver="dense", fit_inverse_transform=True)
    with sklearn.config_context(working_memory=1):
        assert peak_bytes(lambda: model.fit(X)) < 1.75 * 8 * 900**2  # a matrix and a few tiles; theirs: over 2


def test_transform_stays_within_the_budget():
    X = np.random.default_rng(0).standard_normal((1500, 5))
    model = compat.KernelPCA(4, kernel="rbf", eigen_solver="arpack", random_state=0).fit(X[:500])
    with sklearn.config_context(working_memory=1):
        assert peak_bytes(lambda: model.transform(X)) < 2**20
