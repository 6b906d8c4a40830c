"""Receptive fields: the cells, the cross and the words, and what is refused."""

import numpy as np
import pytest

from xformer_course import plots

MOVED = np.array([[0, 0, 1, 1, 0], [0, 1, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=bool)
ROWS = ["1 layer", "2 layers", "3 layers"]


def words(labels):
    return [label.get_text() for label in labels]


def test_cells_cross_and_words():
    ax = plots.reach_map(MOVED, ROWS, changed=2, title="Reach")
    np.testing.assert_array_equal(ax.images[0].get_array(), MOVED)
    assert words(ax.get_yticklabels()) == ROWS
    assert words(ax.get_xticklabels()) == ["0", "1", "2", "3", "4"]
    assert (list(ax.lines[0].get_xdata()), list(ax.lines[0].get_ydata())) == ([2], [0])
    assert "position" in ax.get_xlabel() and ax.get_title(loc="left") == "Reach"
    assert words(ax.figure.axes[1].get_yticklabels()) == ["stayed", "moved"]


@pytest.mark.parametrize(
    "moved,options,fragment",
    [
        (MOVED.astype(float), {}, "moved: expected booleans (row, position), got float64 of shape (3, 5); compare"),
        (MOVED[0], {}, "got bool of shape (5,); compare two outputs"),
        (MOVED[:2], {}, "rows: expected a list of 2 words, got ['1 layer', '2 layers', '3 layers']"),
        (MOVED, {"positions": "abcde"}, "positions: expected a list of 5 words, got 'abcde'"),
        (MOVED, {"changed": 5}, "changed: expected a position, 0 to 4, got 5; count from 0"),
    ],
)
def test_errors_say_what_to_do(moved, options, fragment):
    with pytest.raises(ValueError) as caught:
        plots.reach_map(moved, ROWS, **{"changed": 0, **options})
    assert fragment in str(caught.value)
