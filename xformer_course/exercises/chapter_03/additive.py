"""Chapter 03, an exercise on additive attention."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax


def _cases(rng):
    def inputs(queries, keys, query_width, key_width, hidden):
        return (
            rng.normal(size=(queries, query_width)),
            rng.normal(size=(keys, key_width)),
            rng.normal(size=(query_width + key_width, hidden)),
            rng.normal(size=hidden),
        )

    return [
        case(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [-1.0]]), np.array([[1.0], [0.0], [0.5]]), np.array([2.0])),
        case(*inputs(5, 7, 3, 2, 4)),
        case(*inputs(5, 4, 3, 3, 2), note="queries and keys of one width"),
        case(*inputs(6, 7, 2, 5, 3)),
    ]


def _additive_scores(q, k, w, w_v):
    d_q = q.shape[1]
    from_queries, from_keys = q @ w[:d_q], k @ w[d_q:]
    hidden = np.tanh(from_queries[:, None, :] + from_keys[None, :, :])
    return from_queries, from_keys, hidden @ w_v


def _split(
    *, at=lambda q, k: q.shape[1], hidden=lambda a, b: np.tanh(a + b), project=lambda x, w: x @ w, finish=lambda scores: scores, swap=False
):
    """Two projections with one thing changed."""

    def scores(q, k, w, w_v):
        cut = at(q, k)
        top, bottom = (w[-cut:], w[:-cut]) if swap else (w[:cut], w[cut:])
        from_queries, from_keys = project(q, top), project(k, bottom)
        return from_queries, from_keys, finish(hidden(from_queries[:, None, :], from_keys[None, :, :]) @ w_v)

    return scores


def _every_pair(q, k, w, w_v):
    pairs = [np.repeat(q[:, None], len(k), axis=1), np.repeat(k[None], len(q), axis=0)]
    from_queries, from_keys = pairs[0] @ w[: q.shape[1]], pairs[1] @ w[q.shape[1] :]
    return from_queries, from_keys, np.tanh(from_queries + from_keys) @ w_v


def _by_einsum(q, k, w, w_v):
    from_queries = np.einsum("iq,qa->ia", q, w[: q.shape[1]])
    from_keys = np.einsum("jk,ka->ja", k, w[q.shape[1] :])
    return from_queries, from_keys, np.einsum("ija,a->ij", np.tanh(from_queries[:, None] + from_keys), w_v)


def _by_pairs(q, k, w, w_v):
    from_queries, from_keys = [query @ w[: len(query)] for query in q], [key @ w[-len(key) :] for key in k]
    return from_queries, from_keys, [[np.tanh(a + b) @ w_v for b in from_keys] for a in from_queries]


TWO_PROJECTIONS = Exercise(
    id="3.10",
    page="03a_other_ways_to_score",
    title="Two projections instead of one",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Compute w_v · tanh([q; k] W) for all pairs without joining anything: multiply each query and each key once, by the rows of W that it meets, \
and then pair the results. Write `additive_scores(q, k, w, w_v)` in NumPy for `q` (L_q, d_q), `k` (L_k, d_k), `w` (d_q + d_k, a) and `w_v` (a,). \
Return `(from_queries, from_keys, scores)`: the projected queries (L_q, a), the projected keys (L_k, a) and the scores (L_q, L_k).""",
    hints=(
        "The first d_q rows of W meet only the query. What do the others meet?",
        "[q; k] W is a sum of two products, one with the upper rows of W and one with the lower.",
        "`(q @ upper)[:, None, :] + (k @ lower)[None, :, :]` has shape (L_q, L_k, a); tanh and the product with w_v follow.",
    ),
    stub="def additive_scores(q, k, w, w_v):\n    return ..., ..., ...",
    reference=_additive_scores,
    cases=_cases,
    returns=("from_queries", "from_keys", "scores"),
    wrong={
        "every pair projected": (
            _every_pair,
            "The scores are right. But how often do you multiply the same key by its rows of W, and how often do you need to?",
        ),
        "no tanh": (
            _split(hidden=lambda a, b: a + b),
            "Your scores are linear in the query and in the key. Which function comes between W and w_v?",
        ),
        "tanh before the sum": (
            _split(hidden=lambda a, b: np.tanh(a) + np.tanh(b)),
            "Both projections are right, but you apply tanh to each of them. In the formula, what goes into tanh?",
        ),
        "projections through tanh": (
            _split(project=lambda x, w: np.tanh(x @ w), hidden=lambda a, b: a + b),
            "Your projections have already been through tanh. In the formula, what goes into tanh?",
        ),
        "projections multiplied": (
            _split(hidden=lambda a, b: np.tanh(a * b)),
            "You multiply the two projections. Write [q; k] W for one column of W: which sign joins the two parts?",
        ),
        "halves swapped": (_split(swap=True), "The query meets the lower rows of W. In [q; k], which of the two comes first?"),
        "cut in the wrong place": (
            _split(at=lambda q, k: (q.shape[1] + k.shape[1]) // 2),
            "Your cut does not come after the d_q rows that meet the query. It is right only while queries and keys have the same width. Print the shapes.",
        ),
        "keys by queries": (
            _split(finish=lambda scores: scores.T),
            "Your scores have a row for each key. The statement asks for a row for each query.",
        ),
        "w_v left out": (
            lambda q, k, w, w_v: _split()(q, k, w, np.ones_like(w_v)),
            "You add up the hidden numbers with equal weight. What is w_v for?",
        ),
        "a weight already": (_split(finish=softmax), "Each row adds up to 1, so these are weights. The exercise stops before softmax."),
    },
    alternatives={"einsum": _by_einsum, "pairs in a loop": _by_pairs},
    success="You can keep the projected keys while new queries come in.",
    solution=r"""
The first d_q rows of W meet only the query, and the others meet only the key. So [q; k] W is a sum of two products. We compute each of them
once and add them pair by pair, with a new axis on either side. A decoder can keep the projected keys while new queries arrive.

```python
def additive_scores(q, k, w, w_v):
    from_queries = q @ w[: q.shape[1]]
    from_keys = k @ w[q.shape[1] :]
    hidden = np.tanh(from_queries[:, None, :] + from_keys[None, :, :])
    return from_queries, from_keys, hidden @ w_v


check(...)
```
""",
)


EXERCISES = (TWO_PROJECTIONS,)
