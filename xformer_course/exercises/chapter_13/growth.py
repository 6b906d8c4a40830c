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
A self-attention layer of width m makes 4Lm² products in its projections and 2L²m in its pairs. Its exponent at \
length L is the slope on two logarithmic axes: the mean of 1 and 2, each weighted by the \
share of its term. Take m = 96. At which length is the exponent 1.5, and at which length is it 1.9?""",
    hints=(
        "For an exponent of 1.5, what share of the products must the pairs have? And for 1.9?",
        "The exponent is 1 plus the share of the pairs. For 1.9 they are nine times the projections.",
        "Solve 2L²m = 4Lm² and 2L²m = 9 · 4Lm² for L.",
    ),
    stub='answer = {"1.5": ..., "1.9": ...}',
    reference={"1.5": 192, "1.9": 1728},
    wrong={
        "three projections": (
            {"1.5": 144, "1.9": 1296},
            "You count three projections, for queries, keys and values. What is the fourth, which joins the heads at the end?",
        ),
        "pairs counted once": (
            {"1.5": 384, "1.9": 3456},
            "You count each pair of positions once, for its score. What is each pair used for a second time?",
        ),
        "nine tenths of the length": (
            {"1.5": 192, "1.9": 364.8},
            "Your first length is right. For the second one, what share of *all* products must the pairs have?",
        ),
        "where the length is the width": (
            {"1.5": 96, "1.9": 864},
            "You set the length equal to the width. There the two terms are 4m³ and 2m³: are they equal?",
        ),
    },
    success="The square is there at every length, but the exponent shows it only beyond eighteen widths.",
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
Write `exponents(sizes, costs)` with NumPy. For every two neighbouring sizes, return the exponent p with which the cost grows from one to the other, as if \
the cost were c · size^p between them. The sizes increase, but they need not double. n points give n - 1 numbers.""",
    hints=(
        "The cost is c · size^p at two sizes. Divide one cost by the other: what happens to c?",
        "Take logarithms. The logarithm of the ratio of the costs is p times the logarithm of the ratio of the sizes.",
        "p = (log of the later cost - log of the earlier) / (log of the later size - log of the earlier); np.diff helps.",
    ),
    stub="def exponents(sizes, costs):\n    return ...",
    reference=_slopes,
    cases=_slope_cases,
    returns=("exponents",),
    wrong={
        "quotients": (
            _slopes_ratio,
            "You return ratios of costs: 4 where the exponent is 2. Which power of the ratio of the sizes gives the same number?",
        ),
        "logarithms of points": (
            lambda sizes, costs: np.log(np.asarray(costs[1:])) / np.log(np.asarray(sizes[1:])),
            "You divide the logarithm of a cost by the logarithm of its size, so a factor c changes your result. Compare two neighbours instead.",
        ),
        "upside down": (
            lambda sizes, costs: 1 / _slopes(sizes, costs),
            "Your numbers are one over the exponents. Which of cost and size belongs below the fraction line?",
        ),
        "always doubled": (
            lambda sizes, costs: np.diff(np.log2(costs)),
            "You are right where each size is twice the one before. What must you divide by when it is not?",
        ),
        "no logarithm": (
            lambda sizes, costs: np.diff(costs) / np.diff(sizes),
            "You compute the slope on ordinary axes. On which axes is a power a straight line?",
        ),
        "all from the first point": (
            _slopes_from_first,
            "Your first number is right. The later ones compare with the smallest size; compare each size with its neighbour instead.",
        ),
    },
    alternatives={"loop": _slopes_by_loop},
    success="The speed of your machine is only a factor in front, and it has dropped out.",
    solution=r"""
The ratio of two costs is the ratio of the sizes to the power $p$; the factor in front cancels. Logarithms turn the power into a
factor.

```python
def exponents(sizes, costs):
    return np.diff(np.log(costs)) / np.diff(np.log(sizes))


check(...)
```
""",
)

BALANCE = Exercise(
    id="13.2",
    page="13a_five_more_ways",
    title="How many rows fill the processor",
    kind="predict",
    minutes=6,
    difficulty=2,
    statement="""\
A processor does 100 billion FLOP per second, and its memory delivers 25 billion bytes per second. It multiplies n rows by a \
matrix of k × o numbers. A product and its addition are two FLOP. Count only the bytes of the matrix, not those of the rows. \
With 4 bytes per number, what is the arithmetic intensity of one row, in FLOP per byte, and what is the smallest n for which computing takes at \
least as long as reading? What is the smallest n with int8, 1 byte per number, at the same FLOP rate?""",
    hints=(
        "There are n rows. In how many FLOP does one number of the matrix take part?",
        "Computing and reading take equally long when there are 100 / 25 FLOP per byte.",
        "With 4 bytes there are 2n / 4 FLOP per byte, with 1 byte 2n. Set each equal to 4.",
    ),
    stub='answer = {"intensity of one row": ..., "4 bytes": ..., "1 byte": ...}',
    reference={"intensity of one row": 0.5, "4 bytes": 8, "1 byte": 2},
    wrong={
        "one FLOP a product": (
            {"intensity of one row": 0.25, "4 bytes": 16, "1 byte": 4},
            "You count one FLOP per product. Each product is also added to a sum: how many FLOP is that?",
        ),
        "int8 the wrong way": (
            {"intensity of one row": 0.5, "4 bytes": 8, "1 byte": 32},
            "With int8 you need more rows than with 4 bytes. But smaller numbers arrive sooner: does the processor then need more rows to be busy, or fewer?",
        ),
        "numbers, not bytes": (
            {"intensity of one row": 2, "4 bytes": 2, "1 byte": 2},
            "You count numbers, and the memory delivers bytes. How many bytes does one number of the matrix have?",
        ),
        "bytes over FLOP": (
            {"intensity of one row": 2, "4 bytes": 8, "1 byte": 2},
            "Your first answer is bytes per FLOP. Intensity is FLOP per byte.",
        ),
    },
    success="This is the least you need. A real product needs more rows.",
    solution=r"""
Each number of the matrix takes part in $2n$ FLOP. The balance of the machine is $100 / 25 = 4$ FLOP per byte. With four bytes per
number the intensity is $2n / 4$, and it reaches 4 at 8 rows. With one byte it is $2n$, and 2 rows are enough. Smaller numbers arrive
sooner, so fewer rows keep the processor busy.

```python
balance = 100 / 25
answer = {"intensity of one row": 2 / 4, "4 bytes": 4 * balance / 2, "1 byte": balance / 2}
check(...)
```
""",
)
