"""The estimator ``Denoiser``."""

import io
import warnings

import numpy as np
import pytest
from scipy.ndimage import median_filter
from sklearn.base import clone
from sklearn.datasets import load_sample_image, load_wine
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import Denoiser, load, progress
from preimage.datasets import load_digits
from preimage.denoising import alone
from preimage.denoising.impulses import Impulses, filled, filling_risk, impulses_in
from preimage.exceptions import NoiseLevelWarning
from preimage.kernels import Gaussian, Polynomial
from preimage.noise import GaussianNoise, Masking, PoissonNoise, RandomImpulses, SaltAndPepper, SpeckleNoise
from preimage.statistics.metrics import mse, psnr

SIGMA = 0.25


def small(**settings):
    return Denoiser(**({"n_landmarks": 150, "n_stages": 2, "random_state": 0, "geometry": (8, 8)} | settings))


@pytest.fixture(scope="module")
def digits():
    """Clean and noisy digits to learn from, clean and noisy ones to test."""
    images = load_digits().X[np.random.default_rng(0).permutation(1797)].astype(np.float32)
    noisy = GaussianNoise(SIGMA)(images, np.random.default_rng(1))
    return images[:1000], noisy[:1000], images[1000:], noisy[1000:]


@pytest.fixture(scope="module")
def from_noisy(digits):
    return small().fit(digits[1])


@parametrize_with_checks([Denoiser(n_landmarks=20, n_stages=1, random_state=0)])
@pytest.mark.filterwarnings("ignore::preimage.exceptions.NoiseLevelWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_without_clean_examples_it_is_ahead_of_linear_pca_told_the_best_number(digits, from_noisy):
    _, noisy, clean, tested = digits
    ours = mse(from_noisy.transform(tested), clean)
    pca = PCA().fit(noisy)
    scores = (tested - pca.mean_) @ pca.components_.T
    oracle = min(mse(pca.mean_ + scores[:, :q] @ pca.components_[:q], clean) for q in range(1, 64))
    assert 0.2 < ours / SIGMA**2 < 0.32
    assert ours < 0.75 * oracle
    assert from_noisy.noise_.sigma == pytest.approx(SIGMA, rel=0.05)
    assert from_noisy.risk_ == pytest.approx(ours, rel=0.35)  # σ̂ is 2 % off, which is 4 % of σ² in the risk


def test_clean_examples_are_better_still_and_their_risk_is_the_error(digits, from_noisy):
    clean, _, tested_clean, tested = digits
    denoiser = small(examples="clean", noise=GaussianNoise(SIGMA)).fit(clean)
    error = mse(denoiser.transform(tested), tested_clean)
    assert 0.17 * SIGMA**2 < error < 0.9 * mse(from_noisy.transform(tested), tested_clean)
    assert denoiser.risk_ == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(
    ("law", "share"),
    [(SaltAndPepper(0.3), 0.25), (Masking(0.4), 0.3), (lambda X, rng: X + rng.laplace(0, 0.2, X.shape), 0.4)],
)
def test_other_laws_are_learnt_from_clean_examples(digits, law, share):
    clean, _, tested_clean, _ = digits
    tested = np.asarray(law(tested_clean, np.random.default_rng(2)), dtype=np.float32)
    found = small(examples="clean", noise=law, n_stages=1).fit(clean).transform(tested)
    assert 0.02 < mse(found, tested_clean) / mse(tested, tested_clean) < share


def test_rows_without_a_geometry_are_denoised_as_wholes(digits):
    clean, noisy, tested_clean, tested = digits
    error = mse(small(geometry=None).fit(noisy).transform(tested), tested_clean)
    assert 0.2 * SIGMA**2 < error < 0.5 * SIGMA**2
    told = small(geometry=None, examples="clean", noise=SIGMA).fit(clean)
    assert 0.15 * SIGMA**2 < mse(told.transform(tested), tested_clean) < 0.8 * error


def test_a_table_is_denoised_as_by_the_best_linear_filter_and_better_where_it_is_curved():
    rng = np.random.default_rng(0)
    angle, axes = rng.uniform(0, 2 * np.pi, 1000), np.linalg.qr(rng.standard_normal((10, 10)))[0]
    flat = rng.standard_normal((1000, 3)) @ axes[:3]
    curved = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(3 * angle)]) @ axes[:4]
    for clean, sigma, least, most in ((flat, 0.5, 0.9, 1.1), (curved, 0.3, 0.3, 0.7)):
        noisy = clean + sigma * rng.standard_normal(clean.shape)
        covariance = clean.T @ clean / len(clean)
        linear = np.trace(covariance @ np.linalg.inv(covariance / sigma**2 + np.eye(10))) / 10  # its error, in theory
        error = mse(small(geometry=None, noise=sigma, n_stages=4).fit_transform(noisy), clean)
        assert least < error / linear < most


