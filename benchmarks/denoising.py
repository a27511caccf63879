"""How much noise is removed by ``Denoiser`` and by other methods that a user could install.

    python benchmarks/denoising.py [--only PART] [--methods NAME …] [--protocols NAME …] [--seconds 100] [--quick]
                                   [--markdown] [--json FILE] [--with FILE …] [--picture FILE]

protocols    those of ``preimage_papers.protocols``, mean SNR in dB over the test rows of three noises, and seconds of
             CPU to fit (choice of settings included) and to clean all test rows once. Peers choose by the true error
             on validation rows; in P5, where all rows are noisy, by Stein's estimate. P2 is one model per class.
             The U-Net trains for ``--seconds`` of CPU time and the MLP for 0.3 of that, in P2 for a tenth of it
             per class; in P5 they see one draw. BM3D, a second per image, has every tenth image of one noise.
clock        P5 in wall-clock time: the fit, and the least of three times to clean its 500 test rows.
photographs  scikit-learn's two, each alone. Peers are given σ, and the best of a few settings by the true error.
set12        the twelve grey pictures of the literature (``set12.npz`` in the folder PREIMAGE_DATA), means over them.
             Ours with each effort, σ given or not, and as 8-bit files; settings were chosen on other pictures.
files        kinds of picture files, nothing given: JPEG, counted light, salt and pepper, small pictures, no noise.
signals      a minute and half a minute of joined heartbeats, each alone, and peers as for photographs.
table        tables of scikit-learn, standardised, each alone.

A full run takes hours; parts of it can be run one by one with ``--json`` and shown together with ``--with``.
"""

import argparse
import io
import json
import os
import time
import warnings

import denoising_filters as filters
import numpy as np
from denoising_peers import Task, peers, wiener
from sklearn.datasets import load_breast_cancer, load_sample_image, load_wine

from preimage import Denoiser
from preimage.datasets import load_digits, load_mitbih
from preimage.exceptions import PreimageWarning
from preimage.noise import GaussianNoise, SaltAndPepper
from preimage.statistics import metrics
from preimage.statistics.metrics import snr
from preimage_papers.protocols import NAMES, load

PARTS = ("protocols", "clock", "photographs", "set12", "files", "signals", "table")
EFFORTS = ("quick", "standard", "best")
TITLES = dict(zip(NAMES, ("P1 σ.25", "P1 σ.5", "P1 s&p", "P2 G", "P2 s&p", "P3", "P4 ECG", "P5"), strict=True))
QUICK = ("noisy input", "linear PCA", "linear Wiener filter", "k nearest neighbours", "wavelets", "Denoiser")
CHROMA = (("4:4:4", 0), ("4:2:0", 2))
SIGMAS, PICTURE_FILE = (0.05, 0.1, 0.2), 0.1
RATE, BEAT_ENDS = 360, 5
TABLE_SIGMA = 0.5


class Figures:
    """Figures of one part, by method and case; printed and written as they come."""

    def __init__(self, part, options, report):
        self.options, self.report, self.rows = options, report, report.setdefault(part, {})

    def wanted(self, method):
        return not self.options.methods or method in self.options.methods

    def add(self, method, case, value, fit=None, apply=None):
        self.rows.setdefault(method, {})[case] = {"dB": value, "fit": fit, "apply": apply}
        if not self.options.markdown:
            times = "" if fit is None else f"   fit {fit:7.1f} s"
            times += "" if apply is None else f"   apply {apply:7.2f} s"
            print(f"{case:26}{method:30}" + ("      –" if value is None else f"{value:7.2f} dB{times}"), flush=True)
        if self.options.json:
            with open(self.options.json, "w") as file:
                json.dump(self.report, file, indent=1)


def protocols(figures):
    """Every peer on every protocol."""
    options = figures.options
    for name in options.protocols or NAMES:
        protocol = load(name)
        for method, peer in peers(options.seconds).items():
            if figures.wanted(method) and (not options.quick or method in QUICK):
                figures.add(method, TITLES[name], *measured(method, peer, protocol, 1 if options.quick else 3))


def measured(method, peer, protocol, draws):
    """The mean SNR, and the seconds of a fit and of cleaning all test rows once."""
    found, fit, apply, n_fits = [], 0.0, 0.0, 0
    for task, tests in tasks(protocol, *reduced(method, protocol, draws)):
        start = time.process_time()
        denoise = peer(task)
        if denoise is None:
            return (None,)
        middle, n_fits = time.process_time(), n_fits + 1
        fit += middle - start
        found += [snr(clean, denoise(noisy)).mean() for clean, noisy in tests]
        apply += (time.process_time() - middle) / len(tests)
    rounds = n_fits if protocol.name == "P5" else 1
    return float(np.mean(found)), fit / rounds, apply / rounds


