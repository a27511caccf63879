"""The stages of the denoiser: views, features, read-outs with and without clean examples, levels."""

import numpy as np
import pytest

from preimage.denoising.examples import Clean, Noisy
from preimage.denoising.learning import Budget, Learner, Units, in_units
from preimage.denoising.linear import LinearFilter
from preimage.denoising.pieces import cut, small_patches
from preimage.denoising.readout import SecondMoments, gather
from preimage.denoising.saturation import Limits, Mending
from preimage.denoising.stack import Blurred, Level, Stack, StackPlan
from preimage.denoising.stage import Crossed, Recipe, Stage
from preimage.denoising.stage_features import Features
from preimage.denoising.views import Coded, Lens, Whole, Windows
from preimage.exceptions import NoiseLevelWarning
from preimage.gram import threads
from preimage.kernels import Gaussian, Matern
from preimage.kernels.geometry import squared_distances
from preimage.noise import GaussianNoise

RNG = np.random.default_rng


def blobs(n, side=12, seed=0):
    """Smooth images: two Gaussian spots each, at random places."""
    rng, axis = RNG(seed), np.arange(side)
    centres = rng.uniform(2, side - 3, (n, 2, 2))
    spots = np.exp(
        -(np.square(axis - centres[..., :1])[..., :, None] + np.square(axis - centres[..., 1:])[..., None, :]) / 6
    )
    return spots.sum(axis=1)[..., None].astype(np.float32)


def noisy(images, sigma, seed=1):
    return GaussianNoise(sigma)(images, RNG(seed))


@pytest.mark.parametrize("shape", [(3, 7, 9, 1), (2, 6, 5, 3), (4, 30, 1)])
def test_a_window_holds_the_weighted_surroundings_of_its_place(shape):
    first, second = RNG(0).random((2, *shape), dtype=np.float32)
    view = Windows((Lens(1.0, 0.6), Lens(3.0, 0.9)), position=0.5)
    n, grid = view.places(shape), shape[1:-1]
    rows = view.reader([first, second])(np.arange(n))
    for place in (0, n // 2, n - 1):
        image, *point = np.unravel_index(place, shape[:-1])
        expected = []
        for images, lens in ((first, Lens(1.0, 0.6)), (second, Lens(3.0, 0.9))):
            width, radius = lens.along(len(grid))
            for channel in range(shape[-1]):
                for offset in np.ndindex(*(2 * radius + 1,) * len(grid)):
                    at = np.array(point) + offset - radius
                    inside = tuple(
                        np.abs(i) if i < side else 2 * side - 2 - i for i, side in zip(at, grid, strict=True)
                    )
                    weight = lens.weight * np.exp(-np.sum((np.array(offset) - radius) ** 2) / (2 * width**2))
                    expected.append(weight * images[(image, *inside, channel)])
        expected += [0.5 * (2 * i / (side - 1) - 1) for i, side in zip(point, grid, strict=True)]
        np.testing.assert_allclose(rows[place], expected, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 7, 9, 1), (2, 6, 5, 3), (4, 30, 1), (1, 2, 2, 1), (1, 1, 9, 1)])
@pytest.mark.parametrize("view", [Windows((Lens(1.0, 1.0),)), Whole((1.0,))])
def test_perfect_answers_give_the_images_back(shape, view):
    images = RNG(0).random(shape, dtype=np.float32)
    answers = view.targets(images)(np.arange(view.places(shape)))
    np.testing.assert_allclose(view.assemble(answers, shape), images, atol=1e-6)


def test_codes_are_seen_alone_or_beside_the_row():
    rows = RNG(0).standard_normal((60, 1, 4)).astype(np.float32)
    alone = Coded.fit(Whole((1.0,)), [rows], Gaussian(), RNG(0))
    beside = Coded(Whole((1.0,), with_values=True), alone.model)
    seen = beside.reader([rows])(np.arange(60))
    np.testing.assert_array_equal(seen[:, :-4], alone.reader([rows])(np.arange(60)))
    np.testing.assert_array_equal(seen[:, -4:], rows[:, 0])


def test_a_whole_sees_only_maps_with_a_weight():
    first, second = RNG(0).random((2, 5, 2, 3, 1))
    rows = Whole((0.0, 2.0)).reader([first, second])(np.array([4, 1]))
    np.testing.assert_array_equal(rows, 2 * second.reshape(5, 6)[[4, 1]])


