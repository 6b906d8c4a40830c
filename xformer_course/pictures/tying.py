"""One matrix, three uses: it gives the encoder and the decoder their vectors, and the last vector is compared with its rows."""

from collections.abc import Sequence
from html import escape

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture
from xformer_lib.shapes import Float

__all__ = ["tying"]

LEFT, CELL, TOP, ROW, SHOWN = 112.0, 13.0, 74.0, 31.0, 5  # the matrix
BARS = 290.0


def tying(
    rows: Sequence[tuple[int, str]], matrix: Float[np.ndarray, "v m"], vector: Float[np.ndarray, "m"], *, source: int, target: int
) -> Picture:
    """Draw a few rows of the shared matrix with what reads them, and softmax of a decoder's vector against all rows.

    Args:
        rows: ids and words of the rows that are drawn, ten or so, by id.
        matrix: all rows, E.
        vector: what leaves the decoder.
        source, target: the ids that the encoder and the decoder read.

    >>> picture = tying([(0, "a"), (2, "b")], np.eye(3), np.array([0.0, 0, 5]), source=0, target=2)
    >>> picture.steps[0]
    'The matrix E has a row of 3 numbers for each of 3 tokens. The first 3 numbers of 2 rows are drawn, darker where they are larger.'
    """
    matrix, vector = np.asarray(matrix, float), np.asarray(vector, float)
    logits = matrix @ vector
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    spread = np.abs(matrix[[row for row, _ in rows], :SHOWN]).max() or 1.0
    numbers = min(SHOWN, matrix.shape[1])
    drawing = Drawing(400, int(TOP + ROW * len(rows) + 46))
    end = LEFT + CELL * SHOWN
    drawing.text(LEFT + CELL * SHOWN / 2, 18, f"E: {matrix.shape[0]:,} × {matrix.shape[1]}", role="matrix", bold=True)
    drawing.text(4, 46, "id", anchor="start", size=14, role="quiet")
    for place, (row, word) in enumerate(rows):
        y, lit = TOP + ROW * place, f"row-{row}"
        with drawing.group(lit=lit):
            drawing.text(4, y, str(row), anchor="start", size=14, role="quiet")
            drawing.text(LEFT - 10, y, word, anchor="end", size=14, bold=row in (source, target))
            for column, value in enumerate(matrix[row, :numbers]):
                where = LEFT + CELL * column, y - 11, CELL - 1, 22
                drawing.box(*where, fill="matrix", stroke="matrix", strength=0.08 + 0.8 * float(abs(value) / spread), thick=0.5, radius=1)
            share = float(shares[row])
            with drawing.group(step=4):
                drawing.box(BARS, y - 8, max(1.5, 62 * share), 16, fill="ink", radius=2, come="right")
                text = number(share) if share >= 0.005 else "under .01"
                drawing.text(BARS + 6 + 62 * share, y, text, anchor="start", size=14)
        with drawing.group(light=lit, label=f"Follow the row of {word}", lit=lit):
            drawing.box(2, y - 14, end, 28, fill="paper", strength=0.0)
        if place and row > rows[place - 1][0] + 1:
            drawing.path(f"M{LEFT} {y - ROW / 2:.1f}h{CELL * SHOWN - 1}", stroke="line", thick=1.5, dash="2 4")
    for step, row, name in ((2, source, "encoder"), (3, target, "decoder")):
        place = [one for one, _ in rows].index(row)
        y = TOP + ROW * place
        with drawing.group(step=step, lit=f"row-{row}"):
            drawing.box(LEFT - 2, y - 13, CELL * SHOWN + 3, 26, stroke="ink", thick=2.5, radius=3)
            with drawing.group(come=(-40, 0)):
                drawing.arrow((end + 3, y), (end + 18, y), role="ink", thick=1.5)
                drawing.text(end + 21, y, name, anchor="start", size=14, bold=True)
    with drawing.group(step=4):
        drawing.text(396, 18, "compared with x", anchor="end", size=14, bold=True)
        drawing.text(396, 46, "softmax(x Eᵀ)", anchor="end", size=14)
    names = dict(rows)
    best = int(np.argmax(shares))
    said = f"<b>{escape(names[best])}</b> gets {number(shares[best])}. " if best in names else ""
    return Picture(
        name="tying",
        title="One matrix, three uses",
        description=f"Rows of the shared matrix for {', '.join(names.values())}; {names[source]} goes to the encoder, {names[target]} to "
        "the decoder, and the decoder's last vector is compared with every row",
        drawing=drawing,
        steps=(
            f"The matrix E has a row of {matrix.shape[1]} numbers for each of {matrix.shape[0]:,} tokens. The first {numbers} numbers of "
            f"{len(rows)} rows are drawn, darker where they are larger.",
            f"The source has the id {source}: that row, <b>{escape(names[source])}</b>, goes to the encoder.",
            f"The target has the id {target}: a row of the same matrix, <b>{escape(names[target])}</b>, goes to the decoder.",
            f"The vector x that leaves the decoder is compared with <b>every</b> row by a dot product, and softmax makes probabilities. "
            f"{said}Touch a row to follow it.",
        ),
    )
