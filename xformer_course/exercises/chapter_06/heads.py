"""Chapter 06, exercises on the sizes of a layer and on the layer itself."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax


def _sizes(columns=512, w_q=(512, 64), rows=512, weights=800):
    return {"columns read": columns, "shape of W_Q": w_q, "rows of W_O": rows, "weights": weights}


SIZES = Exercise(
    id="6.1",
    title="The sizes of a layer",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
A self-attention layer has model width 512 and 8 heads, with d = e = 64. Say how many of the 512 columns of its \
input head 3 reads, what shape this head's own W_Q has, how many rows W_O has, and how many attention weights the \
layer computes for one sentence of 10 words.""",
    hints=(
        "In the formula of a head, what is multiplied by W_Q: the whole input, or a part of it?",
        "W_Q of one head turns a word of width 512 into a query of width 64. W_O takes the joined outputs of all heads.",
        "Each head multiplies the whole (10, 512) input by its (512, 64) matrix. It has 10 weights for each of 10 words and returns 64 numbers per word. Eight heads are joined.",
    ),
    stub="""\
answer = {"columns read": ..., "shape of W_Q": ...,
          "rows of W_O": ..., "weights": ...}""",
    reference=_sizes(),
    wrong={
        "heads get slices": (
            _sizes(columns=64, w_q=(64, 64)),
            "You give head 3 a slice of 64 columns. In the formula of a head, is the input cut before it is multiplied?",
        ),
        "only the input is sliced": (_sizes(columns=64), "A matrix with 512 rows multiplies 512 columns. How many of them does it read?"),
        "every head is full width": (
            _sizes(w_q=(512, 512), rows=4096),
            "With this W_Q a query of one head would have 512 numbers. The statement gives its width d.",
        ),
        "a matrix for a slice": (_sizes(w_q=(64, 64)), "Your W_Q has 64 rows. How many numbers are there in the word that it multiplies?"),
        "eight full widths joined": (_sizes(rows=4096), "4096 is 8 times 512. How many numbers does one head return for a word?"),
        "rows of one head only": (
            _sizes(rows=64),
            "64 is the output of one head. What does W_O multiply: one head, or all of them joined?",
        ),
        "one map for all heads": (_sizes(weights=100), "10 × 10 is the map of one head. Do the heads share it?"),
        "one weight a word and head": (
            _sizes(weights=80),
            "Among how many words does each word share its attention? Every head does that again.",
        ),
        "W_Q turned round": (
            _sizes(w_q=(64, 512)),
            "A word is a row and is multiplied from the right: x W_Q. Which side of W_Q meets the 512 columns?",
        ),
    },
    alternatives={"lists": _sizes(w_q=[512, 64])},
    success="Every head reads every column. Only its answer is narrow.",
    solution=r"""
Every head multiplies the *whole* input, so it reads all 512 columns, and its $W_Q$ has 512 rows and 64 columns. Joined, the eight
outputs have 8 · 64 = 512 numbers, one for each row of $W_O$. Each of the eight heads has its own map of 10 · 10 weights.

```python
answer = {
    "columns read": 512,
    "shape of W_Q": (512, 64),
    "rows of W_O": 8 * 64,
    "weights": 8 * 10 * 10,
}
check(...)
```
""",
)


def _multi_head(x, context, w_q, w_k, w_v, w_o, mask=None):
    """Head by head, and side by side."""
    outputs, maps = [], []
    for n in range(len(w_q)):
        q, k, v = x @ w_q[n], context @ w_k[n], context @ w_v[n]
        scores = q @ k.T / np.sqrt(q.shape[1])
        weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
        maps.append(weights)
        outputs.append(weights @ v)
    return np.concatenate(outputs, axis=1) @ w_o, np.stack(maps)


def _layer(rng, queries, keys, width, heads, d, e):
    return (
        rng.normal(size=(queries, width)),
        rng.normal(size=(keys, width)),
        rng.normal(size=(heads, width, d)),
        rng.normal(size=(heads, width, d)),
        rng.normal(size=(heads, width, e)),
        rng.normal(size=(heads * e, width)),
    )


def _some_mask(rng, queries, keys):
    mask = rng.random((queries, keys)) < 0.5
    mask[:, 0] = ~mask[:, 1]  # every query keeps a key and loses one
    return mask


def _low_scores(rng, queries, keys, width, heads, d, e):
    """The same with scores near -200 in every head: all words are nearly alike, and keys are queries with the other sign."""
    x, context, w_q, _, w_v, w_o = _layer(rng, queries, keys, width, heads, d, e)
    w_q *= np.sqrt(200 * np.sqrt(d)) / np.linalg.norm(w_q.sum(axis=1, keepdims=True), axis=2, keepdims=True)
    return 1 + 0.003 * x, 1 + 0.003 * context, w_q, -w_q, w_v, w_o


