"""Chapter 03, exercises on masks."""

import numpy as np

from xformer_course.exercises.chapter_03.attention import inputs, low_scores, some_mask
from xformer_course.exercises.exercise import Exercise, case


def _masked(fill, *, flip=False):
    """The attention of exercise 3.6 with a choice of what stands in for a forbidden score."""

    def attention(q, k, v, mask):
        scores = q @ k.T / np.sqrt(q.shape[-1])
        scores = np.where(mask != flip, scores, fill)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return weights @ v, weights

    return attention


def _mask_times_weights(q, k, v, mask):
    weights = _masked(-np.inf)(q, k, v, np.ones_like(mask))[1] * mask
    return weights @ v, weights


def _mask_on_values(q, k, v, mask):
    weights = _masked(-np.inf)(q, k, v, np.ones_like(mask))[1]
    return (weights * mask) @ v, weights


def _renormalised(q, k, v, mask):
    raw = np.where(mask, np.exp(q @ k.T / np.sqrt(q.shape[-1])), 0.0)
    weights = raw / raw.sum(axis=-1, keepdims=True)
    return weights @ v, weights


LEAK = Exercise(
    id="3.6",
    title="Weights that leak",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
This function should keep every query away from the keys where `mask` is False. Each query has at least one key that it may read. Yet \
forbidden keys still get weight. Find out how much, and fix the function. It returns the pair `(output, weights)`. (Subtracting the largest score prevents overflow and changes no weight.)""",
    hints=(
        "Print the weights for a mask with one False in each row. Which entry should be 0, and is it?",
        "Follow one forbidden score through the exponential: what comes out?",
        "The weight is 0 only where the exponential is 0. A score of minus infinity gives that, whatever the other scores are.",
    ),
    stub="""\
def leaky_attention(q, k, v, mask):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, 0.0)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights""",
    reference=_masked(-np.inf),
    cases=lambda rng: [
        case(
            np.array([[1.0, 0.0], [0.0, 2.0]]),
            np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            np.array([[1.0], [10.0], [100.0]]),
            np.array([[True, True, False], [False, True, True]]),
        ),
        case(*inputs(rng, 5, 7, 3, 2), some_mask(rng, 5, 7)),
        case(*inputs(rng, 7, 4, 5, 3), some_mask(rng, 7, 4)),
        case(*low_scores(rng, 3, 5, 4, 2), some_mask(rng, 3, 5), note="scores near -200"),
    ],
    returns=("output", "weights"),
    wrong={
        "forbidden score of 0": (
            _masked(0.0),
            "The leak is still there. A score of 0 is an ordinary score, and often larger than the allowed ones. What is exp(0)?",
        ),
        "mask ignored": (
            lambda q, k, v, mask: _masked(-np.inf)(q, k, v, np.ones_like(mask)),
            "Now the mask has no effect at all, and forbidden keys get their full share. Where do you use `mask`?",
        ),
        "a little below": (
            _masked(-1.0),
            "The leak is smaller but still there. How far below the other scores must a forbidden one lie to get a weight of exactly 0?",
        ),
        "mask turned round": (
            _masked(-np.inf, flip=True),
            "Now the allowed keys are hidden. True means *may attend*. Which branch of `np.where` keeps the score?",
        ),
        "mask after softmax": (
            _mask_times_weights,
            "The forbidden weights are 0 now, but a row no longer adds up to 1, because softmax had given them a share first.",
        ),
        "masked output, leaking weights": (
            _mask_on_values,
            "The output ignores forbidden values, but the weights you return still give them a share, and the rest is too small.",
        ),
        "infinitely large": (
            _masked(np.inf),
            'You get "not a number", because the forbidden scores are now the largest of all. Check the sign.',
        ),
    },
    alternatives={"zero the exponentials": _renormalised, "a huge negative score": _masked(-1e30)},
    success="Forbidden keys weigh exactly 0, and every row adds up to 1.",
    solution=r"""
A score of 0 is an ordinary score, and exp(0) is 1. First we look at how much leaks, then we fix the one line. A score of minus infinity
makes the weight exactly 0, however low the others are.

