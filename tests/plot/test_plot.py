"""What is drawn, read back from the axes."""

import numpy as np
import pytest
from matplotlib import colors
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from preimage import Decoder, InvertibleKernelPCA, KernelKMeans, KernelPCA, Monitor, plot, reduced_set
from preimage.datasets import half_circle, load_digits, three_clusters
from preimage.exceptions import ConstantColumnWarning
from preimage.kernels import Gaussian
from preimage.plot.style import COLORS, LINES, MARKERS, style
from preimage.selection import parallel_analysis


@pytest.fixture(autouse=True)
def _no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def digits():
    return load_digits().X[:150]


@pytest.fixture(scope="module")
def model(digits):
    return KernelPCA(12, random_state=0).fit(digits)


@pytest.fixture(scope="module")
def plane():
    data = three_clusters(random_state=0)
    return KernelPCA(5, kernel=Gaussian(0.3)).fit(data.X), data


def axes(n_rows=1, n_columns=1):
    return Figure(layout="constrained").subplots(n_rows, n_columns)


def test_the_scree_plot_shows_shares_their_sum_and_eigenvalues(model):
    ax = axes()
    assert plot.scree(model, ax) is ax
    shares, sums = ax.lines
    np.testing.assert_array_equal(shares.get_xdata(), np.arange(1, 13))
    np.testing.assert_allclose(shares.get_ydata(), 100 * model.explained_variance_ratio_)
    np.testing.assert_allclose(sums.get_ydata(), 100 * np.cumsum(model.explained_variance_ratio_))
    assert ax.get_yscale() == "log"
    ax.figure.draw_without_rendering()
    (right,) = (child for child in ax.child_axes if child.get_ylabel() == "eigenvalue")
    left_low, left_high = ax.get_ylim()
    np.testing.assert_allclose(
        right.get_ylim(), np.array([left_low, left_high]) / 100 * model.decomposition_.total_variance
    )


def test_the_scree_plot_shows_what_chance_would(digits, model):
    found = parallel_analysis(digits, model.kernel_)
    ax = plot.scree(model, axes(), chance=found)
    drawn = ax.lines[2].get_ydata()
    np.testing.assert_allclose(drawn, 100 * found.thresholds[:12] / model.decomposition_.total_variance)
    above = ax.lines[0].get_ydata() > drawn
    assert above[: found.n_components].all()
    assert not above[found.n_components : found.n_components + 1].any()


def test_other_models_have_a_scree_plot_too(digits):
    pca, invertible = PCA(5).fit(digits), InvertibleKernelPCA(5, random_state=0).fit(digits)
    np.testing.assert_allclose(plot.scree(pca, axes()).lines[0].get_ydata(), 100 * pca.explained_variance_ratio_)
    drawn = plot.scree(invertible, axes()).lines[0].get_ydata()
    np.testing.assert_allclose(drawn, 100 * invertible.explained_variance_ratio_)


def test_contours_are_those_of_the_codes(plane):
    model, data = plane
    drawn = plot.components(model, axes(1, 3), resolution=41, levels=7)
    assert len(drawn) == 3
    for k, ax in enumerate(drawn):
        filled, lines, points = ax.collections
        np.testing.assert_array_equal(points.get_offsets(), data.X)
        assert len(lines.levels) == 7
        assert lines.levels[3] == pytest.approx(0, abs=1e-12)
        np.testing.assert_allclose(lines.levels, filled.levels[1:-1])
        assert lines.get_linewidths()[3] == lines.get_linewidths().max() > lines.get_linewidths()[0]
        for level, path in zip(lines.levels, lines.get_paths(), strict=True):
            codes = model.transform(path.vertices)[:, k] if len(path.vertices) else np.array([level])
            assert np.abs(codes - level).max() < 0.1 * filled.levels[-1]  # linear between places of the lattice
        assert f"{model.explained_variance_ratio_[k]:.0%}" in ax.get_title()


def test_new_axes_are_as_many_as_components(plane):
    model, _ = plane
    assert len(plot.components(model)) == 5
    drawn = plot.components(model, n_components=3)
    assert len(drawn) == 3 == len(drawn[0].figure.axes)


def test_contours_of_the_wrong_data_are_refused(plane, model):
    with pytest.raises(ValueError, match="two columns, but this model has 64"):
        plot.components(model)
    with pytest.raises(ValueError, match="6 components cannot be drawn: this model has 5"):
        plot.components(plane[0], axes(2, 3))
    with pytest.raises(ValueError, match="3 axes are given"):
        plot.components(plane[0], axes(1, 3), n_components=2)


