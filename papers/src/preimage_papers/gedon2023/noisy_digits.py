"""Figures 3, 4 and A-3 to A-7: USPS digits, mean squared error against ridge, features, noise and components."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage.report import Picture, Table
from preimage.statistics.metrics import mse
from preimage_papers.claims import Claim, Findings, grade, verdict
from preimage_papers.drawing import canvas, curves, image_grid, join
from preimage_papers.gedon2023.methods import filtered, invertible, linear, supervised
from preimage_papers.protocols import USPS, digits

NUMBERS = (5, 10, 15, 20, 30, 50, 80, 120)
RIDGES = (0.0, 0.1, 0.5, 1.3, 2.0, 10.0, 100.0)  # λ for 30 000 features; W⊤W, and λ with it, grows with their number
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of the features, Fig. A-3
LEVELS = ("0.1", "0.25", "0.5", "0.75", "1")
PIECES = ("ridge", "features", *(f"noise {level}" for level in LEVELS))
SHOWN = 8
PCA, KPCA, IKPCA = METHODS = "PCA", "kPCA + SL", "ikPCA"
GRID = [(1e-3, 1e-3), (1e-3, 1e-2), (5e-3, 1e-3), (5e-3, 1e-2), (5e-3, 1e-1)]  # γ and λ of kPCA + SL

Optimal = dict[str, list[int]]  # the best number of components of each method, by noise level
Least = dict[str, np.ndarray]  # the errors there


def measure(piece: str, seed: int, runs: int, n_train: int, n_test: int, n_features: int) -> dict[str, Any]:
    """Errors over runs; training digits are noisy too."""
    sigma = float(piece.split()[1]) if piece.startswith("noise") else 0.5
    found: dict[str, list[Any]] = {}
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        train, clean = (X.astype(np.float32) for X in digits(n_train, n_test, rng))
        train, noisy = (X + np.float32(sigma) * rng.standard_normal(X.shape, dtype=np.float32) for X in (train, clean))
        for name, value in _one_run(piece, run, train, noisy, clean, n_features).items():
            found.setdefault(name, []).append(value)
    return found


def _one_run(piece: str, run: int, train, noisy, clean, n_features: int) -> dict[str, Any]:
    if piece == "features":
        sizes = [round(share * n_features) for share in SHARES if share * n_features >= train.shape[1]]
        return {str(r): _ikpca(run, train, noisy, clean, r)[0].min(axis=0).tolist() for r in sizes} | {
            KPCA: _kpca(train, noisy, clean, [(5e-3, 1e-2)])[0].tolist()
        }
    errors, images = _ikpca(run, train, noisy, clean, n_features if piece == "ridge" else min(10000, n_features))
    plain = linear(NUMBERS, train)
    found: dict[str, Any] = {PCA: [mse(clean, f(noisy)) for f in plain.values()]}
    if piece == "ridge":
        return found | {KPCA: _kpca(train, noisy, clean, [(5e-3, 1e-2)])[0].tolist(), IKPCA: errors.tolist()}
    supervised_errors, supervised_images = _kpca(train, noisy, clean, GRID)
    found |= {KPCA: supervised_errors.tolist(), IKPCA: errors.min(axis=0).tolist()}
    if run == 0:
        best = plain[NUMBERS[int(np.argmin(found[PCA]))]](noisy[:SHOWN])
        found["images"] = {"original": clean[:SHOWN], "noisy": noisy[:SHOWN], PCA: best} | {
            KPCA: supervised_images,
            IKPCA: images,
        }
    return found


def _ikpca(run: int, train, noisy, clean, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors by ridge and number of components (γ = 1e-4), and the first digits at the best of both."""
    fitted = invertible(max(NUMBERS), 1e-4, n_features, 0.0, run).fit(train).map_
    ridges = [ridge * n_features / 30000 for ridge in RIDGES]
    errors, best, images = np.zeros((len(RIDGES), len(NUMBERS))), np.inf, noisy[:SHOWN]
    for column, q in enumerate(NUMBERS):
        for row, rows in enumerate(filtered(fitted, noisy, q, ridges)):
            errors[row, column] = mse(clean, rows)
            if errors[row, column] < best:
                best, images = errors[row, column], rows[:SHOWN]
    return errors, images


