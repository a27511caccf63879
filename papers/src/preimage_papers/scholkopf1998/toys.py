"""Figures 3 to 5: what components look like in the plane, each claim as a number over many draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import KernelPCA, plot
from preimage.datasets import parabola, three_clusters
from preimage.exceptions import IndefiniteKernelWarning, silenced
from preimage.kernels import Gaussian, Kernel, Polynomial, Sigmoid
from preimage.report import Picture, Table
from preimage_papers.claims import Claim, Findings, Verdict, grade, verdict
from preimage_papers.drawing import canvas, join

# Figure 3: x ~ U[−1, 1], y = x² + N(0, 0.2²), kernels (x·y)^d.

DEGREES = (1, 2, 3, 4)
N_POINTS = 100  # the paper does not print this number


def polynomial(degree: int) -> Polynomial:
    """(x·y)^degree (eq. 3.5)."""
    return Polynomial(degree=degree, gamma=1.0, coef0=0.0)


def measure_parabola(piece: str, seed: int, draws: int) -> dict[str, Any]:
    """The first three eigenvalues, rescaled to sum to 1, and how monotone the first component is along the curve."""
    from scipy.stats import spearmanr

    found: dict[str, Any] = {"X": parabola(N_POINTS, random_state=np.random.default_rng([seed, 0])).X}
    x = np.linspace(-1, 1, 101)
    curve = np.column_stack([x, x**2])
    for degree in DEGREES:
        values, order = np.zeros((draws, 3)), np.zeros(draws)
        for draw in range(draws):
            X = parabola(N_POINTS, random_state=np.random.default_rng([seed, draw])).X
            kpca = KernelPCA(kernel=polynomial(degree)).fit(X)
            count = min(3, kpca.n_components_)
            values[draw, :count] = kpca.eigenvalues_[:count] / kpca.eigenvalues_.sum()
            order[draw] = abs(spearmanr(x, kpca.transform(curve)[:, 0]).statistic)
        found[str(degree)] = {"values": values, "order": order}
    return found


def conclude_parabola(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims about the eigenvalues, and whether the published ones lie within the spread of draws."""
    entry, rows, near = found["all"], [], []
    wanted = np.array(published["eigenvalues"])  # components × degrees
    values = {degree: np.array(entry[str(degree)]["values"]) for degree in DEGREES}
    for k in range(3):
        cells = []
        for column, degree in enumerate(DEGREES):
            mean, spread = values[degree][:, k].mean(), values[degree][:, k].std()
            near.append(abs(wanted[k, column] - mean) <= published["deviations"] * spread + 0.0005)
            cells.append(f"{wanted[k, column]:.3f}* / {mean:.3f} ± {spread:.3f}")
        rows.append([str(k + 1), *cells])
    order = {degree: np.array(entry[str(degree)]["order"]) for degree in DEGREES}
    monotone = [np.mean(order[degree] >= published["monotone"]) for degree in DEGREES]
    claims = [
        Claim(
            "Fig. 3: the twelve eigenvalues",
            "; ".join(join(row, ".3f") for row in wanted) + " (columns inferred*)",
            "; ".join(join([values[d][:, k].mean() for d in DEGREES], ".3f") for k in range(3)),
            grade(near),
            f"{sum(near)} of 12 within {published['deviations']:g} deviations of single draws of {N_POINTS} points",
        ),
        Claim(
            "Fig. 3: the first component varies monotonically along the parabola in all cases",
            "–",
            f"median rank correlation {join([np.median(order[d]) for d in DEGREES], '.3f')}, degrees 1 to 4",
            grade(share >= published["mostly"] for share in monotone),
            f"rank correlation with the position on y = x² of at least {published['monotone']:g}, in "
            f"{published['mostly']:.0%} of the draws ({join(monotone, '.0%')})",
        ),
        _third_component(values),
    ]
    caption = (
        f"Schölkopf et al., Fig. 3: eigenvalues, published / measured with their deviation over "
        f"{len(values[1])} draws. * {published['inference']}"
    )
    header = ["component", *(f"degree {degree}" for degree in DEGREES)]
    return Findings(claims, [Table(header, rows, caption)], [_draw_parabola(np.array(entry["X"]))])


