"""The permutations of chapter 5: move the words, and watch which rows of the output move with them."""

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.masks import causal_mask
from xformer_lib.reference.positions import sinusoidal_positions
from xformer_lib.reference.single_head import cross_attention, self_attention
from xformer_lib.shapes import Float

WORDS = ("dog", "bites", "the", "old", "man")
ASKING = ("Le", "chien", "mord")  # queries of another sentence, whose order stays
X = np.array([[-0.7, -0.8, -1.1, -1.0], [0.8, 0.2, -1.0, 1.1], [-0.2, -1.6, -0.1, -1.4], [0.4, 0.4, -0.5, 0.1], [1.2, -1.4, -1.9, -0.2]])
ASKING_X = np.array([[-1.4, 0.5, 1.5, 0.0], [0.1, 1.3, -0.3, -1.3], [-0.4, -1.8, 0.4, 2.1]])
W_Q = np.array([[1.2, 0.4], [-0.1, 1.0], [-1.6, 0.5], [-0.4, -0.5]])
W_K = np.array([[0.8, 1.9], [-1.3, -1.8], [-0.2, -0.8], [-0.2, 0.2]])
W_V = np.array([[0.6, 0.1, -0.2], [-0.8, -0.4, -0.7], [0.5, -0.1, 1.6], [-1.0, -1.1, -0.2]])

# What the output is made by, with the words of the input as rows of `x`.
LAYERS = {
    "self": lambda x: self_attention(x, W_Q, W_K, W_V)[0],
    "causal": lambda x: self_attention(x, W_Q, W_K, W_V, mask=causal_mask(len(x)))[0],
    "positions": lambda x: self_attention(x + sinusoidal_positions(*x.shape), W_Q, W_K, W_V)[0],
    "cross": lambda x: cross_attention(ASKING_X, x, W_Q, W_K, W_V)[0],
    "mean": lambda x: self_attention(x, W_Q, W_K, W_V)[0].mean(axis=0, keepdims=True),
}


def _strips(rows: Float[np.ndarray, "i m"], title: str, digits: int) -> str:
    """A matrix of the first state, a word beside each row."""
    columns = [str(column + 1) for column in range(rows.shape[1])]
    return matrix_table(rows, rows=WORDS, columns=columns, title=title, axes=("word", "column"), low=-2.2, high=2.2, digits=digits)


def permutations() -> Explorable:
    """Five words to reorder, before five layers; for each, what moves along, what stays, what changes.

    >>> permutations().data["words"]
    ['dog', 'bites', 'the', 'old', 'man']
    """
    output, weights = self_attention(X, W_Q, W_K, W_V)
    grid = matrix_table(weights, rows=WORDS, columns=WORDS, title="Weights: each row adds up to 1")
    picture = f'<div class="xf-row">{_strips(X, "Input X", 1)}{_strips(output, "Output of self-attention", 2)}{grid}</div>'
    return Explorable(
        name="permutations",
        label="Permutations: words to reorder before five attention layers, and what becomes of the output's rows",
        caption="Drag a word by its name, press its arrows, or focus it and use the arrow keys. In self-attention every output row "
        "moves with its word and keeps its numbers. Then choose another layer: a causal mask or positions change the numbers, while "
        "cross-attention and the mean do not move at all. The table tries this order, and all 120. The vectors are random numbers: "
        "no weight says what a word means.",
        data={
            "words": list(WORDS),
            "asking": list(ASKING),
            "x": X.tolist(),
            "askingX": ASKING_X.tolist(),
            "wQ": W_Q.tolist(),
            "wK": W_K.tolist(),
            "wV": W_V.tolist(),
            "mode": "self",
            "order": list(range(len(WORDS))),
        },
        picture=picture,
        style=STYLE,
    )


STYLE = """
.xf-rows { list-style: none; margin: 0; padding: 0; }
.xf .xf-rows > li { display: flex; gap: 0.25rem; align-items: center; height: 2.25rem; margin: 0; padding: 0; }
.xf-rows li > b { width: 4.2rem; }
.xf .xf-grip { width: 4.2rem; padding: 0.1rem 0.3rem; text-align: left; font-weight: 600; cursor: grab; touch-action: none; border-left-width: 0.35rem; }
.xf .xf-step { width: 1.75rem; padding: 0; }
.xf-strip { display: inline-flex; font-variant-numeric: tabular-nums; font-size: 0.875rem; }
.xf-strip > span { width: 2.4rem; padding: 0.2rem 0; text-align: center; }
.xf-strip.xf-fine > span { width: 2.9rem; }
.xf-fate { width: 6.4rem; font-size: 0.8125rem; line-height: 1.2; color: var(--xf-quiet); padding-left: 0.3rem; }
.xf-fate.xf-other { color: var(--xf-accent); font-weight: 600; }
.xf-moving { position: relative; z-index: 1; }
.xf .xf-step[aria-disabled="true"] { color: var(--xf-quiet); border-style: dotted; cursor: default; }
.xf[data-xf="permutations"] .xf-stage { display: flex; flex-direction: column; align-items: flex-start; }
.xf[data-xf="permutations"] .xf-say { font-weight: 600; min-height: 3em; }
.xf .xf-below { order: 1; max-width: 100%; gap: 1rem 1.6rem; margin: 0; }
.xf-head { margin: 0; font-weight: 600; }
.xf .xf-verdict td, .xf .xf-verdict th { text-align: left; border-color: var(--xf-line); }
"""