def test_classes_have_a_colour_and_a_marker_each(plane):
    model, data = plane
    Z = model.transform(data.X)
    ax = plot.codes(Z, data.labels, axes(), pair=(0, 2))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    for number, points in enumerate(ax.collections):
        np.testing.assert_allclose(points.get_offsets(), Z[data.labels == number][:, [0, 2]])
    looks = {(tuple(points.get_facecolor()[0]), len(points.get_paths()[0].vertices)) for points in ax.collections}
    assert len(looks) == 3
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 1", "component 3")


def test_positions_on_a_scale_have_a_colour_bar():
    data = half_circle(60, random_state=0)
    ax = plot.codes(data.X, data.position, axes())
    np.testing.assert_array_equal(ax.collections[0].get_array(), data.position)
    assert ax.collections[0].get_cmap().name == "cividis"
    assert len(ax.figure.axes) == 2
    assert ax.get_legend() is None


def test_codes_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(5, 2\) .* components 0 and 3"):
        plot.codes(np.zeros((5, 2)), ax=axes(), pair=(0, 3))


def test_images_are_drawn_line_by_line_on_one_grey_scale(digits):
    noisy = digits + 1.0
    drawn = plot.images({"clean": digits, "noisy": noisy}, (8, 8), axes(2, 4), n_images=4)
    assert drawn.shape == (2, 4)
    for line, rows in zip(drawn, (digits, noisy), strict=True):
        for ax, row in zip(line, rows[:4], strict=True):
            np.testing.assert_array_equal(ax.images[0].get_array(), row.reshape(8, 8))
            assert ax.images[0].get_clim() == (digits.min(), digits.max())
    assert [line[0].get_ylabel() for line in drawn] == ["clean", "noisy"]


def test_colour_images_stay_in_the_range_of_colours():
    rows = np.linspace(-0.5, 1.5, 24).reshape(2, 12)
    drawn = plot.images({"x": rows}, (2, 2, 3))
    np.testing.assert_array_equal(drawn[0, 1].images[0].get_array(), np.clip(rows[1], 0, 1).reshape(2, 2, 3))


def test_as_many_images_as_the_smallest_group_has(digits):
    assert plot.images({"many": digits, "few": digits[:3]}, (8, 8)).shape == (2, 3)


def test_rows_that_are_no_such_images_are_refused(digits):
    with pytest.raises(ValueError, match=r"'noisy' has the shape \(150, 63\), but rows of 64"):
        plot.images({"clean": digits, "noisy": digits[:, :63]}, (8, 8))
    with pytest.raises(ValueError, match="2 axes are given, but 1 × 8"):
        plot.images({"clean": digits}, (8, 8), axes(1, 2))


def test_signals_lie_upon_each_other_over_time():
    rng = np.random.default_rng(0)
    clean, noisy = rng.standard_normal((2, 4, 50))
    drawn = plot.signals({"noisy": noisy, "clean": clean}, axes(2), n_signals=2, rate=100)
    for k, ax in enumerate(drawn):
        before, after = ax.lines
        np.testing.assert_array_equal(before.get_ydata(), noisy[k])
        np.testing.assert_array_equal(after.get_ydata(), clean[k])
        np.testing.assert_allclose(after.get_xdata(), np.arange(50) / 100)
        assert before.get_color() != after.get_color()
    assert drawn[-1].get_xlabel() == "seconds"


def test_one_long_signal_is_a_signal():
    wave = np.sin(np.arange(200.0))
    (ax,) = plot.signals({"noisy": wave, "smooth": 0.5 * wave})
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), 0.5 * wave)
    with pytest.raises(ValueError, match="'smooth' has the shape"):
        plot.signals({"noisy": wave, "smooth": wave[:100]})


def test_pictures_of_kernel_axes_are_their_preimages(model):
    drawn = plot.eigenvectors(model, (8, 8), axes(2, 3), n_components=3, step=1.5)
    sides = model.truncate(3).eigenvector_preimages(1.5)
    for line, side in zip(drawn, sides, strict=True):
        for ax, point in zip(line, side.points, strict=True):
            np.testing.assert_allclose(ax.images[0].get_array(), point.reshape(8, 8))