def _third_component(values: dict[int, np.ndarray]) -> Claim:
    third = [values[degree][:, 2].mean() for degree in DEGREES]
    return Claim(
        "Fig. 3: linear PCA has two components, kernel PCA more, and the third has a small eigenvalue",
        "0; .034, .026, .021",
        f"{third[0]:.3f}; {join(third[1:], '.3f')}",
        grade([third[0] < 1e-9, *(0 < value < 0.1 for value in third[1:])]),
        "zero to rounding for degree 1; above 0 and below a tenth for the others",
    )


def _draw_parabola(X: np.ndarray) -> Picture:
    figure, axes = canvas(3, len(DEGREES), (1.9, 1.7))
    for column, degree in enumerate(DEGREES):
        count = 2 if degree == 1 else 3
        kpca = KernelPCA(count, kernel=polynomial(degree)).fit(X)
        plot.components(kpca, axes[:count, column], n_components=count, resolution=60)
        for ax in axes[count:, column]:
            ax.axis("off")
        axes[0, column].set_title(f"degree {degree}", fontsize="small")
    return Picture(figure, "Schölkopf et al., Fig. 3: lines of constant component, the first three from top to bottom.")


# Figures 4 and 5: three clusters of standard deviation 0.1.

KERNELS: dict[str, Kernel] = {"gaussian": Gaussian(np.sqrt(0.05)), "sigmoid": Sigmoid(gamma=2.0, coef0=1.0)}
NUMBER = {"gaussian": 8, "sigmoid": 3}
BALANCE, STRENGTH = 0.25, 0.5  # a half has at least a quarter of a cluster; the component is half as strong there


def measure_clusters(piece: str, seed: int, draws: int) -> dict[str, Any]:
    """For every draw: accuracy of two components, which clusters later ones split, and the angles of the splits."""
    rows = []
    for draw in range(draws):
        data = three_clusters(random_state=np.random.default_rng([seed, draw]))
        codes = KernelPCA(NUMBER[piece], kernel=KERNELS[piece]).fit_transform(data.X)
        rows.append(
            {
                "accuracy": accuracy(codes[:, :2], data.labels),
                "halved": [is_halved(codes[:, 2:5], data.labels, c) for c in range(3)],
                "third": float(np.mean([is_halved(codes[:, 2:3], data.labels, c, strength=0.0) for c in range(3)])),
                "angles": angles(codes, data) if piece == "gaussian" else [],
                "regions": regions(codes, data.labels),
            }
        )
    shown = three_clusters(random_state=np.random.default_rng([seed, 0]))
    return {"rows": rows, "X": shown.X, "labels": shown.labels}


def accuracy(codes: np.ndarray, labels: np.ndarray) -> float:
    """The share of points nearest to the mean code of their own cluster."""
    means = np.array([codes[labels == c].mean(axis=0) for c in range(3)])
    return float(np.mean(np.square(codes[:, None] - means).sum(axis=2).argmin(axis=1) == labels))


def is_halved(codes: np.ndarray, labels: np.ndarray, cluster: int, strength: float = STRENGTH) -> bool:
    """Whether one of the components has both signs in a cluster, and is strong there."""
    deviations = np.array([codes[labels == c].std(axis=0) for c in range(3)])
    positive = np.mean(codes[labels == cluster] > 0, axis=0)
    strong = deviations[cluster] >= strength * deviations.max(axis=0)
    return bool(np.any(strong & (np.minimum(positive, 1 - positive) >= BALANCE)))


