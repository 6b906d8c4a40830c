"""Figures: the data drawn, the words on the axes, and what is refused."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xformer_course import plots

QUERIES = ["Le", "gros", "chat"]
KEYS = ["The", "big", "yellow", "cat", "."]


@pytest.fixture
def weights():
    raw = np.random.default_rng(5).random((len(QUERIES), len(KEYS)))
    return raw / raw.sum(axis=1, keepdims=True)


def words(labels):
    return [label.get_text() for label in labels]


class TestAttentionMap:
    def test_row_of_a_query_is_drawn_beside_its_word(self, weights):
        ax = plots.attention_map(weights, QUERIES, KEYS)
        image = ax.images[0]
        for row, (place, label) in enumerate(zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)):
            assert label.get_text() == QUERIES[row]
            np.testing.assert_array_equal(image.get_array()[int(place)], weights[row])
        for column, (place, label) in enumerate(zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)):
            assert label.get_text() == KEYS[column]
            np.testing.assert_array_equal(image.get_array()[:, int(place)], weights[:, column])

    def test_first_query_is_at_the_top(self, weights):
        ax = plots.attention_map(weights, QUERIES, KEYS)
        bottom, top = ax.get_ylim()
        assert top < 0 < len(QUERIES) - 1 < bottom

    def test_several_maps_share_a_figure(self, weights):
        figure, axes = plt.subplots(1, 2)
        for ax in axes:
            assert plots.attention_map(weights, QUERIES, KEYS, ax=ax, colorbar=ax is axes[1], vmax=0.5) is ax
        assert len(figure.axes) == 3
        assert {ax.images[0].get_clim() for ax in axes} == {(0.0, 0.5)}

    def test_values_are_written_where_they_belong(self, weights):
        ax = plots.attention_map(weights, QUERIES, KEYS, values=True)
        written = {text.get_position(): text.get_text() for text in ax.texts}
        assert written == {(j, i): f"{weights[i, j]:.2f}" for i in range(len(QUERIES)) for j in range(len(KEYS))}

    def test_transposed_weights_are_refused(self, weights):
        with pytest.raises(ValueError, match=r"expected 3 queries × 5 keys, got shape \(5, 3\); it is transposed"):
            plots.attention_map(weights.T, QUERIES, KEYS)

    @pytest.mark.parametrize(
        "change,fragment",
        [
            ({"queries": QUERIES[:2]}, "weights: expected 2 queries × 5 keys, got shape (3, 5); give one word"),
            ({"keys": "The big yellow cat"}, "queries, keys: expected lists of words, got one string; split it"),
            ({"weights": np.ones((2, 3, 5))}, "weights: expected (query, key), got shape (2, 3, 5); pick one map"),
            ({"query_axis": "French"}, 'query_axis: expected a name with the word "query", got \'French\'; try "query'),
            ({"key_axis": "English"}, 'key_axis: expected a name with the word "key", got \'English\'; try "key ('),
        ],
    )
    def test_errors_say_what_to_do(self, weights, change, fragment):
        with pytest.raises(ValueError) as caught:
            plots.attention_map(**{"weights": weights, "queries": QUERIES, "keys": KEYS} | change)
        assert fragment in str(caught.value)


class TestMaskMap:
    def test_light_means_may_attend(self):
        mask = np.tri(3, dtype=bool)
        ax = plots.mask_map(mask, QUERIES, QUERIES, title="causal")
        np.testing.assert_array_equal(ax.images[0].get_array(), mask.astype(int))
        light, dark = ax.images[0].to_rgba(np.array([1, 0]))[:, :3].mean(axis=1)
        assert light > dark
        assert words(ax.figure.axes[1].get_yticklabels()) == ["hidden", "may attend"]

    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match="mask: expected booleans .* got float64; weights go to attention_map"):
            plots.mask_map(np.tri(3), QUERIES, QUERIES)
        with pytest.raises(ValueError, match="mask: expected 3 queries × 5 keys, got shape"):
            plots.mask_map(np.tri(3, dtype=bool), QUERIES, KEYS)


class TestPositionalHeatmap:
    def test_rows_are_positions(self):
        table = np.arange(14.0).reshape(7, 2)
        ax = plots.positional_heatmap(table, title="Positions")
        np.testing.assert_array_equal(ax.images[0].get_array(), table)
        assert (ax.get_ylabel(), ax.get_xlabel()) == ("position", "dimension")
        assert ax.figure.axes[1].get_ylabel() == "value"

    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match=r"table: expected \(position, dimension\), got shape \(2, 3, 5\); pick"):
            plots.positional_heatmap(np.zeros((2, 3, 5)))


class TestLinePlot:
    def test_lines_are_named_and_stay_apart_in_grey(self):
        ax = plots.line_plot([1, 2, 4], {"a": [1, 2, 3], "b": [3, 2, 1]}, xlabel="width", ylabel="spread", log_x=True)
        assert words(ax.get_legend().get_texts()) == ["a", "b"]
        assert len({(line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 2
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
        assert words(ax.get_xticklabels()) == ["1", "2", "4"]

    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match="b: expected 3 points, one for each x, got 2; cut one to the other"):
            plots.line_plot([1, 2, 4], {"a": [1, 2, 3], "b": [3, 2]}, xlabel="x", ylabel="y")


def test_importing_the_library_does_not_import_matplotlib():
    probe = "import sys, xformer_lib, xformer_lib.reference.attention; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


EYE, ABC, NAMED = np.eye(3), list("abc"), {"xlabel": "x", "ylabel": "y"}
ON_AXES = {
    "attention_map": lambda **on: plots.attention_map(EYE, ABC, ABC, **on),
    "attention_steps": lambda **on: plots.attention_steps(EYE, EYE, EYE, ABC, ABC, **on),
    "band_plot": lambda **on: plots.band_plot([1, 2, 4], {"a": EYE}, log_x=True, log_y=True, **NAMED, **on),
    "dependency_arcs": lambda **on: plots.dependency_arcs(ABC, [1, None, 1], marked=[(1, 0)], **on),
    "growth_plot": lambda **on: plots.growth_plot({"a": ([1.0, 2.0], [1.0, 4.0])}, **NAMED, **on),
    "head_table": lambda **on: plots.head_table(EYE, label="share", **on),
    "line_plot": lambda **on: plots.line_plot([1, 2], {"a": [0.1, 10]}, log_y=True, **NAMED, **on),
    "mask_map": lambda **on: plots.mask_map(EYE > 0, ABC, ABC, colorbar=False, **on),
    "permutation_flow": lambda **on: plots.permutation_flow(EYE, (1, 0, 2), 0 * EYE, 0 * EYE, **on),
    "positional_heatmap": lambda **on: plots.positional_heatmap(EYE, **on),
    "reach_map": lambda **on: plots.reach_map(EYE > 0, ABC, changed=0, positions=ABC, **on),
    "roofline_plot": lambda **on: plots.roofline_plot({"rows": ([1.0], [2.0])}, peak=3, bandwidth=5, **on),
    "running_sums": lambda **on: plots.running_sums({"a": (["Un"], np.array([-1.0]))}, **on),
    "seed_rows": lambda **on: plots.seed_rows({"a": [1.0, 2.0, 4.0]}, xlabel="score", **on),
    "turning_arrows": lambda **on: plots.turning_arrows((1.0, 0.0), (0.0, 1.0), 0, 1, turn=0.3, **on),
    "wiring": lambda **on: plots.wiring({(1, 0): [(0, 0)]}, words=["a"], **on),
}


@pytest.mark.parametrize("name", ON_AXES)
def test_a_figure_is_drawn_on_the_axes_given(name):
    _, ax = plt.subplots()
    options = {} if name in ("roofline_plot", "running_sums") else {"title": "Here"}
    assert ON_AXES[name](ax=ax, **options) is ax and ax.get_title(loc="left") == options.get("title", "")
