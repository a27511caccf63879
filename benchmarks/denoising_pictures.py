"""Parts of ``denoising.py`` on single pictures: Set12, kinds of files, levels of noise, time and memory."""

import io
import subprocess
import sys
import time

import denoising_filters as filters
import numpy as np
from sklearn.datasets import load_sample_image

from preimage import Denoiser
from preimage.datasets import load_digits, load_set12
from preimage.noise import RandomImpulses, SaltAndPepper, SpeckleNoise
from preimage.statistics import metrics

EFFORTS = ("quick", "standard", "best")
CHROMA = (("4:4:4", 0), ("4:2:0", 2))
OWN, PAIR = "as it is, with its own noise", "china and flower"
CLOSE = 0.05  # error of σ beside itself that is not counted
JPEG_SIGMA, TEXT_SIGMAS, IMPULSES = 20 / 255, (10, 20, 30), (0.05, 0.1, 0.2)
TEXT = (
    "Invoice no. 2026-118, paid.", "1 item: bolts, 6 mm   12.50", "2 item: nuts, M6       3.75",
    "total 1,886.35 EUR; VAT 19 %", "Thank you, see you soon.", "a.b.c, d;e:f  0.1 0.2 0.3",
)  # fmt: skip
ONE_RUN = """
import resource, sys, time
import numpy as np
from sklearn.datasets import load_sample_image
from preimage import Denoiser
height, width, channels, effort = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
photo = load_sample_image("china.jpg")[..., :channels].astype(np.float32) / 255
image = np.tile(photo, (-(-height // 427), -(-width // 640), 1))[:height, :width]
image += np.float32(0.08) * np.random.default_rng(0).standard_normal(image.shape, dtype=np.float32)
start = time.process_time()
Denoiser(effort=effort, random_state=0).denoise_image(image)
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def psnr(clean, denoised):
    """The peak signal-to-noise ratio of pixels clipped to [0, 1]."""
    return metrics.psnr(clean, np.clip(denoised, 0, 1))


def eight_bits(image):
    """What an 8-bit file holds."""
    return np.round(255 * np.clip(image, 0, 1)) / 255


def jpeg(image, quality, subsampling):
    """What a JPEG file makes of an image."""
    from PIL import Image

    stored = io.BytesIO()
    Image.fromarray(np.uint8(255 * eight_bits(image) + 0.5)).save(
        stored, "JPEG", quality=quality, subsampling=subsampling
    )
    return np.asarray(Image.open(stored)) / 255


def set12_pictures(figures):
    """The twelve pictures by their names, noisy at a σ when asked."""
    pictures = load_set12()
    names = sorted(pictures)[:: 6 if figures.options.quick else 1]
    return {name: pictures[name] / 255 for name in names if pictures[name].size < 2**17 or not figures.options.small}


def set12(figures):
    """Every picture with every effort, σ given, estimated, and from 8-bit files."""
    for name, clean in set12_pictures(figures).items():
        for sigma in (15, 25, 50):
            noisy = clean + sigma / 255 * np.random.default_rng(0).standard_normal(clean.shape)
            case = f"σ = {sigma}, {name}"
            for effort in EFFORTS:
                for how, noise, file in (
                    (", σ given", sigma / 255, noisy), ("", "auto", noisy), (", 8 bit", "auto", eight_bits(noisy))
                ):  # fmt: skip
                    if figures.missing(method := f"{effort}{how}", case):
                        _one(figures, method, case, clean, file, Denoiser(effort=effort, noise=noise, random_state=0))
            if figures.missing("BM3D", case) and filters.installed("BM3D") and not figures.options.quick:
                start = time.process_time()
                value = psnr(clean, filters.bm3d(noisy, sigma / 255, 1.0))
                figures.add("BM3D", case, value, apply=time.process_time() - start)


def _one(figures, method, case, clean, file, denoiser):
    start = time.process_time()
    found = denoiser.denoise_image(file)
    seconds, error = time.process_time() - start, float(np.mean(np.square(found - clean)))
    ratio = {} if np.array_equal(clean, file) else {"risk": denoiser.risk_ / error}
    figures.add(method, case, psnr(clean, found), apply=seconds, **ratio)


def levels(figures):
    """The least and the largest ratio of the estimated σ to the true one, and how many of them err by more than 5 %.

    A picture may have noise before any is added: what is estimated from it as it is. With it σ is √(σ² + own²).
    """
    pictures = set12_pictures(figures)
    photographs = {name: load_sample_image(f"{name}.jpg").mean(axis=2) / 255 for name in ("china", "flower")}
    own = {name: _estimated_level(clean, clean) for name, clean in pictures.items()}
    kinds = {"as it is": (pictures, np.asarray), "8 bit": (pictures, eight_bits), PAIR: (photographs, np.asarray)}
    for sigma in (5, 10, 15, 25, 50):
        case = f"σ = {sigma}"
        for method, (chosen, stored) in kinds.items():
            if figures.missing(method, case):
                noises = {name: np.random.default_rng(0).standard_normal(chosen[name].shape) for name in chosen}
                noisy = {name: stored(chosen[name] + sigma / 255 * noises[name]) for name in chosen}
                found = {name: _estimated_level(noisy[name], chosen[name]) for name in chosen}
                _add_range(figures, method, case, [found[name] / sigma for name in found])
                if method == "as it is":
                    _add_range(figures, OWN, case, [found[name] / np.hypot(sigma, own[name]) for name in found])


def _add_range(figures, method, case, ratios):
    off = int(np.sum(np.abs(np.array(ratios) - 1) > CLOSE))
    figures.add(method, case, None, ratio=f"{min(ratios):.2f} to {max(ratios):.2f}; {off}")


def _estimated_level(image, clean):
    """The estimated σ at the mean brightness, in grey levels."""
    from preimage.denoising.alone import estimated_noise

    return 255 * float(np.sqrt(estimated_noise(image[..., None]).before(float(clean.mean()))))


def files(figures):
    """Files of many kinds: before, after, and what filters that are given the noise make of them."""
    for case, (clean, file, told) in file_cases().items():
        before = None if np.array_equal(clean, file) else psnr(clean, file)
        if figures.missing("noisy input", case):
            figures.add("noisy input", case, before)
        for name, filtered in _told(told, file, clean).items():
            if figures.missing(name, case) and filters.installed(name):
                figures.add(name, case, psnr(clean, filtered()))
        if figures.missing("Denoiser", case):
            _one(figures, "Denoiser", case, clean, file, Denoiser(random_state=0))
    digits = load_digits().X[np.random.default_rng(0).permutation(1797)]
    for n in (100, 300, 1000):
        clean, case = digits[:n], f"{n} digits"
        file = eight_bits(clean + 0.25 * np.random.default_rng(1).standard_normal(clean.shape))
        if figures.missing("Denoiser", case):
            figures.add("noisy input", case, psnr(clean, file))
            ours = Denoiser(geometry=(8, 8), random_state=0)
            figures.add("Denoiser", case, psnr(clean, ours.fit_transform(file)))


def file_cases():
    """Clean picture, file, and what a filter is told: σ, the peak of counts (negative), or nothing."""
    colour = load_sample_image("china.jpg")[100:292, 200:392] / 255
    grey, text, rng = colour.mean(axis=2), drawn_text(), np.random.default_rng(0)
    noise = rng.standard_normal(colour.shape)
    noisy, dim = colour + JPEG_SIGMA * noise, grey + JPEG_SIGMA * noise[..., 0]
    cases = {"PNG, 8 bit": (grey, eight_bits(dim), JPEG_SIGMA)}
    cases["PNG or TIFF, 16 bit"] = grey, np.round(65535 * np.clip(dim, 0, 1)) / 65535, JPEG_SIGMA
    for quality in (50, 75, 90, 95):
        cases |= {f"JPEG {name}, {quality}": (colour, jpeg(noisy, quality, mode), JPEG_SIGMA) for name, mode in CHROMA}
    cases |= {f"{peak} counts": (grey, eight_bits(rng.poisson(peak * grey) / peak), -peak) for peak in (5, 20, 100)}
    cases |= {f"salt and pepper {p:g}": (grey, SaltAndPepper(p)(eight_bits(grey), rng), 0) for p in IMPULSES}
    cases |= {f"impulses {p:g}": (grey, eight_bits(RandomImpulses(p)(grey, 0)), 0) for p in IMPULSES}
    cases |= {f"speckle {c:g}": (grey, eight_bits(SpeckleNoise(c)(grey, 0)), 0) for c in (0.02, 0.1)}
    for sigma in TEXT_SIGMAS:
        file = eight_bits(text + sigma / 255 * rng.standard_normal(text.shape))
        cases[f"text, σ = {sigma}"] = text, file, sigma / 255
    clean = {"grey": eight_bits(grey), "colour": colour, "JPEG": jpeg(colour, 75, 2), "text": text}
    return cases | {f"no noise, {name}": (image, image, None) for name, image in clean.items()}


def drawn_text():
    """Dark letters on paper of level 240."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (240, 124), 240)
    for number, line in enumerate(TEXT):
        ImageDraw.Draw(page).text((8, 6 + 19 * number), line, fill=30, font=ImageFont.load_default(size=12))
    return np.asarray(page) / 255


