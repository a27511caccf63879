"""How much noise is removed by ``Denoiser`` and by other methods that a user could install.

    python benchmarks/denoising.py [--only PART] [--methods NAME …] [--protocols NAME …] [--seconds 100] [--quick]
                                   [--markdown] [--json FILE] [--with FILE …] [--record] [--picture FILE]

protocols    those of ``preimage_papers.protocols``, mean SNR in dB over the test rows of three noises, and seconds of
             CPU to fit (choice of settings included) and to clean all test rows once. Peers choose by the true error
             on validation rows; in P5, where all rows are noisy, by Stein's estimate. P2 is one model per class.
             The U-Net trains for ``--seconds`` of CPU time and the MLP for 0.3 of that, in P2 for a tenth of it
             per class; in P5 they see one draw. BM3D, a second per image, has every tenth image of one noise.
clock        seconds that a user waits, and of CPU, by effort: P5, its fit and the least of three times to clean its 500
             test rows, and a table of 1000 × 64 numbers, a planted surface of three dimensions.
photographs  scikit-learn's two, each alone. Peers are given σ, and the best of a few settings by the true error.
set12        the twelve grey pictures of the literature (``set12.npz`` in the folder PREIMAGE_DATA): ours with each
             effort, σ given, estimated and from 8-bit files, with the ratio of ``risk_`` to the true error; settings
             were chosen on other pictures. ``--small`` leaves the five pictures of 512 × 512 points out.
levels       the ratio of the estimated σ to the true one on the same pictures.
files        kinds of picture files, nothing given, beside filters that are given the noise: JPEG, counted light,
             impulses, text, small pictures, no noise.
cost         CPU seconds and peak memory of ``denoise_image``, each in a process of its own.
signals      a minute and half a minute of joined heartbeats, each alone, and peers as for photographs.
table        tables of scikit-learn, standardised, each alone.

A full run takes hours; parts of it can be run one by one with ``--json`` and shown together with ``--with``. Pictures
that are in the file of ``--json`` already are not measured again.
"""

import argparse
import json
import os
import time
import warnings
from typing import NamedTuple

import denoising_filters as filters
import numpy as np
from denoising_peers import Task, peers, wiener
from denoising_pictures import cost, eight_bits, files, levels, psnr, set12  # noqa: F401 (parts are called by their names)
from figures import record
from sklearn.datasets import load_breast_cancer, load_sample_image, load_wine

from preimage import Denoiser
from preimage.datasets import load_mitbih
from preimage.denoising import EFFORTS
from preimage.exceptions import PreimageWarning
from preimage.noise import GaussianNoise
from preimage.statistics.metrics import snr
from preimage_papers.protocols import NAMES, load

PARTS = ("protocols", "clock", "photographs", "set12", "levels", "files", "cost", "signals", "table")
TITLES = dict(zip(NAMES, ("P1 σ.25", "P1 σ.5", "P1 s&p", "P2 G", "P2 s&p", "P3", "P4 ECG", "P5"), strict=True))
QUICK = ("noisy input", "linear PCA", "linear Wiener filter", "k nearest neighbours", "wavelets", "Denoiser")
SIGMAS, PICTURE_FILE = (0.05, 0.1, 0.2), 0.1
RATE, BEAT_ENDS = 360, 5
TABLE_SIGMA = 0.5
KEPT = {  # tables that README and docs show, by part and unit
    ("protocols", "dB"): "protocols",
    ("protocols", "seconds"): "protocol seconds",
    ("photographs", "dB"): "photographs",
    ("photographs", "seconds"): "photograph seconds",
    ("set12", "dB"): "set12",
    ("set12", "seconds"): "set12 seconds",
    ("set12", "risk"): "set12 risk",
    ("levels", "ratio"): "levels",
    ("files", "dB"): "files",
    ("files", "risk"): "file risks",
    ("cost", "seconds"): "cost",
    ("cost", "MB"): "memory",
    ("signals", "dB"): "signals",
    ("table", "dB"): "table",
}
BY_METHOD = ("protocols", "set12", "levels")  # parts with a row per method, not per case
ALL_PICTURES = 12  # of Set12


class Figures:
    """Figures of one part, by method and case; printed and written as they come."""

    def __init__(self, part, options, report):
        self.options, self.report, self.rows = options, report, report.setdefault(part, {})

    def wanted(self, method):
        return not self.options.methods or method in self.options.methods

    def missing(self, method, case):
        """Whether this is to be measured, and has not been."""
        return self.wanted(method) and case not in self.rows.get(method, {})

    def add(self, method, case, value, fit=None, apply=None, **others):
        self.rows.setdefault(method, {})[case] = {"dB": value, "fit": fit, "apply": apply} | others
        if not self.options.markdown:
            times = "" if fit is None else f"   fit {fit:7.1f} s"
            times += "" if apply is None else f"   apply {apply:7.2f} s"
            times += "".join(f"   {name} {_number(others, name)}" for name in others)
            print(f"{case:26}{method:30}" + ("      –" if value is None else f"{value:7.2f} dB") + times, flush=True)
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
    """Ours on P5 and on a table, with every effort."""
    protocol = load("P5")
    for effort in EFFORTS:
        _clocked(figures, effort, "P5, one noise", protocol.shape, protocol.noisy_trains[0], protocol)
        _clocked(figures, effort, "table, 1000 × 64", None, *planted_table())


class Tested(NamedTuple):
    """Clean rows, and draws of noise on them."""

    test: np.ndarray
    noisy_tests: list[np.ndarray]


