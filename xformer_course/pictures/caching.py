"""The key–value cache: each new word adds one key and one value, and those of the earlier words are kept."""

from collections.abc import Sequence
from html import escape

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.reference.attention import softmax
from xformer_lib.shapes import Float

__all__ = ["caching"]

TOP, ROW, HIGH = 104.0, 46.0, 32.0
COLUMNS = {"query": 98.0, "key": 152.0, "value": 206.0, "weight": 260.0}
WIDE = 46.0


def caching(words: Sequence[str], queries: Float[np.ndarray, "i"], keys: Float[np.ndarray, "i"], values: Float[np.ndarray, "i"]) -> Picture:
    """Draw what each step of writing makes, with a cache and without one; every vector is a single number.

    A step of the picture is a word that is written. It reads itself and the words before it, and what it reads is the same
    both ways.

    >>> caching(["a", "b"], np.ones(2), np.array([0.0, 0]), np.array([10.0, 20])).steps[1].count("It reads 15.")
    2
    """
    count = len(words)
    drawing = Drawing(400, int(TOP + ROW * count + 112))
    gap = min(16.0, 270 / (count * (count + 1) // 2))  # of the squares that count what was made
    drawing.text(2, TOP + ROW * count + 48, "keys and values made so far", anchor="start", bold=True)
    for place, (state, label) in enumerate((("cache:0", "with a cache"), ("cache:1", "without a cache"))):
        with drawing.group(press=state, label=f"Show {label}"):
            drawing.word(72 + 152 * place, 24, label, width=138)
        drawing.word(72 + 152 * place, 24, label, width=138, role="ink", state=state, rest=place == 1)
    for role, x in COLUMNS.items():
        drawing.text(x + WIDE / 2, TOP - 22, role, role=role, bold=True, size=14)

    told: list[list[str]] = [[], []]
    for step in range(1, count + 1):
        new = step - 1
        weights = softmax(queries[new] * keys[:step])
        read = number(float(weights @ values[:step]))
        seen = {"step": step} if step == count else {"step": step, "until": step + 1}
        for row in range(step):
            y = TOP + ROW * row
            with drawing.group(**seen):
                share = float(weights[row])
                drawing.cell(COLUMNS["weight"], y, WIDE, HIGH, number(share), role="weight", strength=0.06 + 0.49 * share)
                if row == new:
                    drawing.cell(COLUMNS["query"], y, WIDE, HIGH, number(float(queries[row])), role="query", strength=0.3)
                    _made(drawing, row, keys, values, y, "made")
                else:
                    with drawing.group(state="cache:0"):
                        for role, numbers in (("key", keys), ("value", values)):
                            drawing.cell(COLUMNS[role], y, WIDE, HIGH, number(float(numbers[row])), role="line", strength=0.05)
                        drawing.text(320, y + HIGH / 2, "kept", anchor="start", role="quiet", size=14)
                    with drawing.group(state="cache:1", rest=True):
                        _made(drawing, row, keys, values, y, "again")
        total = step * (step + 1) // 2
        foot = TOP + ROW * count
        drawing.text(2, foot + 18, f"{words[new]} reads {read}", anchor="start", bold=True, **seen)
        with drawing.group(**seen):
            for line, (label, made) in enumerate((("with a cache", step), ("without", total))):
                y = foot + 72 + 24 * line
                drawing.text(2, y, label, anchor="start", size=14)
                for place in range(made):
                    drawing.box(98 + gap * place, y - 7, gap - 2, 14, fill="key", strength=0.6, radius=2)
                drawing.text(102 + gap * made, y, str(made), anchor="start", bold=True)
        kept = "Nothing is kept yet." if step == 1 else f"The {'key and value' if step == 2 else 'keys and values'} from before are kept."
        again = "Nothing could have been kept." if step == 1 else f"All {step} words go through the matrices again."
        told[0].append(f"<b>{escape(words[new])}</b> makes one query, one key and one value. {kept} It reads {read}.")
        told[1].append(f"<b>{escape(words[new])}</b> makes one query, one key and one value. {again} It reads {read}.")
    for place, word in enumerate(words):
        y = TOP + ROW * place
        drawing.word(46, y + HIGH / 2, word, width=90, step=place + 1)
        for role in ("key", "value"):
            drawing.box(COLUMNS[role], y, WIDE, HIGH, stroke="line", thick=1, radius=2, until=place + 1)
    return Picture(
        name="caching",
        title="A new word adds one key and one value; the others are kept",
        description=f"{count} words, one per step. With a cache {count} keys and values are made, without one {count * (count + 1) // 2}; "
        "each word reads the same either way",
        drawing=drawing,
        steps=by_state("cache", told),
        chosen={"cache": "0"},
    )


def _made(drawing: Drawing, row: int, keys, values, y: float, word: str) -> None:
    for role, numbers in (("key", keys), ("value", values)):
        drawing.cell(
            COLUMNS[role], y, WIDE, HIGH, number(float(numbers[row])), role=role, strength=0.3, bold=True, come=(46 - COLUMNS[role], 0)
        )
    drawing.text(320, y + HIGH / 2, word, anchor="start", bold=True, size=14)
