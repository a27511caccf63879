"""A textbook chapter on kernel PCA: its claims as executable checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from preimage import KernelPCA
from preimage.datasets import half_circle, three_clusters
from preimage.expansion import Expansion
from preimage.kernels import Gaussian
from preimage.preimages import Distance, FixedPoint, find_preimage
from preimage.report import Picture, Table
from preimage_papers.claims import Claim, Findings, Paper, Part, Plan, grade
from preimage_papers.drawing import canvas, curves, join

# Sections 3 to 6: normalisation, centring, projections, the number of components.


def measure_algebra(piece: str, seed: int, n_points: int) -> dict[str, float]:
    """Largest deviations from the chapter's identities, on a half circle under a Gaussian kernel."""
    rng = np.random.default_rng(seed)
    X, new = (half_circle(n, random_state=rng).X for n in (n_points, 50))
    kernel = Gaussian(0.5)
    kpca = KernelPCA(20, kernel=kernel).fit(X)
    model, n = kpca.decomposition_, len(X)
    K, k_new = kernel(X, X), kernel(new, X)
    H = np.eye(n) - 1 / n
    by_hand = (k_new - k_new.mean(axis=1, keepdims=True) - K.mean(axis=0) + K.mean()) @ model.alphas
    every = KernelPCA(kernel=Gaussian(0.02)).fit(X)
    return {
        "norms": np.abs(np.square(model.alphas).sum(axis=0) * kpca.eigenvalues_ - 1).max(),
        "unit": np.abs(kpca.components_.norm2() - 1).max(),
        "eigen": np.abs(H @ K @ H @ model.alphas - model.alphas * kpca.eigenvalues_).max(),
        "rows": np.abs((H @ K @ H).sum(axis=0)).max(),
        "training": np.abs(kpca.transform(X) - kpca.eigenvalues_ * model.alphas).max(),
        "new": np.abs(kpca.transform(new) - by_hand).max(),
        "components": every.n_components_,
        "points": n,
    }


