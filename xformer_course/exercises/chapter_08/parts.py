"""Chapter 08, exercises on the parts of a layer: heads, dropout, normalisation, parameters."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _split(x, num_heads):
    b, i, width = x.shape
    return x.reshape(b, i, num_heads, width // num_heads).transpose(0, 2, 1, 3)


def _split_by_slices(x, num_heads):
    width = x.shape[-1] // num_heads
    return np.stack([x[:, :, n * width : (n + 1) * width] for n in range(num_heads)], axis=1)


SPLIT = Exercise(
    id="8.1",
    title="Give every head its axis",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
One wide projection has made the queries of all heads at once. Its result has shape (b, i, h·d): at each position first the d numbers of head 0, then the d numbers of \
head 1, and so on. Write `split_heads(x, num_heads)` in NumPy. It turns the array into (b, h, i, d). Then each head \
can attend by itself.""",
    hints=(
        "Take one position with six numbers and three heads. Which two numbers belong to head 1?",
        "A reshape keeps the order of the numbers in memory. Which axis can you cut in two without moving any number?",
        "Cut the last axis to get (b, i, h, d). Then exchange the axes i and h.",
    ),
    stub="def split_heads(x, num_heads):\n    return ...",
    reference=_split,
    cases=lambda rng: [
        case(np.arange(12.0).reshape(1, 2, 6), 3),
        case(rng.normal(size=(2, 5, 12)), 4),
        case(rng.normal(size=(3, 7, 10)), 2),
        case(rng.normal(size=(2, 3, 5)), 1, note="one head"),
    ],
    returns=("heads",),
    wrong={
        "one reshape to the end": (
            lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1),
            "The shape is right, but words and heads are mixed, because a reshape cannot exchange two axes. Print the first head of a small array: which positions do its numbers come from?",
        ),
        "heads interleaved": (
            lambda x, num_heads: x.reshape(*x.shape[:2], -1, num_heads).transpose(0, 3, 1, 2),
            "Your head 0 took every h-th number. The numbers of one head are next to each other.",
        ),
        "axes not exchanged": (
            lambda x, num_heads: x.reshape(*x.shape[:2], num_heads, -1),
            "The last axis is cut in two as it should be. In which order do batch, head and position come?",
        ),
        "heads before the batch": (
            lambda x, num_heads: _split(x, num_heads).transpose(1, 0, 2, 3),
            "Each head is whole, but the head axis comes before the batch. Which order did the statement ask for?",
        ),
        "numbers before positions": (
            lambda x, num_heads: _split(x, num_heads).swapaxes(2, 3),
            "Batch and head are right. Look at the last two axes of your shape. Which of them counts positions?",
        ),
        "heads last": (
            lambda x, num_heads: _split(x, num_heads).transpose(0, 2, 3, 1),
            "Each head is whole, but its axis comes last. Which order did the statement ask for?",
        ),
        "numbers before heads": (
            lambda x, num_heads: _split(x, num_heads).transpose(0, 3, 2, 1),
            "Print the shape. The axis of heads and the axis of their numbers are swapped.",
        ),
    },
    alternatives={"slices": _split_by_slices},
    success="Cut the last axis, then exchange: no number changes its neighbours within a head.",
    solution=r"""
A reshape may cut an axis in two, because the numbers keep their order: the last axis becomes (h, d). It cannot exchange two axes.
That is what the transposition is for.

```python
def split_heads(x, num_heads):
    b, i, width = x.shape
    heads = x.reshape(b, i, num_heads, width // num_heads)
    return heads.transpose(0, 2, 1, 3)


check(...)
```

A single reshape to (b, h, i, d) is tempting. It has the right shape and the wrong contents. Two words of width 4, two heads: head 0 of the
second word should hold 4 and 5.

```python
x = np.arange(8).reshape(1, 2, 4)
print("right", split_heads(x, 2)[0, 0].tolist())
print("wrong", x.reshape(1, 2, 2, 2)[0, 0].tolist())
```
""",
)


def _dropout(x, p, draws, training):
    return x * (draws >= p) / (1 - p) if training else x


def _dropout_cases(rng):
    def inputs(*shape):
        return rng.normal(size=shape) + 3.0, rng.random(shape)

    x, draws = inputs(3, 5)
    wide, wide_draws = inputs(7, 11)
    still, still_draws = inputs(2, 3)
    return [
        case(np.array([[2.0, 4.0, 6.0]]), 0.25, np.array([[0.1, 0.5, 0.9]]), True),
        case(
            np.array([[1.0, 5.0], [3.0, 2.0], [7.0, 4.0]]),
            0.5,
            np.array([[0.5, 0.25], [0.75, 0.5], [0.0, 0.5]]),
            True,
            note="draws that are equal to p",
        ),
        case(x, 0.4, draws, True),
        case(wide, 0.1, wide_draws, True),
        case(still, 0.3, still_draws, False, note="not training"),
    ]


