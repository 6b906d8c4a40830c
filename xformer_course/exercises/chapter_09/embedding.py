"""Chapter 09, exercises on embeddings and on the wiring of a stack. Torch is imported where it is used."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case, tensor_or_array

TIED_MATRIX = Exercise(
    id="9.1",
    title="Count the tied matrix",
    kind="predict",
    minutes=3,
    difficulty=1,
    statement="""\
One vocabulary of 8,000 tokens serves both languages, and d_model is 256. Three parts of the model need a vector for each token: the \
encoder's input, the decoder's input, and the output. No part has a bias. How many numbers are learned if the three share \
one matrix? And how many if each has its own?""",
    hints=(
        "How large is one matrix that holds a vector for each token?",
        "Sharing means one matrix, however often it is used.",
        "One matrix holds 8,000 × 256 numbers; without sharing there are three of them.",
    ),
    stub='answer = {"shared": ..., "separate": ...}',
    reference={"shared": 2_048_000, "separate": 6_144_000},
    wrong={
        "counted for each use": (
            {"shared": 6_144_000, "separate": 6_144_000},
            "A matrix that is used three times is stored, and learned, once.",
        ),
        "output forgotten": (
            {"shared": 2_048_000, "separate": 4_096_000},
            "The two inputs need a matrix each. What turns the decoder's last vector into 8,000 logits?",
        ),
        "the other way round": (
            {"shared": 6_144_000, "separate": 2_048_000},
            "Which saves numbers: one shared matrix, or one for each part?",
        ),
        "one vector": ({"shared": 256, "separate": 768}, "That is the width of the vector of one token. How many tokens have a vector?"),
        "square matrices": (
            {"shared": 65_536, "separate": 196_608},
            "A map from 256 to 256 knows nothing of the 8,000 tokens. Which two sizes does the matrix connect?",
        ),
        "two matrices kept": (
            {"shared": 4_096_000, "separate": 6_144_000},
            "Where all three parts share, you still count two matrices. How many vectors does a token have then?",
        ),
        "biases counted": (
            {"shared": 2_056_000, "separate": 6_152_000},
            "A little too many: the matrices are right. Does any of the three parts have a bias?",
            lambda answer: answer["shared"] in (2_056_000, 2_048_256) or answer["separate"] in (6_152_000, 6_168_000, 6_144_768, 6_144_256),
        ),
        "two vocabularies": (
            {"shared": 4_096_000, "separate": 12_288_000},
            "You gave each language its own tokens. How many tokens are there for both together?",
            lambda answer: answer["separate"] in (8_192_000, 10_240_000, 12_288_000),
        ),
        "shared and divided": (
            {"shared": 682_667, "separate": 2_048_000},
            "Sharing does not cut the matrix up: each part of the model needs a vector for every token.",
            lambda answer: abs(float(answer["shared"]) - 2_048_000 / 3) < 2,
        ),
    },
    alternatives={"as products": {"shared": 8000 * 256.0, "separate": 3 * 8000 * 256.0}},
    tolerance=1e-12,
    success="In a small model these are most of the parameters.",
    solution=r"""
One matrix with a row of 256 numbers for each of 8,000 tokens is learned once, however often it is used. Without sharing there are three
such matrices.

```python
vocab_size, d_model = 8000, 256
answer = {"shared": vocab_size * d_model, "separate": 3 * vocab_size * d_model}
print(answer)
check(...)
```
""",
)


def _embed(ids, weight, positions):
    return weight[ids] * math.sqrt(weight.shape[1]) + positions[: ids.shape[1]]


def _embed_cases(rng):
    def inputs(batch_size, length, vocab_size, d_model, max_len):
        ids = rng.integers(0, vocab_size, size=(batch_size, length))
        weight = rng.normal(size=(vocab_size, d_model)) / math.sqrt(d_model)
        return map(tensor_or_array, (ids, weight, rng.normal(size=(max_len, d_model))))

    return [case(*inputs(1, 3, 5, 2, 3)), case(*inputs(2, 5, 11, 6, 5)), case(*inputs(3, 4, 7, 10, 13), note="more positions than tokens")]


def _embed_variant(*, times=lambda weight: math.sqrt(weight.shape[1]), positions_too=False):
    def embed(ids, weight, positions):
        places = positions[: ids.shape[1]]
        if positions_too:
            return (weight[ids] + places) * times(weight)
        return weight[ids] * times(weight) + places

    return embed


def _appended(ids, weight, positions):
    words = np.asarray(weight[ids]) * math.sqrt(weight.shape[1])
    return np.concatenate([words, np.broadcast_to(np.asarray(positions)[: ids.shape[1]], words.shape)], axis=-1)


def _embed_one_hot(ids, weight, positions):
    one_hot = np.eye(len(weight))[np.asarray(ids)]
    return one_hot @ np.asarray(weight) * weight.shape[1] ** 0.5 + np.asarray(positions)[: ids.shape[1]]


EMBEDDING_SIZE = Exercise(
    id="9.2",
    title="Embeddings of the right size",
    kind="implement",
    minutes=8,
    difficulty=1,
    statement="""\
