"""LayerNorm in three moves, and along which direction of a table it works."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["norming"]

LEFT, PITCH = 132.0, 64.0  # the bars
FEET = (152.0, 222.0, 304.0)  # the zero lines of the three moves
ROOM = 108.0  # for the tallest bar
TABLE, HIGH = 412.0, 30.0
GIVEN, NORMED = 40.0, 56.0  # the columns of the two tables


def norming(table: Float[np.ndarray, "w m"], *, scales: Sequence[float] = (1.0, 2.0)) -> Picture:
    """Draw LayerNorm of the first row of a table in three moves, for several multiples of it; then the whole table normalised.

    A switch outlines the rows, as LayerNorm takes them, or the columns, as BatchNorm does.

    Args:
        table: a row of numbers for each word; four columns fit.
        scales: by which the first row is multiplied.

    >>> picture = norming(np.array([[2.0, 4, 4, 6], [20, 40, 40, 60], [6, 4, 4, 2]]))
    >>> picture.chosen
    {'times': '0', 'along': '0'}
    """
    table = np.asarray(table, float)
    x, count = table[0], table.shape[1]
    drawing = Drawing(400, int(TABLE + 34 * len(table) + 84))
    most = max(scales)
    unit = ROOM / (most * np.abs(x).max())  # the same for all three moves
    for place, scale in enumerate(scales):
        label = f"× {number(scale)}"
        with drawing.group(press=f"times:{place}", label=f"Multiply the word by {number(scale)}"):
            drawing.word(LEFT + 26 + 74 * place, 18, label, width=66)
        drawing.word(LEFT + 26 + 74 * place, 18, label, width=66, role="ink", state=f"times:{place}", rest=place > 0)
    drawing.text(4, 18, "one word", anchor="start", bold=True)
    told = []
    for place, scale in enumerate(scales):
        word = scale * x
        mean, size = word.mean(), word.std()
        moves = (word, word - mean, (word - mean) / size)
        with drawing.group(state=f"times:{place}", rest=place > 0):
            for step, (foot, numbers) in enumerate(zip(FEET, moves), start=1):
                with drawing.group(step=step):
                    drawing.path(f"M{LEFT - 6} {foot}H{LEFT + PITCH * count - 10}", stroke="quiet", thick=1)
                    for column, value in enumerate(numbers):
                        bar_x, tall = LEFT + PITCH * column, float(unit * abs(value))
                        top = foot - tall if value > 0 else foot
                        drawing.box(bar_x, top, 44, max(tall, 0.5), fill="ink" if step == 3 else "line", radius=1)
                        drawing.text(bar_x + 22, foot + (14, 52, 30)[step - 1], number(value), bold=step == 3)
            line = FEET[0] - unit * mean
            drawing.path(f"M{LEFT - 6} {line:.1f}H{LEFT + PITCH * count - 10}", stroke="accent", thick=2, dash="6 4")
            drawing.text(LEFT - 12, line, f"mean {number(mean)}", anchor="end", role="accent", size=14, bold=True)
            drawing.text(4, FEET[1], f"− {number(mean)}", anchor="start", role="accent", bold=True, step=2)
            drawing.text(4, FEET[2], f"÷ {number(size)}", anchor="start", role="accent", bold=True, step=3)
            band = unit * size
            with drawing.group(step=2):
                for edge in (-band, band):
                    drawing.path(f"M{LEFT - 6} {FEET[1] + edge:.1f}h{PITCH * count - 4}", stroke="accent", thick=1.5, dash="2 4")
                drawing.text(LEFT - 12, FEET[1] - band, f"±{number(size)}", anchor="end", role="accent", size=14)
        told.append(
            [
                f"A word has the numbers {', '.join(map(number, word))}. Their <b>mean</b> is {number(mean)}.",
                f"Subtract the mean. The root of the mean square of what is left is their <b>typical size</b>, {number(size)}.",
                f"Divide by the typical size: {', '.join(map(number, moves[2]))}. Press × {number(most)}: the word and its deviations "
                "grow, and the result stays.",
            ]
        )

    right = 400 - NORMED * count
    with drawing.group(step=4):
        drawing.path(f"M4 {TABLE - 48}H396", stroke="line", thick=1)
        drawing.text(4, TABLE - 14, "a row for each word", anchor="start", size=14)
        drawing.text(right, TABLE - 14, "normalised", anchor="start", size=14)
        for row, numbers in enumerate(table):
            for column, value in enumerate(numbers):
                drawing.cell(4 + GIVEN * column, TABLE + 34 * row, GIVEN - 6, HIGH, number(value), role="line", strength=0.08)
    bottom = TABLE + 34 * len(table) + 24
    for place, (axis, label) in enumerate(((1, "LayerNorm: rows"), (0, "BatchNorm: columns"))):
        spread = table.std(axis=axis, keepdims=True)
        normed = (table - table.mean(axis=axis, keepdims=True)) / np.where(spread > 0, spread, 1)
        with drawing.group(press=f"along:{place}", label=f"Show {label}", step=4):
            drawing.word(90 + 190 * place, bottom, label, width=166)
        drawing.word(90 + 190 * place, bottom, label, width=166, role="ink", state=f"along:{place}", rest=place > 0, step=4)
        with drawing.group(state=f"along:{place}", rest=place > 0, step=4):
            for row, numbers in enumerate(normed):
                for column, value in enumerate(numbers):
                    drawing.cell(right + NORMED * column, TABLE + 34 * row, NORMED - 6, HIGH, number(value), role="line", strength=0.08)
            for start, wide in ((4.0, GIVEN), (right, NORMED)):
                if axis:
                    for row in range(len(table)):
                        drawing.box(start - 2, TABLE + 34 * row - 2, wide * count - 2, HIGH + 4, stroke="accent", thick=2.5)
                else:
                    for column in range(count):
                        drawing.box(start + wide * column - 2, TABLE - 2, wide - 2, 34 * len(table), stroke="accent", thick=2.5)
    last = "Each <b>row</b> is normalised by itself: no word depends on another. BatchNorm takes each <b>column</b>, across the words."
    return Picture(
        name="norming",
        title="LayerNorm brings each word to the same size",
        description=f"Bars of {', '.join(map(number, x))}, the same less their mean, and divided by their typical size. Below, a table of "
        f"{len(table)} words, normalised by rows or by columns",
        drawing=drawing,
        steps=by_state("times", [[*sentences, last] for sentences in told]),
        chosen={"times": "0", "along": "0"},
    )
