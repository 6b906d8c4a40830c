"""Chapter 11, exercises on a run: gradients in parts, and what a checkpoint must hold."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _accumulated(parts):
    return sum(tokens * gradient for gradient, tokens in parts) / sum(tokens for _, tokens in parts)


def _parts_cases(rng):
    def drawn(shape, *tokens):
        return case([(rng.normal(size=shape), count) for count in tokens])

    return [
        case([(np.array([1.0, 0.0]), 1), (np.array([0.0, 4.0]), 3)]),
        drawn((2, 3), 5, 2),
        drawn(7, 3, 11, 4),
        drawn((5, 2), 13, 1, 6, 8),
    ]


def _averaged(parts):
    gradients, tokens = zip(*parts, strict=True)
    return np.average(np.stack(gradients), axis=0, weights=tokens)


ACCUMULATE = Exercise(
    id="11.7",
    title="One batch in several parts",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
`parts` is a list of pairs (gradient, tokens): the gradient of the *mean* loss of one part of a batch, and the number of target tokens in that part. Write `accumulated(parts)`: the gradient of the mean loss of the whole batch. \
Every token counts the same.""",
    hints=(
        "One part has 1 token, another has 99. Should their gradients have the same weight?",
        "The gradient of a mean times the number of tokens is the gradient of the sum. Sums may be added.",
        "Σ tokens · gradient, divided by Σ tokens.",
    ),
    stub="def accumulated(parts):\n    return ...",
    reference=_accumulated,
    cases=_parts_cases,
    returns=("gradient",),
    wrong={
        "sum of means": (
            lambda parts: sum(gradient for gradient, _ in parts),
            "You added the gradients. With twice as many equal parts your result doubles, but a mean stays the same.",
        ),
        "parts count the same": (
            lambda parts: sum(gradient for gradient, _ in parts) / len(parts),
            "You gave every part the same weight, so a token in a small part counts more than a token in a large one.",
        ),
        "only the last part": (
            lambda parts: parts[-1][0],
            "Only the last part is left. This happens in a loop that sets the gradient to zero before every part.",
        ),
        "never divided": (
            lambda parts: sum(tokens * gradient for gradient, tokens in parts),
            "That is the gradient of the summed loss. Divide it by the number of all tokens.",
        ),
        "not multiplied": (
            lambda parts: sum(gradient for gradient, _ in parts) / sum(tokens for _, tokens in parts),
            "Each gradient is already the gradient of a mean, and you divide once more. Multiply by the tokens before you add.",
        ),
        "divided by parts": (
            lambda parts: sum(tokens * gradient for gradient, tokens in parts) / len(parts),
            "The sum is right. A mean over tokens divides by the number of tokens, not of parts.",
        ),
    },
    alternatives={"weighted average": _averaged},
    success="Parts of any size give the gradient of the whole batch.",
    solution=r"""
The gradient of a mean times the number of tokens is the gradient of the sum, and sums may be added. Divided by all tokens, it is the
gradient of the mean over the whole batch. We try it on a loss whose gradient we know: the mean of half the square of w − x has the
gradient w minus the mean of x.

```python
def accumulated(parts):
    tokens = sum(count for _, count in parts)
    return sum(count * gradient for gradient, count in parts) / tokens


x, w = np.random.default_rng(0).normal(size=12), 0.5
parts = [(w - part.mean(), len(part)) for part in np.split(x, [2, 5])]
assert math.isclose(accumulated(parts), w - x.mean())
check(...)
```
""",
)

NEEDED = {
    "weights": True,
    "Adam's two means": True,
    "step number": True,
    "gradients": False,
    "state of the random generator": True,
    "learning rate": False,
}


def _right_but(*names):
    return {**NEEDED, **{name: not NEEDED[name] for name in names}}


WHAT_TO_KEEP = Exercise(
    id="11.8",
    title="What a checkpoint must hold",
    kind="predict",
    minutes=6,
    difficulty=2,
    statement="""\
A run with dropout, Adam and a schedule is stopped *between* two steps. Later it goes on and should reach the same weights bit for bit. What must the checkpoint hold? \
`True`: the run cannot go on exactly without it. `False`: it can be computed, or nobody needs it.""",
    hints=(
        "For each item ask: does the next step read it? Could the next step compute it again?",
        "Gradients are set to zero before the next step. The schedule is a function of the step number.",
        "Four of the six must be kept. Dropout draws random numbers, and Adam remembers past gradients.",
    ),
    stub="""\
answer = {
    "weights": ..., "Adam's two means": ..., "step number": ..., "gradients": ...,
    "state of the random generator": ..., "learning rate": ...,
}""",
    reference=NEEDED,
    wrong={
        "weights are enough": (
            {name: name == "weights" for name in NEEDED},
            "With the weights alone Adam starts again with empty means, dropout draws other numbers, and the schedule warms up once more.",
        ),
        "dropout forgotten": (
            _right_but("state of the random generator"),
            "Which numbers will dropout remove in the next step? It asks the random generator.",
        ),
        "Adam forgotten": (
            _right_but("Adam's two means"),
            "Two runs with the same weights and the same next gradient still take different steps if Adam remembers different pasts.",
        ),
        "gradients kept": (
            _right_but("gradients"),
            "Between two steps the gradients have been used. The next step sets them to zero before it reads anything.",
        ),
        "rate kept": (_right_but("learning rate"), "The schedule computes the rate from the step number, so the rate need not be kept."),
        "keep everything": (
            {name: True for name in NEEDED},
            "It would work, but two of these are not needed. Which two does the next step compute again?",
        ),
        "rate for the step number": (
            _right_but("learning rate", "step number"),
            "The rate of this step does not tell the rate of the next one, and Adam's correction needs the step number as well. Which of the two can be computed from the other?",
        ),
        "step number forgotten": (
            _right_but("step number"),
            "Where in the schedule should the run go on? And which number does Adam's correction need?",
            lambda answer: not answer["step number"] and all(answer[name] for name in NEEDED if NEEDED[name] and name != "step number"),
        ),
        "several things left out": (
            _right_but("Adam's two means", "state of the random generator"),
            "The next step reads more than one thing that you left out. Go through it: forward with dropout, Adam's two means, the schedule.",
            lambda answer: sum(not answer[name] for name in NEEDED if NEEDED[name]) > 1,
        ),
        "one left out, one too many": (
            _right_but("Adam's two means", "gradients"),
            "You left out something that the next step reads, and kept something that it computes again. Go through the step line by line.",
            lambda answer: (
                sum(not answer[name] for name in NEEDED if NEEDED[name]) == 1 and any(answer[name] for name in NEEDED if not NEEDED[name])
            ),
        ),
    },
    alternatives={"ones and zeros": {name: int(value) for name, value in NEEDED.items()}},
    success="It must also know its place in the data: which batches of this epoch are done.",
    solution=r"""
The next step reads the weights, Adam's means, the step number for Adam's correction and the schedule, and the random generator for
dropout. It computes the gradients again, and the rate is a function of the step number. A real run must also know its place in the
data. The number of the pass and of the batch are enough for that, because the order of a pass follows from the seed.

```python
answer = {
    "weights": True, "Adam's two means": True, "step number": True, "gradients": False,
    "state of the random generator": True, "learning rate": False,
}
check(...)
```
""",
)

EXERCISES = (ACCUMULATE, WHAT_TO_KEEP)
