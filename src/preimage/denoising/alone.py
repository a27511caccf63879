"""One picture or stack alone: which noise it has, and which way of denoising fits that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preimage.denoising.chroma import CoarseColours
from preimage.denoising.impulses import Impulses, filled, filling_risk, impulses_in
from preimage.denoising.jpeg import LUMINANCE, BeforeJpeg, before_jpeg
from preimage.denoising.learning import Units
from preimage.denoising.levels import DOUBT, at_lags, measured_noise, warn_of_more
from preimage.denoising.noise_curve import NoiseCurve
from preimage.denoising.pictures import Answered, NoisyPicture, in_tiles
from preimage.denoising.saturation import Limits
from preimage.exceptions import NoiseLevelWarning, warn
from preimage.noise import GaussianNoise, NoiseLaw, PoissonGaussianNoise, PoissonNoise, RandomImpulses, SpeckleNoise

SHORTEST_SIDE = 16  # of an image from which its noise can be estimated
FEW = 0.1  # impulses up to this share may be texture
FAR_MORE = 1.5  # a σ given, or not ruled out, is warned of if it exceeds the estimated one by this factor
SHARED = 1.5  # differences farther apart beside those of neighbours, from which their noise is correlated
VISIBLE = 0.025  # noise, or differences of neighbours, beside the range, up to which these may be texture
FLAT = 1.1  # differences of neighbours in σ, above which there is texture
STILL_THERE = 0.8  # noise that a JPEG file shows beside that before, from which it tells how it grows
NO_NOISE = 1e-12  # variance of the noise beside the square of the spread, up to which there is none


def denoised_alone(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> Answered:
    """The estimate of an image or stack (grid…, channels) from itself.

    Parameters
    ----------
    law : NoiseLaw, optional
        The noise; None to estimate it.
    effort : one of ``EFFORTS``
    """
    if np.all(image == image[..., :1]):  # grey, also where it is stored as colour
        found = _one_kind(image[..., :1], law, effort, rng)
        return replace(found, image=np.repeat(found.image, image.shape[-1], axis=-1))
    return _one_kind(image, law, effort, rng)


def _one_kind(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> Answered:
    impulses = impulses_in(image) if law is None else None
    if impulses is None or _are_texture(impulses, image):
        return _without_impulses(image, law, effort, rng)
    found = _without_impulses(filled(image, impulses.missing), law, effort, rng)
    left = filling_risk(image, impulses.missing, rng) if impulses.left is None else impulses.left
    return replace(found, noise=impulses.law, risk=found.risk + left)


def _are_texture(impulses: Impulses, image: np.ndarray) -> bool:
    """Whether impulses of any value are so few that they may be texture, where no part of the image is flat."""
    if not isinstance(impulses.law, RandomImpulses) or impulses.law.p > FEW:
        return False
    rest = filled(image, impulses.missing)
    return _is_hidden(measured_noise(rest.reshape(-1, *rest.shape[-2:]), Limits.of(image[None])), float(np.ptp(image)))


def _without_impulses(image: np.ndarray, law: NoiseLaw | None, effort: str, rng: np.random.Generator) -> Answered:
    units, curve = Units.of(image), _given(image, law) if law else estimated_noise(image)
    if np.ptp(image) == 0 or not curve.floor + curve.slope + curve.bend > NO_NOISE * units.scale**2:
        return Answered(image.copy(), 0.0, {}, curve.law)
    inside, within = units.inside(image), curve.within(units)
    stored = before_jpeg(inside) if law is None else None
    if law is None and (coarse := CoarseColours.recognised(inside, stored.sigma if stored else None)):
        found = in_tiles(lambda part: replace(coarse, image=part).answered(effort, rng), inside)
        noise: NoiseLaw = GaussianNoise(coarse.sigma * units.scale)
    else:
        plan = NoisyPicture(inside, within).plan(effort)
        found = in_tiles(lambda part: NoisyPicture(part, within).answered(plan, rng), inside)
        noise = curve.law
    square, lost = units.scale**2, stored.lost if stored else 0.0
    candidates = {name: (risk + lost) * square for name, risk in found.candidates.items()}
    return Answered(units.outside(found.image).astype(image.dtype), (found.risk + lost) * square, candidates, noise)


def estimated_noise(image: np.ndarray) -> NoiseCurve:
    """The law of the noise as the image shows it; the frames of a stack are put below each other."""
    stored, image = before_jpeg(image), image.reshape(-1, *image.shape[-2:])
    if min(image.shape[:-1]) < SHORTEST_SIDE:
        size = " × ".join(map(str, image.shape[:-1]))
        warn(f"the noise of an image of {size} points cannot be estimated: give noise=σ.", NoiseLevelWarning)
        return NoiseCurve(0.0, 0.0)
    curve = replace(measured_noise(image, Limits.of(image[None])), doubt=DOUBT)
    if stored is None:
        _warn_of_texture(curve, float(np.ptp(image)))
    if stored is None and not curve.limits:  # much of a drawing or text lies on a limit, and its strokes look the same
        _warn_of_shared(image.mean(axis=-1), float(np.sqrt(curve.before(float(image.mean())))))
    return _before_storing(curve, stored, image) if stored else curve


def _before_storing(curve: NoiseCurve, stored: BeforeJpeg, image: np.ndarray) -> NoiseCurve:
    """The law before some of the noise was lost: one that grows if most of the noise is still there to show it."""
    white = stored.sigma / float(np.linalg.norm(LUMINANCE[0])) if image.shape[-1] == 3 else stored.sigma
    if curve.slope == curve.bend == 0:
        return replace(curve, floor=max(curve.floor, white**2))
    shown = float(np.mean(curve.before(image)))
    return (
        curve if shown > (STILL_THERE * white) ** 2 else NoiseCurve(0.0, white**2, Limits.of(image[None]), doubt=DOUBT)
    )


def _warn_of_texture(curve: NoiseCurve, extent: float) -> None:
    """Warn where no part of an image is flat, and its noise may be much more than is removed."""
    least, most = np.sqrt(curve.floor), np.sqrt(curve.most)
    if _is_hidden(curve, extent):
        taken = f"only {least:.2g} is removed" if least > 0 else "the image is left as it is"
        warn(
            f"no part of the image is flat, and texture hides how much noise there is: at most {most:.2g}. To be safe, "
            f"{taken}; noise= tells the level.",
            NoiseLevelWarning,
        )


def _is_hidden(curve: NoiseCurve, extent: float) -> bool:
    """Whether texture hides how much noise there is in an image whose values differ by ``extent`` at most."""
    return bool(np.sqrt(curve.most) > max(FAR_MORE * np.sqrt(curve.floor), VISIBLE * extent))


def _warn_of_shared(grey: np.ndarray, sigma: float) -> None:
    """Warn where differences of neighbours show noise of σ, and those of points farther apart much more."""
    near, far = at_lags(grey, (1, 3))
    if far > SHARED * near and VISIBLE * float(np.ptp(grey)) < near < FLAT * sigma:
        warn(
            f"the noise of neighbours is correlated, and only a part of it is removed; noise={far:.2g} takes more.",
            NoiseLevelWarning,
        )


def _given(image: np.ndarray, law: NoiseLaw) -> NoiseCurve:
    limits = Limits.of(image[None])
    if isinstance(law, GaussianNoise):
        limits = Limits(*law.clip) if law.clip else limits
        _warn_of_more_than_shown(law.sigma, image, limits)
        return NoiseCurve(0.0, law.sigma**2, limits)
    above = Limits(-np.inf, limits.high)
    if isinstance(law, PoissonNoise):
        return NoiseCurve(1 / law.peak, 0.0, above)
    if isinstance(law, PoissonGaussianNoise):
        return NoiseCurve(law.a, law.b, Limits(*law.clip) if law.clip else above)
    if isinstance(law, SpeckleNoise):
        return NoiseCurve(0.0, law.b, Limits(*law.clip) if law.clip else above, law.c)
    raise ValueError(
        f"of one image alone only Gaussian, Poisson and speckle noise can be removed, not {law!r}: use Denoiser with "
        "clean examples (examples='clean')."
    )


def _warn_of_more_than_shown(sigma: float, image: np.ndarray, limits: Limits) -> None:
    image = image.reshape(-1, *image.shape[-2:])
    if min(image.shape[:-1]) >= SHORTEST_SIDE and np.ptp(image) > 0:
        curve = measured_noise(image, limits)
        shown = float(np.sqrt(max(float(curve.before(float(image.mean()))), curve.most)))
        if sigma > FAR_MORE * shown:
            warn_of_more("the image shows", shown, sigma)
