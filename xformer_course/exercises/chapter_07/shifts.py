"""Chapter 07, the exercise that proves: a shift of the sinusoidal encoding is a rotation."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, Step, case


def _parts(a, b):
    return math.sin(a), math.cos(a), math.sin(b), math.cos(b)


def _two_angles(rng):
    a, b = rng.uniform(0.2, 1.2, size=2)
    return [case(*_parts(math.pi / 6, math.pi / 3)), case(*_parts(0.5, 0.8)), case(*_parts(float(a), float(b)))]


def _sum_of_angles(sin_a, cos_a, sin_b, cos_b):
    return math.atan2(sin_a, cos_a) + math.atan2(sin_b, cos_b)


def _sine_truth(sin_a, cos_a, sin_b, cos_b):
    return math.sin(_sum_of_angles(sin_a, cos_a, sin_b, cos_b))


def _cosine_truth(sin_a, cos_a, sin_b, cos_b):
    return math.cos(_sum_of_angles(sin_a, cos_a, sin_b, cos_b))


def _angle_lines(name, truth):
    def lines(sin_a, cos_a, sin_b, cos_b):
        a, b = math.atan2(sin_a, cos_a), math.atan2(sin_b, cos_b)
        return (
            f"a = {a:.3f} with (sin, cos) = ({sin_a:.3f}, {cos_a:.3f}), "
            f"b = {b:.3f} with ({sin_b:.3f}, {cos_b:.3f})\n"
            f"{name}(a + b) = {truth(sin_a, cos_a, sin_b, cos_b):.4f}"
        )

    return lines


SINE = Step(
    name="sine",
    claim="sin(a + b) from the sines and cosines of a and b",
    reference=lambda sin_a, cos_a, sin_b, cos_b: sin_a * cos_b + cos_a * sin_b,
    truth=_sine_truth,
    cases=_two_angles,
    counterexample=_angle_lines("sin", _sine_truth),
    wrong={
        "sines added": (
            lambda sin_a, cos_a, sin_b, cos_b: sin_a + sin_b,
            "You added the sines. For two right angles that gives 2, and no sine is 2.",
        ),
        "minus for plus": (
            lambda sin_a, cos_a, sin_b, cos_b: sin_a * cos_b - cos_a * sin_b,
            "That is the sine of the difference. Try a = b: your formula gives 0.",
        ),
        "like with like": (
            lambda sin_a, cos_a, sin_b, cos_b: sin_a * sin_b + cos_a * cos_b,
            "For a = b your formula always gives 1. Which products belong to a sine?",
        ),
    },
)

COSINE = Step(
    name="cosine",
    claim="cos(a + b) from the sines and cosines of a and b",
    reference=lambda sin_a, cos_a, sin_b, cos_b: cos_a * cos_b - sin_a * sin_b,
    truth=_cosine_truth,
    cases=_two_angles,
    counterexample=_angle_lines("cos", _cosine_truth),
    wrong={
        "plus for minus": (
            lambda sin_a, cos_a, sin_b, cos_b: cos_a * cos_b + sin_a * sin_b,
            "That is the cosine of the difference. Try a = b: your formula gives 1.",
        ),
        "cosines added": (
            lambda sin_a, cos_a, sin_b, cos_b: cos_a + cos_b,
            "You added the cosines. For a = b = 0 that gives 2, and no cosine is 2.",
        ),
        "the sine's formula": (
            lambda sin_a, cos_a, sin_b, cos_b: sin_a * cos_b + cos_a * sin_b,
            "That is sin(a + b), from the step before. What should come out for a = b = 0?",
        ),
    },
)


def _block(angle):
    s, c = math.sin(angle), math.cos(angle)
    return np.array([[c, s], [-s, c]])


def _block_truth(angle):
    starts = np.array([0.3, 1.7])  # two points of the circle determine a matrix
    before = np.array([np.sin(starts), np.cos(starts)])
    after = np.array([np.sin(starts + angle), np.cos(starts + angle)])
    return after @ np.linalg.inv(before)


def _block_lines(angle):
    return (
        f"for the angle {angle:.4g} the matrix must send (sin 0, cos 0) = (0, 1) to "
        f"({math.sin(angle):.4f}, {math.cos(angle):.4f})\n"
        f"and (sin π/2, cos π/2) = (1, 0) to ({math.cos(angle):.4f}, {-math.sin(angle):.4f})"
    )


BLOCK = Step(
    name="block",
    claim="the matrix that takes (sin a, cos a) to (sin(a + angle), cos(a + angle)) for every a",
    reference=_block,
    truth=_block_truth,
    cases=lambda rng: [case(math.pi / 6), case(0.5), case(float(rng.uniform(0.8, 1.4)))],
    counterexample=_block_lines,
    wrong={
        "turned the other way": (
            lambda angle: _block(-angle),
            "Your matrix turns backwards, or it expects the cosine first. Here the sine comes first.",
        ),
        "no minus": (
            lambda angle: np.abs(_block(angle)),
            "Your matrix changes the length of the pair. Where did the minus of the cosine formula go?",
        ),
        "sines on the diagonal": (
            lambda angle: _block(angle)[::-1],
            "For the angle 0 nothing may change, but your matrix swaps the two numbers. What is on the diagonal of a matrix that changes nothing?",
        ),
        "cosine alone": (
            lambda angle: math.cos(angle) * np.eye(2),
            "Your matrix only makes both numbers smaller. Each of your first two formulas has two terms; where is the second?",
        ),
    },
)


def _undo_lines(block):
    inverse = np.linalg.inv(block)
    return (
        f"the block  {np.round(block[0], 4)}\n           {np.round(block[1], 4)}\n"
        f"is undone by {np.round(inverse[0], 4)}\n             {np.round(inverse[1], 4)}"
    )


UNDO = Step(
    name="undo",
    claim="the inverse of a block",
    reference=lambda block: np.asarray(block).T,
    truth=lambda block: np.linalg.inv(np.asarray(block, dtype=float)),
    cases=lambda rng: [case(_block(math.pi / 6)), case(_block(float(rng.uniform(0.8, 1.4)))), case(_block(-0.4))],
    counterexample=_undo_lines,
    wrong={
        "same again": (lambda block: block, "The same turn twice is a turn by twice the angle. Which way must the second turn go?"),
        "all signs changed": (
            lambda block: -block,
            "Your matrix turns by another half circle. For the angle 0 the block is the identity. What undoes it?",
        ),
        "each entry inverted": (
            lambda block: 1 / block,
            "You cannot invert a matrix by dividing 1 by each entry. Which block belongs to minus the angle?",
        ),
    },
)


def _score(frequencies, offset):
    return float(np.sum(np.cos(np.asarray(frequencies) * offset)))


def _score_truth(frequencies, offset):
    total = 0.0
    for omega in frequencies:
        i, j = 5, 5 + offset
        total += math.sin(omega * i) * math.sin(omega * j) + math.cos(omega * i) * math.cos(omega * j)
    return total


def _score_lines(frequencies, offset):
    shown = ", ".join(f"{omega:.4g}" for omega in frequencies)
    return (
        f"frequencies {shown}; positions i = 5 and j = {5 + offset}\n"
        f"sine times sine plus cosine times cosine, added over the pairs: {_score_truth(frequencies, offset):.4f}"
    )


SCORE = Step(
    name="score",
    claim="the dot product of rows i and i + offset, from the frequencies and the offset alone",
    reference=_score,
    truth=_score_truth,
    counterexample=_score_lines,
    cases=lambda rng: [case([1.0, 0.1], 2), case([0.7, 0.3, 0.2], 4), case(list(rng.uniform(0.1, 0.9, size=5)), 3)],
    wrong={
        "sines": (
            lambda frequencies, offset: float(np.sum(np.sin(np.asarray(frequencies) * offset))),
            "For the offset 0 the score is the squared length of a row. What does your formula give there?",
        ),
        "mean for sum": (
            lambda frequencies, offset: _score(frequencies, offset) / len(frequencies),
            "That is the similarity scaled to 1. A dot product adds over the pairs.",
        ),
        "cosine of the sum": (
            lambda frequencies, offset: math.cos(sum(frequencies) * offset),
            "You added the angles and took one cosine. Each pair has a dot product of its own: add those.",
        ),
        "product over pairs": (
            lambda frequencies, offset: float(np.prod(np.cos(np.asarray(frequencies) * offset))),
            "The dot product of two rows is a sum over columns. So add the pairs; do not multiply them.",
        ),
    },
)

STEPS = (SINE, COSINE, BLOCK, UNDO, SCORE)

SHIFT = Exercise(
    id="7.3",
    title="A shift is a rotation",
    kind="prove",
    minutes=20,
    difficulty=3,
    statement="""\
