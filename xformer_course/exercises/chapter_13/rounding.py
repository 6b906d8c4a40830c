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
    id="13.2",
    title="The negative weights are cut",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
`quantize(x)` should write each row of `x` (n, k) as whole numbers from -127 to 127, int8, times a scale (n, 1), so that the \
number of largest size in a row becomes 127 or -127. A row of zeros gives zeros, and the scale 1. A model quantised with the \
version below translates badly: some of its weights have been cut to a fraction of their size. Mend it.""",
    hints=(
        "Quantise the row (1, -4) by hand with the code below. Which weight is cut?",
        "The scale must be large enough for the number that lies farthest from zero, on either side.",
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
        "more than one byte": (_rows_as_floats, "The right numbers, and each of them takes more than one byte. Look at their `dtype`."),
        "size without sign": (
            lambda x: _whole(x, x.max(axis=1, keepdims=True) / 127),
            "Right where the number of largest size is positive. What is the scale of the row (1, -4)?",
        ),
        "one scale for all": (
            lambda x: _whole(x, np.full((len(x), 1), np.abs(x).max() / 127)),
            "Rows with small weights lose nearly all their steps to the row with the largest one. How many scales were asked for?",
        ),
        "a scale for each column": (
            lambda x: _whole(x, np.abs(x).max(axis=0, keepdims=True) / 127),
            "Your scales belong to columns. Which axis disappears when each row has one?",
        ),
        "cut off, not rounded": (
            _rows_cut_off,
            "Your whole numbers are never farther from zero than the weight. Which of 0.4 and 0.6 should become 1?",
        ),
        "half the range": (
            lambda x: _whole(x, (x.max(axis=1, keepdims=True) - x.min(axis=1, keepdims=True)) / 254),
            "Your scale follows the distance between the extremes. Zero stays zero here, so which end decides?",
        ),
    },
    alternatives={"loop": _rows_by_loop},
    success="No weight moves by more than half a scale, and the scale is as small as the row allows.",
    solution=r"""
The scale followed the largest *number*, but the row $(1, -4)$ reaches farther below zero than above. Its $-4$ became $-508$ and was cut
to $-127$, that is, to $-1$.

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
