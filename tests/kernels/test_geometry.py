"""Distances and kernel values against extended precision, where the formula by inner products cancels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import rows, sparse_rows
from preimage import KernelKMeans, KernelPCA
from preimage.gram import tiles, triangle
from preimage.gram.prepared import prepare_rows
from preimage.kernels import Exponential, Gaussian, InverseMultiquadric, Matern, RationalQuadratic
from preimage.kernels.geometry import inner_products, squared_distances, squared_norms

RADIAL = {
    "gaussian": Gaussian,
    "exponential": Exponential,
    "rational quadratic": lambda scale: RationalQuadratic(scale, alpha=0.7),
    "inverse multiquadric": InverseMultiquadric,
    "matern 3/2": lambda scale: Matern(scale, nu=1.5),
    "matern 5/2": lambda scale: Matern(scale, nu=2.5),
}
every_radial = pytest.mark.parametrize("make", RADIAL.values(), ids=RADIAL)


def two_clusters(X, distance=1e9):
    X[::2, 0] += distance
    return X


def one_outlier(X):
    X[0, -1] = 1e6
    return X


def duplicated(X):
    X[1::2] = X[: len(X[1::2])]
    return X


SHAPES = {
    "ordinary": lambda X: X,
    "far-away clusters": two_clusters,
    "clusters at 1e4": lambda X: two_clusters(X, 1e4),
    "one outlier": one_outlier,
    "offset": lambda X: X + 1e8,
    "nearly equal": lambda X: X[0] + 1e-7 * X,
    "duplicates": duplicated,
    "far duplicates": lambda X: duplicated(two_clusters(X, 1e7)),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def exact_distances(X, Y):
    """‖x − y‖² in extended precision."""
    X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    return np.square(X[:, None] - Y[None]).sum(axis=2)


def rounding(X):
    """The bound on the relative error of a squared distance: γ/ρ with γ = (d + 8)·eps and ρ = eps^(1/3)."""
    return (X.shape[1] + 8) * np.finfo(X.dtype).eps ** (2 / 3)


@given(
    st.sampled_from(list(SHAPES.values())),
    st.sampled_from(list(RADIAL.values())),
    st.sampled_from(["f4", "f8"]),
    st.integers(1, 40),
    st.floats(-8, 4),
    st.integers(0, 2**31),
)
@settings(deadline=None, max_examples=150)
def test_every_kernel_value_has_the_bound_of_its_distance(shape, make, dtype, d, exponent, seed):
    rng = np.random.default_rng(seed)
    X = shape(rng.standard_normal((70, d))).astype(dtype)
    Y = np.vstack([X[:20], shape(rng.standard_normal((40, d))).astype(dtype)])
    kernel = make(10.0**exponent)
    exact, bound = exact_distances(X, Y), rounding(X)
    values = tiles.cross(kernel, X, Y)
    expected = kernel.profile(exact)
    assert np.abs(values - expected).max() <= bound
    assert values.max() <= 1
    assert (values[exact == 0] == 1).all()
    np.testing.assert_allclose(squared_distances(X, Y), exact, rtol=2 * bound)
    K = tiles.gram(kernel, X)
    assert np.abs(K - kernel.profile(exact_distances(X, X))).max() <= bound
    assert K.max() <= 1 and (np.diag(K) == 1).all()
    np.testing.assert_array_equal(K, triangle.packed_gram(kernel, X).dense())


@every_shape
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_squared_distances_of_the_same_rows_are_exactly_zero(shape, dtype):
    X = shape(rows(50, 7)).astype(dtype)
    exact = exact_distances(X, X)
    for found in (squared_distances(X, X), squared_distances(X, X.copy())):
        assert found.dtype == X.dtype
        assert (found[exact == 0] == 0).all() and (np.diag(found) == 0).all()
        np.testing.assert_allclose(found, exact, rtol=2 * rounding(X))


def test_distances_of_sparse_rows_do_not_cancel():
    X = sparse_rows(40).toarray()
    X[:, 0] += 1e8
    X[20:] = X[:20]
    X[25:30, 1] += 1e-3
    exact = exact_distances(X, X)
    for left, right in [(sp.csr_array(X), sp.csr_array(X)), (X, sp.csr_array(X)), (sp.csr_array(X), X)]:
        found = squared_distances(left, right)
        assert (found[exact == 0] == 0).all()
        np.testing.assert_allclose(found, exact, rtol=2 * rounding(X))


def test_whole_numbers_of_any_type_have_their_distances():
    X, Y = np.array([[3, 250], [1, 7]], dtype="u1"), np.array([[5, 250], [3, 250]], dtype="u1")
    np.testing.assert_array_equal(squared_distances(X, Y), [[4, 0], [16 + 243**2, 4 + 243**2]])


def test_rows_whose_squares_overflow_have_the_right_values():
    X = rows(30, 3)
    expected = Gaussian(1.5)(X, X)
    for scale in (1e-120, 1e120):
        np.testing.assert_allclose(tiles.gram(Gaussian(1.5 * scale), scale * X), expected, rtol=1e-11)
    large = (1e25 * X).astype("f4")  # squared distances of 1e50 are beyond single precision
    np.testing.assert_allclose(tiles.gram(Gaussian(1.5e25), large), expected, atol=1e-5)
    far = 1e300 * X
    np.testing.assert_array_equal(tiles.gram(Gaussian(1.0), far), np.eye(30))


@pytest.mark.filterwarnings("ignore::preimage.exceptions.LengthScaleWarning")
@pytest.mark.parametrize("scale", [1e-8, 1e-12, 1e-30])
def test_kernel_pca_with_a_scale_below_all_distances_sees_an_identity(scale):
    """K = I, so that every centred eigenvalue is 1 and codes are at most 1."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = KernelPCA(3, kernel=Gaussian(scale), solver="lanczos", random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, 1, rtol=1e-10)
    assert np.abs(model.transform(X)).max() <= 1 + 1e-10


