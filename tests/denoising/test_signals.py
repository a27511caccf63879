"""One signal alone: its noise along time, channels, pieces, hum and baseline."""

import numpy as np
import pandas as pd
import pytest

from preimage import Denoiser, progress
from preimage.denoising import recording, signals, without_baseline, without_mains
from preimage.exceptions import NoiseLevelWarning
from preimage.statistics.noise_level import along_time
from preimage.statistics.noise_level.along_time import noise_along_time

RATE = 360
N = 20 * RATE


def beats(n=N, rate=RATE):
    """Sharp pulses of a rate that drifts."""
    turn = np.cumsum(1.2 + 0.1 * np.sin(np.arange(n) / 900)) / rate
    phase = np.angle(np.exp(2j * np.pi * turn))
    return np.exp(-0.5 * (phase / 0.1) ** 2) + 0.3 * np.exp(-0.5 * ((phase - 1.5) / 0.4) ** 2)


def white(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def mse(found, clean):
    return float(np.mean(np.square(found - clean)))


# The noise


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.5])
def test_the_level_of_constant_noise_is_found(sigma):
    track = noise_along_time(beats() + sigma * white(N))
    assert track.is_constant
    # 0.2 N/64 flat frames of 48 coefficients tell σ² to √(2/1000) = 4 %, σ to 2 %; signal may hide in 2 %
    assert abs(track.sigma / sigma - 1) < 4 * 0.02


