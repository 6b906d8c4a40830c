"""Chapter 03, an exercise on additive attention."""

import numpy as np

from xformer_lib.exercises.exercise import Alternative, Exercise, Misconception, case


def _concatenated(q, k, w, w_v):
    """The definition: each query joined to each key, one pair at a time."""
    return np.array([[np.tanh(np.concatenate([query, key]) @ w) @ w_v for key in k] for query in q])


def _cases(rng):
    def inputs(queries, keys, query_width, key_width, hidden):
        return (rng.normal(size=(queries, query_width)), rng.normal(size=(keys, key_width)),
                rng.normal(size=(query_width + key_width, hidden)), rng.normal(size=hidden))

    return [
        case(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [0.0], [-1.0]]),
             np.array([[1.0], [0.0], [0.5]]), np.array([2.0])),
        case(*inputs(5, 7, 3, 2, 4)),
        case(*inputs(2, 4, 3, 3, 5), note="queries and keys of one width"),
        case(*inputs(6, 5, 2, 7, 3)),
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
    from_keys = np.einsum("jk,ka->ja", k, w[q.shape[1]:])
    return np.einsum("ija,a->ij", np.tanh(from_queries[:, None] + from_keys), w_v)


def _in_one_array(q, k, w, w_v):
    pairs = np.concatenate([np.repeat(q, len(k), axis=0), np.tile(k, (len(q), 1))], axis=1)
    return (np.tanh(pairs @ w) @ w_v).reshape(len(q), len(k))


TWO_PROJECTIONS = Exercise(
    id="3.10",
    title="Two projections instead of one",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Additive attention is often written with the query and the key joined end to end: the score is w_v · tanh([q; k] \
W), with `w` (d_q + d_k, a) and `w_v` (a,). Write `additive_scores(q, k, w, w_v)` for `q` (L_q, d_q) and `k` (L_k, \
d_k): all L_q × L_k scores, with each query and each key projected once, before they are paired.""",
    hints=(
        "The first d_q rows of W meet only the query. What do the others meet?",
        "[q; k] W is a sum of two products, one with the upper rows of W and one with the lower.",
        "`(q @ upper)[:, None, :] + (k @ lower)[None, :, :]` has shape (L_q, L_k, a); tanh and the product with w_v "
        "follow.",
    ),
    stub="def additive_scores(q, k, w, w_v):\n    return ...",
    reference=_concatenated,
    cases=_cases,
    returns=("scores",),
    misconceptions=(
        Misconception("no tanh", _split(hidden=lambda a, b: a + b),
                      "Your scores are linear in the query and in the key. Which function stands between W and w_v?"),
        Misconception("tanh before the sum", _split(hidden=lambda a, b: np.tanh(a) + np.tanh(b)),
                      "Both projections are right, but tanh is applied to each. In the formula, how often does it "
                      "occur, and around what?"),
        Misconception("projections multiplied", _split(hidden=lambda a, b: np.tanh(a * b)),
                      "You multiply the two projections. Write [q; k] W for one column of W: which sign joins the "
                      "two parts?"),
        Misconception("halves swapped", _split(at=lambda q, k: q.shape[1], swap=True),
                      "The query meets the lower rows of W. In [q; k], which of the two comes first?"),
        Misconception("cut in the middle", _split(at=lambda q, k: (q.shape[1] + k.shape[1]) // 2),
                      "Your cut goes through the middle of W. That is right only while queries and keys have one "
                      "width: print the shapes."),
        Misconception("keys by queries", lambda q, k, w, w_v: _concatenated(q, k, w, w_v).T,
                      "Your array has a row for each key. Scores have a row for each query."),
        Misconception("w_v left out", _hidden_summed,
                      "You add up the hidden numbers with equal weight. What is w_v for?"),
        Misconception("a weight already", lambda q, k, w, w_v: _weights(_concatenated(q, k, w, w_v)),
                      "Each of your rows adds up to 1, so these are weights. The exercise stops before softmax."),
    ),
    alternatives=(
        Alternative("two projections", _split()),
        Alternative("einsum", _by_einsum),
        Alternative("one array of all pairs", _in_one_array),
    ),
    success="The projections of the keys can be kept while new queries come in.",
)


def _weights(scores):
    raw = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raw / raw.sum(axis=-1, keepdims=True)


EXERCISES = (TWO_PROJECTIONS,)
