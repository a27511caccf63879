"""Sound: .wav, one column a channel, with numbers in [−1, 1]."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from preimage.data_files.base import Data, Form
from preimage.exceptions import DataFileError


def read(path: Path) -> Data:
    """The samples of all channels."""
    from scipy.io import wavfile

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # chunks that hold no sound
            rate, samples = wavfile.read(path)
    except (ValueError, EOFError, OSError, TypeError) as error:
        raise DataFileError(f"{path} is empty, damaged, or no .wav file.") from error
    except Exception as error:  # struct.error, IndexError and UnboundLocalError have been seen for damaged headers
        raise DataFileError(f"{path} is damaged.") from error
    samples = samples.reshape(len(samples), -1)
    form = Form(alone="signal", rate=int(rate), sample=samples.dtype.name)
    return Data(str(path), _from_samples(samples), samples.shape, form)


def check(path: Path, form: Form) -> None:
    """Only what came as a signal can go as sound."""
    if form.alone != "signal" or not form.rate:
        raise DataFileError(f"{path}: only sound can be written as .wav.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write samples of the type that was read; what is louder than that holds is clipped."""
    from scipy.io import wavfile

    values = np.concatenate(list(blocks))
    dtype = np.dtype(form.sample)
    if dtype.kind != "f":
        half = 2.0 ** (8 * dtype.itemsize - 1)
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values * half + (half if dtype.kind == "u" else 0)), limits.min, limits.max)
    wavfile.write(path, form.rate, values.astype(dtype).squeeze())


def _from_samples(samples: np.ndarray) -> np.ndarray:
    if samples.dtype.kind == "f":
        return samples
    half = 2.0 ** (8 * samples.dtype.itemsize - 1)
    return (samples - (half if samples.dtype.kind == "u" else 0.0)) / half
