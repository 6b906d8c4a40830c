"""Chapter 13, an exercise on int8: a scale for each row."""

import numpy as np

from xformer_course.exercises import comparison
from xformer_course.exercises.exercise import Exercise, case


def _whole(x, scale):
    scale = np.where(scale == 0, 1.0, scale)
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8), scale


def _rows(x):
    return _whole(x, np.abs(x).max(axis=1, keepdims=True) / 127)


def _row_cases(rng):
    hand = np.array([[1.27, -0.5, 0.004], [-2.54, 0.5, 0.02]])
    outlier = rng.normal(size=(5, 7))
    outlier[3, 2] = -90.0
    empty = rng.normal(size=(4, 3))
    empty[1] = 0.0
    return [
        case(hand),
        case(rng.normal(size=(7, 5))),
        case(outlier, note="one weight far below the others"),
        case(-abs(rng.normal(size=(3, 11))), note="negative weights alone"),
        case(empty, note="a row of zeros"),
    ]


def _rows_cut_off(x):
    scale = np.abs(x).max(axis=1, keepdims=True) / 127
    scale = np.where(scale == 0, 1.0, scale)
    return np.trunc(x / scale + 1e-9 * np.sign(x)).astype(np.int8), scale


def _rows_by_loop(x):
    whole, scales = [], []
    for row in x:
        scale = max(abs(float(n)) for n in row) / 127 or 1.0
        whole.append([round(float(n) / scale) for n in row])
        scales.append([scale])
    return np.array(whole, dtype=np.int8), np.array(scales)


def _in_one_byte(expected, got):
    """As usual, and an array or a tensor of whole numbers must be of int8, as the statement says; a list has no dtype."""
    found = comparison.returned(expected, got, ROWS.returns, ROWS.tolerance)
    if found is None and not isinstance(got[0], (list, tuple)) and not isinstance(expected[0], (list, tuple)):
        (_, wanted), (_, dtype) = comparison.as_array(expected[0]), comparison.as_array(got[0])
        if (wanted == "int8") != (dtype == "int8"):
            return f"whole: expected dtype {wanted}, got {dtype}"
    return found


def _rows_as_floats(x):
    whole, scale = _rows(x)
    return whole.astype(float), scale


ROWS = Exercise(
    id="13.3",
    page="13a_five_more_ways",
    title="Weights lost in rounding",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
`quantize(x)` should write each row of the NumPy array `x` (n, k) as whole numbers (int8, from -127 to 127) times a scale (n, 1). The \
number of largest size in a row should become 127 or -127. A row of zeros should give zeros and the scale 1. However, a model quantised with the \
version below translates badly, because some of its weights have shrunk to a fraction of their size. Find the bug and fix it.""",
    hints=(
        "Quantise the row (1, -4) by hand with the code below. Which weight does np.clip change?",
        "The scale must be large enough for the number that is farthest from zero, on either side.",
        "Take the largest *size* of the row: np.abs(x).max(axis=1, keepdims=True) / 127.",
    ),
    stub="""\
def quantize(x):
    scale = x.max(axis=1, keepdims=True) / 127
    scale = np.where(scale == 0, 1.0, scale)
    whole = np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
    return whole, scale""",
    reference=_rows,
    cases=_row_cases,
    compare=_in_one_byte,
    returns=("whole", "scale"),
    wrong={
        "more than one byte": (
            _rows_as_floats,
            "Your numbers are right, but each of them takes more than one byte. Look at their `dtype`.",
        ),
        "size without sign": (
            lambda x: _whole(x, x.max(axis=1, keepdims=True) / 127),
            "You are right where the number of largest size is positive. What is the scale of the row (1, -4)?",
        ),
        "one scale for all": (
            lambda x: _whole(x, np.full((len(x), 1), np.abs(x).max() / 127)),
            "You use one scale for the whole matrix, so a row of small weights has hardly any steps left. Give each row its own.",
        ),
        "a scale for each column": (
            lambda x: _whole(x, np.abs(x).max(axis=0, keepdims=True) / 127),
            "Your scales belong to columns. Over which axis must you take the maximum, so that each row gets one?",
        ),
        "cut off, not rounded": (
            _rows_cut_off,
            "You cut off the digits after the point instead of rounding. Which of 0.4 and 0.6 should become 1?",
        ),
        "half the range": (
            lambda x: _whole(x, (x.max(axis=1, keepdims=True) - x.min(axis=1, keepdims=True)) / 254),
            "Your scale follows the distance from the least to the greatest number. Zero must stay zero: which of the two ends decides?",
        ),
    },
    alternatives={"loop": _rows_by_loop},
    success="No weight moves by more than half a scale, and the scale is as small as the row allows.",
    solution=r"""
The scale came from the largest *number*, but the row $(1, -4)$ reaches farther below zero than above it. Its $-4$ became $-508$, and
`clip` turned that into $-127$, which means $-1$. The scale must come from the largest *size*.

```python
def quantize(x):
    scale = np.abs(x).max(axis=1, keepdims=True) / 127
    scale = np.where(scale == 0, 1.0, scale)
    whole = np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
    return whole, scale


check(...)
```
""",
)
