"""Chapter 03, an exercise on additive attention."""

import numpy as np

from xformer_course.exercises import values
from xformer_course.exercises.exercise import Alternative, Exercise, Misconception, case
from xformer_course.exercises.watched import watched

ONCE, OFTEN = "once", "again and again"


def _concatenated(q, k, w, w_v):
    """The definition: each query joined to each key, one pair at a time."""
    return np.array([[np.tanh(np.concatenate([query, key]) @ w) @ w_v for key in k] for query in q])


def _with_count(function):
    """The scores, and whether each query and each key was projected once; asked only where the scores are right."""

    def counted(q, k, w, w_v):
        matrix = watched(w)
        scores = function(q, k, matrix, w_v)
        too_often = matrix.tally.total() > (len(q) + len(k)) * w.size  # zeros in place of the other half may be among them
        is_right = too_often and values.difference(_concatenated(q, k, w, w_v), scores) is None
        return scores, OFTEN if is_right else ONCE

    return counted


def _difference(expected, got):
    found = values.difference(expected[0], got[0], name="scores")
    if found is None and expected[1] != got[1]:
        return "the scores are right, but vectors are projected once for every pair"
    return found


def _cases(rng):
    def inputs(queries, keys, query_width, key_width, hidden):
        return (
            rng.normal(size=(queries, query_width)),
            rng.normal(size=(keys, key_width)),
            rng.normal(size=(query_width + key_width, hidden)),
            rng.normal(size=hidden),
        )

    return [  # the first has no more pairs than vectors: the others tell whether every pair is projected
        case(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [-1.0]]), np.array([[1.0], [0.0], [0.5]]), np.array([2.0])),
        case(*inputs(5, 7, 3, 2, 4)),
        case(*inputs(5, 4, 3, 3, 2), note="queries and keys of one width"),
        case(*inputs(6, 7, 2, 5, 3)),
    ]


def _split(*, at=lambda q, k: q.shape[1], hidden=lambda a, b: np.tanh(a + b), swap=False):
    """Two projections with one thing changed."""

    def scores(q, k, w, w_v):
        cut = at(q, k)
        top, bottom = (w[-cut:], w[:-cut]) if swap else (w[:cut], w[cut:])
        return hidden((q @ top)[:, None, :], (k @ bottom)[None, :, :]) @ w_v

    return scores


def _hidden_summed(q, k, w, w_v):
    return _split()(q, k, w, np.ones_like(w_v))


def _by_einsum(q, k, w, w_v):
    from_queries = np.einsum("iq,qa->ia", q, w[: q.shape[1]])
    from_keys = np.einsum("jk,ka->ja", k, w[q.shape[1] :])
    return np.einsum("ija,a->ij", np.tanh(from_queries[:, None] + from_keys), w_v)


TWO_PROJECTIONS = Exercise(
    id="3.10",
    title="Two projections instead of one",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Additive attention is often written with the query and the key joined end to end: the score is w_v · tanh([q; k] \
W), with `w` (d_q + d_k, a) and `w_v` (a,). Write, in NumPy, `additive_scores(q, k, w, w_v)` for `q` (L_q, d_q) and `k` (L_k, \
d_k): all L_q × L_k scores, with each query and each key projected once, before they are paired.""",
    hints=(
        "The first d_q rows of W meet only the query. What do the others meet?",
        "[q; k] W is a sum of two products, one with the upper rows of W and one with the lower.",
        "`(q @ upper)[:, None, :] + (k @ lower)[None, :, :]` has shape (L_q, L_k, a); tanh and the product with w_v follow.",
    ),
    stub="def additive_scores(q, k, w, w_v):\n    return ...",
    reference=_split(),
    cases=_cases,
    probe=_with_count,
    compare=_difference,
    returns=("scores", "projections"),
    misconceptions=(
        Misconception(
            "every pair projected",
            _concatenated,
            "The scores are right. But how often is one and the same key multiplied by its rows of W, and how often is that needed?",
        ),
        Misconception(
            "no tanh",
            _split(hidden=lambda a, b: a + b),
            "Your scores are linear in the query and in the key. Which function stands between W and w_v?",
        ),
        Misconception(
            "tanh before the sum",
            _split(hidden=lambda a, b: np.tanh(a) + np.tanh(b)),
            "Both projections are right, but tanh is applied to each. In the formula, how often does it occur, and around what?",
        ),
        Misconception(
            "projections multiplied",
            _split(hidden=lambda a, b: np.tanh(a * b)),
            "You multiply the two projections. Write [q; k] W for one column of W: which sign joins the two parts?",
        ),
        Misconception(
            "halves swapped",
            _split(at=lambda q, k: q.shape[1], swap=True),
            "The query meets the lower rows of W. In [q; k], which of the two comes first?",
        ),
        Misconception(
            "cut in the wrong place",
            _split(at=lambda q, k: (q.shape[1] + k.shape[1]) // 2),
            "Your cut does not come after the d_q rows that meet the query. Where you cut is right only while queries and keys have one "
            "width: print the shapes.",
        ),
        Misconception(
            "keys by queries",
            lambda q, k, w, w_v: _concatenated(q, k, w, w_v).T,
            "Your array has a row for each key. Scores have a row for each query.",
        ),
        Misconception("w_v left out", _hidden_summed, "You add up the hidden numbers with equal weight. What is w_v for?"),
        Misconception(
            "a weight already",
            lambda q, k, w, w_v: _weights(_concatenated(q, k, w, w_v)),
            "Each of your rows adds up to 1, so these are weights. The exercise stops before softmax.",
        ),
    ),
    alternatives=(Alternative("einsum", _by_einsum),),
    success="The projections of the keys can be kept while new queries come in.",
)


def _weights(scores):
    raw = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raw / raw.sum(axis=-1, keepdims=True)


EXERCISES = (TWO_PROJECTIONS,)
