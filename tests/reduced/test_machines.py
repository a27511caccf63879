"""Machines read from scikit-learn against scikit-learn itself, whole and compressed."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as processes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from helpers import rows
from preimage import Expansion
from preimage.datasets import load_usps
from preimage.kernels import Gaussian, Matern
from preimage.reduced import machines
from preimage.reduced.machines import Classifier, Detector, Regressor, from_sklearn

KERNELS = {
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.2, "coef0": 1.0, "degree": 2},
    "linear": {},
    "sigmoid": {"gamma": 0.05, "coef0": -0.1},
}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def smooth(X):
    return np.sin(X[:, 0]) + X[:, 1]


# Whole


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model", [SVC(C=2), NuSVC(nu=0.2), SVC(decision_function_shape="ovo"), SVC(break_ties=True)], ids=str
)
def test_classifiers_decide_as_scikit_learn_does(iris, model, n_classes, kernel):
    X, y = iris
    X, y = X[y < n_classes], np.array(["setosa", "versicolor", "virginica"])[y[y < n_classes]]
    if isinstance(model, NuSVC) and kernel == "sigmoid":
        pytest.skip("infeasible for this kernel")
    model = model.set_params(kernel=kernel, **KERNELS[kernel]).fit(X[::2], y[::2])
    machine = from_sklearn(model)
    assert isinstance(machine, Classifier)
    np.testing.assert_allclose(machine.decision_function(X), model.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(machine.predict(X), model.predict(X))


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
def test_ten_classes_and_every_way_to_say_gamma(gamma):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = SVC(gamma=gamma).fit(X[:600], y[:600])
    machine = from_sklearn(model)
    assert len(machine.expansion) == 45
    np.testing.assert_allclose(machine.decision_function(X[600:800]), model.decision_function(X[600:800]), atol=1e-8)
    np.testing.assert_array_equal(machine.predict(X[600:]), model.predict(X[600:]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", [SVR(C=3), NuSVR(C=3), KernelRidge(alpha=0.1)], ids=str)
def test_regressions_predict_as_scikit_learn_does(model, kernel):
    X, new = rows(60, 3), rows(20, 3, seed=1)
    if isinstance(model, KernelRidge) and kernel == "sigmoid":
        pytest.skip("singular: this kernel is indefinite")
    model = model.set_params(kernel=kernel, **KERNELS[kernel]).fit(X, smooth(X))
    machine = from_sklearn(model)
    assert isinstance(machine, Regressor)
    assert not hasattr(machine, "decision_function")
    np.testing.assert_allclose(machine.predict(new), model.predict(new), atol=1e-8)


@pytest.mark.parametrize("kernel", ["laplacian", "cosine", "polynomial", "rbf"])
def test_kernel_ridge_with_defaults_and_several_targets(kernel):
    X, new = rows(60, 3), rows(20, 3, seed=1)
    model = KernelRidge(kernel=kernel, alpha=0.5).fit(X, np.column_stack([smooth(X), X[:, 2]]))
    np.testing.assert_allclose(from_sklearn(model).predict(new), model.predict(new), atol=1e-8)


@pytest.mark.parametrize(
    "kernel",
    [
        processes.RBF(1.3),
        2.5 * processes.Matern(0.9, nu=1.5) + processes.WhiteKernel(0.1),
        processes.ConstantKernel(0.5) * processes.RationalQuadratic(1.1, alpha=0.7),
        processes.RBF(2.0) * processes.DotProduct(0.5) + processes.Matern(2.0, nu=0.5),
        processes.WhiteKernel(0.1) + processes.Matern(2.0, nu=2.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("targets", [1, 2])
def test_gaussian_processes_predict_as_scikit_learns_do(kernel, targets):
    X, new = rows(40, 2), rows(15, 2, seed=1)
    y = smooth(X) if targets == 1 else np.column_stack([smooth(X), X[:, 0] ** 2 + 3])
    for normalize in (False, True):
        model = GaussianProcessRegressor(kernel, alpha=1e-3, optimizer=None, normalize_y=normalize).fit(X, y)
        np.testing.assert_allclose(from_sklearn(model).predict(new), model.predict(new), atol=1e-8)


def test_one_class_machines_detect_as_scikit_learns_do():
    X, new = rows(80, 2), 2 * rows(40, 2, seed=1)
    model = OneClassSVM(gamma=0.4, nu=0.2).fit(X)
    machine = from_sklearn(model)
    assert isinstance(machine, Detector)
    np.testing.assert_allclose(machine.decision_function(new), model.decision_function(new), atol=1e-10)
    np.testing.assert_array_equal(machine.predict(new), model.predict(new))


def test_sparse_models_and_rows(iris):
    X, y = iris
    model = SVC(gamma=0.3).fit(sp.csr_matrix(X), y)
    machine = from_sklearn(model)
    np.testing.assert_allclose(machine.decision_function(X), model.decision_function(sp.csr_matrix(X)), atol=1e-8)
    np.testing.assert_array_equal(machine.compress(20).predict(sp.csr_array(X)), machine.compress(20).predict(X))


def test_the_expansion_alone(iris):
    X, y = iris
    model = SVC(gamma=0.3).fit(X, y)
    expansion = Expansion.from_sklearn(model)
    assert expansion.kernel == Gaussian.from_gamma(0.3)
    assert expansion.points.shape == model.support_vectors_.shape
    pairs = SVC(gamma=0.3, decision_function_shape="ovo").fit(X, y).decision_function(X)
    np.testing.assert_allclose(expansion.inner(X).T + model.intercept_, pairs, atol=1e-8)


# Compressed


def test_a_compressed_classifier_decides_nearly_as_the_whole_one():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = SVC(C=10, gamma=0.1).fit(X[:1000], y[:1000])
    machine = from_sklearn(model)
    size = len(model.support_) // 5
    small = machine.compress(size)
    assert small.expansion.points.shape[0] == size
    assert small.errors.shape == (size,)
    assert machine.errors is None
    new, truth = X[1000:], y[1000:]
    assert np.mean(small.predict(new) == machine.predict(new)) > 0.98
    assert abs(np.mean(small.predict(new) == truth) - model.score(new, truth)) < 0.015
    assert small.decision_function(new).shape == (len(new), 10)


def test_values_differ_by_no_more_than_the_error_says():
    """|⟨Ψ − Ψ̂, φ(x)⟩| ≤ ‖Ψ − Ψ̂‖ √k(x, x)."""
    X = rows(200, 2)
    machine = from_sklearn(KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(X, smooth(X)))
    norm = np.sqrt(machine.expansion.norm2()[0])
    new = rows(100, 2, seed=1)
    for size in (5, 10, 20, 40):
        small = machine.compress(size)
        gap = np.abs(small.predict(new) - machine.predict(new)).max()
        assert 0 < gap <= small.errors[-1] * norm * (1 + 1e-6) + 1e-9
    assert gap < 0.05


def test_one_class_and_process_machines_are_compressed_too():
    X, new = rows(150, 2), rows(50, 2, seed=1)
    detector = from_sklearn(OneClassSVM(gamma=0.3, nu=0.5).fit(X))
    assert np.mean(detector.compress(15).predict(new) == detector.predict(new)) > 0.95
    process = from_sklearn(GaussianProcessRegressor(processes.RBF(1.5), alpha=1e-2, optimizer=None).fit(X, smooth(X)))
    np.testing.assert_allclose(process.compress(40, method="selection").predict(new), process.predict(new), atol=0.3)
    np.testing.assert_allclose(process.compress(40).predict(new), process.predict(new), atol=0.05)


@pytest.mark.slow
def test_a_tenth_of_the_support_vectors_tells_usps_digits_apart_as_well():
    usps = load_usps()
    test, truth = usps.test.X.astype(float), usps.test.y
    model = SVC(C=10, gamma=0.01).fit(usps.train.X.astype(float), usps.train.y)
    small = from_sklearn(model).compress(len(model.support_) // 10)
    assert abs(np.mean(small.predict(test) == truth) - model.score(test, truth)) <= 0.003


# Refusals


def test_what_cannot_be_read_gets_a_sentence(iris):
    X, y = iris
    with pytest.raises(TypeError, match=r"Ridge is not supported; SVC, .* are"):
        from_sklearn(Ridge().fit(X, y))
    with pytest.raises(ValueError, match="kernel 'precomputed' of this SVC is not supported; use one of linear, rbf"):
        Expansion.from_sklearn(SVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(ValueError, match="of this SVC is not supported"):
        from_sklearn(SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(ValueError, match="kernel 'chi2' of this KernelRidge is not supported"):
        from_sklearn(KernelRidge(kernel="chi2", gamma=1.0).fit(X, y))
    with pytest.raises(ValueError, match="is indefinite here, so a reduced set has no distances"):
        from_sklearn(SVC(kernel="sigmoid", gamma=0.02, coef0=0.1).fit(X, y)).compress(20)
    with pytest.raises(NotFittedError):
        from_sklearn(SVC())


@pytest.mark.parametrize(
    "kernel",
    [
        processes.RBF([1.0, 2.0]),
        processes.ExpSineSquared(),
        processes.Matern(1.0, nu=0.8),
        processes.RBF() + 2.0,
        processes.ConstantKernel(1.0),
        processes.RBF() ** 2,
        processes.ExpSineSquared() * processes.RBF(),
    ],
    ids=str,
)
def test_unknown_kernels_of_processes_get_a_sentence(kernel):
    X = rows(20, 2)
    model = GaussianProcessRegressor(kernel, alpha=10, optimizer=None).fit(X, smooth(X))
    with pytest.raises(ValueError, match="of this Gaussian process is not supported"):
        from_sklearn(model)


def test_rows_of_another_width_and_bad_sizes_get_a_sentence(iris):
    X, y = iris
    machine = from_sklearn(SVC().fit(X, y))
    with pytest.raises(ValueError, match="X has 3 features, but this machine expects 4"):
        machine.predict(X[:, :3])
    size = machine.expansion.points.shape[0]
    for wrong in (0, size + 1):
        with pytest.raises(ValueError, match=f"between 1 and the {size} points"):
            machine.compress(wrong)


def test_machines_of_ones_own():
    """Any expansion makes a machine."""
    expansion = Expansion(Matern(1.0), rows(30, 2), rows(1, 30))
    machine = machines.Regressor(expansion, np.array([0.5]))
    np.testing.assert_allclose(machine.predict(rows(5, 2)), expansion.inner(rows(5, 2))[0] + 0.5)


def test_a_machine_owns_its_points():
    X = rows(40, 3)
    ridge = KernelRidge(kernel="rbf").fit(X, X[:, 0])
    machine = from_sklearn(ridge)
    before = machine.predict(rows(5, 3))
    X *= 0
    np.testing.assert_array_equal(machine.predict(rows(5, 3)), before)
