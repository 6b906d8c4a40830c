"""Chapter 05, the exercise on the matrix of a permutation."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _both(order):
    return np.eye(len(order))[np.array(order)], np.argsort(order)


def _by_loop(order):
    p, back = [[0] * len(order) for _ in order], [0] * len(order)
    for place, row in enumerate(order):
        p[place][row], back[row] = 1, place
    return p, back


def _by_comparison(order):
    p = np.asarray(order)[:, None] == np.arange(len(order))[None, :]
    return p.astype(np.float32), p.T @ np.arange(len(order))


def _order_cases(rng):
    turned = [int(i) for i in (np.arange(5) + int(rng.integers(1, 5))) % 5]
    return [
        case((1, 2, 0)),
        case((3, 0, 1, 2)),
        case(tuple(turned)),
        case(tuple(int(i) for i in np.roll(rng.permutation(6), 1))),
        case((0, 1), note="an order that moves nothing"),
        case((1, 0), note="two rows swapped"),
        case(tuple(int(i) for i in rng.permutation(7))),
    ]


MATRIX_AND_WAY_BACK = Exercise(
    id="5.1",
    title="There and back",
    kind="implement",
    minutes=8,
    difficulty=1,
    statement="""\
An `order` is a tuple of n row numbers, counted from 0: `x[list(order)]` has row `order[0]` of `x` at the top, then \
row `order[1]`, and so on. Write `there_and_back(order)`. It returns the matrix `p` (n, n) for which `p @ x` equals \
`x[list(order)]` for every x, and the order `back` that puts the rows back where they were: \
`x[list(order)][list(back)]` equals `x`.""",
    hints=(
        "For the order (1, 2, 0): which row of `x` comes first in `p @ x`, and so where is the single 1 in the first row of `p`?",
        "`np.eye(n)` leaves all rows where they are. What does indexing its rows do? For `back`: at which place did row 0 end up?",
        "Row i of `p` has its 1 in column `order[i]`; and `back[order[i]]` is i, which is what `np.argsort(order)` gives.",
    ),
    stub="def there_and_back(order):\n    return ..., ...",
    reference=_both,
    cases=_order_cases,
    returns=("p", "back"),
    wrong={
        "matrix of the way back": (
            lambda order: (np.eye(len(order))[np.array(order)].T, np.argsort(order)),
            "Your `p` undoes the order: with rows and columns swapped, it is the matrix of the way back. Multiply the rows 10, 20, 30 by it for the order (1, 2, 0) and compare with the indexing.",
        ),
        "the same order again": (
            lambda order: (np.eye(len(order))[np.array(order)], np.array(order)),
            "Applying an order twice brings the rows home only if it just swaps pairs. Apply (1, 2, 0) twice to three rows, on paper.",
        ),
        "order read backwards": (
            lambda order: (np.eye(len(order))[np.array(order)], np.array(order)[::-1]),
            "Your `back` is the order read from its end. Follow row 0: to which place did it go, and from which place must `back` fetch it?",
        ),
        "counted from the end": (
            lambda order: (np.eye(len(order))[np.array(order)], len(order) - 1 - np.array(order)),
            "Your `back` counts each entry from the other end. Follow row 0: from which place must `back` fetch it?",
        ),
        "order on the diagonal": (
            lambda order: (np.diag(np.array(order, dtype=float)), np.argsort(order)),
            "Your matrix multiplies rows by numbers and moves none of them. To fetch a row, which number belongs in its column, and which in all the others?",
        ),
        "counted from 1": (
            lambda order: (np.eye(len(order))[np.array(order) - 1], np.argsort(order)),
            "Your rows are off by one: the order counts rows from 0, as Python does.",
        ),
        "rows and columns both moved": (
            lambda order: (np.eye(len(order))[np.array(order)][:, np.array(order)], np.argsort(order)),
            "Your `p` moves nothing: you reordered rows *and* columns of the identity, and the second undid the first.",
        ),
        "row numbers in place of ones": (
            lambda order: (np.eye(len(order))[np.array(order)] * np.array(order)[:, None], np.argsort(order)),
            "The entries are in the right places, but they are row numbers. What does an entry 2 do to the row that it fetches?",
        ),
    },
    alternatives={"loop and lists": _by_loop, "comparison": _by_comparison},
    success="One 1 in each row and column; its transpose is the matrix of the way back.",
    solution=r"""
Row i of the matrix has its 1 in the column of the row that it fetches. Such rows are rows of the identity. The way back must know to
which place each row went, and `argsort` finds that.

```python
def there_and_back(order):
    p = np.eye(len(order))[list(order)]
    back = np.argsort(order)
    return p, back


check(...)
```

The two belong together: the matrix of `back` is the transpose of `p`.

```python
p, back = there_and_back((1, 2, 0))
assert (np.eye(3)[back] == p.T).all() and (p.T @ p == np.eye(3)).all()
```
""",
)

EXERCISES = (MATRIX_AND_WAY_BACK,)