The entries of the shared matrix `weight` (v, m) have a variance of 1/m, which suits the output. Write \
`embed(ids, weight, positions)`: the input of the first layer (b, i, m), for `ids` (b, i) and a table `positions` \
(max_len, m) with at least i rows. Scale it as in "Attention Is All You Need". All are tensors (on the web page, arrays).""",
    hints=(
        "A row of `weight` has variance 1/m in each entry. Which factor makes that 1?",
        "`weight[ids]` has shape (b, i, m). The factor belongs to the word vectors alone.",
        "Multiply the rows by √m and add the first i rows of `positions`; the batch axis takes care of itself.",
    ),
    stub="def embed(ids, weight, positions):\n    return ...",
    reference=_embed,
    cases=_embed_cases,
    returns=("embedded",),
    wrong={
        "no scaling": (
            _embed_variant(times=lambda weight: 1.0),
            "Your word vectors are not scaled. Print their variance next to that of the positions.",
        ),
        "divided by the root": (
            _embed_variant(times=lambda weight: weight.shape[1] ** -0.5),
            "You made small vectors smaller. Attention divides its scores; what is needed here?",
        ),
        "times the width": (
            _embed_variant(times=lambda weight: weight.shape[1]),
            "A factor c multiplies a variance by c². Which c takes 1/m to 1?",
        ),
        "root of the vocabulary": (
            _embed_variant(times=lambda weight: math.sqrt(len(weight))),
            "You scale by a size of the vocabulary. Which axis of `weight` has the width of the model?",
        ),
        "positions scaled too": (
            _embed_variant(positions_too=True),
            "The factor acts on the positions as well, so words and positions keep their old proportion.",
        ),
        "positions appended": (
            _appended,
            "Your vectors are twice as wide: you put the positions next to the words. The first layer expects width m.",
        ),
        "positions looked up by id": (
            lambda ids, weight, positions: weight[ids] * math.sqrt(weight.shape[1]) + positions[ids % len(positions)],
            "Each word brings its own row of `positions`, wherever the word is. What should choose the row?",
        ),
        "no positions": (
            lambda ids, weight, positions: weight[ids] * math.sqrt(weight.shape[1]),
            "The scaling is right, but `positions` is not used at all.",
        ),
        "root of the length": (
            lambda ids, weight, positions: weight[ids] * math.sqrt(ids.shape[1]) + positions[: ids.shape[1]],
            "You scale by the number of tokens. A row of `weight` has variance 1/m: which axis is m?",
        ),
        "one place for all": (
            lambda ids, weight, positions: weight[ids] * math.sqrt(weight.shape[1]) + positions[0],
            "Every word gets the same row of `positions`. Exchange two words: does anything but their order change?",
        ),
        "positions scaled, words not": (
            lambda ids, weight, positions: weight[ids] + math.sqrt(weight.shape[1]) * positions[: ids.shape[1]],
            "You scaled the positions. Which of the two would drown?",
        ),
    },
    alternatives={"one-hot product": _embed_one_hot},
    success="Word vectors and positions now have comparable size.",
    solution=r"""
Entries of variance 1/m become entries of variance 1 by the factor √m, because a factor c multiplies a variance by c². Only the word
vectors are scaled; the first i rows of the table of positions are added afterwards and broadcast over the batch.

```python
def embed(ids, weight, positions):
    return weight[ids] * math.sqrt(weight.shape[1]) + positions[: ids.shape[1]]


check(...)
```
""",
)


def _through(pre, post, *, last=True):
    """A function like the reference, given one step of each order; ``last``: the norm at the end of "pre"."""

    def stack(x, sublayers, norms, order):
        for sublayer, norm in zip(sublayers, norms):
            x = (pre if order == "pre" else post)(x, sublayer, norm)
        return norms[-1](x) if last and order == "pre" else x

    return stack


def _pre(x, f, norm):
    return x + f(norm(x))


def _post(x, f, norm):
    return norm(x + f(x))


_stack = _through(_pre, _post)


def _stack_cases(rng):
    import torch

    def inputs(batch_size, length, d_model, n, order):
        norms = [torch.nn.LayerNorm(d_model, dtype=torch.float64) for _ in range(n + (order == "pre"))]
        sublayers = [
            torch.nn.Sequential(
                torch.nn.Linear(d_model, 4, dtype=torch.float64), torch.nn.Tanh(), torch.nn.Linear(4, d_model, dtype=torch.float64)
            )
            for _ in range(n)
        ]
        with torch.no_grad():
            for module in (*norms, *sublayers):
                for parameter in module.parameters():
                    parameter.copy_(torch.from_numpy(rng.normal(size=parameter.shape)))
        return torch.from_numpy(3 * rng.normal(size=(batch_size, length, d_model)) + 1), sublayers, norms, order

    return [
        case(*inputs(1, 2, 3, 1, "pre")),
        case(*inputs(1, 2, 3, 1, "post"), note='order "post"'),
        case(*inputs(2, 5, 6, 3, "pre")),
        case(*inputs(3, 4, 7, 2, "post"), note='order "post"'),
    ]


def _exchanged_with_the_last(x, sublayers, norms, order):
    if order == "pre":
        return _through(_post, _post, last=False)(x, sublayers, norms, order)
    return norms[-1](_through(_pre, _pre)(x, sublayers, norms, order))


def _step_by_step(x, sublayers, norms, order):
    for n, sublayer in enumerate(sublayers):
        inside = norms[n](x) if order == "pre" else x
        total = sublayer(inside) + x
        x = total if order == "pre" else norms[n](total)
    for norm in norms[len(sublayers) :]:
        x = norm(x)
    return x


TWO_WAYS = Exercise(
    id="9.3",
    title="Two ways through a stack",
    kind="implement",
    minutes=10,
    difficulty=2,
    requires="torch",
    statement="""\
