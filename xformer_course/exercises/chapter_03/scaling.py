"""Chapter 03, exercises on the size of scores and on dividing by the square root of the width."""

import itertools
import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, Step, case

WIDTHS = (4, 16, 64, 256)


def _measured(draw, width, scale=1.0):
    rng = np.random.default_rng(width)
    q, k = draw(rng, (20_000, width)), draw(rng, (20_000, width))
    return float(np.std((q * k).sum(axis=1) * scale))


def _spreads(draw):
    return {width: _measured(draw, width) for width in WIDTHS}


def _ratios(answer):
    """Each measurement over the square root of its width."""
    return np.array([float(answer[width]) / math.sqrt(width) for width in WIDTHS])


def _near(values, target, slack):
    return bool(np.all(np.abs(np.asarray(values) / target - 1.0) < slack))


def _accept_spreads(answer):
    missing = [width for width in WIDTHS if width not in answer]
    if missing:
        return f"width {missing[0]} has no measurement yet; the keys are the widths {', '.join(map(str, WIDTHS))}."
    for width, ratio in zip(WIDTHS, _ratios(answer), strict=True):
        if not abs(ratio - 1.0) < 0.1:
            return (
                f"for width {width} you report {float(answer[width]):.3g}. Check that the entries have mean 0 "
                f"and "
                "variance 1, that queries and keys are drawn separately, and that there are at least 2000 pairs."
            )
    return None


MEASURE_SPREAD = Exercise(
    id="3.4",
    title="Measure the spread of the scores",
    kind="explore",
    minutes=5,
    difficulty=1,
    statement="""\
How far do unscaled scores spread? For each width d = 4, 16, 64 and 256, draw at least 2000 queries and as many keys, all entries \
independent with mean 0 and variance 1. Pair each query with one key and take the standard deviation of the scores q·k. Then look at how \
the four numbers grow.""",
    hints=(
        "How many scores come from 2000 queries paired with 2000 keys, one each?",
        "`rng.normal(size=(2000, d))` draws 2000 vectors of width d; `np.std` measures a spread.",
        "Multiply queries and keys elementwise, sum over the width, and take `np.std` of the 2000 sums.",
    ),
    stub="spreads = {4: ..., 16: ..., 64: ..., 256: ...}",
    reference={width: math.sqrt(width) for width in WIDTHS},
    accepts=_accept_spreads,
    wrong={
        "variance instead": (
            {width: float(width) for width in WIDTHS},
            "Those are variances. The standard deviation is their square root, in the units of a score.",
            lambda answer: _near(_ratios(answer), np.sqrt(WIDTHS), 0.2),
        ),
        "already scaled": (
            {width: 1.0 for width in WIDTHS},
            "The same spread at every width: did you divide the scores before measuring them? Measure the plain q·k.",
            lambda answer: _near([answer[w] for w in WIDTHS], 1.0, 0.12),
        ),
        "uniform entries": (
            {width: math.sqrt(7 / 144 * width) for width in WIDTHS},
            "Every spread is too small by the same factor, as if your entries were drawn evenly from 0 to 1. What are their mean and their variance?",
            lambda answer: _near(_ratios(answer), math.sqrt(7 / 144), 0.12),
        ),
        "query as its own key": (
            {width: math.sqrt(2 * width) for width in WIDTHS},
            "Every spread is about 1.4 times too large. Did you draw the keys separately, or are they the queries again?",
            lambda answer: _near(_ratios(answer), math.sqrt(2), 0.08),
        ),
        "divided by the width": (
            {width: 1 / math.sqrt(width) for width in WIDTHS},
            "Your spread falls with the width. Did you take the mean over the width? A dot product is a sum.",
            lambda answer: _near([answer[w] * math.sqrt(w) for w in WIDTHS], 1.0, 0.2),
        ),
        "one factor at every width": (
            {width: math.sqrt(width) / 3 for width in WIDTHS},
            "They grow as they should, but each is off by the same factor. Print the mean and the variance of your entries. And is your last step `std`?",
            lambda answer: _near(_ratios(answer), np.mean(_ratios(answer)), 0.12),
        ),
        "mean instead": (
            {4: 0.01, 16: -0.05, 64: 0.1, 256: -0.2},
            "Those numbers lie near 0, as means of scores do. How far from the mean does a typical score lie?",
            lambda answer: bool(np.all(np.abs(_ratios(answer)) < 0.1)),
        ),
        "summed over the pairs": (
            {4: 40.0, 16: 45.0, 64: 44.0, 256: 45.0},
            "Nearly the same large spread at every width: it comes from the number of pairs. Over which axis is a dot product summed?",
            lambda answer: 10 < min(answer[w] for w in WIDTHS) and max(answer[w] for w in WIDTHS) < 4 * min(answer[w] for w in WIDTHS),
        ),
    },
    alternatives={
        "measured on normal entries": _spreads(lambda rng, shape: rng.normal(size=shape)),
        "measured on random signs": _spreads(lambda rng, shape: rng.choice([-1.0, 1.0], size=shape)),
    },
    success="Sixteen times the width, four times the spread: it grows like the square root of d.",
    solution=r"""
Draw queries and keys, multiply them elementwise, and add up along the width. That gives one score per pair. The standard deviation
doubles each time the width is quadrupled, and that is how a square root grows.

```python
rng = np.random.default_rng(0)


def spread(width, pairs=20_000):
    q, k = rng.normal(size=(2, pairs, width))
    return (q * k).sum(axis=-1).std()


spreads = {width: spread(width) for width in (4, 16, 64, 256)}
print({width: f"{measured:.1f}" for width, measured in spreads.items()})
check(...)
```
""",
)


