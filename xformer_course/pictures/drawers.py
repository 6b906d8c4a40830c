"""A lookup as a chest of drawers: keys are the labels, values the contents, and a weight is how far a drawer opens."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.reference.attention import softmax
from xformer_lib.shapes import Float

__all__ = ["drawers"]

TOP, ROW, FRONT, OPEN, VALUE, CELL = 72.0, 62.0, 116.0, 148.0, 280.0, 58.0


def drawers(
    labels: Sequence[str],
    contents: Sequence[str],
    asked: str,
    *,
    scores: Float[np.ndarray, "j"] | None = None,
    values: Float[np.ndarray, "j e"] | None = None,
    temperatures: Sequence[float] = (1.0,),
) -> Picture:
    """Draw a lookup: a drawer opens as far as its label fits the question, and what is inside flows together.

    Without scores, only a label that equals the question opens its drawer.

    Args:
        labels: the keys, three or so.
        contents: what is in each drawer, as a word.
        asked: a question that equals no label.
        scores: how well each label fits it.
        values: what is in each drawer, two numbers.
        temperatures: by which the scores may be divided; at first by 1, where it is among them.

    >>> len(drawers(["a", "b"], ["x", "y"], "c").steps)
    3
    >>> drawers(["a", "b"], ["x", "y"], "c", scores=np.array([0.5, 0]), values=np.eye(2)).chosen
    {}
    """
    foot = TOP + ROW * len(labels)
    drawing = Drawing(400, int(foot + (76 if scores is None else 130 if len(temperatures) > 1 else 86)))
    drawing.box(0, TOP - 8, FRONT + 2, ROW * len(labels) + 10, fill="soft", stroke="line", radius=4)
    drawing.text(FRONT / 2, TOP - 22, "keys", role="key", bold=True)
    drawing.text(VALUE + CELL, TOP - 22, "values", role="value", bold=True)
    for row, (label, inside) in enumerate(zip(labels, contents)):
        y = TOP + ROW * row
        drawing.box(6, y, FRONT - 10, ROW - 8, fill="paper", stroke="line", radius=3)
        drawing.cell(14, y + (5 if scores is not None else 15), FRONT - 26, 24, label, role="key")
        drawing.text(VALUE + CELL, y + (14 if values is not None else (ROW - 8) / 2), inside, role="value", bold=values is None)
    if scores is None:
        return _exact(drawing, labels, contents, asked, foot)
    if values is None:
        raise ValueError("values: expected two numbers for each label, got None; leave out the scores, too, or pass both")
    return _soft(drawing, labels, asked, np.asarray(scores, float), np.asarray(values, float), temperatures, foot)


def _drawer(drawing: Drawing, row: int, weight: float, **belongs: object) -> None:
    """Draw a drawer, open as far as its weight."""
    y, wide = TOP + ROW * row + 4, OPEN * weight
    with drawing.group(**belongs):
        if wide >= 1:
            drawing.box(FRONT + 2, y, wide, ROW - 16, fill="weight", stroke="weight", strength=0.16, radius=3, come="right")
        drawing.circle(FRONT + wide + 8, y + ROW / 2 - 8, 5, fill="weight", come=(-wide, 0))
        if wide > 34:
            drawing.text(FRONT + 2 + wide / 2, y + ROW / 2 - 8, number(weight, 3), role="weight", bold=True)
        else:
            drawing.text(FRONT + wide + 36, y + ROW / 2 - 8, number(weight, 3), role="weight", bold=True)


def _question(drawing: Drawing, words: str, **belongs: object) -> None:
    wide = 9 * len(words) + 24
    with drawing.group(**belongs):
        drawing.word(56 + wide / 2, 14, words, width=wide, role="query")


def _exact(drawing: Drawing, labels, contents, asked: str, foot: float) -> Picture:
    drawing.text(0, 14, "query", anchor="start", role="query", bold=True, step=2)
    _question(drawing, labels[0], step=2, until=3)
    _question(drawing, asked, step=3)
    for row in range(len(labels)):
        y = TOP + ROW * (row + 0.5) - 4
        drawing.path(f"M{FRONT + 52} {y}H{VALUE + 20}", stroke="line", dash="2 5")
        _drawer(drawing, row, float(row == 0), step=2, until=3)
        _drawer(drawing, row, 0.0, step=3)
    drawing.arrow((VALUE + CELL, foot), (VALUE + CELL, foot + 28), role="value", thick=2, step=2, until=3)
    drawing.text(
        VALUE + CELL, foot + 44, contents[0], role="value", bold=True, step=2, until=3, come=(0, TOP + ROW / 2 - foot - 44), late=1
    )
    drawing.text(396, foot + 44, "nothing: an error", anchor="end", role="accent", bold=True, step=3)
    return Picture(
        name="drawers",
        title="A drawer opens for the question that equals its label",
        description=f"A chest with the labels {', '.join(labels)}. {labels[0]} opens one drawer, {asked} opens none",
        drawing=drawing,
        steps=(
            "Each drawer has a label, its <b>key</b>, and contents, its <b>value</b>.",
            f"The query <b>{labels[0]}</b> equals one label. This drawer opens, the others stay shut.",
            f"The query <b>{asked}</b> equals none, so all of them stay shut.",
        ),
    )


def _soft(drawing: Drawing, labels, asked: str, scores, values, temperatures, foot: float) -> Picture:
    many = len(temperatures) > 1
    first = next((place for place, temperature in enumerate(temperatures) if temperature == 1), 0)
    drawing.text(0, 14, "query", anchor="start", role="query", bold=True)
    _question(drawing, asked)
    for row, (score, value) in enumerate(zip(scores, values)):
        y = TOP + ROW * row
        drawing.text(14, y + 41, f"score {number(score)}", anchor="start", size=14, role="quiet")
        for column, part in enumerate(value):
            drawing.cell(VALUE + CELL * column, y + 25, CELL - 3, 25, number(part), role="value", until=3)
    drawing.path(f"M{VALUE} {foot}h{CELL * 2 - 3}", stroke="ink", step=4)
    drawing.text(VALUE - 10, foot + 20, "sum", anchor="end", bold=True, step=4)
    told = []
    for state, temperature in enumerate(temperatures):
        weights = softmax(scores / temperature)
        output = weights @ values
        belongs = {"state": f"cold:{state}", "rest": state != first} if many else {}
        with drawing.group(**belongs):
            for row, (weight, value) in enumerate(zip(weights, values)):
                y = TOP + ROW * row
                _drawer(drawing, row, float(weight), step=2)
                for column, part in enumerate(value):
                    drawing.cell(
                        VALUE + CELL * column,
                        y + 25,
                        CELL - 3,
                        25,
                        number(weight * part),
                        role="value",
                        strength=0.04 + 0.4 * weight,
                        step=3,
                        come=(FRONT - VALUE, 0),
                    )
                drawing.text(VALUE - 6, y + 37, "×", anchor="end", size=14, role="quiet", step=2, until=3)
            for column, part in enumerate(output):
                drawing.cell(VALUE + CELL * column, foot + 7, CELL - 3, 28, number(part), role="value", bold=True, step=4, come=(0, -ROW))
        told.append(_sentences(labels, asked, scores, weights, output, temperature, many))
    if many:
        drawing.text(0, foot + 66, "temperature", anchor="start", size=14)
        for state, temperature in enumerate(temperatures):
            x = 32.0 + 84 * state
            with drawing.group(press=f"cold:{state}", label=f"Divide by {temperature:g}"):
                drawing.word(x, foot + 98, f"{temperature:g}", width=64)
            drawing.word(x, foot + 98, f"{temperature:g}", width=64, role="ink", state=f"cold:{state}", rest=state != first)
    return Picture(
        name="drawers",
        title="A low temperature shuts all drawers but one" if many else "Each drawer opens as far as its label fits",
        description=f"A chest with the labels {', '.join(labels)}. For {asked} they open by "
        + ", ".join(number(weight) for weight in softmax(scores / temperatures[first])),
        drawing=drawing,
        steps=by_state("cold", told, first),
        chosen={"cold": str(first)} if many else {},
    )


def _sentences(labels, asked: str, scores, weights, output, temperature: float, many: bool) -> list[str]:
    shares = ", ".join(f"{label} {number(weight, 3)}" for label, weight in zip(labels, weights))
    divided = f" of the scores, divided by the temperature {temperature:g}," if many else " of the scores"
    return [
        f"<b>{asked}</b> equals no label. The scores say how well each label fits: "
        + ", ".join(f"{label} {number(score)}" for label, score in zip(labels, scores))
        + ".",
        f"The softmax{divided} says how far each drawer opens. These are the <b>weights</b>: {shares}.",
        "From each drawer comes its value times its weight, before the weight is rounded.",
        f"Added up, they are one answer: ({', '.join(map(number, output))})." + (" Press another temperature." if many else ""),
    ]