def reduced(method, protocol, draws):
    """How many noises, and every how manieth test row."""
    if method == "BM3D":
        return 1, 10
    return (1 if protocol.name == "P5" and method in ("MLP", "U-Net") else draws), 1


def tasks(protocol, draws, every):
    """Tasks with their tests, pairs of clean and noisy rows: one task, one per class in P2, one per draw in P5."""
    tested = np.arange(0, len(protocol.test), every)
    if protocol.name == "P5":
        for noisy, test in list(zip(protocol.noisy_trains, protocol.noisy_tests, strict=True))[:draws]:
            yield Task.from_noisy(noisy, protocol.val, protocol.shape), [(protocol.test[tested], test[tested])]
        return
    by_class = protocol.name.startswith("P2")
    for digit in range(10) if by_class else [None]:
        own = protocol.train_labels == digit if by_class else np.ones(len(protocol.train), bool)
        rows = tested[protocol.test_labels[tested] == digit] if by_class else tested
        validation = np.flatnonzero(np.isin(np.flatnonzero(own), protocol.val))
        task = Task(protocol.train[own], validation, protocol.noise, protocol.shape, share=0.1 if by_class else 1)
        yield task, [(protocol.test[rows], noisy[rows]) for noisy in protocol.noisy_tests[:draws]]


def clock(figures):
    """Ours on P5, in seconds that a user waits."""
    protocol, start = load("P5"), time.perf_counter()
    ours = Denoiser(geometry=protocol.shape, random_state=0).fit(protocol.noisy_trains[0])
    fit, waits = time.perf_counter() - start, []
    for _ in range(3):
        start = time.perf_counter()
        denoised = ours.transform(protocol.noisy_tests[0])
        waits.append(time.perf_counter() - start)
    figures.add("Denoiser", "P5, one noise", snr(protocol.test, denoised).mean(), fit, min(waits))


def photographs(figures):
    """Both photographs, grey and in colour, with white noise; and once as a picture file would hold them."""
    for name in ("china", "flower")[: 1 if figures.options.quick else 2]:
        colour = load_sample_image(f"{name}.jpg") / 255
        for kind, clean in (("grey", colour.mean(axis=2)), ("colour", colour)):
            for sigma in SIGMAS:
                noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
                _alone(figures, f"{name} {kind} {sigma:g}", clean, noisy, sigma, filters.SETTINGS, psnr)
                if sigma == PICTURE_FILE:
                    held = np.round(np.clip(noisy, 0, 1) * 255) / 255
                    _alone(figures, f"{name} {kind} {sigma:g} 8 bit", clean, held, sigma, filters.SETTINGS, psnr)


def set12(figures):
    """Means over the twelve pictures."""
    pictures = np.load(os.path.join(os.environ["PREIMAGE_DATA"], "set12.npz"))
    names = sorted(pictures)[:: 6 if figures.options.quick else 1]
    for sigma in (15, 25, 50):
        found = {}
        for name in names:
            clean = pictures[name] / 255
            noisy = clean + sigma / 255 * np.random.default_rng(0).standard_normal(clean.shape)
            for method, denoise in _set12_methods(figures, sigma / 255).items():
                start = time.process_time()
                value = psnr(clean, denoise(noisy))
                found.setdefault(method, []).append((value, time.process_time() - start))
        for method, values in found.items():
            figures.add(method, f"Set12 {sigma}", *np.mean(values, axis=0)[:1], apply=float(np.mean(values, axis=0)[1]))


def _set12_methods(figures, sigma):
    """Ours in all ways, and BM3D where it is installed."""
    found = {}
    for effort in EFFORTS:
        for how, noise, form in (("told", sigma, None), ("", "auto", None), ("8 bit", "auto", _eight_bits)):
            ours = Denoiser(effort=effort, noise=noise, random_state=0)
            found[f"Denoiser {effort} {how}".strip()] = lambda y, ours=ours, form=form: ours.denoise_image(
                form(y) if form else y
            )
    if filters.installed("BM3D") and not figures.options.quick:
        found["BM3D"] = lambda y: filters.bm3d(y, sigma, 1.0)
    return {method: denoise for method, denoise in found.items() if figures.wanted(method)}