def test_two_clusters_far_apart_have_the_spectrum_of_each():
    """Clusters without a word between them: the uncentred eigenvalues are those of both, here each twice."""
    A = np.random.default_rng(0).standard_normal((100, 3)).astype("f4").astype(float)
    A = np.round(A * 2**10) / 2**10  # so that A + 2³⁰ is exact
    X = np.vstack([A, A + [2.0**30, 0, 0]])
    single = np.linalg.eigvalsh(np.exp(-exact_distances(A, A).astype(float) / 2))[::-1]
    model = KernelPCA(6, kernel=Gaussian(1.0), center=False, random_state=0).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, np.repeat(single[:3], 2), rtol=1e-9)
    clusters = KernelKMeans(2, kernel=Gaussian(1.0), random_state=0).fit(X)
    assert clusters.inertia_ == pytest.approx(2 * (100 - np.exp(-exact_distances(A, A) / 2).sum() / 100), rel=1e-9)


def test_one_outlier_does_not_draw_the_origin_away():
    X = one_outlier(rows(3000, 4))
    origin = prepare_rows(Gaussian(1.0), X).origin
    assert np.linalg.norm(origin) < 1


@every_radial
@pytest.mark.parametrize("scale", [1e160, 1e-160, np.float64(1e200)])
def test_scales_without_a_square_are_refused(make, scale):
    with pytest.raises(ValueError, match="overflows or underflows in double precision: rescale the columns"):
        make(scale)


@pytest.mark.parametrize("few_cores", [0, 10**6])  # scipy's product, and scikit-learn's
@pytest.mark.parametrize("types", [(np.float64, np.float64), (np.float32, np.float32), (np.float32, np.float64)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_inner_products_and_norms_of_sparse_rows_are_those_of_dense_ones(few_cores, types, index, monkeypatch):
    monkeypatch.setattr("preimage.kernels.geometry.FEW_CORES", few_cores)
    X, Y = (sparse_rows(20, seed=seed).astype(dtype) for seed, dtype in enumerate(types))
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    products, norms, x, y = inner_products(X, Y), squared_norms(X), X.toarray(), Y.toarray()
    assert products.dtype == np.result_type(*types) and norms.dtype == types[0]
    np.testing.assert_allclose(products, x @ y.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(norms, np.square(x).sum(axis=1), rtol=1e-5)


def test_an_entry_that_is_stored_in_parts_counts_once_in_a_norm():
    X = sp.csr_array((np.array([1.0, 2.0]), np.array([3, 3]), np.array([0, 2])), shape=(1, 5))
    assert squared_norms(X) == [9.0] == inner_products(X, X)[0]
