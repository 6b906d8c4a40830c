"""Chapter 05, what positions do to the proof."""

import numpy as np

from xformer_course.exercises.chapter_05.proof import matrix_text, order_of, random_p
from xformer_course.exercises.exercise import Exercise, Step, case
from xformer_lib.reference import softmax

HAND_P = np.eye(3)[[1, 2, 0]]
HAND_X = np.array([[10.0], [20.0], [30.0]])
HAND_E = np.array([[1.0], [2.0], [4.0]])


def _input_truth(x, e, p):
    return np.array([[x[row, c] + e[place, c] for c in range(x.shape[1])] for place, row in enumerate(order_of(p))])


def _moved_truth(x, e, p):
    return np.array([[x[row, c] + e[row, c] for c in range(x.shape[1])] for row in order_of(p)])


def _gap_truth(e, p):
    x = np.arange(e.size, dtype=float).reshape(e.shape)
    return _input_truth(x, e, p) - _moved_truth(x, e, p)


def _repair_truth(e, p):
    return np.array([e[row] for row in order_of(p)])


def _holds_truth(x, e, p):
    scores = (x + e) @ (x + e).T / 100.0
    order = order_of(p)
    lemma = np.allclose(softmax(scores[order][:, order]), softmax(scores)[order][:, order])
    return bool(np.allclose(_input_truth(x, e, p), _moved_truth(x, e, p))), lemma, bool((p.T @ p == np.eye(len(p))).all())


def _lines(p, **matrices):
    return [f"order {tuple(order_of(p))}", *(matrix_text(name, matrix) for name, matrix in matrices.items())]


def _triples(rng):
    def drawn(n, m):
        return case(rng.normal(size=(n, m)), rng.normal(size=(n, m)), random_p(rng, n))

    return [case(HAND_X, HAND_E, HAND_P), drawn(5, 2), drawn(6, 3)]


def _triples_with_level_tables(rng):
    level = np.repeat(rng.normal(size=(1, 3)), 5, axis=0)
    pairs = np.array([[1.0], [1.0], [3.0]])
    return [
        case(HAND_X, HAND_E, HAND_P),
        case(HAND_X, np.full((3, 1), 2.0), HAND_P, note="the same number everywhere"),
        case(HAND_X, pairs, np.eye(3)[[1, 0, 2]], note="a swap of two rows with the same position vector"),
        case(rng.normal(size=(5, 3)), level, random_p(rng, 5), note="the same vector everywhere"),
        *_triples(rng)[1:],
    ]


def _tables(rng):
    return [case(e, p) for _, e, p in (one.args for one in _triples(rng))]


INPUT = Step(
    name="input",
    claim="what the layer reads when the rows of x are reordered and the positions stay",
    reference=lambda x, e, p: p @ x + e,
    truth=_input_truth,
    cases=_triples,
    counterexample=lambda x, e, p: "\n".join([*_lines(p, x=x, e=e), matrix_text("the layer reads", _input_truth(x, e, p))]),
    wrong={
        "positions move along": (
            lambda x, e, p: p @ (x + e),
            "Here each word carries its old position with it. Position 0 belongs to the word that is first now.",
        ),
        "only positions move": (
            lambda x, e, p: x + p @ e,
            "You moved the positions and left the words. It is the words that change places.",
        ),
        "nothing moves": (lambda x, e, p: x + e, "That is what the layer read before the reordering."),
        "positions lost": (lambda x, e, p: p @ x, "The words moved; now add the positions."),
        "the way back": (lambda x, e, p: p.T @ x + e, "The words went the other way: reordering them by p is p x."),
    },
)

GAP = Step(
    name="gap",
    claim="input minus p @ (x + e), from e and p alone",
    reference=lambda e, p: e - p @ e,
    truth=_gap_truth,
    cases=_tables,
    counterexample=lambda e, p: "\n".join([*_lines(p, e=e), matrix_text("the difference", _gap_truth(e, p))]),
    wrong={
        "no gap": (
            lambda e, p: np.zeros_like(e),
            "With no gap, the layer with positions would be equivariant. Subtract the two lines on paper: p x cancels, and what is left?",
        ),
        "sign": (lambda e, p: p @ e - e, "The sign is turned round: it is the input minus p (x + e)."),
        "whole table": (lambda e, p: e, "The second bracket holds positions too: p (x + e) = p x + p e."),
        "the way back": (lambda e, p: e - p.T @ e, "One of the tables moves by p, not by its inverse."),
    },
)

