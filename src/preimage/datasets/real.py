"""Loaders for real data.

A loader looks for its file in the folder named by the environment variable ``PREIMAGE_DATA``, then in scikit-learn's
data home, and then downloads it from its public source.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from preimage._typing import Array
from preimage.datasets import downloads
from preimage.datasets.sources import DataSource
from preimage.datasets.split import Split


class Images(NamedTuple):
    """Grey images in [0, 1] with their labels.

    See Also
    --------
    load_digits : Images that come with scikit-learn.
    load_mnist, load_usps : Larger sets.

    Examples
    --------
    >>> from preimage.datasets import load_digits
    >>> digits = load_digits()
    >>> digits.shape, digits.y[:4], float(digits.X.max())
    ((8, 8), array([0, 1, 2, 3]), 1.0)
    """

    X: Array
    """Images, one per row, pixels in row-major order."""
    y: Array
    """The digit that each image shows."""
    shape: tuple[int, int]
    """Height and width of an image."""


class Beats(NamedTuple):
    """Heartbeats of one electrocardiogram.

    See Also
    --------
    load_ecg, load_mitbih : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.datasets import Beats
    >>> beats = Beats(np.zeros((70, 288)), peak=108, rate=360.0)
    >>> beats.peak / beats.rate  # seconds from the start of a beat to its R peak
    0.3
    """

    X: Array
    """Beats, one per row."""
    peak: int
    """The sample at or near which the R peak lies."""
    rate: float | None
    """Samples per second; None if beats were stretched to a common length."""


class Runs(NamedTuple):
    """Runs of a process, in time order.

    See Also
    --------
    load_tennessee_eastman : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.datasets import Runs
    >>> runs = Runs(np.zeros((500, 2)), {4: np.ones((960, 2))}, onset=160, columns=("flow", "level"))
    >>> len(runs.faulty[4][runs.onset :])  # rows with fault 4
    800
    """

    normal: Array
    """Rows of normal operation."""
    faulty: dict[int, Array]
    """Rows of a run with each fault, by its number."""
    onset: int
    """The first row of a faulty run that has the fault; 0 if the fault is there from the beginning."""
    columns: tuple[str, ...]
    """Names of the measured (XMEAS) and manipulated (XMV) variables."""


def load_digits() -> Images:
    """The 1797 digits of 8 × 8 pixels that come with scikit-learn, scaled to [0, 1].

    See Also
    --------
    load_usps, load_mnist : Larger images.

    Examples
    --------
    >>> from preimage.datasets import load_digits
    >>> digits = load_digits()
    >>> digits.X.shape, digits.shape
    ((1797, 64), (8, 8))
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return Images(bunch.data / 16, bunch.target, (8, 8))


def load_usps() -> Split[Images]:
    """The USPS digits: 7291 for training and 2007 for test, 16 × 16 pixels, float32 in [0, 1], ink = 1.

    The papers use the range [−1, 1], which is 2X − 1.

    See Also
    --------
    load_digits, load_mnist : Other digits.

    Examples
    --------
    >>> from preimage.datasets import load_usps
    >>> digits = load_usps()
    >>> digits.train.X.shape, digits.train.y[:5]
    ((7291, 256), array([6, 5, 4, 7, 3]))
    """
    return _images(_USPS.load(), (16, 16))


def load_mnist() -> Split[Images]:
    """The MNIST digits: 60000 for training and 10000 for test, 28 × 28 pixels, float32 in [0, 1], ink = 1.

    See Also
    --------
    load_digits, load_usps : Smaller images.

    Examples
    --------
    >>> from preimage.datasets import load_mnist
    >>> digits = load_mnist()
    >>> digits.test.X.shape, digits.test.y[:5]
    ((10000, 784), array([7, 2, 1, 0, 4]))
    """
    arrays = _MNIST.load()
    scaled = {name: arrays[name].astype(np.float32) / np.float32(255) for name in ("X_train", "X_test")}
    return _images({**arrays, **scaled}, (28, 28))


