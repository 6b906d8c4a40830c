"""Chapter 04, exercises on the three projections."""

import math

import numpy as np

from xformer_course.exercises.chapter_03.attention import variant
from xformer_course.exercises.chapter_04.formula import attend
from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax


def _self_attention(x, w_q, w_k, w_v, mask=None):
    return attend(x @ w_q, x @ w_k, x @ w_v, mask)


def _mask_turned(empty):
    """True taken for hidden; ``empty`` makes the weights of a row in which nothing is left."""

    def attention(x, w_q, w_k, w_v, mask=None):
        if mask is None:
            return _self_attention(x, w_q, w_k, w_v)
        v = x @ w_v
        weights = attend(x @ w_q, x @ w_k, v, ~mask)[1]
        weights = np.where(mask.all(axis=1, keepdims=True), empty(len(x)), weights)
        return weights @ v, weights

    return attention


def _mask_after_softmax(x, w_q, w_k, w_v, mask=None):
    v = x @ w_v
    weights = attend(x @ w_q, x @ w_k, v)[1] * (1.0 if mask is None else mask)
    return weights @ v, weights


def _hidden_score_0(x, w_q, w_k, w_v, mask=None):
    scores = (x @ w_q) @ (x @ w_k).T / math.sqrt(w_q.shape[1])
    weights = softmax(scores if mask is None else scores * mask)
    return weights @ (x @ w_v), weights


def _with_mistakes(*, keys="w_k", values="w_v", **settings):
    """Self-attention with other matrices, and with the attention that `variant` makes of the other settings."""

    def attention(x, w_q, w_k, w_v, mask=None):
        matrix = {"w_q": w_q, "w_k": w_k, "w_v": w_v, "none": np.eye(x.shape[1])}
        return variant(**settings)(x @ w_q, x @ matrix[keys], x @ matrix[values], mask)

    return attention


TURNED = "Right without a mask. With one, your rows read what they may not read. True means *may attend*: which scores do you replace?"


def _self_by_loops(x, w_q, w_k, w_v, mask=None):
    outputs, rows = [], []
    for i, word in enumerate(x):
        readable = [j for j in range(len(x)) if mask is None or mask[i, j]]
        scores = {j: float((word @ w_q) @ (x[j] @ w_k)) / math.sqrt(w_q.shape[1]) for j in readable}
        peak = max(scores.values())
        total = sum(math.exp(score - peak) for score in scores.values())
        row = [math.exp(scores[j] - peak) / total if j in scores else 0.0 for j in range(len(x))]
        rows.append(row)
        outputs.append(sum(weight * (other @ w_v) for weight, other in zip(row, x, strict=True)))
    return outputs, rows


def _self_by_one_bilinear_form(x, w_q, w_k, w_v, mask=None):
    scores = np.einsum("im,md,nd,jn->ij", x, w_q, w_k, x) / w_q.shape[1] ** 0.5
    weights = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    return weights @ x @ w_v, weights


def _self_from_the_library(x, w_q, w_k, w_v, mask=None):
    from xformer_lib.reference.single_head import self_attention

    return self_attention(x, w_q, w_k, w_v, mask=mask)


def _self_cases(rng):
    def inputs(length, width, d, e):
        return tuple(rng.normal(size=size) for size in ((length, width), (width, d), (width, d), (width, e)))

    def low(length, width, d, e):
        """Inputs whose scores all lie near -200: the words are nearly alike, and the keys are the queries with the other sign."""
        x, w_q, _, w_v = inputs(length, width, d, e)
        w_q *= math.sqrt(200 * math.sqrt(d)) / np.linalg.norm(w_q.sum(axis=0))
        return 1 + 0.003 * x, w_q, -w_q, w_v

    some = rng.random((6, 6)) < 0.5
    some[:, 0] = ~some[:, 1]  # every word keeps a word and loses one
    return [
        case(
            np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            np.array([[2.0], [0.0]]),
            np.array([[0.0], [1.0]]),
            np.array([[1.0, 0.0], [0.0, 10.0]]),
        ),
        case(*inputs(5, 7, 3, 2)),
        case(*inputs(4, 6, 4, 5), np.tri(4, dtype=bool), note="a causal mask"),
        case(*low(6, 3, 5, 2), some, note="a mask, and scores near -200"),
        case(*inputs(1, 5, 2, 3), note="a sentence of one word"),
    ]


