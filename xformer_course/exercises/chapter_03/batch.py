"""Chapter 03, an exercise on a batch of sentences in torch. Torch is imported where it is used."""

import math

from xformer_course.exercises.exercise import Exercise, case


def _attend(q, k, v, mask, *, after=False, dim=-1, divisor=None):
    import torch

    scores = q @ k.transpose(-2, -1) / (math.sqrt(q.shape[-1]) if divisor is None else divisor)
    if after:
        weights = scores.softmax(dim=dim).masked_fill(~mask, 0.0)
    else:
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=dim)
    return weights @ v, weights


def _masks(k, lengths):
    """Which keys are real (b, j), and which are not in the future (i, j)."""
    import torch

    length = k.shape[-2]
    return torch.arange(length) < lengths[:, None], torch.ones(length, length, dtype=torch.bool).tril()


def _batch_attention(q, k, v, lengths):
    real, causal = _masks(k, lengths)
    return _attend(q, k, v, real[:, None, None, :] & causal)


def _variant(allow=lambda real, causal: real[:, None, None, :] & causal, **settings):
    def batch_attention(q, k, v, lengths):
        return _attend(q, k, v, allow(*_masks(k, lengths)), **settings)

    return batch_attention


def _one_at_a_time(q, k, v, lengths):
    import torch

    outputs, weights = [], []
    for n, real in enumerate(_masks(k, lengths)[0]):
        output, weight = _attend(q[n], k[n], v[n], real & _masks(k, lengths)[1])
        outputs.append(output)
        weights.append(weight)
    return torch.stack(outputs), torch.stack(weights)


def _added_mask(q, k, v, lengths):
    import torch

    real, causal = _masks(k, lengths)
    hidden = torch.zeros(len(lengths), 1, *causal.shape, dtype=q.dtype).masked_fill(~(real[:, None, None] & causal), -torch.inf)
    weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1]) + hidden, dim=-1)
    return torch.einsum("bhij,bhje->bhie", weights, v), weights


def _cases(rng):
    import torch

    def batch(lengths, heads, width, value_width):
        shape = (len(lengths), heads, max(lengths))
        q, k, v = (torch.from_numpy(rng.normal(size=(*shape, size))) for size in (width, width, value_width))
        return q, k, v, torch.tensor(lengths)

    return [
        case(*batch([3, 1], 2, 4, 3), note="two sentences and two heads"),
        case(*batch([2, 5, 4], 3, 7, 2), note="three sentences and three heads"),
        case(*batch([4, 6], 3, 5, 8), note="two sentences and three heads"),
        case(*batch([5], 2, 3, 4), note="a single sentence"),
    ]


BATCH = Exercise(
    id="3.11",
    title="A batch with heads",
    kind="find the bug",
    minutes=12,
    difficulty=2,
    requires="torch",
    statement="""\
In a model the arrays often have a fourth axis: several maps are made for each sentence, side by side, and each of them is called a head. \
`q` and `k` are tensors (b, h, L, d_k) and `v` is (b, h, L, d_v), for b sentences and h heads. Sentence n has `lengths[n]` real words, at \
least one, and then padding. Query i may attend to key j if j ≤ i and if key j is a real word. The function below returns \
`(output, weights)`. With two sentences and two heads it runs, and each row of weights adds up to 1, yet some queries attend to padding. \
Find out which, and fix the function for any number of sentences and heads.""",
    hints=(
        "With two sentences of different lengths and two heads: which sentences, and which heads, give weight to padding?",
        "Print `mask.shape` and `scores.shape`. Broadcasting lines shapes up from the right: which axis of the scores meets the first of the mask?",
        "The padding mask needs an axis of size 1 for the heads and one for the queries: (b, 1, 1, L).",
    ),
    stub="""\
def batch_attention(q, k, v, lengths):
    length = k.shape[-2]
    real = torch.arange(length) < lengths[:, None]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    mask = real[:, None, :] & causal
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights""",
    reference=_batch_attention,
    cases=_cases,
    returns=("output", "weights"),
    wrong={
        "a mask without an axis for the heads": (
            _variant(lambda real, causal: real[:, None, :] & causal),
            "Your mask has one row of sentences where the scores have heads. Print both shapes: which axis meets which?",
        ),
        "padding alone": (
            _variant(lambda real, causal: real[:, None, None, :]),
            "No query attends to padding, but the first word attends to later ones. Which keys may query 0 read?",
        ),
        "causal alone": (
            _variant(lambda real, causal: causal.expand(len(real), 1, *causal.shape)),
            "No query attends to a later word, but some attend to padding. Where does your function use `lengths`?",
        ),
        "queries hidden in place of keys": (
            _variant(lambda real, causal: real[:, None, :, None] & causal),
            'Rows of weights are "not a number": the queries of the padding may attend to nothing. Which axis of the scores are the keys?',
        ),
        "mask after softmax": (
            _variant(after=True),
            "The weights of a row no longer add up to 1, because hidden keys took part in the sum. Where should the mask act?",
        ),
        "mask turned round": (
            _variant(lambda real, causal: ~(real[:, None, None, :] & causal)),
            "Your queries attend to exactly the keys that they may not attend to. `masked_fill` fills where its mask is True.",
        ),
        "softmax over queries": (
            _variant(dim=-2),
            "Your weights add up to 1 down the columns. Print `weights.sum(dim=-1)`: what should the row of each query give?",
        ),
        "no scaling": (_variant(divisor=1.0), "The mask is right. By what does the formula divide the scores?"),
    },
    alternatives={"one sentence at a time": _one_at_a_time, "mask added to the scores": _added_mask},
    success="Every head of a sentence now has the mask of that sentence.",
    solution=r"""
The mask has the shape (b, L, L), the scores (b, h, L, L). Broadcasting lines the shapes up from the right, so the b of the mask meets the h
of the scores: head 0 of every sentence gets the padding of sentence 0, and head 1 that of sentence 1. With b = h this runs without an
error, and with b = 2 and h = 3 it fails. An axis of size 1 for the heads puts the sentences back in line.

```python
def batch_attention(q, k, v, lengths):
    length = k.shape[-2]
    real = torch.arange(length) < lengths[:, None]                # (b, j)
    causal = torch.ones(length, length, dtype=torch.bool).tril()  # (i, j)
    mask = real[:, None, None, :] & causal                        # (b, 1, i, j)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])     # (b, h, i, j)
    scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ v, weights


check(...)
```
""",
)

EXERCISES = (BATCH,)