def _three_values(variance):
    """A variable with mean 0 and this variance: -a, 0, 0, a, equally likely."""
    a = math.sqrt(2.0 * variance)
    return (-a, 0.0, 0.0, a)


def _product_truth(var_x, var_y):
    products = [x * y for x in _three_values(var_x) for y in _three_values(var_y)]
    return sum(p * p for p in products) / len(products) - (sum(products) / len(products)) ** 2


def _product_lines(var_x, var_y):
    x, y = _three_values(var_x), _three_values(var_y)
    return (
        f"x is one of {', '.join(f'{a:.4g}' for a in x)}; y is one of {', '.join(f'{a:.4g}' for a in y)}\n"
        f"over the 16 equally likely pairs, the variance of x·y is {_product_truth(var_x, var_y):.4g}"
    )


def _total_truth(variance, d):
    totals = [sum(signs) * math.sqrt(variance) for signs in itertools.product((-1, 1), repeat=d)]
    return sum(t * t for t in totals) / len(totals)


def _total_lines(variance, d):
    return (
        f"{d} terms, each {-math.sqrt(variance):.4g} or {math.sqrt(variance):.4g} by the toss of a coin\n"
        f"over the {2**d} outcomes, the variance of their sum is {_total_truth(variance, d):.4g}"
    )


def _score_truth(d):
    scores = [
        sum(a * b for a, b in zip(q, k, strict=True))
        for q in itertools.product((-1, 1), repeat=d)
        for k in itertools.product((-1, 1), repeat=d)
    ]
    return sum(s * s for s in scores) / len(scores)


def _score_lines(d):
    return f"all queries and keys of width {d} with entries -1 or 1\nover the {4**d} pairs, the variance of q·k is {_score_truth(d):.4g}"


def _divisor_truth(d):
    return math.sqrt(_score_truth(d))


def _divisor_lines(d):
    return (
        f"all queries and keys of width {d} with entries -1 or 1\n"
        f"q·k has variance {_score_truth(d):.4g}; divided by {_divisor_truth(d):.4g} it has variance 1"
    )


def _widths(rng):
    return [case(d) for d in (2, 1, 3, 4)]


PRODUCT = Step(
    name="product",
    claim="variance of x·y from the variances of x and y",
    reference=lambda var_x, var_y: var_x * var_y,
    truth=_product_truth,
    cases=lambda rng: [case(2.0, 0.5), case(3.0, 3.0), case(float(rng.uniform(1, 4)), float(rng.uniform(5, 8)))],
    counterexample=_product_lines,
    wrong={
        "variances added": (
            lambda var_x, var_y: var_x + var_y,
            "Variances add for a sum of independent variables. This is a product: start from the mean of x²y².",
        ),
        "product of deviations": (
            lambda var_x, var_y: math.sqrt(var_x * var_y),
            "That is a standard deviation. The variance is the mean of the square, here of x²y².",
        ),
        "square missing": (lambda var_x, var_y: 0.0, "The mean of x·y is 0, as you say. Its variance is the mean of (x·y)²."),
        "squared variances": (
            lambda var_x, var_y: (var_x * var_y) ** 2,
            "The mean of x² is already the variance of x. You do not square it again.",
        ),
    },
)

TOTAL = Step(
    name="total",
    claim="variance of the sum of d independent terms with one variance",
    reference=lambda variance, d: d * variance,
    truth=_total_truth,
    cases=lambda rng: [case(1.0, 2), case(0.5, 3), case(float(rng.uniform(1, 4)), 5)],
    counterexample=_total_lines,
    wrong={
        "terms in step": (
            lambda variance, d: d * d * variance,
            "That is right if all terms are the same variable. Independent terms partly cancel. What is the mean of a product of two different terms?",
        ),
        "mean of the terms": (lambda variance, d: variance / d, "That is the variance of the mean of the terms. A dot product sums them."),
        "unchanged by summing": (
            lambda variance, d: variance,
            "Does a sum of many terms spread no wider than one of them? Write down the four outcomes of two coin tosses.",
        ),
        "deviations added": (
            lambda variance, d: math.sqrt(d) * variance,
            "The square root belongs to the standard deviation. Which of the two is asked for?",
        ),
    },
)

