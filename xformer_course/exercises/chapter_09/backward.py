"""Exercises of page 9b: the backward pass through softmax, LayerNorm, attention and a tied matrix, and a check of gradients."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax

PAGE = "09b_without_pytorch"


def _turned(x):
    return x.swapaxes(-1, -2)


def _softmax_backward(weights, d_weights):
    return weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))


def _by_jacobian(weights, d_weights):
    jacobian = np.eye(weights.shape[-1]) * weights[..., None] - weights[..., None] * weights[..., None, :]
    return (jacobian @ d_weights[..., None])[..., 0]


SOFTMAX = Exercise(
    id="9.13",
    title="Backward through softmax",
    kind="implement",
    page=PAGE,
    minutes=12,
    difficulty=2,
    statement="""\
`weights` (…, j) came from `softmax(scores)` along the last axis, and `d_weights`, of the same shape, is the gradient of a loss at the \
weights. Write `softmax_backward(weights, d_weights)`: the gradient at the scores, of the same shape, for any number of axes before the last. \
The scores themselves are not needed.""",
    hints=(
        "If one score rises a little, which weights move, and in which direction?",
        "The weight i moves by w_i (1 - w_i) times the change of its own score, and by -w_i w_j times the change of another score j.",
        "Score j collects w_j d_j from its own weight, and -w_j w_i d_i from every weight i, including its own. So w_j comes out as a common factor.",
    ),
    stub="def softmax_backward(weights, d_weights):\n    return ...",
    reference=_softmax_backward,
    cases=lambda rng: [
        case(np.array([0.6, 0.4]), np.array([1.0, 0.0])),
        case(softmax(rng.normal(size=(3, 5))), rng.normal(size=(3, 5))),
        case(softmax(rng.normal(size=(2, 4, 3, 6))), rng.normal(size=(2, 4, 3, 6)), note="several axes before the last"),
        case(np.array([[1.0, 0.0, 0.0]]), rng.normal(size=(1, 3)), note="all weight on one key"),
    ],
    returns=("d_scores",),
    wrong={
        "as if weights were independent": (
            lambda weights, d_weights: weights * (1 - weights) * d_weights,
            "You moved each weight by its own score alone. When one weight grows, what happens to the others? Add up your gradients of a row.",
        ),
        "without the mean": (
            lambda weights, d_weights: weights * d_weights,
            "If all of `d_weights` is equal, no change of the scores helps. Your gradient is not 0 there.",
        ),
        "a plain mean": (
            lambda weights, d_weights: weights * (d_weights - d_weights.mean(axis=-1, keepdims=True)),
            "You compare with a mean, and rightly so. But what share should each key have in it?",
        ),
        "not times the weight": (
            lambda weights, d_weights: d_weights - (weights * d_weights).sum(axis=-1, keepdims=True),
            "A key with weight 0 gets a gradient from you. Can a small change of its score move anything?",
        ),
        "summed over everything": (
            lambda weights, d_weights: weights * (d_weights - (weights * d_weights).sum()),
            "Right for one row. With several rows, print the shape of your sum: each row has its own.",
        ),
        "summed over the rows": (
            lambda weights, d_weights: weights * (d_weights - (weights * d_weights).sum(axis=0, keepdims=True)),
            "Right for one row. With several, you add up numbers from different rows: along which axis do the weights add up to 1?",
        ),
    },
    alternatives={"by the Jacobian": _by_jacobian},
    success="One line, and no Jacobian was stored.",
    solution=r"""
Let score $j$ rise by $\varepsilon$. Its weight gains $w_j \varepsilon$, and since the total grows by the factor $1 + w_j \varepsilon$, every weight $w_i$
loses $w_i w_j \varepsilon$. Each change moves the loss $d_{w_i}$ times as far, so $d_{s_j} = w_j d_{w_j} - w_j \sum_i w_i d_{w_i}$.

