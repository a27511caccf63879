"""§6.3: five approaches to nonlinear components, and the kernel Hebbian rule, side by side on a half circle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from preimage import KernelPCA
from preimage.datasets import half_circle, half_circle_distance, square
from preimage.kernels import Gaussian, Linear
from preimage.preimages import FixedPoint
from preimage.report import Picture, Table
from preimage_papers.baselines import Autoencoder, Hebbian, KernelHebbian, LocalPCA, PrincipalCurve
from preimage_papers.claims import Claim, Findings, grade
from preimage_papers.drawing import canvas, points

KERNEL, COMPONENTS = Gaussian(0.5), 4
STARTS = 10


def approaches() -> dict[str, Callable[[np.ndarray, np.random.Generator], Callable[[np.ndarray], np.ndarray]]]:
    """Every approach as a function from rows and a generator to a function that reconstructs rows."""

    def linear(X, rng):
        from sklearn.decomposition import PCA

        pca = PCA(1).fit(X)
        return lambda rows: pca.inverse_transform(pca.transform(rows))

    def kernel(X, rng):
        return KernelPCA(COMPONENTS, kernel=KERNEL, preimage=FixedPoint()).fit(X).denoise

    return {
        "linear PCA": linear,
        "Hebbian network": Hebbian().fit,
        "autoassociative perceptron": Autoencoder().fit,
        "principal curve": PrincipalCurve().fit,
        "locally linear PCA": LocalPCA().fit,
        "kernel PCA": kernel,
        "kernel Hebbian rule": KernelHebbian(KERNEL, COMPONENTS, n_epochs=300).fit,
    }


def measure(piece: str, seed: int, draws: int) -> dict[str, Any]:
    """Errors on new points: squared distance to the point itself, to its clean version, and distance to the curve."""
    found: dict[str, Any] = {"methods": {}, "starts": _starts(seed), "linear": _linear_kernel(seed)}
    for draw in range(draws):
        train, test = (half_circle(200, random_state=np.random.default_rng([seed, draw, part])) for part in (0, 1))
        for name, fit in approaches().items():
            rebuilt = fit(train.X, np.random.default_rng([seed, draw]))(test.X)
            entry = found["methods"].setdefault(name, {"itself": [], "clean": [], "curve": []})
            entry["itself"].append(np.square(rebuilt - test.X).sum(axis=1).mean())
            entry["clean"].append(np.square(rebuilt - test.clean).sum(axis=1).mean())
            entry["curve"].append(half_circle_distance(rebuilt).mean())
            if draw == 0:
                entry["points"], found["X"] = rebuilt, test.X
    return found


def _starts(seed: int) -> list[float]:
    """Squared reconstruction errors, on a square, of perceptrons that differ only in their random start."""
    X = square(200, random_state=np.random.default_rng([seed, 0, 0])).X
    rebuilt = [Autoencoder(n_starts=1).fit(X, np.random.default_rng([seed, start]))(X) for start in range(STARTS)]
    return [float(np.square(Z - X).sum(axis=1).mean()) for Z in rebuilt]


def _linear_kernel(seed: int) -> float:
    """The largest difference between codes of linear PCA and of kernel PCA with the linear kernel, up to sign."""
    from sklearn.decomposition import PCA

    X = half_circle(200, random_state=np.random.default_rng([seed, 0, 0])).X
    ours, theirs = KernelPCA(2, kernel=Linear()).fit_transform(X), PCA(2).fit_transform(X)
    return float(np.abs(np.abs(ours) - np.abs(theirs)).max())


def conclude(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """The claims of §6.3 about each approach."""
    entry = found["all"]
    curve = {name: float(np.mean(values["curve"])) for name, values in entry["methods"].items()}
    starts = np.array(entry["starts"])
    nonlinear = [name for name in curve if name not in ("linear PCA", "Hebbian network")]
    claims = [
        Claim(
            "§6.3: with the linear kernel kernel PCA is standard PCA",
            "–",
            f"largest difference of codes {entry['linear']:.1e}",
            grade([entry["linear"] <= published["rounding"]]),
            f"up to sign, within {published['rounding']:g}",
        ),
        Claim(
            "§6.3.2: the perceptron's outcome depends on its start; kernel PCA solves an eigenvalue problem",
            "–",
            f"errors of {STARTS} starts from {starts.min():.4f} to {starts.max():.4f}",
            grade([starts.max() > published["differs"] * starts.min()]),
            f"on a square, the worst start more than {published['differs']:g} times the best; kernel PCA has no start",
        ),
        Claim(
            "§6.3: approaches that follow the curve do what lines cannot",
            "–",
            "; ".join(f"{name} {value:.3f}" for name, value in curve.items()),
            grade(curve[name] < min(curve["linear PCA"], curve["Hebbian network"]) for name in nonlinear),
            "mean distance of rebuilt new points to the half circle, below both approaches that rebuild on a line",
        ),
        Claim(
            "the kernel Hebbian rule finds kernel PCA's components one example at a time",
            "–",
            f"{curve['kernel Hebbian rule']:.4f} and {curve['kernel PCA']:.4f}",
            grade([abs(curve["kernel Hebbian rule"] / curve["kernel PCA"] - 1) <= published["hebbian"]]),
            f"distances to the curve within {published['hebbian']:.0%}",
        ),
    ]
    return Findings(claims, [_table(entry["methods"])], [_draw(entry)])


def _table(methods: dict[str, Any]) -> Table:
    rows = [
        [name, *(f"{np.mean(values[key]):.4f} ± {np.std(values[key]):.4f}" for key in ("itself", "clean", "curve"))]
        for name, values in methods.items()
    ]
    header = ["approach", "to the point itself, squared", "to its clean version, squared", "to the curve"]
    about = (
        f"Five approaches on a half circle: mean distances of 200 rebuilt new points, {COMPONENTS} kernel components."
    )
    return Table(header, rows, about)


def _draw(entry: dict[str, Any]) -> Picture:
    figure, axes = canvas(2, 4, (2.1, 1.5))
    for ax, (name, values) in zip(axes.ravel(), entry["methods"].items(), strict=False):
        points(ax, entry["X"], values["points"], f"{name}: {np.mean(values['curve']):.3f}")
    axes.ravel()[-1].axis("off")
    return Picture(figure, "§6.3: new points (small) rebuilt by each approach (big), and their distance to the curve.")
