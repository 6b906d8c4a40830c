"""Heads side by side: the data drawn, one scale, the words, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from xformer_course import plots


def words(labels):
    return [label.get_text() for label in labels]


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

    def test_errors_say_what_to_do(self):
        with pytest.raises(ValueError, match="influence: expected sizes of at least 0, got -1; take the absolute"):
            plots.influence_map(-np.ones((1, 2)), ["a", "b"])
        with pytest.raises(ValueError, match=r"influence: expected \(head, 3 columns\), got shape \(3, 2\); it is tr"):
            plots.influence_map(self.TABLE.T, ["a", "b", "c"])
        with pytest.raises(ValueError, match="names: expected one for each of 2 heads, got 3"):
            plots.influence_map(self.TABLE, ["a", "b", "c"], names=["x", "y", "z"])