Write `stack(x, sublayers, norms, order)`. Both lists hold functions from (b, i, m) to (b, i, m). With `order="post"`, as in \
the paper, each sublayer sees `x`, its result is added to `x`, and the sum is normalised. With `order="pre"` each sublayer \
sees the normalised `x`, and its result is added to `x` itself. `norms` then holds one more function, which acts on what \
leaves the stack.""",
    hints=(
        "In which of the two orders is there a path from input to output that goes through no norm but the last one?",
        "Draw one sublayer in the two orders: one line for `x` itself, one branch. Where does the norm sit?",
        "pre: x plus sublayer of norm of x, n times, then the last norm. post: norm of the whole sum, n times.",
    ),
    stub="def stack(x, sublayers, norms, order):\n    return ...",
    reference=_stack,
    cases=_stack_cases,
    returns=("x",),
    wrong={
        "the two orders exchanged": (
            _through(_post, _pre, last=False),
            'Both formulas are right, but each has the other\'s name. "pre" says that the norm comes before the sublayer.',
        ),
        "last norm forgotten": (
            _through(_pre, _post, last=False),
            'In "pre" one norm is left over. What leaves the stack, and who brings it back to size?',
        ),
        "path through the norm": (
            _through(lambda x, f, norm: norm(x) + f(norm(x)), _post),
            'In "pre" you add to the normalised x: the direct path now goes through a norm at every sublayer.',
        ),
        "norm of the branch alone": (
            _through(_pre, lambda x, f, norm: x + norm(f(x))),
            'In "post" the norm comes after the sum; yours sees only what the sublayer returned.',
        ),
        "no residual": (
            _through(lambda x, f, n: f(n(x)), lambda x, f, n: n(f(x))),
            "Nothing carries `x` past the sublayer. What is added to what?",
        ),
        "always pre": (_through(_pre, _pre), '`order` makes no difference to your residuals. Write down one sublayer for "post".'),
        "always post": (
            _through(_post, _post, last=False),
            '`order` makes no difference to your result. Write down one sublayer for "pre".',
        ),
        "one norm for all": (
            lambda x, sublayers, norms, order: _stack(x, sublayers, [norms[0]] * len(norms), order),
            "Every sublayer gets `norms[0]`. How many norms were you given, and which belongs to which?",
        ),
        "exchanged, last norm too": (
            _exchanged_with_the_last,
            'Each order has the wiring of the other one, the last norm included. "pre" says that the norm comes before the sublayer.',
        ),
        "added to nothing in pre": (_through(lambda x, f, norm: f(norm(x)), _post), 'In "pre" nothing carries `x` past the sublayer.'),
        "last norm in both": (
            lambda x, sublayers, norms, order: (
                _stack(x, sublayers, norms, order) if order == "pre" else norms[-1](_stack(x, sublayers, norms, order))
            ),
            'In "post" the last sum is normalised already; what does your last line do to it?',
        ),
    },
    alternatives={"step by step": _step_by_step},
    success="Only the pre-norm order carries x past all sublayers untouched, so it needs one more norm.",
    solution=r"""
The two orders differ in where the norm sits: on the way into the branch ("pre") or after the sum ("post"). In "pre" the direct path
meets no norm on its way past the sublayers, so the sum that leaves the stack gets one of its own.

```python
def stack(x, sublayers, norms, order):
    for sublayer, norm in zip(sublayers, norms):
        if order == "pre":
            x = x + sublayer(norm(x))
        else:
            x = norm(x + sublayer(x))
    return norms[-1](x) if order == "pre" else x


check(...)
```

Sublayers that return 0 make the difference visible: with no norm at the end, here `torch.nn.Identity`, the pre-norm order hands `x` on
unchanged, the post-norm order does not.

```python
x = torch.arange(6.0).reshape(1, 2, 3)
norms = [torch.nn.LayerNorm(3), torch.nn.LayerNorm(3)]
nothing = [torch.zeros_like, torch.zeros_like]
print("pre: ", torch.equal(stack(x, nothing, [*norms, torch.nn.Identity()], "pre"), x))
print("post:", torch.equal(stack(x, nothing, norms, "post"), x))
```
""",
)

EXERCISES = (TIED_MATRIX, EMBEDDING_SIZE, TWO_WAYS)
