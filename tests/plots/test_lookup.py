"""Hulls and smooth curves: the data drawn, the words beside it, and what is refused."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xformer_course import plots
from xformer_course.plots.lookup import convex_hull

VALUES = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
NAMES = ["a", "b", "inside", "c"]
PATH = np.array([[1.0, 1.0], [2.0, 0.5], [4.0, 0.0]])


@pytest.fixture(autouse=True)
def clean():
    with matplotlib.rc_context():
        plots.use_style()
        yield
    plt.close("all")


def hull(**options):
    settings = {"xlabel": "east", "ylabel": "north", "title": "Map"} | options
    return plots.hull_plot(VALUES, NAMES, {"first": PATH, "second": PATH[::-1]}, **settings)


class TestHullPlot:
    def test_shape_has_the_corners_and_no_other_value(self):
        (shape,) = hull().patches
        np.testing.assert_array_equal(shape.get_xy()[:-1], VALUES[[0, 1, 3]])

    def test_every_value_is_drawn_with_its_name(self):
        ax = hull(marks={"elsewhere": (3.0, 3.0)})
        named = {text.get_text(): tuple(text.xy) for text in ax.texts}
        assert named == dict(zip(NAMES, map(tuple, VALUES), strict=True)) | {"elsewhere": (3.0, 3.0)}
        dots = {tuple(line.get_xydata()[0]) for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1}
        assert set(map(tuple, VALUES)) <= dots
        (cross,) = [line for line in ax.lines if line.get_marker() == "x"]
        np.testing.assert_array_equal(cross.get_xydata(), [[3.0, 3.0]])

    def test_paths_are_plain_lines_that_differ_in_dash_and_colour(self):
        ax = hull()
        first, second = (next(line for line in ax.lines if line.get_label() == name) for name in ("first", "second"))
        np.testing.assert_array_equal(first.get_xydata(), PATH)
        np.testing.assert_array_equal(second.get_xydata(), PATH[::-1])
        assert first.get_marker() == second.get_marker() == "" and first.get_linewidth() > 0
        assert first.get_color() != second.get_color() and first.get_linestyle() != second.get_linestyle()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]

    def test_labels_stand_beside_their_points_which_get_a_dot_of_the_colour(self):
        plain, ax = hull(), hull(labels={"first": ["hot", "", "cold"]})
        named = {text.get_text(): tuple(text.xy) for text in ax.texts}
        assert (named["hot"], named["cold"]) == ((1.0, 1.0), (4.0, 0.0)) and "" not in named
        path = next(line for line in ax.lines if line.get_label() == "first")
        dots = [line for line in ax.lines if line.get_marker() == "o" and line.get_color() == path.get_color()]
        assert [tuple(dot.get_xydata()[0]) for dot in dots] == [(1.0, 1.0), (4.0, 0.0)]
        assert len(ax.lines) == len(plain.lines) + 2

    def test_axes_titles_and_the_axes_given(self):
        _, given = plt.subplots()
        ax = hull(ax=given, aspect=1.5)
        assert ax is given and ax.get_aspect() == 1.5
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("east", "north", "Map")

    @pytest.mark.errors
    @pytest.mark.parametrize(
        "change,fragment",
        [
            ({"values": VALUES[:, :1]}, "values: expected points of the plane (n, 2), got shape (4, 1)"),
            ({"names": NAMES[:3]}, "names: expected 4, one for each value, got 3"),
            ({"paths": {"first": PATH[0]}}, "first: expected points of the plane (n, 2), got shape (2,)"),
            ({"labels": {"first": ["hot"]}}, "labels of first: expected 3, one for each point of the path, got 1"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, change, fragment):
        settings = {"values": VALUES, "names": NAMES, "paths": {"first": PATH}} | change
        with pytest.raises(ValueError) as caught:
            plots.hull_plot(**settings, xlabel="east", ylabel="north")
        assert fragment in str(caught.value)


class TestConvexHull:
    def test_by_hand(self):
        assert convex_hull(VALUES) == [0, 1, 3]
        assert convex_hull(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])) == [0, 2]
        assert convex_hull(np.array([[2.0, 3.0]])) == [0]
        assert convex_hull(np.array([[2.0, 3.0], [2.0, 3.0]])) in ([0], [1])

    def test_corners_are_what_is_farthest_in_some_direction(self):
        points = np.random.default_rng(3).normal(size=(17, 2))
        angles = np.linspace(0, 2 * np.pi, 20_000)
        farthest = np.argmax(points @ np.stack([np.cos(angles), np.sin(angles)]), axis=0)
        corners = convex_hull(points)
        assert set(corners) == set(farthest.tolist())
        around = farthest[np.append(True, np.diff(farthest) != 0)].tolist()  # met counterclockwise
        assert around[: len(corners)] == corners[corners.index(around[0]) :] + corners[: corners.index(around[0])]


class TestSmoothPlot:
    X = np.linspace(0, 1, 101)

    def test_curves_and_points(self):
        ax = plots.smooth_plot(self.X, {"a": self.X, "b": self.X**2}, points=([0.5, 0.7], [1.0, 2.0]), xlabel="x", ylabel="y", title="T")
        dots, *curves = ax.lines
        np.testing.assert_array_equal(dots.get_xydata(), [[0.5, 1.0], [0.7, 2.0]])
        assert dots.get_linestyle() == "None"
        for power, curve in enumerate(curves, start=1):
            np.testing.assert_allclose(curve.get_ydata(), self.X**power)
        assert curves[0].get_linestyle() != curves[1].get_linestyle()
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "a", "b"]
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("x", "y", "T")

    def test_no_markers_on_curves_and_the_axes_given_are_used(self):
        _, given = plt.subplots()
        ax = plots.smooth_plot(self.X, {"a": self.X}, xlabel="x", ylabel="y", ax=given)
        assert ax is given and ax.lines[0].get_marker() == ""

    def test_curves_behind_are_thin_grey_and_take_no_colour_of_the_others(self):
        plain = plots.smooth_plot(self.X, {"a": self.X}, xlabel="x", ylabel="y")
        ax = plots.smooth_plot(self.X, {"a": self.X}, behind={"truth": self.X**3}, xlabel="x", ylabel="y")
        truth, curve = ax.lines
        np.testing.assert_allclose(truth.get_ydata(), self.X**3)
        assert truth.get_label() == "truth" and truth.get_color() == "#777777"
        assert truth.get_linewidth() < curve.get_linewidth() and truth.get_zorder() < curve.get_zorder()
        assert (curve.get_color(), curve.get_linestyle()) == (plain.lines[0].get_color(), plain.lines[0].get_linestyle())

    @pytest.mark.errors
    def test_what_does_not_pair_up_is_refused(self):
        with pytest.raises(ValueError, match="a: expected 101, one for each x, got 3"):
            plots.smooth_plot(self.X, {"a": [1, 2, 3]}, xlabel="x", ylabel="y")
        with pytest.raises(ValueError, match="b: expected 101, one for each x, got 2"):
            plots.smooth_plot(self.X, {}, behind={"b": [1, 2]}, xlabel="x", ylabel="y")
        with pytest.raises(ValueError, match="points: expected 2, one for each first coordinate, got 3"):
            plots.smooth_plot(self.X, {}, points=([1, 2], [1, 2, 3]), xlabel="x", ylabel="y")
