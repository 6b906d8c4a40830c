"""Chapter 03, exercises on the attention function."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

THREE_SHAPES = Exercise(
    id="3.8",
    title="Three shapes",
    kind="predict",
    minutes=3,
    difficulty=1,
    statement="""\
Five queries of width 3 meet seven keys, and each key has a value of width 2. What are the shapes of the scores, the \
weights and the output?""",
    hints=(
        "How many scores does one query get, and how many weights?",
        "Scores are q kᵀ. The output is weights v: which two axes of that product remain?",
        "One row for each query everywhere; a row of scores has an entry for each key, a row of output is as wide as a value.",
    ),
    stub='answer = {"scores": ..., "weights": ..., "output": ...}',
    reference={"scores": (5, 7), "weights": (5, 7), "output": (5, 2)},
    wrong={
        "keys by queries": (
            {"scores": (7, 5), "weights": (7, 5), "output": (5, 2)},
            "Your scores have a row for each key. Each query shares out its own attention, so which should the rows be, queries or keys?",
        ),
        "weights turned round": (
            {"scores": (5, 7), "weights": (7, 5), "output": (5, 2)},
            "Your weights have a row for each key, but your scores have a row for each query. Does softmax move an entry?",
        ),
        "output as wide as a query": (
            {"scores": (5, 7), "weights": (5, 7), "output": (5, 3)},
            "An output is a blend of values. How wide is a value here?",
        ),
        "one output for each key": (
            {"scores": (5, 7), "weights": (5, 7), "output": (7, 2)},
            "You have one output for each key. Each query gets one answer: how many queries are there?",
        ),
        "softmax sums an axis away": (
            {"scores": (5, 7), "weights": (5,), "output": (5, 2)},
            "Your weights have lost an axis. Softmax divides by a sum, but it keeps every entry.",
            lambda answer: tuple(answer["weights"]) in {(5,), (7,), (5, 1)},
        ),
        "a weight for each feature": (
            {"scores": (5, 7, 3), "weights": (5, 7, 3), "output": (5, 2)},
            "A score is one number per query and key, because the dot product has summed over the width.",
        ),
    },
    alternatives={"lists": {"scores": [5, 7], "weights": [5, 7], "output": [5, 2]}},
    success="Queries decide how many rows, values how wide they are.",
    solution=r"""
Scores and weights have a row for each query and a column for each key. The product with the values sums over the keys. So the output has a
row for each query, as wide as a value.