def angles(codes: np.ndarray, data) -> list[float]:
    """For every cluster, the angle in degrees between its strongest split by components 3–5 and by 6–8."""
    found = []
    for cluster in range(3):
        own = data.labels == cluster
        X = data.X[own] - data.X[own].mean(axis=0)
        slopes = np.linalg.lstsq(X, codes[own] - codes[own].mean(axis=0), rcond=None)[0].T
        first, second = (max(slopes[part], key=np.linalg.norm) for part in (slice(2, 5), slice(5, 8)))
        cosine = abs(first @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
        found.append(float(np.degrees(np.arccos(min(1.0, cosine)))))
    return found


def regions(codes: np.ndarray, labels: np.ndarray) -> int:
    """The number of regions into which the signs of the strongest component of each triple divide the clusters."""
    count = 0
    for cluster in range(3):
        own = codes[labels == cluster]
        triples = [own[:, part] for part in (slice(2, 5), slice(5, 8)) if own[:, part].shape[1]]
        signs = np.stack([triple[:, triple.std(axis=0).argmax()] > 0 for triple in triples], axis=1)
        count += len(np.unique(signs, axis=0))
    return count


def conclude_clusters(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims of Fig. 4: components separate the clusters, halve them, and halve them again across."""
    rows, mostly = found["gaussian"]["rows"], published["mostly"]
    separate = np.array([row["accuracy"] for row in rows])
    halved = np.mean([row["halved"] for row in rows])
    across = np.concatenate([row["angles"] for row in rows])
    twelve = np.array([row["regions"] for row in rows])
    claims = [
        Claim(
            "Fig. 4: the first two components separate the three clusters",
            "–",
            f"{separate.mean():.2%} of the points nearest to their own cluster's code, worst draw {separate.min():.1%}",
            share_verdict(np.mean(separate >= published["separate"]), mostly),
            f"separate: {published['separate']:.0%} of the points, in {mostly:.0%} of {len(rows)} draws",
        ),
        Claim(
            "Fig. 4: components 3–5 split the clusters into halves",
            "–",
            f"{halved:.0%} of clusters split",
            share_verdict(halved, mostly),
            f"split: a component with both signs on at least {BALANCE:.0%} of the cluster, and at least half as strong "
            f"there as anywhere; {mostly:.0%} of clusters over {len(rows)} draws",
        ),
        Claim(
            "Fig. 4: components 6–8 split them again, orthogonally",
            "–",
            f"median angle {np.median(across):.0f}°, {np.mean(across >= published['angle']):.0%} above "
            f"{published['angle']}°",
            share_verdict(np.mean(across >= published["angle"]), mostly),
            f"angle between the steepest directions of the two splits of at least {published['angle']}°, in "
            f"{mostly:.0%} of clusters",
        ),
        Claim(
            "Fig. 4: the first eight components divide the data into 12 regions",
            "12",
            f"{np.mean(twelve):.1f} on average, 12 in {np.mean(twelve == 12):.0%} of draws",
            share_verdict(np.mean(twelve == 12), mostly),
            f"sign patterns of the strongest splitting components, in {mostly:.0%} of draws",
        ),
    ]
    return Findings(claims, [], [_draw_clusters(found["gaussian"], "gaussian", "Fig. 4")])


def conclude_sigmoid(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims of Fig. 5: components separate the clusters, then halve them."""
    rows, mostly = found["sigmoid"]["rows"], published["mostly"]
    separate = np.array([row["accuracy"] for row in rows])
    third = np.mean([row["third"] for row in rows])
    claims = [
        Claim(
            "Fig. 5: under a sigmoid kernel two components separate the three clusters",
            "–",
            f"{separate.mean():.2%} of the points, worst draw {separate.min():.1%}",
            share_verdict(np.mean(separate >= published["separate"]), mostly),
            f"as in Fig. 4, over {len(rows)} draws; the kernel is not positive definite, components of negative "
            "eigenvalue are dropped",
        ),
        Claim(
            "Fig. 5: the third component splits the clusters into halves",
            "–",
            f"{third:.0%} of clusters",
            share_verdict(third, mostly),
            f"both signs on at least {BALANCE:.0%} of a cluster, in {mostly:.0%} of clusters; the paper prints neither "
            "the clusters' centres nor their sizes, and a kernel of inner products depends on them",
        ),
    ]
    return Findings(claims, [], [_draw_clusters(found["sigmoid"], "sigmoid", "Fig. 5")])


def share_verdict(share: float, mostly: float) -> Verdict:
    """The verdict: holds if it does in most cases, in part if in half of them."""
    return verdict(share >= mostly, share >= 0.5)


def _draw_clusters(entry: dict[str, Any], kernel: str, name: str) -> Picture:
    count = NUMBER[kernel]
    figure, axes = canvas(-(-count // 4), min(4, count), (2.0, 1.7))
    with silenced(IndefiniteKernelWarning):
        kpca = KernelPCA(count, kernel=KERNELS[kernel]).fit(np.array(entry["X"]))
    plot.components(kpca, axes.ravel()[:count], n_components=count, labels=np.array(entry["labels"]), resolution=60)
    return Picture(figure, f"Schölkopf et al., {name}: the first {count} components.")