```python
def softmax_backward(weights, d_weights):
    worth = (weights * d_weights).sum(axis=-1, keepdims=True)  # the mean, by the weights
    return weights * (d_weights - worth)


check(...)
```

```python claims
#@title Claims about the book's numbers
scores, d = np.random.default_rng(0).normal(size=(2, 3, 5))
nudge = 1e-6 * np.eye(5)[2]
e = lambda s: np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)
slope = ((e(scores + nudge) - e(scores - nudge)) * d).sum(axis=-1) / 2e-6
assert np.allclose(slope, softmax_backward(e(scores), d)[:, 2])
```
""",
)


def _normed(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / spread, spread


def _norm_backward(x, d_y, *, mean=1.0, along=1.0):
    x_hat, spread = _normed(x)
    part = x_hat * (x_hat * d_y).mean(axis=-1, keepdims=True)
    return (d_y - mean * d_y.mean(axis=-1, keepdims=True) - along * part) / spread


def _norm_over_tokens(x, d_y):
    return _norm_backward(x.swapaxes(0, -1), d_y.swapaxes(0, -1)).swapaxes(0, -1)


def _norm_by_variance(x, d_y):
    """The two steps of the textbook: through the variance, then through the mean."""
    m = x.shape[-1]
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True) + 1e-5
    d_variance = (d_y * centred * -0.5 * variance**-1.5).sum(axis=-1, keepdims=True)
    d_centred = d_y * variance**-0.5 + d_variance * 2 * centred / m
    return d_centred - d_centred.mean(axis=-1, keepdims=True)


NORM = Exercise(
    id="9.14",
    title="Backward through LayerNorm",
    kind="implement",
    page=PAGE,
    minutes=15,
    difficulty=3,
    statement="""\
LayerNorm without gain and bias is y = (x - mean) / σ with σ = √(variance + 1e-5); mean and variance (the mean of the squared \
distances from the mean) are taken over the last axis of `x` (…, m). Write `layer_norm_backward(x, d_y)`: the gradient at `x`, given the gradient \
at y; both have the shape of `x`.""",
    hints=(
        "Which two changes to a token can LayerNorm not feel?",
        "Take away from the gradient what points along (1, …, 1), and what points along y itself.",
        "The part of a row d along a direction u whose mean square is 1 is u · mean(u · d). Take it for u = 1 and for u = y, then divide by σ.",
    ),
    stub="def layer_norm_backward(x, d_y):\n    return ...",
    reference=_norm_backward,
    cases=lambda rng: [
        case(np.array([[0.0, 2.0, 7.0]]), np.array([[1.0, 0.0, 0.0]])),
        case(rng.normal(size=(4, 6)), rng.normal(size=(4, 6))),
        case(3.0 + 5.0 * rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 3, 7)), note="tokens far from zero"),
    ],
    returns=("d_x",),
    wrong={
        "only divided": (
            lambda x, d_y: _norm_backward(x, d_y, mean=0.0, along=0.0),
            "You treated the mean and σ as constants. They are computed from x, and move with it.",
        ),
        "mean forgotten": (
            lambda x, d_y: _norm_backward(x, d_y, mean=0.0),
            "Add up your gradient along a token. Adding the same number to all its features changes nothing, so the sum must be 0.",
        ),
        "σ taken for a constant": (
            lambda x, d_y: _norm_backward(x, d_y, along=0.0),
            "The mean is right. Now stretch a token by 1 %: y stays, so the product of your gradient with y must add up to 0 (nearly).",
        ),
        "statistics of the wrong axis": (_norm_over_tokens, "Each token has its own mean and σ: which axis has its features?"),
        "σ forgotten": (
            lambda x, d_y: _norm_backward(x, d_y) * _normed(x)[1],
            "The direction is right, the size is not: a token that is spread ten times as wide moves y a tenth as much.",
        ),
    },
    alternatives={"through variance and mean": _norm_by_variance},
    success="What LayerNorm cannot feel does not come back.",
    solution=r"""
