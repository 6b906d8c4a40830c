"""Chapter 13, exercises on attention in pieces: a band of scores, and the merging of two partial softmaxes."""

import numpy as np

from xformer_course.exercises import comparison
from xformer_course.exercises.exercise import Exercise, case
from xformer_course.exercises.memory import peak_bytes

NARROW, SQUARE = "no L x L array", "an L x L array"
LONG = 701  # positions from which memory tells an L × L array, even of booleans, from a band


def _band(q, k, window):
    length, d = q.shape
    scores = np.full((length, 2 * window + 1), -np.inf)
    for i in range(length):
        for c in range(2 * window + 1):
            j = i + c - window
            if 0 <= j < length:
                scores[i, c] = q[i] @ k[j] / np.sqrt(d)
    return scores


def _with_memory(function):
    """The scores, and for a long sequence whether an L × L array was made; asked only where the scores are right."""

    def measured(q, k, window):
        if len(q) < LONG:
            return function(q, k, window), NARROW
        scores, peak = peak_bytes(function, q, k, window)
        if peak > len(q) ** 2 * 0.9:  # perhaps something was imported meanwhile: look again
            scores, peak = peak_bytes(function, q, k, window)
        is_right = peak > len(q) ** 2 * 0.9 and comparison.difference(_band(q, k, window), scores) is None
        return scores, SQUARE if is_right else NARROW

    return measured


def _band_difference(expected, got):
    found = comparison.difference(expected[0], got[0], name="scores")
    if found is None and expected[1] != got[1]:
        return "the scores are right, but an L × L array was made on the way"
    return found


def _band_cases(rng):
    def inputs(length, d):
        return rng.normal(size=(length, d)), rng.normal(size=(length, d))

    hand = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])
    keys = np.array([[2.0, 4.0, 6.0, 0.0], [8.0, 10.0, 12.0, 0.0], [14.0, 16.0, 18.0, 0.0]])
    return [
        case(hand, keys, 1),
        case(*inputs(7, 3), 2),
        case(*inputs(5, 2), 0, note="a window of 0: each position alone"),
        case(*inputs(3, 5), 4, note="a window wider than the sequence"),
        case(*inputs(LONG, 2), 1, note=f"{LONG} positions"),
    ]


def _band_wraps(q, k, window):
    length, d = q.shape
    i, c = np.arange(length)[:, None], np.arange(2 * window + 1)
    return np.einsum("id,icd->ic", q, k[(i + c - window) % length]) / np.sqrt(d)


def _band_zeros(q, k, window):
    scores = _band(q, k, window)
    return np.where(np.isinf(scores), 0.0, scores)


def _band_past(q, k, window):
    length, d = q.shape
    scores = np.full((length, 2 * window + 1), -np.inf)
    for i in range(length):
        for c in range(2 * window + 1):
            j = i + c - 2 * window
            if 0 <= j < length:
                scores[i, c] = q[i] @ k[j] / np.sqrt(d)
    return scores


def _band_left_aligned(q, k, window):
    scores = _band(q, k, window)
    return np.array([[*row[~np.isinf(row)], *row[np.isinf(row)]] for row in scores])