SELF = Exercise(
    id="4.1",
    title="Self-attention from the formula",
    kind="implement",
    minutes=10,
    difficulty=1,
    statement="""\
Do for every word what we did for *cat*. Write `my_self_attention(x, w_q, w_k, w_v, mask=None)` in NumPy: `x` is (i, m), `w_q` and `w_k` are (m, d), \
`w_v` is (m, e), and `mask` is None or boolean (i, i), True = may attend, with at least one True per row. Return the pair `(output, weights)`. \
You may call `scaled_dot_product_attention(q, k, v, mask=mask)`.""",
    hints=(
        "How many arrays does attention take, and from which single array do you make them here?",
        "Each of the three arrays is x times one matrix. The rest is chapter 3, with the width of a query under the root.",
        "q, k, v = x @ w_q, x @ w_k, x @ w_v; then softmax(q kᵀ / √d) along each row, times v.",
    ),
    stub="def my_self_attention(x, w_q, w_k, w_v, mask=None):\n    return ...",
    reference=_self_attention,
    cases=_self_cases,
    returns=("output", "weights"),
    wrong={
        "values are the queries": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_q, mask),
            "Your output has the width of a query. Which of the three matrices did you not use?",
        ),
        "values not projected": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x, mask),
            "The weights are right, but your output blends the words themselves, so it has their width m. What should each word contribute?",
        ),
        "one matrix for queries and keys": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_q, x @ w_v, mask),
            "Your scores are the same in both directions. Print them, and look for `w_k` in your code.",
        ),
        "queries and keys exchanged": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_k, x @ w_q, x @ w_v, mask),
            "Your scores are transposed. Does row i belong to the word that asks, or to the word that is asked?",
        ),
        "scaled by the width of a word": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, divisor=math.sqrt(x.shape[1])),
            "Your weights are off, because you divide by the root of m. How wide are the two vectors that a score multiplies?",
        ),
        "not scaled": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, divisor=1.0),
            "The order of the weights is right, but they are too sharp. What did chapter 3 divide the scores by?",
        ),
        "columns add up to 1": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, axis=0),
            "Print the sums of your rows. Each word shares out its own attention, so which axis adds up to 1?",
        ),
        "mask ignored": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v),
            "Right without a mask. With one, a hidden word still gets weight: where do you use `mask`?",
        ),
        "mask turned round": (_mask_turned(lambda length: 1 / length), TURNED),
        "mask turned round, -inf": (_mask_turned(lambda length: np.nan), TURNED),
        "mask turned round, zeros": (_mask_turned(lambda length: 0.0), TURNED),
        "mask after softmax": (
            _mask_after_softmax,
            "Right without a mask. With one, your rows no longer add up to 1, because the hidden words took their share before you removed them.",
        ),
        "hidden scores set to 0": (
            _hidden_score_0,
            "Right without a mask. With one, a hidden word gets the score 0, and exp(0) is 1. How much weight does it keep?",
        ),
        "root of the length": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, divisor=math.sqrt(len(x))),
            "You divide by the root of the number of words. How many products does one score add up?",
        ),
        "root forgotten": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, divisor=w_q.shape[1]),
            "The weights are too even: you divide by the width itself. What did chapter 3 divide by?",
        ),
        "root of the values' width": (
            lambda x, w_q, w_k, w_v, mask=None: attend(x @ w_q, x @ w_k, x @ w_v, mask, divisor=math.sqrt(w_v.shape[1])),
            "You divide by the root of a value's width. Which two vectors does a score multiply?",
        ),
    },
    together=(
        _with_mistakes,
        {
            "values are the queries": {"values": "w_q"},
            "values not projected": {"values": "none"},
            "one matrix for queries and keys": {"keys": "w_q"},
            "not scaled": {"divisor": lambda q, v: 1.0},
            "root forgotten": {"divisor": lambda q, v: q.shape[1]},
            "root of the length": {"divisor": lambda q, v: math.sqrt(len(q))},
            "root of the values' width": {"divisor": lambda q, v: math.sqrt(v.shape[1])},
            "columns add up to 1": {"axis": 0},
            "mask ignored": {"ignored": True},
            "mask turned round, -inf": {"flip": True, "empty": np.nan},
            "mask after softmax": {"after": True},
            "hidden scores set to 0": {"fill": 0.0},
        },
    ),
    alternatives={"loops and lists": _self_by_loops, "one einsum": _self_by_one_bilinear_form, "library": _self_from_the_library},
    success="Three projections of one input, and then attention as before.",
    solution=r"""
Three projections of one input give the three arrays that attention takes. The root is that of a query's width, and `softmax` works along
the rows.

```python
def my_self_attention(x, w_q, w_k, w_v, mask=None):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / math.sqrt(q.shape[1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    return weights @ v, weights


check(...)
```
""",
)

