"""Words that change places, and what becomes of the rows that a layer makes of them."""

from collections.abc import Callable, Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["shuffled"]

WORD, STRIP, PLACES, BAR, OUT, RIGHT = 62.0, 95.0, 146.0, 196.0, 220.0, 374.0  # where the columns of the picture stand
ROW = 38.0


def shuffled(
    words: Sequence[str],
    vectors: Float[np.ndarray, "n m"],
    layer: Callable[[Float[np.ndarray, "n m"]], Float[np.ndarray, "n e"]],
    order: Sequence[int],
    *,
    positions: Float[np.ndarray, "n m"] | None = None,
) -> Picture:
    """Draw what a layer makes of a sentence and of the same words in another order; a bow joins rows that are equal.

    Args:
        words: three or four.
        vectors: a row for each, of four numbers or so.
        layer: from rows to rows.
        order: in the second sentence, row ``i`` is ``words[order[i]]``.
        positions: added to the rows, where given. A switch says whether they stay in place or move with the words.

    >>> shuffled(["a", "b"], np.eye(2), lambda x: x, [1, 0]).chosen
    {}
    """
    x, order = np.asarray(vectors, float), list(order)
    tables = [None] if positions is None else [np.asarray(positions, float), np.asarray(positions, float)[order]]
    before = layer(x if positions is None else x + tables[0])
    afters = [layer(x[order] if table is None else x[order] + table) for table in tables]
    first, second = 46.0, 46 + ROW * len(words) + 44
    drawing = Drawing(400, int(second + ROW * len(words) + (74 if positions is not None else 36)))
    placed = positions is not None
    drawing.text((STRIP + PLACES) / 2 + 20 if placed else STRIP + 20, 12, "word + position" if placed else "words", role="quiet", size=14)
    drawing.text(BAR + 8, first + ROW * len(words) + 9, "layer", role="weight", bold=True, size=14)
    drawing.text((OUT + RIGHT) / 2, 12, "output", role="quiet", size=14)
    spread = max(np.abs(x).max(), 1e-9)
    _block(drawing, first, words, x, tables[0], spread)
    _outputs(drawing, first, before)
    with drawing.group(step=2):
        for row, source in enumerate(order):
            _bow(drawing, WORD - 31, -1, first + ROW * (source + 0.5), second + ROW * (row + 0.5), "ink")
    told = []
    for state, (table, after) in enumerate(zip(tables, afters)):
        belongs = {} if positions is None else {"state": f"places:{state}", "rest": state > 0}
        equal = [(i, j) for i in range(len(words)) for j in range(len(words)) if np.allclose(before[i], after[j])]
        with drawing.group(**belongs):
            with drawing.group(step=2):
                _block(drawing, second, [words[source] for source in order], x[order], table, spread)
            with drawing.group(step=3):
                _outputs(drawing, second, after)
                for i, j in equal:
                    _bow(drawing, RIGHT + 2, 1, first + ROW * (i + 0.5), second + ROW * (j + 0.5), "ink")
                verdict = "the same rows, moved" if len(equal) >= len(words) else "other rows" if not equal else "some rows come back"
                drawing.text((OUT + RIGHT) / 2, second + ROW * len(words) + 12, verdict, bold=True, role="ink" if equal else "accent")
        told.append(_sentences(words, order, len(equal), positions is not None, state))
    if positions is not None:
        y = drawing.height - 22.0
        for state, label in enumerate(("the positions stay", "the positions move too")):
            with drawing.group(press=f"places:{state}", label=f"See what happens where {label}"):
                drawing.word(100 + 196 * state, y, label, width=176)
            drawing.word(100 + 196 * state, y, label, width=176, role="ink", state=f"places:{state}", rest=state > 0)
    moved = " ".join(words[source] for source in order)
    same = sum(any(np.allclose(row, other) for other in afters[0]) for row in before)
    return Picture(
        name="shuffled",
        title="The words change places, and their outputs with them"
        if positions is None
        else "With a vector for each position, the outputs change",
        description=f"{' '.join(words)} becomes {moved}; of the {len(words)} rows of the output, {same} come back",
        drawing=drawing,
        steps=by_state("places", told),
        chosen={} if positions is None else {"places": "0"},
    )


def _block(drawing: Drawing, top: float, words, rows, table, spread: float) -> None:
    """Draw the input of one sentence: words, their vectors, and the vectors of their places."""
    high = ROW * len(words)
    drawing.box(BAR, top, 16, high - 6, fill="weight", stroke="weight", strength=0.16, radius=6)
    for place, word in enumerate(words):
        y = top + ROW * (place + 0.5) - 3
        drawing.word(WORD, y, word, width=58)
        _strip(drawing, STRIP, y, rows[place], spread, "ink")
        if table is not None:
            drawing.text(PLACES - 5, y, "+", size=14)
            _strip(drawing, PLACES, y, table[place], max(np.abs(table).max(), 1e-9), "accent")
        drawing.arrow(((STRIP if table is None else PLACES) + 42, y), (BAR - 1, y))
        drawing.arrow((BAR + 17, y), (OUT - 1, y))


def _strip(drawing: Drawing, x: float, y: float, numbers, spread: float, role: str) -> None:
    wide = 38 / len(numbers)
    drawing.box(x - 1, y - 12, 40, 24, stroke=role, thick=1, radius=2)
    for column, value in enumerate(numbers):
        drawing.box(x + wide * column, y - 11, wide - 1, 22, fill=role, strength=0.06 + 0.7 * float(abs(value) / spread), radius=1)


def _outputs(drawing: Drawing, top: float, rows) -> None:
    wide = (RIGHT - OUT) / rows.shape[1]
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            left, y = OUT + wide * column, top + ROW * place + 4
            drawing.box(left, y, wide - 1, ROW - 14, fill="weight", strength=0.1, radius=2)
            drawing.text(left + wide / 2, y + (ROW - 14) / 2, number(float(value), 1), size=14)


def _bow(drawing: Drawing, x: float, side: int, start: float, end: float, role: str) -> None:
    """Draw a bow at the side of the rows, from one sentence to the other."""
    out = x + side * 32 * (end - start) / 240
    drawing.path(f"M{x:.1f} {start - 3:.1f}C{out:.1f} {start:.1f} {out:.1f} {end - 6:.1f} {x:.1f} {end - 3:.1f}", stroke=role, thick=2.5)
    drawing.circle(x, end - 3, 3.5, fill=role)


def _sentences(words, order, equal: int, placed: bool, state: int) -> list[str]:
    moved = " ".join(words[source] for source in order)
    told = [
        f"<b>{' '.join(words)}</b>: each word is a row of numbers, darker where they are larger. "
        + ("Each position adds a row of its own. " if placed else "")
        + "The layer makes a new row of each.",
        f"Now the words change places: <b>{moved}</b>. "
        + (
            ("The vectors of the positions stay where they are.", "The vectors of the positions move with their words.")[state]
            if placed
            else "A bow leads from each word to itself."
        ),
    ]
    last = "No row of the second output occurs in the first: the layer can tell the two sentences apart."
    if equal:
        last = "The same rows come out, each beside its own word: the bows at the right are those at the left."
    return [*told, last]
