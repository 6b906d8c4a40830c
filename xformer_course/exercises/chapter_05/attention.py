"""Chapter 05, exercises on reordering keys and values, and on one vector for a whole sentence."""

import numpy as np

from xformer_course.exercises.chapter_05.layers import all_orders, attend
from xformer_course.exercises.comparison import as_floats, describe, is_plain
from xformer_course.exercises.exercise import Complaint, Exercise, case

_SWAPS = {"keys and values": 6.0, "keys alone": 2.0, "values alone": 2.0, "queries alone": (2.0, 6.0)}

SWAP = Exercise(
    id="5.4",
    title="Together or alone",
    kind="predict",
    minutes=3,
    difficulty=1,
    statement="""\
Two keys have the values 8 and 0. One query gives them the weights 3/4 and 1/4, so its output is 6. A second query \
gives them 1/4 and 3/4, and its output is 2. What is the output of the *first* query if you swap keys and values \
together, the keys alone, or the values alone? And if you swap the queries alone, which two outputs come out, from top \
to bottom?""",
    hints=(
        "A weight belongs to a key. Where does the 3/4 go when its key moves?",
        "Write a table with two columns, weight and value, and move what each swap moves.",
        "Together: 3/4 · 8 + 1/4 · 0, in the other order. Alone: 3/4 meets 0 and 1/4 meets 8. Each query takes its own output along.",
    ),
    stub="""\
answer = {"keys and values": ..., "keys alone": ..., "values alone": ...,
          "queries alone": (..., ...)}""",
    reference=_SWAPS,
    wrong={
        "a swap never matters": (
            {**_SWAPS, "keys alone": 6.0, "values alone": 6.0},
            "Keys and values have no order as *pairs*. If you move only one of the two, 3/4 meets another value. Which?",
        ),
        "a swap always matters": (
            {**_SWAPS, "keys and values": 2.0},
            "The weight 3/4 moves with its key. If the value moves too, they still meet: add up the same two terms in the other order.",
        ),
        "keys alone do nothing": (
            {**_SWAPS, "keys alone": 6.0},
            "The weights are computed from the keys. If the keys change places, so do the weights, and the values stay.",
        ),
        "values alone do nothing": (
            {**_SWAPS, "values alone": 6.0},
            "The weights stay, and the values change places. What does 3/4 multiply now?",
        ),
        "outputs do not follow queries": (
            {**_SWAPS, "queries alone": (6.0, 2.0)},
            "Each output row belongs to the query in the same row. Which query is at the top after the swap?",
        ),
        "even mean": (
            {**_SWAPS, "keys alone": 4.0, "values alone": 4.0},
            "4 is the mean with equal weights. A swap moves weights or values; it does not even them out.",
        ),
    },
    alternatives={"whole numbers and lists": {"keys and values": 6, "keys alone": 2, "values alone": 2, "queries alone": [2, 6]}},
    success="Pairs of key and value are a set. Move one of the two alone, and the pair is torn. A query takes its output along.",
    solution=r"""
Together, the same two products are added: 3/4 · 8 + 1/4 · 0. Alone, 3/4 meets 0 and 1/4 meets 8, which gives 2. A query takes its
own output along.

```python
answer = {
    "keys and values": 1 / 4 * 0 + 3 / 4 * 8,
    "keys alone": 1 / 4 * 8 + 3 / 4 * 0,
    "values alone": 3 / 4 * 0 + 1 / 4 * 8,
    "queries alone": (2, 6),
}
check(...)
```
""",
)


def _numbers(value):
    if not is_plain(value):
        raise Complaint(f"you returned {describe(value)}; return one vector, as an array")
    return as_floats(value)


def _looked_at(function):
    """What matters about a summary: its shape, what reordering changes, which rows matter, whether queries matter."""

    def looked_at(x, w_q, w_k, w_v):
        rng = np.random.default_rng(len(x))
        result = _numbers(function(x, w_q, w_k, w_v))
        again = [_numbers(function(x[order], w_q, w_k, w_v)) for order in all_orders(len(x))[1:]]
        if any(other.shape != result.shape for other in again):
            raise Complaint("the shape of your result changes with the order of the rows")
        influence = []
        for row in range(len(x)):
            other = x.copy()
            other[row] += rng.normal(size=x.shape[1])
            influence.append(not np.allclose(_numbers(function(other, w_q, w_k, w_v)), result))
        asked = not np.allclose(_numbers(function(x, w_q + rng.normal(size=w_q.shape), w_k, w_v)), result)
        change = np.array([other - result for other in again])
        change[np.abs(change) < 1e-12] = 0.0  # no last bits
        return np.array(result.shape), change, np.array(influence), asked and len(x) > 1

    return looked_at