```python
q, k, v = np.ones((5, 3)), np.ones((7, 3)), np.ones((7, 2))
scores = q @ k.T
answer = {"scores": scores.shape, "weights": my_softmax(scores).shape, "output": (my_softmax(scores) @ v).shape}
print(answer)
check(...)
```
""",
)


def _attention(q, k, v, mask=None):
    """Query by query: slow, and every case in sight."""
    weights = np.zeros((len(q), len(k)))
    for i, query in enumerate(q):
        allowed = [j for j in range(len(k)) if mask is None or mask[i, j]]
        if allowed:
            scores = np.array([query @ k[j] for j in allowed]) / math.sqrt(len(query))
            row = np.exp(scores - scores.max())
            weights[i, allowed] = row / row.sum()
    return weights @ v, weights


def inputs(rng, queries, keys, width, value_width):
    return rng.normal(size=(queries, width)), rng.normal(size=(keys, width)), rng.normal(size=(keys, value_width))


def some_mask(rng, queries, keys):
    mask = rng.random((queries, keys)) < 0.5
    mask[:, 0] = ~mask[:, 1]  # every query keeps a key and loses one
    return mask


def _loud(rng, queries, keys, width, value_width):
    """Inputs whose first query has the scaled score 1500 with the first key, and far smaller ones with the others."""
    q, k, v = inputs(rng, queries, keys, width, value_width)
    q[0] = 1500.0 / math.sqrt(width)
    k[0] = 1.0
    k[1:] *= 0.1
    return q, k, v


def low_scores(rng, queries, keys, width, value_width):
    """Inputs whose scaled scores all lie near -200."""
    q, k, v = inputs(rng, queries, keys, width, value_width)
    return -200.0 / math.sqrt(width) * (1 + 0.01 * q), 1 + 0.01 * k, v


def _attention_cases(rng):
    loudest_barred = some_mask(rng, 3, 4)
    loudest_barred[0] = [False, True, True, True]
    empty_row = some_mask(rng, 5, 3)
    empty_row[2] = False
    return [
        case(
            np.array([[1.0, 0.0], [0.0, 2.0]]),
            np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            np.array([[1.0], [10.0], [100.0]]),
            mask=None,
        ),
        case(*inputs(rng, 5, 7, 3, 2), mask=None),
        case(*inputs(rng, 4, 6, 5, 3), mask=some_mask(rng, 4, 6), note="a mask"),
        case(*_loud(rng, 2, 5, 7, 3), mask=None, note="a score of 1500"),
        case(*inputs(rng, 5, 3, 2, 4), mask=empty_row, note="a query that may attend to nothing"),
        case(*_loud(rng, 3, 4, 5, 2), mask=loudest_barred, note="a forbidden key with a score of 1500"),
        case(*low_scores(rng, 4, 7, 3, 5), mask=some_mask(rng, 4, 7), note="a mask, and scores near -200"),
    ]


def variant(
    *, divisor=lambda q, v: math.sqrt(q.shape[-1]), axis=-1, fill=-np.inf, flip=False, ignored=False, after=False, shift=True, empty=0.0
):
    """Attention with one thing changed: the source of most wrong answers below."""

    def attention(q, k, v, mask=None):
        scores = q @ k.T / divisor(q, v)
        mask = None if ignored else mask
        if mask is not None and not after:
            scores = np.where(~mask if flip else mask, scores, fill)
        top = scores.max(axis=axis, keepdims=True) if shift else 0.0
        raw = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
        total = raw.sum(axis=axis, keepdims=True)
        weights = np.where(total > 0, raw / total, empty)
        if mask is not None and after:
            weights = np.where(mask, weights, 0.0)
        return weights @ v, weights

    return attention


def _top_of_all(q, k, v, mask=None):
    scores = q @ k.T / math.sqrt(q.shape[-1])
    raw = np.exp(scores - scores.max(axis=-1, keepdims=True)) * (1.0 if mask is None else mask)
    total = raw.sum(axis=-1, keepdims=True)
    weights = raw / np.where(total == 0.0, 1.0, total)
    return weights @ v, weights


def _by_einsum(q, k, v, mask=None):
    scores = np.einsum("id,jd->ij", q, k) / q.shape[1] ** 0.5
    allowed = np.ones(scores.shape, dtype=bool) if mask is None else np.asarray(mask)
    raw = np.exp(scores - scores.max(axis=1, keepdims=True, where=allowed, initial=-1e300), where=allowed, out=np.zeros_like(scores))
    weights = raw / np.maximum(raw.sum(axis=1, keepdims=True), 1e-300)
    return np.einsum("ij,je->ie", weights, v), weights


def _additive_mask(q, k, v, mask=None):
    scores = (q / np.sqrt(q.shape[-1])) @ k.T
    if mask is not None:
        scores = scores + np.where(mask, 0.0, -np.inf)
    weights = np.nan_to_num(np.exp(scores - scores.max(axis=-1, keepdims=True)))
    weights /= np.where(weights.any(axis=-1, keepdims=True), weights.sum(axis=-1, keepdims=True), 1.0)
    return [weights @ v, weights]


def _from_the_library(q, k, v, mask=None):
    from xformer_lib.reference.attention import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v, mask=mask)


ATTENTION = Exercise(
    id="3.9",
    title="Attention from the formula",
    kind="implement",
    minutes=15,
    difficulty=2,
    statement="""\