@pytest.mark.parametrize("kernel", [Gaussian(None), Matern(None, nu=1.5)])
def test_features_are_kernel_values_the_row_and_one(kernel):
    rows = RNG(0).standard_normal((300, 6)) * [5, 3, 2, 1, 0.1, 0.001]
    features = Features.choose(kernel, rows, np.arange(20))
    assert features.basis.shape[1] == 4  # the last two directions hold less than half a per cent
    total = np.square(rows - rows.mean(axis=0)).sum() / 300
    assert features.kernel.length_scale == pytest.approx(np.sqrt(0.3 * total), rel=1e-6)
    centred = rows - rows.mean(axis=0)
    inside = centred @ features.basis
    phi = features(rows[:50])
    np.testing.assert_allclose(phi[:, :20], features.kernel(inside[:50], inside[:20]), atol=1e-12)
    np.testing.assert_allclose(phi[:, 20:26], centred[:50], atol=1e-12)
    np.testing.assert_array_equal(phi[:, -1], 1)
    weights = RNG(1).standard_normal((27, 3))
    np.testing.assert_allclose(features.times(rows[:50], weights), phi @ weights, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(None), Matern(None, nu=0.5)])
def test_rows_equal_to_landmarks_have_kernel_values_of_one_in_single_precision(kernel):
    rows = (100 + RNG(0).standard_normal((400, 30))).astype(np.float32)
    features = Features.choose(kernel, rows, np.arange(400))
    values = np.diag(features(rows)[:, :400]).astype(float)
    nearest = np.sqrt(400 * 30 * np.finfo(np.float32).eps)  # round-off of ‖u − z‖²/ℓ², and its root for Matérn
    assert np.all((values <= 1 + 1e-6) & (values > 1 - nearest))


def test_answers_by_blocks_are_features_times_weights():
    images = RNG(0).standard_normal((19, 12, 11, 1)).astype(np.float32)  # 2508 places: no multiple of a block
    view = Windows((Lens(1.0, 1.0),))
    rows = view.reader([images])(np.arange(2508))
    features = Features.choose(Gaussian(None), rows, np.arange(50))
    weights = RNG(1).standard_normal((features.n, 9)).astype(np.float32)
    found = Stage(view, features, weights).predictions([images], weights)
    np.testing.assert_allclose(found, features(rows).astype(float) @ weights, atol=1e-4)


def test_a_ridge_read_out_solves_the_normal_equations():
    phi = RNG(0).standard_normal((200, 12))
    truth = RNG(1).standard_normal((200, 3))
    moments = SecondMoments(phi.T @ phi / 200, phi.T @ truth / 200)
    penalty = np.r_[np.ones(7), np.full(4, 0.01 * np.diag(moments.features)[7:-1].mean()), 1e-3]
    for ridge, found in zip((1e-3, 0.1, 10), moments.weights((1e-3, 0.1, 10), 7), strict=True):
        expected = np.linalg.solve(moments.features + ridge * np.diag(penalty), moments.truth)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_moments_gathered_by_blocks_are_those_of_the_formula():
    truth = blobs(40).astype(float)
    examples, view = Clean(truth, noisy(truth, 0.2)), Windows((Lens(1.0, 1.0),))
    maps, places = [examples.images], RNG(0).permutation(40 * 144)[:4500]
    rows = view.reader(maps)(places)
    features = Features.choose(Gaussian(None), rows, np.arange(30))
    moments = gather(features, view, view.reader(maps), examples, places)
    phi = features(rows)
    np.testing.assert_allclose(moments.features, phi.T @ phi / 4500, atol=1e-12)
    np.testing.assert_allclose(moments.truth, phi.T @ view.targets(truth)(places) / 4500, atol=1e-12)


