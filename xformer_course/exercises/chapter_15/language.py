"""Chapter 15, exercises on decoder-only models. Torch is imported where it is used."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, Misconception, case

ATTENTION = 4 * (256 * 256 + 256)
FEED_FORWARD = 2 * 256 * 1024 + 1024 + 256
NORM = 2 * 256
WITH, WITHOUT = 2 * ATTENTION + FEED_FORWARD + 3 * NORM, ATTENTION + FEED_FORWARD + 2 * NORM

THIRD = Exercise(
    id="15.1",
    title="What cross-attention weighs",
    kind="predict",
    minutes=6,
    difficulty=1,
    statement="""\
A decoder layer of our library has d_model = 256 and d_ff = 1,024. Each attention has four square matrices and the \
feed-forward net has two matrices, all with a bias. Each residual has a LayerNorm with a gain and a shift for every feature. How \
many numbers does such a layer learn? And how many without cross-attention and its residual?""",
    hints=(
        "Count one attention first: four matrices of which shape, and four biases of which length?",
        "A decoder layer has two attentions, one feed-forward net and three residuals. Which of them go?",
        "One attention is 4 · (256² + 256); the feed-forward net is 2 · 256 · 1,024 + 1,024 + 256; a LayerNorm is 2 · 256.",
    ),
    stub='answer = {"with": ..., "without": ...}',
    reference={"with": WITH, "without": WITHOUT},
    wrong={
        "biases forgotten": (
            {"with": 8 * 256**2 + 2 * 256 * 1024 + 3 * NORM, "without": 4 * 256**2 + 2 * 256 * 1024 + 2 * NORM},
            "You counted the matrices right. Every projection and both layers of the net also have a bias.",
        ),
        "norms forgotten": (
            {"with": WITH - 3 * NORM, "without": WITHOUT - 2 * NORM},
            "The attentions and the net are right. Each residual also has a LayerNorm.",
        ),
        "its norm stays": (
            {"with": WITH, "without": WITHOUT + NORM},
            "The first number is right. The residual of cross-attention also goes, and it has a LayerNorm.",
        ),
        "three matrices an attention": (
            {"with": WITH - 2 * (256**2 + 256), "without": WITHOUT - (256**2 + 256)},
            "You counted three projections per attention. What happens to the heads after they are joined?",
        ),
        "the other way round": Misconception(
            {"with": WITHOUT, "without": WITH}, "Both numbers are right, but each is under the other's name.", whole=True
        ),
    },
    alternatives={"as floats": {"with": float(WITH), "without": float(WITHOUT)}},
    tolerance=1e-12,
    success="A quarter of the layer was there to read the source.",
    solution=r"""
A decoder layer has two attentions, a net and three residuals with a LayerNorm each. Without cross-attention one attention and one
LayerNorm go.

```python
m, f = 256, 1024
attention, net, norm = 4 * (m * m + m), 2 * m * f + f + m, 2 * m
answer = {"with": 2 * attention + net + 3 * norm, "without": attention + net + 2 * norm}
print(answer, f"{1 - answer['without'] / answer['with']:.2f} of it goes")
check(...)
```
""",
)


def _loss(logits, ids, pad_id):
    from torch.nn.functional import cross_entropy

    return cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=pad_id)


def _loss_cases(rng):
    import torch

    def inputs(lengths, vocab_size, pad_id):
        longest, words = max(lengths), np.delete(np.arange(vocab_size), pad_id)
        ids = torch.full((len(lengths), longest), pad_id)
        for row, length in enumerate(lengths):
            ids[row, :length] = torch.from_numpy(rng.choice(words, size=length))
        return torch.from_numpy(2 * rng.normal(size=(len(lengths), longest, vocab_size))), ids, pad_id

    return [
        case(*inputs([3], 5, 0)),
        case(*inputs([7, 7], 11, 0)),
        case(*inputs([5, 2, 4], 13, 0), note="rows of different length"),
        case(*inputs([3, 6], 7, 4), note="another pad_id"),
    ]


def _loss_variant(read, say, **settings):
    def loss(logits, ids, pad_id):
        from torch.nn.functional import cross_entropy

        chosen, answers = logits[:, read].flatten(0, 1), ids[:, say].flatten()
        return cross_entropy(chosen, answers, **{"ignore_index": pad_id, **settings})

    return loss


def _one_by_one(logits, ids, pad_id):
    terms = [
        -logits[b, t].log_softmax(dim=-1)[ids[b, t + 1]]
        for b in range(len(ids))
        for t in range(ids.shape[1] - 1)
        if ids[b, t + 1] != pad_id
    ]
    return sum(terms) / len(terms)


BUG = Exercise(
    id="15.8",
    title="A loss that is too good",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    requires="torch",
    statement="""\
A language model reads `ids` (b, t), which begin with `<bos>`, and gives `logits` (b, t, v): those at position t come \
from the tokens up to and including t. When we trained it with the function below, its loss fell to almost zero in a minute, \
and now it writes one word for ever. Fix the function: it should return the mean of −log p of the tokens that are really asked for, leaving \
padding out.""",
    hints=(
        "What is the easiest way to make this loss small, for a model that sees the token at its own position?",
        "The logits at position t should be compared with the token at position t + 1. What does the last position have to say?",
        "Use `logits[:, :-1]` and `ids[:, 1:]`: the same number of positions, shifted by one.",
    ),
    stub="""\