def files(figures):
    """What becomes of files of many kinds, in dB before and after."""
    colour = load_sample_image("china.jpg")[100:356, 200:456] / 255
    grey, rng = colour.mean(axis=2), np.random.default_rng(0)
    noisy = colour + 20 / 255 * rng.standard_normal(colour.shape)
    cases = {f"JPEG q{q} {name}": (colour, _jpeg(noisy, q, mode)) for q in (50, 75, 90, 95) for name, mode in CHROMA}
    cases |= {f"Poisson {peak}": (grey, _eight_bits(rng.poisson(peak * grey) / peak)) for peak in (5, 20, 100)}
    cases |= {f"salt and pepper {p:g}": (grey, SaltAndPepper(p)(_eight_bits(grey), rng)) for p in (0.05, 0.1, 0.2)}
    cases |= {"no noise": (grey, _eight_bits(grey)), "no noise, colour": (colour, colour)}
    for case, (clean, file) in cases.items():
        figures.add("noisy input", case, None if np.array_equal(clean, file) else psnr(clean, file))
        start = time.process_time()
        found = Denoiser(random_state=0).denoise_image(file)
        figures.add("Denoiser", case, psnr(clean, found), apply=time.process_time() - start)
    digits = load_digits().X[np.random.default_rng(0).permutation(1797)]
    for n in (100, 300, 1000):
        clean = digits[:n]
        file = _eight_bits(clean + 0.25 * np.random.default_rng(1).standard_normal(clean.shape))
        figures.add("noisy input", f"{n} digits", psnr(clean, file))
        figures.add(
            "Denoiser", f"{n} digits", psnr(clean, Denoiser(geometry=(8, 8), random_state=0).fit_transform(file))
        )


def _eight_bits(image):
    return np.round(255 * np.clip(image, 0, 1)) / 255


def _jpeg(image, quality, subsampling):
    """What a JPEG file makes of an image."""
    from PIL import Image

    stored = io.BytesIO()
    Image.fromarray(np.uint8(255 * _eight_bits(image) + 0.5)).save(
        stored, "JPEG", quality=quality, subsampling=subsampling
    )
    return np.asarray(Image.open(stored)) / 255


def picture(path):
    """Draw a part of a photograph: clean, noisy, by the best filter of scikit-image, and by ours."""
    import matplotlib.pyplot as plt

    clean = load_sample_image("china.jpg").mean(axis=2)[80:240, 160:400] / 255
    noisy = clean + PICTURE_FILE * np.random.default_rng(0).standard_normal(clean.shape)
    found = {"clean": clean, "noisy": noisy}
    found["NLM"] = filters.oracle(*filters.SETTINGS["NLM"], noisy, PICTURE_FILE, clean)[0]
    found["Denoiser"] = Denoiser(random_state=0).denoise_image(noisy)
    figure, axes = plt.subplots(2, 2, figsize=(8, 5.8), layout="constrained")
    for ax, (name, image) in zip(axes.flat, found.items(), strict=True):
        ax.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(name if name == "clean" else f"{name}, {psnr(clean, image):.2f} dB", fontsize=10)
        ax.set_axis_off()
    figure.savefig(path, dpi=110)


def psnr(clean, denoised):
    """The peak signal-to-noise ratio of pixels clipped to [0, 1]."""
    return metrics.psnr(clean, np.clip(denoised, 0, 1))


def signals(figures):
    """Joined heartbeats with white noise."""
    for seconds in (60, 30):
        clean = heartbeats(seconds)
        for level in (6, 12):
            sigma = float(np.sqrt(np.square(clean).mean() / 10 ** (level / 10)))
            noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
            column = f"{seconds} s at {level} dB"
            _alone(figures, column, clean, noisy, sigma, filters.SIGNAL_SETTINGS, _signal_snr)