def test_the_linear_filter_of_noisy_rows_tends_to_that_of_the_planted_covariance():
    rng, sigma = RNG(0), 0.5
    axes, variances = np.linalg.qr(rng.standard_normal((6, 6)))[0], np.array([4, 2, 1, 0.2, 0, 0])
    truth = (rng.standard_normal((40_000, 6)) * np.sqrt(variances)) @ axes.T + 3
    rows = (truth + sigma * rng.standard_normal(truth.shape)).astype(np.float32).reshape(-1, 1, 6)
    found = LinearFilter.fit(Noisy.draw(rows, sigma, rng))
    np.testing.assert_allclose(found.gain, (axes * (variances / (variances + sigma**2))) @ axes.T, atol=0.01)
    error = np.mean(np.square(found([rows])[:, 0] - truth))
    assert error == pytest.approx(np.mean(variances * sigma**2 / (variances + sigma**2)), rel=0.02)
    assert np.linalg.eigvalsh(found.gain).min() > -1e-6  # nothing is turned round, where nothing but noise is


def test_the_linear_filter_of_clean_rows_is_least_squares():
    rng = RNG(0)
    truth = rng.standard_normal((200, 1, 5)).astype(np.float32)
    rows = truth @ rng.standard_normal((5, 5)).astype(np.float32) + 1
    rows[..., -1] = rows[..., 0]  # a column that says nothing new
    inputs = np.column_stack([rows[:, 0], np.ones(200)])
    expected = inputs @ np.linalg.lstsq(inputs, truth[:, 0], rcond=1e-6)[0]
    np.testing.assert_allclose(LinearFilter.fit(Clean(truth, rows))([rows])[:, 0], expected, atol=2e-3)


def test_the_probe_has_the_mean_of_the_closed_form_derivative():
    """E[(φ(y + hb) − φ(y))bᵀ]/h → ∂φ/∂y = 2κ′(‖u − z‖²) B(u − z) for kernel values, 1 for the linear part."""
    images, sigma, repeats = RNG(0).standard_normal((3, 1, 4)), 0.01, 20_000
    features = Features.choose(Gaussian(1.5), RNG(1).standard_normal((200, 4)), np.arange(6))
    view = Whole((1.0,))
    many = Noisy.draw(np.repeat(images, repeats, axis=0), sigma, RNG(2))
    read, places = view.reader([many.images]), np.arange(3 * repeats)
    phi = features(read(places))
    by_probe = (
        phi.T @ view.targets(many.images[: many.n])(places) - many.moment(features, phi, read, view, places)
    ) / sigma**2
    rows = images.reshape(3, 4)
    inside = (rows - features.mean) @ features.basis
    slopes = 2 * features.kernel.derivative(squared_distances(inside, features.landmarks))
    kernel_part = (slopes.T @ inside - slopes.sum(axis=0)[:, None] * features.landmarks) @ features.basis.T
    expected = np.vstack([kernel_part, 3 * np.eye(4), np.zeros((1, 4))])
    error = 4 * np.sqrt(3 * 4 / repeats)  # four standard errors of a sum of products of signs
    np.testing.assert_allclose(by_probe / repeats, expected, atol=error)


def test_read_outs_with_and_without_clean_examples_agree_as_examples_grow():
    view, gaps = Windows((Lens(1.0, 1.0),)), []
    for n in (50, 800):
        truth = blobs(n)
        clean = Clean(truth, noisy(truth, 0.3))
        stein = Noisy.draw(clean.images, 0.3, RNG(2))
        places = np.arange(n * 144)
        rows = view.reader([noisy(blobs(20, seed=9), 0.3, 10)])(np.arange(20 * 144))
        features = Features.choose(Gaussian(None), rows, RNG(3).permutation(len(rows))[:40])
        with_truth = gather(features, view, view.reader([clean.images]), clean, places).weights([1e-3], 40)[0]
        without = gather(features, view, view.reader([stein.images]), stein, places).weights([1e-3], 40)[0]
        phi = features(view.reader([clean.images])(places[:2000]))
        gaps.append(np.linalg.norm(phi @ (with_truth - without)) / np.linalg.norm(phi @ with_truth))
    assert gaps[1] < 0.4 * gaps[0]  # 1/√16 is 0.25
    assert gaps[1] < 0.05


def test_the_estimated_error_of_a_whole_stack_is_the_true_one():
    truth = blobs(700)
    y, sigma = noisy(truth, 0.3), 0.3
    learner = Learner(Gaussian(None), Budget(100, (1.0,) * 2), wholes=True, windows=True)
    stack = learner.from_noisy(y[:500], sigma, RNG(0))
    assert len(stack.levels) == 2
    estimates = stack(y[500:])
    true = float(np.mean(np.square(estimates - truth[500:])))
    assert true < 0.15 * sigma**2
    validation = Noisy.draw(y[500:], sigma, RNG(5))
    estimated = validation.risk(stack(validation.images))
    assert estimated == pytest.approx(true, rel=0.1)
    assert abs(stack.risk - true) < 3 * np.sqrt(2) * sigma**2 / np.sqrt(62 * 144)  # from 62 images


