"""The beam as a tree and the histograms of draws: what stands where, and what is refused."""

import numpy as np
import pytest

from xformer_course import plots

STEPS = [
    [(("a",), 0.5), (("b",), 0.375), (("c",), 0.125)],
    [(("b", "d"), 0.25), (("a", "<eos>"), 0.1875), (("a", "d"), 0.125), (("b", "e"), 0.0625)],
    [(("b", "d", "<eos>"), 0.25)],
]


def nodes(ax):
    """From the text of a node to its place and the line style of its box."""
    return {text.get_text(): (*text.get_position(), text.get_bbox_patch().get_linestyle()) for text in ax.texts}


def test_every_extension_is_a_node_in_the_column_of_its_step():
    found = nodes(plots.beam_tree(STEPS, 2))
    assert len(found) == 1 + sum(map(len, STEPS))
    assert [found[name][0] for name in ("<bos>", "c  0.125", "<eos>  0.188", "<eos>  0.250")] == [0, 1, 2, 3]
    rows = [y for x, y, _ in found.values()]
    leaves = ("<eos>  0.188", "d  0.125", "<eos>  0.250", "e  0.062", "c  0.125")
    assert [found[name][1] for name in leaves] == [0, 1, 2, 3, 4] and max(rows) == 4
    assert found["a  0.500"][1] == 0.5 and found["b  0.375"][1] == 2.5


def test_only_what_the_beam_dropped_is_dotted():
    ax = plots.beam_tree(STEPS, 2)
    dotted = {name for name, (_, _, style) in nodes(ax).items() if style in (":", "dotted")}
    assert dotted == {"c  0.125", "d  0.125", "e  0.062"}
    colours = {text.get_text(): text.get_bbox_patch().get_edgecolor() for text in ax.texts}
    assert colours["<eos>  0.188"] == colours["<eos>  0.250"] != colours["b  0.375"] == colours["a  0.500"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kept", "finished", "dropped"]
    assert plots.beam_tree(STEPS, 2, ax=ax) is ax


def test_lines_lead_from_a_beginning_to_its_extension():
    ax = plots.beam_tree(STEPS, 2)
    places = {(x, y) for x, y, _ in nodes(ax).values()}
    drawn = [tuple(zip(*line.get_data())) for line in ax.lines]
    assert len(drawn) == sum(map(len, STEPS)) and {end for _, end in drawn} == places - {(0, nodes(ax)["<bos>"][1])}
    assert all(start in places and end[0] == start[0] + 1 for start, end in drawn)


@pytest.mark.parametrize("steps", [[STEPS[0], [(("c", "d"), 0.1)]], [STEPS[0], [(("z", "d"), 0.1)]], [STEPS[1]]])
def test_an_extension_of_what_was_not_kept_is_refused(steps):
    with pytest.raises(ValueError, match="^steps: expected extensions of what step . kept, got '"):
        plots.beam_tree(steps, 2)


def heights(ax):
    """From the colour of the bars to how many values they hold on either side of 0."""
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height(), bar.get_facecolor()) for bar in ax.patches]
    return {
        colour: (sum(h for x, h, c in bars if c == colour and x < 0), sum(h for x, h, c in bars if c == colour and x > 0))
        for colour in {c for _, _, c in bars}
    }


def test_each_value_is_in_a_bar_on_its_side_of_zero():
    rng = np.random.default_rng(5)
    draws = {"wide": rng.normal(0.3, 1.0, 211), "narrow": rng.normal(2.0, 0.1, 101)}
    axes = plots.draw_histograms(draws, xlabel="gap")
    assert [ax.get_title(loc="left") for ax in axes] == ["wide", "narrow"] and axes[-1].get_xlabel() == "gap"
    for ax, values in zip(axes, draws.values(), strict=True):
        counts = sorted(heights(ax).values())
        wanted = sorted([(0, int((values > 0).sum())), (int((values <= 0).sum()), 0)])
        assert counts == wanted
        span = next(line for line in ax.lines if line.get_marker() == "|")
        np.testing.assert_allclose(span.get_xdata(), np.quantile(values, [0.025, 0.975]))
        assert any(set(line.get_xdata()) == {0.0} for line in ax.lines)
    assert axes[0].get_xlim() == axes[1].get_xlim()


@pytest.mark.parametrize("draws", [{}, {"none": []}])
def test_a_histogram_wants_values(draws):
    with pytest.raises(ValueError, match="^draws: expected values for each name, got none|^draws: .* got 0 for 'none'"):
        plots.draw_histograms(draws, xlabel="gap")
