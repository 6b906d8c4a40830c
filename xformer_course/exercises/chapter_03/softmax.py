"""Chapter 03, exercises on softmax."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax

EQUAL_SCORES = Exercise(
    id="3.1",
    title="Equal scores",
    kind="predict",
    minutes=2,
    difficulty=1,
    statement="""\
Four keys have the same score, 2.5. What weights does softmax give them?""",
    hints=(
        "What must the four weights add up to?",
        "Softmax looks only at differences between scores. Here there are none.",
        "Nothing tells the four keys apart, so each receives the same share of a total of 1.",
    ),
    stub="weights = ...",
    reference=(0.25, 0.25, 0.25, 0.25),
    wrong={
        "scores kept": ((2.5, 2.5, 2.5, 2.5), "These are the scores themselves. Weights add up to 1: what do yours add up to?"),
        "not normalised": ((1.0, 1.0, 1.0, 1.0), "They are equal, as they should be. But what do your four weights add up to?"),
        "first one wins": (
            (1.0, 0.0, 0.0, 0.0),
            "That is a hard choice of one key. Which of the four equal scores would deserve to win?",
            lambda answer: sorted(float(w) for w in answer) == [0.0, 0.0, 0.0, 1.0],
        ),
        "exponentials only": ((np.exp(2.5),) * 4, "You took the exponential and stopped there. What does softmax divide it by?"),
        "equal, but no shares": (
            (0.625, 0.625, 0.625, 0.625),
            "They are equal, as they should be. Now add them up. Which two steps does softmax take, and in which order?",
            lambda answer: len(answer) == 4 and np.ptp([float(w) for w in answer]) < 1e-9,
        ),
    },
    alternatives={"array": np.full(4, 0.25), "fractions": [1 / 4] * 4},
    tolerance=1e-3,
    success="With nothing to tell the keys apart, attention averages the values.",
    solution=r"""
Softmax sees only differences between scores, and here all differences are 0. The four keys share a total of 1 evenly, whatever their
score is.

