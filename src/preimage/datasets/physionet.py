"""Records of PhysioNet: signals in format 212 and annotations in the MIT format."""

from __future__ import annotations

import numpy as np

from preimage._typing import Array

NORMAL = 1  # the code of a normal beat
SKIP, NUM, SUB, CHANNEL, AUX = 59, 60, 61, 62, 63
ZERO, GAIN = 1024, 200  # of the MIT-BIH arrhythmia database: the level of 0 mV, and steps per mV


def read_signals(content: bytes) -> Array:
    """Two signals in mV, one per column, from pairs of 12-bit samples in three bytes."""
    first, shared, second = np.frombuffer(content[: len(content) // 3 * 3], dtype=np.uint8).reshape(-1, 3).T.astype(int)
    pairs = np.column_stack([first + ((shared & 15) << 8), second + ((shared >> 4) << 8)])
    return (np.where(pairs > 2047, pairs - 4096, pairs) - ZERO) / GAIN


def read_annotations(content: bytes) -> dict[int, Array]:
    """The samples of each code, from words of six bits of code and ten bits of time since the last."""
    words = np.frombuffer(content[: len(content) // 2 * 2], dtype="<u2").tolist()
    found: dict[int, list[int]] = {}
    sample = place = 0
    while place < len(words) and words[place]:
        code, number = words[place] >> 10, words[place] & 1023
        place += 1
        if code == SKIP:  # a time of 32 bits, its high word first
            sample += (words[place] << 16) + words[place + 1]
            place += 2
        elif code == AUX:  # text, in whole words
            place += (number + 1) // 2
        elif code not in (NUM, SUB, CHANNEL):
            sample += number
            found.setdefault(code, []).append(sample)
    return {code: np.array(samples) for code, samples in found.items()}


def windows(signal: Array, samples: Array, *, before: int, after: int) -> Array:
    """Windows around samples, one per row, without those that extend beyond an end."""
    whole = samples[(samples >= before) & (samples + after <= len(signal))]
    return signal[whole[:, None] + np.arange(-before, after)]