def planted_table(n=1000, d=64):
    """Noisy rows around a curved surface of three dimensions, and the same with the truth."""
    rng = np.random.default_rng(0)
    waves = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d))
    clean = np.sin(waves + rng.uniform(0, 2 * np.pi, d))
    noisy = clean + TABLE_SIGMA * rng.standard_normal(clean.shape)
    return noisy, Tested(clean, [noisy])


def _clocked(figures, effort, case, shape, rows, tested):
    method = f'effort="{effort}"'
    if not figures.wanted(method):
        return
    start, cpu = time.perf_counter(), time.process_time()
    ours = Denoiser(geometry=shape, effort=effort, random_state=0).fit(rows)
    fit, cpu, waits = time.perf_counter() - start, time.process_time() - cpu, []
    for _ in range(3):
        start = time.perf_counter()
        denoised = ours.transform(tested.noisy_tests[0])
        waits.append(time.perf_counter() - start)
    figures.add(method, case, snr(tested.test, denoised).mean(), fit, min(waits), **{"CPU s of the fit": cpu})


def photographs(figures):
    """Both photographs, grey and in colour, with white noise; and once as a picture file would hold them."""
    for name in ("china", "flower")[: 1 if figures.options.quick else 2]:
        colour = load_sample_image(f"{name}.jpg") / 255
        for kind, clean in (("grey", colour.mean(axis=2)), ("colour", colour)):
            for sigma in SIGMAS:
                noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
                _alone(figures, f"{name} {kind} {sigma:g}", clean, noisy, sigma, filters.SETTINGS, psnr)
                if sigma == PICTURE_FILE:
                    _alone(
                        figures,
                        f"{name} {kind} {sigma:g} 8 bit",
                        clean,
                        eight_bits(noisy),
                        sigma,
                        filters.SETTINGS,
                        psnr,
                    )


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
    for method, effort in (("Denoiser, quick", "quick"), ("Denoiser", "standard"))[noisy.ndim == 1 :]:
        if figures.wanted(method):
            start, ours = time.process_time(), Denoiser(effort=effort, random_state=0)
            denoised = ours.denoise_image(noisy) if noisy.ndim > 1 else ours.denoise_signal(noisy)
            figures.add(method, column, score(clean, denoised), apply=time.process_time() - start)


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


def show(part, figures, options):
    """The figures of a part, a table of each kind; what ``--record`` asks for is kept."""
    if part == "set12":
        figures = means(figures)
    cases = list(dict.fromkeys(case for row in figures.values() for case in row))
    others = dict.fromkeys(name for row in figures.values() for cell in row.values() for name in cell)
    texts = [
        (name, lambda cell, name=name: _number(cell, name)) for name in others if name not in ("dB", "fit", "apply")
    ]
    for what, text in [("dB", _decibels), ("seconds", _seconds), *texts]:
        cells = {method: {case: text(row.get(case)) for case in cases} for method, row in figures.items()}
        cells = {method: row for method, row in cells.items() if any(row.values())}
        if part not in BY_METHOD:
            cells = {case: {method: row[case] for method, row in cells.items()} for case in cases}
        _print_table(f"{part}, {what}", cells, options.markdown)
        if options.record and (part, what) in KEPT:
            columns = list(next(iter(cells.values()), {}))
            rows = [[name, *row.values()] for name, row in cells.items()]
            record(__file__, KEPT[part, what], ["", *columns], rows, in_part=bool(options.methods))


def means(figures):
    """Figures of single pictures, cases "σ = 15, 01", as means over the pictures of a case, and the range of ratios."""
    found = {}
    for method, row in figures.items():
        cells = {}
        for case, cell in row.items():
            cells.setdefault(case.split(",")[0], []).append(cell)
        fewest = min(map(len, cells.values()))
        label = method if fewest == ALL_PICTURES else f"{method}, {fewest} pictures"
        found[label] = {case: _mean(cells[case]) for case in sorted(cells)}
    return found


def _mean(cells):
    ratios = [cell["risk"] for cell in cells if "risk" in cell]
    mean = {name: float(np.mean([cell[name] for cell in cells])) for name in ("dB", "apply")}
    return mean | {"fit": None} | ({"risk": f"{min(ratios):.2f} to {max(ratios):.2f}"} if ratios else {})


def _number(cell, name):
    value = "" if cell is None else cell.get(name, "")
    return value if isinstance(value, str) else f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def _decibels(cell):
    return (
        ""
        if cell is None or "MB" in cell or "ratio" in cell
        else "–"
        if cell["dB"] is None
        else f"{cell['dB']:.2f}".replace("-", "−")
    )


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
    parser.add_argument("--small", action="store_true", help="of Set12 the pictures of 256 × 256 points alone")
    parser.add_argument("--markdown", action="store_true", help="print tables only, ready to paste")
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--with", dest="earlier", nargs="+", default=[], help="files of earlier runs, shown together")
    parser.add_argument("--record", action="store_true", help="keep the tables for README and docs")
    parser.add_argument("--picture", help="draw a part of a photograph to this file, and nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PreimageWarning)
    if options.picture:
        picture(options.picture)
        return
    report = {}
    for path in [*options.earlier, *([options.json] if options.json and os.path.exists(options.json) else [])]:
        with open(path) as file:
            take_in(report, json.load(file))
    for part in [options.only] if options.only else [] if options.earlier else PARTS:
        globals()[part](Figures(part, options, report))
    for part, figures in report.items():
        show(part, figures, options)


def take_in(report, other):
    """Put figures of another run among those of a report."""
    for part, figures in other.items():
        for method, row in figures.items():
            report.setdefault(part, {}).setdefault(method, {}).update(row)


if __name__ == "__main__":
    main()
