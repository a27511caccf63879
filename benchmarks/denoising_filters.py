"""Filters that a user could install, for single images and signals: each a function of (noisy, σ, one setting).

``oracle`` chooses among its ``SETTINGS`` the one with the least true error, which no user could know: it favours the
filters, not us.
"""

from importlib.util import find_spec
from itertools import product

import numpy as np

BLOCK = 8  # pixels along a side of what BM3D compares


def nl_means(noisy, sigma, setting):
    from skimage.restoration import denoise_nl_means

    size, reach, strength = setting
    axis = _channel_axis(noisy)
    return denoise_nl_means(
        noisy, size, min(reach, noisy.shape[0] - size), h=strength * sigma, sigma=sigma, channel_axis=axis
    )


def total_variation(noisy, sigma, setting):
    from skimage.restoration import denoise_tv_chambolle

    return denoise_tv_chambolle(noisy, weight=setting * sigma, channel_axis=_channel_axis(noisy))


def wavelets(noisy, sigma, setting):
    from skimage.restoration import cycle_spin, denoise_wavelet

    wavelet, method, factor, shifts = setting
    axis = _channel_axis(noisy)
    how = {
        "wavelet": wavelet,
        "method": method,
        "sigma": factor * sigma,
        "channel_axis": axis,
        "convert2ycbcr": axis is not None,
        "rescale_sigma": True,
    }
    return (
        cycle_spin(noisy, denoise_wavelet, max_shifts=shifts, func_kw=how, channel_axis=axis)
        if shifts
        else (denoise_wavelet(noisy, **how))
    )


def median(noisy, sigma, setting):
    from scipy.ndimage import median_filter

    return median_filter(noisy, size=(setting,) * noisy.ndim if noisy.ndim < 3 else (setting, setting, 1))


def savitzky_golay(noisy, sigma, setting):
    from scipy.signal import savgol_filter

    return savgol_filter(noisy, *setting)


def bm3d(noisy, sigma, setting):
    import bm3d

    return (bm3d.bm3d_rgb if noisy.ndim == 3 else bm3d.bm3d)(noisy, setting * sigma)


SHRINKING = [("BayesShrink", 1.0), ("VisuShrink", 0.3), ("VisuShrink", 0.5)]
SETTINGS = {
    "NLM": (nl_means, list(product((5, 7), (9,), (0.6, 0.8, 1.0)))),
    "TV": (total_variation, [0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2]),
    "wavelets": (wavelets, [(w, *how, shifts) for w in ("sym4", "db1") for how in SHRINKING for shifts in (0, 3)]),
    "BM3D": (bm3d, [1.0]),
}
WAVELETS_OF_SIGNALS = [
    (wavelet, *how, shifts) for wavelet in ("sym4", "sym8", "db6") for how in SHRINKING for shifts in (0, 15)
]
SMOOTHERS = [(window, order) for window in (5, 7, 9, 11, 13, 15, 19, 23, 27, 31, 41) for order in (2, 3, 4, 5)]
SIGNAL_SETTINGS = {
    "wavelets": (wavelets, WAVELETS_OF_SIGNALS),
    "Savitzky–Golay": (savitzky_golay, [(w, order) for w, order in SMOOTHERS if order < w - 1]),
}


def installed(name):
    """Whether the package that a filter needs is there."""
    return find_spec({"BM3D": "bm3d", "Savitzky–Golay": "scipy", "median": "scipy"}.get(name, "skimage")) is not None


def oracle(apply, settings, noisy, sigma, clean):
    """The answer with the least true error, and its setting."""
    answers = ((apply(noisy, sigma, setting), setting) for setting in settings)
    return min(answers, key=lambda answer: float(np.square(answer[0] - clean).mean()))


def _channel_axis(image):
    return -1 if image.ndim == 3 else None
