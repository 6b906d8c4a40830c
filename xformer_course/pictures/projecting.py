"""Three roles for one word: its vector picks rows of three matrices, and their sums are its query, its key and its value."""

from collections.abc import Mapping, Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["projections"]

GUTTER, STRIP, FIRST, CELL, HIGH, TOP = 70.0, 76.0, 126.0, 31.0, 27.0, 92.0
ROLES, LETTERS = ("query", "key", "value"), ("W_Q", "W_K", "W_V")


def projections(
    words: Sequence[str],
    x: Float[np.ndarray, "i m"],
    matrices: Sequence[Float[np.ndarray, "m d"]],
    *,
    properties: Sequence[str],
    means: Mapping[str, Sequence[str]],
    first: str,
) -> Picture:
    """Draw how a word's vector becomes its query, key and value: the rows that it picks are lit, and added downwards.

    Args:
        words: a press on one lets it be projected.
        x: a row for each word.
        matrices: W_Q, W_K and W_V; together seven columns or fewer.
        properties: names of the columns of ``x``.
        means: for ``"query"``, ``"key"`` and ``"value"``, what each word's one says, in words.
        first: the word that is projected at first.

    >>> eye = np.eye(2)
    >>> means = dict.fromkeys(("query", "key", "value"), ["", ""])
    >>> projections(["a", "b"], eye, [eye, 2 * eye, eye], properties="xy", means=means, first="b").chosen
    {'word': '1'}
    """
    at, lefts = words.index(first), [FIRST]
    for matrix in matrices[:-1]:
        lefts.append(lefts[-1] + CELL * matrix.shape[1] + 16)
    rows = len(properties)
    answer = TOP + HIGH * rows + 30
    drawing = Drawing(400, int(answer + HIGH + 30))
    for place, word in enumerate(words):
        middle = 46.0 + 86 * place
        with drawing.group(press=f"word:{place}", label=f"Project {word}"):
            drawing.word(middle, 18, word, width=78)
        drawing.word(middle, 18, word, width=78, role="ink", state=f"word:{place}", rest=place != at)
    for row, name in enumerate(properties):
        drawing.text(GUTTER - 2, TOP + HIGH * (row + 0.5), name, anchor="end", role="quiet", size=14)
    for step, (matrix, left, letter, role) in enumerate(zip(matrices, lefts, LETTERS, ROLES), start=2):
        drawing.text(left + CELL * matrix.shape[1] / 2, TOP - 16, letter, role=role, bold=True, step=step)
        drawing.text(left - 9, TOP + HIGH * rows / 2, "×" if step == 2 else "", role="quiet", step=step)
    for row in range(rows):
        drawing.cell(STRIP, TOP + HIGH * row, 32, HIGH - 3, "0", role="line", strength=0.06)
    for step, (matrix, left, role) in enumerate(zip(matrices, lefts, ROLES), start=2):
        drawing.path(f"M{left} {answer - 12}h{CELL * matrix.shape[1] - 3}", stroke="line", step=step)
        drawing.text(left + (CELL * matrix.shape[1] - 3) / 2, answer + HIGH + 14, role, role=role, size=14, step=step)
        for (row, column), value in np.ndenumerate(matrix):
            where = left + CELL * column, TOP + HIGH * row, CELL - 3, HIGH - 3
            drawing.cell(*where, number(value), role=role, strength=0.05, step=step)
    for place in range(len(words)):  # what a word picks lies on top
        with drawing.group(state=f"word:{place}", rest=place != at):
            for picked in map(int, np.flatnonzero(x[place])):
                top = TOP + HIGH * picked
                drawing.cell(STRIP, top, 32, HIGH - 3, number(x[place, picked]), role="line", strength=0.35, bold=True)
                for step, (matrix, left, role) in enumerate(zip(matrices, lefts, ROLES), start=2):
                    for column, value in enumerate(matrix[picked]):
                        where = left + CELL * column, top, CELL - 3, HIGH - 3
                        drawing.cell(*where, number(value), role=role, strength=0.4, bold=True, step=step)
            for step, (matrix, left, role) in enumerate(zip(matrices, lefts, ROLES), start=2):
                for column, value in enumerate(x[place] @ matrix):
                    drawing.cell(left + CELL * column, answer, CELL - 3, HIGH, number(value), role=role, bold=True, step=step)
    drawing.text(FIRST - 12, answer + HIGH / 2, "added up", anchor="end", role="quiet", size=14, step=2)
    told = []
    for place, word in enumerate(words):
        has = " and ".join(name for name, value in zip(properties, x[place]) if value)
        told.append(
            [
                f"<b>{word}</b> is a vector: it has {has}. Press another word to change it.",
                f"These numbers pick rows of W<sub>Q</sub>, which are added up: the <b>query</b> of <b>{word}</b>. {means['query'][place]}",
                f"The same word, another matrix: its <b>key</b>. {means['key'][place]}",
                f"And a third one: its <b>value</b>. {means['value'][place]}",
            ]
        )
    return Picture(
        name="projections",
        title="One word, three matrices: query, key and value",
        description=f"The vector of {first} and three matrices; the rows that it picks are lit, their sums are its query, key and value",
        drawing=drawing,
        steps=by_state("word", told, at),
        chosen={"word": str(at)},
    )
