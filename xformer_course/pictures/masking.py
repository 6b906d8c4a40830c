"""A mask at work: scores, what is hidden from whom, and the weights that are left."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture
from xformer_lib.reference.attention import softmax
from xformer_lib.shapes import Bool, Float

__all__ = ["masked"]

LEFT, TOP, WIDE, HIGH = 92.0, 62.0, 60.0, 40.0  # the table of scores, and a cell of it


def masked(words: Sequence[str], scores: Float[np.ndarray, "i i"], mask: Bool[np.ndarray, "i i"]) -> Picture:
    """Draw what a mask does to scores: first all of them, then −∞ where it hides, then the weights.

    Args:
        words: four or so; each is a row that asks, and a column that is read.
        scores: of each query and each key, before softmax.
        mask: True = may attend.

    >>> masked(["a", "b"], np.zeros((2, 2)), np.tri(2, dtype=bool)).steps[1]
    'Above the diagonal lies what has yet to be written. The mask puts −∞ there, in 1 of 4 places.'
    """
    weights = softmax(np.where(mask, scores, -np.inf))
    count = len(words)
    drawing = Drawing(400, int(TOP + HIGH * count + 34))
    drawing.text(LEFT - 10, 18, "asks", anchor="end", role="query", size=14)
    drawing.text(LEFT + WIDE * count / 2, 18, "is read", role="key", size=14)
    for place, word in enumerate(words):
        drawing.text(LEFT + WIDE * (place + 0.5), 44, word, role="key", bold=True)
        drawing.text(LEFT - 10, TOP + HIGH * (place + 0.5) - 2, word, anchor="end", role="query", bold=True)
    for i in range(count):
        for j in range(count):
            x, y = LEFT + WIDE * j, TOP + HIGH * i
            cell = x, y, WIDE - 4, HIGH - 4
            drawing.cell(*cell, number(scores[i, j]), role="line", until=3 if mask[i, j] else 2)
            if mask[i, j]:
                share = float(weights[i, j])
                drawing.cell(*cell, number(share), role="weight", strength=0.06 + 0.49 * share, bold=share == weights[i].max(), step=3)
            else:
                drawing.hatched(*cell, step=2)
                with drawing.group(step=2, until=3):
                    drawing.box(x + WIDE / 2 - 18, y + HIGH / 2 - 13, 32, 22, fill="paper", radius=4)
                    drawing.text(x + WIDE / 2 - 2, y + HIGH / 2 - 2, "−∞")
        drawing.text(LEFT + WIDE * count + 8, TOP + HIGH * (i + 0.5) - 2, "= 1", anchor="start", role="quiet", size=14, step=4)
    for step, name in ((1, "scores"), (2, "scores, masked"), (3, "softmax, row by row")):
        last = {"until": step + 1} if step < 3 else {}
        drawing.text(LEFT, TOP + HIGH * count + 16, name, anchor="start", bold=True, step=step, **last)
    first = next((i for i in range(count) if mask[i].sum() == 1), None)
    only = f" <b>{words[first]}</b> has a single word to read, and gives it everything." if first is not None else ""
    hidden = int((~np.asarray(mask)).sum())
    return Picture(
        name="masked",
        title="The mask hides what has yet to be written",
        description=f"A table of {count} queries by {count} keys; {hidden} of its cells are hidden, and each row of weights adds up to 1",
        drawing=drawing,
        steps=(
            "Every word has a score for every word, those behind it included.",
            f"Above the diagonal lies what has yet to be written. The mask puts −∞ there, in {hidden} of {count * count} places.",
            f"Softmax makes 0 of −∞, exactly, and shares out the rest.{only}",
            "Each row still adds up to 1. Had we set weights to 0 after softmax, it would not.",
        ),
    )