With $c = x - \operatorname{mean}(x)$ and $\hat x = c / \sigma$, a change $dc$ moves $\sigma$ by $\operatorname{mean}(\hat x \cdot dc)$, so
$d\hat x = (dc - \hat x \operatorname{mean}(\hat x \cdot dc)) / \sigma$. The map is symmetric: the gradient goes back through the same formula, and taking
the mean away is symmetric, too.

```python
def layer_norm_backward(x, d_y):
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    x_hat = centred / spread
    along = x_hat * (x_hat * d_y).mean(axis=-1, keepdims=True)
    return (d_y - d_y.mean(axis=-1, keepdims=True) - along) / spread


check(...)
```
""",
)


def _attention_backward(q, k, v, mask, d_out, *, scale=None, masked=True, mean=True, scale_back=True):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    weights = softmax(np.where(mask if masked else True, q @ _turned(k) * scale, -np.inf))
    d_weights = d_out @ _turned(v)
    blend = (weights * d_weights).sum(axis=-1, keepdims=True) if mean else 0.0
    d_scores = weights * (d_weights - blend) * (scale if scale_back else 1.0)
    return d_scores @ k, _turned(d_scores) @ q, _turned(weights) @ d_out


def _closed_row_alike(q, k, v, mask, d_out):
    """As with scores of -1e9: where all is closed, every key has the same weight."""
    weights = softmax(np.where(mask, q @ _turned(k) * q.shape[-1] ** -0.5, -1e9))
    d_scores = _softmax_backward(weights, d_out @ _turned(v)) * q.shape[-1] ** -0.5
    return d_scores @ k, _turned(d_scores) @ q, _turned(weights) @ d_out


def _closed_row_nan(q, k, v, mask, d_out):
    weights = np.where(mask.any(axis=-1, keepdims=True), softmax(np.where(mask, q @ _turned(k) * q.shape[-1] ** -0.5, -np.inf)), np.nan)
    d_scores = _softmax_backward(weights, d_out @ _turned(v)) * q.shape[-1] ** -0.5
    return d_scores @ k, _turned(d_scores) @ q, _turned(weights) @ d_out


def _keys_and_values_exchanged(*given):
    d_q, d_k, d_v = _attention_backward(*given)
    return d_q, d_v, d_k


def _keys_like_queries(q, k, v, mask, d_out):
    d_q, _, d_v = _attention_backward(q, k, v, mask, d_out)
    return d_q, (d_q.sum(axis=0) / len(k)) * np.ones_like(k), d_v


def _attention_by_query(q, k, v, mask, d_out):
    d_q, d_k, d_v = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for i in range(len(q)):
        weights = softmax(np.where(mask[i], k @ q[i] / np.sqrt(q.shape[-1]), -np.inf))
        d_v += weights[:, None] * d_out[i]
        d_scores = _softmax_backward(weights, v @ d_out[i]) / np.sqrt(q.shape[-1])
        d_q[i] = d_scores @ k
        d_k += d_scores[:, None] * q[i]
    return d_q, d_k, d_v


def _attention_case(rng, i, j, d, e, share=0.7, note=""):
    mask = rng.random((i, j)) < share
    mask[:, 0] = True
    return case(*(rng.normal(size=size) for size in ((i, d), (j, d), (j, e))), mask, rng.normal(size=(i, e)), note=note)


def _closed_row(rng):
    mask = np.ones((3, 4), dtype=bool)
    mask[1] = False
    arrays = (rng.normal(size=size) for size in ((3, 2), (4, 2), (4, 5)))
    return case(*arrays, mask, rng.normal(size=(3, 5)), note="a query that may attend to nothing")


ATTENTION = Exercise(
    id="9.15",
    title="Backward through attention",
    kind="implement",
    page=PAGE,
    minutes=15,
    difficulty=2,
    statement="""\
