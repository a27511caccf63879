"""The page of the demonstration: tables, pictures, and the Python code that does the same."""

from __future__ import annotations

from preimage import KernelPCA, plot
from preimage._typing import Array
from preimage.datasets import three_clusters
from preimage.demo.digits import SHAPE, SIGMA, Demonstration, Entry, best
from preimage.kernels import Gaussian
from preimage.plot.style import page_axes
from preimage.report import Code, Page, Picture, Section, Table, Text

WIDTH, SHOWN = 7.2, 8  # inches and digits per line of a picture
STEPS = 10  # digits along a side of the code plane


def page_of(demo: Demonstration) -> Page:
    """The whole page."""
    digits, (noisy, linear, scikit, *ours, denoiser) = demo.digits, demo.clean_examples
    lead = (
        "Kernel PCA finds the curved surface near which digits lie, and a pre-image maps each noisy digit back to it. "
        f"The signal-to-noise ratio of {len(digits.clean)} noisy digits rises from {noisy.snr:.1f} to "
        f"{best(ours).snr:.1f} dB; linear PCA reaches {linear.snr:.1f} and scikit-learn's kernel PCA {scikit.snr:.1f}. "
        f"`Denoiser`, which stacks such steps, reaches {denoiser.snr:.1f}, and {demo.noisy_only[-1].snr:.1f} without a "
        "single clean digit."
    )
    taught = f"""All methods train on the same {len(digits.train)} clean digits of 8 × 8 pixels and are tested on
        {len(digits.clean)} others with Gaussian noise of σ = {SIGMA}, where paper is 0 and ink is 1. Their settings
        were chosen by `benchmarks/digits.py` on other digits; `Denoiser` uses its defaults, reduced to take
        seconds."""
    blind = f"""Often no clean example exists. Here all methods train on the {len(digits.noisy_only)} noisy digits that
        they denoise; the table shows the same {len(digits.clean)} as above. Linear PCA and scikit-learn's kernel PCA
        use the settings with the least true error in `benchmarks/digits.py`, which no user could know. `Denoiser` uses
        its defaults: it estimates the noise from the digits, and uses neighbourhoods of pixels as well as whole
        digits."""
    sections = [
        _section("With clean examples", taught, demo, demo.clean_examples),
        _section("With noisy digits only", blind, demo, demo.noisy_only),
        _components(),
        _code_plane(digits.train),
        Section(
            "The same in Python", [Code(_CODE.format(seed=digits.seed, noise=digits.seed + 1, more=digits.seed + 3))]
        ),
    ]
    return Page("Denoising digits by kernel PCA", lead, sections)


def _section(title: str, words: str, demo: Demonstration, entries: tuple[Entry, ...]) -> Section:
    rows = [[e.method, f"{e.snr:.2f}", f"{e.seconds:.2f}", e.settings] for e in entries]
    about = "Mean signal-to-noise ratio of the test digits; seconds to fit and to denoise."
    table = Table(["method", "SNR, dB", "seconds", "settings"], rows, about, highlight=[entries.index(best(entries))])
    names = [entry.method.split(" (")[0].split(",")[0].replace("learn ", "learn\n") for entry in entries]
    groups = {"clean": demo.digits.clean} | dict(zip(names, (entry.images for entry in entries), strict=True))
    axes = page_axes(len(groups), SHOWN, (WIDTH, 0.72 * len(groups)))
    plot.images(groups, SHAPE, axes, n_images=SHOWN, cmap="gray_r")
    picture = Picture(axes[0, 0].figure, "The first test digits: clean, noisy, and denoised by each method.")
    return Section(title, [Text(words), table, picture])


def _components() -> Section:
    toy, axes = three_clusters(random_state=0), page_axes(2, 4, (WIDTH, 3.6))
    model = KernelPCA(8, kernel=Gaussian.from_gamma(10)).fit(toy.X)
    plot.components(model, axes, labels=toy.labels)
    words = """A component is a function of the point, drawn here by its contour lines for three clusters in the plane.
        The first two separate the clusters; the next ones split each cluster. Linear PCA has only two components here,
        both with straight contour lines."""
    caption = "Components 1 to 8 with a Gaussian kernel, after Schölkopf, Smola & Müller (1998)."
    return Section("What a component is", [Text(words), Picture(axes[0, 0].figure, caption)])


def _code_plane(train: Array) -> Section:
    axes = page_axes(STEPS, STEPS, (WIDTH, WIDTH))
    plot.traverse(KernelPCA(2).fit(train), SHAPE, axes, components=(0, 1), n_steps=STEPS, cmap="gray_r")
    words = """A code of two numbers is a point in a plane; its pre-image is a digit. Between the codes of two training
        digits, one turns into the other."""
    caption = f"Pre-images of a lattice over the codes of the {len(train)} training digits."
    return Section("A walk through the code plane", [Text(words), Picture(axes[0, 0].figure, caption)])


_CODE = """
import numpy as np
from preimage import Denoiser, KernelPCA, plot
from preimage.datasets import load_digits
from preimage.kernels import Gaussian
from preimage.noise import GaussianNoise

noise = GaussianNoise(0.3)
images = load_digits().X[np.random.default_rng({seed}).permutation(1797)]
train, clean = images[:1000], images[1000:1200]
noisy = noise(clean, np.random.default_rng({noise}))

# With clean examples
kpca = KernelPCA(256, kernel=Gaussian(1.53), preimage="fixed_point").fit(train)
denoised = kpca.denoise(noisy)

# With noisy digits only
noisy_only = np.vstack([noisy, noise(train[:600], np.random.default_rng({more}))])
denoiser = Denoiser(geometry=(8, 8), random_state=0)
denoised_alone = denoiser.fit_transform(noisy_only)[: len(noisy)]
print(denoiser.noise_, denoiser.risk_)  # the estimated noise, and the estimated remaining error

# Pictures, missing values, novelty
axes = plot.images({{"noisy": noisy, "denoised": denoised}}, (8, 8))
incomplete = np.where(np.random.default_rng(0).random(clean.shape) < 0.3, np.nan, clean)
filled = kpca.impute(incomplete)
novelty = -kpca.score_samples(noisy)
"""