HOLDS = Step(
    name="holds",
    claim="three truth values: is input = p @ (x + e); does the softmax line hold; is pᵀ p = I",
    reference=lambda x, e, p: (bool(np.allclose(e, p @ e)), True, True),
    truth=_holds_truth,
    cases=_triples_with_level_tables,
    counterexample=lambda x, e, p: "\n".join([*_lines(p, x=x, e=e), f"found by computing: {_holds_truth(x, e, p)}"]),
    wrong={
        "nothing fails": (
            lambda x, e, p: (True, True, True),
            "Then the proof would go through, and the order could not matter. Look at your own gap.",
        ),
        "always fails": (
            lambda x, e, p: (False, True, True),
            "You are right for a table with different rows. If the rows that change places hold the same vector, is there a gap?",
        ),
        "the lemma fails": (
            lambda x, e, p: (True, bool(np.allclose(e, p @ e)), True),
            "The softmax line speaks of *any* square matrix of scores. It does not ask where they came from.",
        ),
        "the lemma fails, too": (
            lambda x, e, p: (bool(np.allclose(e, p @ e)), False, True),
            "The softmax line speaks of *any* square matrix of scores, also of scores that come from positions. Try it on a small one.",
        ),
        "two lines always fail": (
            lambda x, e, p: (False, False, True),
            "Which lines mention the table? The softmax line speaks of any scores, and the first line holds where the gap is zero.",
        ),
        "the last line fails": (
            lambda x, e, p: (bool(np.allclose(e, p @ e)), True, False),
            "pᵀ p = I is about p alone. Does adding a table to x change p?",
        ),
        "all three fail": (
            lambda x, e, p: (bool(np.allclose(e, p @ e)),) * 3,
            "One broken line is enough to break a proof. pᵀ p = I is about p, whatever is added to x.",
        ),
    },
)

REPAIR = Step(
    name="repair",
    claim="the table to add to p @ x so that the layer reads p @ (x + e)",
    reference=lambda e, p: p @ e,
    truth=_repair_truth,
    cases=_tables,
    counterexample=lambda e, p: "\n".join([*_lines(p, e=e), matrix_text("the table", _repair_truth(e, p))]),
    wrong={
        "the same table": (lambda e, p: e, "With the table in its old order the gap is still there."),
        "no table": (lambda e, p: np.zeros_like(e), "Without positions the layer reads p x. It should read p (x + e)."),
        "the way back": (lambda e, p: p.T @ e, "The table must move like the words, so each word keeps its vector."),
        "the gap": (lambda e, p: e - p @ e, "That is the difference of the two. Which table should you add?"),
    },
)

BROKEN, AFTERWARDS = (INPUT, GAP), (HOLDS, REPAIR)

WHERE_IT_FAILS = Exercise(
    id="5.12",
    title="Where positions break the proof",
    kind="prove",
    minutes=8,
    difficulty=2,
    statement="""\
A layer reads x + e: to the words x (n, m) it adds a fixed table e (n, m), one position vector per place. A \
permutation matrix `p` reorders the words, and the table stays. Write, in NumPy, `input(x, e, p)`: what the layer \
reads then; and `gap(e, p)`: that input minus p (x + e), from e and p alone. On paper, say for which tables the gap \
is zero for every p.""",
    hints=(
        "After the reordering, which word does the first row of the table meet?",
        "Write out p x + e and p (x + e), and subtract: what is left of x?",
        "The input is p x + e, and the gap e − p e.",
    ),
    stub='steps = {"input": ..., "gap": ...}',
    reference={step.name: step.reference for step in BROKEN},
    steps=BROKEN,
    alternatives={
        "by computing": {"input": lambda x, e, p: x[order_of(p)] + e, "gap": lambda e, p: e - e[order_of(p)]},
        "as a list, in order": [step.reference for step in BROKEN],
    },
    success="The words moved and the table did not. The gap is the difference.",
    solution=r"""
The words moved and the table did not, so the layer reads $P X + E$ and not $P (X + E)$.

```python
steps = {
    "input": lambda x, e, p: p @ x + e,
    "gap": lambda e, p: e - p @ e,
}
check(...)
```

The gap is zero for every $P$ only if all rows of the table are equal, so every place has the same vector. For a single order it is enough
that places which it takes to one another have equal vectors.
""",
)

WHAT_SURVIVES = Exercise(
    id="5.13",
    title="What survives, and a repair",
    kind="prove",
    minutes=8,
    difficulty=2,
    statement="""\
As in exercise 5.12, `p` reorders the words x, and the table e stays. Write, in NumPy, `holds(x, e, p)`: three truth \
values. Does the layer read p (x + e)? Compute this for the arrays. Is softmax(p s pᵀ) = p softmax(s) pᵀ for every \
matrix s? Is pᵀ p = I? Decide these two on paper. And write `repair(e, p)`: the table to add to p x in place of e, \
so the layer reads p (x + e).""",
    hints=(
        "Which of the three lines mentions the table at all?",
        "The first line holds exactly if your gap of exercise 5.12 is zero. The other two are about any scores and about p alone.",
        "holds is (np.allclose(e, p @ e), True, True), and the table that closes the gap is p e.",
    ),
    stub='steps = {"holds": ..., "repair": ...}',
    reference={step.name: step.reference for step in AFTERWARDS},
    steps=AFTERWARDS,
    alternatives={
        "by computing": {"holds": _holds_truth, "repair": lambda e, p: e[order_of(p)]},
        "as a list, in order": [step.reference for step in AFTERWARDS],
    },
    success="Only the first line breaks, and a table that moves with the words repairs it.",
    solution=r"""
The first line holds where there is no gap. The other two are about any scores and about $P$ alone, so they hold as before. A table that
moves like the words closes the gap.

```python
steps = {
    "holds": lambda x, e, p: (np.allclose(e, p @ e), True, True),
    "repair": lambda e, p: p @ e,
}
check(...)
```

Other tables can repair one order as well: any constant table makes the layer equivariant again. But then the layer does not read $P
(X + E)$, and the words have lost their positions.
""",
)