One head: `q` (i, d), `k` (j, d), `v` (j, e), a boolean `mask` (i, j), True = may attend. Forward, the output is softmax(q kᵀ / √d) v, where a \
closed cell has weight 0 and a query that may attend to nothing gets zeros. Write `attention_backward(q, k, v, mask, d_out)`: the gradients \
`(d_q, d_k, d_v)`, given the gradient at the output, `d_out` (i, e). You may compute the weights again.""",
    hints=(
        "The output is a product of two matrices. What does each of them get? The shapes leave only one way to multiply.",
        "d_v = weightsᵀ d_out and d_weights = d_out vᵀ. Then comes exercise 9.13, and then another product.",
        "The scores are q kᵀ times 1/√d, so d_q = d_scores k / √d and d_k = d_scoresᵀ q / √d.",
    ),
    stub="def attention_backward(q, k, v, mask, d_out):\n    return ...",
    reference=_attention_backward,
    cases=lambda rng: [
        _attention_case(rng, 2, 3, 4, 1, share=1.1),
        _attention_case(rng, 5, 4, 3, 2, note="some cells closed"),
        _attention_case(rng, 3, 6, 5, 4, share=0.4, note="many cells closed"),
        _closed_row(rng),
    ],
    returns=("d_q", "d_k", "d_v"),
    wrong={
        "scale forgotten on the way back": (
            lambda *given: _attention_backward(*given, scale_back=False),
            "d_v is right; d_q and d_k are √d times too long. The scores were divided in the forward pass: by what must the gradient be multiplied?",
        ),
        "scale forgotten everywhere": (
            lambda *given: _attention_backward(*given, scale=1.0),
            "Your weights are not those of the forward pass. What are the scores divided by before softmax?",
        ),
        "mask forgotten": (
            lambda *given: _attention_backward(*given, masked=False),
            "Right where all is open. Compute the weights again with the mask: a closed cell has weight 0.",
        ),
        "softmax's mean forgotten": (
            lambda *given: _attention_backward(*given, mean=False),
            "d_v is right. On the way through softmax, raising a score takes weight from the others: exercise 9.13.",
        ),
        "keys get what queries get": (
            _keys_like_queries,
            "d_q and d_v are right. A key collects from every query that read it: which axis of d_scores must be summed over?",
        ),
        "a closed row spread over all keys": (
            _closed_row_alike,
            "A query that may attend to nothing gave zeros, so no value has helped it. Print the weights of its row: do they add up to 1?",
        ),
        "a closed row is not a number": (
            _closed_row_nan,
            "A query that may attend to nothing has spoilt the gradients of all keys. Print the weights of its row: what is 0 / 0?",
        ),
        "keys and values exchanged": (_keys_and_values_exchanged, "The second and the third array are swapped."),
    },
    alternatives={"query by query": _attention_by_query},
    success="The product rule twice, softmax in between.",
    solution=r"""
Backward meets the three steps in the opposite order. A closed cell needs no line of its own: its weight is 0, and so is its gradient.

