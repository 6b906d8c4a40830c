"""Chapter 08, exercises on positions inside attention: the relative bias, and rotary with a cache."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference.positions import rotary


def _bias_from(q, key_table, offset):
    c = len(key_table) // 2
    vectors = key_table[np.clip(offset, -c, c) + c]
    return np.einsum("hid,ijd->hij", q, vectors) / np.sqrt(q.shape[-1])


def _offsets(q, key_len, start):
    return np.arange(key_len) - (start + np.arange(q.shape[1]))[:, None]


def _relative_bias(q, key_table, key_len, start):
    return _bias_from(q, key_table, _offsets(q, key_len, start))


def _bias_cases(rng):
    def inputs(h, i, d, c):
        return rng.normal(size=(h, i, d)), rng.normal(size=(2 * c + 1, d))

    hand = np.array([[[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]])
    table = np.array([[2.0, 4.0, 0.0, 0.0], [6.0, 8.0, 0.0, 0.0], [10.0, 12.0, 0.0, 0.0]])
    return [
        case(hand, table, 3, 0),
        case(*inputs(3, 7, 5, 2), 7, 0),
        case(*inputs(2, 1, 5, 3), 11, 10, note="one query behind ten kept keys"),
        case(*inputs(2, 3, 7, 1), 8, 5, note="three queries behind five kept keys"),
    ]


def _bias_not_clipped(q, key_table, key_len, start):
    vectors = key_table[_offsets(q, key_len, start) + len(key_table) // 2]
    return np.einsum("hid,ijd->hij", q, vectors) / np.sqrt(q.shape[-1])


def _bias_rows_not_moved(q, key_table, key_len, start):
    c = len(key_table) // 2
    vectors = key_table[np.clip(_offsets(q, key_len, start), -c, c)]
    return np.einsum("hid,ijd->hij", q, vectors) / np.sqrt(q.shape[-1])


def _bias_far_is_nothing(q, key_table, key_len, start):
    c = len(key_table) // 2
    return np.where(abs(_offsets(q, key_len, start)) <= c, _relative_bias(q, key_table, key_len, start), 0.0)


def _bias_by_loops(q, key_table, key_len, start):
    heads, length, d = q.shape
    c = len(key_table) // 2
    bias = np.empty((heads, length, key_len))
    for h, i, j in np.ndindex(bias.shape):
        offset = max(-c, min(c, j - (start + i)))
        bias[h, i, j] = sum(a * b for a, b in zip(q[h, i], key_table[c + offset], strict=True)) / math.sqrt(d)
    return bias


def _bias_by_products(q, key_table, key_len, start):
    c = len(key_table) // 2
    rows = np.clip(_offsets(q, key_len, start), -c, c) + c
    products = q @ key_table.T / np.sqrt(q.shape[-1])
    return np.take_along_axis(products, np.broadcast_to(rows, (len(q), *rows.shape)), axis=-1)


RELATIVE_BIAS = Exercise(
    id="8.5",
    page="08a_positions_inside_attention",
    title="A score for every offset",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
`q` (h, i, d) holds queries at the positions `start`, `start + 1`, … The keys have the positions 0, …, `key_len - 1`. The offset of a pair is the key's position minus the query's position. `key_table` \
(2c + 1, d) holds one vector for each offset t from -c to c, in row c + t. A farther offset uses the vector of \
-c or c. Write `relative_bias(q, key_table, key_len, start)`, which Shaw et al. add to the scores: each query times \
the vector of its offset to each key, divided by √d. Its shape is (h, i, key_len).""",
    hints=(
        "Let start = 5 and key_len = 8, with three queries. What are the offsets j - i in the first row?",
        "Make the table of offsets (i, key_len) with two calls to np.arange. Clip it with np.clip, and add c.",
        "key_table[rows] has shape (i, key_len, d), one vector for each pair. Multiply it by q and sum over d, with einsum.",
    ),
    stub="def relative_bias(q, key_table, key_len, start):\n    return ...",
    reference=_relative_bias,
    cases=_bias_cases,
    returns=("bias",),
    wrong={
        "queries at place 0": (
            lambda q, key_table, key_len, start: _relative_bias(q, key_table, key_len, 0),
            "Right as long as start is 0. With five keys kept, what is the position of the first query?",
        ),
        "offset backwards": (
            lambda q, key_table, key_len, start: _bias_from(q, key_table, -_offsets(q, key_len, start)),
            "Your offsets have the wrong sign. The *next* word, j = i + 1, should have the offset 1.",
        ),
        "not clipped": (_bias_not_clipped, "Some offsets lie beyond ±c, and there is no row for them. Which vector should they use?"),
        "row t in place of c + t": (
            _bias_rows_not_moved,
            "You use the offset as a row number. NumPy counts negative rows from the end, so you get no error. Which row belongs to the offset 0?",
        ),
        "not divided": (
            lambda q, key_table, key_len, start: _relative_bias(q, key_table, key_len, start) * np.sqrt(q.shape[-1]),
            "Each number is too large by the same factor. The scores are divided by √d, so this term must be divided as well.",
        ),
        "far keys get nothing": (
            _bias_far_is_nothing,
            "Near offsets are right. Beyond ±c you add 0, but the statement gives these offsets a vector as well.",
        ),
    },
    alternatives={"loops": _bias_by_loops, "products first": _bias_by_products},
    success="A table of 2c + 1 rows serves sentences of any length.",
    solution=r"""
First make a table of offsets, one for each pair of a query and a key. Queries begin at `start`. Clipping keeps the offsets between -c
and c, adding c turns them into row numbers, and picking rows gives each pair its vector.

```python
def relative_bias(q, key_table, key_len, start):
    c = len(key_table) // 2
    query_places = start + np.arange(q.shape[1])
    offset = np.arange(key_len) - query_places[:, None]  # j - i
    rows = np.clip(offset, -c, c) + c
    vectors = key_table[rows]  # (i, j, d)
    return np.einsum("hid,ijd->hij", q, vectors) / np.sqrt(q.shape[-1])


check(...)
```

The array of vectors is large, with one vector of width d for each pair, although only 2c + 1 of the vectors are different. We can
therefore first multiply each query by these 2c + 1 vectors, and then pick the results.

```python
def products_first(q, key_table, key_len, start):
    c = len(key_table) // 2
    offset = np.arange(key_len) - (start + np.arange(q.shape[1]))[:, None]
    rows = np.broadcast_to(np.clip(offset, -c, c) + c, (len(q), *offset.shape))
    products = q @ key_table.T / np.sqrt(q.shape[-1])  # (h, i, 2c + 1)
    return np.take_along_axis(products, rows, axis=-1)


rng = np.random.default_rng(0)
q, table = rng.normal(size=(2, 3, 7)), rng.normal(size=(5, 7))
difference = products_first(q, table, 9, 6) - relative_bias(q, table, 9, 6)
assert np.abs(difference).max() < 1e-12
print("both ways agree:", difference.shape)
```
""",
)