def _band_from_padded(q, k, window):
    length, d = q.shape
    padded = np.pad(k, ((window, window), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1, axis=0)
    scores = np.einsum("id,idc->ic", q, views) / np.sqrt(d)
    j = np.arange(length)[:, None] + np.arange(-window, window + 1)
    return np.where((j >= 0) & (j < length), scores, -np.inf)


def _band_of_whole(q, k, window):
    length = len(q)
    whole = q @ k.T / np.sqrt(q.shape[1])
    scores = np.full((length, 2 * window + 1), -np.inf)
    for c in range(2 * window + 1):
        i = np.arange(max(0, window - c), min(length, length + window - c))
        scores[i, c] = whole[i, i + c - window]
    return scores


BAND = Exercise(
    id="13.8",
    page="13c_what_the_clock_says",
    title="A band of scores",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
The queries `q` and keys `k` (L, d), both NumPy arrays, belong to one sequence. Write `band_scores(q, k, window)`: the scores (L, 2·window + 1) of each \
query with only its neighbours, divided by √d. Column c of row i belongs to the key j = i + c - window. If there is no \
such key, write minus infinity. Do not make an L × L matrix on the way.""",
    hints=(
        "Take L = 3 and window = 1. Which three keys belong to the columns of row 0? Which of them exist?",
        "Pad the keys with `window` rows at both ends: then row i may read the padded rows i to i + 2·window, for every i.",
        "Take those rows by an index i + c (or sliding_window_view), einsum them with q over d, and put -inf where j is outside.",
    ),
    stub="def band_scores(q, k, window):\n    return ...",
    reference=_band,
    cases=_band_cases,
    probe=_with_memory,
    compare=_band_difference,
    returns=("scores", "memory"),
    wrong={
        "a whole matrix first": (
            _band_of_whole,
            "Your scores are right, but you cut them out of an array with L × L entries. How large would that array be for a text of 100,000 tokens?",
        ),
        "wraps around": (
            _band_wraps,
            "Your first query reads keys from the end of the sequence. What does a negative index, or np.roll, give there?",
        ),
        "zeros outside": (_band_zeros, "You write 0 where there is no key. A score of 0 still gets a weight: which score gets none?"),
        "not divided": (
            lambda q, k, window: _band(q, k, window) * np.sqrt(q.shape[1]),
            "All your scores are too large by the same factor. What does chapter 3 divide by?",
        ),
        "columns mirrored": (
            lambda q, k, window: _band(q, k, window)[:, ::-1],
            "Your numbers are right, but in the opposite order. Does column 0 belong to an earlier key or to a later one?",
        ),
        "the past only": (_band_past, "Your columns end at the query itself. How many of the 2·window + 1 keys come after it?"),
        "pushed to the left": (
            _band_left_aligned,
            "In the first rows you push the scores to the left. Which column belongs to the query itself, in every row?",
        ),
    },
    alternatives={"windows of the padded keys": _band_from_padded},
    success="L · (2·window + 1) numbers: twice the text now costs twice the memory.",
    solution=r"""
Row $i$ of the padded keys is key $i - w$. So the $2w + 1$ keys of query $i$ are the padded rows $i$ to $i + 2w$. Where $j$ is below 0 or
beyond the end there is no key, and the score becomes minus infinity.

```python
def band_scores(q, k, window):
    length, d = q.shape
    padded = np.pad(k, ((window, window), (0, 0)))
    i, c = np.arange(length)[:, None], np.arange(2 * window + 1)
    scores = np.einsum("id,icd->ic", q, padded[i + c]) / np.sqrt(d)
    j = i + c - window
    return np.where((j >= 0) & (j < length), scores, -np.inf)


check(...)
```
""",
)


def _merge(first, second):
    peak = np.maximum(first[0], second[0])
    safe = np.where(np.isneginf(peak), 0.0, peak)
    total, mixed = 0.0, 0.0
    for part_peak, part_total, part_mixed in (first, second):
        factor = np.exp(part_peak - safe)
        total = total + factor * part_total
        mixed = mixed + factor[:, None] * part_mixed
    return peak, total, mixed


def _part(scores, v):
    if not scores.shape[1]:
        i = len(scores)
        return np.full(i, -np.inf), np.zeros(i), np.zeros((i, v.shape[1]))
    peak = scores.max(axis=1)
    e = np.exp(scores - peak[:, None])
    return peak, e.sum(axis=1), e @ v


def _merge_cases(rng):
    def parts(i, one, two, e, spread=1.0, shift=0.0):
        scores, v = shift + spread * rng.normal(size=(i, one + two)), rng.normal(size=(one + two, e))
        return _part(scores[:, :one], v[:one]), _part(scores[:, one:], v[one:])

    log2 = np.log(2.0)
    hand = (np.array([log2]), np.array([1.5]), np.array([[4.0, 0.0]])), (np.array([0.0]), np.array([1.0]), np.array([[2.0, 6.0]]))
    return [
        case(*hand),
        case(*hand[::-1], note="the larger peak in the second part"),
        case(*parts(5, 3, 7, 2)),
        case(*parts(3, 5, 2, 4, 30.0, 900.0), note="scores in the hundreds"),
        case(*parts(4, 5, 0, 3), note="a second part without keys: peak -inf, total 0"),
        case(*parts(2, 0, 0, 3), note="two parts without keys"),
    ]


def _merge_totals_only(first, second):
    peak, total, _ = _merge(first, second)
    return peak, total, first[2] + second[2]


def _merge_first_stays(first, second):
    peak = np.maximum(first[0], second[0])
    safe = np.where(np.isneginf(peak), 0.0, peak)
    factor = np.exp(second[0] - safe)
    return peak, first[1] + factor * second[1], first[2] + factor[:, None] * second[2]


def _merge_whole_exponentials(first, second):
    with np.errstate(all="ignore"):
        total = np.exp(first[0]) * first[1] + np.exp(second[0]) * second[1]
        mixed = np.exp(first[0])[:, None] * first[2] + np.exp(second[0])[:, None] * second[2]
        peak = np.maximum(first[0], second[0])
        return peak, total * np.exp(-peak), mixed * np.exp(-peak)[:, None]


def _merge_means(first, second):
    peak, total, mixed = _merge(first, second)
    with np.errstate(all="ignore"):
        return peak, total, mixed / total[:, None]


def _merge_empty_is_nan(first, second):
    peak = np.maximum(first[0], second[0])
    with np.errstate(all="ignore"):
        a, b = np.exp(first[0] - peak), np.exp(second[0] - peak)
    return peak, a * first[1] + b * second[1], a[:, None] * first[2] + b[:, None] * second[2]


def _merge_by_rows(first, second):
    rows = []
    for p, t, m, p2, t2, m2 in zip(*first, *second, strict=True):
        peak = max(p, p2)
        a, b = (0.0 if one == -np.inf else np.exp(one - peak) for one in (p, p2))
        rows.append((peak, a * t + b * t2, a * m + b * m2))
    peak, total, mixed = zip(*rows, strict=True)
    return np.array(peak), np.array(total), np.array(mixed)


MERGE = Exercise(
    id="13.9",
    page="13c_what_the_clock_says",
    title="Two halves of a softmax",
    kind="implement",
    minutes=15,
    difficulty=3,
    statement="""\
The same i queries have read two sets of keys, one set at a time. For each set you have three NumPy arrays: `peak` (i,), the \
largest score of each query; `total` (i,), the sum of exp(score - peak); and `mixed` (i, e), the sum of exp(score - peak) · \
value. Write `merge(first, second)`: it returns the same three arrays for both sets together. Scores may be in the hundreds. A set without keys \
has a peak of minus infinity, and zeros in the other two. Both sets may be empty.""",
    hints=(
        "What is the peak of both sets together? By what factor is an exponential of the first set then too large?",
        "exp(score - new peak) = exp(score - old peak) · exp(old peak - new peak), and the last factor is never above 1.",
        "Multiply `total` and `mixed` of each set by exp(its peak - new peak) and add. If the new peak is -inf, subtract 0.",
    ),
    stub="def merge(first, second):\n    peak, total, mixed = first\n    return ...",
    reference=_merge,
    cases=_merge_cases,
    returns=("peak", "total", "mixed"),
    wrong={
        "added as they are": (
            lambda first, second: (np.maximum(first[0], second[0]), first[1] + second[1], first[2] + second[2]),
            "You add numbers that were measured from two different peaks. Bring both to the same peak first.",
        ),
        "totals alone": (_merge_totals_only, "Your `total` is right. `mixed` holds the same exponentials: they need the same factor."),
        "the first stays": (
            _merge_first_stays,
            "You are right as long as the first peak is the larger one. What if the second set brings a higher score?",
        ),
        "empty sets": (_merge_empty_is_nan, "You are right as long as there are keys. What is -inf - (-inf)?"),
        "whole exponentials": (
            _merge_whole_exponentials,
            "You are right for small scores. Print np.exp(800.0), and take the difference of two peaks before the exponential.",
        ),
        "divided too early": (
            _merge_means,
            "You have already divided `mixed` by `total`. How would the next merge know how much each mean weighs?",
        ),
    },
    alternatives={"row by row": _merge_by_rows},
    success="It does not matter where the keys are cut, nor in which order the pieces come.",
    solution=r"""
Measure both sets from the new peak. What was measured from an old peak shrinks by the factor $e^{\text{old} - \text{new}}$, in both `total`
and `mixed`. If both peaks are $-\infty$, there is nothing to shrink, so we subtract 0.

```python
def merge(first, second):
    peak = np.maximum(first[0], second[0])
    base = np.where(np.isneginf(peak), 0.0, peak)
    shrink = [np.exp(part[0] - base) for part in (first, second)]
    total = sum(s * part[1] for s, part in zip(shrink, (first, second)))
    mixed = sum(s[:, None] * part[2] for s, part in zip(shrink, (first, second)))
    return peak, total, mixed


check(...)
```

You may cut the keys anywhere and merge in any order. So several processors can each read a part of them.

```python
rng = np.random.default_rng(0)
scores, v = rng.normal(size=(3, 11)), rng.normal(size=(11, 2))


def part(keys):
    peak = scores[:, keys].max(axis=1)
    e = np.exp(scores[:, keys] - peak[:, None])
    return peak, e.sum(axis=1), e @ v[keys]


one, two, three = part(slice(0, 2)), part(slice(2, 7)), part(slice(7, 11))
for result in (merge(merge(one, two), three), merge(three, merge(two, one))):
    for ours, whole in zip(result, part(slice(0, 11))):
        assert np.allclose(ours, whole)
print("two groupings and the whole: equal")
```
""",
)
