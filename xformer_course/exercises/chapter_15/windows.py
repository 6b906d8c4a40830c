"""Chapter 15, an exercise on a sliding window that keeps the first places."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _window(length, window, sinks):
    i, j = np.arange(length)[:, None], np.arange(length)
    return (j <= i) & ((i - j < window) | (j < sinks))


def _variant(rule):
    def mask(length, window, sinks):
        return rule(np.arange(length)[:, None], np.arange(length), window, sinks)

    return mask


WINDOW = Exercise(
    id="15.3",
    title="A window with sinks",
    kind="implement",
    minutes=9,
    difficulty=2,
    statement="""\
Write `sink_mask(length, window, sinks)`: a boolean mask (length, length), rows are queries, True = may attend. Each \
position may read the last `window` positions, itself included, and also the first `sinks` positions of the row. It never \
reads a later position. NumPy or torch, as you like.""",
    hints=(
        "With `window` = 2 and `sinks` = 0, which two places does the last one read?",
        "Three conditions on the query's place i and the key's place j: not in the future, near enough, or among the first.",
        "`(j <= i) & ((i - j < window) | (j < sinks))` with i as a column and j as a row.",
    ),
    stub="def sink_mask(length, window, sinks):\n    return ...",
    reference=_window,
    cases=lambda rng: [
        case(4, 2, 1),
        case(7, 3, 2),
        case(5, 2, 0, note="no sinks"),
        case(3, 5, 1, note="a window longer than the row"),
        case(11, 4, int(rng.integers(1, 4))),
        case(13, 1, 2, note="a window of one"),
    ],
    returns=("mask",),
    wrong={
        "one place too many": (
            _variant(lambda i, j, w, s: (j <= i) & ((i - j <= w) | (j < s))),
            "Your window holds window + 1 places. A place itself is one of the `window` places.",
        ),
        "sinks in the future": (
            _variant(lambda i, j, w, s: (j <= i) & (i - j < w) | (j < s)),
            "Places before a sink can read it: with two sinks, place 0 reads place 1. The future must stay closed.",
        ),
        "no sinks": (
            _variant(lambda i, j, w, s: (j <= i) & (i - j < w)),
            "The window is right, but late places no longer read the first ones.",
        ),
        "both sides": (
            _variant(lambda i, j, w, s: (abs(i - j) < w) | (j < s)),
            "Your window also looks ahead. Print the mask for length 4 with rows as queries.",
        ),
        "both conditions at once": (
            _variant(lambda i, j, w, s: (j <= i) & (i - j < w) & (j < s)),
            "In your mask a key is open if it is near *and* among the first. One of the two is enough.",
        ),
        "sinks as queries": (
            _variant(lambda i, j, w, s: (j <= i) & ((i - j < w) | (i < s))),
            "You opened rows for the first *queries*. Sinks are keys that every place reads, and keys are columns.",
        ),
        "sinks taken from the window": (
            _variant(lambda i, j, w, s: (j <= i) & ((i - j < w - s) | (j < s))),
            "Your window shrinks with the number of sinks. The sinks come on top of the `window` places.",
        ),
        "rows and columns exchanged": (
            _variant(lambda i, j, w, s: (i <= j) & ((j - i < w) | (i < s))),
            "Your mask is transposed: its places look forward. Rows are queries.",
        ),
    },
    alternatives={
        "the other way round": _variant(lambda i, j, w, s: (j <= i) & ((j > i - w) | (j < s))),
        "loop": lambda length, window, sinks: [
            [j in range(max(0, i - window + 1), i + 1) or j < min(sinks, i + 1) for j in range(length)] for i in range(length)
        ],
    },
    success="However long the text grows, a place now reads at most window + sinks keys.",
    solution=r"""
There are three conditions on the places i of the query and j of the key: not in the future, and near enough *or* among the first. The
sinks are inside the brackets, so the future stays closed for them as well.

```python
def sink_mask(length, window, sinks):
    i, j = torch.arange(length)[:, None], torch.arange(length)
    return (j <= i) & ((i - j < window) | (j < sinks))


check(...)
```
""",
)

EXERCISES = (WINDOW,)
