"""A sentence on its way: the vectors drawn, the words on the bars, the cells of the read-out, the sum of the votes."""

import numpy as np
import pytest

from xformer_course import plots

STEPS = ["<bos>", "Je", "suis"]
DEPTHS = ["embedding", "layer 1", "layer 2", "layer 3", "norm"]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def texts(labels):
    return [label.get_text() for label in labels]


class TestConveyor:
    @pytest.fixture
    def belts(self, rng):
        source, target = ["I", "am", "he", "<eos>", "."], ["<bos>", "Je"]
        return {
            "encoder": [(name, source, rng.normal(2, 5, (5, 13))) for name in ("start", "layer 1", "memory")],
            "decoder": [(name, target, rng.normal(0, 1, (2, 7))) for name in ("start", "layer 1")],
        }

    def test_each_row_is_drawn_in_its_own_standard_deviations(self, belts):
        drawn = plots.conveyor(belts)
        assert [len(column) for column in drawn] == [3, 2]
        for column, stations in zip(drawn, belts.values(), strict=True):
            for ax, (name, words, vectors) in zip(column, stations, strict=True):
                expected = [(row - row.mean()) / row.std() for row in vectors]
                np.testing.assert_allclose(ax.images[0].get_array(), expected)
                assert texts(ax.get_yticklabels()) == words
                assert ax.get_title(loc="left") == name and ax.get_title(loc="right") == str(vectors.shape)

    def test_a_long_row_leaves_the_others_as_they_were_and_its_length_stands_beside_it(self):
        rows = np.array([[3.0, -4.0, 0.0], [60.0, 0.0, -80.0]])
        [[ax]] = plots.conveyor({"one": [("start", ["a", "b"], rows)]})
        [[longer]] = plots.conveyor({"one": [("start", ["a", "b"], rows * [[1], [7]])]})
        np.testing.assert_allclose(ax.images[0].get_array(), longer.images[0].get_array())
        assert texts(ax.texts) == ["5", "100", "length"] and texts(longer.texts) == ["5", "700", "length"]
        assert [text.get_position()[1] for text in ax.texts[:2]] == [0, 1]

    def test_an_arrow_between_neighbours_and_one_to_each_reader(self, belts):
        count = lambda drawn: sum("ConnectionPatch" in str(type(artist)) for artist in drawn[0][0].figure.artists)
        assert count(plots.conveyor(belts)) == 3
        assert count(plots.conveyor(belts, into=[0, 1])) == 5

    def test_refuses_rows_that_are_not_words_and_readers_that_are_not_there(self, belts, rng):
        with pytest.raises(ValueError, match="with 2 rows, one for each word, got shape"):
            plots.conveyor({"encoder": [("start", ["a", "b"], rng.random((1, 2, 5)))]})
        with pytest.raises(ValueError, match="stations of a second belt"):
            plots.conveyor(belts, into=[2])
        with pytest.raises(ValueError, match="add the belt"):
            plots.conveyor({"encoder": belts["encoder"]}, into=[0])


class TestReadoutMap:
    def test_each_cell_says_its_word_in_its_colour(self, rng):
        table = rng.random((5, 3))
        words = [[f"{row}.{column}" for column in range(3)] for row in range(5)]
        ax = plots.readout_map(words, table, depths=DEPTHS, steps=STEPS, title="lens")
        np.testing.assert_array_equal(ax.images[0].get_array(), table)
        places = {text.get_text(): text.get_position() for text in ax.texts}
        assert places == {f"{row}.{column}": (column, row) for row in range(5) for column in range(3)}
        assert texts(ax.get_yticklabels()) == DEPTHS and texts(ax.get_xticklabels()) == STEPS
        assert not ax.yaxis_inverted() and ax.get_title(loc="left") == "lens"

    def test_refuses_a_transposed_table(self, rng):
        with pytest.raises(ValueError, match="expected 5 depths × 3 steps, got shape \\(3, 5\\)"):
            plots.readout_map([["w"] * 5] * 3, rng.random((3, 5)), depths=DEPTHS, steps=STEPS)
        with pytest.raises(ValueError, match="expected 5 depths × 3 steps"):
            plots.readout_map([["w"] * 5] * 3, rng.random((5, 3)), depths=DEPTHS, steps=STEPS)


class TestRunningSums:
    SENTENCES = {
        "cat": (["Un", "chat", "."], np.array([-0.5, -3.0, -0.25])),
        "dog": (["Un", "chien", "noir", "dort", "."], np.array([-0.5, -1.0, -2.0, -0.5, -1.0])),
    }

    def test_lines_are_the_sums_so_far_from_zero_on(self):
        ax = plots.running_sums(self.SENTENCES)
        found = [line.get_ydata().tolist() for line in ax.get_lines()]
        assert found == [[0, -0.5, -3.5, -3.75], [0, -0.5, -1.5, -3.5, -4.0, -5.0]]
        assert texts(ax.get_legend().get_texts()) == ["cat", "dog"]

    def test_each_piece_stands_at_its_point_and_a_common_one_only_once(self):
        ax = plots.running_sums(self.SENTENCES)
        assert [(text.get_text(), *text.xy) for text in ax.texts] == [
            ("Un", 1, -0.5), ("chat", 2, -3.5), (".", 3, -3.75),
            ("chien", 2, -1.5), ("noir", 3, -3.5), ("dort", 4, -4.0), (".", 5, -5.0),
        ]  # fmt: skip

    def test_refuses_a_forgotten_end(self):
        with pytest.raises(ValueError, match="cat: expected 2 log-probabilities, .* got shape \\(3,\\)"):
            plots.running_sums({"cat": (["Un", "chat"], np.zeros(3))})