def test_a_table_that_cannot_tell_its_noise_is_warned_of_and_loses_rather_too_little():
    X = load_wine().data
    clean = (X - X.mean(axis=0)) / X.std(axis=0)
    for sigma, most in ((0.1, 1.5), (0.5, 0.8)):
        noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            denoiser = Denoiser(random_state=0).fit(noisy)
        assert any("directions have signal" in str(warning.message) for warning in caught)
        assert 0.5 * sigma < np.mean(denoiser.noise_.sigmas) < 2.5 * sigma
        assert mse(denoiser.transform(noisy), clean) < most * mse(noisy, clean)


def test_told_that_there_is_no_noise_it_changes_nothing(digits):
    clean, noisy, *_ = digits
    found = small(noise=GaussianNoise(0)).fit(noisy)
    np.testing.assert_allclose(found.transform(noisy), noisy, rtol=1e-3)
    assert found.risk_ == 0
    told = small(examples="clean", noise=GaussianNoise(0), n_stages=1).fit(clean)
    np.testing.assert_allclose(told.transform(clean), clean, atol=1e-3)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.NoiseLevelWarning")
def test_on_clean_rows_the_change_is_at_most_the_noise_it_reports(digits):
    clean = digits[0]
    found = small().fit(clean)
    assert np.sqrt(mse(found.transform(clean), clean)) <= found.noise_.sigma


def test_too_large_a_sigma_costs_little_and_is_warned_of(digits, from_noisy):
    _, noisy, clean, tested = digits
    with pytest.warns(NoiseLevelWarning, match=r"the data show noise of 0\.2"):
        found = small(noise=1.2 * SIGMA).fit(noisy)
    right = mse(small(noise=SIGMA).fit(noisy).transform(tested), clean)
    assert 0 < 10 * np.log10(mse(found.transform(tested), clean) / right) < 2.5


def test_noise_that_is_not_gaussian_is_warned_of(digits):
    spoilt = SaltAndPepper(0.1)(digits[0] * 0.3 + 0.3, np.random.default_rng(0))
    with pytest.warns(NoiseLevelWarning, match="heavier tails"):
        small(n_stages=1, noise=0.12).fit(spoilt)


def test_fit_transform_is_fit_and_transform_and_a_seed_fixes_both(digits):
    noisy = digits[1][:200]
    one = small(n_stages=1).fit_transform(noisy)
    np.testing.assert_array_equal(one, small(n_stages=1).fit(noisy).transform(noisy))
    assert one.dtype == np.float32
    other = small(n_stages=1, random_state=1).fit_transform(noisy)
    assert 0 < np.abs(one - other).max() < 0.5


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0), (1e6, 0), (1, 1e4)])
def test_units_do_not_matter(digits, scale, offset):
    noisy = digits[1][:300].astype(float)
    plain = small(n_stages=1, noise=SIGMA).fit(noisy).transform(noisy)
    moved = small(n_stages=1, noise=SIGMA * scale).fit(scale * noisy + offset).transform(scale * noisy + offset)
    np.testing.assert_allclose((moved - offset) / scale, plain, atol=5e-3)


def test_a_model_file_gives_the_same_answers(tmp_path, digits, from_noisy):
    from_noisy.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").transform(digits[3]), from_noisy.transform(digits[3]))


@pytest.mark.slow
def test_more_effort_leaves_less_error_in_rows(digits):
    _, noisy, clean, tested = digits
    quick, standard = (
        Denoiser(geometry=(8, 8), noise=SIGMA, effort=effort, random_state=0).fit(noisy)
        for effort in ("quick", "standard")
    )
    errors = [mse(model.transform(tested), clean) for model in (quick, standard)]
    assert errors[1] < errors[0] < 0.3 * SIGMA**2
    sizes = [[level.local.features.n_kernel for level in model.stack_.levels] for model in (quick, standard)]
    assert max(sizes[0]) < max(sizes[1])


