"""Chapter 15, exercises on the attention of a layer of today: rotary positions, grouped heads, QK-norm."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, Misconception, case
from xformer_lib.reference import softmax

TURNED = {"5 and 3": 2.0, "105 and 103": 2.0, "3 and 5": -2.0}

ROTARY = Exercise(
    id="15.13",
    title="A pair by hand",
    kind="predict",
    minutes=6,
    difficulty=1,
    statement="""\
A head of width 2 has a single pair, and its speed ω is π/12, which is 15 degrees per position. Before the rotation every query \
is (2, 0) and every key is (0, 2), 90 degrees ahead of the query. Both are rotated by their position. What is the dot product of a query \
at position 5 and a key at position 3? At 105 and 103? And of a query at position 3 and a key at position 5?""",
    hints=(
        "By how many degrees is the query at position 5 rotated, and by how many the key at position 3?",
        "A dot product is the product of the two lengths and the cosine of the angle between them. Both lengths are 2.",
        "At 5 and 3 the query is at 75 degrees and the key at 90 + 45 = 135 degrees. The angle between them is 60 degrees.",
    ),
    stub='answer = {"5 and 3": ..., "105 and 103": ..., "3 and 5": ...}',
    reference=TURNED,
    wrong={
        "lengths forgotten": (
            {"5 and 3": 0.5, "105 and 103": 0.5, "3 and 5": -0.5},
            "Your cosines are right. A dot product also contains the two lengths, and each of them is 2.",
        ),
        "the offset does not count": (
            dict.fromkeys(TURNED, 0.0),
            "That is the dot product before the rotation. The query and the key are rotated by different angles.",
        ),
        "only the distance counts": Misconception(
            {"5 and 3": 2.0, "105 and 103": 2.0, "3 and 5": 2.0},
            "The distance is 2 each time, but the sign of the offset counts as well: which of the two is rotated further?",
            whole=True,
        ),
        "rotated the other way": Misconception(
            {"5 and 3": -2.0, "105 and 103": -2.0, "3 and 5": 2.0},
            "Your signs are exchanged. A positive angle turns (2, 0) towards (0, 2).",
            whole=True,
        ),
        "the key is not rotated": (
            {"5 and 3": 4 * np.cos(np.pi / 12), "105 and 103": 4 * np.cos(np.pi / 12), "3 and 5": 4 * np.cos(np.pi / 4)},
            "You rotated the query alone. The key is rotated by its own position.",
        ),
    },
    alternatives={"whole numbers": {"5 and 3": 2, "105 and 103": 2, "3 and 5": -2}},
    tolerance=1e-3,
    success="Moving both by 100 positions changes nothing, whereas exchanging them does.",
    solution=r"""
The query at position i stands at 15 i degrees, the key at position j at 90 + 15 j degrees. The angle between them is 90 − 15 (i − j):
60 degrees for the offset 2, wherever the two stand, and 120 degrees for the offset −2.

