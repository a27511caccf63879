"""Every estimator, kernel, dtype and layout: inputs stay as they are, models own what they keep, values are float64's.

The bound. Let K be the kernel matrix, λ its centred eigenvalues, n the number of rows and eps that of the dtype. Values
computed in that precision are those of K + E with ‖E‖ ≤ δ = 10·n·eps·‖K‖; a kernel with a cusp at distance 0 takes the
root of what round-off, eps·‖x‖², makes of that distance, so that δ is √eps·max‖x‖ larger. Then eigenvalues move by at
most δ (Weyl), the subspace of the q leading ones by at most 2δ/(λ_q − λ_q+1) (Davis & Kahan; Yu, Wang & Samworth 2015),
and inner products of codes, which know no signs and no rotations, by δ(1 + 4λ₁/(λ_q − λ_q+1) + λ₁/λ_q).
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from helpers import COMPOSED, NAMED, centring
from preimage import Denoiser, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, compat
from preimage.features import Nystrom, RandomFourier
from preimage.kernels import Exponential, Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from preimage.preimages import Conformal

pytestmark = pytest.mark.filterwarnings("ignore::preimage.exceptions.PreimageWarning")

KERNELS = NAMED | {name: COMPOSED[name] for name in ("sum-mixed", "product-mixed", "scaled-radial", "function")}
SPECTRAL = {
    "gaussian": Gaussian(3.0),
    "exponential": Exponential(2.0),
    "laplacian": Laplacian(0.1),
    "matern": Matern(3.0, nu=1.5),
    "rational-quadratic": RationalQuadratic(3.0, alpha=1.0),
}
CUSPS = [NAMED["exponential"], NAMED["matern-1/2"]]
DISTANCES = SPECTRAL | {"matern-5/2": Matern(4.0, nu=2.5)}
DISTANCES.pop("laplacian")


def whole_numbers(n=30, d=3, seed=0):
    """Rows in two groups whose entries are the same numbers in every dtype; none is zero, and no two are equal."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(-3, 4, (3 * n, d)), axis=0)
    rows = rows[rows.any(axis=1)][rng.permutation(n)]
    rows[: n // 2, 0] += 6
    return rows


ROWS, NEW = whole_numbers(), whole_numbers(seed=1)[:12]


@dataclass
class Layout:
    """An array as a user may have it; ``owner`` is what can be written to."""

    name: str
    array: np.ndarray
    owner: np.ndarray

    @property
    def is_file(self):
        return isinstance(self.array, np.memmap)


def layouts(values, folder):
    for dtype, order in product((np.float64, np.float32, np.int64), "CF"):
        name = f"{np.dtype(dtype).name}-{order}"
        plain = np.array(values, dtype=dtype, order=order)
        yield Layout(f"{name}-copy", plain, plain)
        larger = np.zeros((2 * len(values), values.shape[1] + 2), dtype=dtype, order=order)
        larger[::2, 1:-1] = values
        yield Layout(f"{name}-view", larger[::2, 1:-1], larger)
        writable = np.array(values, dtype=dtype, order=order)
        locked = writable.view()
        locked.flags.writeable = False
        yield Layout(f"{name}-read-only", locked, writable)
        mapped = np.memmap(folder / f"{name}.dat", mode="w+", dtype=dtype, shape=values.shape, order=order)
        mapped[:] = values
        yield Layout(f"{name}-memmap", mapped, mapped)


def check(make, answers, values, folder, bounds=None, reads_files=True):
    """All three properties of an estimator; ``answers(model)`` are arrays, ``bounds(eps)`` how far they may be off."""
    expected = answers(make().fit(np.array(values, dtype=float)))
    for layout in layouts(values, folder):
        before = layout.array.copy()
        model = make().fit(layout.array)
        found = answers(model)
        np.testing.assert_array_equal(layout.array, before, err_msg=layout.name)
        if bounds is not None:
            eps = np.finfo(np.result_type(layout.array.dtype, np.float32)).eps
            for name, limit in bounds(eps).items():
                np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=limit, err_msg=layout.name + name)
        model = make().fit(layout.array)  # one that has prepared nothing yet
        if not (layout.is_file and reads_files):
            layout.owner[...] = 1
        first = answers(model)
        for name, answer in first.items():
            np.testing.assert_array_equal(answer, found[name], err_msg=f"{layout.name} {name} after the input changed")
            answer[...] = 0
        for name, answer in answers(model).items():
            np.testing.assert_array_equal(answer, found[name], err_msg=f"{layout.name} {name} after an answer changed")