def test_effort_is_saved_and_checked(tmp_path, digits):
    model = small(effort="quick", n_landmarks="auto", n_stages=1).fit(digits[1][:200])
    model.save(tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").get_params()["effort"] == "quick"
    with pytest.raises(ValueError, match="effort must be one of quick, standard, best, not 'slow'"):
        small(effort="slow").fit(digits[1])
    with pytest.raises(ValueError, match='n_stages must be "auto" or a whole number'):
        small(n_stages="many").fit(digits[1])


@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_a_table_of_a_planted_subspace_loses_the_noise_beside_it(effort):
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((600, 3)) @ rng.standard_normal((3, 40))
    noisy = clean + 0.5 * rng.standard_normal(clean.shape)
    found = Denoiser(noise=0.5, effort=effort, random_state=0).fit_transform(noisy)
    assert mse(found, clean) < 1.6 * 3 / 40 * 0.5**2  # least squares on the true subspace leaves q/d of the noise


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_photograph_alone_loses_five_sixths_of_its_noise_and_tells_its_error(channels):
    photo = load_sample_image("flower.jpg")[100:260, 200:360] / 255
    photo = photo if channels else photo.mean(axis=2)
    noisy = photo + 0.1 * np.random.default_rng(0).standard_normal(photo.shape)
    denoiser = Denoiser(noise=0.1, random_state=0)
    found = denoiser.denoise_image(noisy)
    assert found.shape == photo.shape
    assert 0.05 < mse(found, photo) / 0.1**2 < 0.18
    assert denoiser.risk_ == pytest.approx(mse(found, photo), rel=0.25)
    assert denoiser.risk_ <= 1.1 * min(denoiser.candidates_.values())
    np.testing.assert_allclose(found + denoiser.residual_, noisy, rtol=1e-12)
    assert not hasattr(denoiser, "stack_")


def test_more_effort_leaves_less_error():
    photo = load_sample_image("flower.jpg")[100:228, 200:328].mean(axis=2) / 255
    noisy = photo + 0.1 * np.random.default_rng(0).standard_normal(photo.shape)
    quick, standard = (
        mse(Denoiser(effort=effort, random_state=0).denoise_image(noisy), photo) for effort in ("quick", "standard")
    )
    assert standard < 0.98 * quick


def test_a_picture_file_with_values_cut_off_loses_little_by_it():
    photo = load_sample_image("flower.jpg")[80:240, 80:240].mean(axis=2) / 255
    noisy = photo + 0.1 * np.random.default_rng(0).standard_normal(photo.shape)
    file = np.round(255 * np.clip(noisy, 0, 1)) / 255
    assert np.mean(file == 0) > 0.02
    denoiser = Denoiser(effort="quick", random_state=0)
    found, whole = denoiser.denoise_image(file), Denoiser(effort="quick", random_state=0).denoise_image(noisy)
    assert denoiser.noise_.sigma == pytest.approx(0.1, rel=0.1)
    assert denoiser.noise_.clip[0] == 0
    assert psnr(photo, found) > psnr(photo, whole) - 0.5


@pytest.mark.parametrize("peak", [10, 50])
def test_counted_light_is_recognised_and_its_noise_follows_the_brightness(peak):
    photo = load_sample_image("flower.jpg")[0:320, 100:420].mean(axis=2) / 255
    noisy = PoissonNoise(peak)(photo, np.random.default_rng(0))
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_image(noisy)
    assert denoiser.noise_.a == pytest.approx(1 / peak, rel=0.15)
    told = Denoiser(effort="quick", noise=PoissonNoise(peak), random_state=0).denoise_image(noisy)
    constant = Denoiser(effort="quick", noise=float(np.sqrt(mse(noisy, photo))), random_state=0).denoise_image(noisy)
    assert psnr(photo, found) > psnr(photo, told) - 0.2
    assert psnr(photo, found) > psnr(photo, constant) + 0.3


def test_grey_that_is_stored_as_colour_comes_back_grey():
    photo = load_sample_image("flower.jpg")[100:164, 200:264].mean(axis=2)
    noisy = np.round(np.clip(photo + 20 * np.random.default_rng(0).standard_normal(photo.shape), 0, 255))
    found = Denoiser(effort="quick", random_state=0).denoise_image(np.repeat(noisy[..., None], 3, axis=2))
    np.testing.assert_array_equal(found, np.repeat(found[..., :1], 3, axis=2))
    np.testing.assert_array_equal(found[..., 0], Denoiser(effort="quick", random_state=0).denoise_image(noisy))


@pytest.mark.parametrize("p", [0.05, 0.2])
def test_salt_and_pepper_is_recognised_and_beats_a_median(p):
    photo = load_sample_image("flower.jpg")[100:228, 200:328].mean(axis=2) / 255
    noisy = SaltAndPepper(p)(photo, np.random.default_rng(0))
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_image(noisy)
    assert denoiser.noise_.p == pytest.approx(p, rel=0.15)
    assert psnr(photo, found) > psnr(photo, median_filter(noisy, 3)) + 4
    assert 0.4 * mse(found, photo) < denoiser.risk_ < 2.5 * mse(found, photo)  # the error of so few values is chance


def test_the_risk_of_filled_values_is_their_error():
    photo = load_sample_image("flower.jpg")[100:228, 200:328].mean(axis=2)[..., None] / 255
    errors, risks = [], []
    for rng in np.random.default_rng(0).spawn(8):
        missing = rng.random(photo.shape) < 0.1
        noisy = np.where(missing, 0.0, photo)
        errors.append(mse(filled(noisy, missing), photo))
        risks.append(filling_risk(noisy, missing, rng))
    assert np.mean(risks) == pytest.approx(np.mean(errors), rel=0.25)  # errors of single draws differ by 40 %


@pytest.mark.parametrize("p", [0.05, 0.15])
def test_impulses_of_any_value_are_recognised_and_beat_a_median(p):
    clean = load_sample_image("flower.jpg").mean(axis=2)[100:292, 200:392] / 255
    noisy = RandomImpulses(p)(clean, 0)
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_image(noisy)
    assert isinstance(denoiser.noise_, RandomImpulses)
    assert denoiser.noise_.p == pytest.approx(p, rel=0.2)
    assert 0.4 * mse(found, clean) < denoiser.risk_ < 2.5 * mse(found, clean)  # those not found are told by their law
    assert psnr(clean, found) > psnr(clean, median_filter(noisy, 3))


@pytest.mark.parametrize(("peak", "corner"), [(20, (171, 384)), (30, (171, 384)), (25, (85, 192))])
def test_counted_light_is_not_taken_for_impulses(peak, corner):
    rows, columns = (slice(start, start + 256) for start in corner)
    photo = load_sample_image("china.jpg")[rows, columns] / 255
    counted = np.round(255 * np.clip(np.random.default_rng(0).poisson(peak * photo) / peak, 0, 1)) / 255
    assert impulses_in(counted) is None


def test_texture_that_stays_after_filling_is_not_taken_for_impulses():
    photo = load_sample_image("china.jpg")[100:196, 200:296].mean(axis=2) / 255
    noisy = GaussianNoise(0.02)(photo, np.random.default_rng(0))
    assert impulses_in(noisy[..., None]) is None


def test_impulses_are_filled_once_whatever_is_found_in_the_rest(monkeypatch):
    photo = load_sample_image("flower.jpg")[100:132, 200:232].mean(axis=2) / 255
    some = np.zeros((*photo.shape, 1), dtype=bool)
    some[3, 4] = True
    monkeypatch.setattr(alone, "impulses_in", lambda image: Impulses(some, SaltAndPepper(0.001), 0.0))
    denoiser = Denoiser(effort="quick", random_state=0)
    denoiser.denoise_image(photo)
    assert isinstance(denoiser.noise_, SaltAndPepper)


@pytest.mark.parametrize("c", [0.02, 0.1])
def test_speckle_is_recognised_and_removed_as_if_it_had_been_named(c):
    clean = load_sample_image("china.jpg").mean(axis=2)[100:292, 200:392] / 255
    noisy = SpeckleNoise(c)(clean, 0)
    denoiser = Denoiser(effort="quick", random_state=0)
    found = denoiser.denoise_image(noisy)
    named = Denoiser(effort="quick", noise=SpeckleNoise(c), random_state=0).denoise_image(noisy)
    assert isinstance(denoiser.noise_, SpeckleNoise)
    assert mse(found, clean) < 1.1 * mse(named, clean)
    level = Denoiser(effort="quick", noise=float(np.std(noisy - clean)), random_state=0).denoise_image(noisy)
    assert mse(named, clean) < 0.95 * mse(level, clean)


@pytest.mark.parametrize("size", [4, 6])
def test_fields_in_black_and_white_whose_noise_is_cut_off_have_no_impulses(size):
    stripes = np.arange(48) // size
    fields = ((stripes[:, None] + stripes) % 2).astype(float)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        for sigma in (0.1, 0.15, 0.2):
            assert impulses_in(GaussianNoise(sigma, clip=(0, 1))(fields, rng)[..., None]) is None


def test_impulses_among_fields_in_dark_and_bright_are_found():
    rng, stripes = np.random.default_rng(0), np.arange(48) // 6
    fields = 0.1 + 0.8 * ((stripes[:, None] + stripes) % 2)
    found = impulses_in(np.where(rng.random(fields.shape) < 0.1, rng.integers(0, 2, fields.shape), fields)[..., None])
    assert found is not None and found.law.p == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("p", [0.02, 0.05, 0.2])
def test_impulses_are_found_in_a_picture_with_black_and_white_of_its_own(p):
    photo = np.clip(1.7 * load_sample_image("flower.jpg")[100:228, 200:328].mean(axis=2) / 255 - 0.25, 0, 1)
    assert np.mean(photo == 0) > 0.05 and np.mean(photo == 1) > 0.05
    impulses = np.random.default_rng(0).random(photo.shape) < p
    noisy = np.where(impulses, SaltAndPepper(1.0)(photo, 1), photo)
    found = impulses_in(noisy[..., None])
    assert isinstance(found.law, SaltAndPepper)
    seen = impulses & (np.abs(noisy - photo) > 0.3)
    assert found.missing[..., 0][seen].mean() > 0.99 and found.missing[..., 0][~impulses].mean() < 0.02
    assert mse(filled(noisy[..., None], found.missing)[..., 0], photo) < 0.05 * mse(noisy, photo)


@pytest.mark.parametrize("name", ["china", "flower"])
def test_what_is_black_and_white_by_itself_has_no_impulses(name):
    pil = pytest.importorskip("PIL.Image")
    photo = load_sample_image(f"{name}.jpg")[100:228, 200:328].mean(axis=2)
    dithered = np.asarray(pil.fromarray(np.uint8(photo)).convert("1"))
    dots, stars = np.full((100, 100), 0.5), np.zeros((100, 100))
    dots[::5, ::5] = 1
    stars[tuple(np.random.default_rng(0).integers(0, 100, (2, 80)))] = np.linspace(0.5, 3, 80)
    hard = np.clip(6 * (photo / 255 - 0.5) + 0.5, 0, 1)
    for image in (dithered, photo > np.median(photo), dots, np.clip(stars, 0, 1), hard):
        assert impulses_in(image.astype(float)[..., None]) is None


@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_noise_that_is_cut_off_is_not_taken_for_salt_and_pepper(sigma):
    photo = load_sample_image("flower.jpg")[0:160, 0:160].mean(axis=2) / 255
    noisy = np.clip(photo + sigma * np.random.default_rng(0).standard_normal(photo.shape), 0, 1)
    denoiser = Denoiser(effort="quick", random_state=0)
    denoiser.denoise_image(noisy)
    assert denoiser.noise_.sigma == pytest.approx(sigma, rel=0.1)


@pytest.mark.parametrize("quality", [75, 90])
def test_colours_stored_at_half_the_resolution_are_denoised_there(quality):
    pil = pytest.importorskip("PIL.Image")
    photo = load_sample_image("flower.jpg")[100:260, 200:360] / 255
    noisy = np.clip(photo + 20 / 255 * np.random.default_rng(0).standard_normal(photo.shape), 0, 1)
    stored = io.BytesIO()
    pil.fromarray(np.uint8(np.round(255 * noisy))).save(stored, "JPEG", quality=quality, subsampling=2)
    read = np.asarray(pil.open(stored)) / 255
    found = Denoiser(effort="quick", random_state=0).denoise_image(read)
    assert psnr(photo, found) > psnr(photo, read) + 2


@pytest.mark.parametrize("name", ["china", "flower"])
@pytest.mark.parametrize("axis", [None, 2])
def test_a_clean_picture_comes_back_nearly_as_it_was(name, axis):
    photo = load_sample_image(f"{name}.jpg")[100:228, 200:328] / 255
    photo = photo if axis is None else photo.mean(axis=axis)
    assert psnr(photo, Denoiser(effort="quick", random_state=0).denoise_image(photo)) > 45


@pytest.mark.parametrize("axis", [None, 2])
@pytest.mark.parametrize("sigma", [0.0, 0.02])
def test_a_picture_of_texture_alone_is_left_as_it_is_with_a_warning(sigma, axis):
    photo = load_sample_image("china.jpg")[100:164, 200:264] / 255
    photo = photo if axis is None else photo.mean(axis=axis)
    noisy = GaussianNoise(sigma)(photo, np.random.default_rng(0)) if sigma else photo
    with pytest.warns(NoiseLevelWarning, match="no part of the image is flat"):
        found = Denoiser(effort="quick", random_state=0).denoise_image(noisy)
    assert mse(found, photo) <= mse(noisy, photo)


@pytest.mark.filterwarnings("ignore:no part of the image is flat:preimage.exceptions.NoiseLevelWarning")
@pytest.mark.parametrize(("rows", "columns", "seed"), [((199, 233), (295, 329), 6), ((239, 288), (582, 631), 0)])
def test_texture_is_not_taken_for_impulses(rows, columns, seed):
    photo = load_sample_image("china.jpg")[slice(*rows), slice(*columns)].mean(axis=2) / 255
    noisy = GaussianNoise(0.02)(photo, np.random.default_rng(seed))
    denoiser = Denoiser(effort="quick", random_state=0)
    assert mse(denoiser.denoise_image(noisy), photo) <= 1.01 * mse(noisy, photo)
    assert not isinstance(denoiser.noise_, RandomImpulses)


def test_a_level_that_texture_may_hide_is_believed():
    photo = load_sample_image("china.jpg")[100:164, 200:264].mean(axis=2) / 255
    noisy = GaussianNoise(0.02)(photo, np.random.default_rng(0))
    found = Denoiser(effort="quick", noise=0.02, random_state=0).denoise_image(noisy)
    assert mse(found, photo) < 0.9 * mse(noisy, photo)


@pytest.mark.parametrize("n", [100, 300])
def test_small_pictures_from_files_are_better_than_linear_pca_at_its_best_though_their_noise_is_cut_off(n):
    clean = load_digits().X[np.random.default_rng(0).permutation(1797)[: n + 200]]
    files = np.round(255 * np.clip(clean + 0.25 * np.random.default_rng(1).standard_normal(clean.shape), 0, 1)) / 255
    denoiser = Denoiser(geometry=(8, 8), random_state=0).fit(files[:n])
    assert denoiser.noise_.sigma == pytest.approx(0.25, rel=0.1)
    linear = min(
        mse(PCA(q).fit(files).inverse_transform(PCA(q).fit(files).transform(files)), clean) for q in range(4, 30, 2)
    )
    for rows in (slice(n), slice(n, None)):
        assert mse(denoiser.transform(files[rows]), clean[rows]) < 0.95 * linear
    assert 0.2 * linear < denoiser.risk_ < linear


@pytest.mark.parametrize("channels", [(), (2,)])
def test_frames_of_a_stack_help_each_other(channels):
    photo = load_sample_image("flower.jpg")[100:148, 200:248].mean(axis=2) / 255
    clean = np.stack([np.roll(photo, shift, axis=1) for shift in range(4)])  # a film of a moving picture
    clean = np.stack([clean] * 2, axis=-1) if channels else clean
    noisy = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape)
    denoiser = Denoiser(noise=0.1, effort="quick", random_state=0)
    found = denoiser.denoise_stack(noisy)
    alone = np.stack([denoiser.denoise_image(frame) for frame in noisy])
    assert found.shape == clean.shape
    assert mse(found, clean) < 0.8 * mse(alone, clean)


