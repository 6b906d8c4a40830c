"""The formula of self-attention as blocks: the shape of each matrix, and one word's row from end to end."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.picture import Picture
from xformer_lib.reference.attention import scaled_dot_product_attention
from xformer_lib.shapes import Float

__all__ = ["blocks"]

CELL, LEFT = 14.0, 68.0  # of all grids; where the first of a line begins


def blocks(words: Sequence[str], x: Float[np.ndarray, "i m"], matrices: Sequence[Float[np.ndarray, "m d"]]) -> Picture:
    """Draw softmax(Q Kᵀ / √d) V with every matrix as a grid, the darker the larger a number is.

    A touch on a word lights its row in each grid.

    Args:
        words: four or so.
        x: a row for each word.
        matrices: W_Q, W_K and W_V, of three columns or fewer.

    >>> eye = np.eye(2)
    >>> blocks(["a", "b"], eye, [eye, eye, eye]).steps[0]
    '<b>X</b> has a row for each of 2 words and 2 columns. Touch a word and follow its row.'
    """
    x = np.asarray(x, float)
    w = [np.asarray(matrix, float) for matrix in matrices]
    made = [x @ matrix for matrix in w]
    query, key, value = made
    output, weights = scaled_dot_product_attention(query, key, value)
    rows, columns = x.shape
    d = query.shape[1]
    tall, high = CELL * rows, CELL * columns
    tops = [64 + (high + 40) * place for place in range(3)]
    second = tops[2] + high + 72
    third = second + max(tall, CELL * d) + 82
    drawing = Drawing(400, int(third + tall + 14))
    middle = (tops[0] + tops[2] + high) / 2
    every = " ".join(f"row-{place}" for place in range(rows))

    def grid(left: float, top: float, numbers, role: str, name: str, *, whole: bool = False, step: int) -> None:
        """Draw a matrix with its name and shape; a row is lit with its word, a ``whole`` one with each word."""
        wide = CELL * numbers.shape[1]
        shape = f"{numbers.shape[0]} × {numbers.shape[1]}"
        drawing.text(left + wide / 2, top - 28, name, role=role, bold=True, size=14, step=step)
        drawing.text(left + wide / 2, top - 11, shape, size=14, role="quiet", step=step)
        most = max(float(np.abs(numbers).max()), 1e-9)
        for place, row in enumerate(numbers):
            with drawing.group(lit=every if whole else f"row-{place}", step=step):
                for column, number in enumerate(row):
                    at = left + CELL * column, top + CELL * place, CELL - 1, CELL - 1
                    drawing.box(*at, fill=role, strength=0.08 + 0.87 * abs(float(number)) / most, radius=1)

    def sign(left: float, y: float, text: str, step: int, **how) -> None:
        drawing.text(left, y, text, step=step, **how)

    drawing.stage(14, 1, "three projections of X", step=2)
    grid(LEFT, middle - tall / 2, x, "ink", "X", step=1)
    right = LEFT + CELL * columns
    for place, (top, matrix, result, role, letter) in enumerate(zip(tops, w, made, ("query", "key", "value"), "QKV")):
        step = 2 if place == 0 else 3
        y = top + high / 2
        drawing.path(f"M{right + 6} {middle}C{right + 26} {middle} {right + 14} {y} {right + 34} {y}", stroke="quiet", step=step)
        sign(right + 42, y, "×", step)
        grid(right + 58, top, matrix, role, f"W_{letter}", whole=True, step=step)
        sign(right + 120, y, "=", step)
        grid(right + 142, y - tall / 2, result, role, letter, step=step)

    drawing.stage(second - 54, 2, f"softmax(Q Kᵀ / √{d})", step=4)
    y = second + tall / 2
    grid(LEFT, second, query, "query", "Q", step=4)
    sign(LEFT + CELL * d + 14, y, "×", 4)
    start = LEFT + CELL * d + 28
    grid(start, y - CELL * d / 2, key.T, "key", "Kᵀ", whole=True, step=4)
    sign(start + tall + 14, y, "=", 4)
    start += tall + 28
    grid(start, second, query @ key.T, "ink", "scores", step=4)
    drawing.arrow((start + tall + 6, y), (start + tall + 60, y), role="ink", step=5)
    sign(start + tall + 33, y - 13, f"÷ √{d}", 5, size=14)
    sign(start + tall + 33, y + 14, "softmax", 5, size=14)
    grid(start + tall + 66, second, weights, "weight", "weights", step=5)

    drawing.stage(third - 54, 3, "weights × V", step=6)
    y = third + tall / 2
    grid(LEFT, third, weights, "weight", "weights", step=6)
    sign(LEFT + tall + 20, y, "×", 6)
    grid(LEFT + tall + 40, third, value, "value", "V", whole=True, step=6)
    sign(LEFT + tall + 62 + CELL * value.shape[1], y, "=", 6)
    grid(LEFT + tall + 92 + CELL * value.shape[1], third, output, "value", "output", step=6)
    for place, word in enumerate(words):  # the words lead to their rows
        row, y = middle - tall / 2 + CELL * (place + 0.5), middle + 30 * (place - (rows - 1) / 2)
        with drawing.group(light=f"row-{place}", lit=f"row-{place}", label=f"Follow {word}"):
            drawing.text(LEFT - 18, y, word, anchor="end", size=14)
            drawing.path(f"M{LEFT - 15} {y}L{LEFT - 2} {row}", stroke="line", thick=1)
            drawing.box(0, y - 15, LEFT - 4, 30, fill="paper", strength=0.0)
        for start in (second, third):
            drawing.text(LEFT - 8, start + CELL * (place + 0.5), word, anchor="end", size=14, step=4 if start == second else 6)
    shapes = [" × ".join(map(str, one.shape)) for one in (*w, *made)]
    return Picture(
        name="blocks",
        title="Self-attention as blocks: five products and a softmax",
        description=f"X, {rows} × {columns}, times W_Q, W_K and W_V, {', '.join(shapes[:3])}, gives Q, K and V, {', '.join(shapes[3:])}. "
        f"Q times K transposed gives {rows} × {rows} scores; divided and through a softmax they are weights; weights times V is the "
        f"output, {rows} × {value.shape[1]}",
        drawing=drawing,
        steps=(
            f"<b>X</b> has a row for each of {rows} words and {columns} columns. Touch a word and follow its row.",
            f"X × W<sub>Q</sub> = <b>Q</b>: {rows} × {columns} times {shapes[0]} is {shapes[3]}. Each word has its query.",
            f"Likewise <b>K</b>, {shapes[4]}, and <b>V</b>, {shapes[5]}: one row for each word.",
            f"Q × Kᵀ: each query meets each key. That makes {rows} × {rows} <b>scores</b>, one row for each word that asks.",
            f"Divide by √{d}, and take the softmax of each row. These are the <b>weights</b>.",
            f"Weights × V: each row is a weighted sum of the rows of V. The <b>output</b> is {rows} × {value.shape[1]}.",
        ),
    )