def _dropout_by_loop(x, p, draws, training):
    if not training:
        return x
    kept = [0.0 if draw < p else value / (1 - p) for value, draw in zip(x.flat, draws.flat, strict=True)]
    return np.array(kept).reshape(x.shape)


DROPOUT = Exercise(
    id="8.3",
    title="The layer that changes the mean",
    kind="find the bug",
    minutes=6,
    difficulty=1,
    statement="""\
`draws` are random numbers between 0 and 1, one for each element of `x`. While training, an element is set to zero if its draw is below `p`. \
Otherwise it stays and is multiplied by a factor, chosen so that over many draws the output of each element is on average the element itself. \
Outside training `x` comes back unchanged. The function below loses something. Find out what, and fix it.""",
    hints=(
        "Let x be all ones and p = 0.25. What mean should the output have, and what mean does it have?",
        "A share of 1 - p survives. What must the survivors be multiplied by to keep the mean?",
        "Divide the survivors by 1 - p, but only while training.",
    ),
    stub="def dropout(x, p, draws, training):\n    return x * (draws >= p) if training else x",
    reference=_dropout,
    cases=_dropout_cases,
    returns=("output",),
    wrong={
        "not scaled": (
            lambda x, p, draws, training: np.where(draws < p, 0.0, x) if training else x,
            "The zeros are in the right positions, but the mean fell. By what factor, for p = 0.25?",
        ),
        "drops in use too": (
            lambda x, p, draws, training: x * (draws >= p) / (1 - p),
            "This is right while training. What should come back when `training` is False?",
        ),
        "divided by the share that is dropped": (
            lambda x, p, draws, training: x * (draws >= p) / p if training else x,
            "Try p = 0.1 and an x of ones: the mean is 9. What share of the elements survives?",
        ),
        "scaled down": (
            lambda x, p, draws, training: x * (draws >= p) * (1 - p) if training else x,
            "The mean fell twice, once by the zeros and once by your factor. In which direction must the survivors change?",
        ),
        "the wrong ones dropped": (
            lambda x, p, draws, training: x * (draws < p) / (1 - p) if training else x,
            "You keep the elements that should go. Look at the element with the smallest draw: it should be zero.",
        ),
        "scaled outside training": (
            lambda x, p, draws, training: x * (draws >= p) if training else x * (1 - p),
            "You moved the correction to the other side. Here x must come back unchanged outside training.",
        ),
        "dropped at p itself": (
            lambda x, p, draws, training: x * (draws > p) / (1 - p) if training else x,
            "Right, except for a draw that equals p. Read the statement again: which draws set an element to zero?",
        ),
        "scaled by this draw": (
            lambda x, p, draws, training: x * (draws >= p) / max((draws >= p).mean(), 1e-12) if training else x,
            "You divide by the share that *happened* to survive, so the fate of one element changes the others. What share survives on average?",
        ),
        "mean forced": (
            lambda x, p, draws, training: x * (draws >= p) * (x.mean() / (x * (draws >= p)).mean()) if training else x,
            "You force the mean of every single draw. It should hold only on average, with one factor that depends on nothing but p. What share survives on average?",
        ),
        "p taken for keeping": (
            lambda x, p, draws, training: x * (draws < p) / p if training else x,
            "You read p as the probability of staying. What does the statement say about a draw below p?",
        ),
        "dropped by p, not scaled": (
            lambda x, p, draws, training: x * (draws < p) if training else x,
            "The element with the smallest draw should be zero, and yours stays. The mean has fallen as well.",
        ),
        "scaled by 1 + p": (
            lambda x, p, draws, training: x * (draws >= p) * (1 + p) if training else x,
            "Nearly right for a small p. Try p = 0.5 and an x of ones. What mean is left?",
        ),
    },
    alternatives={"loop": _dropout_by_loop},
    success="The factor belongs to training. Afterwards the model has nothing to do.",
    solution=r"""
A share of $1 - p$ survives, so the mean falls to $1 - p$ of what it was. Dividing the survivors by $1 - p$ repairs it. After training there
is nothing to repair.

```python
def dropout(x, p, draws, training):
    return x * (draws >= p) / (1 - p) if training else x


check(...)
```
""",
)


def _layer_norm(x, gain, shift, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + eps) + shift


