"""Sound: .wav, and .flac by soundfile; one column per channel, with numbers in [−1, 1]."""

from __future__ import annotations

import re
import struct
import warnings
import wave
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from preimage.exceptions import DataFileError
from preimage.io import bounds
from preimage.io.base import Data, Form, Reading, needed, note
from preimage.io.bounds import BoundedFile
from preimage.io.chunks import release

STREAMED = b"\xff" * 4  # the length in the header of sound that was written to a pipe
BYTES = {"uint8": 1, "int16": 2, "int24": 3, "int32": 4}  # of whole samples in .wav files
FLOATS = struct.Struct("<4sI4s 4sIHHIIHHH 4sII 4sI")  # the header of a .wav file of floats
IEEE_FLOAT = 3  # their format
LONGEST = 2**32 - 1 - FLOATS.size  # bytes of samples in a .wav file
FLAC = {"int16": "PCM_16", "int24": "PCM_24", "int8": "PCM_S8"}


def read(path: Path, reading: Reading) -> Data:
    """The samples of all channels."""
    ending = path.suffix.lower()
    with bounds.opened(path, f"{ending} file") as file:
        samples, rate, sample = _flac(file) if ending == ".flac" else _wav(file)
    samples = samples.reshape(len(samples), samples.shape[1] if samples.ndim > 1 else 1)
    return Data(str(path), Samples(samples), samples.shape, Form(alone="signal", rate=rate, sample=sample))


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples as a file has them, in memory or mapped, which slices turn into numbers in [−1, 1]."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples and channels."""
        return self.values.shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""
        return _from_samples(self.values[:1]).dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        release(self.values)
        return _from_samples(self.values[rows])


def check(path: Path, form: Form) -> None:
    """Refuse to write anything but sound as sound."""
    if form.alone != "signal" or not form.rate:
        raise DataFileError(f"{path}: only sound can be written as {path.suffix.lower()}.")
    if path.suffix.lower() == ".flac":
        needed("soundfile", str(path))
        if form.sample not in FLAC:
            raise DataFileError(f"{path}: FLAC holds no samples of type {form.sample}; write .wav.")


def write(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Write samples of the type that was read, clipped to its range."""
    if path.suffix.lower() == ".flac":
        _write_flac(path, blocks, form)
    elif form.sample in BYTES:
        _write_integers(path, _within_limit(blocks, BYTES[form.sample]), form)
    else:
        _write_floats(path, _within_limit(blocks, np.dtype(form.sample).itemsize), form)


def _write_flac(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    soundfile, file = needed("soundfile", str(path)), None
    try:
        for block in blocks:
            if file is None:
                kind = FLAC[form.sample]
                file = soundfile.SoundFile(path, "w", form.rate, block.shape[1], kind, format="FLAC")
            file.write(np.clip(block, -1, 1))
    finally:
        if file is not None:
            file.close()


def _wav(file: BoundedFile) -> tuple[np.ndarray, int, str]:
    from scipy.io import wavfile

    head = file.stream.read(4096)
    file.stream.seek(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", wavfile.WavFileWarning)
        try:
            rate, samples = _mapped(file.name) or wavfile.read(file.stream)
        except ValueError as error:
            if found := re.match(r"Unknown wave file format: (\w+)", str(error)):
                raise DataFileError(f"{file.name} holds {found[1]} sound: save it as PCM, 8 to 32 bits.") from error
            raise
    if any("EOF prematurely" in str(warning.message) for warning in caught) and b"data" + STREAMED not in head:
        note(f"{file.name} is shorter than its header says: it holds {len(samples)} samples.")
    kind = "int24" if samples.dtype == np.int32 and _bits(head) == 24 else samples.dtype.name
    return samples, int(rate), kind


def _mapped(path: str) -> tuple[int, np.ndarray] | None:
    """The rate and the mapped samples of a file; None for 24 bits, and where the header tells another length."""
    from scipy.io import wavfile

    try:
        rate, found = wavfile.read(path, mmap=True)
        return rate, np.memmap(path, found.dtype, "r", found.offset, found.shape)
    except ValueError:
        return None


def _flac(bounded: BoundedFile) -> tuple[np.ndarray, int, str]:
    soundfile = needed("soundfile", bounded.name)
    kinds = {subtype: kind for kind, subtype in FLAC.items()}
    with soundfile.SoundFile(bounded.stream) as file:
        bounded.allow(4 * file.frames * file.channels)
        values = file.read(dtype="float32", always_2d=True)  # holds 24 bits
        if len(values) < file.frames:
            note(f"{bounded.name} is shorter than its header says: it holds {len(values)} samples.")
        return values, int(file.samplerate), kinds[file.subtype]


def _bits(head: bytes) -> int:
    """Bits per sample, from the format chunk of the header."""
    found = re.search(rb"fmt (.{4})(.{16})", head, re.DOTALL)
    return struct.unpack("<HHIIHH", found.group(2))[-1] if found else 0


def _write_integers(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    width, zero = BYTES[form.sample], 128 if form.sample == "uint8" else 0
    half = 2.0 ** (8 * width - 1)
    with wave.open(str(path), "wb") as file:
        file.setsampwidth(width)
        file.setframerate(form.rate)
        for number, block in enumerate(blocks):
            if number == 0:
                file.setnchannels(block.shape[1])
            whole = (np.clip(np.rint(block.astype(float) * half), -half, half - 1) + zero).astype("<i4")
            file.writeframes(whole.reshape(-1, 1).view(np.uint8)[:, :width].tobytes())


def _write_floats(path: Path, blocks: Iterable[np.ndarray], form: Form) -> None:
    """Floats as wave.py does not write them; the header, which holds their number, is written last."""
    kind = np.dtype(form.sample).newbyteorder("<")
    with path.open("wb") as file:
        file.write(bytes(FLOATS.size))
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=kind).data)
        size, channels = file.tell() - FLOATS.size, block.shape[1]
        width = channels * kind.itemsize
        layout = (IEEE_FLOAT, channels, form.rate, form.rate * width, width, 8 * kind.itemsize, 0)
        file.seek(0)
        file.write(
            FLOATS.pack(
                *(b"RIFF", FLOATS.size - 8 + size, b"WAVE"),
                *(b"fmt ", 18, *layout),
                *(b"fact", 4, size // width),
                *(b"data", size),
            )
        )


def _within_limit(blocks: Iterable[np.ndarray], n_bytes: int) -> Iterator[np.ndarray]:
    """The blocks, as long as a .wav file can hold them with so many bytes per number."""
    size = 0
    for block in blocks:
        size += n_bytes * block.size
        if size > LONGEST:
            raise DataFileError("the result is longer than a .wav file can be, 4 GiB: write .npy.")
        yield block


def _from_samples(samples: np.ndarray) -> np.ndarray:
    """Numbers in [−1, 1], in single precision if that holds all bits."""
    if samples.dtype.kind == "f":
        return samples
    half = 2.0 ** (8 * samples.dtype.itemsize - 1)
    values = samples / (np.float64(half) if samples.dtype.itemsize > 2 else np.float32(half))
    return values - np.float32(1) if samples.dtype.kind == "u" else values