def heartbeats(seconds):
    """Beats of a recording end to end, each without the line through its ends, so that they join."""
    beats = load_mitbih().X.astype(float)
    length = beats.shape[1]
    left, right = (beats[:, part].mean(axis=1, keepdims=True) for part in (slice(BEAT_ENDS), slice(-BEAT_ENDS, None)))
    flat = beats - left - (right - left) * np.linspace(0, 1, length)
    return flat[: -(-seconds * RATE // length)].ravel()[: seconds * RATE]


def _signal_snr(clean, denoised):
    return float(snr(clean.reshape(1, -1), denoised.reshape(1, -1))[0])


def _alone(figures, column, clean, noisy, sigma, settings, score):
    """One image or signal: the filters at their best, and ours."""
    if figures.wanted("noisy input"):
        figures.add("noisy input", column, score(clean, noisy))
    for name, (apply, choices) in settings.items():
        if figures.wanted(name) and not (figures.options.quick and name == "BM3D"):
            figures.add(name, column, *_oracle(name, apply, choices, noisy, sigma, clean, score))
    if figures.wanted("Denoiser"):
        start, ours = time.process_time(), Denoiser(random_state=0)
        denoised = ours.denoise_image(noisy) if noisy.ndim > 1 else ours.denoise_signal(noisy)
        figures.add("Denoiser", column, score(clean, denoised), apply=time.process_time() - start)


def _oracle(name, apply, choices, noisy, sigma, clean, score):
    """The best figure of a filter, and the seconds that this one setting takes."""
    if not filters.installed(name):
        return (None,)
    best = filters.oracle(apply, choices, noisy, sigma, clean)[1] if len(choices) > 1 else choices[0]
    start = time.process_time()
    denoised = apply(noisy, sigma, best)
    return score(clean, denoised), None, time.process_time() - start


def table(figures):
    """Standardised tables with white noise: linear PCA with the components of the least true error, and ours."""
    for name, data in (("breast cancer", load_breast_cancer()), ("wine", load_wine())):
        clean = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
        draws = [np.random.default_rng(draw).standard_normal(clean.shape) for draw in range(3)]
        for method, denoise in TABLE_METHODS.items():
            if figures.wanted(method):
                start = time.process_time()
                found = [_signal_snr(clean, denoise(clean + TABLE_SIGMA * draw, clean)) for draw in draws]
                seconds = (time.process_time() - start) / len(draws)
                figures.add(method, f"{name} {TABLE_SIGMA:g}", float(np.mean(found)), apply=seconds)


def _wiener(noisy, clean):
    task = Task(noisy, np.arange(0), GaussianNoise(TABLE_SIGMA), (noisy.shape[1],), blind=True)
    return wiener(task)(noisy)


def _best_pca(noisy, clean):
    mean = noisy.mean(axis=0)
    axes = np.linalg.svd(noisy - mean, full_matrices=False)[2]
    answers = [mean + (noisy - mean) @ axes[:q].T @ axes[:q] for q in range(1, len(axes) + 1)]
    return min(answers, key=lambda answer: float(np.square(answer - clean).mean()))


TABLE_METHODS = {
    "noisy input": lambda noisy, clean: noisy,
    "linear PCA, oracle": _best_pca,
    "linear Wiener filter, σ given": _wiener,
    "Denoiser": lambda noisy, clean: Denoiser(random_state=0).fit_transform(noisy),
    "Denoiser, σ given": lambda noisy, clean: Denoiser(noise=TABLE_SIGMA, random_state=0).fit_transform(noisy),
}


def show(part, figures, markdown):
    """The figures of a part as a table of dB and one of seconds: methods as rows for protocols, else as columns."""
    cases = list(dict.fromkeys(case for row in figures.values() for case in row))
    for what, text in (("dB", _decibels), ("seconds", _seconds)):
        cells = {method: {case: text(row.get(case)) for case in cases} for method, row in figures.items()}
        cells = {method: row for method, row in cells.items() if any(row.values())}
        if part != "protocols":
            cells = {case: {method: row[case] for method, row in cells.items()} for case in cases}
        _print_table(f"{part}, {what}", cells, markdown)


def _decibels(cell):
    return "" if cell is None else "–" if cell["dB"] is None else f"{cell['dB']:.2f}".replace("-", "−")


def _seconds(cell):
    if cell is None or cell["apply"] is None:
        return ""
    return " + ".join(
        f"{cell[what]:.2g}" if cell[what] < 10 else f"{cell[what]:.0f}"
        for what in ("fit", "apply")
        if cell[what] is not None
    )


def _print_table(title, cells, markdown):
    columns = list(next(iter(cells.values()), {}))
    print(f"\n{title}\n")
    if markdown:
        print("| | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
        for name, row in cells.items():
            print(f"| {name} | " + " | ".join(row.values()) + " |")
        return
    widths = [max(len(column), *(len(row[column]) for row in cells.values())) + 2 for column in columns]
    print(f"{'':30}" + "".join(f"{column:>{width}}" for column, width in zip(columns, widths, strict=True)))
    for name, row in cells.items():
        print(f"{name:30}" + "".join(f"{value:>{width}}" for value, width in zip(row.values(), widths, strict=True)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--methods", nargs="+", help="these alone")
    parser.add_argument("--protocols", nargs="+", choices=NAMES)
    parser.add_argument("--seconds", type=float, default=100, help="of CPU time for a network")
    parser.add_argument("--quick", action="store_true", help="few peers, one draw")
    parser.add_argument("--markdown", action="store_true", help="print tables only, ready to paste")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--with", dest="earlier", nargs="+", default=[], help="files of earlier runs, shown together")
    parser.add_argument("--picture", help="draw a part of a photograph to this file, and nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    if options.picture:
        picture(options.picture)
        return
    report = {}
    for path in options.earlier:
        with open(path) as file:
            take_in(report, json.load(file))
    for part in [options.only] if options.only else [] if options.earlier else PARTS:
        globals()[part](Figures(part, options, report))
    for part, figures in report.items():
        show(part, figures, options.markdown)


def take_in(report, other):
    """Put figures of another run among those of a report."""
    for part, figures in other.items():
        for method, row in figures.items():
            report.setdefault(part, {}).setdefault(method, {}).update(row)


if __name__ == "__main__":
    main()
