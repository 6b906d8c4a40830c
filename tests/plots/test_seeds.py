"""Rows of seeds: what is drawn where, how long the interval is, and what is refused."""

import numpy as np
import pytest

from xformer_course import plots

SERIES = {"first": [3.0, 5.0, 10.0], "second": [2.0, 2.5], "alone": [7.0]}


def test_every_seed_is_a_dot_in_the_row_of_its_name():
    ax = plots.seed_rows(SERIES, xlabel="score")
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [label.get_text() for label in ax.get_yticklabels()] == list(SERIES)
    for row, (line, values) in enumerate(zip(dots, SERIES.values(), strict=True)):
        np.testing.assert_array_equal(line.get_xdata(), values)
        assert set(line.get_ydata()) == {ax.get_yticks()[row]}
    bottom, top = ax.get_ylim()
    assert top < 0 < len(SERIES) - 1 < bottom


def test_bar_is_students_interval_of_the_mean():
    ax = plots.seed_rows(SERIES, xlabel="score", title="Title", baseline=4.0)
    assert len(ax.containers) == 2, "one seed has no interval"
    for bar, values, t in zip(ax.containers, ([3, 5, 10], [2, 2.5]), (4.303, 12.706), strict=True):
        (segment,) = bar.lines[2][0].get_segments()
        half = t * np.std(values, ddof=1) / np.sqrt(len(values))
        np.testing.assert_allclose(segment[:, 0], [np.mean(values) - half, np.mean(values) + half])
    assert ax.get_title(loc="left") == "Title" and ax.get_xlabel() == "score"
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [4.0]


@pytest.mark.parametrize("series", [{}, {"none": []}, {"table": [[1.0, 2.0]]}])
def test_a_name_without_scores_is_refused(series):
    with pytest.raises(ValueError, match="^series: expected a list of scores for each name"):
        plots.seed_rows(series, xlabel="score")
