"""Chapter 04, the exercise on local windows."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _layers_needed(length, window):
    return -(-(length - 1) // window)


def _layers_by_steps(length, window):
    reached, layers = 0, 0
    while reached < length - 1:
        reached, layers = reached + window, layers + 1
    return layers


def _layers_by_matrices(length, window):
    place = np.arange(length)
    one = np.abs(place[:, None] - place[None, :]) <= window
    reach, layers = np.eye(length, dtype=bool), 0
    while not reach[-1, 0]:
        reach, layers = (one.astype(int) @ reach.astype(int)) > 0, layers + 1
    return layers


REACH = Exercise(
    id="4.5",
    page="04a_windows_clocks_and_costs",
    title="How many layers until the ends meet",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
Stack layers of self-attention, so that each reads the outputs of the one below. In each, a position reads itself and \
`window` neighbours on each side. Write `layers_needed(length, window)`: the smallest number of layers after which the \
last position's output can depend on the first position's input. Both arguments are whole numbers of at least 1. A \
sentence of one word needs 0 layers.""",
    hints=(
        "How many steps is it from the first to the last of 5 positions?",
        "One layer carries information `window` positions further. Which division is that, and what if there is a remainder?",
        "The distance is length − 1; divide it by the window and round up.",
    ),
    stub="def layers_needed(length, window):\n    return ...",
    reference=_layers_needed,
    cases=lambda rng: [
        case(5, 1),
        case(5, 2),
        case(8, 3, note="a distance that the window does not divide"),
        case(1, 2, note="one word"),
        case(3, 7, note="a window wider than the sentence"),
        case(31, 5),
        case(int(rng.integers(40, 90)), int(rng.integers(4, 9))),
    ],
    returns=("layers",),
    wrong={
        "rounded down": (
            lambda length, window: (length - 1) // window,
            "Right when the window divides the distance. Try 8 positions and window 3: the remainder also needs a layer.",
        ),
        "counted positions, not steps": (
            lambda length, window: -(-length // window),
            "Too many when the window divides the distance. How many steps is it from the first to the last position?",
        ),
        "the whole field moves": (
            lambda length, window: -(-(length - 1) // (2 * window)),
            "A layer sees 2 · window neighbours, but from the first position to the last, information travels in one direction. How far does it get per layer?",
        ),
        "divided by the field": (
            lambda length, window: -(-length // (2 * window + 1)),
            "You put the fields of one layer side by side, whereas layers are stacked. How much further does the second reach than the first?",
        ),
        "doubling": (
            lambda length, window: math.ceil(math.log2((length - 1) / window + 1)) if length > 1 else 0,
            "You let the field double with each layer. Measure two layers of window 1: by how much does the second widen the field?",
        ),
        "at least one layer": (
            lambda length, window: max(1, -(-(length - 1) // window)),
            "Right, except for a sentence of one word. How many layers does a distance of 0 need?",
        ),
        "one layer sees everything": (
            lambda length, window: min(1, length - 1),
            "That is true without a window. With a window of 1, does the last of 5 words read the first?",
        ),
        "the place itself counted": (
            lambda length, window: -(-(length - 1) // (window + 1)),
            "Too few layers, because you let information travel one position further per layer than the window. How far does it get on one side when the window is 1?",
        ),
        "steps divided by the field": (
            lambda length, window: -(-(length - 1) // (2 * window + 1)),
            "You divide by everything a layer sees: both sides and the position itself. How far does information get on *one* side?",
        ),
        "positions, rounded down": (
            lambda length, window: length // window,
            "Try 8 positions and window 3, and draw how far each layer reaches. What do you divide, and what happens to the remainder?",
        ),
    },
    alternatives={"step by step": _layers_by_steps, "powers of the mask": _layers_by_matrices},
    success="A window makes a layer cheap, and you pay in layers.",
    solution=r"""
From the first position to the last there are `length - 1` steps, and each layer carries information `window` steps further. Because a
remainder also needs a layer, we round up: `-(-a // b)` does that in whole numbers.

```python
def layers_needed(length, window):
    return -(-(length - 1) // window)


check(...)
```
""",
)

EXERCISES = (REACH,)