def test_pictures_of_linear_axes_lie_around_the_mean(digits):
    pca = PCA(4).fit(digits)
    drawn = plot.eigenvectors(pca, (8, 8), n_components=10)
    assert drawn.shape == (2, 4)
    above, below = (np.array([ax.images[0].get_array().ravel() for ax in line]) for line in drawn)
    np.testing.assert_allclose((above + below) / 2, np.tile(pca.mean_, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(
        (above - below) / 4, np.sqrt(pca.explained_variance_)[:, None] * pca.components_, atol=1e-12
    )
    curves = plot.eigenvectors(pca, step=None)
    np.testing.assert_array_equal(curves[1, 2].lines[0].get_ydata(), -pca.components_[2])


def test_eigenvectors_of_what_has_none_are_refused(digits):
    with pytest.raises(TypeError, match="not KernelKMeans"):
        plot.eigenvectors(KernelKMeans(2, random_state=0).fit(digits), (8, 8))


def test_stairs_of_convergence_count_the_rows_that_are_done(model, digits):
    noisy = digits[:40] + 0.3 * np.random.default_rng(0).standard_normal((40, 64))
    results = {}
    for name in ("fixed_point", "distance"):
        results[name] = model.set_params(preimage=name).find_preimages(noisy)
    ax = plot.convergence(results, axes())
    stairs, at_once = ax.lines
    steps = results["fixed_point"].steps
    for step, done in stairs.get_xydata():
        assert done == pytest.approx(100 * np.mean(steps <= step))
    assert stairs.get_ydata()[-1] == 100 > stairs.get_ydata()[1]
    assert (at_once.get_ydata() == 100).all()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == f"fixed_point, left over {results['fixed_point'].residual.mean():.2g}"


def test_rows_that_failed_keep_the_stairs_below_all(model, digits):
    found = model.set_params(preimage="distance").find_preimages(digits[:10])
    half = type(found)(found.points, np.arange(10) < 5, np.arange(10), found.targets)
    (line,) = plot.convergence(half, axes()).lines
    np.testing.assert_allclose(line.get_ydata(), [10, 20, 30, 40, 50, 50, 50, 50, 50, 50, 50])


def test_the_curve_of_a_reduced_set_is_its_errors(plane):
    axes_of_feature_space = plane[0].components_
    found = {name: reduced_set(axes_of_feature_space, 12, method=name) for name in ("greedy", "selection")}
    ax = plot.reduced_set_errors(found, axes())
    for line, result in zip(ax.lines, found.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 13))
        np.testing.assert_allclose(line.get_ydata(), result.errors)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_legend() is not None
    alone = plot.reduced_set_errors(np.array([1.0, 0.5, 0.0]), axes())
    np.testing.assert_array_equal(alone.lines[0].get_ydata(), [1.0, 0.5, np.nan])
    assert alone.get_legend() is None


def test_looks_repeat_late_and_are_told_apart_without_colour():
    looks = [style(number) for number in range(88)]
    assert len({(look["color"], look["marker"]) for look in looks}) == 88
    assert len({(look["marker"], look["linestyle"]) for look in looks[:11]}) == 11
    assert len(set(MARKERS)) == 11
    assert len(set(LINES)) == 4


def test_neighbouring_colours_differ_for_colour_blind_eyes():
    """By the matrices of Viénot, Brettel & Mollon (1999) for people without long- or medium-wave cones."""
    rgb = np.array([colors.to_rgb(color) for color in COLORS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    without_l = np.array([[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]])
    without_m = np.array([[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]])
    for lost in (without_l, without_m):
        seen = linear @ (np.linalg.inv(to_lms) @ lost @ to_lms).T
        apart = np.linalg.norm(seen[:, None] - seen, axis=2)[~np.eye(len(rgb), dtype=bool)]
        assert apart.min() > 0.08


@pytest.mark.parametrize("size", [(2.5, 2.0), (16, 10)])
def test_every_size_of_figure_will_do(model, plane, size):
    """Warnings of a layout that found no room would be errors here."""
    noisy = {"noisy": model.decomposition_.inputs, "same": model.decomposition_.inputs}
    draws = [
        lambda figure: plot.scree(model, figure.subplots()),
        lambda figure: plot.components(plane[0], figure.subplots(1, 3)),
        lambda figure: plot.codes(plane[1].X, plane[1].labels, figure.subplots()),
        lambda figure: plot.images(noisy, (8, 8), figure.subplots(2, 4), n_images=4),
        lambda figure: plot.signals(noisy, figure.subplots(2), n_signals=2),
    ]
    for draw in draws:
        figure = Figure(size, layout="constrained")
        draw(figure)
        figure.draw_without_rendering()
        assert all(ax.get_position().width > 0.02 for ax in figure.axes)


def test_given_axes_leave_pyplot_alone(model, plane):
    import matplotlib.pyplot as plt

    plot.scree(model, axes())
    plot.components(plane[0], axes(1, 2))
    plot.images({"x": model.decomposition_.inputs}, (8, 8), axes(1, 8))
    assert not plt.get_fignums()


@pytest.fixture(scope="module")
def watched():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 5)) + 0.2 * rng.standard_normal((150, 5))
    normal[:, 4] = 1.0
    new = normal[:40].copy()
    new[30:, 1] += 6
    new[39, 4] = 2.0
    with pytest.warns(ConstantColumnWarning):
        return Monitor(KernelPCA(2, kernel="linear"), alpha=0.05).fit(normal), new


def test_a_chart_shows_both_statistics_their_limits_and_the_alarms(watched):
    monitor, new = watched
    drawn = plot.chart(monitor, new, axes(2, 1))
    found, limits = monitor.statistics(new), monitor.limits_
    for ax, values, limit in zip(drawn, found, limits, strict=True):
        curve, alarms, line = ax.lines
        finite = np.isfinite(values)
        np.testing.assert_allclose(curve.get_ydata()[finite], np.maximum(values, 1e-6 * limit)[finite])
        np.testing.assert_array_equal(alarms.get_xdata(), 1 + np.flatnonzero(values > limit))
        np.testing.assert_array_equal(line.get_ydata(), [limit, limit])
    assert np.isfinite(drawn[1].lines[0].get_ydata()[39])  # the moved constant, at the top
    assert drawn[1].lines[0].get_ydata().argmax() == 39


def test_a_chart_has_the_times_of_its_rows(watched):
    monitor, new = watched
    times = np.datetime64("2026-03-01") + np.arange(len(new)) * np.timedelta64(1, "h")
    ax = plot.chart(monitor, new, axes(2, 1), time=times)[0]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), times)
    assert ax.get_xlabel() == ""
    assert plot.chart(monitor, new, axes(2, 1), time=np.arange(7, 47))[1].lines[0].get_xdata()[0] == 7