def test_a_sigma_far_above_what_the_picture_shows_is_warned_of():
    photo = load_sample_image("flower.jpg")[100:164, 200:264].mean(axis=2) / 255
    noisy = photo + 0.05 * np.random.default_rng(0).standard_normal(photo.shape)
    with pytest.warns(NoiseLevelWarning, match="the image shows noise of 0.0"):
        Denoiser(noise=0.2, effort="quick", random_state=0).denoise_image(noisy)


@pytest.mark.parametrize("frames", [(), (2,)])
def test_a_large_picture_or_stack_in_tiles_is_answered_as_whole_away_from_the_seams(frames, monkeypatch):
    photo = load_sample_image("china.jpg")[:200, : 40 if frames else 200].mean(axis=2) / 255
    clean = np.broadcast_to(photo, (*frames, *photo.shape))
    noisy, seen = clean + 0.1 * np.random.default_rng(0).standard_normal(clean.shape), []
    denoiser = Denoiser(noise=0.1, effort="quick", random_state=0)
    denoise = denoiser.denoise_stack if frames else denoiser.denoise_image
    whole = denoise(noisy)
    monkeypatch.setattr("preimage.denoising.pictures.MOST_POINTS", 1000)
    monkeypatch.setattr("preimage.denoising.pictures.TILE", 120)
    with progress.listen(lambda *stage: seen.append(stage)):
        tiled = denoise(noisy)
    apart = np.abs(tiled - whole)[..., :80, :80]
    # Two patches can be equally near up to round-off; which one joins a group changes the points around it.
    assert np.mean(apart > 1e-5) < 0.15 and np.sqrt(np.mean(np.square(apart))) < 0.01 * 0.1
    assert mse(tiled, clean) < 1.02 * mse(whole, clean)
    n_tiles = 2 if frames else 4
    steps = [done for _, done, _ in seen]
    assert {(stage, total) for stage, _, total in seen} == {("tiles", n_tiles)}
    assert steps == sorted(steps) and set(range(1, n_tiles + 1)) < set(steps) and steps[-1] == n_tiles


