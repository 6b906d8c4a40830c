"""Means over seeds: the points, the length of the bars, and what is refused."""

import numpy as np
import pytest

from xformer_course import plots
from xformer_course.plots.bands import _t_factor

X = [8, 16, 64]


@pytest.fixture
def table():
    return np.random.default_rng(7).normal(size=(5, len(X))) + 10.0


def bars(ax, number=0):
    """Lower and upper ends of the bars of one line."""
    (segments,) = [part.get_segments() for part in ax.containers[number].lines[2]]
    return np.array([[segment[0][1], segment[1][1]] for segment in segments]).T


def test_line_is_the_mean_over_seeds(table):
    ax = plots.band_plot(X, {"a": table, "b": 2 * table}, xlabel="width", ylabel="spread", title="Title")
    for number, factor in enumerate((1, 2)):
        line = ax.containers[number].lines[0]
        np.testing.assert_array_equal(line.get_xdata(), X)
        np.testing.assert_allclose(line.get_ydata(), factor * table.mean(axis=0))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("width", "spread", "Title")


def test_bar_is_the_interval_of_the_mean(table):
    ax = plots.band_plot(X, {"a": table}, xlabel="x", ylabel="y")
    mean, deviation = table.mean(axis=0), np.sqrt(((table - table.mean(axis=0)) ** 2).sum(axis=0) / 4)
    half = 2.776 * deviation / np.sqrt(5)  # Student's t for 4 degrees of freedom
    np.testing.assert_allclose(bars(ax), [mean - half, mean + half])


def test_bars_hold_the_true_mean_in_19_of_20_trials():
    rng = np.random.default_rng(11)
    for seeds in (2, 5, 23):
        ax = plots.band_plot(range(2000), {"a": rng.normal(size=(seeds, 2000))}, xlabel="x", ylabel="y")
        lower, upper = bars(ax)
        assert abs(np.mean((lower < 0) & (upper > 0)) - 0.95) < 0.02


@pytest.mark.parametrize("freedom,quantile", [(1, 12.706), (10, 2.228), (11, 2.201), (29, 2.045), (1000, 1.962)])
def test_quantiles_of_student(freedom, quantile):
    assert _t_factor(freedom) == pytest.approx(quantile, abs=6e-4)


@pytest.mark.parametrize(
    "change,fragment",
    [
        (lambda table: table.T, "a: expected (seeds, 3), got shape (3, 5); it is transposed, give its .T"),
        (lambda table: table[:, :2], "a: expected (seeds, 3), got shape (5, 2); one row a seed"),
        (lambda table: table[0], "a: expected (seeds, 3), got shape (3,); one row a seed"),
        (lambda table: table[:1], "a: expected at least 2 seeds, got 1; one run has no spread, use line_plot"),
    ],
)
def test_errors_say_what_to_do(table, change, fragment):
    with pytest.raises(ValueError) as caught:
        plots.band_plot(X, {"a": change(table)}, xlabel="x", ylabel="y")
    assert fragment in str(caught.value)