# Kernel PCA


@dataclass
class Spectrum:
    """What the bound is made of: ‖K‖, the leading eigenvalues, and a q at a gap."""

    size: float
    values: np.ndarray
    q: int

    @classmethod
    def of(cls, K, most=5):
        values = np.linalg.eigvalsh(centring(len(K)) @ K @ centring(len(K)))[::-1]
        most = min(most, int(np.sum(values > 1e-3 * values[0])))
        gaps = -np.diff(values)[:most]
        return cls(float(np.abs(np.linalg.eigvalsh(K)).max()), values, int(np.argmax(gaps[1:])) + 2 if most > 1 else 1)

    def bounds(self, eps, condition=1.0, cusp=False):
        n, first, last = len(self.values), self.values[0], self.values[self.q - 1]
        delta = 10 * n * eps * self.size + cusp * np.sqrt(eps) * np.linalg.norm(ROWS, axis=1).max()
        delta *= condition
        turned = 4 * first / (last - self.values[self.q]) + first / last
        extent = float(np.abs(ROWS).max())
        return {
            "eigenvalues": delta,
            "inner": delta * (1 + turned),
            "scores": delta * (1 + turned),
            "denoised": np.sqrt(n) * extent * delta / last * (1 + turned),
        }


def codes_and_more(model):
    codes = model.transform(NEW)
    found = {"inner": codes @ codes.T, "codes": codes, "scores": model.score_samples(NEW)}
    return found | {"eigenvalues": model.eigenvalues_.copy(), "denoised": model.denoise(NEW)}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_exact_kernel_pca(kernel, tmp_path):
    spectrum = Spectrum.of(kernel(ROWS.astype(float), ROWS.astype(float)))

    def make():
        return KernelPCA(spectrum.q, kernel=kernel, preimage=Conformal(), random_state=0)

    check(make, codes_and_more, ROWS, tmp_path, lambda eps: spectrum.bounds(eps, cusp=kernel in CUSPS))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_kernel_pca_on_landmarks(kernel, tmp_path):
    """The condition of the landmarks' kernel matrix multiplies the bound."""
    Z = ROWS[::7].astype(float)
    few, many = kernel(Z, Z), kernel(ROWS.astype(float), Z)
    K = many @ np.linalg.pinv(few, rcond=1e-10, hermitian=True) @ many.T
    spectrum, values = Spectrum.of(K, most=3), np.abs(np.linalg.eigvalsh(few))
    condition = values.max() / values[values > 1e-10 * values.max()].min()

    def make():
        return KernelPCA(spectrum.q, kernel=kernel, approximation=Nystrom(ROWS[::7]), preimage=Conformal())

    assert condition < 1e4
    bounds = lambda eps: spectrum.bounds(eps, condition, kernel in CUSPS)  # noqa: E731
    check(make, codes_and_more, ROWS, tmp_path, bounds, reads_files=False)


@pytest.mark.parametrize("approximation", [20, Nystrom(100), Nystrom(ROWS)], ids=["few", "all", "given"])
def test_kernel_pca_on_landmarks_chosen_from_the_rows(approximation, tmp_path):
    def make():
        return KernelPCA(3, kernel=Gaussian(3.0), approximation=approximation, random_state=0)

    check(make, codes_and_more, ROWS, tmp_path, reads_files=False)


@pytest.mark.parametrize("kernel", SPECTRAL.values(), ids=SPECTRAL.keys())
@pytest.mark.parametrize("n_features", [16, 100], ids=["fewer features than rows", "more"])
def test_kernel_pca_on_random_features(kernel, n_features, tmp_path):
    """‖FFᵀ‖ ≤ tr FFᵀ = Σ k(x, x); a phase ωᵀx is off by eps·‖ω‖‖x‖, and so are its cosine and sine."""

    def make():
        approximation = RandomFourier(n_features)
        return KernelPCA(2, kernel=kernel, approximation=approximation, preimage=Conformal(), random_state=0)

    frequencies = make().fit(ROWS).decomposition_.features.frequencies
    phase = max(1.0, np.linalg.norm(frequencies, axis=1).max() * np.linalg.norm(ROWS, axis=1).max())
    trace = len(ROWS) * float(kernel.diagonal(ROWS[:1].astype(float))[0])

    check(make, codes_and_more, ROWS, tmp_path, lambda eps: {"eigenvalues": 10 * eps * phase * trace}, False)


