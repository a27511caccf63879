"""A single image or stack: the noise it has, and the method that suits it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preimage.denoising.chroma import CoarseColours
from preimage.denoising.impulses import Impulses, filled, filling_risk, impulses_in
from preimage.denoising.jpeg import LUMINANCE, BeforeJpeg, before_jpeg
from preimage.denoising.learning import Units
from preimage.denoising.levels import DOUBT, at_lags, measured_noise, warn_of_more
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.pictures import DenoisedImage, NoisyPicture, in_tiles
from preimage.denoising.saturation import Limits
from preimage.exceptions import NoiseLevelWarning, warn
from preimage.noise import GaussianNoise, NoiseLaw, PoissonGaussianNoise, PoissonNoise, RandomImpulses, SpeckleNoise

SHORTEST_SIDE = 16  # the least side of an image whose noise can be estimated
FEW = 0.1  # share of impulses up to which they may be texture
FAR_MORE = 1.5  # warn if a given or possible σ exceeds the estimated one by this factor
SHARED = 1.5  # ratio of far to near differences above which the noise of neighbours is correlated
VISIBLE = 0.025  # noise, or differences of neighbours, relative to the range, up to which they may be texture
FLAT = 1.1  # differences of neighbours, in σ, above which there is texture
STILL_THERE = 0.8  # share of the noise that must survive JPEG to show how it grows with brightness
NO_NOISE = 1e-12  # variance relative to the squared spread, up to which there is no noise


def denoised_alone(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> DenoisedImage:
    """The denoised image or stack (grid…, channels), from itself alone.

    Parameters
    ----------
    law : NoiseLaw, optional
        The noise; None to estimate it.
    effort : one of ``EFFORTS``
    """
    if np.all(image == image[..., :1]):  # grey, perhaps stored as colour
        found = _denoised(image[..., :1], law, effort, rng)
        return replace(found, image=np.repeat(found.image, image.shape[-1], axis=-1))
    return _denoised(image, law, effort, rng)


def _denoised(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> DenoisedImage:
    impulses = impulses_in(image) if law is None else None
    if impulses is None or _are_texture(impulses, image):
        return _without_impulses(image, law, effort, rng)
    found = _without_impulses(filled(image, impulses.missing), law, effort, rng)
    left = filling_risk(image, impulses.missing, rng) if impulses.left is None else impulses.left
    return replace(found, noise=impulses.law, risk=found.risk + left)


def _are_texture(impulses: Impulses, image: np.ndarray) -> bool:
    """Whether random impulses are so few that they may be texture, in an image without flat parts."""
    if not isinstance(impulses.law, RandomImpulses) or impulses.law.p > FEW:
        return False
    rest = filled(image, impulses.missing)
    return _is_hidden(measured_noise(rest.reshape(-1, *rest.shape[-2:]), Limits.of(image)), float(np.ptp(image)))


def _without_impulses(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> DenoisedImage:
    units, curve = Units.of(image), _given(image, law) if law else estimated_noise(image)
    if np.ptp(image) == 0 or not curve.floor + curve.slope + curve.bend > NO_NOISE * units.scale**2:
        return DenoisedImage(image.copy(), 0.0, {}, curve.law)
    inside, within = units.inside(image), curve.within(units)
    stored = before_jpeg(inside) if law is None else None
    if law is None and (coarse := CoarseColours.recognised(inside, stored.sigma if stored else None)):
        found = in_tiles(lambda part: replace(coarse, image=part).denoised(effort, rng), inside)
        noise: NoiseLaw = GaussianNoise(coarse.sigma * units.scale)
    else:
        plan = NoisyPicture(inside, within).plan(effort)
        found = in_tiles(lambda part: NoisyPicture(part, within).denoised(plan, rng), inside)
        noise = curve.law
    square, lost = units.scale**2, stored.lost if stored else 0.0
    candidates = {name: (risk + lost) * square for name, risk in found.candidates.items()}
    clean = units.outside(found.image).astype(image.dtype)
    return DenoisedImage(clean, (found.risk + lost) * square, candidates, noise)


def estimated_noise(image: np.ndarray) -> NoiseCurve:
    """The noise curve estimated from an image; the frames of a stack are put below each other."""
    stored, image = before_jpeg(image), image.reshape(-1, *image.shape[-2:])
    if min(image.shape[:-1]) < SHORTEST_SIDE:
        size = " × ".join(map(str, image.shape[:-1]))
        warn(f"an image of {size} points is too small to estimate its noise: give noise=σ.", NoiseLevelWarning)
        return NoiseCurve(0.0, 0.0)
    curve = replace(measured_noise(image, Limits.of(image)), doubt=DOUBT)
    if stored:
        return _before_storing(curve, stored, image)
    _warn_of_texture(curve, float(np.ptp(image)))
    if not curve.limits:  # strokes of drawings and text, which lie on a limit, look correlated
        _warn_of_shared(image.mean(axis=-1), float(np.sqrt(curve.before(float(image.mean())))))
    return curve


def _before_storing(curve: NoiseCurve, stored: BeforeJpeg, image: np.ndarray) -> NoiseCurve:
    """The noise curve before JPEG compression removed some of the noise; it grows only if most of the noise is left."""
    white = stored.sigma / float(np.linalg.norm(LUMINANCE[0])) if image.shape[-1] == 3 else stored.sigma
    if curve.slope == curve.bend == 0:
        return replace(curve, floor=max(curve.floor, white**2))
    shown = float(np.mean(curve.before(image)))
    return curve if shown > (STILL_THERE * white) ** 2 else NoiseCurve(0.0, white**2, Limits.of(image), doubt=DOUBT)


def _warn_of_texture(curve: NoiseCurve, extent: float) -> None:
    """Warn if no part of an image is flat, so that its noise may far exceed what is removed."""
    least, most = np.sqrt(curve.floor), np.sqrt(curve.most)
    if _is_hidden(curve, extent):
        taken = f"only {least:.2g} is removed" if least > 0 else "the image is left unchanged"
        warn(
            f"no part of the image is flat, and texture hides how much noise there is: at most {most:.2g}. To be safe, "
            f"{taken}; give the level with noise=.",
            NoiseLevelWarning,
        )


def _is_hidden(curve: NoiseCurve, extent: float) -> bool:
    """Whether texture hides how much noise there is in an image whose values have the range ``extent``."""
    return bool(np.sqrt(curve.most) > max(FAR_MORE * np.sqrt(curve.floor), VISIBLE * extent))


def _warn_of_shared(grey: np.ndarray, sigma: float) -> None:
    """Warn if differences of neighbours show noise of σ, but those of points farther apart much more."""
    near, far = at_lags(grey, (1, 3))
    if far > SHARED * near and VISIBLE * float(np.ptp(grey)) < near < FLAT * sigma:
        warn(
            f"the noise of neighbouring points is correlated, and only part of it is removed; noise={far:.2g} removes "
            "more.",
            NoiseLevelWarning,
        )


def _given(image: np.ndarray, law: NoiseLaw) -> NoiseCurve:
    limits = Limits.of(image)
    if isinstance(law, GaussianNoise):
        limits = Limits(*law.clip) if law.clip else limits
        _warn_of_more_than_shown(law.sigma, image, limits)
        return NoiseCurve(0.0, law.sigma**2, limits)
    above = Limits(high=limits.high)
    if isinstance(law, PoissonNoise):
        return NoiseCurve(1 / law.peak, 0.0, above)
    if isinstance(law, PoissonGaussianNoise):
        return NoiseCurve(law.a, law.b, Limits(*law.clip) if law.clip else above)
    if isinstance(law, SpeckleNoise):
        return NoiseCurve(0.0, law.b, Limits(*law.clip) if law.clip else above, law.c)
    raise ValueError(
        f"only Gaussian, Poisson and speckle noise can be removed from a single image, not {law!r}: use Denoiser with "
        "clean examples (examples='clean')."
    )


def _warn_of_more_than_shown(sigma: float, image: np.ndarray, limits: Limits) -> None:
    image = image.reshape(-1, *image.shape[-2:])
    if min(image.shape[:-1]) >= SHORTEST_SIDE and np.ptp(image) > 0:
        curve = measured_noise(image, limits)
        shown = float(np.sqrt(max(float(curve.before(float(image.mean()))), curve.most)))
        if sigma > FAR_MORE * shown:
            warn_of_more("the image shows", shown, sigma)
