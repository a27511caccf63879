"""Sound: .wav, and .flac by soundfile; one column per channel, with numbers in [−1, 1]."""

from __future__ import annotations

import re
import struct
import warnings
import wave
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io.base import Data, Form, Reading, needed, note

STREAMED = b"\xff" * 4  # the length of sound that was written to a pipe
FLAC = {"int16": "PCM_16", "int24": "PCM_24", "int8": "PCM_S8"}


def read(path: Path, reading: Reading) -> Data:
    """The samples of all channels."""
    try:
        values, rate, sample = _flac(path) if path.suffix.lower() == ".flac" else _wav(path)
    except DataFileError:
        raise
    except Exception as error:  # a damaged header can make its reader fail in any way
        if found := re.match(r"Unknown wave file format: (\w+)", str(error)):
            raise DataFileError(f"{path} holds {found.group(1)} sound: save it as PCM, 8 to 32 bits.") from error
        raise DataFileError(f"{path} is empty, damaged, or no {path.suffix.lower()} file.") from error
    values = values.reshape(len(values), values.shape[1] if values.ndim > 1 else 1)
    return Data(str(path), values, values.shape, Form(alone="signal", rate=rate, sample=sample))


def check(path: Path, form: Form) -> None:
    """Only what came as sound can go as sound."""
    if form.alone != "signal" or not form.rate:
        raise DataFileError(f"{path}: only sound can be written as {path.suffix.lower()}.")
    if path.suffix.lower() == ".flac":
        needed("soundfile", str(path))
        if form.sample not in FLAC:
            raise DataFileError(f"{path}: FLAC holds no samples of type {form.sample}; write .wav.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write samples of the type that was read; what is louder than that holds is clipped."""
    if form.sample == "int24" or path.suffix.lower() == ".flac":
        needed("soundfile", str(path)).write(path, np.clip(values, -1, 1), form.rate, FLAC[form.sample], format="FLAC")
    elif form.sample == "int24":
        _write_24_bits(path, values, form.rate)
    else:
        from scipy.io import wavfile

        wavfile.write(path, form.rate, _samples(values, np.dtype(form.sample)).squeeze())


def _wav(path: Path) -> tuple[np.ndarray, int, str]:
    from scipy.io import wavfile

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", wavfile.WavFileWarning)
        rate, samples = wavfile.read(path)
    if any("EOF prematurely" in str(warning.message) for warning in told) and b"data" + STREAMED not in _head(path):
        note(f"{path} ends before its header says: {len(samples)} samples are there.")
    kind = "int24" if samples.dtype == np.int32 and _bits(path) == 24 else samples.dtype.name
    return _from_samples(samples), int(rate), kind


def _flac(path: Path) -> tuple[np.ndarray, int, str]:
    soundfile = needed("soundfile", str(path))
    kinds = {subtype: kind for kind, subtype in FLAC.items()}
    with soundfile.SoundFile(path) as file:
        values = file.read(dtype="float64", always_2d=True)
        if len(values) < file.frames:
            note(f"{path} ends before its header says: {len(values)} samples are there.")
        return values, int(file.samplerate), kinds[file.subtype]


def _bits(path: Path) -> int:
    """Bits per sample, by the header, which follows the name of its chunk."""
    found = re.search(rb"fmt (.{4})(.{16})", _head(path), re.DOTALL)
    return struct.unpack("<HHIIHH", found.group(2))[-1] if found else 0


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def _write_24_bits(path: Path, values: np.ndarray, rate: int) -> None:
    whole = np.clip(np.rint(values * 2**23), -(2**23), 2**23 - 1).astype("<i4")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(values.shape[1])
        file.setsampwidth(3)
        file.setframerate(rate)
        file.writeframes(whole.reshape(-1, 1).view(np.uint8)[:, :3].tobytes())


def _samples(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind != "f":
        half = 2.0 ** (8 * dtype.itemsize - 1)
        limits = np.iinfo(dtype)
        values = np.clip(np.rint(values * half + (half if dtype.kind == "u" else 0)), limits.min, limits.max)
    return values.astype(dtype)


def _from_samples(samples: np.ndarray) -> np.ndarray:
    if samples.dtype.kind == "f":
        return samples
    half = 2.0 ** (8 * samples.dtype.itemsize - 1)
    return (samples - (half if samples.dtype.kind == "u" else 0.0)) / half
