"""The picture of attention: every number drawn is the one computed, and stands where it belongs."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from xformer_course import plots
from xformer_course.plots.style import MASK_COLOURS, WEIGHTS

QUERIES = ["Le", "gros", "chat"]
KEYS = ["The", "big", "yellow", "cat", "."]
COLUMNS = ["size", "colour"]
MASK = np.tri(3, 5, k=1, dtype=bool)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(5)
    return rng.normal(size=(3, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 3


def numbers(ax):
    """What is written, by the name of the number."""
    return {text.get_gid(): text.get_text() for text in ax.texts if text.get_gid()}


def places(ax):
    return {text.get_gid(): text.get_position() for text in ax.texts if text.get_gid()}


def words(ax):
    return [text.get_text() for text in ax.texts if not text.get_gid()]


def attention(q, k, v, mask=None, scale=True):
    scores = q @ k.T / (np.sqrt(q.shape[1]) if scale else 1)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return scores, weights, weights @ v


def written(number):
    return "−∞" if np.isneginf(number) else f"{number:.2f}".replace("-", "−")


@pytest.mark.parametrize("mask", [None, MASK])
@pytest.mark.parametrize("scale", [True, False])
def test_all_queries_show_every_number(arrays, mask, scale):
    got = numbers(plots.attention_steps(*arrays, QUERIES, KEYS, mask=mask, scale=scale))
    names = ("q", "k", "v", "scores", "weights", "output")
    expected = dict(zip(names, (*arrays, *attention(*arrays, mask, scale)), strict=True))
    for name, array in expected.items():
        for place, number in np.ndenumerate(array):
            assert got.pop(f"{name}[{place[0]},{place[1]}]") == written(number), (name, place)
    assert not got


def test_a_number_stands_where_row_and_column_cross(arrays):
    where = places(plots.attention_steps(*arrays, QUERIES, KEYS))
    for i, j in np.ndindex(3, 5):
        assert where[f"scores[{i},{j}]"] == (where[f"k[{j},0]"][0], where[f"q[{i},0]"][1])
        assert where[f"weights[{i},{j}]"][1] == where[f"scores[{i},{j}]"][1]
    for i, e in np.ndindex(3, 2):
        assert where[f"output[{i},{e}]"] == (where[f"v[0,{e}]"][0], where[f"weights[{i},0]"][1])


def test_hidden_scores_are_hatched_and_weights_have_the_colours_of_a_map(arrays):
    ax = plots.attention_steps(*arrays, QUERIES, KEYS, mask=MASK)
    cells = [patch for patch in ax.patches if not patch.get_hatch()]
    assert len(ax.patches) - len(cells) == (~MASK).sum()
    colours = {tuple(np.round(np.add(patch.get_xy(), (0.5, 0.35)), 6)): patch.get_facecolor() for patch in cells}
    where = {name: tuple(np.round(place, 6)) for name, place in places(ax).items()}
    _, weights, _ = attention(*arrays, MASK)
    for i, j in np.ndindex(3, 5):
        assert (to_hex(colours[where[f"scores[{i},{j}]"]]) == MASK_COLOURS[0]) is not bool(MASK[i, j])
        np.testing.assert_allclose(colours[where[f"weights[{i},{j}]"]], WEIGHTS(weights[i, j]))


def test_a_query_that_may_attend_to_nothing_gets_zeros(arrays):
    mask = MASK.copy()
    mask[1] = False
    ax = plots.attention_steps(*arrays, QUERIES, KEYS, mask=mask)
    assert {numbers(ax)[f"weights[1,{j}]"] for j in range(5)} == {"0.00"}
    assert "sum 1 in each row" not in words(ax)


def test_picture_fits_the_page(arrays):
    ax = plots.attention_steps(*arrays, QUERIES, KEYS, columns=COLUMNS)
    assert ax.figure.get_size_inches()[0] <= 9.0
    assert min(text.get_fontsize() for text in ax.texts) >= 9
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert all(left < x < right and top < y < bottom for x, y in (text.get_position() for text in ax.texts))


@pytest.mark.parametrize(
    "change,fragment",
    [
        ({"q": np.zeros(2)}, "q: expected (position, width), got shape (2,); pick one, q[0]"),
        ({"k": np.zeros((5, 3))}, "q, k, v: expected (i, d), (j, d), (j, e), got (3, 2), (5, 3), (5, 2); queries"),
        ({"v": np.zeros((4, 2))}, "got (3, 2), (5, 2), (4, 2); queries and keys share their width"),
        ({"queries": QUERIES[:2]}, "queries: expected a list of 3 words, got ['Le', 'gros']; one word for each row"),
        ({"keys": "The big yellow cat ."}, "keys: expected a list of 5 words, got 'The big yellow cat .'"),
        ({"columns": ["size"]}, "columns: expected a list of 2 words, got ['size']"),
        ({"key_columns": ["a", "b", "c"]}, "key_columns: expected a list of 2 words"),
        ({"mask": np.ones((3, 5))}, "mask: expected booleans of shape (3, 5) (True = may attend), got float64"),
        ({"mask": np.ones((5, 3), dtype=bool)}, "got bool of shape (5, 3); write a comparison"),
    ],
)
def test_errors_say_what_to_do(arrays, change, fragment):
    arguments = dict(zip(("q", "k", "v", "queries", "keys"), (*arrays, QUERIES, KEYS), strict=True)) | change
    with pytest.raises(ValueError) as caught:
        plots.attention_steps(**arguments)
    assert fragment in str(caught.value)


def test_arrays_too_large_for_a_hand_are_refused():
    many = np.ones((12, 2))
    with pytest.raises(ValueError, match="expected arrays of hand size, at most 20 cells side by side, got 3"):
        plots.attention_steps(many, many, many, ["a"] * 12, ["b"] * 12)
