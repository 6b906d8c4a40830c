"""Chapter 13, exercises on counting: exponents between two sizes, and products for each byte."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

CROSSING = Exercise(
    id="13.6",
    page="13c_what_the_clock_says",
    title="How long is long",
    kind="predict",
    minutes=8,
    difficulty=2,
    statement="""\
A self-attention layer of width m makes 4Lm² products in its projections and 2L²m in its pairs. Its exponent at the \
length L is the growth of the logarithm of the cost with the logarithm of L: the mean of 1 and 2, each weighted by the \
share of its term. For m = 96, at which length is the exponent 1.5, and at which is it 1.9?""",
    hints=(
        "Which share of the products must the pairs have for an exponent of 1.5? And for 1.9?",
        "The exponent is 1 plus the share of the pairs. For 1.9 they are nine times the projections.",
        "Solve 2L²m = 4Lm² and 2L²m = 9 · 4Lm² for L.",
    ),
    stub='answer = {"1.5": ..., "1.9": ...}',
    reference={"1.5": 192, "1.9": 1728},
    wrong={
        "three projections": (
            {"1.5": 144, "1.9": 1296},
            "Queries, keys and values make three projections. Which fourth one do the heads share at the end?",
        ),
        "pairs counted once": ({"1.5": 384, "1.9": 3456}, "Every pair of positions is used twice: once for its score, and once for what?"),
        "nine tenths of the length": (
            {"1.5": 192, "1.9": 364.8},
            "The first length is right. For the second, which share of *all* products must the pairs have?",
        ),
        "where the length is the width": ({"1.5": 96, "1.9": 864}, "At L = m the two terms are 4m³ and 2m³. Are they equal?"),
    },
    success="The square is there at every length; it takes eighteen widths until the exponent says so.",
    solution=r"""
The exponent is $1 + s$, where $s$ is the share of the pairs, $2L^2m / (4Lm^2 + 2L^2m) = L / (2m + L)$. It is $\tfrac12$ at $L = 2m$ and
$\tfrac9{10}$ at $L = 18m$.

```python
m = 96
answer = {"1.5": 2 * m, "1.9": 18 * m}
check(...)
```
""",
)


def _slopes(sizes, costs):
    return np.diff(np.log(costs)) / np.diff(np.log(sizes))


def _slope_cases(rng):
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    uneven = np.array([3.0, 5.0, 17.0, 40.0, 41.0])
    return [
        case(sizes, 5 * sizes**2),
        case(uneven, 0.2 * uneven**1.5, note="sizes that are not doubled"),
        case(np.array([10.0, 100.0, 1000.0]), np.array([400.0, 4200.0, 60000.0])),
        case(np.cumsum(rng.uniform(1, 9, size=7)), np.cumsum(rng.uniform(1, 9, size=7)), note="measured costs"),
    ]


def _slopes_ratio(sizes, costs):
    costs = np.asarray(costs, dtype=float)
    return costs[1:] / costs[:-1]


def _slopes_from_first(sizes, costs):
    sizes, costs = np.asarray(sizes, dtype=float), np.asarray(costs, dtype=float)
    return np.log(costs[1:] / costs[0]) / np.log(sizes[1:] / sizes[0])


def _slopes_by_loop(sizes, costs):
    found = []
    for n in range(1, len(sizes)):
        found.append(math.log10(costs[n] / costs[n - 1]) / math.log10(sizes[n] / sizes[n - 1]))
    return found


SLOPES = Exercise(
    id="13.7",
    page="13c_what_the_clock_says",
    title="Exponents between neighbours",
    kind="implement",
    minutes=6,
    difficulty=1,
    statement="""\