PARAMETERS = Exercise(
    id="4.2",
    title="What grows with the sentence",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
Words have width 5, queries and keys have width 2, and values have width 3. There are no biases, and nothing follows the blending of values. \
How many numbers does this self-attention learn for a sentence of 10 words, and for one of 20? And how many attention weights does it compute?""",
    hints=(
        "Which arrays stay the same from one sentence to the next?",
        "The layer learns its three matrices and nothing else. The weights are a table with a row and a column for each word.",
        "w_q and w_k have 5 × 2 numbers each, w_v has 5 × 3.",
    ),
    stub="""\
answer = {
    "learned, 10": ...,
    "learned, 20": ...,
    "weights, 10": ...,
    "weights, 20": ...,
}""",
    reference={"learned, 10": 35, "learned, 20": 35, "weights, 10": 100, "weights, 20": 400},
    wrong={
        "a matrix for each word": (
            {"learned, 10": 350, "learned, 20": 700, "weights, 10": 100, "weights, 20": 400},
            "You gave every word its own projections. How would the layer read a sentence of 21 words?",
        ),
        "values are not projected": (
            {"learned, 10": 20, "learned, 20": 20, "weights, 10": 100, "weights, 20": 400},
            "Two projections make queries and keys. What makes a value of width 3 from a word of width 5?",
        ),
        "attention has no parameters": (
            {"learned, 10": 0, "learned, 20": 0, "weights, 10": 100, "weights, 20": 400},
            "The function of chapter 3 has no parameters. What comes before it here?",
        ),
        "the weights are learned": (
            {"learned, 10": 135, "learned, 20": 435, "weights, 10": 100, "weights, 20": 400},
            "Attention weights are computed for each sentence. Which numbers stay when the next sentence comes?",
        ),
        "weights grow in step": (
            {"learned, 10": 35, "learned, 20": 35, "weights, 10": 10, "weights, 20": 20},
            "You counted one weight per word. Each word reads every word: draw the table for three words.",
        ),
        "biases counted": (
            {"learned, 10": 42, "learned, 20": 42, "weights, 10": 100, "weights, 20": 400},
            "You gave each column of the three matrices one more number. Are there biases here?",
        ),
        "three matrices of one size": (
            {"learned, 10": 30, "learned, 20": 30, "weights, 10": 100, "weights, 20": 400},
            "Queries and keys have width 2. How wide is a value?",
        ),
        "queries and keys share": (
            {"learned, 10": 25, "learned, 20": 25, "weights, 10": 100, "weights, 20": 400},
            "You counted one matrix for queries and keys together. How many are there?",
        ),
        "each pair once": (
            {"learned, 10": 35, "learned, 20": 35, "weights, 10": 45, "weights, 20": 190},
            "You counted each pair of words once. Does word 1 give word 2 the same weight that it gets back?",
            lambda answer: answer["weights, 10"] in (45, 55) or answer["weights, 20"] in (190, 210),
        ),
        "nobody reads itself": (
            {"learned, 10": 35, "learned, 20": 35, "weights, 10": 90, "weights, 20": 380},
            "You left out one place in each row of the table. May a word not attend to itself?",
        ),
        "output projection counted": (
            {"learned, 10": 50, "learned, 20": 50, "weights, 10": 100, "weights, 20": 400},
            "You counted a matrix too many. Does anything follow the blending of values here?",
            lambda answer: answer["learned, 10"] == answer["learned, 20"] and answer["learned, 10"] in (44, 50, 60),
        ),
    },
    success="The matrices do not know the length. The table of weights grows with its square.",
    solution=r"""
The layer learns three matrices of 5 × 2, 5 × 2 and 5 × 3 numbers, for any sentence. The weights are a table with one row and one column
for each word, so twice the words make four times the weights.

```python
learned = 5 * 2 + 5 * 2 + 5 * 3
answer = {
    "learned, 10": learned,
    "learned, 20": learned,
    "weights, 10": 10**2,
    "weights, 20": 20**2,
}
check(...)
```
""",
)

EXERCISES = (SELF, PARAMETERS)
