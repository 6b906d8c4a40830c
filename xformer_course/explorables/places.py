"""The positions of chapter 7: the sinusoidal table, its similarities, a shift as a rotation, and rotary places."""

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.positions import frequencies, rotary, shift_matrix, sinusoidal_positions

DIM, LENGTH, BASE, WIDTHS = 16, 64, 10000.0, (16, 64, 512)
QUERY = np.array([0.9, -0.3, 0.5, 1.0, -0.8, 0.6, 0.4, 0.7])
KEY = np.array([-0.2, 1.1, 0.9, 0.2, -0.5, 0.9, 0.8, 0.3])
START = {"place": 5, "pair": 2, "offset": 3, "width": 64, "query": 3, "key": 5, "shift": 0}


def positions() -> Explorable:
    """Places 0 to 63 in 16 columns; a query and a key of width 8 for rotary.

    >>> positions().data["start"]["offset"]
    3
    """
    place, offset = START["place"], START["offset"]
    table, omega = sinusoidal_positions(LENGTH, DIM), frequencies(DIM)
    pairs = table[place].reshape(-1, 2)
    turned = (shift_matrix(DIM, offset) @ table[place]).reshape(-1, 2)
    rows = matrix_table(
        np.column_stack([omega, 2 * np.pi / omega, pairs, turned]),
        rows=[str(k) for k in range(DIM // 2)],
        columns=(
            "frequency",
            "wavelength",
            f"sine at {place}",
            f"cosine at {place}",
            f"sine at {place + offset}",
            f"cosine at {place + offset}",
        ),
        title=f"The pairs of columns, the row of place {place}, and the same turned {offset} places on",
        axes=("pair", ""),
        digits=3,
        plain=True,
    )
    m, n = START["query"], START["key"]
    score = rotary(QUERY[None], [m])[0] @ rotary(KEY[None], [n])[0]
    return Explorable(
        name="positions",
        label="Places as hands that turn: the sinusoidal table, similarity, shift and rotary",
        caption="The table: move the place and see fast hands and slow ones. Similarity: the curve moves with the place and keeps its shape. "
        "A shift: each pair turns by its own angle, the same from every place. Rotary: move both words, and the score stays; "
        "move one, and it changes.",
        data={"dim": DIM, "length": LENGTH, "base": BASE, "widths": list(WIDTHS), "q": QUERY.tolist(), "k": KEY.tolist(), "start": START},
        picture=f"{rows}<p>Rotary: a query at place {m} and a key at place {n} score {score:.3f}; so they do {n - m} places apart anywhere.</p>",
    )