@pytest.mark.parametrize("make", [KernelPCA, compat.KernelPCA], ids=["ours", "compatible"])
def test_kernel_pca_of_a_kernel_matrix(make, tmp_path):
    K, new = ROWS @ ROWS.T, (NEW @ ROWS.T).astype(float)
    spectrum = Spectrum.of(K.astype(float))

    def answers(model):
        codes = model.transform(new)
        return {"inner": codes @ codes.T, "codes": codes, "eigenvalues": model.eigenvalues_.copy()}

    def bounds(eps):
        return {name: spectrum.bounds(eps)[name] for name in ("inner", "eigenvalues")}

    check(lambda: make(spectrum.q, kernel="precomputed"), answers, K, tmp_path, bounds, make is KernelPCA)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_scikit_learns_signature(kernel, tmp_path):
    kernels = {"linear": Linear(), "cosine": NAMED["cosine"], "rbf": Gaussian.from_gamma(0.05)}
    K = kernels[kernel](ROWS.astype(float), ROWS.astype(float)) if kernel in kernels else None

    def make():
        q = 2 if K is None else Spectrum.of(K).q
        return compat.KernelPCA(q, kernel=kernel, gamma=0.05, degree=2, fit_inverse_transform=True)

    def answers(model):
        codes = model.transform(NEW)
        back = model.inverse_transform(codes)
        return {"inner": codes @ codes.T, "back": back, "eigenvalues": model.eigenvalues_.copy()}

    def bounds(eps):
        return {name: Spectrum.of(K).bounds(eps)[name] for name in ("inner", "eigenvalues")}

    check(make, answers, ROWS, tmp_path, None if K is None else bounds, reads_files=False)


# The other estimators


