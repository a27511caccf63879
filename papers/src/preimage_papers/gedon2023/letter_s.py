"""Figures 2, A-1 and A-2: the S-curve, mean squared error against the number of components."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.datasets import s_curve
from preimage.report import Picture, Table
from preimage.statistics.metrics import mse
from preimage_papers.claims import Claim, Findings, grade
from preimage_papers.drawing import canvas, curves
from preimage_papers.gedon2023.methods import filtered, invertible, linear, supervised

NOISES = ("0.25", "0.5")  # the second level is not printed in the text of the paper: 0.5 is our choice
NUMBERS = (2, 4, 6, 8, 10, 12, 16, 20)
FEATURES = (50, 500, 5000)
SUPERVISED, LINEAR = "kPCA + SL", "PCA"


def measure(piece: str, seed: int, runs: int, n_points: int) -> dict[str, Any]:
    """Errors against the clean surface: kPCA + SL (γ = 1, λ = 1), ikPCA (γ = 0.5, λ = 1), PCA.

    The most expensive, with 5000 features, is run in a quarter of the runs.
    """
    noise = float(piece)
    found: dict[str, Any] = {"noisy": [], "errors": {}}
    for run in range(runs):
        train, test = (
            s_curve(n_points, noise=noise, random_state=np.random.default_rng([seed, run, part])) for part in (0, 1)
        )
        found["noisy"].append(mse(test.clean, test.X))
        rows = {
            LINEAR: [mse(test.clean, f(test.X)) for f in linear((1, 2, 3), train.X).values()],
            SUPERVISED: [mse(test.clean, f(test.X)) for f in supervised(NUMBERS, 1.0, 1.0, train.X).values()],
        }
        for r in FEATURES:
            if r < 5000 or run < max(1, runs // 4):
                fitted = invertible(max(NUMBERS), 0.5, r, 1.0, run).fit(train.X).map_
                rows[f"ikPCA, r = {r}"] = [mse(test.clean, filtered(fitted, test.X, q, [1.0])[0]) for q in NUMBERS]
        for name, errors in rows.items():
            found["errors"].setdefault(name, []).append(errors)
    shown = s_curve(600, noise=noise, random_state=seed)
    return found | {"points": shown.X, "position": shown.position}


def conclude(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims that few features suffice, and that ikPCA is ahead with more noise."""
    mean = {n: {k: np.mean(v, axis=0) for k, v in found[n]["errors"].items()} for n in NOISES}
    best = {n: {k: float(v.min()) for k, v in curve.items()} for n, curve in mean.items()}
    low, high = NOISES
    runs = np.array(found[low]["errors"][SUPERVISED])[:, int(np.argmin(mean[low][SUPERVISED]))]
    names = [f"ikPCA, r = {r}" for r in FEATURES]
    influence = {n: best[n][names[0]] / best[n][names[2]] for n in NOISES}
    claims = [
        Claim(
            "Fig. 2: 50 features match kPCA + SL",
            "–",
            f"least error {best[low][names[0]]:.4f} against {best[low][SUPERVISED]:.4f}",
            grade([best[low][names[0]] <= published["match"] * best[low][SUPERVISED]]),
            f"within {published['match'] - 1:.0%}, each at its best number of components; runs of kPCA + SL "
            f"deviate by {runs.std() / runs.mean():.1%}",
        ),
        Claim(
            "Fig. A-2: 500 features suffice for the best curve",
            "–",
            f"least error {best[low][names[1]]:.4f}, with 5000 features {best[low][names[2]]:.4f}",
            grade(best[n][names[1]] <= published["match"] * best[n][names[2]] for n in NOISES),
            f"within {published['match'] - 1:.0%} of 5000 features, at both noise levels",
        ),
        Claim(
            "Fig. A-2: with more noise ikPCA outperforms kPCA + SL and PCA",
            "–",
            f"σ = {high}: ikPCA {best[high][names[1]]:.4f}, kPCA + SL {best[high][SUPERVISED]:.4f}, "
            f"PCA {best[high][LINEAR]:.4f}",
            grade(best[high][names[1]] < best[high][name] for name in (SUPERVISED, LINEAR)),
            "500 features, each at its best number of components; the paper does not print its second noise level",
        ),
        Claim(
            "Fig. A-2: with more noise the number of features matters less",
            "–",
            f"least error of 50 over 5000 features: {influence[low]:.3f} at {low}, {influence[high]:.3f} at {high}",
            grade([influence[high] < influence[low]]),
            "the ratio of least errors falls with the noise",
        ),
    ]
    return Findings(claims, [_table(mean, n, found) for n in NOISES], [_draw_data(found), _draw(found, mean)])


def _table(mean: dict[str, Any], noise: str, found: dict[str, Any]) -> Table:
    rows = [
        [name, *(f"{v:.4f}" for v in values), *[""] * (len(NUMBERS) - len(values))]
        for name, values in mean[noise].items()
        if name != LINEAR
    ]
    caption = (
        f"Gedon et al., Fig. A-2, σ = {noise}: mean squared error over {len(found[noise]['noisy'])} runs; noisy "
        f"{np.mean(found[noise]['noisy']):.4f}, PCA with 1, 2, 3 components "
        + ", ".join(f"{v:.4f}" for v in mean[noise][LINEAR])
        + "."
    )
    return Table(["components", *map(str, NUMBERS)], rows, caption)


def _draw(found: dict[str, Any], mean: dict[str, Any]) -> Picture:
    figure, axes = canvas(1, len(NOISES), (3.6, 2.8))
    for ax, noise in zip(axes[0], NOISES, strict=True):
        lines = {name: values for name, values in mean[noise].items() if name != LINEAR}
        spreads = {name: np.std(found[noise]["errors"][name], axis=0) for name in lines}
        curves(ax, NUMBERS, lines, spreads, xlabel="components", ylabel="MSE", title=f"σ = {noise}", yscale="log")
        ax.axhline(np.mean(found[noise]["noisy"]), color="0.5", linewidth=0.8, linestyle=":")
    return Picture(figure, "Gedon et al., Figs. 2 and A-2: error against components; dotted: the noisy points.")


def _draw_data(found: dict[str, Any]) -> Picture:
    figure, axes = canvas(1, len(NOISES), (3.0, 2.4))
    for ax, noise in zip(axes[0], NOISES, strict=True):
        X = np.array(found[noise]["points"])
        ax.scatter(X[:, 0], X[:, 2], c=found[noise]["position"], s=4, cmap="cividis")
        ax.set(xlabel="x₁", ylabel="x₃", title=f"σ = {noise}", aspect="equal")
    return Picture(figure, "Gedon et al., Fig. A-1: the S-curve with noise, seen from the side.")