@pytest.mark.slow
def test_levels_lower_the_risk_and_clean_examples_are_worth_more_than_noisy_ones():
    truth, y = blobs(400), noisy(blobs(400), 0.3)
    tested, seen = blobs(200, seed=7), noisy(blobs(200, seed=7), 0.3, 8)
    learner = Learner(Gaussian(None), Budget(100, (1.0,) * 3), wholes=True, windows=True)
    law = GaussianNoise(0.3)
    with_clean = learner.from_clean(truth, law, RNG(0))
    without = learner.from_noisy(y, 0.3, RNG(0))
    risks = [level.risk for level in with_clean.levels]
    assert risks == sorted(risks, reverse=True)
    errors = [float(np.mean(np.square(stack(seen) - tested))) for stack in (with_clean, without)]
    assert errors[0] < errors[1] < 0.1 * 0.09


def test_images_of_a_fold_are_answered_by_the_stage_fitted_without_it():
    truth = blobs(60)
    examples, fold = Clean(truth, noisy(truth, 0.2)), np.arange(60) % 3
    crossed = Recipe(Gaussian(None), 30, 1000).crossed(Whole((1.0,)), [examples.images], examples, fold, RNG(0))
    assert len(crossed.stages) == 3
    assert all(isinstance(stage.view, Coded) for stage in crossed.stages)
    found = crossed.left_out([examples.images], fold)
    for number, stage in enumerate(crossed.stages):
        np.testing.assert_allclose(found[fold == number], stage([examples.images])[fold == number], atol=1e-5)
    np.testing.assert_allclose(
        crossed([examples.images]), np.mean([stage([examples.images]) for stage in crossed.stages], axis=0), atol=1e-6
    )


def test_folds_fitted_side_by_side_are_those_fitted_one_by_one(monkeypatch):
    truth = blobs(60)
    examples, fold = Clean(truth, noisy(truth, 0.2)), np.arange(60) % 3
    found = []
    for n_threads in (1, 2):
        monkeypatch.setattr(threads, "n_threads", lambda n=n_threads: 1 if threads._alone.get() else n)
        crossed = Recipe(Gaussian(None), 30, 1000).crossed(Whole((1.0,)), [examples.images], examples, fold, RNG(0))
        found.append([stage.weights for stage in crossed.stages])
    np.testing.assert_array_equal(found[0], found[1])


def test_pieces_are_answered_by_the_half_that_did_not_learn_from_them_and_others_by_both():
    images, fold = np.zeros((4, 8, 8, 1), dtype=np.float32), np.arange(4)
    level = Level(Blurred(), Crossed(tuple(lambda maps, answer=answer: maps[0] + answer for answer in (1, 3))))
    np.testing.assert_array_equal(level(images, None, fold)[:, 0, 0, 0], [1, 3, 1, 3])
    np.testing.assert_array_equal(level(images, None), 2)


@pytest.mark.parametrize(("n", "n_stages"), [(30, 1), (60, 2), (1200, 1)])
def test_halves_are_fitted_where_places_are_few_and_not_very_few(n, n_stages):
    learner = Learner(Gaussian(), Budget(20, (1.0,) * 1), wholes=False, windows=True, anywhere=True)
    (level,) = learner.from_noisy(noisy(blobs(n, 16), 0.1), 0.1, RNG(0)).levels
    assert (len(level.local.stages) if isinstance(level.local, Crossed) else 1) == n_stages


def test_what_lower_levels_computed_is_reused_without_a_change():
    truth = blobs(80)
    examples, fold = Noisy.draw(noisy(truth, 0.3), 0.3, RNG(0)), np.arange(80) % 3
    validation = Noisy.draw(noisy(blobs(40, seed=5), 0.3), 0.3, RNG(1))
    levels = []

    class Watched(StackPlan):
        def _level(self, number, whole, taught, validated, rng):
            levels.append((taught.below, validated.below))
            return super()._level(number, whole, taught, validated, rng)

    recipe = Recipe(Gaussian(None), 40, 4000)
    stack = Watched(recipe, (recipe,) * 2, 2, 0.5).fit(lambda: (examples, fold), validation, RNG(2))
    first = Stack(stack.levels[:1])
    below = first(examples.images, np.tile(fold, 2))
    np.testing.assert_allclose(levels[1][0], below, atol=1e-5)
    np.testing.assert_allclose(levels[1][1], first(validation.images), atol=1e-5)


