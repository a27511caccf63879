"""Public sources of data sets, each a function that downloads and returns the arrays.

Files are downloaded once, by pooch, and kept in the user's cache folder.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from preimage._typing import Array
from preimage.datasets import physionet
from preimage.exceptions import installed

GITHUB = "https://raw.githubusercontent.com"
HEARTBEATS = f"{GITHUB}/dgedon/invertible_kernel_PCA/a3bfb2e15f192cf6d8e57d529c90816a6c969da6/ecg_data/"
PLANT = f"{GITHUB}/camaramm/tennessee-eastman-profBraatz/0643318858ce7c87292bd59820b459e12a13d009/"
PICTURES = f"{GITHUB}/cszn/DnCNN/master/testsets/Set12/"
MITBIH = "https://physionet.org/files/mitdb/1.0.0/"


def download(folder: str, file: str) -> Path:
    """A file of a public folder, from the cache or from the network."""
    pooch = installed("pooch", "data")
    pooch.get_logger().setLevel("WARNING")
    # No digest of the file: `DataSource` checks that of the arrays.
    return Path(pooch.retrieve(folder + file, known_hash=None, fname=file, path=pooch.os_cache("preimage")))


def heartbeats() -> dict[str, Array]:
    """Beats of the invertible kernel PCA paper (MIT licence), one per row."""
    h5py = installed("h5py", "data")
    with h5py.File(download(HEARTBEATS, "cpsc_normal_beats.h5")) as file:
        return {name: np.asarray(file[name], dtype=np.float32).T for name in file}


def mitbih() -> dict[str, Array]:
    """Normal beats of record 100 of the MIT-BIH arrhythmia database (Open Data Commons Attribution licence)."""
    signal = physionet.read_signals(download(MITBIH, "100.dat").read_bytes())[:, 0]
    beats = physionet.read_annotations(download(MITBIH, "100.atr").read_bytes())
    return {"beats": physionet.windows(signal, beats[physionet.NORMAL], before=108, after=180).astype(np.float32)}


def tennessee_eastman(names: tuple[str, ...]) -> dict[str, Array]:
    """Runs of the Tennessee Eastman process (licence of the University of Illinois), one sample per row."""
    runs = {name: np.loadtxt(download(PLANT, f"{name}.dat"), dtype=np.float32) for name in names}
    return {name: np.ascontiguousarray(run if run.shape[1] == 52 else run.T) for name, run in runs.items()}


def set12(names: tuple[str, ...]) -> dict[str, Array]:
    """The twelve grey pictures of the denoising literature."""
    from PIL import Image

    return {name: np.asarray(Image.open(download(PICTURES, f"{name}.png"))) for name in names}


def usps() -> dict[str, Array]:
    """The USPS digits of OpenML, which states no licence, scaled to [0, 1]."""
    X, y = _openml(data_id=41082)
    X = ((X - X.min()) / (X.max() - X.min())).astype(np.float32)
    y = y - y.min()  # OpenML labels the digits 0 to 9 as 1 to 10
    if not np.array_equal(np.bincount(y[:7291], minlength=10), USPS_TRAIN_COUNTS):
        raise ValueError("its rows are not in the official order, training digits first")
    return {"X_train": X[:7291], "y_train": y[:7291], "X_test": X[7291:], "y_test": y[7291:]}


def mnist() -> dict[str, Array]:
    """The MNIST digits of OpenML."""
    X, y = _openml(name="mnist_784", version=1)
    return {"X_train": X[:60000], "y_train": y[:60000], "X_test": X[60000:], "y_test": y[60000:]}


def _openml(**which: Any) -> tuple[Array, Array]:
    from sklearn.datasets import fetch_openml

    parser = "pandas" if find_spec("pandas") else "liac-arff"  # the same numbers; pandas is faster
    X, y = fetch_openml(**which, as_frame=False, return_X_y=True, parser=parser)
    return X, y.astype(float).astype(int)


USPS_TRAIN_COUNTS = (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644)