Show that one matrix moves every row of the table by the same number of positions. Each step is a function.

- `sine` and `cosine` take sin a, cos a, sin b, cos b. They return sin(a + b) and cos(a + b).
- `block(angle)` returns the 2 × 2 array that turns (sin a, cos a) into (sin(a + angle), cos(a + angle)) for every a.
- `undo(block)` returns the array that turns it back, the inverse of the block.
- `score(frequencies, offset)` returns the dot product of rows i and i + offset.

On paper: where did i go, in `block` and in `score`?""",
    hints=(
        "Rotate the point (cos a, sin a) by the angle b. Where does it land, written in two ways?",
        "sin(a + b) = sin a cos b + cos a sin b gives the first row of the block; the cosine gives the second.",
        "block = [[cos, sin], [−sin, cos]] of the angle. Its inverse turns by minus the angle, where only the sines change sign: the transpose.",
    ),
    stub='steps = {"sine": ..., "cosine": ..., "block": ..., "undo": ..., "score": ...}',
    reference={step.name: step.reference for step in STEPS},
    steps=STEPS,
    success="A shift is one rotation per pair, the same for every position.",
    solution=r"""
**Sine and cosine.** Turn the point $(\cos a, \sin a)$ by the angle $b$. It lands on $(\cos(a+b), \sin(a+b))$. A rotation is linear, and it takes $(1, 0)$ to $(\cos b, \sin b)$ and $(0, 1)$ to $(-\sin b, \cos b)$; so the point also lands on $\cos a\,(\cos b, \sin b) + \sin a\,(-\sin b, \cos b)$. Compare the two numbers of both.

