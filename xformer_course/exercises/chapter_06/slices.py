"""Chapter 06, an exercise on cutting a wide projection into heads."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax


def _slices(wide, num_heads):
    """Head n takes the n-th block of columns: slow and plain."""
    d = wide.shape[1] // num_heads
    return np.stack([wide[:, n * d : (n + 1) * d] for n in range(num_heads)])


def _rows_mixed(wide, num_heads):
    return wide.reshape(num_heads, len(wide), -1)


def _every_hth(wide, num_heads):
    return np.stack([wide[:, n::num_heads] for n in range(num_heads)])


def _together(heads):
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)


def _layer(*, queries=_slices, keys=_slices, values=_slices, join=_together, scale=lambda q, num_heads: np.sqrt(q.shape[-1])):
    def wide_heads(x, w_q, w_k, w_v, w_o, num_heads):
        q, k, v = queries(x @ w_q, num_heads), keys(x @ w_k, num_heads), values(x @ w_v, num_heads)
        weights = softmax(q @ k.swapaxes(1, 2) / scale(q, num_heads))
        return join(weights @ v) @ w_o

    return wide_heads


def _input_sliced(x, w_q, w_k, w_v, w_o, num_heads):
    """Each head sees its own columns of the input alone."""
    part = x.shape[1] // num_heads

    def own(wide):
        d = wide.shape[1] // num_heads
        return np.stack([x[:, n * part : (n + 1) * part] @ wide[n * part : (n + 1) * part, n * d : (n + 1) * d] for n in range(num_heads)])

    q, k, v = own(w_q), own(w_k), own(w_v)
    return _together(softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v) @ w_o


def _words_kept_first(wide, num_heads):
    return wide.reshape(len(wide), num_heads, -1)


def _all_three(cut, join=_together):
    return _layer(queries=cut, keys=cut, values=cut, join=join)


def _joined_plainly(length_axis):
    return lambda heads: heads.reshape(heads.shape[length_axis], -1)


def _as_printed(x, w_q, w_k, w_v, w_o, num_heads):
    def cut(wide):
        return wide.reshape(num_heads, len(x), -1)

    q, k, v = cut(x @ w_q), cut(x @ w_k), cut(x @ w_v)
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (weights @ v).transpose(1, 0, 2).reshape(len(x), -1) @ w_o


def _cases(rng):
    def inputs(length, width, heads, d, e):
        return (
            rng.normal(size=(length, width)),
            rng.normal(size=(width, heads * d)),
            rng.normal(size=(width, heads * d)),
            rng.normal(size=(width, heads * e)),
            rng.normal(size=(heads * e, width)),
            heads,
        )

    return [
        case(*inputs(3, 4, 2, 2, 3)),
        case(*inputs(5, 6, 3, 4, 2)),
        case(*inputs(4, 8, 2, 3, 5)),
        case(*inputs(7, 5, 1, 3, 2), note="one head"),
    ]


def _by_transpose(x, w_q, w_k, w_v, w_o, num_heads):
    def cut(wide):
        return wide.reshape(len(x), num_heads, -1).transpose(1, 0, 2)

    return _layer(queries=lambda w, h: cut(w), keys=lambda w, h: cut(w), values=lambda w, h: cut(w))(x, w_q, w_k, w_v, w_o, num_heads)


def _by_split(x, w_q, w_k, w_v, w_o, num_heads):
    columns = [np.split(w, num_heads, axis=1) for w in (w_q, w_k, w_v)]
    output = 0.0
    for q, k, v, rows in zip(*columns, np.split(w_o, num_heads, axis=0), strict=True):
        output = output + softmax((x @ q) @ (x @ k).T / q.shape[1] ** 0.5) @ (x @ v) @ rows
    return output


WIDE_HEADS = Exercise(
    id="6.3",
    title="Words that change places",
    kind="find the bug",
    minutes=12,
    difficulty=2,
    statement="""\
The projections of all heads lie side by side in wide matrices: `w_q` and `w_k` (m, h·d), `w_v` (m, h·e), head by \
head; `w_o` is (h·e, m). The function below runs and returns the right shape, but it is wrong. Put the words of `x` \
into another order, and the outputs should only change places. Here different numbers come out. To see what `cut` does \
to three words for two heads, print `np.arange(12).reshape(3, 4).reshape(2, 3, -1)`. Then fix the function. It returns \
the output.""",
    hints=(
        "In `wide`, a row belongs to a word. In the result of `cut`, to which words does the first head's second row belong?",
        "A reshape keeps the numbers in the order in which they lie in memory. Cut only the last axis. The word axis must stay whole.",
        "Reshape to (i, h, d) and then exchange the first two axes with `transpose(1, 0, 2)`.",
    ),
    stub="""\