def _told(told, file, clean):
    """Filters that know the noise."""
    if told is None:
        return {}
    found = {"median": lambda: filters.median(file, 0, 3)}
    if told < 0:
        found["BM3D"] = lambda: _stabilised(file, -told)
    if told > 0:
        found["BM3D"] = lambda: filters.bm3d(file, told, 1.0)
        found["NLM"] = lambda: filters.oracle(*filters.SETTINGS["NLM"], file, told, clean)[0]
    return found


def _stabilised(file, peak):
    """BM3D of Anscombe's root, and its unbiased inverse (Mäkitalo & Foi 2013)."""
    roots = np.maximum(filters.bm3d(2 * np.sqrt(np.maximum(file * peak, 0) + 3 / 8), 1.0, 1.0), 1.3)
    return (
        roots**2 / 4 + np.sqrt(1.5) / (4 * roots) - 11 / (8 * roots**2) + 5 * np.sqrt(1.5) / (8 * roots**3) - 1 / 8
    ) / peak


def cost(figures):
    """CPU seconds and peak memory."""
    for size, efforts in (((512, 512, 1), EFFORTS), ((512, 512, 3), EFFORTS[:2]), ((3000, 4000, 3), EFFORTS[:1])):
        for effort in efforts:
            if figures.missing(effort, case := " × ".join(map(str, size))):
                run = [sys.executable, "-c", ONE_RUN, *map(str, size), effort]
                seconds, megabytes = map(float, subprocess.check_output(run, text=True).split())
                figures.add(effort, case, None, apply=seconds, MB=megabytes)