@pytest.mark.parametrize("clean", [beats(8 * N), np.zeros(8 * N)])
def test_noise_that_grows_is_followed(clean):
    gain = np.linspace(0.1, 0.4, len(clean))
    track = noise_along_time(clean + gain * white(len(clean)))
    assert not track.is_constant
    found = np.sqrt(track.variance(0, len(clean)))
    middle = slice(len(clean) // 10, -len(clean) // 10)
    # a segment has 25 flat frames of 48 coefficients: 3 % in σ; 8 segments, four standard errors
    assert np.abs(found / gain - 1)[middle].max() < 0.2


def test_a_signal_of_one_band_is_not_taken_for_noise():
    """Hiss between a quarter and a half of the highest frequency fills some bands, and leaves the others to noise."""
    spectrum = np.fft.rfft(white(N, seed=1))
    spectrum[: len(spectrum) // 2] = 0
    spectrum[3 * len(spectrum) // 4 :] = 0
    hiss = np.fft.irfft(spectrum, N)
    assert noise_along_time(hiss + 0.05 * white(N)).sigma < 0.06 < 0.2 * hiss.std()


@pytest.mark.parametrize("n", [3000, 20_000])
@pytest.mark.parametrize("sigma", [0.3, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_the_steps_of_a_random_walk_are_not_taken_for_noise(n, sigma, seed):
    """At the highest frequencies steps of variance 1 show a quarter of it; a filter that takes the noise to be s² does
    good as long as s² < 2σ²."""
    steps, noise = white(2, n, seed=seed)
    assert noise_along_time(np.cumsum(steps) + sigma * noise).sigma < np.sqrt(2) * sigma


def test_a_noisy_random_walk_does_not_come_back_worse_and_a_warning_tells_that_it_is_rough():
    clean, noise = np.cumsum(white(3000)), white(3000, seed=1)
    denoiser = Denoiser(random_state=0)
    with pytest.warns(NoiseLevelWarning, match="rough"):
        found = denoiser.denoise_signal(clean + 0.3 * noise)
    assert mse(found, clean) <= 1.02**2 * mse(0.3 * noise, 0)


# The estimate


def test_channels_that_share_a_signal_are_better_together():
    clean = np.stack([beats(), -0.5 * beats()], axis=1)
    noisy = clean + [0.2, 0.1] * white(N, 2)
    denoiser = Denoiser(effort="quick", random_state=0)
    together = denoiser.denoise_signal(noisy)
    np.testing.assert_allclose(denoiser.noise_along_time_.sigmas, [0.2, 0.1], rtol=0.08)
    alone = np.stack([denoiser.denoise_signal(channel) for channel in noisy.T], axis=1)
    for channel in range(2):
        assert mse(together[:, channel], clean[:, channel]) < 0.8 * mse(alone[:, channel], clean[:, channel])


def test_a_channel_without_noise_stays_as_it_is():
    noisy = np.stack([beats() + 0.2 * white(N), np.zeros(N)], axis=1)
    found = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    np.testing.assert_array_equal(found[:, 1], 0)
    assert mse(found[:, 0], beats()) < 0.1 * 0.04


def test_noise_that_changes_is_removed_where_it_is():
    clean = beats(4 * N)
    gain = np.linspace(0.05, 0.4, len(clean))
    noisy = clean + gain * white(len(clean))
    found = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    given = Denoiser(effort="quick", noise=float(np.sqrt(np.mean(gain**2))), random_state=0).denoise_signal(noisy)
    assert mse(found, clean) < mse(given, clean)
    quarter = slice(0, N)
    assert mse(found[quarter], clean[quarter]) < 0.5 * mse(given[quarter], clean[quarter])


def test_the_risk_is_the_error():
    clean = beats()
    denoiser = Denoiser(effort="quick", random_state=0)
    error = mse(denoiser.denoise_signal(clean + 0.2 * white(N)), clean)
    # the chance of Stein's estimate is about 2σ²√(1/N), the bias of σ² a few per cent of σ²
    assert abs(denoiser.risk_ - error) < 0.04 * (4 * 2 / np.sqrt(N) + 4 * 0.04)


def test_white_noise_loses_nearly_all_and_a_told_trifle_changes_little():
    noise = white(N)
    assert mse(Denoiser(effort="quick", random_state=0).denoise_signal(noise), 0) < 0.1
    rough = np.cumsum(white(N)) % 1.0  # hard to predict: what is removed must not exceed the noise by much
    found = Denoiser(effort="quick", noise=1e-3, random_state=0).denoise_signal(rough)
    assert mse(found, rough) < 4e-6


def test_a_long_recording_in_pieces_is_answered_as_the_whole(monkeypatch):
    clean, length = beats(), {"quick": (128,)}
    noisy = clean + 0.2 * white(N)
    monkeypatch.setattr(signals, "LENGTHS", length)
    monkeypatch.setattr(signals, "LONG", length["quick"])
    whole = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    monkeypatch.setattr(signals, "SHORT", N // 3)
    monkeypatch.setattr(signals, "PIECE", N // 3 + 1)
    monkeypatch.setattr(signals, "SAMPLED", N // 4)
    seen = []
    with progress.listen(lambda stage, done, total: seen.append((stage, done / total))):
        pieces = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    assert mse(pieces, whole) < 0.02 * mse(whole, noisy)
    assert mse(pieces, clean) < 1.1 * mse(whole, clean)
    for stage in ("patches", "pieces"):
        done = [share for name, share in seen if name == stage]
        assert done == sorted(done)
        assert done[-1] == 1
        assert len(done) > 4


class Watched:
    """A signal that can only be read by slices, and how many samples the longest had."""

    def __init__(self, values):
        self.values, self.shape, self.dtype, self.longest = values, values.shape, values.dtype, 0

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        found = self.values[rows]
        self.longest = max(self.longest, len(found))
        return found


@pytest.fixture
def short_pieces(monkeypatch):
    for module, name, value in [(signals, "SHORT", 2000), (signals, "PIECE", 1500), (recording, "PART", 1000)]:
        monkeypatch.setattr(module, name, value)
    for module, name, value in [(signals, "SAMPLED", 1500), (signals, "MARGIN", 300), (along_time, "BLOCK", 16)]:
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
@pytest.mark.parametrize("dtype", [np.int16, np.float32, float])
def test_a_recording_is_read_in_parts_and_answered_as_the_signal(shape, dtype, short_pieces):
    noisy = 3000 * (beats() + 0.2 * white(N)) if len(shape) == 1 else 3000 * (beats()[:, None] + 0.2 * white(*shape))
    noisy = noisy.astype(dtype)
    if shape[1:] == (3,):
        noisy[:, 1] = 7  # a channel without noise is left out
    denoiser, source = Denoiser(effort="quick", random_state=0), Watched(noisy)
    parts = list(denoiser.denoise_recording(source))
    assert len(parts) == -(-N // 1500)
    assert source.longest <= max(1500 + 2 * 300, N // 4)  # a piece with its margins; one sample in four
    whole = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert whole.dtype == (np.float32 if dtype == np.float32 else float)
    assert mse(whole[:, 0] if whole.ndim > 1 else whole, 3000 * beats()) < 0.1 * (3000 * 0.2) ** 2
    if shape[1:] == (3,):
        np.testing.assert_array_equal(whole[:, 1], 7)


def test_a_recording_is_read_from_a_file_that_is_not_loaded(tmp_path, short_pieces):
    noisy = beats() + 0.2 * white(N)
    np.save(tmp_path / "long.npy", noisy)
    mapped = np.load(tmp_path / "long.npy", mmap_mode="r")
    found = np.concatenate(list(Denoiser(effort="quick", random_state=0).denoise_recording(mapped)))
    denoiser = Denoiser(effort="quick", random_state=0)
    for other in (noisy, noisy.tolist(), pd.Series(noisy, index=np.arange(N) / 10)):
        np.testing.assert_array_equal(found, denoiser.denoise_signal(other))
        np.testing.assert_array_equal(found, np.concatenate(list(denoiser.denoise_recording(other))))


@pytest.mark.parametrize("wrong", [[1.0, np.nan], [[[1.0]]], [], ["a", "b"], 3.0])
def test_what_is_no_recording_gets_a_sentence_before_anything_is_denoised(wrong):
    with pytest.raises(ValueError, match=r"a signal (must be an array of numbers with 1 or 2 axes|with NaN)"):
        Denoiser().denoise_recording(wrong)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_and_the_offset_of_a_signal_do_not_matter(scale):
    noisy = beats() + 0.2 * white(N)
    found, other = (Denoiser(effort="quick", random_state=0).denoise_signal(y) for y in (noisy, scale * (noisy + 3)))
    np.testing.assert_allclose(other / scale - 3, found, atol=1e-3)


def test_single_precision_stays():
    noisy = (beats() + 0.2 * white(N)).astype(np.float32)
    found = Denoiser(effort="quick", random_state=0).denoise_signal(noisy)
    assert found.dtype == np.float32


def test_a_level_that_the_signal_contradicts_is_warned_of():
    with pytest.warns(NoiseLevelWarning, match="shows noise of 0.0"):
        Denoiser(effort="quick", noise=0.5, random_state=0).denoise_signal(beats() + 0.05 * white(N))
    with pytest.warns(NoiseLevelWarning, match="9 samples is too short to estimate its noise: give noise="):
        assert np.all(Denoiser().denoise_signal(np.arange(9.0)) == np.arange(9.0))


@pytest.mark.parametrize("n", [128, 192, 255])
def test_the_noise_of_a_short_signal_is_found_and_removed(n):
    clean = np.sin(np.arange(n) / 12)
    for seed in range(5):
        noise = 0.2 * np.random.default_rng(seed).standard_normal(n)
        denoiser = Denoiser(effort="quick", random_state=0)
        found = denoiser.denoise_signal(clean + noise)
        # A level from k squares, 48 of every whole frame of 64, has relative standard error 1/√(2k).
        np.testing.assert_allclose(denoiser.noise_.sigma, 0.2, rtol=4 / np.sqrt(2 * 48 * (n // 64)))
        assert np.std(found - clean) < np.std(noise)


# Hum and baseline


@pytest.mark.parametrize("frequency", [49.93, 50.0, 50.08])
def test_hum_and_its_harmonics_are_removed_at_their_own_frequency(frequency):
    time = np.arange(N) / RATE
    hum = 0.5 * np.sin(2 * np.pi * frequency * time + 1) + 0.2 * np.sin(6 * np.pi * frequency * time)
    clean = beats()
    found = without_mains(np.stack([clean + hum, clean], axis=1), RATE, 50)
    assert mse(found[:, 0], clean) < 1e-3 * np.mean(hum**2)
    assert mse(found[:, 1], clean) < 1e-4 * np.mean(clean**2)


def test_hum_that_grows_is_followed():
    time = np.arange(N) / RATE
    hum = np.linspace(0.2, 1, N) * np.sin(2 * np.pi * 60 * time)
    assert mse(without_mains(beats() + hum, RATE, 60), beats()) < 0.01 * np.mean(hum**2)


def test_a_slow_baseline_is_removed_and_the_beats_stay():
    time = np.arange(N) / RATE
    wander = 2 * np.sin(2 * np.pi * 0.2 * time) + 0.5
    flat, found = (without_baseline(signal, RATE) for signal in (beats(), beats() + wander))
    assert mse(found, flat) < 0.01 * np.var(wander)
    assert mse(flat, beats() - np.median(beats())) < 0.1 * np.var(beats())


def test_settings_of_hum_and_baseline_are_checked():
    with pytest.raises(ValueError, match="half the rate, 40"):
        without_mains(np.zeros(1000), 80, 50)
    with pytest.raises(ValueError, match="too few to find hum"):
        without_mains(np.zeros(100), 1000, 50)
    with pytest.raises(ValueError, match="positive number of samples per second"):
        without_baseline(np.zeros(100), 0)


@pytest.mark.parametrize("pitches", [(220, 277, 330, 880), tuple(range(120, 3000, 120))])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_clean_recording_stays_as_it_is_and_a_noisy_one_does_not(pitches, noise):
    t = np.arange(12000) / 8000
    clean = sum(np.sin(2 * np.pi * pitch * t + pitch) / (1 + place) for place, pitch in enumerate(pitches))
    noisy = clean + noise * np.random.default_rng(0).standard_normal(len(t))
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_signal(noisy)
    if noise:
        assert np.mean(np.square(found - clean)) < 0.3 * noise**2
    else:
        np.testing.assert_array_equal(found, clean)
        assert denoiser.risk_ < 1e-6 * clean.var()


@pytest.mark.parametrize("seed", range(8))
def test_the_remaining_error_is_never_told_to_be_nothing(seed):
    """Stein's estimate has a standard error of √(2/n)σ², so that it is often negative where little is left."""
    t = np.linspace(0, 1, 1000)
    clean = 100 * np.exp(-(((t - 0.4) / 0.05) ** 2))
    noisy = clean + 4 * np.random.default_rng(seed).standard_normal(1000)
    denoiser = Denoiser(effort="quick", random_state=0)
    error = np.mean(np.square(denoiser.denoise_signal(noisy) - clean))
    assert denoiser.risk_ >= 0.95 * np.sqrt(2 / 1000) * denoiser.noise_.sigma**2
    assert error < 4 * denoiser.risk_
