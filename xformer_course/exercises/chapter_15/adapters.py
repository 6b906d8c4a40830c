"""Chapter 15, an exercise on merging a low-rank pair into its matrix."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _merge(weight, a, b, alpha):
    return weight + alpha / len(a) * (b @ a)


def _cases(rng):
    def drawn(out, width, rank, alpha):
        return case(rng.normal(size=(out, width)), rng.normal(size=(rank, width)), rng.normal(size=(out, rank)), alpha)

    return [
        case(np.eye(2), np.array([[1.0, 2.0]]), np.array([[3.0], [5.0]]), 1.0),
        drawn(5, 3, 2, 4.0),
        drawn(3, 7, 2, 1.0),
        drawn(11, 11, 3, 8.0),
    ]


def _in_place(weight, a, b, alpha):
    weight += alpha / len(a) * (b @ a)
    return weight


MERGE = Exercise(
    id="15.7",
    title="A pair becomes one matrix",
    kind="implement",
    minutes=6,
    difficulty=2,
    statement="""\
A linear layer computes `x @ weight.T` with a frozen `weight` (out, m). It gets a trained pair of rank r, `a` (r, m) \
and `b` (out, r), and its output becomes `x @ weight.T + alpha / r * (x @ a.T) @ b.T`. Write \
`merged(weight, a, b, alpha)`: the one matrix (out, m) that gives the same output without the pair. NumPy arrays; leave \
them as they were.""",
    hints=(
        "Which product of `a` and `b` has the shape of `weight`?",
        "(x @ a.T) @ b.T is x @ (b @ a).T, because transposing a product reverses its factors.",
        "`weight` plus `alpha / r` times `b @ a`; r is the number of rows of `a`.",
    ),
    stub="def merged(weight, a, b, alpha):\n    return ...",
    reference=_merge,
    cases=_cases,
    returns=("matrix",),
    pure=True,
    wrong={
        "no scale": (
            lambda weight, a, b, alpha: weight + b @ a,
            "You add the pair without its factor. Which factor does the layer's formula have?",
        ),
        "alpha without r": (
            lambda weight, a, b, alpha: weight + alpha * (b @ a),
            "You multiply by alpha, but the layer multiplies by alpha / r.",
        ),
        "divided by the width": (
            lambda weight, a, b, alpha: weight + alpha / a.shape[1] * (b @ a),
            "You divide by the number of columns of `a`. The rank r is the axis that `a` and `b` share.",
        ),
        "divided by the output's width": (
            lambda weight, a, b, alpha: weight + alpha / len(b) * (b @ a),
            "You divide by the number of rows of `b`, the output's width. The rank r is the axis that `a` and `b` share.",
        ),
        "the pair alone": (
            lambda weight, a, b, alpha: alpha / len(a) * (b @ a),
            "The frozen matrix is gone, but it does most of the work.",
        ),
        "factors turned round": (
            lambda weight, a, b, alpha: weight + alpha / len(a) * (a.T @ b.T),
            "Your product has the shape (m, out). The columns of `weight` belong to x: which factor meets x first?",
        ),
        "changed in place": (_in_place, "The matrix is right, but the caller's `weight` changed as well. Look for `+=`."),
    },
    alternatives={
        "einsum": lambda weight, a, b, alpha: weight + np.einsum("or,rm->om", b, a) * alpha / a.shape[0],
        "what it does to every unit vector": lambda weight, a, b, alpha: (
            (np.eye(weight.shape[1]) @ weight.T + alpha / len(a) * (np.eye(weight.shape[1]) @ a.T) @ b.T).T
        ),
    },
    success="After merging, the fine-tuned layer costs exactly as much as the old one.",
    page="15a_one_body_other_tasks",
    solution=r"""
(x Aᵀ) Bᵀ is x (B A)ᵀ, so the pair is the matrix B A, with the shape of the frozen matrix. The rank is the number of rows of A.

```python
def merged(weight, a, b, alpha):
    return weight + alpha / len(a) * (b @ a)


check(...)
```
""",
)

EXERCISES = (MERGE,)