@pytest.mark.parametrize("cut_off", [False, True])
def test_progress_of_many_pictures_goes_forward(cut_off, monkeypatch):
    monkeypatch.setattr("preimage.denoising.readout.AT_ONCE", 2000)
    clean = np.random.default_rng(1).random((120, 1, 1)) * np.hanning(8)[:, None] * np.hanning(8)
    noisy, steps = clean + 0.2 * np.random.default_rng(0).standard_normal(clean.shape), []
    rows = (np.round(255 * np.clip(noisy, 0, 1)) / 255 if cut_off else noisy).reshape(120, -1)
    with progress.listen(lambda stage, done, total: steps.append(done / total)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Denoiser(geometry=(8, 8), effort="quick", random_state=0).fit(rows)
    assert steps == sorted(steps)
    assert steps[-1] == 1
    assert len(set(steps)) >= (5 if cut_off else 7)


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (1, 300), (300, 2, 3)])
def test_an_image_too_small_to_tell_its_noise_is_left_with_a_sentence(shape):
    image = np.random.default_rng(0).random(shape)
    with pytest.warns(NoiseLevelWarning, match="to estimate its noise"):
        np.testing.assert_array_equal(Denoiser().denoise_image(image), image)
    told = Denoiser(noise=0.1, effort="quick", random_state=0).denoise_image(image)
    assert np.isfinite(told).all() and told.shape == shape