```python
angle = lambda i, j: np.radians(90 - 15 * (i - j))
answer = {f"{i} and {j}": 4 * np.cos(angle(i, j)) for i, j in ((5, 3), (105, 103), (3, 5))}
print(answer)
check(...)
```
""",
)


def _step(q, keys, values):
    group = len(q) // len(keys)
    k, v = np.repeat(keys, group, axis=0), np.repeat(values, group, axis=0)
    return np.einsum("hj,hjd->hd", softmax(np.einsum("hd,hjd->hj", q, k) / np.sqrt(q.shape[-1])), v)


def _step_variant(choose, scale=lambda q, keys: np.sqrt(q.shape[-1])):
    def step(q, keys, values):
        rows = [choose(n, len(q), len(keys)) for n in range(len(q))]
        return np.stack([softmax(q[n] @ keys[row].T / scale(q, keys)) @ values[row] for n, row in enumerate(rows)])

    return step


def _by_group(q, keys, values):
    g, _, d = keys.shape
    rows = q.reshape(g, -1, d)
    return (softmax(rows @ keys.transpose(0, 2, 1) / np.sqrt(d)) @ values).reshape(q.shape)


def _step_cases(rng):
    def drawn(h, g, j, d, **note):
        return case(rng.normal(size=(h, d)), rng.normal(size=(g, j, d)), rng.normal(size=(g, j, d)), **note)

    two = np.array([[1.0, 0], [0, 1]])
    return [
        case(np.array([[1.0, 0], [0, 2], [1, 1], [3, 0]]), np.stack([two, 2 * two]), np.stack([10 * two, -two])),
        drawn(6, 2, 5, 3),
        drawn(6, 3, 4, 8),
        drawn(8, 1, 7, 4, note="one head of keys for all"),
        drawn(5, 5, 3, 2, note="a head of keys for each"),
    ]


GROUPED = Exercise(
    id="15.14",
    title="One step with shared keys",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
A model writes one token. In NumPy, write `grouped_step(q, keys, values)`: `q` (h, d) holds the new token's query in each of h heads; \
`keys` and `values` (g, j, d) are the cache, which has g heads for the j tokens so far, the new one among them. g divides h, and head \
n reads the keys and values of group ⌊n·g/h⌋. Scores are divided by √d. Return (h, d): what each head reads.""",
    hints=(
        "With six heads of queries and two groups, which heads read group 0?",
        "Neighbouring heads share a group, so the first h/g queries belong to group 0: `q.reshape(g, -1, d)`.",
        "`q.reshape(g, -1, d) @ keys.transpose(0, 2, 1)` has the shape (g, h/g, j). Take softmax over j, times `values`, and reshape.",
    ),
    stub="def grouped_step(q, keys, values):\n    return ...",
    reference=_step,
    cases=_step_cases,
    returns=("heads",),
    wrong={
        "groups dealt out in turn": (
            _step_variant(lambda n, h, g: n % g),
            "Your head n reads group n mod g. Here neighbours share a group: heads 0 to h/g − 1 read group 0.",
        ),
        "the first group for all": (
            _step_variant(lambda n, h, g: 0),
            "All your heads read the same group. Which group does the last head read?",
        ),
        "groups in reverse": (
            _step_variant(lambda n, h, g: g - 1 - n * g // h),
            "Your first heads read the last group. Head 0 reads group 0.",
        ),
        "no division": (
            _step_variant(lambda n, h, g: n * g // h, scale=lambda q, keys: 1.0),
            "Each head reads the right group, but the scores are not divided by √d.",
        ),
        "divided by the length": (
            _step_variant(lambda n, h, g: n * g // h, scale=lambda q, keys: np.sqrt(keys.shape[1])),
            "You divide by the root of the number of keys. The statement asks for √d, the root of a key's width.",
        ),
        "softmax over the groups": (
            lambda q, keys, values: np.einsum(
                "hj,hjd->hd",
                softmax(np.einsum("hd,hjd->jh", q, np.repeat(keys, len(q) // len(keys), axis=0)) / np.sqrt(q.shape[1])).T,
                np.repeat(values, len(q) // len(keys), axis=0),
            ),
            "Your weights add up to 1 over the heads. Each head has weights of its own, which add up to 1 over the tokens.",
        ),
    },
    alternatives={"no copies": _by_group, "loop": _step_variant(lambda n, h, g: n * g // h)},
    success="A product per group reads each key once, for all the heads that share it.",
    solution=r"""
The queries of one group are neighbours, so `reshape` makes them the rows of one matrix. No key is copied, and each is fetched once for h/g
queries.

```python
def grouped_step(q, keys, values):
    g, j, d = keys.shape
    rows = q.reshape(g, -1, d)                                   # (g, h/g, d)
    scores = rows @ keys.transpose(0, 2, 1) / np.sqrt(d)         # (g, h/g, j)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return (weights @ values).reshape(q.shape)                   # (h, d)


check(...)
```
""",
)


def _normed(x, gain, axes=-1):
    return x / np.sqrt((x**2).mean(axis=axes, keepdims=True)) * gain


def _turned(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * np.cos(angles) - b * np.sin(angles)
    second = a * np.sin(angles) + b * np.cos(angles)
    return np.stack([first, second], axis=-1).reshape(x.shape)


def _scores(q, k, gain_q, gain_k, angles):
    q, k = _turned(_normed(q, gain_q), angles), _turned(_normed(k, gain_k), angles)
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


def _scores_variant(prepare, scale=lambda d: np.sqrt(d)):
    def scores(q, k, gain_q, gain_k, angles):
        return prepare(q, gain_q, angles) @ prepare(k, gain_k, angles).swapaxes(-1, -2) / scale(q.shape[-1])

    return scores


def _scores_cases(rng):
    def drawn(h, i, d, *, gains=True, **note):
        angles = np.arange(i)[:, None] * 10.0 ** (-np.arange(d // 2) / d)
        q, k = rng.normal(size=(2, h, i, d)) * rng.uniform(1, 4, size=(2, h, i, 1))
        gain_q, gain_k = rng.uniform(0.5, 2, size=(2, d)) if gains else np.ones((2, d))
        return case(q, k, gain_q, gain_k, angles, **note)

    return [drawn(1, 2, 2), drawn(2, 5, 4), drawn(3, 7, 6), drawn(2, 3, 8, gains=False, note="all gains 1")]


QK_NORM = Exercise(
    id="15.15",
    title="Right until it is trained",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
The function below should compute rotary scores with QK-norm: queries `q` and keys `k` (h, i, d), gains (d,) for each, and \
`angles` (i, d/2), by which the pairs of each position are rotated. In a fresh model, where all gains are 1, its scores are right. In a \
trained model two equal words no longer get the same score at the same offset. Find the bug and fix it. `normed` and `turned` are correct.""",
    hints=(
        "With gains of 1, does it make a difference whether you scale a vector before or after a rotation? And with other gains?",
        "A gain multiplies one number of a pair more than the other. What does that do to a pair that has already been rotated?",
        "First `normed`, with the gain, and then `turned`.",
    ),
    stub="""\
def normed(x, gain):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True)) * gain


def turned(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * np.cos(angles) - b * np.sin(angles)
    second = a * np.sin(angles) + b * np.cos(angles)
    return np.stack([first, second], axis=-1).reshape(x.shape)


def scores(q, k, gain_q, gain_k, angles):
    q = normed(turned(q, angles), gain_q)
    k = normed(turned(k, angles), gain_k)
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])""",
    reference=_scores,
    cases=_scores_cases,
    returns=("scores",),
    wrong={
        "rotated first": (
            _scores_variant(lambda x, gain, angles: _normed(_turned(x, angles), gain)),
            "You still rotate first. The gains then scale the two numbers of a rotated pair differently.",
        ),
        "gains left out": (
            _scores_variant(lambda x, gain, angles: _turned(_normed(x, 1.0), angles)),
            "Now offsets count alone, but the learned gains are gone. Apply them before the rotation.",
        ),
        "no rotation": (_scores_variant(lambda x, gain, angles: _normed(x, gain)), "The norm is right, but the positions are gone."),
        "one norm for all heads": (
            _scores_variant(lambda x, gain, angles: _turned(_normed(x, gain, axes=(0, -1)), angles)),
            "The order is right, but you divide by one root for all heads. QK-norm divides head by head.",
        ),
        "no norm": (
            _scores_variant(lambda x, gain, angles: _turned(x * gain, angles)),
            "The order is right, but nothing limits the lengths of queries and keys any more.",
        ),
        "no division": (
            _scores_variant(lambda x, gain, angles: _turned(_normed(x, gain), angles), scale=lambda d: 1.0),
            "The order is right, but the scores are no longer divided by √d.",
        ),
    },
    alternatives={"the gain between": _scores_variant(lambda x, gain, angles: _turned(_normed(x, 1.0) * gain, angles))},
    success="Norm and gain first, rotation last: the score depends on the words and their offset.",
    solution=r"""
A rotation keeps the length of a vector, so with gains of 1 the order makes no difference. Other gains stretch the two numbers of a pair
differently, and a stretched pair must be rotated as a whole afterwards.

```python
def normed(x, gain):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True)) * gain


def turned(x, angles):
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * np.cos(angles) - b * np.sin(angles)
    second = a * np.sin(angles) + b * np.cos(angles)
    return np.stack([first, second], axis=-1).reshape(x.shape)


def scores(q, k, gain_q, gain_k, angles):
    q = turned(normed(q, gain_q), angles)
    k = turned(normed(k, gain_k), angles)
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


check(...)
```
""",
)

EXERCISES = (ROTARY, GROUPED, QK_NORM)
