"""A sentence on its way: the vectors drawn, the words on the bars, the cells of the read-out, the sum of the votes."""

import matplotlib
import matplotlib.colors
import numpy as np
import pytest

from xformer_course import plots

WORDS = [f"w{number}" for number in range(11)]
STEPS = ["<bos>", "Je", "suis"]
DEPTHS = ["embedding", "layer 1", "layer 2", "layer 3", "norm"]


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def texts(labels):
    return [label.get_text() for label in labels]


def lengths(ax):
    return [bar.get_width() for bar in ax.patches]


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

    def test_a_scale_names_the_colours(self, belts):
        drawn = plots.conveyor(belts, limit=2.0)
        [scale] = [ax for ax in drawn[0][0].figure.axes if ax not in drawn[0] + drawn[1]]
        assert scale.get_xlim() == (-2.0, 2.0)
        assert "standard deviations" in " ".join(texts(drawn[0][0].figure.texts))

    def test_belts_run_downwards_and_words_are_as_high_everywhere(self, belts):
        heights = []
        for column in plots.conveyor(belts):
            boxes = [ax.get_position() for ax in column]
            assert all(upper.y0 > lower.y1 for upper, lower in zip(boxes, boxes[1:], strict=False))
            assert all(0 < box.y0 and box.y1 < 1 for box in boxes)
            heights += [box.height / len(ax.get_yticks()) for box, ax in zip(boxes, column, strict=True)]
        assert np.ptp(heights) < 1e-9

    def test_an_arrow_between_neighbours_and_one_to_each_reader(self, belts):
        count = lambda drawn: sum("ConnectionPatch" in str(type(artist)) for artist in drawn[0][0].figure.artists)
        assert count(plots.conveyor(belts)) == 3
        assert count(plots.conveyor(belts, into=[0, 1])) == 5

    def test_constant_vectors_are_drawn_as_zeros(self):
        [[ax]] = plots.conveyor({"one": [("start", ["a", "b"], np.full((2, 3), 7.0))]})
        assert not np.asarray(ax.images[0].get_array()).any()

    @pytest.mark.errors
    def test_refuses_rows_that_are_not_words_and_readers_that_are_not_there(self, belts, rng):
        with pytest.raises(ValueError, match="with 2 rows, one for each word, got shape"):
            plots.conveyor({"encoder": [("start", ["a", "b"], rng.random((1, 2, 5)))]})
        with pytest.raises(ValueError, match="stations of a second belt"):
            plots.conveyor(belts, into=[2])
        with pytest.raises(ValueError, match="add the belt"):
            plots.conveyor({"encoder": belts["encoder"]}, into=[0])


class TestNextWords:
    @pytest.fixture
    def table(self, rng):
        raw = rng.random((4, len(WORDS)))
        return raw / raw.sum(axis=1, keepdims=True)

    def test_bars_are_the_likeliest_words_best_first(self, table):
        axes = plots.next_words(table, WORDS, titles=list("abcd"), top=3)
        for ax, row, title in zip(axes, table, "abcd", strict=True):
            best = sorted(range(len(row)), key=lambda n: -row[n])[:3]
            assert texts(ax.get_yticklabels()) == [WORDS[n] for n in best]
            np.testing.assert_allclose(lengths(ax), row[best])
            assert ax.get_title(loc="left") == title and ax.yaxis_inverted()

    def test_the_word_taken_stands_out(self, table):
        second = np.argsort(-table, axis=1)[:, 1]
        for taken, place in ((None, 0), (second, 1)):
            for ax in plots.next_words(table, WORDS, titles=list("abcd"), chosen=taken):
                colours = [bar.get_facecolor() for bar in ax.patches]
                assert [n for n, colour in enumerate(colours) if colours.count(colour) == 1] == [place]
                assert colours[place] == matplotlib.colors.to_rgba(plots.OKABE_ITO[1]), "one colour means taken"

    def test_each_chart_shows_its_whole_scale_and_a_small_bar_is_not_called_zero(self):
        row = np.array([0.93, 0.06, 0.004, 0.006])
        [ax, other] = plots.next_words(np.stack([row, row]), WORDS[:4], titles=list("ab"), top=4)
        assert texts(ax.texts) == ["0.93", "0.06", "0.01", "< 0.01"]
        for chart in (ax, other):
            assert chart.get_xlim() == (0.0, 1.0) and chart.xaxis.get_major_ticks()[0].label1.get_visible()
            left = [text.get_position()[0] + 0.1 * (text.get_ha() == "left") for text in chart.texts]
            assert max(left) < 1.0, "each number stands inside the chart"

    def test_no_empty_axes_stay(self, table):
        axes = plots.next_words(table, WORDS, titles=list("abcd"))
        assert len(axes) == 4 == len(axes[0].figure.axes)

    @pytest.mark.errors
    def test_refuses_what_does_not_match(self, table):
        with pytest.raises(ValueError, match="expected \\(4 steps, 10 words\\)"):
            plots.next_words(table, WORDS[1:], titles=list("abcd"))
        with pytest.raises(ValueError, match="one title per row"):
            plots.next_words(table, WORDS, titles=list("abc"))
        with pytest.raises(ValueError, match="chosen: expected one id for each of 4 steps, got 1"):
            plots.next_words(table, WORDS, titles=list("abcd"), chosen=[2])


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

    @pytest.mark.errors
    def test_refuses_a_transposed_table(self, rng):
        with pytest.raises(ValueError, match="expected 5 depths × 3 steps, got shape \\(3, 5\\)"):
            plots.readout_map([["w"] * 5] * 3, rng.random((3, 5)), depths=DEPTHS, steps=STEPS)
        with pytest.raises(ValueError, match="expected 5 depths × 3 steps"):
            plots.readout_map([["w"] * 5] * 3, rng.random((5, 3)), depths=DEPTHS, steps=STEPS)