def loss_of(logits, ids, pad_id):
    said, answers = logits.flatten(0, 1), ids.flatten()
    return torch.nn.functional.cross_entropy(said, answers, ignore_index=pad_id)""",
    reference=_loss,
    cases=_loss_cases,
    returns=("loss",),
    tolerance=1e-7,
    wrong={
        "copying is still rewarded": (
            _loss_variant(slice(None), slice(None)),
            "The token at position t is still compared with the logits at position t, which have read it.",
        ),
        "shifted the wrong way": (
            _loss_variant(slice(1, None), slice(None, -1)),
            "Now position t must predict the token *before* it, which it has also read. Which token comes next?",
        ),
        "one place lost": (
            _loss_variant(slice(None, -1), slice(None, -1)),
            "You cut both at the end, so they still face each other. Cut the logits at the end and the ids at the beginning.",
        ),
        "padding asked": (
            _loss_variant(slice(None, -1), slice(1, None), ignore_index=-100),
            "The shift is right, but the model is now asked to predict padding.",
        ),
        "a sum": (
            _loss_variant(slice(None, -1), slice(1, None), reduction="sum"),
            "The shift is right, but the terms are added up, not averaged.",
        ),
        "a mean of means": (
            lambda logits, ids, pad_id: sum(_loss(logits[b : b + 1], ids[b : b + 1], pad_id) for b in range(len(ids))) / len(ids),
            "You average each row first, so a token of a short row counts more than a token of a long row.",
        ),
    },
    alternatives={"one token at a time": _one_by_one},
    success="Each position now has to predict what it has not read.",
    page="15a_one_body_other_tasks",
    solution=r"""
The logits at position t have read the token at position t, so copying it made the loss small. When such a model writes, it copies its last
token, and `<bos>` follows `<bos>` for ever. Each position should predict the next token. So the last position has nothing to predict, and the first
token is never asked for.

```python
def loss_of(logits, ids, pad_id):
    said, answers = logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(said, answers, ignore_index=pad_id)


check(...)
```
""",
)


def _prefix(length, prefix):
    mask = np.tri(length, dtype=bool)
    mask[:, :prefix] = True
    return mask


def _of(build):
    return lambda length, prefix: build(np.tri(length, dtype=bool), np.arange(length) < prefix)


PREFIX = Exercise(
    id="15.10",
    title="Half open, half closed",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
In a row "source, target" the source is known from the start, so its positions may read one another in both directions; \
only the target has a future to hide. In NumPy or PyTorch, write `prefix_mask(length, prefix)`: a boolean mask (length, length), rows are \
queries, True = may attend. Every position may read the first `prefix` positions, and all others at or before its own.""",
    hints=(
        "With `prefix` = 0, which mask of chapter 9 is this?",
        "Start from the lower triangle. Which columns, for all rows, have to be opened as well?",
        "`mask = torch.ones(length, length).bool().tril()`, then set the first `prefix` *columns* to True.",
    ),
    stub="def prefix_mask(length, prefix):\n    return ...",
    reference=_prefix,
    cases=lambda rng: [
        case(3, 2),
        case(5, 0, note="no prefix"),
        case(7, 3),
        case(4, 4, note="nothing but a prefix"),
        case(11, int(rng.integers(2, 10))),
    ],
    returns=("mask",),
    wrong={
        "causal everywhere": (_of(lambda past, early: past), "This is the causal mask: position 0 cannot read the rest of the source."),
        "rows opened": (
            _of(lambda past, early: past | early[:, None]),
            "You opened the first rows: a source position now reads the target, which does not exist yet when the model writes. Rows are queries.",
        ),
        "target blind to the source": (
            _of(lambda past, early: np.where(early[:, None], early[None], past & ~early[None])),
            "The two parts no longer see each other. How should the target know what to say?",
        ),
        "everything open": (
            _of(lambda past, early: np.ones_like(past)),
            "Every position reads the whole row: the target sees the words that it should predict.",
        ),
        "upside down": (
            _of(lambda past, early: past.T | early[None]),
            "Your target looks forward. Print the mask for length 4 with rows as queries.",
        ),
        "one column too many": (
            _of(lambda past, early: past | np.append(True, early[:-1])[None]),
            "Column `prefix` is also open, and that is the first word of the target. Counting starts at 0.",
        ),
    },
    alternatives={
        "at once": _of(lambda past, early: past | early[None]),
        "loop": lambda length, prefix: [[j <= i or j < prefix for j in range(length)] for i in range(length)],
    },
    success="One stack now reads the source like an encoder and writes the target like a decoder.",
    page="15a_one_body_other_tasks",
    solution=r"""
The causal mask is the lower triangle. Every query may read the keys of the prefix, so we open their columns. Open rows would let the
source read the target.

```python
def prefix_mask(length, prefix):
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    mask[:, :prefix] = True
    return mask


check(...)
```
""",
)

EXERCISES = (THIRD, BUG, PREFIX)
