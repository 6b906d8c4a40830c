"""Chapter 04, the exercise on costs; its falsifier counts products one by one."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, Step, case


class _Tally:
    """A number that counts the products it takes part in."""

    products = 0

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return _Tally(self.value + other.value)

    def __mul__(self, other):
        _Tally.products += 1
        return _Tally(self.value * other.value)


def _ones(*shape):
    return np.vectorize(_Tally, otypes=[object])(np.ones(shape))


def _counted(function):
    _Tally.products = 0
    function()
    return _Tally.products


def _count_projections(length, m, d, e):
    x = _ones(length, m)
    return _counted(lambda: (x @ _ones(m, d), x @ _ones(m, d), x @ _ones(m, e)))


def _count_pairs(length, d, e):
    return _counted(lambda: (_ones(length, d) @ _ones(d, length)) @ _ones(length, e))


def _count_crossing(m, d, e):
    length = 1
    while _count_pairs(length, d, e) <= _count_projections(length, m, d, e):
        length += 1
    return length


def _product_line(words, rows, inner, columns):
    count = _counted(lambda: _ones(rows, inner) @ _ones(inner, columns))
    return f"{words}: ({rows}, {inner}) times ({inner}, {columns}), counted {count} multiplications"


def _projection_lines(length, m, d, e):
    return "\n".join(_product_line(name, length, m, width) for name, width in (("Q", d), ("K", d), ("V", e)))


def _crossing_lines(m, d, e):
    found = _count_crossing(m, d, e)
    return "\n".join(
        f"L = {length}: counted {_count_projections(length, m, d, e)} multiplications in projections, {_count_pairs(length, d, e)} in pairs"
        for length in (found - 1, found)
    )


COSTS = Exercise(
    id="4.4",
    title="Where the square takes over",
    kind="prove",
    minutes=15,
    difficulty=3,
    statement="""\
How many multiplications does self-attention cost? A sentence has L words of width m, queries and keys have width d, \
values have width e. Leave out softmax and the division by √d. Show on paper why the pairs overtake the projections at \
some length, whatever the widths are. Then give each step as a function. The check compares it with a count over small \
arrays.

