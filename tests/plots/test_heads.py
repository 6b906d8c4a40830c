"""Heads side by side: the data drawn, one scale, the words, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xformer_course import plots

QUERIES = ["Le", "gros", "chat"]
KEYS = ["The", "big", "yellow", "cat", "."]
HEADS = 2


@pytest.fixture
def weights():
    raw = np.random.default_rng(5).random((HEADS, len(QUERIES), len(KEYS)))
    return raw / raw.sum(axis=-1, keepdims=True)


def words(labels):
    return [label.get_text() for label in labels]


class TestHeadMaps:
    def test_each_map_holds_the_weights_of_its_head(self, weights):
        axes = plots.head_maps(weights, QUERIES, KEYS)
        assert len(axes) == HEADS
        for ax, head in zip(axes, weights, strict=True):
            np.testing.assert_array_equal(ax.images[0].get_array(), head)

    def test_words_stand_on_both_axes_of_every_map(self, weights):
        for ax in plots.head_maps(weights, QUERIES, KEYS):
            assert (words(ax.get_yticklabels()), words(ax.get_xticklabels())) == (QUERIES, KEYS)
            assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")

    def test_one_scale_and_one_colour_bar(self, weights):
        axes = plots.head_maps(weights, QUERIES, KEYS, vmax=0.5)
        assert {ax.images[0].get_clim() for ax in axes} == {(0.0, 0.5)}
        others = [ax for ax in axes[0].figure.axes if ax not in list(axes)]
        assert [ax.get_ylabel() for ax in others] == ["attention weight"]

    def test_titles_count_the_heads_unless_given(self, weights):
        assert [ax.get_title(loc="left") for ax in plots.head_maps(weights, QUERIES, KEYS)] == ["head 1", "head 2"]
        given = plots.head_maps(weights, QUERIES, KEYS, titles=["asks what", "asks who"])
        assert [ax.get_title(loc="left") for ax in given] == ["asks what", "asks who"]

    def test_values_are_written_where_they_belong(self, weights):
        for ax, head in zip(plots.head_maps(weights, QUERIES, KEYS, values=True), weights, strict=True):
            written = {text.get_position(): text.get_text() for text in ax.texts}
            assert written == {(j, i): f"{head[i, j]:.2f}" for i, j in np.ndindex(head.shape)}

    def test_axes_may_be_given(self, weights):
        _, given = plt.subplots(1, HEADS)
        assert list(plots.head_maps(weights, QUERIES, KEYS, axes=given)) == list(given)

    @pytest.mark.parametrize("heads,rows", [(1, 1), (3, 1), (4, 2), (7, 3)])
    def test_many_heads_take_several_rows_and_leave_no_empty_place(self, heads, rows):
        axes = plots.head_maps(np.full((heads, 2, 2), 0.5), ["a", "b"], ["c", "d"])
        assert len(axes) == heads and len(axes[0].figure.axes) == heads + 1
        assert axes[-1].get_subplotspec().rowspan.stop == rows
        assert axes[0].figure.get_size_inches()[0] <= 9.0

    @pytest.mark.errors
    @pytest.mark.parametrize(
        "change,fragment",
        [
            ({"weights": np.ones((3, 5))}, "weights: expected (head, query, key), got shape (3, 5); give one map to"),
            ({"weights": np.ones((1, 2, 3, 5))}, "of a batch one sentence, such as weights[0]"),
            ({"titles": ["one"]}, "titles: expected one for each of 2 heads, got 1; add or drop some"),
            ({"queries": QUERIES[:2]}, "weights: expected 2 queries × 5 keys, got shape (3, 5)"),
        ],
    )
    def test_errors_say_what_to_do(self, weights, change, fragment):
        with pytest.raises(ValueError) as caught:
            plots.head_maps(**{"weights": weights, "queries": QUERIES, "keys": KEYS} | change)
        assert fragment in str(caught.value)

    @pytest.mark.errors
    def test_one_axes_a_head(self, weights):
        with pytest.raises(ValueError, match="axes: expected one for each of 2 heads, got 1"):
            plots.head_maps(weights, QUERIES, KEYS, axes=[plt.subplots()[1]])


class TestHeadContributions:
    PARTS = np.array([[1.0, -2.0, 0.5], [3.0, 1.0, -1.5], [-0.5, -1.0, 2.0]])

    def test_positive_parts_rise_and_negative_ones_hang(self):
        ax = plots.head_contributions(self.PARTS, ["a", "b", "c"])
        drawn = [[(bar.get_y(), bar.get_height()) for bar in container] for container in ax.containers]
        assert drawn[0] == [(0.0, 1.0), (0.0, -2.0), (0.0, 0.5)]
        assert drawn[1] == [(1.0, 3.0), (0.0, 1.0), (0.0, -1.5)]
        assert drawn[2] == [(0.0, -0.5), (-2.0, -1.0), (0.5, 2.0)]

    def test_the_dash_is_the_sum(self):
        ax = plots.head_contributions(self.PARTS, ["a", "b", "c"])
        (dashes,) = ax.collections
        assert [segment[0][1] for segment in dashes.get_segments()] == list(self.PARTS.sum(axis=0))

    def test_words(self):
        ax = plots.head_contributions(self.PARTS, ["a", "b", "c"], title="cat", names=["x", "y", "z"], ylabel="size")
        assert words(ax.get_xticklabels()) == ["a", "b", "c"]
        assert set(words(ax.get_legend().get_texts())) == {"x", "y", "z", "sum"}
        assert (ax.get_title(loc="left"), ax.get_ylabel()) == ("cat", "size")

    def test_draws_where_it_is_told(self):
        _, ax = plt.subplots()
        assert plots.head_contributions(self.PARTS, ["a", "b", "c"], ax=ax) is ax

    def test_heads_stay_apart_in_grey(self):
        ax = plots.head_contributions(self.PARTS, ["a", "b", "c"])
        assert len({container[0].get_hatch() for container in ax.containers}) == 3

    @pytest.mark.errors
    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match=r"contributions: expected \(head, 2 columns\), got shape \(2, 3\); it is t"):
            plots.head_contributions(self.PARTS[:2], ["a", "b"])
        with pytest.raises(ValueError, match=r"got shape \(3,\); give one name per column"):
            plots.head_contributions(self.PARTS[0], ["a", "b"])
        with pytest.raises(ValueError, match="names: expected one for each of 3 heads, got 1"):
            plots.head_contributions(self.PARTS, ["a", "b", "c"], names=["x"])


class TestInfluenceMap:
    TABLE = np.array([[1.0, 0.0, 3.0], [0.5, 2.0, 0.0]])

    def test_rows_are_heads(self):
        ax = plots.influence_map(self.TABLE, ["a", "b", "c"])
        np.testing.assert_array_equal(ax.images[0].get_array(), self.TABLE)
        assert (words(ax.get_yticklabels()), words(ax.get_xticklabels())) == (["head 1", "head 2"], ["a", "b", "c"])
        assert ax.images[0].get_clim() == (0.0, 3.0)
        assert ax.figure.axes[1].get_ylabel() == "influence"

    def test_the_scale_may_say_what_it_measures(self):
        ax = plots.influence_map(self.TABLE, ["a", "b", "c"], label="change (norm)")
        assert ax.figure.axes[1].get_ylabel() == "change (norm)"

    def test_crosses_mark_exact_zeros_only(self):
        ax = plots.influence_map(self.TABLE, ["a", "b", "c"])
        assert {text.get_position() for text in ax.texts} == {(1, 0), (2, 1)}
        assert not plots.influence_map(self.TABLE + 1e-9, ["a", "b", "c"]).texts

    def test_several_maps_share_a_scale(self):
        _, axes = plt.subplots(1, 2)
        for ax in axes:
            assert plots.influence_map(self.TABLE, ["a", "b", "c"], ax=ax, vmax=5.0, colorbar=False) is ax
        assert {ax.images[0].get_clim() for ax in axes} == {(0.0, 5.0)}
        assert len(axes[0].figure.axes) == 2

    @pytest.mark.errors
    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match="influence: expected sizes of at least 0, got -1; take the absolute"):
            plots.influence_map(-np.ones((1, 2)), ["a", "b"])
        with pytest.raises(ValueError, match=r"influence: expected \(head, 3 columns\), got shape \(3, 2\); it is tr"):
            plots.influence_map(self.TABLE.T, ["a", "b", "c"])
        with pytest.raises(ValueError, match="names: expected one for each of 2 heads, got 3"):
            plots.influence_map(self.TABLE, ["a", "b", "c"], names=["x", "y", "z"])
