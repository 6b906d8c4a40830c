"""The masks of chapters 3 and 9: paint what each query may read, and watch the weights."""

from collections.abc import Sequence

import numpy as np

from xformer_course.explorables.explorable import Explorable
from xformer_course.explorables.pictures import matrix_table
from xformer_lib.reference.attention import scaled_dot_product_attention
from xformer_lib.reference.masks import causal_mask, length_mask
from xformer_lib.shapes import Bool, Float

WORDS = ("The", "big", "yellow", "cat", "<pad>", "<pad>")


def queries_and_keys(length: int) -> tuple[Float[np.ndarray, "i d"], Float[np.ndarray, "j d"]]:
    """Made-up queries and keys of width 2, all different, with one decimal."""
    row, column = np.arange(length)[:, None], np.arange(2)[None, :]
    return np.round(1.6 * np.sin(1.0 + 2.3 * row + 1.7 * column), 1), np.round(1.6 * np.cos(0.4 + 1.9 * row + 2.6 * column), 1)


def first_masks(length: int) -> dict[str, tuple[str, Bool[np.ndarray, "n n"]]]:
    """The masks that the figure can open with, each with a title for the weights; the last two keys are padding."""
    causal, padding = causal_mask(length), np.repeat(length_mask([length - 2], length), length, axis=0)
    return {
        "none": ("without a mask", np.ones((length, length), dtype=bool)),
        "causal": ("under a causal mask", causal),
        "padding": ("under a padding mask", padding),
        "both": ("under a causal and a padding mask", causal & padding),
    }


def masks(words: Sequence[str] = WORDS, *, start: str = "causal") -> Explorable:
    """A mask over every pair of ``words``, which are queries and keys at once; the last two count as padding.

    The figure opens with the mask ``start``: "none", "causal", "padding" or "both".

    >>> masks(["<bos>", "Je", "suis", "<pad>", "<pad>"]).data["words"]
    ['<bos>', 'Je', 'suis', '<pad>', '<pad>']
    """
    words = [str(word) for word in words]
    if not 3 <= len(words) <= 8:
        raise ValueError(f"words: expected 3 to 8 of them, got {len(words)}; a larger grid does not fit a phone")
    q, k = queries_and_keys(len(words))
    starts = first_masks(len(words))
    if start not in starts:
        raise ValueError(f"start: expected one of {', '.join(starts)}, got {start!r}; paint another mask in the figure")
    title, mask = starts[start]
    _, weights = scaled_dot_product_attention(q, k, k, mask=mask)
    table = matrix_table(weights, rows=words, columns=words, title=f"Weights {title}: each row adds up to 1", mask=mask)
    return Explorable(
        name="masks",
        label="Masks: a grid of queries and keys to paint, and the attention weights that remain",
        caption="Click or drag over the mask to hide keys from queries and to show them again; or go through it with the arrow "
        "keys and press space. Each row of weights adds up to 1 over the keys that are left. Hide a whole row: its weights are zeros. "
        "The scores are multiplied by the factor before the softmax: at 0 the keys that may be read share equally; the "
        "larger it is, the more the best of them gets.",
        data={"words": words, "q": q.tolist(), "k": k.tolist(), "preset": start, "window": 1, "size": 1.0},
        picture=table,
        style=STYLE,
    )


STYLE = """
.xf .xf-grid td[role="gridcell"] { width: 2.3rem; min-width: 2.3rem; height: 2rem; padding: 0; text-align: center; cursor: pointer;
  touch-action: none; user-select: none; border: 1px solid var(--xf-line); background: var(--xf-hidden); color: var(--xf-quiet); }
.xf .xf-grid td[aria-selected="true"] { background: var(--xf-open); color: var(--xf-on-open); font-weight: 600; }
.xf .xf-grid td:focus-visible { outline: 3px solid var(--xf-accent); outline-offset: -1px; }
.xf .xf-control[hidden] { display: none; }
.xf .xf-sum { color: var(--xf-quiet); }
.xf .xf-sum.xf-none { color: var(--xf-accent); font-weight: 600; }
.xf[data-xf="masks"] td { padding: 0.2rem 0.25rem; min-width: 2.3rem; height: 2rem; text-align: center; }
.xf[data-xf="masks"] th[scope="col"] { vertical-align: bottom; }
.xf[data-xf="masks"] .xf-say { min-height: 3em; }
.xf[data-xf="masks"] .xf-row > div { min-width: 0; max-width: 100%; }
.xf[data-xf="masks"] .xf-stage { container-type: inline-size; }
@container (max-width: 860px) {
  .xf[data-xf="masks"] .xf-row { gap: 0.6rem; }
  .xf[data-xf="masks"] .xf-axis { width: 4.2rem; max-width: 4.2rem; padding: 0; }
  .xf[data-xf="masks"] td, .xf[data-xf="masks"] .xf-grid td[role="gridcell"] { padding: 0.2rem 0.1rem; min-width: 2.05rem; width: 2.05rem; }
  .xf[data-xf="masks"] th[scope="row"] { padding: 0.15rem 0.25rem 0.15rem 0; }
  .xf[data-xf="masks"] thead th[scope="col"] { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: 0.3rem 0.1rem; }
  .xf[data-xf="masks"] thead th.xf-flat { writing-mode: horizontal-tb; transform: none; }
}
"""
