"""Every estimator, kernel, solver and kind of data at scales from 1e-300 to 1e300."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tally import STOP, Tally, generator

from preimage import Denoiser, InvertibleKernelPCA, KernelKMeans, KernelPCA, kernels

SCALES = (1e-300, 1e-150, 1e-30, 1e-8, 1.0, 1e8, 1e30, 1e150, 1e300)
KERNELS = ("gaussian", "linear", "cosine", "laplacian", "polynomial", "sigmoid", "matern", "rational_quadratic")
SOLVERS = ("auto", "dense", "block_krylov", "lanczos", "power")
ROWS = 24
REFUSALS = (ValueError, TypeError)  # with a sentence; LinAlgError, a ValueError by numpy, is counted apart


def numerics(cases: int, seed: int) -> list[Tally]:
    """Fits and answers: nothing but numbers or a sentence; values and eigenvalues beside long doubles."""
    tally, values = Tally("numerics", most_seconds=STOP), Tally("long doubles")
    rng = generator(seed, "numerics")
    for number in range(cases):
        X, told = _data(rng)
        make, name = _estimator(rng)
        tally.attempt(f"{number}: {name}, {told}", lambda X=X, make=make, t=told: _fit(make(), X, t, tally), REFUSALS)
        if number % 10 == 0:  # about half of them are refused
            values.attempt(f"{number}: {told}", lambda X=X, t=told: _compare(X, t, values), REFUSALS)
    return [tally, values]


def _data(rng: np.random.Generator) -> tuple[np.ndarray, str]:
    width = int(rng.choice([1, 2, 4, 40]))
    X = rng.standard_normal((ROWS, width))
    kind = rng.choice(["plain", "low rank", "two clusters", "equal rows", "one-hot", "outlier", "offset"])
    if kind == "low rank":
        X = X[:, :1] * np.ones(width)
    elif kind == "two clusters":
        X[::2] += 1e9
    elif kind == "equal rows":
        X[1:] = X[0]
    elif kind == "one-hot":
        X = np.eye(ROWS)
    elif kind == "outlier":
        X[0] *= 1e12
    elif kind == "offset":
        X += 1e6
    dtype = rng.choice([np.float64, np.float32])
    scale = float(rng.choice(SCALES))
    X, limits = X.astype(dtype), np.finfo(dtype)
    scale = float(np.clip(scale, 1e8 * limits.tiny, float(limits.max) / 1e3 / max(1.0, float(np.abs(X).max()))))
    return X * dtype(scale), f"{kind}, {width} columns, {np.dtype(dtype)}, scale {scale:.0e}"


def _estimator(rng: np.random.Generator) -> tuple[Callable, str]:
    kernel, solver = str(rng.choice(KERNELS)), str(rng.choice(SOLVERS))
    approximation = None if rng.random() < 0.6 else 10
    kind = int(rng.choice(5, p=[0.55, 0.2, 0.1, 0.1, 0.05]))
    settings = {"approximation": approximation, "random_state": 0}
    if kind <= 1:
        settings |= {"kernel": kernel, "solver": solver} if kind == 0 else {"kernel": kernel}
        return (lambda: KernelPCA(2, **settings)), f"KernelPCA(2, {settings})"
    if kind == 2:
        return (lambda: KernelKMeans(2, kernel=kernel, **settings)), f"KernelKMeans(2, kernel={kernel!r}, {settings})"
    if kind == 3:
        return (lambda: InvertibleKernelPCA(2, n_features=20, random_state=0)), "InvertibleKernelPCA(2)"
    return (lambda: Denoiser(noise=0.1, n_landmarks=10, n_stages=1, random_state=0)), "Denoiser(noise=0.1)"


def _fit(estimator: object, X: np.ndarray, told: str, tally: Tally) -> None:
    before = X.copy()
    try:
        estimator.fit(X)
        for name in ("transform", "predict", "denoise"):
            if hasattr(estimator, name):
                answer = np.asarray(getattr(estimator, name)(X))
                case = f"{name} of {estimator!r}, {told}"
                tally.check(bool(np.isfinite(answer).all()), "not finite", case)
                kept = answer.dtype.kind != "f" or answer.dtype == X.dtype
                tally.check(kept, "other dtype", case)
    except np.linalg.LinAlgError as error:
        tally.fail("LinAlgError", f"{estimator!r}, {told}: {error}")
    ratios = getattr(estimator, "explained_variance_ratio_", np.zeros(1))
    tally.check(float(np.sum(ratios)) <= 1 + 1e-6, "ratios above 1", told)
    tally.check(np.array_equal(before, X), "input changed", told)


def _compare(X: np.ndarray, told: str, tally: Tally) -> None:
    """Values of a Gaussian and eigenvalues of its centred Gram matrix beside long doubles.

    The error of a value is at most γ/ρ (:mod:`preimage.kernels.geometry`). By Weyl's inequality eigenvalues move by at
    most the norm of the errors of the Gram matrix, n times as much, and by those of LAPACK, about n·eps of the largest.
    """
    rows = X.astype(np.longdouble)
    distances = np.sqrt(np.square(rows[:, None] - rows[None]).sum(axis=2))
    length = float(np.median(distances)) or 1.0
    exact = np.exp(-np.square(distances / np.longdouble(length)) / 2)
    eps, n = float(np.finfo(X.dtype).eps), len(X)
    bound = (X.shape[1] + 8) * eps ** (2 / 3)
    found = kernels.Gaussian(length)(X, X)
    tally.check(bool(np.abs(found - exact).max() <= bound), "value beyond its bound", told)
    tally.check(float(found.max()) <= 1, "above k(0)", told)
    model = KernelPCA(2, kernel=kernels.Gaussian(length), solver="dense").fit(X)
    centred = exact - exact.mean(axis=0) - exact.mean(axis=1)[:, None] + exact.mean()
    largest = np.linalg.eigvalsh(centred.astype(float))[::-1][: model.n_components_]
    off = np.abs(model.eigenvalues_ - largest).max()
    tally.check(bool(off <= n * bound + 4 * n * eps * largest[0]), "eigenvalue beyond its bound", told)