- `projections(L, m, d, e)`: all multiplications that make Q, K and V
- `pairs(L, d, e)`: all multiplications in the scores and in the blending of values
- `crossing(m, d, e)`: the smallest L for which `pairs` is *larger* than `projections`""",
    hints=(
        "How many multiplications does a matrix product (a, b) times (b, c) take?",
        "Count three projections and two matrix products between words. Then compare one formula with L in it and one with L².",
        "pairs > projections means L²(d + e) > L·m·(2d + e); divide by L, and take the next whole number after the quotient.",
    ),
    stub='steps = {"projections": ..., "pairs": ..., "crossing": ...}',
    reference={
        "projections": lambda L, m, d, e: L * m * (2 * d + e),
        "pairs": lambda L, d, e: L * L * (d + e),
        "crossing": lambda m, d, e: m * (2 * d + e) // (d + e) + 1,
    },
    steps=(
        Step(
            name="projections",
            claim="the multiplications that make Q, K and V",
            reference=lambda L, m, d, e: L * m * (2 * d + e),
            truth=_count_projections,
            counterexample=_projection_lines,
            cases=lambda rng: [case(2, 3, 1, 2), case(4, 5, 3, 2), case(1, 7, 2, 3)],
            wrong={
                "keys forgotten": (
                    lambda L, m, d, e: L * m * (d + e),
                    "You left out one projection. Which three arrays does attention take?",
                ),
                "parameters, not multiplications": (
                    lambda L, m, d, e: m * (2 * d + e),
                    "That is how many numbers the layer *learns*. Every word meets each of them once.",
                ),
                "all widths equal": (lambda L, m, d, e: 3 * L * m * m, "Right if d = e = m. How many columns does each matrix have here?"),
                "values forgotten": (lambda L, m, d, e: 2 * L * m * d, "You counted queries and keys. What makes a value out of a word?"),
                "output projection added": (
                    lambda L, m, d, e: L * m * (2 * d + e) + L * e * m,
                    "You counted one matrix product more than the three that make Q, K and V.",
                ),
                "square of the length": (
                    lambda L, m, d, e: L * L * m * (2 * d + e),
                    "You let the projections grow with the square. How many words does one row of Q look at?",
                ),
            },
        ),
        Step(
            name="pairs",
            claim="the multiplications in the scores and in the blending of values",
            reference=lambda L, d, e: L * L * (d + e),
            truth=_count_pairs,
            counterexample=lambda length, d, e: "\n".join(
                [_product_line("scores", length, d, length), _product_line("blend", length, length, e)]
            ),
            cases=lambda rng: [case(2, 1, 3), case(3, 2, 2), case(5, 3, 1)],
            wrong={
                "linear in the length": (lambda L, d, e: L * (d + e), "You gave each word one score. How many keys does each query meet?"),
                "scores alone": (
                    lambda L, d, e: L * L * d,
                    "You counted the scores. The weights still have to be multiplied by the values.",
                ),
                "d times e": (
                    lambda L, d, e: L * L * d * e,
                    "The two matrix products come one after the other. Do their counts multiply, or do they add up?",
                ),
                "each pair once": (
                    lambda L, d, e: L * (L + 1) // 2 * (d + e),
                    "You counted each pair of words once. Is the score of (i, j) always equal to the score of (j, i)?",
                ),
                "each two words once": (
                    lambda L, d, e: L * (L - 1) // 2 * (d + e),
                    "You counted each two different words once. Is the score of (i, j) equal to the score of (j, i)? And does a word not meet itself?",
                ),
                "blending alone": (lambda L, d, e: L * L * e, "You counted the blending. Before it, every query had to meet every key."),
                "the division counted": (
                    lambda L, d, e: L * L * (d + e + 1),
                    "You counted one multiplication too many per pair. The division of a score is left out here.",
                ),
                "width of a query twice": (
                    lambda L, d, e: 2 * L * L * d,
                    "Right if values are as wide as queries. How long is the row that a weight multiplies?",
                ),
            },
        ),
        Step(
            name="crossing",
            claim="the smallest L at which the pairs cost more than the projections",
            reference=lambda m, d, e: m * (2 * d + e) // (d + e) + 1,
            truth=_count_crossing,
            counterexample=_crossing_lines,
            cases=lambda rng: [case(3, 1, 1), case(2, 1, 2), case(2, 1, 1), case(4, 3, 2), case(5, 2, 3), case(4, 2, 2)],
            wrong={
                "equal is not larger": (
                    lambda m, d, e: math.ceil(m * (2 * d + e) / (d + e)),
                    "One too early if the quotient is a whole number, because there both cost the same.",
                ),
                "not rounded": (
                    lambda m, d, e: m * (2 * d + e) / (d + e),
                    "That is where the two formulas meet. Which whole number of words comes after it?",
                ),
                "the width itself": (
                    lambda m, d, e: m + 1,
                    "You compared one projection with one matrix product between words. There are three of the first and two of the second.",
                ),
                "compared at equal widths": (
                    lambda m, d, e: 3 * m // 2 + 1,
                    "Right if d = e. Write your first two formulas side by side and divide both by L.",
                ),
                "quotient rounded down": (
                    lambda m, d, e: m * (2 * d + e) // (d + e),
                    "One too early: put your L into both formulas. Which of them is larger there?",
                ),
            },
        ),
    ),
    success="Whatever the widths are, there is a length beyond which the square wins.",
    solution=r"""
A matrix product (a, b) times (b, c) has a·c entries of b multiplications each. The projections are $(L, m)$ times $(m, d)$ twice, and $(L, m)$
times $(m, e)$ once:

$$
Lmd + Lmd + Lme = L\,m\,(2d + e) .
$$

Scores are $(L, d)$ times $(d, L)$ and the blend is $(L, L)$ times $(L, e)$: $L^2 d + L^2 e = L^2 (d + e)$.

Pairs cost more where $L^2 (d + e) > L\,m\,(2d + e)$. Dividing by $L(d + e)$, which is positive, gives $L > m\,(2d + e)/(d + e)$. The
right side does not depend on $L$, so there is such an $L$ for all widths. The smallest is the next whole number *after* the quotient.
Since $d + e < 2d + e < 2(d + e)$, the quotient is between $m$ and $2m$.

```python
steps = {
    "projections": lambda L, m, d, e: L * m * (2 * d + e),
    "pairs": lambda L, d, e: L * L * (d + e),
    "crossing": lambda m, d, e: m * (2 * d + e) // (d + e) + 1,
}
check(...)
```
""",
)

EXERCISES = (COSTS,)
