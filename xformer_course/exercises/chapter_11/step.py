"""Chapter 11, exercises on one step: Adam's first step, the rate, clipping."""

import numpy as np

from xformer_course.exercises.comparison import as_floats
from xformer_course.exercises.exercise import Complaint, Exercise, case


def _same_size_but_wrong(answer):
    """Both steps down and of one size, which is neither the rate nor 1: a mean was left as it is."""
    first, second = float(answer["gradient 100"]), float(answer["gradient -0.001"])
    return first < 0 < second and abs(first + second) < 0.05 * second and abs(second - 0.01) > 5e-4 and second < 0.5


ADAM_FIRST = Exercise(
    id="11.4",
    title="The first step of Adam",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
Two weights start at 0. Adam takes its first step, with a rate of 0.01. One weight has a gradient of 100, the other a gradient of −0.001. Where are the two weights after this step, to three decimals?""",
    hints=(
        "After one step, what are the two corrected means? Write them as formulas in g.",
        "The corrected mean of g is g, and the corrected mean of g² is g². What is g divided by the root of g²?",
        "g / |g| is the sign of g. Only the rate says how far the step goes.",
    ),
    stub='answer = {"gradient 100": ..., "gradient -0.001": ...}',
    reference={"gradient 100": -0.01, "gradient -0.001": 0.01},
    tolerance=1e-4,
    wrong={
        "plain gradient descent": (
            {"gradient 100": -1.0, "gradient -0.001": 0.00001},
            "That is rate times gradient. Adam divides the gradient by its own running size.",
        ),
        "up instead of down": (
            {"gradient 100": 0.01, "gradient -0.001": -0.01},
            "The sizes are right, the directions are not. A step goes against the gradient.",
        ),
        "sign forgotten": (
            {"gradient 100": -0.01, "gradient -0.001": -0.01},
            "The sizes are right. Does the second gradient push in the same direction as the first?",
        ),
        "no correction": (
            {"gradient 100": -0.01 * 0.1 / 0.02**0.5, "gradient -0.001": 0.01 * 0.1 / 0.02**0.5},
            "You used the means as they are. They started at 0, so after one step they are too small. Adam divides by 1 − βⁿ to correct that.",
            _same_size_but_wrong,
        ),
        "rate forgotten": (
            {"gradient 100": -1.0, "gradient -0.001": 1.0},
            "The directions are right. The step is as long as the rate, 0.01.",
        ),
        "gradient added": (
            {"gradient 100": 1.0, "gradient -0.001": -0.00001},
            "That is rate times gradient, and uphill. Adam divides by the gradient's own running size, and its step goes against the gradient.",
            lambda answer: abs(float(answer["gradient 100"]) - 1) < 1e-3 and abs(float(answer["gradient -0.001"])) < 1e-3,
        ),
        "square not rooted": (
            {"gradient 100": -0.0001, "gradient -0.001": 10.0},
            "You divided by the mean of the squares and forgot the root. With your rule, a gradient that is ten times larger makes the step ten times smaller.",
            lambda answer: abs(float(answer["gradient 100"])) < 2e-4 and abs(float(answer["gradient -0.001"])) > 1,
        ),
    },
    alternatives={"with epsilon": {"gradient 100": -0.0099999, "gradient -0.001": 0.00999999}},
    success="The first step has the size of the rate, whatever the gradient's size.",
    solution=r"""
After one step the running means are (1 − β₁) g and (1 − β₂) g². The correction divides by exactly these factors, which leaves g and g². So
the step is rate · g / √(g²): the rate, with the sign of g. The size of the gradient has cancelled, and the weight goes against its sign.

```python
def first_step(g, rate=0.01, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    mean, square = (1 - beta_1) * g, (1 - beta_2) * g**2
    return -rate * mean / (1 - beta_1) / (math.sqrt(square / (1 - beta_2)) + epsilon)


answer = {f"gradient {g}": round(first_step(g), 6) for g in (100, -0.001)}
print(answer)
check(...)
```
""",
)

PEAK, WARMUP, TOTAL = 0.5, 4, 12


def _schedule(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (total - step) / (total - warmup)


def _schedule_cases(rng):
    steps = [1, 3, 4, 5, 8, 11, 12]
    peak, warmup = float(rng.uniform(0.1, 0.9)), int(rng.integers(5, 9))
    total = warmup * 3 + 2
    return [case(step, PEAK, WARMUP, TOTAL, note=f"step {step} of 12, 4 of them warm-up") for step in steps] + [
        case(step, peak, warmup, total) for step in (1, warmup - 1, warmup, warmup + 1, 2 * warmup, total - 1, total)
    ]


def _falls_to_the_wrong_end(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (1 - (step - warmup) / total)


def _falling(fall):
    """The rise as it should be, and another fall."""
    return lambda step, peak, warmup, total: peak * (step / warmup if step <= warmup else fall(step, warmup, total))


FIND_THE_JUMP = Exercise(
    id="11.5",
    title="A schedule with a jump",
    kind="find the bug",
    minutes=8,
    difficulty=1,
    statement="""\
The rate should rise in a straight line to `peak` at step `warmup`, and then fall in a straight line to 0 at step `total`. Steps count from 1. \
Print the function below for `peak=0.5, warmup=4, total=12`, look at steps 4 and 5, and fix it.""",
    hints=(
        "Take a straight line from `peak` at step 4 to 0 at step 12. What is its value at step 8?",
        "At step `warmup` the second formula must give `peak` too. Does it?",
        "The fall has `total − warmup` steps, and `total − step` of them are still to come.",
    ),
    stub="""\
def rate(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (1 - step / total)""",
    reference=_schedule,
    cases=_schedule_cases,
    returns=("rate",),
    wrong={
        "the jump is still there": (
            lambda step, peak, warmup, total: peak * (step / warmup if step <= warmup else 1 - step / total),
            "The rate still jumps down right after the warm-up. Put `step = warmup` into the formula of the fall: it should give `peak`.",
        ),
        "does not reach zero": (
            _falls_to_the_wrong_end,
            "The fall now begins at `peak` but is too slow. Print the last step. How many steps does the fall have?",
        ),
        "one step late": (
            lambda step, peak, warmup, total: _schedule(step - 1, peak, warmup, total),
            "Everything comes one step late: step 1 has rate 0, so it changes nothing. Steps count from 1.",
        ),
        "no fall": (
            lambda step, peak, warmup, total: peak * min(1.0, step / warmup),
            "The jump is gone, but so is the fall. The last step should have rate 0.",
        ),
        "no warm-up left": (
            lambda step, peak, warmup, total: peak * (total - step) / (total - warmup),
            "The fall is right, but the rise is gone. Print the first step.",
        ),
        "peak never reached": (
            lambda step, peak, warmup, total: peak * min(step / warmup, 1 - step / total),
            "The two lines now meet below `peak`. Print step 4: it should be the peak itself.",
        ),
        "steps not counted from the peak": (
            _falling(lambda step, warmup, total: 1 - step / (total - warmup)),
            "The fall has the right slope, but it begins too low and ends below 0. Count its steps from the peak, not from the start.",
        ),
        "peak kept a step": (
            _falling(lambda step, warmup, total: (total - step) / (total - warmup - 1)),
            "The end is right, but the first step of the fall still has `peak`. How many steps lie between `warmup` and `total`?",
        ),
        "zero a step late": (
            _falling(lambda step, warmup, total: (total - step + 1) / (total - warmup)),
            "Print the last step: it should have rate 0. How many steps are still to come at `total`?",
        ),
        "zero a step early": (
            _falling(lambda step, warmup, total: (total - step - 1) / (total - warmup)),
            "Print the last two steps: the rate is 0 too early, and then negative. How many steps are still to come at `total`?",
        ),
        "root in place of a line": (
            _falling(lambda step, warmup, total: (warmup / step) ** 0.5),
            "The jump is gone, but this curve never reaches 0. That is another schedule. The statement asks for a straight line.",
        ),
        "curve in place of a line": (
            _falling(lambda step, warmup, total: 0.5 + 0.5 * np.cos(np.pi * (step - warmup) / (total - warmup))),
            "The jump is gone and the rate ends at 0, but in between it bends. The statement asks for a straight line.",
        ),
    },
    alternatives={
        "the smaller of two lines": lambda step, peak, warmup, total: peak * min(step / warmup, (total - step) / (total - warmup))
    },
    success="The two lines meet at the peak.",
    solution=r"""
The fall was written as if it began at step 0. So at the end of the warm-up it is already far below the peak: the rate drops from 0.5 at
step 4 to 0.292 at step 5, where we want 0.4375. The fall must start where the rise ends. It has `total − warmup` steps, and
`total − step` of them are still to come.

```python
def rate(step, peak, warmup, total):
    if step <= warmup:
        return peak * step / warmup
    return peak * (total - step) / (total - warmup)


print([round(rate(step, 0.5, 4, 12), 3) for step in range(1, 13)])
check(...)
```
""",
)


def _clipped(gradients, largest):
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    return [g * (largest / norm) if norm > largest else g for g in gradients]


def _scaled(norm, factor=lambda norm, largest: min(1.0, largest / norm)):
    """All arrays times one factor, from another norm or in another way."""
    return lambda gradients, largest: [g * factor(norm(gradients), largest) for g in gradients]


def _norm(gradients):
    return np.sqrt(sum((g**2).sum() for g in gradients))


def _clip_concatenated(gradients, largest):
    norm = np.linalg.norm(np.concatenate([g.ravel() for g in gradients]))
    return gradients if norm <= largest else [largest / norm * g for g in gradients]


def _array_by_array(function):
    """Runs the learner's function and compares shapes, so that a wrong one is named by its place."""

    def looked_at(gradients, largest):
        shapes = [g.shape for g in gradients]
        clipped = function(gradients, largest)
        if not isinstance(clipped, (list, tuple)) or len(clipped) != len(shapes):
            raise Complaint(f"expected a list of {len(shapes)} arrays, one for each that came in")
        arrays = tuple(as_floats(g) for g in clipped)
        for place, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
            if array.shape != shape:
                raise Complaint(f"array {place} came in with shape {shape} and returned with {array.shape}")
        return arrays

    return looked_at


CLIP = Exercise(
    id="11.6",
    title="Clip by the global norm",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `clip(gradients, largest)`. `gradients` is a list of arrays, one for each parameter. Their *global norm* is the root of the sum of all squared entries. If it is at most `largest`, return the list unchanged. \
Otherwise multiply all arrays by the one factor that makes the norm `largest`.""",
    hints=(
        "Should the direction of the whole gradient change?",
        "First compute one norm over all arrays. Then decide on one factor for all.",
        "factor = largest / norm where norm > largest, otherwise 1.",
    ),
    stub="def clip(gradients, largest):\n    return ...",
    reference=_clipped,
    cases=lambda rng: [
        case([np.array([3.0]), np.array([0.0, 4.0])], 1.0),
        case([np.array([3.0]), np.array([0.0, 4.0])], 10.0, note="a norm below the limit"),
        case([rng.normal(size=(2, 3)), rng.normal(size=5)], 1.5),
        case([rng.normal(size=(5, 7)), 0.01 * rng.normal(size=(7, 2)), rng.normal(size=3)], 0.25),
        case([0.01 * rng.normal(size=(3, 4)), 0.01 * rng.normal(size=2)], 1.0, note="a norm below the limit"),
        case([np.zeros((2, 3)), np.zeros(5)], 1.5, note="a norm of 0"),
    ],
    returns=("clipped",),
    probe=_array_by_array,
    wrong={
        "each array alone": (
            lambda gradients, largest: [g * min(1.0, largest / np.linalg.norm(g)) if g.any() else g for g in gradients],
            "You gave each array its own factor, so the direction of the whole gradient changes. Compute one norm over all arrays.",
        ),
        "clipped by value": (
            lambda gradients, largest: [np.clip(g, -largest, largest) for g in gradients],
            "You cut single entries at ±largest, which bends the direction. Multiply everything by one factor instead.",
        ),
        "always scaled": (
            _scaled(_norm, lambda norm, largest: largest / norm),
            "You blew small gradients up to the limit. If the norm is already below it, leave them alone.",
        ),
        "norms added": (
            _scaled(lambda gradients: sum(np.linalg.norm(g) for g in gradients)),
            "You added the norms of the arrays. Add the squares instead: for one array of 3 and one of 4 the norm is 5.",
        ),
        "root forgotten": (
            _scaled(lambda gradients: sum((g**2).sum() for g in gradients)),
            "That is the square of the norm. Try one array of 3 and one of 4: the norm is 5.",
        ),
        "scaled to one": (
            _scaled(_norm, lambda norm, largest: 1 / norm if norm > largest else 1.0),
            "Afterwards the norm is 1, whatever the limit was. It should be the limit.",
        ),
    },
    alternatives={"one long vector": _clip_concatenated},
    success="One factor for all: the step gets shorter and keeps its direction.",
    solution=r"""
We compute one norm over all arrays, and then one factor for all of them. The gradient gets shorter and keeps its direction. Short
gradients are left alone, so nothing is divided by a norm of 0.

```python
def clip(gradients, largest):
    norm = math.sqrt(sum((g**2).sum() for g in gradients))
    factor = largest / norm if norm > largest else 1.0
    return [factor * g for g in gradients]


print(clip([np.array([3.0]), np.array([0.0, 4.0])], 1.0))
check(...)
```
""",
)

EXERCISES = (ADAM_FIRST, FIND_THE_JUMP, CLIP)