Write `my_attention(q, k, v, mask=None)` in NumPy for one sentence: `q` (L_q, d_k), `k` (L_k, d_k), `v` (L_k, d_v), and `mask` None or \
boolean (L_q, L_k), True = may attend. Return the pair `(output, weights)`. Large scores must not overflow. A query that may attend to \
nothing gets zero weights and a zero output.""",
    hints=(
        "Which score must a forbidden key have before softmax, so that its weight comes out as exactly 0?",
        "`np.where(mask, scores, -np.inf)` builds the scores. Look at what a row of minus infinities does to the maximum and to the sum.",
        "Where a row has no key left, its exponentials are all 0: replace the maximum by 0 and the sum by 1 in that row, and 0/1 is the weight you want.",
    ),
    stub="def my_attention(q, k, v, mask=None):\n    return ...",
    reference=_attention,
    cases=_attention_cases,
    returns=("output", "weights"),
    wrong={
        "no scaling": (variant(divisor=lambda q, v: 1.0), "Your weights are too sharp. What does the formula do between q kᵀ and softmax?"),
        "divided by d_k": (
            variant(divisor=lambda q, v: q.shape[-1]),
            "Your weights are too even, because you divide by the width itself. What does the formula divide by?",
        ),
        "scaled by the width of values": (
            variant(divisor=lambda q, v: math.sqrt(v.shape[-1])),
            "You divide by the width of the values. That is right only while values are as wide as keys. Whose width makes the dot product large?",
        ),
        "softmax over queries": (
            variant(axis=0),
            "Your weights add up to 1 down the columns. Print `weights.sum(axis=-1)`: what should each query's row give?",
        ),
        "mask ignored": (
            lambda q, k, v, mask=None: _attention(q, k, v),
            "Right without a mask; with one, nothing changes. Where does your function use `mask`?",
        ),
        "mask turned round": (variant(flip=True), "Your queries read exactly the keys that they may not read. True means *may attend*."),
        "forbidden scores set to 0": (
            variant(fill=0.0),
            "Forbidden keys still get weight, because exp(0) is 1. Which score has an exponential of 0?",
        ),
        "mask after softmax": (
            variant(after=True),
            "The weights of a masked row no longer add up to 1. Softmax had given a share to the forbidden keys. Where should the mask act?",
        ),
        "not a number in an empty row": (
            variant(empty=np.nan),
            "Nearly all of it is right. But a query that may attend to nothing divides 0 by 0. What should it return?",
        ),
        "even weights in an empty row": (
            variant(fill=-1e9),
            "A query that may attend to nothing reads all forbidden keys evenly. A large negative score hides a key only if another score is larger, and here all scores are alike.",
        ),
        "overflow": (variant(shift=False), 'Large scores give "not a number". What did you subtract in exercise 3.2?'),
        "forbidden keys in the maximum": (
            _top_of_all,
            "A forbidden key with a large score sets your maximum. Then the exponentials of the allowed keys all round to 0. Over which keys should the maximum run?",
        ),
        "pair in the wrong order": (
            lambda q, k, v, mask=None: _attention(q, k, v, mask)[::-1],
            "You return weights first. The pair is (output, weights).",
        ),
        "output alone": (
            lambda q, k, v, mask=None: _attention(q, k, v, mask)[0],
            "You return the output alone. The statement asks for the pair (output, weights).",
        ),
    },
    together=(
        variant,
        {
            "no scaling": {"divisor": lambda q, v: 1.0},
            "divided by d_k": {"divisor": lambda q, v: q.shape[-1]},
            "scaled by the width of values": {"divisor": lambda q, v: math.sqrt(v.shape[-1])},
            "softmax over queries": {"axis": 0},
            "mask ignored": {"ignored": True},
            "mask turned round": {"flip": True},
            "forbidden scores set to 0": {"fill": 0.0},
            "mask after softmax": {"after": True},
            "not a number in an empty row": {"empty": np.nan},
            "even weights in an empty row": {"fill": -1e9},
            "overflow": {"shift": False},
        },
    ),
    alternatives={
        "einsum": _by_einsum,
        "mask added to the scores": _additive_mask,
        "library": _from_the_library,
        "float32": lambda *args, **kwargs: tuple(a.astype(np.float32) for a in _attention(*args, **kwargs)),
    },
    success="Masked, scaled, safe for large scores, and zeros where nothing may be read.",
    solution=r"""
A forbidden score becomes minus infinity, and its exponential is exactly 0. A row without any allowed key would give (−∞) − (−∞) and then
0/0. So in that row we put 0 for the maximum and 1 for the sum, and the weights come out as 0/1.

```python
def my_attention(q, k, v, mask=None):
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    raw = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = raw.sum(axis=-1, keepdims=True)
    weights = raw / np.where(total == 0, 1.0, total)
    return weights @ v, weights


check(...)
```
""",
)

EXERCISES = (THREE_SHAPES, ATTENTION)