def _step_at(q, k, kept, query_place, key_place):
    q, k = rotary(q, [query_place]), rotary(k, [key_place])
    keys = np.concatenate([kept, k], axis=1)
    return q @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1]), keys


def _step(q, k, kept):
    return _step_at(q, k, kept, kept.shape[1], kept.shape[1])


def _step_cases(rng):
    def inputs(h, n, d):
        return rng.normal(size=(h, 1, d)), rng.normal(size=(h, 1, d)), rng.normal(size=(h, n, d))

    return [
        case(np.array([[[2.0, 0.0]]]), np.array([[[1.0, 0.0]]]), np.array([[[1.0, 1.0]]])),
        case(*inputs(3, 5, 4)),
        case(*inputs(2, 11, 6)),
        case(*inputs(3, 0, 2), note="the first word, with nothing kept"),
    ]


def _step_turned_again(q, k, kept):
    n = kept.shape[1]
    keys = rotary(np.concatenate([kept, k], axis=1), np.arange(n + 1))
    return rotary(q, [n]) @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1]), keys


def _step_by_loop(q, k, kept):
    heads, place = [], kept.shape[1]
    for query, key, old in zip(q, k, kept, strict=True):
        keys = [*old, rotary(key, [place])[0]]
        turned = rotary(query, [place])[0]
        heads.append(([[turned @ one / math.sqrt(q.shape[-1]) for one in keys]], keys))
    return np.array([scores for scores, _ in heads]), np.array([keys for _, keys in heads])


