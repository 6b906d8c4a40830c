"""Figures on positions: what is drawn for which offset, and which way arrows turn."""

import numpy as np
import pytest

from xformer_course import plots


def shown(figure):
    return [ax for ax in figure.axes if ax.get_visible()]


class TestOffsetPanels:
    def test_a_line_runs_over_the_offsets_of_its_query(self):
        table = np.random.default_rng(3).normal(size=(7, 7))
        figure = plots.offset_panels({"one": table, "other": table.T}, queries=(2, 5))
        first, second = shown(figure)
        assert [first.get_title(loc="left"), second.get_title(loc="left")] == ["one", "other"]
        for line, query in zip(first.lines, (2, 5), strict=True):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(7) - query)
            np.testing.assert_array_equal(line.get_ydata(), table[query])
        np.testing.assert_array_equal(second.lines[1].get_ydata(), table[:, 5])

    def test_names_and_legend(self):
        figure = plots.offset_panels({str(n): np.eye(3) for n in range(5)}, (0,), columns=3, ylabel="similarity")
        assert len(shown(figure)) == 5 and len(figure.axes) == 6
        assert figure.get_supylabel() == "similarity" and "offset" in figure.get_supxlabel()
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["query at 0"]

    @pytest.mark.parametrize(
        "scores,queries,fragment",
        [
            ({}, (0,), "scores: expected at least one array by name, got none; pass"),
            ({"a": np.ones((2, 3))}, (0,), "a: expected a square array (query, key), got shape (2, 3); score all"),
            ({"a": np.eye(3)}, (3,), "queries: expected places from 0 to 2, got 3; score more places"),
        ],
    )
    def test_errors_say_what_to_do(self, scores, queries, fragment):
        with pytest.raises(ValueError) as caught:
            plots.offset_panels(scores, queries)
        assert fragment in str(caught.value)


class TestTurningArrows:
    def test_arrows_end_where_the_turn_takes_them(self):
        ax = plots.turning_arrows((1.0, 0.0), (0.0, 2.0), 1, 3, turn=np.pi / 6, title="one and three")
        tips = [note.xy for note in ax.texts if hasattr(note, "arrow_patch")]
        np.testing.assert_allclose(tips[0], [np.cos(np.pi / 6), 0.5], atol=1e-12)
        np.testing.assert_allclose(tips[1], [-2.0, 0.0], atol=1e-12)  # counterclockwise
        assert ax.get_title(loc="left") == "one and three" and ax.get_aspect() == 1.0

    @pytest.mark.parametrize("places,shown", [((0, 0), "90°"), ((4, 4), "90°"), ((1, 0), "60°"), ((0, 4), "150°")])
    def test_the_arc_marks_the_angle_between_the_turned_arrows(self, places, shown):
        ax = plots.turning_arrows((1.0, 0.0), (0.0, 1.0), *places, turn=np.pi / 6)
        assert ax.texts[-1].get_text() == shown
        arc = next(line for line in ax.lines if len(line.get_xdata()) > 2)
        tips = [note.xy for note in ax.texts if hasattr(note, "arrow_patch")]
        for tip, end in zip(tips, (arc.get_xydata()[0], arc.get_xydata()[-1]), strict=True):
            np.testing.assert_allclose(end / np.hypot(*end), tip, atol=1e-12)

    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match=r"key: expected two numbers, got shape \(3,\); pick one pair of columns"):
            plots.turning_arrows((1.0, 0.0), (1.0, 2.0, 3.0), 0, 1, turn=0.3)