def _mean_of_outputs(x, w_q, w_k, w_v):
    return attend(x, w_q, w_k, w_v).mean(axis=0)


def _mean_asks(x, w_q, w_k, w_v):
    scores = (x.mean(axis=0) @ w_q) @ (x @ w_k).T
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ (x @ w_v)


def _halving(output):
    summary = output[0]
    for row in output[1:]:
        summary = (summary + row) / 2
    return summary


def _sentences(rng):
    def inputs(n, m, d, e):  # small numbers, so that no weight is near 0 and every row has its say
        sizes = (n, m), (m, d), (m, d), (m, e)
        return tuple(0.5 * rng.normal(size=size) for size in sizes)

    return [
        case(*inputs(3, 4, 2, 5)),
        case(*inputs(2, 3, 5, 2), note="two rows"),
        case(*inputs(4, 5, 2, 3)),
        case(*inputs(1, 5, 3, 4), note="a single row"),
    ]


SUMMARY = Exercise(
    id="5.7",
    title="A vector without order",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
Write `summary(x, w_q, w_k, w_v)`: one vector for a whole sentence `x` (n, m), made from the self-attention of its \
words, with as many numbers as `w_v` has columns. It must be the same for every order of the rows, for any n. Every \
row must influence it, and `w_q` must too if there are two or more words. Several answers are right.""",
    hints=(
        "`self_attention` gives n rows, in the order of the words. Which operations on rows forget the order?",
        "A mean over the rows, a sum or a maximum: along which axis do the rows lie?",
        "`output, _ = self_attention(x, w_q, w_k, w_v)`, then `output.mean(axis=0)`.",
    ),
    stub="def summary(x, w_q, w_k, w_v):\n    return ...",
    reference=_mean_of_outputs,
    cases=_sentences,
    returns=("shape of the result", "change when rows are reordered", "does row i matter", "does w_q matter"),
    probe=_looked_at,
    wrong={
        "one row a word": (attend, "You return a row for each word, and the rows move with the words. Make one vector of them."),
        "first row": (
            lambda *a: attend(*a)[0],
            "The first row belongs to the word that happens to be first. Put another word there: what comes out?",
        ),
        "last row": (
            lambda *a: attend(*a)[-1],
            "The last row has seen all words, but it belongs to the word that happens to be last. Put another word there.",
        ),
        "features averaged": (
            lambda *a: attend(*a).mean(axis=1),
            "You averaged the features of each word, so one number per word is left. Along which axis do the words lie?",
        ),
        "rows joined end to end": (
            lambda *a: attend(*a).ravel(),
            "One long vector of all rows still has them in the order of the words, and its length changes with n.",
        ),
        "queries without influence": (
            lambda x, *w: attend(x.mean(axis=0, keepdims=True), *w)[0],
            "`w_q` has no influence on your result: with other queries the same vector comes out. If you take a mean first, a single row is left, and its weight is always 1.",
        ),
        "halved again and again": (
            lambda *a: _halving(attend(*a)),
            "If you average in one row after the other, the last row gets half of the weight and the first ones almost nothing.",
        ),
        "weights instead of outputs": (
            lambda x, w_q, w_k, w_v: attend(x, w_q, w_k, np.linalg.pinv(x)).mean(axis=0),
            "You averaged the attention weights: a number for each word, in the order of the words. The output holds the blended values.",
        ),
        "nothing left": (
            lambda x, w_q, w_k, w_v: np.zeros(w_v.shape[1]),
            "A constant is invariant, but it says nothing about the sentence.",
        ),
    },
    alternatives={
        "sum": lambda *a: attend(*a).sum(axis=0),
        "maximum": lambda *a: attend(*a).max(axis=0),
        "the mean word asks": _mean_asks,
        "sort the words first": lambda x, w_q, w_k, w_v: attend(x[np.lexsort(x.T)], w_q, w_k, w_v)[0],
    },
    success="An equivariant layer, then an operation that forgets the order: together invariant.",
    solution=r"""
The rows of self-attention move with the words, and the mean does not ask where a row is. A sum or a maximum would do as well, and so
would one more attention with a query that is always the same.

```python
def summary(x, w_q, w_k, w_v):
    output, _ = self_attention(x, w_q, w_k, w_v)
    return output.mean(axis=0)


check(...)
```
""",
)


def _encoded(pool):
    return lambda x, w_q, w_k, w_v: pool(attend(x, w_q, w_k, w_v))


def _half_of_nothing(output):
    summary = np.zeros(output.shape[1])
    for row in output:
        summary = (summary + row) / 2
    return summary


def _divided_each_time(output):
    summary = output[0]
    for row in output[1:]:
        summary = (summary + row) / len(output)
    return summary


def _counting_late(output):
    summary = output[0]
    for count, row in enumerate(output[1:], start=1):
        summary = summary + (row - summary) / count
    return summary


def _running_mean(output):
    summary = output[0]
    for count, row in enumerate(output[1:], start=2):
        summary = summary + (row - summary) / count
    return summary


def _bug_cases(rng):
    def inputs(n, m, d, e):
        return rng.normal(size=(n, m)), rng.normal(size=(m, d)), rng.normal(size=(m, d)), rng.normal(size=(m, e))

    hand = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    return [
        case(hand, np.zeros((2, 1)), np.zeros((2, 1)), np.eye(2), note="three words and equal weights"),
        case(*inputs(2, 3, 5, 4), note="two words"),
        case(*inputs(3, 4, 2, 5)),
        case(*inputs(5, 2, 3, 7)),
        case(*inputs(1, 3, 2, 4), note="a single word"),
    ]


SET_ENCODER = Exercise(
    id="5.8",
    title="A set that has an order",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
This function should describe a *set* of words: the mean of their self-attention outputs, the same for every order. \
Its author tried two words in both orders and was satisfied. With three words, the order shows. Find the three weights \
that it gives to the three outputs, and fix it. Leave the rest as it is.""",
    hints=(
        "Do the loop on paper for three outputs a, b, c. What does it return?",
        "After the second turn: ((a + b)/2 + c)/2. What is the weight of each of the three?",
        "A mean of n rows gives each the weight 1/n: sum all of them, then divide once, by n.",
    ),
    stub="""\
def encode_set(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output = weights / weights.sum(axis=-1, keepdims=True) @ (x @ w_v)
    summary = output[0]
    for row in output[1:]:
        summary = (summary + row) / 2
    return summary""",
    reference=_mean_of_outputs,
    cases=_bug_cases,
    returns=("summary",),
    wrong={
        "still halving": (
            _encoded(_halving),
            "The order still leaks. For three outputs the loop returns a/4 + b/4 + c/2: the last row counts double.",
        ),
        "half of nothing": (
            _encoded(_half_of_nothing),
            "The loop now starts from zero and halves that as well. Two equal rows should give that row back. Do they?",
        ),
        "sum not divided": (
            _encoded(lambda output: output.sum(axis=0)),
            "A sum leaks no order, but it is not the mean. Describe the same word twice: the result should stay the same.",
        ),
        "divided at every turn": (
            _encoded(_divided_each_time),
            "You divide by n at every turn, so the first row is divided many times. A mean divides once.",
        ),
        "one too few": (
            _encoded(lambda output: output.sum(axis=0) / max(len(output) - 1, 1)),
            "You divide by n − 1. How many rows are in the sum?",
        ),
        "count starts late": (
            _encoded(_counting_late),
            "A running mean is a good idea. But when the second row arrives, by what must its difference be divided?",
        ),
        "sorted, then halved": (
            lambda x, w_q, w_k, w_v: _halving(attend(x[np.lexsort(x.T)], w_q, w_k, w_v)),
            "Sorting the words first does stop the leak. But the weights 1/4, 1/4, 1/2 remain, now for the word that sorts last.",
        ),
        "maximum": (_encoded(lambda output: output.max(axis=0)), "A maximum is also invariant, but it is not the mean."),
    },
    alternatives={
        "a running mean": _encoded(_running_mean),
        "weights of 1/n": _encoded(lambda output: np.full(len(output), 1 / len(output)) @ output),
    },
    success="Two words could not show it. Always try three.",
    solution=r"""
After two turns the loop holds ((a + b)/2 + c)/2 = a/4 + b/4 + c/2: the last row counts double. With two rows the weights are 1/2 and
1/2, so the author's test saw nothing.

```python
def encode_set(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output = weights / weights.sum(axis=-1, keepdims=True) @ (x @ w_v)
    return output.mean(axis=0)


check(...)
```
""",
)

TOGETHER = (SWAP,)
POOLED = (SUMMARY, SET_ENCODER)