**Block.** Read the two formulas, with $b$ the angle of the shift, as the rows of a matrix that acts on $(\sin a, \cos a)$: the
first row is $(\cos b, \sin b)$, the second $(-\sin b, \cos b)$. It contains only $b = \omega\delta$. The position $i$ appears only in
$a = \omega i$, so one block works for all positions.

**Undo.** The inverse is the block of $-b$. The cosine stays the same and the sine changes its sign, so the two sines swap places: this is the transpose. A matrix whose transpose is its inverse is a rotation or a reflection; the determinant $\cos^2 b + \sin^2 b = 1$ says that it is a rotation.

**Score.** One pair contributes $\sin\omega i \sin\omega j + \cos\omega i \cos\omega j = \cos(\omega j - \omega i)$, the cosine formula with $b = -\omega i$. Here $i$ drops out: only $\omega(j - i) = \omega\delta$ is left. Then add over the pairs.

*Check your own proof:* it must say that one matrix works for all $i$, and why. "The matrix is orthogonal" alone does not show that
it shifts.

```python
def block(angle):
    s, c = np.sin(angle), np.cos(angle)
    return np.array([[c, s], [-s, c]])


steps = {
    "sine": lambda sin_a, cos_a, sin_b, cos_b: sin_a * cos_b + cos_a * sin_b,
    "cosine": lambda sin_a, cos_a, sin_b, cos_b: cos_a * cos_b - sin_a * sin_b,
    "block": block,
    "undo": lambda block: block.T,
    "score": lambda frequencies, offset: np.cos(np.array(frequencies) * offset).sum(),
}
check(...)
```

The blocks along the diagonal make the whole matrix, here for three positions:

```python
omega, table = 10000.0 ** (-np.arange(0, 6, 2) / 6), my_positions(20, 6)
shift = np.zeros((6, 6))
for k in range(3):
    shift[2 * k:2 * k + 2, 2 * k:2 * k + 2] = block(3 * omega[k])
assert np.allclose(table[:-3] @ shift.T, table[3:])
print(shift)
```
""",
)