def _norm_cases(rng):
    def inputs(b, i, m, scale=1.0):
        return scale * rng.normal(size=(b, i, m)) + rng.normal(size=(b, i, 1)), rng.normal(size=m), rng.normal(size=m)

    return [
        case(np.array([[[1.0, 2.0, 6.0], [0.0, 4.0, 5.0]]]), np.ones(3), np.zeros(3)),
        case(*inputs(2, 5, 7)),
        case(*inputs(3, 4, 11, 0.01), note="a small spread, where eps counts"),
        case(np.ones((1, 2, 3)), np.ones(3), np.zeros(3), note="equal features"),
        case(*inputs(3, 2, 5), eps=0.1, note="another eps"),
    ]


def _norm_over(axes):
    def layer_norm(x, gain, shift, eps=1e-5):
        mean, variance = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
        return gain * (x - mean) / np.sqrt(variance + eps) + shift

    return layer_norm


def _norm_of(form):
    """The same with another formula for a token, given its mean and its variance."""

    def layer_norm(x, gain, shift, eps=1e-5):
        return form(x, x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True), gain, shift, eps)

    return layer_norm


def _norm_by_loop(x, gain, shift, eps=1e-5):
    out = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        token = x[place]
        out[place] = gain * (token - token.mean()) / np.sqrt(token.var() + eps) + shift
    return out


