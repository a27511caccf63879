"""``preimage demo``: noisy digits, and what each method makes of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

SIGMA = 0.3
N_TRAIN, N_TEST = 1000, 200
SHOWN = 8


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    method: str
    snr: float
    seconds: float


def run(out: Path, seed: int) -> tuple[list[Row], Path]:
    """Denoise, score, and draw; returns the table and the picture's path."""
    from preimage.datasets import load_digits
    from preimage.noise import GaussianNoise

    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a wrong place is told at once
    images = load_digits().X
    order = np.random.default_rng(seed).permutation(len(images))
    train, clean = images[order[:N_TRAIN]], images[order[N_TRAIN : N_TRAIN + N_TEST]]
    noisy = GaussianNoise(SIGMA)(clean, np.random.default_rng(seed + 1))
    pictures, rows = {"clean": clean, "noisy": noisy}, [Row("noisy input", _snr(clean, noisy), 0.0)]
    for name, denoise in _methods(train).items():
        start = time.perf_counter()
        pictures[name] = denoise(noisy)
        rows.append(Row(name, _snr(clean, pictures[name]), time.perf_counter() - start))
    return rows, _draw(pictures, out)


def show(rows: list[Row], picture: Path, as_json: bool) -> None:
    """Print the table, then the picture's path on the last line."""
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "picture": str(picture)}, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    best = max(row.snr for row in rows)
    table = Table(title=f"{N_TEST} digits 8×8 with Gaussian noise σ = {SIGMA}, {N_TRAIN} clean ones to learn from")
    table.add_column("method")
    table.add_column("SNR, dB", justify="right")
    table.add_column("seconds, fit and apply", justify="right")
    for row in rows:
        style = "bold green" if row.snr == best else ""
        table.add_row(row.method, f"{row.snr:.2f}", f"{row.seconds:.2f}" if row.seconds else "", style=style)
    Console().print(table)
    print(picture)


def _methods(train: np.ndarray) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Each a function from noisy rows to clean ones that fits and applies; no setting is tuned on the test rows."""
    from sklearn.decomposition import PCA
    from sklearn.decomposition import KernelPCA as ScikitKernelPCA

    from preimage import KernelPCA
    from preimage.noise import GaussianNoise
    from preimage.preimages import Distance, FixedPoint, Learned

    def linear(noisy):
        pca = PCA(16).fit(train)
        return pca.inverse_transform(pca.transform(noisy))

    def scikit(noisy):
        gamma = 1 / (64 * train.var())
        model = ScikitKernelPCA(64, kernel="rbf", gamma=gamma, fit_inverse_transform=True, alpha=5e-3).fit(train)
        return model.inverse_transform(model.transform(noisy))

    def ours(n_components, preimage):
        return lambda noisy: KernelPCA(n_components, preimage=preimage, random_state=0).fit(train).denoise(noisy)

    return {
        "linear PCA": linear,
        "scikit-learn KernelPCA": scikit,
        "fixed point (Mika 1998)": ours(64, FixedPoint()),
        "distances (Kwok & Tsang 2003)": ours(64, Distance()),
        "learned, told the noise": ours(128, Learned(noise=GaussianNoise(SIGMA))),
    }


def _snr(clean: np.ndarray, denoised: np.ndarray) -> float:
    """Mean over rows of the signal to noise ratio in dB."""
    return float(np.mean(10 * np.log10(np.square(clean).sum(1) / np.square(clean - denoised).sum(1))))


def _draw(pictures: dict[str, np.ndarray], out: Path) -> Path:
    """A grid of images: one line a method, the same digits in every line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.0 * SHOWN + 2.4, 1.0 * len(pictures)), layout="constrained")
    axes = figure.subplots(len(pictures), SHOWN)
    for line, (name, images) in zip(axes, pictures.items(), strict=True):
        for axis, image in zip(line, images[:SHOWN], strict=True):
            axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name.replace(" (", "\n("), rotation=0, ha="right", va="center", fontsize=9)
    path = out / "digits.png"
    unfinished = out / ".digits.png"
    figure.savefig(unfinished, format="png", dpi=120)
    unfinished.replace(path)
    return path