def conclude_algebra(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims that the identities hold to rounding."""
    entry, rounding = found["all"], published["rounding"]

    def identity(statement: str, formula: str, *keys: str) -> Claim:
        worst = max(entry[key] for key in keys)
        return Claim(statement, formula, f"largest deviation {worst:.1e}", grade([worst <= rounding]), "to rounding")

    most = Claim(
        "§5: at most n − 1 components, since centring removes one degree of freedom",
        "n − 1",
        f"{entry['components']} for n = {entry['points']} points, under a kernel so narrow that no other is lost",
        grade([entry["components"] == entry["points"] - 1]),
        "exactly n − 1",
    )
    return Findings(
        [
            identity(
                "§3: coefficients of a unit axis have the squared norm 1/μ", "αᵀα = 1/μ, ‖V‖ = 1", "norms", "unit"
            ),
            identity("§4: the centred kernel matrix is HKH, and its rows sum to 0", "K̃ = HKH", "eigen", "rows"),
            identity("§5: projections of the training points are μα", "β = μα", "training"),
            identity("§6: new points are centred by the training statistics", "k̃(z)", "new"),
            most,
        ]
    )


# Section 8: the bandwidth, from too small to too large; landmarks.

SCALES = tuple(float(s) for s in np.geomspace(0.01, 100, 13))
LANDMARKS = (5, 10, 20, 40)


def measure_bandwidth(piece: str, seed: int, n_points: int) -> dict[str, Any]:
    """How close the kernel matrix is to the identity, and the codes to those of linear PCA, for every length scale."""
    from sklearn.decomposition import PCA

    X = half_circle(n_points, random_state=np.random.default_rng([seed, 0])).X
    codes = PCA(2).fit_transform(X)
    found: dict[str, list[float]] = {"off": [], "linear": [], "flat": []}
    for scale in SCALES:
        K = Gaussian(scale)(X, X)
        kpca = KernelPCA(2, kernel=Gaussian(scale)).fit(X)
        found["off"].append((K.sum() - np.trace(K)) / (len(X) * (len(X) - 1)))
        found["linear"].append(_alignment(kpca.fit_transform(X), codes))
        found["flat"].append(kpca.explained_variance_ratio_[0])
    exact, *rough = (
        KernelPCA(5, kernel=Gaussian(0.5), approximation=m, random_state=0).fit(X).eigenvalues_
        for m in (None, *LANDMARKS)
    )
    errors = [np.abs(values / exact - 1).max() for values in rough]
    return {**found, "landmarks": errors, "points": n_points}


def _alignment(a: np.ndarray, b: np.ndarray) -> float:
    """The smallest cosine between the spaces of two sets of codes: 1 if they are the same."""
    bases = [np.linalg.qr(codes - codes.mean(axis=0))[0] for codes in (a, b)]
    return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).min())


def conclude_bandwidth(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims about both ends of the curve."""
    entry, n = found["all"], found["all"]["points"]
    claims = [
        Claim(
            "§8: too small a bandwidth drives the kernel matrix to the identity, and no structure emerges",
            "K → I",
            f"mean off-diagonal entry {entry['off'][0]:.4f}, first component {entry['flat'][0]:.2%} of the variance",
            grade([entry["off"][0] <= published["identity"], entry["flat"][0] <= published["flat"] / (n - 1)]),
            f"length scale {SCALES[0]:g}: entries below {published['identity']:g}, and a first component of less than "
            f"{published['flat']:g} times its fair share 1/{n - 1}",
        ),
        Claim(
            "§8: too large a bandwidth makes kernel PCA ordinary PCA",
            "→ linear PCA",
            f"smallest cosine between the two codes {entry['linear'][-1]:.6f}",
            grade([entry["linear"][-1] >= 1 - published["linear"]]),
            f"length scale {SCALES[-1]:g}: within {published['linear']:g} of 1",
        ),
        Claim(
            "§8: landmarks reduce the cost, at the price of an error that falls with their number",
            "–",
            f"relative error of five eigenvalues {join(entry['landmarks'], '.1e')} with {join(LANDMARKS, 'd')} of them",
            grade(np.diff(entry["landmarks"]) < 0),
            "falls from each number of landmarks to the next",
        ),
    ]
    figure, axes = canvas(1, 1, (5.0, 3.0))
    lines = {
        "mean off-diagonal entry of K": entry["off"],
        "cosine with linear PCA": entry["linear"],
        "share of the first component": entry["flat"],
    }
    curves(axes[0, 0], SCALES, lines, xscale="log", xlabel="length scale")
    caption = "From the identity (left) to linear PCA (right): a half circle of radius 1 under Gaussian kernels."
    return Findings(claims, [], [Picture(figure, caption)])


# Section 7: the fixed point, and how it fails.


def plain_iteration(targets: Expansion, starts: np.ndarray, scale: float, steps: int = 50) -> np.ndarray:
    """The chapter's ``rbf_preimage`` for a batch: its only safeguard is to stop if the denominator vanishes."""
    Z, going = np.array(starts), np.ones(len(starts), dtype=bool)
    for _ in range(steps):
        far = np.square(Z[:, None] - targets.points).sum(axis=2)
        weights = targets.weights * np.exp(-far / (2 * scale**2))
        total = weights.sum(axis=1)
        going &= np.abs(total) >= 1e-12
        Z[going] = (weights[going] @ targets.points) / total[going, None]
    return Z


def measure_fixed_point(piece: str, seed: int, n_targets: int) -> dict[str, Any]:
    """‖φ(z) − Ψ‖² reached by the plain iteration and by this library, from good starts, far ones and poor ones."""
    data, scale = three_clusters(random_state=np.random.default_rng([seed, 0])), 0.1
    kpca = KernelPCA(6, kernel=Gaussian(scale)).fit(data.X)
    rng = np.random.default_rng([seed, 1])
    clean = data.X[rng.integers(len(data.X), size=n_targets)]
    targets = kpca.project(clean + 0.05 * rng.standard_normal(clean.shape))
    starts = {
        "at the input": clean,
        "far away": clean + 5.0,
        "in another cluster": data.X[rng.permutation(len(data.X))[:n_targets] % len(data.X)],
    }
    found: dict[str, Any] = {}
    for name, Z in starts.items():
        plain, ours = plain_iteration(targets, Z, scale), find_preimage(targets, FixedPoint(), starts=Z)
        found[name] = {
            "plain": _misfit(targets, plain),
            "ours": ours.residual,
            "stuck": {
                who: float(np.mean((P == Z).all(axis=1))) for who, P in (("plain", plain), ("ours", ours.points))
            },
        }
    found["own start"] = find_preimage(targets, FixedPoint()).residual
    found["distances"] = find_preimage(targets, Distance()).residual
    return found


def _misfit(targets: Expansion, Z: np.ndarray) -> np.ndarray:
    return np.maximum(1 - 2 * targets.inner_paired(Z) + targets.norm2(), 0)


def conclude_fixed_point(found: dict[str, Any], published: dict[str, Any]) -> Findings:
    """Claims about the failures, and how the safeguards handle them."""
    entry = found["all"]
    starts = [name for name in entry if name not in ("distances", "own start")]
    best = np.min([entry["own start"], *(entry[name]["ours"] for name in starts)], axis=0)

    def missed(values: list[float]) -> float:
        return float(np.mean(np.array(values) > best + published["lost"]))

    lost = {name: {who: missed(entry[name][who]) for who in ("plain", "ours")} for name in starts}
    distances, own = missed(entry["distances"]), missed(entry["own start"])
    rows = [
        [name, *(f"{np.mean(entry[name][who]):.4f} ({lost[name][who]:.0%} missed)" for who in ("plain", "ours"))]
        for name in lost
    ]
    rows.append(["none given", "–", f"{np.mean(entry['own start']):.4f} ({own:.0%} missed)"])
    rows.append(["distances, no start", "–", f"{np.mean(entry['distances']):.4f} ({distances:.0%} missed)"])
    caption = "Three clusters, a narrow Gaussian kernel: mean ‖φ(z) − Ψ‖² reached, and how often the best was missed."
    claims = _fixed_point_claims(lost, distances, own, entry["far away"]["stuck"], published)
    return Findings(claims, [Table(["start", "plain iteration", "this library"], rows, caption)])


def _fixed_point_claims(lost, distances: float, own: float, stuck, published: dict[str, Any]) -> list[Claim]:
    """Claims from the shares of targets that miss the best value, by start and method."""
    return [
        Claim(
            "§7: the iteration fails where the denominator approaches zero",
            "can fail",
            f"from far away {stuck['plain']:.0%} of the plain iterations never move, {stuck['ours']:.0%} of ours; left "
            f"to choose its start, ours misses the best value for {own:.0%}",
            grade([stuck["plain"] > 0, stuck["ours"] == 0, own <= published["handled"]]),
            f"shown, and handled: ours always moves, and by itself misses the best by more than {published['lost']:g} "
            f"for at most {published['handled']:.0%}",
        ),
        Claim(
            "§7: it is sensitive to its start and can end in poor local optima",
            "can",
            f"started in another cluster {lost['in another cluster']['plain']:.0%} of the plain iterations miss the "
            f"best value, at the input {lost['at the input']['plain']:.0%}",
            grade([lost["in another cluster"]["plain"] > lost["at the input"]["plain"]]),
            f"miss: ‖φ(z) − Ψ‖² more than {published['lost']:g} above the least found from any start",
        ),
        Claim(
            "§7: the input itself is a good start",
            "common",
            f"{lost['at the input']['ours']:.0%} of ours miss the best value",
            grade([lost["at the input"]["ours"] <= published["handled"]]),
            f"at most {published['handled']:.0%}",
        ),
        Claim(
            "§7: distances avoid the iteration and are more robust",
            "tends to be",
            f"without any start {distances:.0%} miss the best value; the plain iteration from another cluster "
            f"{lost['in another cluster']['plain']:.0%}",
            grade([distances < lost["in another cluster"]["plain"]]),
            "fewer misses than the plain iteration from a poor start; they do not minimise that value",
        ),
    ]


PAPER = Paper(
    "chapter",
    "A textbook chapter on kernel PCA: derivation, centring, pre-images, practice.",
    (
        Part(
            "algebra",
            "§3 to 6, normalisation, centring, projections",
            measure_algebra,
            conclude_algebra,
            full=Plan(sizes={"n_points": 200}),
            quick=Plan(sizes={"n_points": 100}),
        ),
        Part(
            "bandwidth",
            "§8, from too narrow to too wide",
            measure_bandwidth,
            conclude_bandwidth,
            full=Plan(sizes={"n_points": 300}),
            quick=Plan(sizes={"n_points": 150}),
        ),
        Part(
            "fixed-point",
            "§7, how the fixed point fails",
            measure_fixed_point,
            conclude_fixed_point,
            full=Plan(sizes={"n_targets": 90}),
            quick=Plan(sizes={"n_targets": 60}),
        ),
    ),
)