```python
def attention_backward(q, k, v, mask, d_out):
    scale = q.shape[-1] ** -0.5
    scores = np.where(mask, q @ k.T * scale, -1e9)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    d_v = weights.T @ d_out
    d_weights = d_out @ v.T
    worth = (weights * d_weights).sum(axis=-1, keepdims=True)
    d_scores = weights * (d_weights - worth) * scale
    return d_scores @ k, d_scores.T @ q, d_v


check(...)
```
""",
)


def _embedding_gradient(ids, d_x, x_out, d_logits, *, inputs=1.0, outputs=1.0, root=True):
    m, v = d_x.shape[-1], d_logits.shape[-1]
    gradient = np.zeros((v, m))
    np.add.at(gradient, ids, inputs * d_x * (m**0.5 if root else 1.0))
    return gradient + outputs * np.einsum("btv,btm->vm", d_logits, x_out)


def _once_for_each_id(ids, d_x, x_out, d_logits):
    gradient = _embedding_gradient(ids, d_x, x_out, d_logits, inputs=0.0)
    gradient[ids] += d_x * d_x.shape[-1] ** 0.5
    return gradient


def _written_over(ids, d_x, x_out, d_logits):
    gradient = _embedding_gradient(ids, d_x, x_out, d_logits, inputs=0.0)
    gradient[ids] = d_x * d_x.shape[-1] ** 0.5
    return gradient


def _by_one_hot(ids, d_x, x_out, d_logits):
    one_hot = np.eye(d_logits.shape[-1])[ids]
    return np.einsum("biv,bim->vm", one_hot, d_x) * d_x.shape[-1] ** 0.5 + np.tensordot(d_logits, x_out, ([0, 1], [0, 1]))


def _embedding_case(rng, b, i, t, m, v, note=""):
    ids = rng.integers(v, size=(b, i))
    return case(ids, rng.normal(size=(b, i, m)), rng.normal(size=(b, t, m)), rng.normal(size=(b, t, v)), note=note)


TIED = Exercise(
    id="9.16",
    title="A matrix that is used twice",
    kind="implement",
    page=PAGE,
    minutes=12,
    difficulty=2,
    statement="""\
A tied matrix E (v, m) is used twice: at the input, `x = √m · E[ids]` for `ids` (b, i); at the output, `logits = x_out @ E.T` for `x_out` \
(b, t, m). You have the gradients at both, `d_x` (b, i, m) and `d_logits` (b, t, v). Write \
`embedding_gradient(ids, d_x, x_out, d_logits)`: the gradient at E, of shape (v, m).""",
    hints=(
        "E is used twice. What happens to its two gradients?",
        "A word that occurs three times in the input has used its row three times.",
        "`np.add.at(gradient, ids, …)` adds for every occurrence. For the output, find the product of `d_logits` and `x_out` with shape (v, m).",
    ),
    stub="def embedding_gradient(ids, d_x, x_out, d_logits):\n    return ...",
    reference=_embedding_gradient,
    cases=lambda rng: [
        case(np.array([[1]]), np.array([[[1.0, 2.0, 0.0, 1.0]]]), np.array([[[1.0, 0.0, 0.0, 3.0]]]), np.array([[[0.5, 0.0]]])),
        case(
            np.array([[2, 0, 2]]), rng.normal(size=(1, 3, 2)), rng.normal(size=(1, 2, 2)), rng.normal(size=(1, 2, 4)), note="a word twice"
        ),
        _embedding_case(rng, 3, 7, 5, 6, 4, note="a small vocabulary"),
    ],
    returns=("gradient",),
    wrong={
        "once for each word": (
            _once_for_each_id,
            "Right where no word occurs twice. `gradient[ids] += …` writes each row once, with the last of its values.",
        ),
        "written over": (
            _written_over,
            "In the rows of the words that were read, the output's part is gone. `gradient[ids] = …` replaces what was there.",
        ),
        "the input forgotten": (
            lambda *given: _embedding_gradient(*given, inputs=0.0),
            "You have the output's part. What did E do at the input?",
        ),
        "the output forgotten": (
            lambda *given: _embedding_gradient(*given, outputs=0.0),
            "You have the input's part. A word that occurs in no source was still a candidate at the output.",
        ),
        "not times √m": (
            lambda *given: _embedding_gradient(*given, root=False),
            "At the input the rows are multiplied by √m. What does that do to the gradient?",
        ),
        "√m at the output, too": (
            lambda *given: _embedding_gradient(*given, outputs=given[1].shape[-1] ** 0.5),
            "The logits are x_out times E, without √m. Where does √m belong?",
        ),
    },
    alternatives={"by one-hot rows": _by_one_hot},
    success="Used twice, paid twice.",
    solution=r"""
Both uses add to one array. At the input the gradient goes to the rows that were read, once for each occurrence; at the output it is a product of two
matrices, summed over all positions.