def test_the_scale_of_a_picture_does_not_matter():
    photo = load_sample_image("flower.jpg")[100:164, 200:264].mean(axis=2) / 255
    noisy = photo + 0.1 * np.random.default_rng(0).standard_normal(photo.shape)
    found, large = (Denoiser(effort="quick", random_state=0).denoise_image(y) for y in (noisy, 1000 * noisy - 300))
    np.testing.assert_allclose((large + 300) / 1000, found, atol=2e-4)


def test_a_signal_alone_is_denoised_and_the_estimator_stays_unfitted():
    t = np.linspace(0, 60, 6000)
    clean = np.sin(2 * t) * (1 + 0.3 * np.sin(0.4 * t)) + np.exp(-20 * np.square(np.sin(t)))
    noisy = clean + 0.3 * np.random.default_rng(0).standard_normal(t.shape)
    denoiser = Denoiser(random_state=0)
    found = denoiser.denoise_signal(noisy)
    assert mse(found, clean) < 0.15 * 0.09
    assert not hasattr(denoiser, "stack_")


def test_a_few_images_are_learnt_from_in_pieces():
    photo = load_sample_image("flower.jpg").mean(axis=2)[:120, :160] / 255
    noisy = photo + 0.1 * np.random.default_rng(0).standard_normal((3, *photo.shape))
    found = small(geometry=photo.shape).fit(noisy.reshape(3, -1)).transform(noisy.reshape(3, -1))
    assert mse(found, photo.ravel()) < 0.25 * 0.01


