"""Maps, numbers and intervals for every layer and head: the data drawn, the words, and what is refused."""

import numpy as np
import pytest

from xformer_course import plots

QUERIES = ["Le", "gros", "chat"]
KEYS = ["The", "big", "yellow", "cat", "."]
LAYERS, HEADS = 2, 7


@pytest.fixture
def weights():
    raw = np.random.default_rng(5).random((LAYERS, HEADS, len(QUERIES), len(KEYS)))
    return raw / raw.sum(axis=-1, keepdims=True)


def words(labels):
    return [label.get_text() for label in labels]


class TestMapGrid:
    def test_each_map_holds_the_weights_of_its_layer_and_head(self, weights):
        axes = plots.map_grid(weights, QUERIES, KEYS, vmax=0.5)
        assert axes.shape == (LAYERS, HEADS)
        for place, ax in np.ndenumerate(axes):
            np.testing.assert_array_equal(ax.images[0].get_array(), weights[place])
            assert ax.images[0].get_clim() == (0.0, 0.5)
            assert ax.get_title(loc="left") == f"layer {place[0] + 1}, head {place[1] + 1}"

    def test_words_are_seen_left_and_below(self, weights):
        axes = plots.map_grid(weights, QUERIES, KEYS, query_axis="query: writes", key_axis="key: place")
        figure = axes[0, 0].figure
        figure.canvas.draw()
        seen = lambda labels: [label.get_text() for label in labels if label.get_visible()]
        for (layer, head), ax in np.ndenumerate(axes):
            assert seen(ax.get_yticklabels()) == (QUERIES if head == 0 else [])
            assert seen(ax.get_xticklabels()) == (KEYS if layer == LAYERS - 1 else [])
        assert (figure.get_supylabel(), figure.get_supxlabel()) == ("query: writes", "key: place")
        assert figure.get_size_inches()[0] <= 9

    def test_errors(self, weights):
        with pytest.raises(ValueError, match=r"weights: expected \(layer, head, query, key\), got shape \(7, 3, 5\)"):
            plots.map_grid(weights[0], QUERIES, KEYS)
        with pytest.raises(ValueError, match="it is transposed, draw its .T"):
            plots.map_grid(weights.swapaxes(2, 3), QUERIES, KEYS)
        with pytest.raises(ValueError, match='key_axis: expected a name with the word "key"'):
            plots.map_grid(weights, QUERIES, KEYS, key_axis="source")


class TestHeadTable:
    def test_numbers_stand_in_their_cells(self):
        values = np.array([[0.25, 0.5, 0.75], [1.0, 0.0, 0.125]])
        ax = plots.head_table(values, label="error rate", title="cross", decimals=3)
        np.testing.assert_array_equal(ax.images[0].get_array(), values)
        written = {text.get_position(): text.get_text() for text in ax.texts}
        assert written == {(h, n): f"{values[n, h]:.3f}" for n in range(2) for h in range(3)}
        assert (words(ax.get_xticklabels()), words(ax.get_yticklabels())) == (["1", "2", "3"], ["1", "2"])
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("head", "layer", "cross")

    def test_errors(self):
        with pytest.raises(ValueError, match=r"values: expected \(layer, head\), got shape \(3,\)"):
            plots.head_table(np.zeros(3), label="x")


class TestIntervalPlot:
    def test_every_number_is_drawn_with_its_interval(self):
        groups = {"a": (np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.1, 0.2])), "b": (np.arange(3.0), np.full(3, 0.3))}
        ax = plots.interval_plot(groups, ["x", "y", "z"], xlabel="loss (BLEU)")
        for (centres, widths), bars in zip(groups.values(), ax.containers, strict=True):
            np.testing.assert_array_equal(bars.lines[0].get_xdata(), centres)
            ends = np.array([segment[:, 0] for segment in bars.lines[2][0].get_segments()])
            np.testing.assert_allclose(ends, np.stack([centres - widths, centres + widths], axis=1))
        assert words(ax.get_yticklabels()) == ["x", "y", "z"] * 2 and ax.get_xlabel() == "loss (BLEU)"
        assert words(ax.get_legend().get_texts()) == ["a", "b"]

    def test_errors(self):
        with pytest.raises(ValueError, match="a: expected 2 centres and 2 widths.*add or drop some"):
            plots.interval_plot({"a": (np.zeros(2), np.zeros(3))}, ["x", "y"], xlabel="x")