class TestVoteBars:
    def test_bars_are_the_votes_and_their_sum(self, rng):
        votes = rng.normal(size=7)
        ax = plots.vote_bars({"one": votes}, WORDS[:7], xlabel="logit")
        np.testing.assert_allclose(lengths(ax), [*votes, votes.sum()])
        assert texts(ax.get_yticklabels()) == [*WORDS[:7], "sum"] and ax.get_xlabel() == "logit"
        assert texts(ax.texts) == [f"{vote:+.2f}".replace("-", "−") for vote in (*votes, votes.sum())]
        assert ax.yaxis_inverted(), "the first part stands on top"
        assert ax.get_legend() is None

    def test_several_accounts_stand_side_by_side(self, rng):
        table = {name: rng.normal(size=5) for name in ("engineer", "engine", "driver")}
        ax = plots.vote_bars(table, WORDS[:5])
        assert texts(ax.get_legend().get_texts()) == list(table)
        rows = [[bar.get_width() for bar in group] for group in ax.containers]
        np.testing.assert_allclose(rows, [[*row, row.sum()] for row in table.values()])
        edges = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches)
        assert all(upper[1] <= lower[0] + 1e-9 for upper, lower in zip(edges, edges[1:], strict=False))
        for place, part in zip(ax.get_yticks(), zip(*ax.containers, strict=True), strict=True):
            middles = [bar.get_y() + bar.get_height() / 2 for bar in part]
            assert middles == sorted(middles) and abs(np.mean(middles) - place) < 1e-9

    @pytest.mark.errors
    def test_refuses_a_missing_name(self):
        with pytest.raises(ValueError, match="votes, b: expected 6 numbers, one for each name, got shape \\(7,\\)"):
            plots.vote_bars({"a": np.zeros(6), "b": np.zeros(7)}, WORDS[:6])


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

    def test_the_same_piece_at_another_height_is_written_again(self):
        ax = plots.running_sums({"a": (["Un"], np.array([-1.0])), "b": (["Un"], np.array([-2.0]))})
        assert [text.xy for text in ax.texts] == [(1, -1.0), (1, -2.0)]

    def test_a_piece_under_another_line_is_written_below_its_point(self):
        far = (["Un", "chat"], np.array([-1.0, -9.0]))
        ax = plots.running_sums({"a": (["Le", "chat"], np.array([-0.5, -0.5])), "b": far})
        assert [text.get_va() for text in ax.texts] == ["bottom", "bottom", "top", "bottom"]

    @pytest.mark.errors
    def test_refuses_a_forgotten_end(self):
        with pytest.raises(ValueError, match="cat: expected 2 log-probabilities, .* got shape \\(3,\\)"):
            plots.running_sums({"cat": (["Un", "chat"], np.zeros(3))})
