"""One sentence reads another, and an answer is added to the word that asked."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture
from xformer_lib.shapes import Float

__all__ = ["added", "cross_reading"]

TOP, BOTTOM = 34.0, 190.0  # the row that is read, and the row that asks


def cross_reading(asking: Sequence[str], read: Sequence[str], weights: Float[np.ndarray, "i j"]) -> Picture:
    """Draw cross-attention: the words of one sentence above, and rays to them from the words of another.

    Args:
        asking: the words that queries come from; press one, and its rays alone are dark.
        read: the words that keys and values come from.
        weights: of each asking word, a row that adds up to 1.

    >>> cross_reading(["chat"], ["big", "cat"], np.array([[0.1, 0.9]])).description
    'chat reads cat most (.90)'
    """
    weights = np.asarray(weights, float)
    above = [400 * (j + 0.5) / len(read) for j in range(len(read))]
    below = [400 * (i + 0.5) / len(asking) for i in range(len(asking))]
    drawing = Drawing(400, 246)
    best = [int(row.argmax()) for row in weights]
    last = len(asking) - 1
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            drawing.ray((below[i], BOTTOM - 16), (above[j], TOP + 16), float(weight), state=f"ask:{i}", rest=i != last, step=2)
        share = float(row[best[i]])
        drawing.text(200, 230, f"{asking[i]} → {read[best[i]]} {number(share)}", role="weight", bold=True,
                     state=f"ask:{i}", rest=i != last, step=2, late=1)  # fmt: skip
    for x, word in zip(above, read):
        drawing.word(x, TOP, word, width=84, role="key")
    for i, (x, word) in enumerate(zip(below, asking)):
        with drawing.group(press=f"ask:{i}", label=f"Let {word} ask"):
            drawing.word(x, BOTTOM, word, width=96)
        drawing.word(x, BOTTOM, word, width=96, role="query", state=f"ask:{i}", rest=i != last)
    told = "; ".join(f"{word} reads {read[j]} most ({number(float(row[j]))})" for word, row, j in zip(asking, weights, best))
    return Picture(
        name="cross-reading",
        title="One sentence asks, another one is read",
        description=told,
        drawing=drawing,
        steps=(
            "The queries come from the words below, keys and values from the words above. Choose who asks.",
            f"Each word below has {len(read)} weights, one for each word above: {told}.",
        ),
        chosen={"ask": str(last)},
    )


def added(columns: Sequence[str], word: str, vector: Float[np.ndarray, "m"], answer: Float[np.ndarray, "m"]) -> Picture:
    """Draw how the answer of attention is added to the word that asked: two rows of numbers, and their sum.

    Args:
        columns: the names of the m columns.
        word: who asked.
        vector: its numbers.
        answer: what attention returned, in the same columns.

    >>> added(["noun", "size"], "cat", np.array([1.0, 0.0]), np.array([0.0, 0.4])).steps[-1]
    'The sum has kept noun 1 and gained size .40.'
    """
    vector, answer = np.asarray(vector, float), np.asarray(answer, float)
    total = vector + answer
    wide = 304 / len(columns)
    drawing = Drawing(400, 222)
    rows = ((word, vector, "line", 1), ("answer", answer, "value", 2), ("sum", total, "ink", 3))
    for place, name in enumerate(columns):
        drawing.text(92 + wide * (place + 0.5), 14 + 20 * (place % 2), name, size=14)
    for count, (name, numbers, role, step) in enumerate(rows):
        falls = {"come": (0, -58)} if name == "sum" else {}
        y = 54 + 58 * count
        drawing.text(88, y + 18, ("", "+ ", "= ")[count] + name, anchor="end", bold=True, step=step)
        for place, value in enumerate(numbers):
            strength = 0.08 + 0.4 * min(1.0, abs(float(value)))
            drawing.cell(
                94 + wide * place, y, wide - 4, 36, number(float(value)), role=role, strength=strength, bold=value != 0, step=step, **falls
            )
    kept = ", ".join(f"{name} {number(float(value))}" for name, value in zip(columns, vector) if value)
    gained = ", ".join(f"{name} {number(float(value))}" for name, value in zip(columns, answer) if round(float(value), 2))
    return Picture(
        name="added",
        title=f"The answer is added to {word}",
        description=f"{word} has {kept}; the answer has {gained}; the sum has both",
        drawing=drawing,
        steps=(
            f"<b>{word}</b> before it asks: {kept}.",
            f"What attention returned: {gained}.",
            f"The sum has kept {kept} and gained {gained}.",
        ),
    )