SCORE = Step(
    name="score",
    claim="variance of q·k for width d, entries of variance 1",
    reference=lambda d: d,
    truth=_score_truth,
    cases=_widths,
    counterexample=_score_lines,
    wrong={
        "deviation of the score": (lambda d: math.sqrt(d), "That is the standard deviation of the score. The variance is its square."),
        "always one": (lambda d: 1.0, "Each single product has variance 1. How many of them does q·k add up?"),
        "width squared": (lambda d: d * d, "Put the first two steps together: how many terms, and what is the variance of each?"),
        "two widths": (lambda d: 2 * d, "Queries and keys have 2d entries between them, but how many products does q·k add up?"),
    },
)

DIVISOR = Step(
    name="divisor",
    claim="the number to divide a score by so that its variance is 1",
    reference=lambda d: math.sqrt(d),
    truth=_divisor_truth,
    cases=_widths,
    counterexample=_divisor_lines,
    wrong={
        "divide by the width": (
            lambda d: d,
            "Dividing a variable by c divides its variance by c². What does dividing by d leave of a variance d?",
        ),
        "divide by the square": (lambda d: d * d, "Dividing a variable by c divides its variance by c², so a smaller c is enough."),
        "nothing to divide": (lambda d: 1.0, "Then the variance stays as it is. Which number did your third step give?"),
        "a factor": (lambda d: 1 / math.sqrt(d), "That is the factor to multiply by. The step asks for the number to divide by."),
    },
)

STEPS = (PRODUCT, TOTAL, SCORE, DIVISOR)

VARIANCE_OF_A_SCORE = Exercise(
    id="3.5",
    title="The variance of a score",
    kind="prove",
    minutes=15,
    difficulty=3,
    statement="""\
All 2d entries of q and k are independent, with mean 0 and variance 1. Show on paper that q·k has variance d, and mark where you use the \
means and where you use independence. Then give each step as a function. The check compares it with a full count of a small case.

- `product(var_x, var_y)`: the variance of x·y
- `total(variance, d)`: the variance of a sum of d independent terms
- `score(d)`: the variance of q·k
- `divisor(d)`: what to divide the score by, so its variance is 1""",
    hints=(
        "A variance is the mean of the square minus the square of the mean. What is the second part here?",
        "For independent x and y the mean of x²y² is the mean of x² times the mean of y². In a squared sum, look at the mixed terms.",
        "x·y has variance var_x · var_y; the mixed terms vanish, so d terms give d times one variance; dividing by c divides a variance by c².",
    ),
    stub='steps = {"product": ..., "total": ..., "score": ..., "divisor": ...}',
    reference={step.name: step.reference for step in STEPS},
    steps=STEPS,
    alternatives={
        "as a list, in order": [step.reference for step in STEPS],
        "from one another": {
            "product": lambda a, b: a * b,
            "total": lambda v, n: sum(v for _ in range(n)),
            "score": lambda d: sum(1.0 * 1.0 for _ in range(d)),
            "divisor": lambda d: np.sqrt(np.float32(d)),
        },
    },
    success="Every step agrees with the count over all outcomes.",
    solution=r"""
**Product.** The mean of xy is the mean of x times the mean of y (*independence*), so it is 0 (*means are 0*). The variance is then the mean of x²y², which is the mean of x² times the mean of y² (*independence* again). With means of 0 these are the variances.

**Total.** The terms have mean 0 (first step), so the variance of their sum is the mean of its square. Square the sum of the d terms. A mixed term has the mean of one factor times the mean of the other (*independence*), which is 0 (*means are 0*). The d squares remain, each with the same mean.

**Score.** The d products are independent, because each uses its own two entries; each has mean 0 and, by the first step, variance 1 · 1. By the second step their sum has variance d · 1.

**Divisor.** Dividing by c divides the variance by c². A variance of d becomes 1 for c = √d.

*Check your own proof:* it names independence four times, twice in the first step, and it says where a mean of 0 removes something. Without mean 0 the first step fails. The variance of xy is then larger than the product of the two.

```python
steps = {
    "product": lambda var_x, var_y: var_x * var_y,
    "total": lambda variance, d: d * variance,
    "score": lambda d: d,
    "divisor": lambda d: np.sqrt(d),
}
check(...)
```

You can count this case. Entries 0 or 2 have mean 1 and variance 1. A product of two has variance 3, and a score of width 2 has 6.

```python
vectors = np.array(list(itertools.product([0.0, 2.0], repeat=2)))
scores = (vectors @ vectors.T).ravel()
print("variance of q·k with entries 0 or 2:", scores.var())
assert scores.var() == 6 and np.outer([0, 2], [0, 2]).var() == 3
```
""",
)

EXERCISES = (MEASURE_SPREAD, VARIANCE_OF_A_SCORE)
