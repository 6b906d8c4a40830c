"""Smooth curves: the data drawn, the words beside it, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xformer_course import plots


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

    def test_what_does_not_pair_up_is_refused(self):
        with pytest.raises(ValueError, match="a: expected 101, one for each x, got 3"):
            plots.smooth_plot(self.X, {"a": [1, 2, 3]}, xlabel="x", ylabel="y")
        with pytest.raises(ValueError, match="b: expected 101, one for each x, got 2"):
            plots.smooth_plot(self.X, {}, behind={"b": [1, 2]}, xlabel="x", ylabel="y")
        with pytest.raises(ValueError, match="points: expected 2, one for each first coordinate, got 3"):
            plots.smooth_plot(self.X, {}, points=([1, 2], [1, 2, 3]), xlabel="x", ylabel="y")
