"""Figure 1: a half circle and a square, denoised by four methods."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from preimage import KernelPCA
from preimage.datasets import half_circle, half_circle_distance, square, square_distance
from preimage.kernels import Gaussian
from preimage.preimages import FixedPoint
from preimage.report import Picture, Table
from preimage_papers.baselines import Autoencoder, PrincipalCurve
from preimage_papers.claims import Claim, Findings, grade
from preimage_papers.drawing import canvas, points

CURVES = {"half circle": (half_circle, half_circle_distance), "square": (square, square_distance)}

FOUR, MORE, CURVE, NETWORK, LINEAR = (
    "kernel PCA, 4 components",
    "kernel PCA, 12 components",
    "principal curve",
    "autoencoder",
    "linear PCA",
)


def denoisers() -> dict[str, list[Any]]:
    """Every method with the settings to choose the best from, as functions of rows and a generator."""
    from sklearn.decomposition import PCA

    def kernel(n_components: int, scale: float):
        model = KernelPCA(n_components, kernel=Gaussian(scale), preimage=FixedPoint())
        return lambda X, rng: model.fit(X).denoise(X)

    def linear(X, rng):
        pca = PCA(1).fit(X)
        return pca.inverse_transform(pca.transform(X))

    def rival(method):
        return lambda X, rng: method.fit(X, rng)(X)

    return {
        FOUR: [kernel(4, scale) for scale in (0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)],
        MORE: [kernel(12, scale) for scale in (0.2, 0.3, 0.4, 0.5, 0.7)],
        CURVE: [rival(PrincipalCurve((a, b))) for a in (0.15, 0.3) for b in (0.02, 0.035, 0.05)],
        NETWORK: [rival(Autoencoder(hidden)) for hidden in (5, 10, 20)],
        LINEAR: [linear],
    }


def measure(piece: str, seed: int, draws: int) -> dict[str, Any]:
    """Mean distances between denoised points and the true curve, for every draw, at each method's best setting.

    The best has the least mean of the distances in both directions. By the distance to the curve alone, points that
    collapse onto a few spots of it would win.
    """
    make, distance = CURVES[piece]
    sets = [make(200, random_state=np.random.default_rng([seed, draw])).X for draw in range(draws)]
    outline = make(1000, noise=0, random_state=0).X
    found: dict[str, Any] = {"X": sets[0], "noisy": [both_ways(distance, outline, X) for X in sets], "methods": {}}
    for name, candidates in denoisers().items():
        results = [
            [denoise(X, np.random.default_rng([seed, draw])) for draw, X in enumerate(sets)] for denoise in candidates
        ]
        distances = [[both_ways(distance, outline, Z) for Z in denoised] for denoised in results]
        best = int(np.argmin(np.mean(distances, axis=(1, 2))))
        found["methods"][name] = {"distances": distances[best], "points": results[best][0]}
    return found


def both_ways(distance, outline: np.ndarray, Z: np.ndarray) -> tuple[float, float]:
    """Mean distance of points to the true curve, and of the true curve to the nearest point."""
    gaps = np.sqrt(np.square(outline[:, None] - Z).sum(axis=2).min(axis=1))
    return float(distance(Z).mean()), float(gaps.mean())


def conclude(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims about the order of the methods on the square."""
    methods = list(found["square"]["methods"])
    score = {name: float(np.mean(found["square"]["methods"][name]["distances"])) for name in methods}
    spread = {name: np.mean(found["square"]["methods"][name]["distances"], axis=1).std() for name in methods}
    chains = [(kernel, CURVE, NETWORK) for kernel in (FOUR, MORE)]
    failing = {c: np.mean(found[c]["methods"][LINEAR]["distances"], axis=0)[0] for c in CURVES}
    noisy = {c: np.mean(found[c]["noisy"], axis=0)[0] for c in CURVES}
    claims = [
        Claim(
            "Fig. 1: on the square kernel PCA is best, then principal curves, then the autoencoder",
            " < ".join(published["order"][:3]) + " (4 components, by eye)",
            " < ".join(f"{name} {score[name]:.3f}" for name in sorted(methods[:4], key=score.__getitem__)),
            grade(score[a] < score[b] for chain in chains for a, b in pairwise(chain)),
            f"mean distance between points and square, both ways, over {len(found['square']['X'])} points and "
            f"{len(found['square']['noisy'])} draws, deviations up to {max(spread.values()):.3f}; by the distance to "
            "the square alone, points that collapse onto a few spots would win; the paper prints no noise level",
        ),
        Claim(
            "Fig. 1: linear PCA fails completely",
            "–",
            ", ".join(f"{curve}: {failing[curve]:.3f}, noisy {noisy[curve]:.3f}" for curve in CURVES),
            grade(failing[curve] > noisy[curve] for curve in CURVES),
            "fails: farther from the curve than the noisy points were",
        ),
    ]
    return Findings(claims, [_table(found)], [_draw(found)])


def _table(found: dict[str, Any]) -> Table:
    rows = []
    for name in found["square"]["methods"]:
        cells = []
        for curve in CURVES:
            distances = np.array(found[curve]["methods"][name]["distances"])
            cells += [f"{m:.4f} ± {s:.4f}" for m, s in zip(distances.mean(axis=0), distances.std(axis=0), strict=True)]
        rows.append([name, *cells])
    header = ["", *(f"{curve}, {what}" for curve in CURVES for what in ("to the curve", "from the curve"))]
    caption = (
        "Mika et al., Fig. 1: mean distance from denoised points to the true curve, and from the true curve to the "
        "nearest denoised point, with deviations over draws; each method at the best of its settings."
    )
    return Table(header, rows, caption)


def _draw(found: dict[str, Any]) -> Picture:
    methods = list(found["square"]["methods"])
    figure, axes = canvas(len(CURVES), len(methods), (1.8, 1.6))
    for line, curve in zip(axes, CURVES, strict=True):
        for ax, name in zip(line, methods, strict=True):
            points(ax, found[curve]["X"], found[curve]["methods"][name]["points"], name)
    return Picture(figure, "Mika et al., Fig. 1: the data (small points) and their denoised versions (big points).")