@pytest.mark.parametrize("approximation", [None, Nystrom(ROWS[::3])], ids=["exact", "landmarks"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_kernel_k_means(kernel, approximation, tmp_path):
    """Squared distances are sums of three (means of) kernel values: off by 40·n·eps·max|K|, where labels agree."""
    size = float(np.abs(kernel(ROWS.astype(float), ROWS.astype(float))).max())

    def make():
        return KernelKMeans(2, kernel=kernel, init=ROWS[[0, -1]], approximation=approximation)

    def answers(model):
        squares = np.square(model.transform(NEW))
        return {"squares": squares, "labels": model.labels_.copy(), "predicted": model.predict(NEW)}

    def bounds(eps):
        return {"squares": 40 * len(ROWS) * eps * size, "labels": 0}

    check(make, answers, ROWS, tmp_path, bounds if approximation is None else None, approximation is None)


def test_kernel_k_means_of_a_kernel_matrix(tmp_path):
    def answers(model):
        return {"labels": model.labels_.copy(), "predicted": model.predict((NEW @ ROWS.T).astype(float))}

    def make():
        return KernelKMeans(2, kernel="precomputed", random_state=0)

    check(make, answers, ROWS @ ROWS.T, tmp_path, lambda eps: {"labels": 0})


@pytest.mark.parametrize("activation", ["sine", "relu"])
def test_invertible_kernel_pca(activation, tmp_path):
    """The sum of the leading eigenvalues, of which there are half as many as features, moves by at most q·δ."""

    def make():
        return InvertibleKernelPCA(4, activation=activation, n_features=20, ridge=1.0, random_state=0)

    def answers(model):
        codes = model.transform(NEW)
        back = model.inverse_transform(codes)
        return {"codes": codes, "back": back, "denoised": model.denoise(NEW), "eigenvalues": model.eigenvalues_.copy()}

    size = float(make().fit(ROWS).map_.components.total)
    check(make, answers, ROWS, tmp_path, lambda eps: {"eigenvalues": 10 * len(ROWS) * eps * size})


@pytest.mark.parametrize("kernel", DISTANCES.values(), ids=DISTANCES.keys())
def test_denoiser(kernel, tmp_path):
    """Ridge regressions with ridges of eps^½ and more, relative to the features: off by a few eps^½ of the extent."""
    noisy = np.rint(whole_numbers(60, 4) + 2 * np.random.default_rng(2).standard_normal((60, 4))).astype(int)

    def make():
        return Denoiser(kernel=kernel, noise=2.0, n_landmarks=10, n_stages=1, random_state=0)

    def bounds(eps):
        return {"denoised": 10 * np.sqrt(eps) * float(np.abs(noisy).max())}

    check(make, lambda model: {"denoised": model.transform(noisy[:9])}, noisy, tmp_path, bounds, reads_files=False)


@pytest.mark.parametrize("model", ["linear", KernelPCA(2, kernel=Gaussian(2.0))], ids=["linear", "gaussian"])
def test_monitor(model, tmp_path):
    """It computes in double precision, in which whole numbers of every dtype are the same."""

    def answers(monitor):
        statistics = monitor.statistics(NEW)._asdict()
        return statistics | {"scores": monitor.score_samples(NEW), "p-values": monitor.p_values(NEW)}

    def bounds(eps):
        return dict.fromkeys(("T2", "SPE", "scores", "p-values"), 1e-10)

    check(lambda: Monitor(model, alpha=0.1, random_state=0), answers, ROWS, tmp_path, bounds, reads_files=False)


# Cases


def test_a_buffer_may_be_filled_again_for_every_partial_fit():
    rng = np.random.default_rng(0)
    batches = [rng.standard_normal((100, 3)) + 3 * i for i in range(3)]
    for landmarks in (100, 30):
        one, other = (KernelPCA(3, kernel=Gaussian(2.0), approximation=landmarks, random_state=0) for _ in range(2))
        buffer = np.empty((100, 3))
        for batch in batches:
            buffer[:] = batch
            one.partial_fit(buffer)
            other.partial_fit(batch)
        np.testing.assert_array_equal(one.eigenvalues_, other.eigenvalues_)
        np.testing.assert_array_equal(one.decomposition_.inputs, np.concatenate(batches))
        np.testing.assert_array_equal(one.denoise(batches[1][:5]), other.denoise(batches[1][:5]))


@pytest.mark.parametrize("make", [KernelPCA, KernelKMeans, InvertibleKernelPCA])
def test_a_data_frame_may_change_after_the_fit(make):
    frame = pd.DataFrame(ROWS.astype(float), columns=list("abc"))
    model = make(2, random_state=0).fit(frame)
    new = pd.DataFrame(NEW.astype(float), columns=list("abc"))
    before = model.transform(new)
    frame.iloc[:] = 0.0
    np.testing.assert_array_equal(model.transform(new), before)


@pytest.mark.parametrize("make", [KernelPCA, KernelKMeans])
@pytest.mark.parametrize("approximation", [None, 100])
def test_sparse_rows_may_change_after_the_fit(make, approximation):
    X = sp.csr_array(ROWS.astype(float))
    model = make(2, approximation=approximation, random_state=0).fit(X)
    before = model.transform(NEW)
    X.data[:] = 1.0
    np.testing.assert_array_equal(model.transform(NEW), before)


def kept_rows(model):
    if isinstance(model, InvertibleKernelPCA):
        return model._decoder.points
    return model.decomposition_.points if isinstance(model, KernelPCA) else model.centroids_.points


@pytest.mark.parametrize("make", [KernelPCA, KernelKMeans, InvertibleKernelPCA])
def test_without_copy_and_from_a_memmap_the_rows_themselves_are_kept(make, tmp_path):
    X = ROWS.astype(float)
    assert not np.shares_memory(kept_rows(make(2, random_state=0).fit(X)), X)
    assert np.shares_memory(kept_rows(make(2, random_state=0, copy_X=False).fit(X)), X)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.shares_memory(kept_rows(make(2, random_state=0).fit(mapped)), mapped)


def test_rows_without_gaps_are_imputed_by_a_copy():
    model, X = KernelPCA(2).fit(ROWS), NEW.astype(float)
    filled = model.impute(X)
    np.testing.assert_array_equal(filled, X)
    assert not np.shares_memory(filled, X)


def test_labels_and_codes_that_were_returned_are_the_users():
    clusters, model = KernelKMeans(2, random_state=0), KernelPCA(2)
    labels, codes = clusters.fit_predict(ROWS), model.fit_transform(ROWS)
    before = codes.copy()
    labels[:], codes[:] = 9, 9
    assert set(clusters.labels_) == {0, 1}
    np.testing.assert_allclose(model.transform(ROWS), before, atol=1e-12)
