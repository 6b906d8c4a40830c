"""Chapter 05, the proof that self-attention is equivariant, step by step."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, Step, case
from xformer_lib.reference import softmax


def order_of(p):
    """The order behind a permutation matrix: for each row, the column of its 1."""
    return [int(row.argmax()) for row in p]


def matrix_text(name, matrix):
    """A small matrix as a line, with its name."""
    rows = "; ".join(" ".join(f"{number:.3g}" for number in row) for row in np.atleast_2d(matrix))
    return f"{name} = [{rows}]"


def random_p(rng, n):
    """The matrix of an order of 5 rows or more that is undone by its transpose and by nothing that may be taken for it."""
    while True:
        p = np.eye(n)[rng.permutation(n)]
        if not any(np.array_equal(p.T, other) for other in (p, p @ p, np.linalg.matrix_power(p, n - 1), p[::-1, ::-1])):
            return p


HAND_P = np.eye(3)[[1, 2, 0]]
HAND_S = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
HAND_A = np.array([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25], [0.125, 0.125, 0.75]])
HAND_V = np.array([[1.0], [10.0], [100.0]])


def _scores_truth(s, p):
    order = order_of(p)
    return [[s[i, j] for j in order] for i in order]


def _weights_truth(a, p):
    """Exponentials of reordered logarithms, shared out row by row: softmax, by hand."""
    order = order_of(p)
    scores = np.log(a)
    rows = [[np.exp(scores[i, j]) for j in order] for i in order]
    return [[raw / sum(row) for raw in row] for row in rows]


def _output_truth(a, v, p):
    order = order_of(p)
    blended = [sum(a[i, j] * v[j] for j in order) for i in order]
    return np.array(blended)


def _lines(**matrices):
    order = order_of(matrices.pop("p"))
    return [f"order {tuple(order)}", *(matrix_text(name, matrix) for name, matrix in matrices.items())]


def _square(rng, n):
    return softmax(rng.normal(size=(n, n)))


UNDO = Step(
    name="undo",
    claim="the matrix with undo(p) @ p = I, written with p alone",
    reference=lambda p: p.T,
    truth=lambda p: np.linalg.inv(p),
    cases=lambda rng: [case(HAND_P), case(random_p(rng, 5)), case(random_p(rng, 7)), case(np.eye(2)[::-1])],
    counterexample=lambda p: "\n".join([*_lines(p=p), matrix_text("the inverse of p", np.linalg.inv(p).round())]),
    wrong={
        "its own inverse": (lambda p: p, "The same order twice brings the rows home only if it swaps pairs."),
        "nothing to undo": (lambda p: np.eye(len(p)), "The identity times p is p, and it should be I."),
        "one over p": (lambda p: 1.0 - p, "Ones for zeros and zeros for ones: multiply it with p and look at the diagonal."),
        "upside down": (
            lambda p: p[::-1],
            "You turned the rows of p upside down. Multiply with p, for the order (1, 2, 0): is it the identity?",
        ),
        "minus p": (lambda p: -p, "That is the inverse for addition. Here rows have to move back."),
    },
)

SCORES = Step(
    name="scores",
    claim="the scores of the reordered input, from the old scores s and p",
    reference=lambda s, p: p @ s @ p.T,
    truth=_scores_truth,
    cases=lambda rng: [
        case(HAND_S, HAND_P),
        case(rng.normal(size=(5, 5)), random_p(rng, 5)),
        case(rng.normal(size=(7, 7)), random_p(rng, 7)),
    ],
    counterexample=lambda s, p: "\n".join([*_lines(p=p, s=s), matrix_text("scores of the reordered input", _scores_truth(s, p))]),
    wrong={
        "queries alone": (
            lambda s, p: p @ s,
            "Only the rows move, as if the keys had stayed. In self-attention both come from the same x.",
        ),
        "keys alone": (
            lambda s, p: s @ p.T,
            "Only the columns move, as if the queries had stayed. In self-attention both come from the same x.",
        ),
        "transpose forgotten": (
            lambda s, p: p @ s @ p,
            "The columns move the wrong way. The new scores are (p q)(p k)ᵀ: transpose the second bracket with care.",
        ),
        "the way back": (
            lambda s, p: p.T @ s @ p,
            "These are the scores for the inverse order. Which belongs on the left, p or its transpose?",
        ),
        "transposed on both sides": (
            lambda s, p: p.T @ s @ p.T,
            "The rows move the wrong way. The queries are on the left, and they became p q.",
        ),
        "scores taken for queries": (
            lambda s, p: (p @ s) @ (p @ s).T,
            "You multiply the scores with themselves. s is q kᵀ: what becomes of it when q and k are p q and p k?",
        ),
        "scores stay": (lambda s, p: s, "The score in row 0, column 0 now belongs to the word that came to the front."),
    },
)

WEIGHTS = Step(
    name="weights",
    claim="the softmax of the reordered scores, from the old weights a and p",
    reference=lambda a, p: p @ a @ p.T,
    truth=_weights_truth,
    cases=lambda rng: [case(HAND_A, HAND_P), case(_square(rng, 5), random_p(rng, 5)), case(_square(rng, 7), random_p(rng, 7))],
    counterexample=lambda a, p: "\n".join([*_lines(p=p, a=a), matrix_text("weights of the reordered input", _weights_truth(a, p))]),
    wrong={
        "softmax once more": (lambda a, p: softmax(p @ a @ p.T), "a is already a softmax. A second one flattens it."),
        "rows alone": (lambda a, p: p @ a, "Only the rows move. Each column belongs to a key, and the keys moved as well."),
        "columns alone": (lambda a, p: a @ p.T, "Only the columns move. Whose weights are in row 0 now?"),
        "weights stay": (lambda a, p: a, "Each row still adds up to 1, but it belongs to another query now."),
        "the way back": (lambda a, p: p.T @ a @ p, "These are the weights for the inverse order."),
        "transposed on both sides": (lambda a, p: p.T @ a @ p.T, "The rows move the wrong way. The weights move as the scores did."),
        "transpose forgotten": (
            lambda a, p: p @ a @ p,
            "The columns move the wrong way. The weights move as the scores did, to p s pᵀ, columns included.",
        ),
    },
)

OUTPUT = Step(
    name="output",
    claim="the output for the reordered input, from the old weights a, the old values v and p",
    reference=lambda a, v, p: p @ a @ v,
    truth=_output_truth,
    cases=lambda rng: [
        case(HAND_A, HAND_V, HAND_P),
        case(_square(rng, 5), rng.normal(size=(5, 3)), random_p(rng, 5)),
        case(_square(rng, 7), rng.normal(size=(7, 2)), random_p(rng, 7)),
    ],
    counterexample=lambda a, v, p: "\n".join(
        [*_lines(p=p, a=a, v=v), matrix_text("output for the reordered input", _output_truth(a, v, p))]
    ),
    wrong={
        "invariant": (
            lambda a, v, p: a @ v,
            "That says the output does not move at all: *invariant*. The word that came to the front takes its output along.",
        ),
        "values left behind": (
            lambda a, v, p: p @ a @ p.T @ v,
            "The weights moved, but the values did not. The new values are p v: then pᵀ p meets in the middle.",
        ),
        "transpose forgotten": (lambda a, v, p: p @ a @ p @ v, "The two p in the middle do not cancel. What cancels p on its left?"),
        "the way back": (
            lambda a, v, p: p.T @ a @ v,
            "The rows move by the inverse order. Which p is left over when the two in the middle cancel?",
        ),
        "columns of the weights alone": (
            lambda a, v, p: a @ p.T @ v,
            "Only the columns of the weights moved here. Their rows belong to queries, which also moved, and so did the values.",
        ),
        "weights left behind": (
            lambda a, v, p: a @ p @ v,
            "The values moved, but the weights did not. Use the new weights of the step before. Then pᵀ p meets in the middle.",
        ),
        "moved twice": (lambda a, v, p: p @ p @ a @ v, "You have one p too many: the p of the values cancels with the pᵀ next to it."),
    },
)

BEGINNING, END = (UNDO, SCORES), (WEIGHTS, OUTPUT)

FIRST_HALF = Exercise(
    id="5.5",
    title="Self-attention is equivariant, step by step",
    kind="prove",
    minutes=10,
    difficulty=2,
    statement="""\