def test_a_stack_that_ends_early_has_the_last_recipe_in_its_last_level():
    truth = blobs(300)
    examples = Clean(truth, noisy(truth, 0.3))
    validation = Clean(blobs(80, seed=5), noisy(blobs(80, seed=5), 0.3, 6))
    few, many = (Recipe(Gaussian(None), n, 20_000) for n in (5, 200))
    plan = StackPlan(None, (few, few, many), n_levels=1, position=0.0)
    stack = plan.fit(lambda: (examples, np.zeros(300, dtype=int)), validation, RNG(0))
    (level,) = stack.levels
    assert level.local.features.n_kernel == 200
    estimates = level(validation.images, None)
    assert stack.risk == pytest.approx(np.mean(np.square(estimates - validation.truth)), rel=1e-4)
    alone = StackPlan(None, (few,), 1, 0.0).fit(lambda: (examples, np.zeros(300, dtype=int)), validation, RNG(0))
    assert stack.risk < alone.risk


def test_a_budget_with_sizes_of_ones_own():
    budget = Budget(1000, (0.3, 0.5), 120_000)
    assert budget.resized(None, None) == budget
    assert budget.resized(None, 4) == Budget(1000, (0.3, 0.5, 0.5, 0.5), 120_000)
    assert budget.resized(None, 1) == Budget(1000, (0.5,), 120_000)
    assert budget.resized(9, 3) == Budget(9, (1.0, 1.0, 1.0), 120_000)


def test_noisy_examples_have_fewer_landmarks_than_clean_ones_and_no_more_than_their_places_allow():
    budget = Budget(1000, (0.2, 0.5, 1.0), 120_000)
    assert budget.sizes() == (1000, 1000, 1000)
    assert budget.sizes(10**6) == (200, 500, 800)  # 150 of 120 000 places for each
    assert budget.sizes(60_000) == (200, 400, 400)
    assert budget.sizes(100) == (200, 300, 300)
    assert budget.determined(1000, 2000) == 300 and budget.determined(1000, 90_000) == 600


@pytest.mark.parametrize("windows", [True, False])
def test_wholes_have_as_many_landmarks_as_noisy_images_determine_where_windows_see_the_details(windows, monkeypatch):
    monkeypatch.setattr("preimage.denoising.learning.FEW", 20)
    monkeypatch.setattr("preimage.denoising.stack.WORTH", np.inf)  # no level is refused
    learner = Learner(Gaussian(), Budget(60, (1.0, 1.0)), wholes=True, windows=windows)
    stack = learner.from_noisy(noisy(blobs(300, 8), 0.2), 0.2, RNG(0))
    assert {stage.features.n_kernel for stage in stack.levels[1].whole.stages} == {20 if windows else 60}


def test_pictures_cut_off_have_one_level(monkeypatch):
    monkeypatch.setattr("preimage.denoising.stack.WORTH", np.inf)  # no level is refused
    pictures = noisy(0.3 + 0.5 * blobs(60, 16), 0.2)
    learner = Learner(Gaussian(), Budget(60, (1.0,) * 3), wholes=False, windows=True, anywhere=True)
    whole = learner.from_noisy(pictures, 0.2, RNG(0))
    held = learner.from_noisy(np.clip(pictures, 0, 1), 0.2, RNG(0), Limits(0.0, 1.0))
    assert len(whole.levels) == 3
    assert len(held.levels) == 1


def test_pictures_of_which_nearly_all_is_cut_off_are_left_as_they_are_with_a_warning():
    held = np.clip(noisy(0.1 * blobs(60, 16), 0.3), 0, 1)
    learner = Learner(Gaussian(), Budget(60, (1.0,) * 3), wholes=False, windows=True, anywhere=True)
    with pytest.warns(NoiseLevelWarning, match="clipped"):
        stack = learner.from_noisy(held, 0.3, RNG(0), Limits(0.0, 1.0))
    np.testing.assert_array_equal(stack(held), held)
    assert stack.risk == pytest.approx(0.3**2)