def _variant(
    *,
    scale=lambda q, heads: np.sqrt(q.shape[-1]),
    axis=-1,
    flip=False,
    join=None,
    keys=None,
    values=None,
    maps=lambda weights: weights,
    use_mask=True,
    after=False,
):
    """The layer with one thing changed: the source of most wrong answers below."""

    def multi_head(x, context, w_q, w_k, w_v, w_o, mask=None):
        q = np.einsum("im,hmd->hid", x, w_q)
        k = np.einsum("jm,hmd->hjd", x if keys == "x" else context, w_k)
        v = np.einsum("jm,hme->hje", x if values == "x" else context, w_v)
        scores = q @ k.swapaxes(1, 2) / scale(q, len(w_q))
        if mask is not None and use_mask and not after:
            scores = np.where(~mask if flip else mask, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=axis, keepdims=True))
        weights = weights / weights.sum(axis=axis, keepdims=True)
        if mask is not None and after:
            weights = np.where(mask, weights, 0.0)
        heads = weights @ v
        joined = heads.transpose(1, 0, 2).reshape(len(x), -1) if join is None else join(heads)
        return joined @ w_o, maps(weights)

    return multi_head


def _without_mixing(x, context, w_q, w_k, w_v, w_o, mask=None):
    joined, weights = _variant()(x, context, w_q, w_k, w_v, np.eye(len(w_o)), mask)
    return joined, weights


def _heads_added(x, context, w_q, w_k, w_v, w_o, mask=None):
    joined, weights = _without_mixing(x, context, w_q, w_k, w_v, w_o, mask)
    e = w_v.shape[2]
    return joined.reshape(len(x), -1, e).sum(axis=1) @ w_o[:e], weights


def _divided_by(divisor):
    """Right but for what divides the scores."""

    def multi_head(x, context, w_q, w_k, w_v, w_o, mask=None):
        own = np.sqrt(w_q.shape[2]) / divisor(x, context, w_q)
        return _variant()(x, context, own * w_q, w_k, w_v, w_o, mask)

    return multi_head


def _mask_after(x, context, w_q, w_k, w_v, w_o, mask=None):
    weights = _variant()(x, context, w_q, w_k, w_v, w_o)[1] * (1.0 if mask is None else mask)
    heads = weights @ np.einsum("jm,hme->hje", context, w_v)
    return heads.transpose(1, 0, 2).reshape(len(x), -1) @ w_o, weights


def _by_einsum(x, context, w_q, w_k, w_v, w_o, mask=None):
    scores = np.einsum("im,hmd,jn,hnd->hij", x, w_q, context, w_k, optimize=True) / w_q.shape[2] ** 0.5
    weights = softmax(scores + (0.0 if mask is None else np.where(mask, 0.0, -np.inf)))
    blocks = w_o.reshape(len(w_v), w_v.shape[2], -1)
    return np.einsum("hij,jm,hme,heo->io", weights, context, w_v, blocks, optimize=True), weights


def _from_the_library(x, context, w_q, w_k, w_v, w_o, mask=None):
    from xformer_lib.reference.multi_head import multi_head_attention

    return multi_head_attention(x, context, w_q, w_k, w_v, w_o, mask=mask)