```python
weights = [1 / 4, 1 / 4, 1 / 4, 1 / 4]
check(...)
```
""",
)


def _softmax_cases(rng):
    rows = rng.permutation(5)
    wide = rng.normal(size=(4, 6))
    wide[:, rng.permutation(6)[:2]] += [1500.0, -1500.0]
    return [
        case(np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 4.0]])),
        case(rng.normal(size=7)),
        case(rng.normal(size=(3, 5)), axis=0, note="axis=0"),
        case(rng.normal(size=(2, 3, 5)), axis=1, note="axis=1 of three"),
        case(rng.normal(size=(3, 5)) * 3 + 1000.0, note="scores near 1000"),
        case(rng.normal(size=(3, 5)) * 3 - 1000.0, note="scores near -1000"),
        case((rows[:, None] - 2.0) * 700 + rng.normal(size=(5, 2)), note="rows at very different levels"),
        case(wide, note="scores of one row far apart"),
        case(np.array([0.0, 1500.0, 1499.0, 0.0]), note="the largest score in the middle"),
    ]


def _naive(scores, axis=-1):
    return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)


def _logarithms(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _total_of_shifted(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    return np.exp(shifted) / shifted.sum(axis=axis, keepdims=True)


def _powers(scores, axis):
    return np.exp(scores - scores.max(axis=axis, keepdims=True))


def _shares(powers=_powers, total=lambda powers, axis: powers.sum(axis=axis, keepdims=True)):
    """The softmax with other exponentials, or another total."""

    def softmax(scores, axis=-1):
        raised = powers(scores, axis)
        return raised / total(raised, axis)

    return softmax


def _in_place(scores, axis=-1):
    scores -= scores.max(axis=axis, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=axis, keepdims=True)
    return scores


def _by_log_sum(scores, axis=-1):
    top = np.max(scores, axis=axis, keepdims=True)
    log_total = top + np.log(np.sum(np.exp(scores - top), axis=axis, keepdims=True))
    return np.exp(scores - log_total)


def _by_loops(scores, axis=-1):
    moved = np.moveaxis(np.array(scores, dtype=float), axis, -1)
    for place in np.ndindex(moved.shape[:-1]):
        row = [float(np.exp(s - max(moved[place]))) for s in moved[place]]
        moved[place] = [r / sum(row) for r in row]
    return np.moveaxis(moved, -1, axis)


STABLE_SOFTMAX = Exercise(
    id="3.2",
    title="A softmax that does not overflow",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `my_softmax(scores, axis=-1)` in NumPy. The weights have the shape of `scores` and add up to 1 along `axis`. Scores near 1000 or \
near −1000 must give finite weights, and so must a matrix whose rows lie far apart. Leave `scores` as it was.""",
    hints=(
        "What does `np.exp(1000.0)` give, and what happens when you divide two such numbers?",
        "Softmax does not change when the same number is subtracted from every score along the axis. Choose that number well.",
        "Subtract the maximum along the axis, with `keepdims=True` so that it lines up; then the largest exponential is 1.",
    ),
    stub="def my_softmax(scores, axis=-1):\n    return ...",
    reference=softmax,
    cases=_softmax_cases,
    returns=("weights",),
    pure=True,
    wrong={
        "exponentials overflow": (
            _naive,
            "Right for small scores, but not a number for large ones. Print `np.exp(1000.0)`. What could you subtract from the scores first without changing the weights?",
        ),
        "axis ignored": (
            lambda scores, axis=-1: softmax(scores, axis=-1),
            "Your weights add up to 1 along the last axis even when another `axis` is asked for. Print `weights.sum(axis=0)` for `axis=0`.",
        ),
        "one total for everything": (
            lambda scores, axis=-1: np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum(),
            "All your weights together add up to 1. They should add up to 1 along `axis`. Over what does your sum run?",
        ),
        "one maximum for all rows": (
            _shares(lambda scores, axis: np.exp(scores - scores.max())),
            "You subtract one maximum from everything. A row that lies far below it has exponentials that round to 0, and then you divide 0 by 0. Which maximum should you subtract from a row?",
        ),
        "no exponential": (
            lambda scores, axis=-1: scores / scores.sum(axis=axis, keepdims=True),
            "You divided the scores by their sum. What happens to a negative score, and which step of softmax prevents that?",
        ),
        "clipped scores": (
            lambda scores, axis=-1: softmax(np.clip(scores, -50.0, 50.0), axis),
            "Clipping keeps the exponentials finite but makes different large scores equal. Find a change to the scores that keeps their differences.",
        ),
        "numerator and denominator differ": (
            lambda scores, axis=-1: np.exp(scores) / _powers(scores, axis).sum(axis=axis, keepdims=True),
            "Your weights do not add up to 1. Are the exponentials above and below the fraction bar the same numbers?",
        ),
        "mean subtracted": (
            lambda scores, axis=-1: _naive(scores - scores.mean(axis=axis, keepdims=True), axis),
            "You subtract the mean, yet a row whose scores lie far apart still overflows. After that subtraction, how large can an exponent be?",
        ),
        "minimum subtracted": (
            lambda scores, axis=-1: _naive(scores - scores.min(axis=axis, keepdims=True), axis),
            "With the minimum subtracted no exponent is below 0, but one can still be in the thousands. Which number keeps them all from being above 0?",
        ),
        "largest size subtracted": (
            lambda scores, axis=-1: _naive(scores - np.abs(scores).max(axis=axis, keepdims=True), axis),
            "Scores near -1000 are lowered further: with `np.abs`, the number you subtract is not one of the scores.",
        ),
        "a little added below": (
            _shares(total=lambda powers, axis: powers.sum(axis=axis, keepdims=True) + 1e-6),
            "The weights add up to a little less than 1. Once the largest exponential is 1, can the sum below be 0 at all?",
        ),
        "logarithms of weights": (
            _logarithms,
            "Your numbers are 0 or less, so they are not weights. They are the logarithms of weights: which step is left?",
        ),
        "axis lost by the sum": (
            _shares(lambda scores, axis: np.exp(scores - scores.max(axis=axis)), lambda powers, axis: powers.sum(axis=axis)),
            "Your maximum and your sum lose an axis, so they no longer line up with the scores. Print their shapes, and try `keepdims=True`.",
        ),
        "input changed in place": (
            _in_place,
            "The weights are right, but the caller's `scores` are changed afterwards. Look for `-=`, `/=` or `out=`.",
        ),
        "the sum has no axis": (
            _shares(total=lambda powers, axis: powers.sum()),
            "The maximum is taken along `axis`, but all your weights together add up to 1. Look at what your sum runs over.",
        ),
        "sum along the last axis": (
            _shares(total=lambda powers, axis: powers.sum(axis=-1, keepdims=True)),
            "Maximum and sum run along different axes. Print `weights.sum(axis=0)` for `axis=0`.",
        ),
        "sum of scores below": (_total_of_shifted, "Above the fraction bar you have exponentials. What do you add up below it?"),
    },
    alternatives={
        "log-sum-exp": _by_log_sum,
        "loops": _by_loops,
        "float32": lambda scores, axis=-1: softmax((scores - scores.max(axis=axis, keepdims=True)).astype(np.float32), axis),
    },
    success="Large scores, any axis, and the input is untouched.",
    solution=r"""
Subtracting one number from all scores along the axis leaves the weights as they are: it multiplies every exponential by the same
factor, which cancels between numerator and denominator. Subtracting the *maximum along the axis* makes the largest exponential 1,
so nothing overflows and no sum is 0. `keepdims=True` keeps the maximum lined up with its own row, whichever axis that is.

```python
def my_softmax(scores, axis=-1):
    raw = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return raw / raw.sum(axis=axis, keepdims=True)


check(...)
```
""",
)

