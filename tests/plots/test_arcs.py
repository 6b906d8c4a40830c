"""Arcs and wirings: where the lines run, what is coloured, and what is refused."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Arc

from xformer_course import plots
from xformer_course.plots.arcs import FAINT, MARKED

WORDS = ["dogs", "that", "bark", "often", "sleep"]
HEADS = [4, 2, 0, 2, None]
ROW = {(1, position): [(0, near) for near in range(max(0, position - 1), position + 1)] for position in range(4)}


class TestDependencyArcs:
    def test_one_arc_a_word_with_a_head_and_its_length_at_the_top(self):
        ax = plots.dependency_arcs(WORDS, HEADS)
        arcs = [patch for patch in ax.patches if isinstance(patch, Arc)]
        expected = [(4, 0), (2, 1), (0, 2), (2, 3)]
        assert len(arcs) == len(expected)
        written = {round(t.get_position()[0], 2): t.get_text() for t in ax.texts if t.get_text().isdigit()}
        for arc, (head, word) in zip(arcs, expected, strict=True):
            assert arc.center[0] == pytest.approx((head + word) / 2, abs=0.1)
            assert arc.width == pytest.approx(abs(head - word), abs=0.2)
            assert arc.height == abs(head - word)
            assert written[round(arc.center[0], 2)] == str(abs(head - word))

    def test_the_arrow_points_at_the_dependent(self):
        ax = plots.dependency_arcs(["a", "b", "c"], [None, 0, 1])
        assert [float(line.get_xdata()[0]) for line in ax.lines] == [1, 2]

    def test_words_stand_under_their_places_and_the_root_is_bold(self):
        ax = plots.dependency_arcs(WORDS, HEADS, title="A tree")
        texts = {t.get_text(): t for t in ax.texts if not t.get_text().isdigit()}
        assert [texts[word].get_position()[0] for word in WORDS] == list(range(len(WORDS)))
        assert [texts[word].get_weight() for word in WORDS] == ["normal"] * 4 + ["bold"]
        assert ax.get_title(loc="left") == "A tree"

    @pytest.mark.parametrize(
        "heads,marked,fragment",
        [
            (HEADS[:3], (), "heads: expected 5, one for each word, got 3"),
            ([4, 2, 0, 5, None], (), "heads: expected another word's position for 'often', got 5"),
            ([4, 1, 0, 2, None], (), "heads: expected another word's position for 'that', got 1"),
            (HEADS, [(2, 0)], "marked: expected arcs (head, word) of the tree, got (2, 0)"),
        ],
    )
    def test_what_is_no_tree_is_refused(self, heads, marked, fragment):
        with pytest.raises(ValueError) as caught:
            plots.dependency_arcs(WORDS, heads, marked=marked)
        assert fragment in str(caught.value)


class TestWiring:
    def lines(self, ax, colour):
        return {
            tuple(zip(line.get_ydata(), line.get_xdata(), strict=True))
            for line in ax.lines
            if len(line.get_xdata()) == 2 and to_hex(line.get_color()) == colour.lower()
        }

    def test_every_reading_is_a_line_and_the_path_is_coloured(self):
        path = [(0, 1), (1, 2)]
        ax = plots.wiring(ROW, path=path, title="Row")
        every = {(source, target) for target, sources in ROW.items() for source in sources}
        assert self.lines(ax, MARKED) == {tuple(path)}
        assert self.lines(ax, FAINT) == every - {tuple(path)}
        assert ax.get_title(loc="left") == "Row"

    def test_what_does_not_fit_is_refused(self):
        with pytest.raises(ValueError, match="words: expected 4, one for each position, got 2"):
            plots.wiring(ROW, words=["a", "b"])
        with pytest.raises(ValueError, match="path: expected each node to be read by the next"):
            plots.wiring(ROW, path=[(0, 3), (1, 0)])
