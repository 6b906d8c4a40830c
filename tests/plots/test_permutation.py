"""Rows on the move: which lines are drawn for layers that do and do not respect an order."""

import numpy as np
import pytest

from xformer_course import plots

ORDER = (1, 3, 0, 2)
WORDS = ["The", "big", "yellow", "cat"]


@pytest.fixture
def x():
    return np.random.default_rng(5).normal(size=(4, 3))


def flow(layer, x, **settings):
    return plots.permutation_flow(x, ORDER, layer(x), layer(x[list(ORDER)]), **settings)


def lines(ax, gid):
    """The lines of one kind as pairs: from which row on the left to which on the right."""
    return sorted(tuple(float(y) for y in line.get_ydata()) for line in ax.lines if line.get_gid() == gid)


MOVED = sorted((float(row), float(place)) for place, row in enumerate(ORDER))
BACK = sorted((float(place), float(row)) for place, row in enumerate(ORDER))


def test_each_row_goes_to_its_new_place(x):
    assert lines(flow(lambda x: x, x), "input") == MOVED


def test_an_equivariant_layer_mirrors_the_order(x):
    ax = flow(lambda x: x - x.mean(axis=0), x)
    assert lines(ax, "output") == BACK and lines(ax, "coincidence") == []


def test_an_invariant_layer_with_rows_joins_them_straight_across(x):
    ax = flow(lambda x: np.sort(x, axis=0), x)
    assert lines(ax, "output") == []
    assert lines(ax, "coincidence") == [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_one_vector_for_all_rows_is_one_line(x):
    ax = flow(lambda x: x.mean(axis=0), x)
    assert lines(ax, "output") == [(1.5, 1.5)]
    assert lines(flow(lambda x: x[0], x), "output") == []


def test_rounding_is_forgiven_up_to_the_tolerance(x):
    noisy = x + 1e-12
    assert len(lines(plots.permutation_flow(x, ORDER, x, noisy[list(ORDER)]), "output")) == 4
    far = x + 1e-3
    assert lines(plots.permutation_flow(x, ORDER, x, far[list(ORDER)]), "output") == []
    assert len(lines(plots.permutation_flow(x, ORDER, x, far[list(ORDER)], tolerance=0.01), "output")) == 4


def test_words_stand_beside_their_rows(x):
    ax = flow(lambda x: x, x, words=WORDS, title="A layer")
    written = [(text.get_position()[0], text.get_position()[1], text.get_text()) for text in ax.texts]
    columns = sorted({place for place, _, word in written if word in WORDS})
    assert len(columns) == 4
    for column, expected in zip(columns, (WORDS, [WORDS[row] for row in ORDER], [WORDS[row] for row in ORDER], WORDS), strict=True):
        found = {y: word for place, y, word in written if place == column and word in WORDS}
        assert [found[y] for y in sorted(found)] == expected
    assert ax.get_title(loc="left") == "A layer"
    names = [word for _, _, word in sorted(written) if word in ("X", "P X", "f(P X)", "f(X)")]
    assert names == ["X", "P X", "f(P X)", "f(X)"]
    assert min(text.get_fontsize() for text in ax.texts) >= 9


def test_equal_rows_have_equal_colours(x):
    ax = flow(lambda x: x - x.mean(axis=0), x)
    colours = {}
    for cell in ax.patches:
        if hasattr(cell, "get_width"):
            colours.setdefault(round(cell.get_y(), 3), []).append((cell.get_x(), cell.get_facecolor()))
    rows = [[colour for _, colour in sorted(colours[y])] for y in sorted(colours)]
    for place, row in enumerate(ORDER):
        assert rows[place][3:6] == rows[row][:3]
        assert rows[place][6:9] == rows[row][9:12]


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"x": np.zeros((2, 4, 3))}, "x: expected (row, number), got shape (2, 4, 3); pick one sentence"),
        ({"order": (1, 2, 3, 4)}, "order: expected each of 0 to 3 once, got [1, 2, 3, 4]; count rows from 0"),
        ({"reordered_output": np.zeros((4, 2))}, "reordered_output: expected the shape of output, (4, 3), got (4, 2)"),
        ({"output": np.zeros((3, 3)), "reordered_output": np.zeros((3, 3))}, "output: expected 4 rows or one vector"),
        ({"words": WORDS[:3]}, "words: expected 4, one for each row of x, got 3; split the sentence"),
    ],
)
def test_errors_say_what_to_do(x, change, fragment):
    given = {"x": x, "order": ORDER, "output": x, "reordered_output": x[list(ORDER)]}
    with pytest.raises(ValueError) as caught:
        plots.permutation_flow(**{**given, **change})
    assert fragment in str(caught.value)