```python
scores = np.array([-1.0, 0.5, 2.0])
mask = np.array([True, True, False])
print("set to 0:        ", np.round(my_softmax(np.where(mask, scores, 0.0)), 4))
print("set to minus inf:", np.round(my_softmax(np.where(mask, scores, -np.inf)), 4))
```

```python
def leaky_attention(q, k, v, mask):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


check(...)
```
""",
)


def _recent(length, window):
    position = np.arange(length)
    distance = position[:, None] - position[None, :]
    return (distance >= 0) & (distance <= window)


def _recent_by_triangles(length, window):
    square = np.ones((length, length), dtype=bool)
    return np.tril(square) & np.triu(square, k=-window)


def _recent_from_the_library(length, window):
    from xformer_lib.reference.masks import causal_mask, local_mask

    return causal_mask(length) & local_mask(length, window)


def _distances(length):
    return np.arange(length)[:, None] - np.arange(length)[None, :]


RECENT_PAST = Exercise(
    id="3.7",
    title="Only the recent past",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `recent_mask(length, window)`, a boolean array (length, length) with a row for each query and a column for each key. A position may \
attend to itself and to the `window` positions just before it, but not to later ones and not further back.""",
    hints=(
        "For length 4 and window 1, draw the square by hand. Which entries of row 2 are True?",
        "Write the condition on i − j. It has two ends.",
        "0 ≤ i − j ≤ window; `i = np.arange(length)[:, None]` and `j = np.arange(length)[None, :]` give all pairs at once.",
    ),
    stub="def recent_mask(length, window):\n    return ...",
    reference=_recent,
    cases=lambda rng: [
        case(4, 1),
        case(5, 2),
        case(7, 3),
        case(6, 0, note="window 0"),
        case(3, 5, note="a window wider than the sentence"),
        case(int(rng.integers(8, 14)), int(rng.integers(2, 5))),
    ],
    returns=("mask",),
    wrong={
        "no limit to the past": (
            lambda length, window: _distances(length) >= 0,
            "Later positions are hidden, but the first position stays visible to all. Where does `window` come in?",
        ),
        "future visible": (
            lambda length, window: np.abs(_distances(length)) <= window,
            "Your window opens on both sides. Look at row 0: what may it see to its right?",
        ),
        "rows and columns swapped": (
            lambda length, window: _recent(length, window).T,
            "Your mask shows each position its future. Which axis belongs to the query?",
        ),
        "window counts itself": (
            lambda length, window: _recent(length, window - 1),
            "One position too few. Does your window count the position itself among the ones before it?",
        ),
        "one too far": (
            lambda length, window: _recent(length, window + 1),
            "One position too many at the far end. Draw row 3 for window 1.",
        ),
        "cannot see itself": (
            lambda length, window: _recent(length, window) & (_distances(length) != 0),
            "The diagonal is False, so the first row may attend to nothing at all. Read the statement's second sentence again.",
        ),
        "True for hidden": (lambda length, window: ~_recent(length, window), "The wrong way round: in this book True means *may attend*."),
        "zeros and ones": (
            lambda length, window: _recent(length, window).astype(int),
            "The right pattern, but as integers. Masks are booleans here, so that `~mask` and `mask & other` mean what they say: look at `dtype`.",
        ),
        "numbers to add": (
            lambda length, window: np.where(_recent(length, window), 0.0, -np.inf),
            "Those are numbers to add to the scores. The statement asks for booleans, True where a key may be read.",
        ),
    },
    alternatives={
        "loops and lists": lambda length, window: [[0 <= i - j <= window for j in range(length)] for i in range(length)],
        "two triangles": _recent_by_triangles,
        "two masks of the library": _recent_from_the_library,
    },
    success="Two masks joined by *and*: the past, and nearby.",
    solution=r"""
The condition on a pair is 0 ≤ i − j ≤ window: not later, and not too far back. A column of query positions and a row of key positions
give all the differences at once. You can also combine the causal mask and the local mask with `&`.

```python
def recent_mask(length, window):
    i, j = np.arange(length)[:, None], np.arange(length)[None, :]
    return (j <= i) & (i - j <= window)


print(recent_mask(4, window=1).astype(int))
assert np.array_equal(recent_mask(7, 2), causal_mask(7) & local_mask(7, 2))
check(...)
```
""",
)

EXERCISES = (LEAK, RECENT_PAST)
