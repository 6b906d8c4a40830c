"""Chapter 05, what positions do to the proof."""

import numpy as np

from xformer_course.exercises.chapter_05.proof import matrix_text, order_of, random_p
from xformer_course.exercises.exercise import Alternative, Exercise, Misconception, Step, case

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


def _softmax(scores):
    raw = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raw / raw.sum(axis=-1, keepdims=True)


def _holds_truth(x, e, p):
    scores = (x + e) @ (x + e).T / 100.0
    order = order_of(p)
    lemma = np.allclose(_softmax(scores[order][:, order]), _softmax(scores)[order][:, order])
    return bool(np.allclose(_input_truth(x, e, p), _moved_truth(x, e, p))), lemma, bool((p.T @ p == np.eye(len(p))).all())


def _lines(p, **matrices):
    return [f"order {tuple(order_of(p))}", *(matrix_text(name, matrix) for name, matrix in matrices.items())]


def _triples(rng):
    def drawn(n, m):
        return case(rng.normal(size=(n, m)), rng.normal(size=(n, m)), random_p(rng, n))

    return [case(HAND_X, HAND_E, HAND_P), drawn(4, 2), drawn(5, 3)]


def _triples_with_level_tables(rng):
    level = np.repeat(rng.normal(size=(1, 3)), 4, axis=0)
    pairs = np.array([[1.0], [1.0], [3.0]])
    return [
        case(HAND_X, HAND_E, HAND_P),
        case(HAND_X, np.full((3, 1), 2.0), HAND_P, note="the same number everywhere"),
        case(HAND_X, pairs, np.eye(3)[[1, 0, 2]], note="a swap of two rows with the same position vector"),
        case(rng.normal(size=(4, 3)), level, random_p(rng, 4), note="the same vector everywhere"),
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
    misconceptions=(
        Misconception(
            "positions move along",
            lambda x, e, p: p @ (x + e),
            "Here each word carries its old position with it. Position 0 belongs to whichever word stands first.",
        ),
        Misconception(
            "only positions move",
            lambda x, e, p: x + p @ e,
            "You moved the positions and left the words. It is the words that change places.",
        ),
        Misconception("nothing moves", lambda x, e, p: x + e, "That is what the layer read before the reordering."),
        Misconception("positions lost", lambda x, e, p: p @ x, "The words moved; now add the positions."),
    ),
)

GAP = Step(
    name="gap",
    claim="input minus p @ (x + e), from e and p alone",
    reference=lambda e, p: e - p @ e,
    truth=_gap_truth,
    cases=_tables,
    counterexample=lambda e, p: "\n".join([*_lines(p, e=e), matrix_text("the difference", _gap_truth(e, p))]),
    misconceptions=(
        Misconception(
            "no gap",
            lambda e, p: np.zeros_like(e),
            "With no gap, the layer with positions would be equivariant. Subtract the two lines on paper: p x cancels, and what is left?",
        ),
        Misconception("sign", lambda e, p: p @ e - e, "The sign is turned round: it is the input minus p (x + e)."),
        Misconception("whole table", lambda e, p: e, "The second bracket holds positions too: p (x + e) = p x + p e."),
        Misconception("the way back", lambda e, p: e - p.T @ e, "One of the tables moves by p, not by its inverse."),
    ),
)

HOLDS = Step(
    name="holds",
    claim="three truth values: is input = p @ (x + e); does the softmax lemma hold; is pᵀ p = I",
    reference=lambda x, e, p: (bool(np.allclose(e, p @ e)), True, True),
    truth=_holds_truth,
    cases=_triples_with_level_tables,
    counterexample=lambda x, e, p: "\n".join([*_lines(p, x=x, e=e), f"found by computing: {_holds_truth(x, e, p)}"]),
    misconceptions=(
        Misconception(
            "nothing fails",
            lambda x, e, p: (True, True, True),
            "Then the proof would go through, and order could not matter. Look at your own gap.",
        ),
        Misconception(
            "always fails",
            lambda x, e, p: (False, True, True),
            "Right for a table with different rows. If the rows that change places hold the same vector, is there a gap?",
        ),
        Misconception(
            "the lemma fails",
            lambda x, e, p: (True, bool(np.allclose(e, p @ e)), True),
            "The lemma speaks of *any* square matrix of scores. It does not ask where they came from.",
        ),
        Misconception(
            "all three fail",
            lambda x, e, p: (bool(np.allclose(e, p @ e)),) * 3,
            "One broken line is enough to break a proof. pᵀ p = I is about p, whatever is added to x.",
        ),
    ),
)

REPAIR = Step(
    name="repair",
    claim="the table to add to p @ x so that the layer reads p @ (x + e)",
    reference=lambda e, p: p @ e,
    truth=_repair_truth,
    cases=_tables,
    counterexample=lambda e, p: "\n".join([*_lines(p, e=e), matrix_text("the table", _repair_truth(e, p))]),
    misconceptions=(
        Misconception("the same table", lambda e, p: e, "With the table in its old order the gap is still there."),
        Misconception("no table", lambda e, p: np.zeros_like(e), "Without positions the layer reads p x. It was to read p (x + e)."),
        Misconception("the way back", lambda e, p: p.T @ e, "The table moves like the words, so that each word keeps its vector."),
        Misconception("the gap", lambda e, p: e - p @ e, "That is by how much the two differ. Add which table instead?"),
    ),
)

STEPS = (INPUT, GAP, HOLDS, REPAIR)

WHERE_IT_FAILS = Exercise(
    id="5.10",
    title="Where positions break the proof",
    kind="prove",
    minutes=15,
    difficulty=3,
    statement="""\
The layer reads x + e, with a fixed table `e` of position vectors, one row a place. Reorder the words by `p` and leave \
the table. Write as functions: `input(x, e, p)`, what the layer reads then; `gap(e, p)`, that input minus p (x + e); \
`holds(x, e, p)`, three truth values, one for each line of the proof: is the input p (x + e); is \
softmax(p s pᵀ) = p softmax(s) pᵀ for any scores s, so whatever the weights; is pᵀ p = I; and `repair(e, p)`, the table \
to add to p x, instead of e, so that the layer reads p (x + e). On paper, say for which e the gap is zero for every p.""",
    hints=(
        "After the reordering, which word does the first row of the table meet?",
        "Write out p x + e and p (x + e), and subtract. Which of the three lines mentions e at all?",
        "The gap is e − p e; only the first line can fail, and it holds exactly where e = p e; adding p e closes the gap.",
    ),
    stub='steps = {"input": ..., "gap": ..., "holds": ..., "repair": ...}',
    reference={step.name: step.reference for step in STEPS},
    steps=STEPS,
    alternatives=(
        Alternative(
            "by computing",
            {
                "input": lambda x, e, p: x[order_of(p)] + e,
                "gap": lambda e, p: e - e[order_of(p)],
                "holds": _holds_truth,
                "repair": lambda e, p: e[order_of(p)],
            },
        ),
        Alternative("as a list, in order", [step.reference for step in STEPS]),
    ),
    success="Only the first line breaks: the words moved and the table did not.",
)

EXERCISES = (WHERE_IT_FAILS,)