def test_constant_images_come_back_as_they_are(digits, from_noisy):
    assert np.all(Denoiser().denoise_image(np.full((30, 40), 7.0)) == 7.0)
    flat = from_noisy.transform(np.full((2, 64), 0.3, dtype=np.float32))
    assert np.isfinite(flat).all()
    assert np.abs(flat - 0.3).max() < 3 * SIGMA


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"examples": "dirty"}, 'must be "noisy" or "clean"'),
        ({"examples": "clean"}, "give it"),
        ({"noise": SaltAndPepper(0.3)}, "only Gaussian noise"),
        ({"noise": PoissonNoise(30)}, "3/8"),
        ({"noise": GaussianNoise(0.3, clip=(0, 1))}, "only Gaussian noise"),
        ({"geometry": (7, 9)}, "do not have the geometry"),
        ({"geometry": "8x8"}, "geometry must be"),
        ({"geometry": (8, 8, 1, 1)}, "geometry must be"),
        ({"kernel": Polynomial()}, "length scale"),
        ({"n_landmarks": 0}, "n_landmarks"),
        ({"n_stages": 1.5}, "n_stages"),
    ],
)
def test_wrong_settings_get_a_sentence_at_fit(digits, settings, sentence):
    denoiser = small(**settings)
    with pytest.raises(ValueError, match=sentence):
        denoiser.fit(digits[1])
    assert not hasattr(denoiser, "stack_")


