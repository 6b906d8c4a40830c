"""Chapter 10, exercises on padding and budgets."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

WASTE = Exercise(
    id="10.6",
    title="Counting padding",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
Four sentences have 4, 10, 5 and 11 tokens, and two go into each batch. How many positions in both batches together are padding, first in the given order and then after sorting by length?""",
    hints=(
        "How wide is each batch?",
        "A batch of two rows has twice as many positions as its longer row has tokens.",
        "In the given order the batches are 10 and 11 wide. That makes 42 places for 30 pieces.",
    ),
    stub='answer = {"in order": ..., "sorted": ...}',
    reference={"in order": 12, "sorted": 2},
    wrong={
        "positions counted": ({"in order": 42, "sorted": 32}, "These are all the places. How many of them hold a piece of a sentence?"),
        "one width for all": (
            {"in order": 14, "sorted": 14},
            "You padded every row to 11. A batch is only as wide as its own longest row.",
        ),
        "sorted has none": ({"in order": 12, "sorted": 0}, "Sorted neighbours are similar, but not equal. Write down the two batches."),
        "one batch forgotten": ({"in order": 6, "sorted": 1}, "That is the padding of one batch. How many batches are there?"),
    },
    alternatives={"floats": {"in order": 12.0, "sorted": 2.0}},
    success="The same sentences, and a sixth of the padding.",
    solution=r"""
A batch of two has twice as many positions as its longer row has tokens. In the given order that is 20 + 22 = 42, and after sorting
10 + 22 = 32. In both cases 30 places hold a piece.

```python
answer = {"in order": 42 - 30, "sorted": 32 - 30}
check(...)
```
""",
)


def _sizes(widths, max_tokens):
    sizes, rows, longest = [], 0, 0
    for width in widths:
        longest = max(longest, width)
        if (rows + 1) * longest > max_tokens:
            sizes.append(rows)
            rows, longest = 0, width
        rows += 1
    return [*sizes, rows]


def _sizes_cases(rng):
    def drawn(size):
        return [int(width) for width in rng.integers(2, 12, size=size)]

    return [
        case([2, 2, 3, 3], 12),
        case([2, 6, 2, 2], 12, note="a long row before short ones"),
        case([3, 3, 3, 3], 12, note="a batch that fills the budget exactly"),
        case([2, 2, 2, 5, 5], 12),
        case(sorted(drawn(13)), 24),
        case(drawn(19), 29),
        case(drawn(23), 37),
    ]


def _summed(widths, max_tokens):
    sizes, rows, used = [], 0, 0
    for width in widths:
        if used + width > max_tokens:
            sizes.append(rows)
            rows, used = 0, 0
        rows += 1
        used += width
    return [*sizes, rows]


def _newest(widths, max_tokens):
    sizes, rows = [], 0
    for width in widths:
        if (rows + 1) * width > max_tokens:
            sizes.append(rows)
            rows = 0
        rows += 1
    return [*sizes, rows]


def _too_late(widths, max_tokens):
    sizes, rows, longest = [], 0, 0
    for width in widths:
        if rows * max(longest, width) > max_tokens:
            sizes.append(rows)
            rows, longest = 0, 0
        rows += 1
        longest = max(longest, width)
    return [*sizes, rows]


def _never_forgets(widths, max_tokens):
    sizes, rows, longest = [], 0, 0
    for width in widths:
        longest = max(longest, width)
        if (rows + 1) * longest > max_tokens:
            sizes.append(rows)
            rows = 0
        rows += 1
    return [*sizes, rows]


def _widest_of_all(widths, max_tokens):
    each = max_tokens // max(widths)
    return [min(each, len(widths) - start) for start in range(0, len(widths), each)]


def _by_slices(widths, max_tokens):
    sizes, start = [], 0
    while start < len(widths):
        end = start + 1
        while end < len(widths) and (end + 1 - start) * max(widths[start : end + 1]) <= max_tokens:
            end += 1
        sizes.append(end - start)
        start = end
    return np.array(sizes)


BUDGET = Exercise(
    id="10.7",
    title="Over budget",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
The function below walks along the `widths` of sentences and returns how many rows each batch gets. No batch may have more than `max_tokens` places, and a batch is closed only when the next row does not fit. \
Yet training ran out of memory. Find the batch that is too large, and fix the function. Every width is at most `max_tokens`. Plain Python is enough.""",
    hints=(
        "Take widths 2, 6, 2, 2 and a budget of 12. How many places does each batch of the function have?",
        "Padding costs memory as well. What is the size of the matrix that holds the batch?",
        "Keep the longest width of the batch, not the sum. The size is rows times longest.",
    ),
    stub="""\
def batch_sizes(widths, max_tokens):
    sizes, rows, used = [], 0, 0
    for width in widths:
        if used + width > max_tokens:
            sizes.append(rows)
            rows, used = 0, 0
        rows += 1
        used += width
    return sizes + [rows]""",
    reference=_sizes,
    cases=_sizes_cases,
    returns=("sizes",),
    wrong={
        "sum of the widths": (_summed, "The batches are as large as before. You add up the tokens, but the matrix also holds the padding."),
        "newest row decides": (_newest, "You multiply by the width of the newest row. What if a longer one is already in the batch?"),
        "budget never reached": (
            lambda widths, max_tokens: _sizes(widths, max_tokens - 1),
            "A batch that fills the budget exactly is refused. Compare `>` and `>=`.",
        ),
        "one row too many": (_too_late, "You look at the batch before the new row is in it, so one row too many gets in."),
        "last batch lost": (
            lambda widths, max_tokens: _sizes(widths, max_tokens)[:-1],
            "Add up your sizes: the last sentences are missing.",
        ),
        "old width kept": (
            _never_forgets,
            "Batches after a long row are too small. A new batch should forget the width of the batch before it.",
        ),
        "widest of all decides": (
            _widest_of_all,
            "No batch is too large now, but most are too small: you cut every batch as if it held the longest sentence of all. Only the longest row of the batch itself counts.",
        ),
    },
    alternatives={"slices": _by_slices},
    success="Rows times longest: that is what the memory sees.",
    solution=r"""
The function added up the widths, but every row of the matrix is as wide as the longest one. For widths 1 and 9 and a budget of 10 it
made one batch, with 2 · 9 = 18 places. It must keep the longest width of the batch, and multiply.

```python
def batch_sizes(widths, max_tokens):
    sizes, rows, longest = [], 0, 0
    for width in widths:
        longest = max(longest, width)
        if (rows + 1) * longest > max_tokens:
            sizes.append(rows)
            rows, longest = 0, width
        rows += 1
    return sizes + [rows]


check(...)
```
""",
)

EXERCISES = (WASTE, BUDGET)
