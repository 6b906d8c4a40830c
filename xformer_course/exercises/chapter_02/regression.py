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
The function below estimates y at the number `x` from data points `xs`, `ys`, two arrays of the same length. Near the \
data it is right. Far from the data it returns "not a number", although the formula has a value at every `x`. Find out \
what happens to the kernel, and fix the function: it should follow its formula everywhere.""",
    hints=(
        "Print the kernel for x = 90 with points at 0, 2 and 5. What is the sum that you divide by?",
        "The kernel is the exponential of a score, and you divide by the sum. That is a softmax. What may you do to all scores of a softmax?",
        "Subtract the largest score before you take the exponential. Then the nearest point has a kernel of 1.",
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
            "You no longer divide by 0, but far away your estimate is 0, even if no y is near 0. A weighted mean never leaves the range of the y. Do your weights add up to 1?",
        ),
        "mean far away": (
            _epsilon_in_kernel,
            "Far away you return the mean of all y. The formula does not: it favours the nearest point, the more so the farther away x is.",
        ),
        "always the nearest": (
            _always_nearest,
            "You return the y of the nearest point everywhere. Near the data the formula blends several points.",
        ),
        "first of two nearest": (
            _first_nearest,
            "This is right near the data. But far away two points may be almost equally near, and then the formula still blends them. Look at the ratio of their kernels.",
        ),
        "x moved to the data": (
            lambda x, xs, ys, bandwidth: _regression(np.clip(x, xs.min(), xs.max()), xs, ys, bandwidth),
            "You pull x back to the edge of the data. Outside the data your estimate no longer follows the formula.",
        ),
        "smallest score subtracted": (
            _smallest_subtracted,
            "It is right to shift the scores. But after your shift the largest exponent is positive and may overflow. Which score should become 0?",
        ),
        "another kernel": (
            _heavy_tails,
            "Your kernel falls more slowly, so nothing rounds to 0. But near the data you get a different estimate. Keep the kernel, and change how you compute it.",
        ),
        "the 2 lost": (
            _with_scores(lambda away, h: -(away**2) / h**2),
            "Your estimate is finite everywhere, but wrong near the data. Compare your exponent with the printed one, factor by factor.",
        ),
        "bandwidth not squared": (
            _with_scores(lambda away, h: -(away**2) / (2 * h)),
            "This is right for a bandwidth of 1. Look at the printed exponent: what is below the fraction bar?",
        ),
        "distance not squared": (
            _with_scores(lambda away, h: -np.abs(away) / h),
            "Your kernel has a corner at each point. Compare your exponent with the printed one.",
        ),
    },
    alternatives={"loops": _regression_by_loops, "as a lookup": _regression_by_lookup},
    success="Near the data it blends. Far away the nearest points take over. It never leaves the range of the y.",
    solution=r"""
Far away all exponentials round to 0, and 0/0 is not a number. The estimate is a softmax of scores times the `ys`, so we may subtract
the largest score from all. Then the nearest point has a kernel of 1, and the sum cannot be 0.

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