def _kpca(train, noisy, clean, grid) -> tuple[np.ndarray, np.ndarray]:
    """Errors by number of components at the best of a grid of (γ, λ), and the first digits at the best of all."""
    results = [{q: f(noisy) for q, f in supervised(NUMBERS, gamma, alpha, train).items()} for gamma, alpha in grid]
    errors = np.array([[mse(clean, rows) for rows in result.values()] for result in results])
    row, column = np.unravel_index(np.argmin(errors), errors.shape)
    return errors.min(axis=0), results[row][NUMBERS[column]][:SHOWN]


def conclude(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """The claims about ridge, features and noise."""
    ridge = {name: np.mean(found["ridge"][name], axis=0) for name in METHODS}
    features = {name: np.mean(values, axis=0) for name, values in found["features"].items()}
    errors = {name: [np.mean(found[f"noise {level}"][name], axis=0) for level in LEVELS] for name in METHODS}
    least = {name: np.array([values.min() for values in levels]) for name, levels in errors.items()}
    optimal = {name: [NUMBERS[int(np.argmin(values))] for values in levels] for name, levels in errors.items()}
    claims = [
        *_ridge_claims(ridge, published),
        *_feature_claims(features, published),
        *_noise_claims(optimal, least, published),
    ]
    tables = [_ridge_table(ridge, len(found["ridge"][PCA])), _noise_table(optimal, least)]
    pictures = [_draw_ridge(ridge), _draw_features(features), _draw_noise(optimal, least)]
    for level in ("0.25", "0.5"):
        groups = found[f"noise {level}"]["images"][0]
        pictures.append(
            image_grid(groups, USPS, f"Gedon et al., Figs. 4 and A-7: σ = {level}, each method at its best.")
        )
    return Findings(claims, tables, pictures)


def _ridge_claims(errors: dict[str, np.ndarray], published: dict[str, Any]) -> list[Claim]:
    best = {name: float(values.min()) for name, values in errors.items()}
    by_ridge = errors[IKPCA].min(axis=1)
    inner = int(np.argmin(by_ridge))
    return [
        Claim(
            "Fig. 3: ikPCA performs similarly to kPCA + SL at the best number of components",
            "–",
            f"{best[IKPCA]:.4f} against {best[KPCA]:.4f}",
            grade([abs(best[IKPCA] / best[KPCA] - 1) <= published["similar"]]),
            f"least errors within {published['similar']:.0%}",
        ),
        Claim(
            "Figs. 3, A-4: without a ridge ikPCA behaves as PCA",
            "–",
            f"{by_ridge[0]:.4f} against {best[PCA]:.4f}",
            grade([abs(by_ridge[0] / best[PCA] - 1) <= published["comparable"]]),
            f"least errors within {published['comparable']:.0%}",
        ),
        Claim(
            "Figs. 3, A-4: too large a ridge spoils it; the best lies between",
            "best λ 1.3 (at σ = 0.25)",
            f"best λ {RIDGES[inner]:g}; λ = 100 gives {by_ridge[-1]:.4f}",
            grade([0 < inner < len(RIDGES) - 1, by_ridge[-1] > published["spoils"] * by_ridge[inner]]),
            f"the least error inside the range of λ, and more than {published['spoils']:g} times as large at its end",
        ),
    ]


def _feature_claims(features: dict[str, np.ndarray], published: dict[str, Any]) -> list[Claim]:
    sizes = [name for name in features if name != KPCA]
    least = np.array([features[size].min() for size in sizes])
    gap = np.abs(least / features[KPCA].min() - 1)
    return [
        Claim(
            "Fig. A-3: more features yield better results",
            "–",
            f"least errors {join(least, '.4f')} for r = {', '.join(sizes)}",
            grade(np.diff(least) <= published["noise"] * least[:-1]),
            f"each no worse than with fewer features, but for {published['noise']:.1%}",
        ),
        Claim(
            "Fig. A-3: ikPCA approaches kPCA + SL as the features grow",
            "–",
            f"relative difference {join(gap, '.3f')}",
            grade([gap[-1] <= published["similar"], gap[-1] <= gap[0]]),
            f"within {published['similar']:.0%} at the most features, and no farther than at the fewest",
        ),
    ]


def _noise_claims(optimal: Optimal, least: Least, published: dict[str, Any]) -> list[Claim]:
    worst = max(float(np.max(least[name] / np.min(list(least.values()), axis=0))) for name in least)
    return [
        Claim(
            "Fig. A-6: more noise, fewer components are optimal",
            "–",
            "; ".join(f"{name} {join(values, 'd')}" for name, values in optimal.items()),
            grade(bool(np.all(np.diff(values) <= 0)) for values in optimal.values()),
            f"the best number never rises with σ = {', '.join(LEVELS)}, for each method",
        ),
        Claim(
            "Fig. A-6: tuned, all methods are similar at all noise levels",
            "–",
            "; ".join(f"{name} {join(values, '.4f')}" for name, values in least.items()),
            verdict(worst <= 1 + published["similar"], worst <= 1 + 2 * published["similar"]),
            f"within {published['similar']:.0%} of the best (in part: twice that); the worst is {worst - 1:.0%} above",
        ),
    ]


def _ridge_table(errors: dict[str, np.ndarray], runs: int) -> Table:
    rows = [[name, *(f"{v:.4f}" for v in errors[name])] for name in (PCA, KPCA)]
    rows += [[f"ikPCA, λ = {r:g}", *(f"{v:.4f}" for v in row)] for r, row in zip(RIDGES, errors[IKPCA], strict=True)]
    caption = f"Gedon et al., Fig. 3: mean squared error at σ = 0.5 over the number of components, {runs} runs."
    return Table(["components", *map(str, NUMBERS)], rows, caption)


def _noise_table(optimal: Optimal, least: Least) -> Table:
    rows = [
        [level, *(f"{least[name][row]:.4f} at {optimal[name][row]}" for name in METHODS)]
        for row, level in enumerate(LEVELS)
    ]
    return Table(["σ", *METHODS], rows, "Gedon et al., Figs. A-5 and A-6: least error, and at how many components.")


def _draw_ridge(errors: dict[str, np.ndarray]) -> Picture:
    figure, axes = canvas(1, 1, (5.0, 3.2))
    lines = {PCA: errors[PCA], KPCA: errors[KPCA]}
    lines |= {f"λ = {r:g}": row for r, row in zip(RIDGES, errors[IKPCA], strict=True)}
    curves(axes[0, 0], NUMBERS, lines, xlabel="components", ylabel="MSE", yscale="log")
    return Picture(figure, "Gedon et al., Figs. 3 and A-4: the ridge λ of ikPCA, σ = 0.5.")


def _draw_features(features: dict[str, np.ndarray]) -> Picture:
    figure, axes = canvas(1, 1, (4.4, 2.8))
    lines = {name if name == KPCA else f"r = {name}": values for name, values in features.items()}
    curves(axes[0, 0], NUMBERS, lines, xlabel="components", ylabel="MSE")
    return Picture(figure, "Gedon et al., Fig. A-3: the number r of features, σ = 0.5, at the best λ.")


def _draw_noise(optimal: Optimal, least: Least) -> Picture:
    figure, axes = canvas(1, 2, (3.6, 2.8))
    sigmas = [float(level) for level in LEVELS]
    curves(axes[0, 0], sigmas, optimal, xlabel="σ", ylabel="best number of components")
    curves(axes[0, 1], sigmas, least, xlabel="σ", ylabel="MSE")
    return Picture(figure, "Gedon et al., Figs. A-5 and A-6: the best number of components, and its error.")