def load_ecg(recording: str = "a") -> Beats:
    """Normal heartbeats of one recording of the China Physiological Signal Challenge 2018, stretched to 512 samples.

    Parameters
    ----------
    recording : {"a", "b", "c"}
        Which of the paper's three recordings: 70 beats of lead I, 62 beats of lead I, or 40 beats of lead II.

    See Also
    --------
    load_mitbih : Many beats of one record.

    References
    ----------
    Gedon et al. (2023), Figure 5 (a), Figure A-8 and Table A-1 (a, b, c).

    Examples
    --------
    >>> from preimage.datasets import load_ecg
    >>> beats = load_ecg("a")
    >>> beats.X.shape, beats.peak
    ((70, 512), 150)
    """
    if recording not in _RECORDINGS:
        raise ValueError(f"recording must be one of {', '.join(_RECORDINGS)}, got {recording!r}")
    return Beats(_ECG.load()[_RECORDINGS[recording]], peak=150, rate=None)


def load_mitbih() -> Beats:
    """The 2237 normal beats of record 100 of the MIT-BIH arrhythmia database, lead MLII, 360 Hz.

    Each beat is the window [−0.3, 0.5) s around its R peak, 288 samples in mV, with its baseline left in.

    See Also
    --------
    load_ecg : Beats of a common length.

    Examples
    --------
    >>> from preimage.datasets import load_mitbih
    >>> beats = load_mitbih()
    >>> beats.X.shape, beats.rate
    ((2237, 288), 360.0)
    """
    return Beats(_MITBIH.load()["beats"], peak=108, rate=360.0)


def load_tennessee_eastman() -> Split[Runs]:
    """The Tennessee Eastman process: a simulated chemical plant, 52 variables every three minutes, 21 faults.

    The training runs have 500 normal rows, and 480 with each fault from the beginning. The test runs have 960 rows; the
    fault starts at row 160. Faults 3, 9 and 15 are known to be hardly visible.

    See Also
    --------
    preimage.Monitor : Detects the faults.

    References
    ----------
    Downs & Vogel (1993), "A plant-wide industrial process control problem"; the runs are those of Chiang, Russell &
    Braatz (2001).

    Examples
    --------
    >>> from preimage.datasets import load_tennessee_eastman
    >>> process = load_tennessee_eastman()
    >>> process.train.normal.shape, process.test.onset, process.test.columns[0]
    ((500, 52), 160, 'XMEAS(1)')
    """
    arrays = _TENNESSEE_EASTMAN.load()
    train, test = (
        Runs(arrays[f"d00{end}"], {fault: arrays[f"d{fault:02d}{end}"] for fault in _FAULTS}, onset, _VARIABLES)
        for end, onset in (("", 0), ("_te", 160))
    )
    return Split(train, test)


def load_set12() -> dict[str, Array]:
    """The twelve grey pictures of the denoising literature: "01" to "07" of 256 × 256, the others of 512 × 512 pixels.

    Their pixels are whole numbers from 0 to 255.

    See Also
    --------
    preimage.Denoiser.denoise_image : Denoises one picture alone.

    References
    ----------
    Zhang et al. (2017), "Beyond a Gaussian denoiser: residual learning of deep CNN for image denoising".

    Examples
    --------
    >>> from preimage.datasets import load_set12
    >>> pictures = load_set12()
    >>> len(pictures), pictures["01"].shape
    (12, (256, 256))
    """
    return _SET12.load()


def _images(arrays: Mapping[str, Array], shape: tuple[int, int]) -> Split[Images]:
    train, test = (
        Images(arrays[f"X_{part}"], arrays[f"y_{part}"].astype(np.intp), shape) for part in ("train", "test")
    )
    return Split(train, test)


_RECORDINGS = {"a": "ecg4_lead0", "b": "ecg1_lead0", "c": "ecg18_lead1"}