def test_bars_are_contributions_with_the_largest_on_top(watched):
    monitor, new = watched
    ax = plot.contributions(monitor, new, 35, axes(), n_columns=3)
    table = monitor.diagnose(new, rows=[35], n_columns=3)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], table["contribution"])
    assert [label.get_text() for label in ax.get_yticklabels()] == table["column"]
    assert table["column"][0] == "x1"
    assert ax.patches[0].get_y() > ax.patches[1].get_y()
    assert plot.contributions(monitor, new, 39).get_yticklabels()[0].get_text() == "x4"


def test_a_walk_along_a_component_shows_the_preimages_of_its_codes(model, digits):
    drawn = plot.traverse(model, (8, 8), axes(1, 5), components=1, n_steps=5)
    codes = model.decomposition_.input_codes
    walk = np.tile(np.median(codes, axis=0), (5, 1))
    walk[:, 1] = np.linspace(*np.quantile(codes[:, 1], [0.02, 0.98]), 5)
    for ax, row in zip(drawn.ravel(), model.inverse_transform(walk), strict=True):
        np.testing.assert_allclose(ax.images[0].get_array(), row.reshape(8, 8))


def test_a_walk_across_a_plane_goes_right_and_upwards(digits):
    Z = digits[:, [20, 43]]
    decoder = Decoder("neighbors").fit(Z, np.hstack([Z, digits]))
    drawn = plot.traverse(decoder, None, axes(3, 3), components=(0, 1), n_steps=3)
    low, high = np.quantile(Z, [0.02, 0.98], axis=0)
    corner = decoder.predict([[low[0], high[1]]])[0]
    np.testing.assert_allclose(drawn[0, 0].lines[0].get_ydata(), corner)
    with pytest.raises(ValueError, match="components must be one or two of 0 to 1"):
        plot.traverse(decoder, components=2)
    with pytest.raises(TypeError, match="give codes="):
        plot.traverse(PCA(2).fit(digits))
    plot.traverse(PCA(2).fit(digits), (8, 8), axes(1, 2), codes=Z, n_steps=2)


def test_a_walk_needs_a_fitted_model_and_the_shape_of_its_rows():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plot.traverse(KernelPCA(2))
    with pytest.raises(ValueError, match=r"rows of 2 numbers do not have the shape \(3, 3\)"):
        plot.traverse(KernelPCA(2).fit(half_circle(30, random_state=0).X), (3, 3))