def test_a_stack_makes_its_share_of_the_change():
    class Half:
        def __call__(self, maps):
            return maps[0] / 2

    stack = Stack((Level(Blurred(), Half()),), share=0.5)
    np.testing.assert_allclose(stack(np.ones((2, 3, 3, 1), dtype=np.float32)), 0.75)
    np.testing.assert_array_equal(Stack()(np.ones((1, 2, 1))), np.ones((1, 2, 1)))


def test_limits_are_found_where_values_were_cut_off():
    values = RNG(0).normal(0.5, 0.3, (4, 30, 30, 1))
    assert not Limits.of(values)
    assert Limits.of(np.clip(values, 0, 1)) == Limits(0, 1)
    assert Limits.of(np.maximum(values, 0)) == Limits(0, np.inf)
    assert not Limits.of(np.full((1, 5, 5, 1), 3.0))
    assert Limits(0, 1).within(Units(0.5, 0.25)) == Limits(-2, 2)


@pytest.mark.parametrize("limits", [Limits(0, 1), Limits(-np.inf, 1), Limits(0, np.inf)])
def test_a_mean_of_values_cut_off_is_undone(limits):
    mending, x = Mending(limits, 0.1), np.linspace(0, 1, 21)
    draws = np.clip(x + 0.1 * RNG(0).standard_normal((400_000, 21)), limits.low, limits.high).mean(axis=0)
    np.testing.assert_allclose(mending.mean(x), draws, atol=1e-3)
    np.testing.assert_allclose(mending.undone(mending.mean(x)), x, atol=1e-4)


def test_a_point_is_trusted_by_its_surroundings_and_not_by_itself():
    images = np.full((2, 20, 25, 1), 0.5)
    images[0, :, :12] = 0.98
    images[1, 9:12, 9:12] = 1.0  # no larger than the hole in the surroundings of its middle
    trusted = Limits(0, 1).trusted(images, 0.1)
    assert not trusted[0, :, :8].any()
    assert trusted[0, :, 16:].all()
    assert trusted[1, 10, 10]
    signal = np.full((1, 60, 1), 0.5)
    signal[0, 28:33] = 0.0
    assert Limits(0, 1).trusted(signal, 0.1)[0, 30]


@pytest.mark.parametrize("shape", [(50, 70, 1), (64, 64, 3), (500, 1), (20, 9, 1)])
def test_pieces_cover_the_image(shape):
    image = np.arange(np.prod(shape), dtype=float).reshape(shape)
    pieces = cut(image)
    assert set(np.unique(pieces)) == set(np.unique(image))
    assert len(pieces) <= 100
    rows, sides = small_patches(image[None])
    assert rows.shape[1] == np.prod(sides)
    channel = image.reshape(-1, shape[-1])[:, 0]
    assert set(channel) <= set(rows.ravel())
    assert len({value % shape[-1] for value in rows[0]}) == 1  # one channel a row


def test_units_keep_the_law_of_the_noise():
    images = 1e6 + 50 * RNG(0).standard_normal((200, 20, 1))
    units = Units.of(images)
    inside = units.inside(images)
    assert inside.dtype == np.float32
    assert abs(float(inside.mean())) < 1e-3
    assert float(inside.std()) == pytest.approx(1, rel=1e-3)
    np.testing.assert_allclose(units.outside(inside), images, atol=1e-4)
    moved = in_units(GaussianNoise(5.0), units)(inside, RNG(1)) - inside
    assert float(moved.std()) == pytest.approx(0.1, rel=0.05)


def test_a_stage_answers_alike_whatever_the_blocks():
    truth = blobs(30)
    examples = Clean(truth, noisy(truth, 0.2))
    view = Windows((Lens(1.0, 1.0),))
    stage, _ = Recipe(Gaussian(None), 40, 2000).validated(
        view, [examples.images], examples, [examples.images], examples, RNG(0)
    )
    assert isinstance(stage, Stage) and not isinstance(stage, Crossed)
    alone = np.concatenate([stage([examples.images[i : i + 1]]) for i in range(30)])
    np.testing.assert_allclose(stage([examples.images]), alone, atol=1e-5)