_USPS = DataSource(
    title="the USPS digits",
    file="usps.npz",
    shapes={"X_train": (7291, 256), "y_train": (7291,), "X_test": (2007, 256), "y_test": (2007,)},
    ranges={"X_train": (0, 1), "y_train": (0, 9), "X_test": (0, 1), "y_test": (0, 9)},
    advice="With a network, preimage.datasets.load_usps() downloads them from OpenML (data_id=41082).",
    fetch=downloads.usps,
)
_MNIST = DataSource(
    title="the MNIST digits",
    file="mnist.npz",
    shapes={"X_train": (60000, 784), "y_train": (60000,), "X_test": (10000, 784), "y_test": (10000,)},
    ranges={"X_train": (0, 255), "y_train": (0, 9), "X_test": (0, 255), "y_test": (0, 9)},
    advice="With a network, preimage.datasets.load_mnist() downloads them from OpenML ('mnist_784', version=1).",
    fetch=downloads.mnist,
)
_ECG = DataSource(
    title="the ECG beats of the invertible kernel PCA paper",
    file="cpsc_normal_beats.npz",
    shapes={"ecg4_lead0": (70, 512), "ecg1_lead0": (62, 512), "ecg18_lead1": (40, 512)},
    ranges=dict.fromkeys(_RECORDINGS.values(), (-100, 100)),
    advice="The beats are in the public repository dgedon/invertible_kernel_PCA on GitHub, here one beat per row.",
    fetch=downloads.heartbeats,
    digest="d3babd74dabed16688f86b1c2570dd0e5e6668d1b63925d0eb02cb3e353da11d",
)
_MITBIH = DataSource(
    title="the MIT-BIH beats",
    file="mitbih_100_beats.npz",
    shapes={"beats": (2237, 288)},
    ranges={"beats": (-100, 100)},
    advice=(
        "With the package wfdb and a network, wfdb.rdrecord('100', pn_dir='mitdb') reads the record and "
        "wfdb.rdann('100', 'atr', pn_dir='mitdb') its beats: cut the beats marked N from lead MLII, "
        "[-0.3, 0.5) s around each mark."
    ),
    fetch=downloads.mitbih,
    digest="e47fa7d674bf57b00bb5a148f2100da63c61a5bfa94e121fe3f22c68db66f118",
)
_FAULTS = range(1, 22)
_VARIABLES = (*(f"XMEAS({number})" for number in range(1, 42)), *(f"XMV({number})" for number in range(1, 12)))
_RUNS: dict[str, tuple[int, ...]] = {
    f"d{fault:02d}{end}": ((500 if fault == 0 else 480) if not end else 960, 52)
    for fault in range(22)
    for end in ("", "_te")
}
_TENNESSEE_EASTMAN = DataSource(
    title="the runs of the Tennessee Eastman process",
    file="tennessee_eastman.npz",
    shapes=_RUNS,
    ranges=dict.fromkeys(_RUNS, (-1e5, 1e5)),
    advice=(
        "The runs are in the public repository camaramm/tennessee-eastman-profBraatz on GitHub, d00.dat to d21_te.dat, "
        "here one sample per row (d00.dat is transposed there)."
    ),
    fetch=partial(downloads.tennessee_eastman, tuple(_RUNS)),
    digest="c6d71400d894cb91c92d71b07d4dfaf2d73c4134b1bf5ae9ecfd9a4dc2cec689",
)
_PICTURES: dict[str, tuple[int, ...]] = {
    f"{number:02d}": (256, 256) if number < 8 else (512, 512) for number in range(1, 13)
}
_SET12 = DataSource(
    title="the twelve pictures",
    file="set12.npz",
    shapes=_PICTURES,
    ranges=dict.fromkeys(_PICTURES, (0, 255)),
    advice="They are in the public repository cszn/DnCNN on GitHub, testsets/Set12/01.png to 12.png.",
    fetch=partial(downloads.set12, tuple(_PICTURES)),
    digest="bc04213b2b59e09ce3f3b0e05303d1c4a162f825b7de61c857e9d27c100bb4a5",
)
