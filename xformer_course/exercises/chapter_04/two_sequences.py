"""Chapter 04, the exercise on cross-attention."""

import math

import numpy as np

from xformer_course.exercises.chapter_04.formula import attend
from xformer_course.exercises.exercise import Exercise, case


def _cross(x, context, w_q, w_k, w_v):
    return attend(x @ w_q, context @ w_k, context @ w_v)


def _divided_by(divisor):
    """Right but for what divides the scores."""
    return lambda x, context, w_q, w_k, w_v: attend(x @ w_q, context @ w_k, context @ w_v, divisor=divisor(x, context, w_q))


LENGTH_IN_THE_ROOT = "The sides are right now, but the scores are divided by the root of a length. How many products does one score add up?"
WORDS_IN_THE_ROOT = (
    "The sides are right now, but you divide by the root of a word's width. How wide are the vectors that a score multiplies?"
)


def _cross_by_loops(x, context, w_q, w_k, w_v):
    keys, values = [word @ w_k for word in context], [word @ w_v for word in context]
    rows = []
    for word in x:
        raw = [math.exp((word @ w_q) @ key / math.sqrt(len(key))) for key in keys]
        rows.append([number / sum(raw) for number in raw])
    return [sum(weight * value for weight, value in zip(row, values, strict=True)) for row in rows], rows


def _cross_from_the_library(x, context, w_q, w_k, w_v):
    from xformer_lib.reference.single_head import cross_attention

    return cross_attention(x, context, w_q, w_k, w_v)


def _cross_cases(rng):
    def inputs(length, width, context_length, context_width, d, e):
        sizes = (length, width), (context_length, context_width), (width, d), (context_width, d), (context_width, e)
        return tuple(rng.normal(size=size) for size in sizes)

    return [
        case(
            np.array([[1.0, 0.0], [1.0, 1.0]]),
            np.array([[2.0, 1.0], [0.0, 1.0]]),
            np.eye(2),
            np.array([[1.0, 0.0], [0.0, 2.0]]),
            np.array([[10.0], [1.0]]),
            note="two sequences that happen to have the same shape",
        ),
        case(*inputs(5, 4, 7, 4, 3, 2), note="5 words read 7"),
        case(*inputs(3, 6, 8, 5, 2, 4), note="different lengths and different widths"),
        case(*inputs(11, 2, 3, 4, 5, 7), note="more queries than keys"),
    ]


CROSS = Exercise(
    id="4.3",
    title="It worked for equal lengths",
    kind="find the bug",
    minutes=8,
    difficulty=1,
    statement="""\
This function should let each row of `x` (i, m) read the rows of `context` (j, c), with `w_q` (m, d), `w_k` (c, d) and `w_v` (c, e). On two \
sequences of the same shape it runs, and its output is wrong. On others it stops with an error. Find the bug and fix it. The function returns \
the pair `(output, weights)`.""",
    hints=(
        "Which of the two sequences is being read? What does a reader take away from it?",
        "Write the shape of each product next to its line, for x (3, 6) and context (8, 5).",
        "Keys and values come in pairs. Make row j of both from the same row of the same array.",
    ),
    stub="""\
def faulty_cross_attention(x, context, w_q, w_k, w_v):
    q, k, v = x @ w_q, context @ w_k, x @ w_v
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights""",
    reference=_cross,
    cases=_cross_cases,
    returns=("output", "weights"),
    wrong={
        "values from the asker": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, context @ w_k, x @ w_v),
            "The bug is still there. You compute weights for the rows of `context` and apply them to the rows of `x`. Which row should weight (i, j) multiply?",
        ),
        "keys from the asker": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, x @ w_k, context @ w_v),
            "Now the scores compare `x` with itself. You blend the context without having looked at it.",
        ),
        "context reads itself": (
            lambda x, context, w_q, w_k, w_v: attend(context @ w_q, context @ w_k, context @ w_v),
            "That is the self-attention of `context`, and `x` plays no part in it. How many rows should the output have?",
        ),
        "x reads itself": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, x @ w_k, x @ w_v),
            "That is the self-attention of `x`, and `context` no longer plays any part in it.",
        ),
        "roles exchanged": (
            lambda x, context, w_q, w_k, w_v: attend(context @ w_q, x @ w_k, x @ w_v),
            "Now `context` asks and `x` is read. If 3 words read 8, how many rows should the output have?",
        ),
        "scale lost": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, context @ w_k, context @ w_v, divisor=1.0),
            "The sides are right now, but the weights are too sharp. The faulty code divided the scores. Does yours?",
        ),
        "columns add up to 1": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, context @ w_k, context @ w_v, axis=0),
            "Each row of the weights belongs to one query and should add up to 1. Over which axis do you divide?",
        ),
        "values not projected": (
            lambda x, context, w_q, w_k, w_v: attend(x @ w_q, context @ w_k, context),
            "The weights are right, but you blend the rows of `context` as they are, so the output has their width. Which matrix is missing?",
        ),
        "scaled by the context's length": (_divided_by(lambda x, context, w_q: math.sqrt(len(context))), LENGTH_IN_THE_ROOT),
        "scaled by the asker's length": (_divided_by(lambda x, context, w_q: math.sqrt(len(x))), LENGTH_IN_THE_ROOT),
        "scaled by the words' width": (_divided_by(lambda x, context, w_q: math.sqrt(x.shape[1])), WORDS_IN_THE_ROOT),
        "scaled by the context's width": (_divided_by(lambda x, context, w_q: math.sqrt(context.shape[1])), WORDS_IN_THE_ROOT),
        "root forgotten": (
            _divided_by(lambda x, context, w_q: w_q.shape[1]),
            "The sides are right now, but the weights are too even. What did the faulty code divide the scores by?",
        ),
    },
    alternatives={"loops and lists": _cross_by_loops, "library": _cross_from_the_library},
    success="Queries from one side; keys and values, as a pair, from the other.",
    solution=r"""
The values came from `x`. Weight (i, j) says how much query i takes from row j of the *context*, so row j of the values must come
from that row. With equal lengths the mistake raises no error: the function just blends the wrong sequence.

```python
def faulty_cross_attention(x, context, w_q, w_k, w_v):
    q, k, v = x @ w_q, context @ w_k, context @ w_v
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


check(...)
```
""",
)

EXERCISES = (CROSS,)