```python
def embedding_gradient(ids, d_x, x_out, d_logits):
    m, v = d_x.shape[-1], d_logits.shape[-1]
    gradient = np.einsum("btv,btm->vm", d_logits, x_out)
    np.add.at(gradient, ids, d_x * m**0.5)
    return gradient


check(...)
```
""",
)


def _slopes(forward, x, r, by=1e-5):
    """Central differences of sum(forward(x) · r) at every position of x, which is left as it was."""
    x, slopes = x.copy(), np.zeros_like(x)
    for place in np.ndindex(x.shape):
        kept = x[place]
        x[place] = kept + by
        above = (forward(x) * r).sum()
        x[place] = kept - by
        below = (forward(x) * r).sum()
        x[place] = kept
        slopes[place] = (above - below) / (2 * by)
    return slopes


def _check_gradient(forward, backward, x):
    r = np.random.default_rng(7).normal(size=forward(x).shape)
    return bool(np.allclose(_slopes(forward, x, r), backward(r.copy()), atol=1e-6, rtol=1e-4))


def _summed_up(forward, backward, x):
    r = np.ones_like(forward(x))
    return bool(np.allclose(_slopes(forward, x, r), backward(r), atol=1e-6, rtol=1e-4))


def _first_place_alone(forward, backward, x):
    r = np.random.default_rng(7).normal(size=forward(x).shape)
    return bool(np.isclose(_slopes(forward, x, r).flat[0], backward(r).flat[0], atol=1e-6, rtol=1e-4))


def _total_alone(forward, backward, x):
    r = np.random.default_rng(7).normal(size=forward(x).shape)
    return bool(np.isclose(_slopes(forward, x, r).sum(), backward(r).sum(), atol=1e-6, rtol=1e-4))


def _with(by=1e-5, atol=1e-6):
    """The reference with another nudge or tolerance."""

    def check_gradient(forward, backward, x):
        r = np.random.default_rng(7).normal(size=forward(x).shape)
        return bool(np.allclose(_slopes(forward, x, r, by=by), backward(r), atol=atol, rtol=1e-4))

    return check_gradient


def _same_shape(forward, backward, x):
    return backward(np.ones_like(forward(x))).shape == x.shape


def _by_directions(forward, backward, x):
    """Random directions instead of single positions."""
    rng = np.random.default_rng(3)
    r = rng.normal(size=forward(x).shape)
    given = backward(r)
    for _ in range(20):
        u = rng.normal(size=x.shape)
        slope = ((forward(x + 1e-5 * u) - forward(x - 1e-5 * u)) * r).sum() / 2e-5
        if not np.isclose(slope, (given * u).sum(), atol=1e-6, rtol=1e-4):
            return False
    return True


@dataclass(frozen=True)
class _Layer:
    """One way through a layer, shown by its name."""

    name: str
    run: Callable[[np.ndarray], np.ndarray] = field(repr=False)

    def __call__(self, array):
        return self.run(array)


def _pairs(rng):
    """(forward, backward, x, what is wrong with backward): layers whose backward knows the x that it is for."""
    w, x, row, block = rng.normal(size=(4, 3)), rng.normal(size=(2, 4)), rng.normal(size=(3, 5)), rng.normal(size=(2, 2, 3))
    weights, sloping = softmax(row), np.where(row > 0, 1.0, 0.0)
    sideways = np.zeros((3, 5))
    sideways[1, 3] = 1.0
    return [
        (lambda a: a @ w, lambda d: d @ w.T, x, ""),
        (lambda a: np.maximum(0, a), lambda d: d, row, "a gate that lets everything through"),
        (softmax, lambda d: _softmax_backward(weights, d), row, ""),
        (np.sin, lambda d: (d * np.cos(block))[::-1], block, "the blocks exchanged"),
        (softmax, lambda d: weights * (1 - weights) * d, row, "wrong off the diagonal"),
        (lambda a: _normed(a)[0], lambda d: _norm_backward(row, d), row, ""),
        (lambda a: _normed(a)[0], lambda d: _norm_backward(row, d, along=0.0), row, "a part forgotten"),
        (softmax, lambda d: weights * (d - (weights * d).sum(axis=0, keepdims=True)), row, "a sum along the wrong axis"),
        (lambda a: np.maximum(0, a), lambda d: d * sloping + sideways, row, "one wrong position of fifteen"),
        (np.sin, lambda d: d * np.cos(row) * 1.003, row, "a little too long everywhere"),
        (np.sin, lambda d: d * np.cos(row), row, ""),
    ]


GRADIENTS = Exercise(
    id="9.17",
    title="A check that finds the fault",
    kind="implement",
    page=PAGE,
    minutes=20,
    difficulty=2,
    statement="""\
