"""Chapter 02, the exercise on kernel regression."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _regression(x, xs, ys, bandwidth):
    scores = -((x - xs) ** 2) / (2 * bandwidth**2)
    kernel = np.exp(scores - scores.max())
    return (kernel * ys).sum() / kernel.sum()


def _regression_cases(rng):
    xs, ys = np.sort(rng.uniform(0, 10, size=11)), rng.normal(size=11) + 3.0
    return [
        case(1.0, np.array([0.0, 2.0, 5.0]), np.array([4.0, 6.0, 1.0]), 1.0),
        case(float(rng.uniform(2, 8)), xs, ys, 0.7),
        case(float(rng.uniform(2, 8)), xs, ys, 20.0, note="a wide kernel"),
        case(90.0, np.array([0.0, 2.0, 5.0]), np.array([4.0, 6.0, 1.0]), 1.0, note="x far to the right of all points"),
        case(-80.0, xs, ys, 0.5, note="x far to the left of all points"),
        case(1e5, xs, ys, 0.5, note="x very far away"),
        case(60.0, np.array([0.0, 0.01]), np.array([1.0, 2.0]), 1.0, note="x far from two points that lie close together"),
        case(
            3.0, np.array([1.0, 2.0, 4.0, 9.0]), np.array([7.0, 2.0, 4.0, 5.0]), 0.01, note="a narrow kernel, x halfway between two points"
        ),
    ]


def _nan_far_away(x, xs, ys, bandwidth):
    kernel = np.exp(-((x - xs) ** 2) / (2 * bandwidth**2))
    return (kernel * ys).sum() / kernel.sum()


def _epsilon_below(x, xs, ys, bandwidth):
    kernel = np.exp(-((x - xs) ** 2) / (2 * bandwidth**2))
    return (kernel * ys).sum() / (kernel.sum() + 1e-9)


def _epsilon_in_kernel(x, xs, ys, bandwidth):
    kernel = np.exp(-((x - xs) ** 2) / (2 * bandwidth**2)) + 1e-12
    return (kernel * ys).sum() / kernel.sum()


def _always_nearest(x, xs, ys, bandwidth):
    return ys[np.argmin(np.abs(x - xs))]


def _first_nearest(x, xs, ys, bandwidth):
    estimate = _nan_far_away(x, xs, ys, bandwidth)
    return _always_nearest(x, xs, ys, bandwidth) if np.isnan(estimate) else estimate


def _smallest_subtracted(x, xs, ys, bandwidth):
    scores = -((x - xs) ** 2) / (2 * bandwidth**2)
    kernel = np.exp(scores - scores.min())
    return (kernel * ys).sum() / kernel.sum()


def _heavy_tails(x, xs, ys, bandwidth):
    kernel = 1 / (1 + ((x - xs) / bandwidth) ** 2)
    return (kernel * ys).sum() / kernel.sum()


def _with_scores(scores_of):
    """The mended function with another exponent."""

    def regression(x, xs, ys, bandwidth):
        scores = scores_of(x - xs, bandwidth)
        kernel = np.exp(scores - scores.max())
        return (kernel * ys).sum() / kernel.sum()

    return regression


def _regression_by_loops(x, xs, ys, bandwidth):
    nearest = min((x - point) ** 2 for point in xs)
    total = blend = 0.0
    for point, y in zip(xs, ys, strict=True):
        part = float(np.exp((nearest - (x - point) ** 2) / (2 * bandwidth**2)))
        total, blend = total + part, blend + part * y
    return blend / total


def _regression_by_lookup(x, xs, ys, bandwidth):
    keys = np.stack([xs, -(xs**2) / 2], axis=1)
    scores = keys @ np.array([x, 1.0])
    return np.exp((scores - scores.max()) / bandwidth**2) @ ys / np.exp((scores - scores.max()) / bandwidth**2).sum()


STRAY_REGRESSION = Exercise(
    id="2.5",
    title="Far from the data",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
The function below estimates y at the number `x` from data points `xs`, `ys`, two arrays of one length. Near the data it \
is right. Far from them it returns "not a number", although the formula has a value at every `x`. Find out what happens \
to the kernel, and mend the function so that it follows its formula everywhere.""",
    hints=(
        "Print the kernel for x = 90 with points at 0, 2 and 5. What is the sum that you divide by?",
        "The kernel is the exponential of a score, and dividing by the sum makes a softmax of it. What may you do to all scores of a softmax?",
        "Subtract the largest score before the exponential: then the nearest point has a kernel of 1.",
    ),
    stub="""\
def kernel_regression(x, xs, ys, bandwidth):
    kernel = np.exp(-((x - xs) ** 2) / (2 * bandwidth**2))
    return (kernel * ys).sum() / kernel.sum()""",
    reference=_regression,
    cases=_regression_cases,
    returns=("estimate",),
    tolerance=1e-7,
    wrong={
        "kernel sums to zero": (
            _nan_far_away,
            "Far away every exponential rounds to 0, and you divide 0 by 0. Print `kernel.sum()` there.",
        ),
        "zero far away": (
            _epsilon_below,
            "No division by 0 any more, but far away the estimate is 0, which need not even lie between the smallest and the largest y. A weighted mean can never do that: do your weights add up to 1?",
        ),
        "mean far away": (
            _epsilon_in_kernel,
            "Far away you return the mean of all y. The formula does not: the quotient of two kernels favours the nearer point, and ever more so the farther away x lies.",
        ),
        "always the nearest": (
            _always_nearest,
            "You return the y of the nearest point everywhere. Near the data the formula blends several.",
        ),
        "first of two nearest": (
            _first_nearest,
            "Right near the data. Where all kernels round to 0 and two points are almost equally near, the formula still blends them: look at the quotient of their kernels.",
        ),
        "x moved to the data": (
            lambda x, xs, ys, bandwidth: _regression(np.clip(x, xs.min(), xs.max()), xs, ys, bandwidth),
            "You pull x back to the edge of the data. The estimate then no longer follows the formula outside them.",
        ),
        "smallest score subtracted": (
            _smallest_subtracted,
            "A shift of the scores is the right idea, but after yours the largest exponent is positive and may overflow. Which score should become 0?",
        ),
        "another kernel": (
            _heavy_tails,
            "Your kernel falls off more slowly, so nothing rounds to 0, but near the data the estimate is another one. Keep the kernel and change how it is computed.",
        ),
        "the 2 lost": (
            _with_scores(lambda away, h: -(away**2) / h**2),
            "Finite everywhere now, but near the data the estimate is another one. Compare your exponent with the printed one, factor by factor.",
        ),
        "bandwidth not squared": (
            _with_scores(lambda away, h: -(away**2) / (2 * h)),
            "Right for a bandwidth of 1. What has the printed exponent below the fraction bar?",
        ),
        "distance not squared": (
            _with_scores(lambda away, h: -np.abs(away) / h),
            "Your kernel has a corner at each point. Compare your exponent with the printed one.",
        ),
    },
    alternatives={"loops": _regression_by_loops, "as a lookup": _regression_by_lookup},
    success="Near the data it blends, far away the nearest points take over, and it never leaves the range of the data.",
    solution=r"""
Far away all exponentials round to 0, and 0/0 is not a number. The estimate is a softmax of scores times the `ys`, so the largest score
may be subtracted from all: the nearest point then has a kernel of 1, and the sum cannot be 0.

```python
def kernel_regression(x, xs, ys, bandwidth):
    scores = -((x - xs) ** 2) / (2 * bandwidth**2)
    kernel = np.exp(scores - scores.max())
    return (kernel * ys).sum() / kernel.sum()


check(...)
```
""",
)

EXERCISES = (STRAY_REGRESSION,)
