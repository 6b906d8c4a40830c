"""Costs on logarithmic axes: the points, the roof, and what is refused."""

import pytest

from xformer_course import plots

LINES = {"square": ([2, 4, 8], [3, 12, 48]), "straight": ([5, 10], [7, 14])}
AXES = {"xlabel": "words", "ylabel": "products"}


def drawn(ax):
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}


def test_lines_keep_their_points_and_axes_are_logarithmic():
    ax = plots.growth_plot(LINES, **AXES, title="Growth")
    assert {name: drawn(ax)[name] for name in LINES} == {name: (list(x), list(y)) for name, (x, y) in LINES.items()}
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log") and ax.get_title(loc="left") == "Growth"
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "4", "5", "8", "10"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(LINES)


def test_the_roof_bends_where_memory_and_processor_meet():
    ax = plots.roofline_plot({"rows": ([0.5, 2, 32], [3, 11, 60])}, peak=70, bandwidth=7, labels=["1", "4", "64"])
    x, y = drawn(ax)["roof"]
    assert x[1] == 10 and y == [pytest.approx(7 * x[0]), 70, 70]
    assert drawn(ax)["rows"] == ([0.5, 2, 32], [3, 11, 60])
    assert {"1", "4", "64", "balance: 10.0"} <= {text.get_text() for text in ax.texts}


@pytest.mark.parametrize(
    "call,fragment",
    [
        (lambda: plots.growth_plot({"a": ([1], [2])}, **AXES), "a: expected a cost for each size, two points or more, got 1"),
        (lambda: plots.growth_plot({"a": ([1, 2], [2])}, **AXES), "got 2 sizes and 1 costs; pass (sizes, costs)"),
        (lambda: plots.growth_plot({"a": ([1, 2], [0, 2])}, **AXES), "expected positive numbers, got 0; logarithmic"),
        (lambda: plots.roofline_plot({}, peak=0, bandwidth=2), "peak, bandwidth: expected positive numbers, got 0 and 2"),
    ],
)
def test_errors_say_what_to_do(call, fragment):
    with pytest.raises(ValueError) as caught:
        call()
    assert fragment in str(caught.value)