MULTI_HEAD = Exercise(
    id="6.2",
    title="Several heads, two inputs, a mask",
    kind="implement",
    minutes=15,
    difficulty=2,
    statement="""\
Write `my_multi_head(x, context, w_q, w_k, w_v, w_o, mask=None)`. Queries come from `x` (i, m), keys and values from \
`context` (j, m). The projections have a head axis: `w_q` and `w_k` (h, m, d), `w_v` (h, m, e); `w_o` is (h·e, m). \
`mask` is None or boolean (i, j), True = may attend, and applies to all heads; every row of it has a True. You may \
call chapter 3's `scaled_dot_product_attention`, with `mask=mask`. Return `(output, weights)` of shapes (i, m) and (h, \
i, j).""",
    hints=(
        "If there were only one head, which function of chapter 3 would do almost all of the work?",
        "Go through the heads in a loop: three projections, one attention each. Collect outputs and weights in two lists.",
        "`np.concatenate(outputs, axis=1)` is (i, h·e) and meets `w_o`; `np.stack(maps)` is (h, i, j).",
    ),
    stub="def my_multi_head(x, context, w_q, w_k, w_v, w_o, mask=None):\n    return ...",
    reference=_multi_head,
    cases=lambda rng: [
        case(*_layer(rng, 2, 3, 4, 2, 1, 2), mask=None),
        case(*_layer(rng, 5, 7, 6, 3, 2, 4), mask=None),
        case(*_layer(rng, 4, 6, 5, 2, 3, 2), mask=_some_mask(rng, 4, 6), note="a mask"),
        case(*_low_scores(rng, 3, 4, 7, 2, 5, 2), mask=_some_mask(rng, 3, 4), note="a mask, and scores near -200"),
        case(*_layer(rng, 6, 3, 7, 4, 5, 3), mask=None, note="more queries than keys"),
        case(*_layer(rng, 5, 5, 6, 2, 3, 4), mask=None, note="as many queries as keys"),
        case(*_layer(rng, 3, 5, 6, 1, 4, 2), mask=None, note="one head"),
    ],
    returns=("output", "weights"),
    wrong={
        "scaled by the width of all heads": (
            _variant(scale=lambda q, h: np.sqrt(h * q.shape[-1])),
            "Your weights are too even. How many products does a score add up: those of one head, or of all?",
        ),
        "no scaling": (_variant(scale=lambda q, h: 1.0), "Your weights are too sharp. What divides the scores inside each head?"),
        "softmax over heads": (
            _variant(axis=0),
            "Your weights add up to 1 over the heads, so the heads compete for a key. Print `weights.sum(axis=-1)`.",
        ),
        "softmax over queries": (
            _variant(axis=1),
            "Your weights add up to 1 over the queries. Each query shares out its own attention: which axis holds its keys?",
        ),
        "keys from x": (_variant(keys="x"), "Your keys come from `x`. Which of the two inputs is read?"),
        "values from x": (_variant(values="x"), "Your values come from `x`. Keys and values belong together: from which input?"),
        "self-attention only": (_variant(keys="x", values="x"), "You never read `context`. Who asks, and who is asked?"),
        "joined by a reshape": (
            _variant(join=lambda heads: heads.reshape(heads.shape[1], -1)),
            "The weights are right. But a reshape of (h, i, e) puts numbers of different words into one row: which axis must lie next to e first?",
        ),
        "heads interleaved": (
            _variant(join=lambda heads: heads.transpose(1, 2, 0).reshape(heads.shape[1], -1)),
            "The weights are right. Your joined row alternates between heads; W_O expects all numbers of the first head, then all of the second.",
        ),
        "heads added": (
            _heads_added,
            "You add the heads up before W_O. Then W_O cannot treat them differently, and most of its rows are never used.",
        ),
        "W_O left out": (_without_mixing, "You return the joined heads. One product is missing."),
        "mask ignored": (
            _variant(use_mask=False),
            "Without a mask you are right. With one, nothing changes. Where does your function use `mask`?",
        ),
        "mask turned round": (
            _variant(flip=True),
            "Your queries read exactly the keys they may not. In this course True means *may attend*.",
        ),
        "weights averaged over heads": (
            _variant(maps=lambda weights: weights.mean(axis=0)),
            "The output is right. Your weights are a mean over heads, as PyTorch's layer returns them by default; keep the head axis.",
        ),
        "scaled by the model's width": (
            _divided_by(lambda x, context, w_q: np.sqrt(x.shape[1])),
            "The root holds the width of a word. How wide are the vectors that one head multiplies in a score?",
        ),
        "root forgotten": (
            _divided_by(lambda x, context, w_q: w_q.shape[2]),
            "Your weights are too even: you divide by the width itself. What did chapter 3 divide by?",
        ),
        "scaled by a length": (
            _divided_by(lambda x, context, w_q: np.sqrt(len(context))),
            "You divide by the root of the number of keys. How many products does one score add up?",
        ),
        "scaled by the number of heads": (
            _divided_by(lambda x, context, w_q: np.sqrt(len(w_q))),
            "You divide by the root of the number of heads. How many products does one score add up?",
        ),
        "mask after softmax": (
            _mask_after,
            "Without a mask you are right. With one, your rows no longer add up to 1: the hidden keys took their share before you removed them.",
        ),
        "pair swapped": (
            lambda *given, **options: _variant()(*given, **options)[::-1],
            "You return the weights first. Which of the two comes first in the statement?",
        ),
    },
    together=(
        _variant,
        {
            "no scaling": {"scale": lambda q, heads: 1.0},
            "root forgotten": {"scale": lambda q, heads: q.shape[-1]},
            "scaled by the width of all heads": {"scale": lambda q, heads: np.sqrt(heads * q.shape[-1])},
            "softmax over heads": {"axis": 0},
            "softmax over queries": {"axis": 1},
            "keys from x": {"keys": "x"},
            "values from x": {"values": "x"},
            "joined by a reshape": {"join": lambda heads: heads.reshape(heads.shape[1], -1)},
            "mask ignored": {"use_mask": False},
            "mask turned round": {"flip": True},
            "mask after softmax": {"after": True},
            "weights averaged over heads": {"maps": lambda weights: weights.mean(axis=0)},
        },
    ),
    alternatives={"one einsum": _by_einsum, "head axis as a batch": _variant(), "the library's own": _from_the_library},
    success="Each head asks, W_O joins the answers.",
    solution=r"""
Each head is one attention with its own projections, its own scale $\sqrt d$ and the mask. The outputs are joined along the columns, so
a row still belongs to one word. $W_O$ comes last. The maps get a new first axis.

```python
def my_multi_head(x, context, w_q, w_k, w_v, w_o, mask=None):
    outputs, maps = [], []
    for q, k, v in zip(w_q, w_k, w_v):
        output, weights = scaled_dot_product_attention(
            x @ q, context @ k, context @ v, mask=mask)
        outputs.append(output)
        maps.append(weights)
    return np.concatenate(outputs, axis=1) @ w_o, np.stack(maps)


check(...)
```
""",
)

EXERCISES = (SIZES, MULTI_HEAD)