STEP = Exercise(
    id="8.6",
    page="08a_positions_inside_attention",
    title="Where the newest word stands",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
A decoder with rotary positions writes word by word. `kept` (h, n, d) holds the keys of the n words so far, each rotated \
for its position. `q` and `k` (h, 1, d) are the query and the key of the newest word, not rotated yet. `step` returns the scores of \
the newest query over all keys, (h, 1, n + 1), and the keys to keep, (h, n + 1, d). The model trained well. When it writes word by word, however, \
its first word is right and the rest is nonsense. Fix `step`.""",
    hints=(
        "The first word is right. What is different for the second one?",
        "The first word has position 0, and n keys are kept. Which position does the newest word have?",
        "Rotate the newest query and the newest key for the position kept.shape[1]. Leave the kept keys alone.",
    ),
    stub="""\
from xformer_lib.reference.positions import rotary as turn


def step(q, k, kept):
    q, k = turn(q, [0]), turn(k, [0])
    keys = np.concatenate([kept, k], axis=1)
    return q @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1]), keys""",
    reference=_step,
    cases=_step_cases,
    returns=("scores", "keys"),
    wrong={
        "every word at place 0": (
            lambda q, k, kept: _step_at(q, k, kept, 0, 0),
            "That is right as long as nothing is kept. Which position does the newest word have after n kept keys?",
        ),
        "the key at place 0": (
            lambda q, k, kept: _step_at(q, k, kept, kept.shape[1], 0),
            "The scores with the kept keys are right, but the last score is not. Which position does the newest key have?",
        ),
        "one place too far": (
            lambda q, k, kept: _step_at(q, k, kept, kept.shape[1] + 1, kept.shape[1] + 1),
            "You are one position too far. The first word has position 0, so after n words the next one has position n.",
        ),
        "the query at place 0": (
            lambda q, k, kept: _step_at(q, k, kept, 0, kept.shape[1]),
            "The keys to keep are right, but the scores are not. For which position do you rotate the query?",
        ),
        "kept keys turned again": (
            _step_turned_again,
            "You rotate the kept keys again. They were rotated when they were new; what happens to them if every step rotates them once more?",
        ),
        "kept without turning": (
            lambda q, k, kept: (_step(q, k, kept)[0], np.concatenate([kept, k], axis=1)),
            "The scores are right, but the last key that you keep is not rotated. The next step will assume that it is.",
        ),
        "place from the heads": (
            lambda q, k, kept: _step_at(q, k, kept, len(kept), len(kept)),
            "You use the number of heads as the position. Print the shape of `kept`. Which axis counts words?",
        ),
        "place from the width": (
            lambda q, k, kept: _step_at(q, k, kept, kept.shape[2], kept.shape[2]),
            "You use the width of a head as the position. Print the shape of `kept`. Which axis counts words?",
        ),
        "query one place on": (
            lambda q, k, kept: _step_at(q, k, kept, kept.shape[1] + 1, kept.shape[1]),
            "The keys to keep are right. Query and key belong to the same word. Which position does each of yours have?",
        ),
        "key one place on": (
            lambda q, k, kept: _step_at(q, k, kept, kept.shape[1], kept.shape[1] + 1),
            "The scores with the kept keys are right. Query and key belong to the same word. Which position does each of yours have?",
        ),
        "on the last kept place": (
            lambda q, k, kept: _step_at(q, k, kept, max(kept.shape[1] - 1, 0), max(kept.shape[1] - 1, 0)),
            "Your newest word gets the position of the last kept word. The first word has position 0. Which position does the second have?",
        ),
        "query one place back": (
            lambda q, k, kept: _step_at(q, k, kept, max(kept.shape[1] - 1, 0), kept.shape[1]),
            "The keys to keep are right. Query and key belong to the same word. Which position does each of yours have?",
        ),
    },
    alternatives={"head by head": _step_by_loop},
    success="A key is rotated once, when it is new. Its position never changes, so its angle does not either.",
    solution=r"""
After n kept keys the newest word has position n, not 0. Rotate its query and its key for this position. The kept keys were rotated when they
were new, so leave them alone. With the bug the first word is right as well, because its position *is* 0.

```python
from xformer_lib.reference.positions import rotary as turn


def step(q, k, kept):
    place = [kept.shape[1]]
    q, k = turn(q, place), turn(k, place)
    keys = np.concatenate([kept, k], axis=1)
    return q @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1]), keys


check(...)
```

Training does not show this fault, because there the whole sentence is rotated at once, each row for its own position. Compare the steps
with one pass, and you find the fault before a user does.

```python
rng = np.random.default_rng(1)
q, k = rng.normal(size=(2, 3, 5, 4))  # 3 heads, 5 words, width 4
whole = turn(q, range(5)) @ turn(k, range(5)).swapaxes(1, 2) / 2

kept = np.zeros((3, 0, 4))
for n in range(5):
    scores, kept = step(q[:, n:n + 1], k[:, n:n + 1], kept)
    assert np.abs(scores[:, 0] - whole[:, n, :n + 1]).max() < 1e-12
print("five steps give the rows of one pass")
```
""",
)