def wide_heads(x, w_q, w_k, w_v, w_o, num_heads):
    def cut(wide):
        return wide.reshape(num_heads, len(x), -1)

    q, k, v = cut(x @ w_q), cut(x @ w_k), cut(x @ w_v)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    joined = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
    return joined @ w_o""",
    reference=_layer(),
    cases=_cases,
    returns=("output",),
    wrong={
        "one reshape to the end": (
            _as_printed,
            "Nothing has changed: a head's row still holds numbers of several words. Write `np.arange(12).reshape(3, 4)` on paper, a row for each word, and mark what head 1 receives.",
        ),
        "every h-th column": (
            _layer(queries=_every_hth, keys=_every_hth, values=_every_hth),
            "The words are whole now, but your head 1 takes every h-th column. In the wide matrices the columns of one head are neighbours.",
        ),
        "values still mixed": (
            _layer(values=_rows_mixed),
            "Queries and keys are whole, the values are not. Are all three cut in the same way?",
        ),
        "only the values mended": (
            _layer(queries=_rows_mixed, keys=_rows_mixed),
            "The values are whole, queries and keys are not. Are all three cut in the same way?",
        ),
        "joined without exchange": (
            _layer(join=lambda heads: heads.reshape(heads.shape[1], -1)),
            "The cut is right now. Joining must undo it: does your last reshape start from (i, h, e)?",
        ),
        "input cut instead": (
            _input_sliced,
            "Your heads see only their own columns of `x`. Cut the *projected* matrix, after the product.",
        ),
        "never cut": (
            lambda x, w_q, w_k, w_v, w_o, num_heads: _layer()(x, w_q, w_k, w_v, w_o, 1),
            "You removed the heads: this is one wide head. How many maps of weights should there be?",
        ),
        "scaled by the full width": (
            _layer(scale=lambda q, h: np.sqrt(h * q.shape[-1])),
            "The cut is right, but the scores are divided by the root of h·d. How wide is a query of one head?",
        ),
        "heads attend to heads": (
            _all_three(_words_kept_first, _joined_plainly(0)),
            "In your version each word keeps to itself, and its heads attend to one another. Print the shape of `weights`: which two axes should be words?",
        ),
        "heads attend to heads, joined as printed": (
            _all_three(_words_kept_first, lambda heads: heads.transpose(1, 0, 2).reshape(len(heads), -1)),
            "In your version each word keeps to itself, and its heads attend to one another. Print the shape of `weights`: which two axes should be words?",
        ),
        "join mended, cut not": (
            _all_three(_rows_mixed, _joined_plainly(1)),
            "You changed the join. Now every number returns to its place, but in between the heads still hold rows of mixed words. Look at `cut`.",
        ),
        "turned before the reshape": (
            _all_three(lambda wide, num_heads: wide.T.reshape(num_heads, len(wide), -1)),
            "A head gets its own columns now, but its rows no longer belong to one word each. Print `np.arange(12).reshape(3, 4).T.reshape(2, 3, -1)` and read along a row.",
        ),
        "joined by turns": (
            _layer(join=lambda heads: heads.transpose(1, 2, 0).reshape(heads.shape[1], -1)),
            "The cut is right. Your joined row alternates between heads; W_O expects all numbers of one head, then those of the next.",
        ),
        "scale lost": (
            _layer(scale=lambda q, num_heads: 1.0),
            "The cut is right, but the weights are too sharp. The printed function divided the scores; does yours?",
        ),
    },
    alternatives={"reshape and transpose": _by_transpose, "a sum over split matrices": _by_split},
    success="The word axis stays whole. Only the columns are cut.",
    solution=r"""
A reshape never moves a number. It only draws new borders between the numbers in memory. If you cut three words of four columns
straight into (h, i, d), head 1 gets all numbers of *The* and half of the numbers of *big*.

```python
wide = np.arange(12).reshape(3, 4)  # words as rows, the columns of two heads side by side
print("one reshape:\n", wide.reshape(2, 3, 2)[0])
print("cut the columns, then exchange:\n", wide.reshape(3, 2, 2).transpose(1, 0, 2)[0])
```

In the second array each row holds the first two columns of one word. Only `cut` needs fixing: the join already exchanges the axes
before it reshapes.

```python
def wide_heads(x, w_q, w_k, w_v, w_o, num_heads):
    def cut(wide):
        return wide.reshape(len(x), num_heads, -1).transpose(1, 0, 2)

    q, k, v = cut(x @ w_q), cut(x @ w_k), cut(x @ w_v)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    joined = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
    return joined @ w_o


check(...)
```
""",
)

EXERCISES = (WIDE_HEADS,)