The first half of the proof, in NumPy. A permutation matrix `p` (n, n) reorders the words. It turns the queries q \
into p q and the keys k into p k. Write two functions: `undo(p)`, the matrix with undo(p) @ p = I; and `scores(s, \
p)`, the scores of the reordered words, from the old scores s = q kᵀ (n, n) and p. Leave the scale out. On paper, \
say why a single 1 in each row and column makes `undo` so short.""",
    hints=(
        "In `s`, entry (i, j) belongs to query i and key j. Where do row i and column j go when all words move?",
        "Write (p q)(p k)ᵀ without the bracket on the right: the transpose of a product reverses its order.",
        "undo(p) is the transpose of p, and (p q)(p k)ᵀ = p q kᵀ pᵀ = p s pᵀ.",
    ),
    stub='steps = {"undo": ..., "scores": ...}',
    reference={step.name: step.reference for step in BEGINNING},
    steps=BEGINNING,
    alternatives={
        "by indexing": {
            "undo": lambda p: np.eye(len(p))[np.argsort(order_of(p))],
            "scores": lambda s, p: s[np.ix_(order_of(p), order_of(p))],
        },
        "not simplified": {"undo": lambda p: np.linalg.inv(p), "scores": lambda s, p: p @ (p @ s.T).T},
    },
    success="Rows and columns of the scores move alike: each pair of words keeps its score.",
    solution=r"""