`forward(x)` returns an array. `backward(d_y)` takes a gradient at that array and claims to return the gradient at this `x`, but it may be wrong. \
Write `check_gradient(forward, backward, x)`: True if the claim holds to about six digits, False if not. Some faults show in a single position of x; others hide when \
`d_y` is special, such as all ones. `x` is in float64 and must be left as it was.""",
    hints=(
        "You need one number that depends on x. The output has many: weight them by an array r. What is d_y then?",
        "With r = 1 everywhere, the rows of a softmax add up to 1, and every slope is 0: a wrong backward may look right. Draw r at random.",
        "For each position: up by 1e-5, down by 1e-5, the difference of (forward(x) * r).sum() over 2e-5. Compare with `backward(r)` by `np.allclose(…, atol=1e-6)`.",
    ),
    stub="def check_gradient(forward, backward, x):\n    return ...",
    reference=_check_gradient,
    cases=lambda rng: [
        case(_Layer("forward", forward), _Layer("backward", backward), x, note=note) for forward, backward, x, note in _pairs(rng)
    ],
    returns=("right",),
    pure=True,
    wrong={
        "weighed with ones": (
            _summed_up,
            "With all weights 1, some outputs add up to the same sum whatever x is. A wrong backward then looks right: use random weights.",
        ),
        "one place": (_first_place_alone, "You looked at one position of x. A fault may be in another: look at them all."),
        "one sum": (
            _total_alone,
            "You compared the sums over all positions, in which two mistakes can cancel. Compare position by position.",
        ),
        "too small a nudge": (
            _with(by=1e-16),
            "You answer False even for a right backward. Is your nudge so small that rounding swallows it? About 1e-5 is right for central differences.",
        ),
        "too large a nudge": (
            _with(by=0.1),
            "Right for a straight line, but you call the right backward of a curve wrong. Over the length of your nudge the curve bends: print both.",
        ),
        "too wide a tolerance": (
            _with(atol=1e-2),
            "You call a backward right that is 0.3 % too long everywhere. Print the largest difference between your two arrays, for a right one, too.",
        ),
        "shapes alone": (_same_shape, "You checked only the shape. Two gradients of the same shape need not be equal."),
    },
    alternatives={"random directions": _by_directions},
    success="This function finds more faults than any reading of formulas.",
    solution=r"""
A random $r$ turns the output into one number, $\sum y\, r$, and $r$ itself is the gradient of that number at $y$. Then every position of $x$ is moved up and down.

```python
def check_gradient(forward, backward, x):
    r = np.random.default_rng(0).normal(size=forward(x).shape)
    found = backward(r)
    nudged = x.copy()
    for place in np.ndindex(x.shape):
        nudged[place] = x[place] + 1e-5
        above = (forward(nudged) * r).sum()
        nudged[place] = x[place] - 1e-5
        below = (forward(nudged) * r).sum()
        nudged[place] = x[place]
        if abs((above - below) / 2e-5 - found[place]) > 1e-6:
            return False
    return True


check(...)
```
""",
)
EXERCISES = (SOFTMAX, NORM, ATTENTION, TIED, GRADIENTS)