SHIFT_OR_STRETCH = Exercise(
    id="3.3",
    title="Shift or stretch",
    kind="predict",
    minutes=3,
    difficulty=1,
    statement="""\
Softmax turns the scores 1, 2 and 4 into weights. What happens to the largest weight if you add 5 to each score? And if you multiply each \
score by 5? Say `"grows"`, `"shrinks"` or `"same"`.""",
    hints=(
        "Which of the two changes alters the differences between the scores?",
        "The ratio of two weights is exp(difference of their scores).",
        "Adding 5 cancels in every ratio. Multiplying by 5 makes every difference five times as large.",
    ),
    stub='answer = {"add 5": ..., "times 5": ...}',
    reference={"add 5": "same", "times 5": "grows"},
    wrong={
        "a shift counts": (
            {"add 5": "grows", "times 5": "grows"},
            "Take two scores, 1 and 2, and write the ratio of their weights before and after adding 5.",
        ),
        "softmax ignores scale": (
            {"add 5": "same", "times 5": "same"},
            "Softmax does ignore a shift. But compute exp(4 − 2) and exp(20 − 10): is the ratio of two weights the same?",
        ),
        "shift and scale swapped": (
            {"add 5": "grows", "times 5": "same"},
            "Dividing by a sum cancels a common factor of the scores, but softmax takes exp first. What does exp make of a sum?",
        ),
        "softer when larger": (
            {"add 5": "same", "times 5": "shrinks"},
            "Larger differences, flatter weights? Try scores 0 and 1, then 0 and 100.",
        ),
        "shares of the sum": (
            {"add 5": "shrinks", "times 5": "same"},
            "That would be right for score / sum. Softmax takes exponentials first. What does exp make of 1 + 5, and of 5 · 4?",
        ),
        "a shift matters": (
            {"add 5": "shrinks", "times 5": "grows"},
            "You let the shift change the weights. Divide the weight of score 4 by that of score 2, before and after adding 5.",
            lambda answer: str(answer["add 5"]).strip().casefold() in ("grows", "shrinks"),
        ),
    },
    success="A shift cancels; a stretch sharpens. That is why the scale of the scores matters.",
    solution=r"""
The ratio of two weights is the exponential of the difference of their scores. Adding 5 to every score leaves the differences alone;
multiplying by 5 makes them five times as large, and the largest weight grows.

```python
scores = np.array([1.0, 2.0, 4.0])
for name, changed in (("plain", scores), ("add 5", scores + 5), ("times 5", scores * 5)):
    print(f"{name:8}", np.round(my_softmax(changed), 4))
```

```python
answer = {"add 5": "same", "times 5": "grows"}
check(...)
```
""",
)

EXERCISES = (EQUAL_SCORES, STABLE_SOFTMAX, SHIFT_OR_STRETCH)
