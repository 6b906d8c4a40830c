"""The scaled dot-product of chapter 3: change a number of Q, K or V and follow it to the output."""

import math

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.attention import scaled_dot_product_attention

QUESTIONS = ("describes?", "names?", "both?")
WORDS = ("The", "big", "yellow", "cat")
KINDS = ("describes", "names")
CONTENTS = ("size", "colour", "animal")
Q = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
K = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
V = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def scaled_dot_product() -> Explorable:
    """Three queries, four keys and values of chapter 3, every number open to change.

    >>> scaled_dot_product().data["rows"]["k"]
    ['The', 'big', 'yellow', 'cat']
    """
    output, weights = scaled_dot_product_attention(Q, K, V)
    scores = Q @ K.T
    steps = (
        matrix_table(scores, rows=QUESTIONS, columns=WORDS, title="1. Scores Q Kᵀ", plain=True),
        matrix_table(scores / math.sqrt(Q.shape[1]), rows=QUESTIONS, columns=WORDS, title="2. Divided by √2", plain=True),
        matrix_table(weights, rows=QUESTIONS, columns=WORDS, title="3. Weights: softmax of each row"),
        matrix_table(output, rows=QUESTIONS, columns=CONTENTS, title="4. Output: weights V", axes=("query", "column")),
    )
    return Explorable(
        name="scaled-dot-product",
        label="Scaled dot-product attention: numbers of Q, K and V to change, and each step up to the output",
        caption="Choose a cell of any step: its sum is written out, and frames show what it was made of. Then change a number "
        "(arrow keys: 0.1); numbers that changed are underlined. A number of Q moves one row of weights, a number of K the row of "
        "every query without a 0 in that column, a number of V no weight. Set K, big, describes to 4: describes? gives big 0.73, "
        "and 0.85 without the division.",
        data={
            "rows": {"q": list(QUESTIONS), "k": list(WORDS), "v": list(WORDS)},
            "columns": {"q": list(KINDS), "k": list(KINDS), "v": list(CONTENTS)},
            "q": Q.tolist(),
            "k": K.tolist(),
            "v": V.tolist(),
            "scaled": True,
            "mask": "none",
            "chosen": ["weights", 0, 1],
        },
        picture=f'<div class="xf-row">{"".join(steps)}</div>',
        style=STYLE,
    )


STYLE = """
.xf .xf-entry td { padding: 0.1rem 0.15rem; }
.xf .xf-entry input[type="number"] { width: 4rem; padding: 0.1rem 0.2rem; text-align: right; }
.xf .xf-entry input[aria-invalid="true"] { border: 2px solid var(--xf-accent); }
.xf .xf-made th, .xf .xf-made td { padding: 0.15rem 0.25rem; }
.xf .xf-made td[role="gridcell"] { cursor: pointer; min-width: 2.6rem; height: 1.9rem; border-color: var(--xf-line); }
.xf .xf-from { outline: 3px solid var(--role, var(--xf-ink)); outline-offset: -3px; }
.xf .xf-deep { outline: 2px dashed var(--role, var(--xf-ink)); outline-offset: -2px; }
.xf .xf-of-q { --role: var(--query); }
.xf .xf-of-k { --role: var(--key); }
.xf .xf-of-v { --role: var(--value); }
.xf .xf-entry caption { color: var(--role); font-weight: 600; }
.xf .xf-entry input[type="number"] { border-color: var(--role); }
.xf .xf-changed { text-decoration: underline; text-decoration-thickness: 2px; font-weight: 700; }
.xf .xf-trace { padding: 0.4rem 0.6rem; border-left: 0.3rem solid var(--xf-accent); background: var(--xf-soft); min-height: 3.7em; overflow-wrap: anywhere; width: 100%; }
.xf[data-xf="scaled-dot-product"] .xf-say { min-height: 3em; }
"""
