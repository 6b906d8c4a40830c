"""The first page's figure: press a French word, see which English ones the trained model reads."""

from html import escape

import numpy as np

from xformer_course.explorables.explorable import Explorable, asset
from xformer_course.explorables.pictures import matrix_table

LAYER, HEAD = 1, 0  # of the shipped model's cross-attention, counted from 0
# What the model writes greedily and where this head looks meanwhile, word by word, in hundredths; tests/explorables/test_looks.py compares.
SENTENCES = (
    (
        ("She", "gave", "him", "a", "green", "apple", "yesterday.", "(end)"),
        ("Elle", "lui", "a", "donné", "une", "pomme", "verte", "hier."),
        (
            (99, 0, 0, 0, 0, 0, 0, 0),
            (0, 0, 99, 0, 0, 0, 0, 0),
            (0, 98, 0, 2, 0, 0, 0, 0),
            (0, 100, 0, 0, 0, 0, 0, 0),
            (5, 0, 10, 82, 0, 0, 2, 0),
            (0, 0, 0, 0, 0, 100, 0, 0),
            (0, 3, 0, 0, 59, 16, 4, 18),
            (6, 0, 5, 1, 29, 1, 55, 3),
        ),
    ),
    (
        ("He", "gave", "me", "a", "good", "idea.", "(end)"),
        ("Il", "m'", "a", "donné", "une", "bonne", "idée."),
        (
            (91, 4, 2, 0, 0, 2, 1),
            (0, 0, 100, 0, 0, 0, 0),
            (2, 81, 8, 1, 0, 0, 8),
            (0, 100, 0, 0, 0, 0, 0),
            (10, 0, 2, 85, 2, 0, 0),
            (0, 0, 0, 0, 100, 0, 0),
            (0, 0, 1, 0, 0, 95, 3),
        ),
    ),
    (
        ("He", "often", "drinks", "black", "coffee.", "(end)"),
        ("Il", "boit", "souvent", "du", "café", "noir."),
        ((82, 12, 5, 0, 0, 1), (0, 0, 100, 0, 0, 0), (0, 100, 0, 0, 0, 0), (0, 1, 3, 41, 54, 1), (0, 0, 0, 2, 98, 0), (1, 0, 1, 50, 41, 6)),
    ),
)


def looks() -> Explorable:
    """Three sentences, their translations, and where one head of cross-attention looks for each word.

    >>> looks().data["sentences"][0]["written"][1]
    'lui'
    """
    source, written, shares = SENTENCES[0]
    table = matrix_table(
        np.array(shares) / 100,
        rows=written,
        columns=source,
        title=f"Cross-attention of layer {LAYER + 1}, head {HEAD + 1}: for each French word, the share of each English one",
        axes=("French (query)", "English (key)"),
    )
    return Explorable(
        name="looks",
        label="Where a trained translator looks while it writes each French word",
        caption="The lines show what one attention head of this book's own translator reads before it writes a word: the answer to a "
        "<em>query</em>, found among <em>keys</em>. Thicker means more; the weights are the model's, not a drawing.",
        data={
            "sentences": [{"source": list(s), "written": list(w), "shares": [list(row) for row in m]} for s, w, m in SENTENCES],
            "word": 1,
        },
        picture=f'<p>{escape(" ".join(source[:-1]))} → <span lang="fr">{escape(" ".join(written))}</span></p>{table}',
        style=asset("looks.css"),
    )