Write `exponents(sizes, costs)`: for each two neighbouring sizes the exponent p with which the cost grows between them, as if \
it were c · size^p there. Sizes rise, but need not double; n points give n - 1 numbers.""",
    hints=(
        "If the cost is c · size^p at two sizes, what is the quotient of the two costs? What happens to c?",
        "Take the logarithm of both quotients: that of the costs is p times that of the sizes.",
        "p = (log of the later cost - log of the earlier) / (log of the later size - log of the earlier); np.diff helps.",
    ),
    stub="def exponents(sizes, costs):\n    return ...",
    reference=_slopes,
    cases=_slope_cases,
    returns=("exponents",),
    wrong={
        "quotients": (
            _slopes_ratio,
            "These are quotients of costs: 4 where the exponent is 2. With which power of the sizes' quotient do they agree?",
        ),
        "logarithms of points": (
            lambda sizes, costs: np.log(np.asarray(costs[1:])) / np.log(np.asarray(sizes[1:])),
            "You divide the logarithm of a cost by that of its size. A factor c before the power then changes the result.",
        ),
        "upside down": (
            lambda sizes, costs: 1 / _slopes(sizes, costs),
            "Your numbers are one over the exponents. Which of cost and size stands below the line?",
        ),
        "always doubled": (
            lambda sizes, costs: np.diff(np.log2(costs)),
            "Right where each size is twice the one before. What do you divide by when it is not?",
        ),
        "no logarithm": (
            lambda sizes, costs: np.diff(costs) / np.diff(sizes),
            "That is the slope on ordinary axes: cost for each further unit of size. On which axes is a power a straight line?",
        ),
        "all from the first point": (
            _slopes_from_first,
            "The first number is right. Later ones begin at the smallest size, and not at the neighbour.",
        ),
    },
    alternatives={"loop": _slopes_by_loop},
    success="Factors in front, such as the speed of a machine, have dropped out.",
    solution=r"""
The quotient of two costs is the quotient of the sizes to the power $p$; the factor in front cancels. Logarithms turn the power into a
factor.

```python
def exponents(sizes, costs):
    return np.diff(np.log(costs)) / np.diff(np.log(sizes))


check(...)
```
""",
)

BALANCE = Exercise(
    id="13.1",
    title="How many rows fill the processor",
    kind="predict",
    minutes=6,
    difficulty=2,
    statement="""\
A processor makes 100 billion FLOP a second and its memory hands over 25 billion bytes a second. It multiplies n rows with a \
matrix of k × o numbers; a product and its addition are two FLOP. Count the reading of the matrix alone, and nothing of the \
rows. What is the arithmetic intensity of one row with numbers of 4 bytes? From which n on does computing take at least as \
long as reading: with 4 bytes, and with int8, 1 byte, if the FLOP rate stays?""",
    hints=(
        "How many FLOP does one number of the matrix serve, when there are n rows?",
        "The limit changes where the FLOP for each byte are as many as 100 / 25.",
        "4 bytes: 2n / 4 FLOP a byte. 1 byte: 2n. Set both equal to 4.",
    ),
    stub='answer = {"intensity of one row": ..., "4 bytes": ..., "1 byte": ...}',
    reference={"intensity of one row": 0.5, "4 bytes": 8, "1 byte": 2},
    wrong={
        "one FLOP a product": (
            {"intensity of one row": 0.25, "4 bytes": 16, "1 byte": 4},
            "Each product is also added to a sum. How many FLOP are that?",
        ),
        "int8 the wrong way": (
            {"intensity of one row": 0.5, "4 bytes": 8, "1 byte": 32},
            "Smaller numbers arrive faster. Does the memory then fall behind with more rows, or with fewer?",
        ),
        "numbers, not bytes": (
            {"intensity of one row": 2, "4 bytes": 2, "1 byte": 2},
            "The memory hands over bytes. How many of them has one number of the matrix?",
        ),
        "bytes over FLOP": (
            {"intensity of one row": 2, "4 bytes": 8, "1 byte": 2},
            "Intensity is FLOP for each byte, and not the other way round.",
        ),
    },
    success="That is the least n, by the bound; a real product needs more.",
    solution=r"""
Each number of the matrix serves $2n$ FLOP. The balance is $100 / 25 = 4$ FLOP a byte, and the processor is the limit from where the
intensity reaches it. With four bytes a number that is $2n / 4 = 4$, so 8 rows; with one byte $2n = 4$, so 2. Fewer bytes let fewer rows
fill the processor.

```python
balance = 100 / 25
answer = {"intensity of one row": 2 / 4, "4 bytes": 4 * balance / 2, "1 byte": balance / 2}
check(...)
```
""",
)
