"""Chapter 15, exercise on pooling a sequence."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case, tensor_or_array


def _replaced(x, mask):
    return np.where(np.asarray(mask)[..., None], np.asarray(x), 0.0)


def _count(mask):
    return np.maximum(np.asarray(mask).sum(axis=1, keepdims=True), 1)


def _mean(x, mask):
    return _replaced(x, mask).sum(axis=1) / _count(mask)


def _mean_cases(rng):
    def inputs(lengths, width, d_model, *, fill=None):
        mask = np.arange(width) < np.array(lengths)[:, None]
        x = rng.normal(size=(len(lengths), width, d_model)) + 1
        return x if fill is None else np.where(mask[..., None], x, fill), mask

    holes = rng.permuted(rng.integers(7, size=(5, 7)) < 4, axis=1)
    holes[:, 3] = True
    return [
        case(tensor_or_array(x), tensor_or_array(mask), note=note)
        for (x, mask), note in (
            (inputs([2, 3], 3, 2), ""),
            (inputs([5, 1, 4], 5, 7), ""),
            ((rng.normal(size=(5, 7, 3)), holes), "gaps in the middle"),
            (inputs([3, 0], 4, 5), "a row without any real token"),
            (inputs([2, 4, 1], 5, 3, fill=math.nan), "NaN at the padding"),
        )
    ]


def _by_product(x, mask):
    return (np.asarray(x) * np.asarray(mask)[..., None]).sum(axis=1) / _count(mask)


def _as_attention(x, mask):
    weights = np.asarray(mask) / _count(mask)
    return np.einsum("bi,bim->bm", weights, _replaced(x, mask))


def _by_loop(x, mask):
    rows = zip(np.asarray(x), np.asarray(mask))
    return np.stack([row[kept].mean(axis=0) if kept.any() else np.zeros(row.shape[1]) for row, kept in rows])


MEAN = Exercise(
    id="15.6",
    title="The mean of what is there",
    kind="implement",
    minutes=8,
    difficulty=1,
    statement="""\
An encoder gives one vector for each token; a classifier wants one for each row. Write `masked_mean(x, mask)` for a tensor \
`x` (b, i, m) and a boolean `mask` (b, i) (in the web page, arrays), True at real tokens: the mean (b, m) of each row's real vectors. A row \
without any real token gives zeros, and whatever is in the padding, even NaN, must not come through.""",
    hints=(
        "By what number do you divide the sum of a row, and is it the same for all rows?",
        "`x.masked_fill(condition, 0.0)` *replaces* numbers; `x * 0` of a NaN stays NaN. The mask needs a third axis.",
        "Replace the padding by 0, add along axis 1, divide by `mask.sum(dim=1, keepdim=True)`, and let that count be at least 1.",
    ),
    stub="def masked_mean(x, mask):\n    return ...",
    reference=_mean,
    cases=_mean_cases,
    returns=("mean",),
    wrong={
        "padding averaged too": (
            lambda x, mask: np.asarray(x).mean(axis=1),
            "Your mean includes the padding. Give a row more padding and print its mean again.",
        ),
        "a sum": (
            lambda x, mask: _replaced(x, mask).sum(axis=1),
            "Your rows grow with their length. Which number turns a sum into a mean?",
        ),
        "divided by the padded length": (
            lambda x, mask: _replaced(x, mask).mean(axis=1),
            "The padding adds nothing to your sum, but it is counted when you divide.",
        ),
        "padding summed": (
            lambda x, mask: np.asarray(x).sum(axis=1) / _count(mask),
            "You divide by the right count, but the padded vectors are still in the sum.",
        ),
        "first token only": (lambda x, mask: x[:, 0], "You return the first vector of each row. What happens to the others?"),
        "the mask upside down": (lambda x, mask: _mean(x, ~mask), "You averaged only the padding. True means a real token."),
        "empty rows": (
            lambda x, mask: _replaced(x, mask).sum(axis=1) / np.asarray(mask).sum(axis=1, keepdims=True),
            "Everything is right except a row without any real token: 0 divided by 0.",
        ),
        "NaN times zero": (
            _by_product,
            "Everything is right until the padding holds a NaN: 0 · NaN is NaN. Replace it instead of multiplying.",
        ),
    },
    alternatives={"as attention with equal weights": _as_attention, "loop": _by_loop},
    success="This is attention with equal weights on the real tokens and nothing on the rest.",
    page="15a_one_body_other_tasks",
    solution=r"""
Replace the padding by zeros, add, and divide by the number of real tokens. `clamp` saves the empty row from 0/0.
Replacing is safer than multiplying by 0, because 0 · NaN is NaN.

```python
def masked_mean(x, mask):
    total = x.masked_fill(~mask[..., None], 0.0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


check(...)
```
""",
)

EXERCISES = (MEAN,)