The transpose undoes the order. The scores are the old ones, with a $P$ on each side.

```python
steps = {
    "undo": lambda p: p.T,
    "scores": lambda s, p: p @ s @ p.T,
}
check(...)
```

The written proof, first half:

1. *Undo.* Entry $(i, j)$ of $P^\top P$ is the dot product of columns $i$ and $j$ of $P$. Each column has a single 1, and two columns never have it in the same row. So the product is $I$.
2. *Scores.* $(P Q)(P K)^\top = P Q K^\top P^\top = P S P^\top$.
""",
)

SECOND_HALF = Exercise(
    id="5.6",
    title="Equivariant, the second half",
    kind="prove",
    minutes=12,
    difficulty=3,
    statement="""\
The second half, in NumPy. Write `weights(a, p)`: the weights of the reordered words, from the old weights a = \
softmax(s) (n, n) and p. And write `output(a, v, p)`: their output, from a, the old values v (n, e) and p. On paper, \
say why each row of softmax keeps its denominator, where pᵀ p = I is used, and why the last line says equivariant \
and not invariant.""",
    hints=(
        "The denominator of a row is a sum over all keys, in any order. Which entries of the old weights are in row i now?",
        "Weights are numbers for pairs of words, as scores are, so they move as scores do. The new values are p v.",
        "a becomes p a pᵀ, and (p a pᵀ)(p v) = p a (pᵀ p) v = p a v, since pᵀ p = I.",
    ),
    stub='steps = {"weights": ..., "output": ...}',
    reference={step.name: step.reference for step in END},
    steps=END,
    alternatives={
        "by indexing": {"weights": lambda a, p: a[order_of(p)][:, order_of(p)], "output": lambda a, v, p: (a @ v)[order_of(p)]},
        "not simplified": {"weights": lambda a, p: p @ a @ p.T, "output": lambda a, v, p: (p @ a @ p.T) @ (p @ v)},
    },
    success="One p is left, on the left: every output moves with its word.",
    solution=r"""
The weights move as the scores did. Then a $P^\top$ meets a $P$, the two cancel, and one $P$ is left over.

```python
steps = {
    "weights": lambda a, p: p @ a @ p.T,
    "output": lambda a, v, p: p @ a @ v,
}
check(...)
```

The written proof, second half:

3. *Weights.* Row $i$ of $P S P^\top$ holds the numbers of one row of $S$ in another order. The denominator is a sum over all of them, so it is the same, and each numerator stays with its score. Hence $P A P^\top$.
4. *Output.* $(P A P^\top)(P V) = P A (P^\top P) V = P A V$. Here $P^\top P = I$ is used.

One $P$ remains on the left. The output is the old output with reordered rows: equivariant. For invariance that $P$ would have to vanish as well.
""",
)
