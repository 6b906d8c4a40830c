"""In every picture that has them, a query is blue, a key orange, a value green, with a word or a letter beside."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from xformer_course import plots
from xformer_course.plots import ROLES
from xformer_course.plots.style import tint

QUERY, KEY, VALUE = (ROLES[name] for name in ("query", "key", "value"))
WORDS = ["The", "big", "cat"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def inks(ax):
    """The colour of each text."""
    return {text.get_text(): to_hex(text.get_color()) for text in ax.texts}


def test_steps_paint_blocks_and_their_headings():
    q, k, v = np.eye(3)[:2], np.eye(3) + 1, np.arange(15.0).reshape(3, 5)
    ax = plots.attention_steps(q, k, v, ["a?", "b?"], WORDS)
    drawn = inks(ax)
    for head, colour in {"queries": QUERY, "keys, turned": KEY, "values": VALUE, "scores": "#000000", "output": "#000000"}.items():
        assert drawn[head] == colour
    grounds = {text.get_gid().split("[")[0]: to_hex(patch.get_facecolor()) for text, patch in cells(ax)}
    edges = {text.get_gid().split("[")[0]: to_hex(patch.get_edgecolor()) for text, patch in cells(ax)}
    for block, role in (("q", "query"), ("k", "key"), ("v", "value")):
        assert (grounds[block], edges[block]) == (to_hex(tint(role)), ROLES[role])
    assert grounds["output"] == "#f7f7f7" and edges["output"] == edges["scores"] == "#555555"


def cells(ax):
    """Every number with the cell that it stands in."""
    places = {tuple(np.round(np.add(p.get_xy(), (0.5, p.get_height() / 2)), 6)): p for p in ax.patches}
    return [(t, places[tuple(np.round(t.get_position(), 6))]) for t in ax.texts if t.get_gid()]


def test_maps_name_their_axes_in_the_colours():
    for ax in (plots.attention_map(np.eye(3), WORDS, WORDS), plots.mask_map(np.eye(3) > 0, WORDS, WORDS)):
        assert (ax.yaxis.label.get_color(), ax.xaxis.label.get_color()) == (QUERY, KEY)
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    figure = plots.map_grid(np.zeros((2, 5, 3, 3)), WORDS, WORDS)[0, 0].figure
    assert (figure._supylabel.get_color(), figure._supxlabel.get_color()) == (QUERY, KEY)


def test_turning_arrows_and_the_letters_at_their_tips():
    ax = plots.turning_arrows([1.0, 0.5], [0.3, 1.0], 2, 5, turn=0.4)
    assert {letter: inks(ax)[letter] for letter in "qk"} == {"q": QUERY, "k": KEY}
    assert [line.get_color() for line in ax.lines if line.get_linestyle() == ":"] == [QUERY, KEY]