NORM = Exercise(
    id="8.2",
    title="Normalise one token",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `layer_norm(x, gain, shift, eps=1e-5)` in NumPy, for `x` (b, i, m) and `gain`, `shift` (m,). The m \
features of each token get mean 0 and variance 1. Then each feature is multiplied by its gain, and its shift is added. The variance is \
the mean squared deviation, and `eps` is added to it under the root.""",
    hints=(
        "How many means are there for x of shape (b, i, m)?",
        "One token is one vector x[b, i, :]. Over which axis do you take its mean and its variance?",
        "(x - mean) / sqrt(variance + eps), both over the last axis with keepdims=True; then gain and shift.",
    ),
    stub="def layer_norm(x, gain, shift, eps=1e-5):\n    return ...",
    reference=_layer_norm,
    cases=_norm_cases,
    returns=("normalised",),
    wrong={
        "over the sequence": (
            _norm_over(1),
            "You averaged over the positions. Then the output of a word depends on the other words. Which axis holds the features of one token?",
        ),
        "over the batch": (
            _norm_over(0),
            "You averaged over the sentences of the batch. That is batch normalisation; here each token is normalised by itself.",
        ),
        "over the sentence": (_norm_over((1, 2)), "One mean for a whole sentence. How many means are there if every token has its own?"),
        "divided by m - 1": (
            _norm_of(
                lambda x, mean, var, gain, shift, eps: gain * (x - mean) / np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + eps) + shift
            ),
            "Close, but each row is too small by one factor. Is your variance the mean of the squared deviations?",
        ),
        "eps beside the root": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * (x - mean) / (np.sqrt(var) + eps) + shift),
            "Right unless the spread is small. Does the statement add eps to the variance or to its root?",
        ),
        "divided by the variance": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * (x - mean) / (var + eps) + shift),
            "Print the variance of your output's rows without gain and shift: is it 1?",
        ),
        "gain and shift left out": (
            lambda x, gain, shift, eps=1e-5: (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps),
            "The rows are normalised. What happened to `gain` and `shift`?",
        ),
        "root mean square only": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) + shift),
            "That is the RMS norm, which subtracts no mean. Print the means of your rows without gain and shift: are they 0?",
        ),
        "mean not taken away": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * x / np.sqrt(var + eps) + shift),
            "Your rows have the right spread. Print their means without gain and shift: are they 0?",
        ),
        "not divided": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * (x - mean) + shift),
            "Your rows have mean 0. Print their variance without gain and shift: is it 1?",
        ),
        "moved before the gain": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * ((x - mean) / np.sqrt(var + eps) + shift)),
            "Right while the gain is 1. Which comes first, the gain or the shift?",
        ),
        "divided by the length": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * (x - mean) / np.sqrt(var * x.shape[-1] + eps) + shift),
            "You add up the squared deviations and do not take their mean. Print the variance of your rows without gain and shift.",
        ),
        "eps outside the root": (
            _norm_of(lambda x, mean, var, gain, shift, eps: gain * (x - mean) / np.sqrt(var + eps**2) + shift),
            "Right unless the spread is small. What exactly is added to the variance?",
        ),
        "gain and shift exchanged": (
            _norm_of(lambda x, mean, var, gain, shift, eps: shift * (x - mean) / np.sqrt(var + eps) + gain),
            "The rows are normalised. Which of the two vectors multiplies, and which is added?",
        ),
    },
    alternatives={"loop over tokens": _norm_by_loop},
    success="It does not depend on other tokens, so it works for any length and any batch.",
    solution=r"""
A token is one vector along the last axis, so take its mean and variance over that axis. `keepdims=True` keeps an axis of size 1
for broadcasting.

```python
def layer_norm(x, gain, shift, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(variance + eps) + shift


check(...)
```
""",
)

PARAMETERS = Exercise(
    id="8.4",
    title="Count a layer",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
An encoder layer has d_model = 10 and d_ff = 40. Every `nn.Linear` has a bias, and each \
of the two norms has a gain and a shift. How many numbers does the layer learn in its attention with 2 heads of width 5? How many with 5 heads of width 2? \
How many in its feed-forward net, and how many in its two norms together?""",
    hints=(
        "Which four matrices does attention learn, and how large is each of them with all heads side by side?",
        "A linear map from n to k numbers has n·k weights and k biases.",
        "Attention: four maps from 10 to 10, for any number of heads. Feed-forward: 10 to 40, and 40 to 10.",
    ),
    stub='answer = {"2 heads": ..., "5 heads": ..., "feed-forward": ..., "norms": ...}',
    reference={"2 heads": 440, "5 heads": 440, "feed-forward": 850, "norms": 40},
    wrong={
        "no output projection": (
            {"2 heads": 330, "5 heads": 330, "feed-forward": 850, "norms": 40},
            "You counted three maps, for queries, keys and values. What mixes the heads at the end?",
        ),
        "biases forgotten": (
            {"2 heads": 400, "5 heads": 400, "feed-forward": 800, "norms": 40},
            "The weights are right, but the biases are missing. Every projection has one.",
        ),
        "more heads, more numbers": (
            {"2 heads": 440, "5 heads": 1100, "feed-forward": 850, "norms": 40},
            "Five heads have more matrices, but narrower ones. How many columns do they have together?",
            lambda answer: answer["5 heads"] > answer["2 heads"],
        ),
        "one norm": (
            {"2 heads": 440, "5 heads": 440, "feed-forward": 850, "norms": 20},
            "You counted one norm. Attention and feed-forward have one each.",
        ),
        "one head alone": (
            {"2 heads": 220, "5 heads": 88, "feed-forward": 850, "norms": 40},
            "With more heads you count fewer numbers. Did you count one head only? How many columns do all heads have together?",
            lambda answer: answer["5 heads"] < answer["2 heads"],
        ),
        "one number for all features": (
            {"2 heads": 440, "5 heads": 440, "feed-forward": 850, "norms": 4},
            "You gave a norm a single gain and a single shift. What shape do they have in exercise 8.2?",
            lambda answer: answer["norms"] in (2, 4),
        ),
        "half a feed-forward net": (
            {"2 heads": 440, "5 heads": 440, "feed-forward": 440, "norms": 40},
            "You counted one of the two maps. The 40 numbers in the middle must get back to 10.",
            lambda answer: answer["feed-forward"] in (400, 410, 440, 450),
        ),
        "a bias of another width": (
            {"2 heads": 440, "5 heads": 440, "feed-forward": 820, "norms": 40},
            "The weights of your feed-forward net are right, its biases are not. How many outputs does each of the two maps have?",
            lambda answer: answer["feed-forward"] in (810, 820, 840, 880),
        ),
        "one bias a map": (
            {"2 heads": 404, "5 heads": 404, "feed-forward": 802, "norms": 40},
            "You gave each map a single bias. How many outputs does a map from 10 to 10 have?",
        ),
        "output without a bias": (
            {"2 heads": 430, "5 heads": 430, "feed-forward": 850, "norms": 40},
            "Ten numbers are missing in attention. Which of its four maps has no bias in your count?",
        ),
        "a norm too many": (
            {"2 heads": 440, "5 heads": 440, "feed-forward": 850, "norms": 60},
            "You counted three norms. How many sublayers does an encoder layer have?",
        ),
    },
    alternatives={
        "as sums": {
            "2 heads": 4 * (10 * 10 + 10),
            "5 heads": 4 * (10 * 10 + 10.0),
            "feed-forward": 10 * 40 + 40 + 40 * 10 + 10,
            "norms": 2 * 2 * 10,
        }
    },
    tolerance=1e-12,
    success="The feed-forward net is two thirds of an encoder layer.",
    solution=r"""
Attention learns four maps from 10 to 10, for any number of heads. The feed-forward net learns one from 10 to 40 and one back. A norm
has a gain and a shift for each feature.

```python
attention = 4 * (10 * 10 + 10)
feed_forward = (10 * 40 + 40) + (40 * 10 + 10)
norms = 2 * (10 + 10)
answer = {"2 heads": attention, "5 heads": attention,
          "feed-forward": feed_forward, "norms": norms}
check(...)
```
""",
)