def test_a_noise_that_is_none_gets_a_sentence(digits):
    with pytest.raises(TypeError, match="noise must be"):
        small(noise="loud").fit(digits[1])


def test_rows_with_gaps_get_a_sentence(digits, from_noisy):
    holes = digits[1].copy()
    holes[3, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        small().fit(holes)
    with pytest.raises(ValueError, match="NaN"):
        from_noisy.transform(holes)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda d: d.denoise_image(np.zeros(5)), "2 or 3 axes"),
        (lambda d: d.denoise_stack(np.zeros((5, 5))), "3 or 4 axes"),
        (lambda d: d.denoise_signal(np.zeros((5, 5, 5))), "1 or 2 axes"),
        (lambda d: d.denoise_image(np.full((9, 9), np.nan)), "fill them first"),
        (lambda d: d.set_params(noise=Masking(0.1)).denoise_signal(np.arange(9.0)), "only Gaussian noise"),
        (lambda d: d.set_params(effort="most").denoise_image(np.eye(50)), "effort must be one of"),
        (lambda d: d.set_params(noise=Masking(0.1)).denoise_image(np.eye(50)), "only Gaussian, Poisson and speckle"),
        (lambda d: d.set_params(examples="clean", noise=0.1).denoise_image(np.eye(50)), "no clean examples"),
    ],
)
def test_an_image_that_cannot_be_denoised_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(Denoiser())


def test_a_given_length_scale_is_kept(digits):
    found = small(n_stages=1, kernel=Gaussian(2.0)).fit(digits[1])
    assert found.stack_.levels[0].local.features.kernel.length_scale == 2.0
    assert clone(found).get_params()["kernel__length_scale"] == 2.0


def test_interrupted_work_leaves_the_estimator_as_it_was(digits, from_noisy):

    before = from_noisy.stack_

    def stop(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress.listen(stop), warnings.catch_warnings():
        from_noisy.fit(digits[1])
    assert from_noisy.stack_ is before


def test_arrays_that_are_no_tables_are_refused_in_one_sentence_that_names_what_takes_them():
    with pytest.raises(ValueError, match=r"1D array of 2000 values\. .* use denoise_signal\.$"):
        Denoiser().fit(np.zeros(2000))
    with pytest.raises(ValueError, match=r"X\.reshape\(len\(X\), -1\) .* Denoiser\(geometry=\(4, 6\)\)\.$"):
        Denoiser().fit(np.zeros((5, 4, 6)))
