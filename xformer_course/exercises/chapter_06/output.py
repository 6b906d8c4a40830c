"""Chapter 06, exercises on what each head adds to the output."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, Step, case

SILENT = 1e-3  # a part of a matrix whose entries are all below this, of its largest, was set to zero by hand, or nearly
UNHEARD = 1e-5  # of the size of a head's W_V times its rows of W_O: rounding in float32 stays below


def _joined(heads):
    """Side by side, word by word, number by number."""
    return np.array([[number for head in heads for number in head[i]] for i in range(heads.shape[1])])


def _block(w_o, heads, n):
    e = heads.shape[2]
    return w_o[n * e : (n + 1) * e]


def _rows_truth(n, e):
    marks = [float(k == n) for k in range(n + 2) for _ in range(e)]  # head n says 1 everywhere, the others 0
    return np.flatnonzero(marks)


def _rows_lines(n, e):
    marks = "".join("1" if k == n else "0" for k in range(n + 2) for _ in range(e))
    return (
        f"heads of {e} numbers; head {n} (counted from 0) says 1, the others 0: joined row {' '.join(marks)}\n"
        f"the ones meet the rows {_rows_truth(n, e).tolist()} of W_O"
    )


def _alone(heads, n):
    silent = np.zeros_like(heads)
    silent[n] = heads[n]
    return silent


def _contribution_truth(heads, w_o, n):
    return _joined(_alone(heads, n)) @ w_o


def _contribution_lines(heads, w_o, n):
    return (
        f"joined row with all heads but head {n} set to 0: {_joined(_alone(heads, n))[0].tolist()}\n"
        f"times W_O, first row: {np.round(_contribution_truth(heads, w_o, n)[0], 4).tolist()}"
    )


def _output_truth(heads, w_o):
    return _joined(heads) @ w_o


def _output_lines(heads, w_o):
    return f"joined row: {_joined(heads)[0].tolist()}\ntimes W_O, first row: {np.round(_output_truth(heads, w_o)[0], 4).tolist()}"


def _without_truth(full, heads, w_o, n):
    return _joined(heads - _alone(heads, n)) @ w_o


def _without_lines(full, heads, w_o, n):
    return (
        f"joined row with head {n} set to 0: {_joined(heads - _alone(heads, n))[0].tolist()}\n"
        f"times W_O, first row: {np.round(_without_truth(full, heads, w_o, n)[0], 4).tolist()}"
    )


def _contribution(heads, w_o, n):
    return heads[n] @ _block(w_o, heads, n)


def _output(heads, w_o):
    return sum(_contribution(heads, w_o, n) for n in range(len(heads)))


def _small(rng, heads, length, e, m):
    """Whole numbers, so that a counterexample can be followed by hand."""
    return rng.integers(1, 4, size=(heads, length, e)) * 1.0, rng.integers(-3, 4, size=(heads * e, m)) * 1.0


def _sizes(rng):
    return [_small(rng, 2, 1, 2, 3), _small(rng, 3, 2, 2, 4), (rng.normal(size=(4, 5, 3)), rng.normal(size=(12, 6)))]


def _contribution_cases(rng):
    return [case(heads, w_o, len(heads) - 1) for heads, w_o in _sizes(rng)] + [case(heads, w_o, 0) for heads, w_o in _sizes(rng)]


def _without_cases(rng):
    last, first, inner = _sizes(rng), _sizes(rng), _sizes(rng)[-1:]
    chosen = [(one, len(one[0]) - 1) for one in last] + [(one, 0) for one in first] + [(one, 2) for one in inner]
    return [case(_output_truth(heads, w_o), heads, w_o, n) for (heads, w_o), n in chosen]


ROWS = Step(
    name="rows",
    claim="the rows of W_O that meet the e numbers of head n, in order",
    reference=lambda n, e: np.arange(n * e, (n + 1) * e),
    truth=_rows_truth,
    cases=lambda rng: [case(1, 2), case(0, 3), case(2, 4), case(3, 2)],
    counterexample=_rows_lines,
    wrong={
        "heads counted from 1": (
            lambda n, e: np.arange((n - 1) * e, n * e),
            "You are one head early. The first head has the index 0: which rows does it meet?",
        ),
        "a step of one": (lambda n, e: np.arange(n, n + e), "You moved on by n rows. How many rows do the n heads before this one take?"),
        "one row a head": (lambda n, e: np.array([n]), "A head has e numbers, and each number meets its own row."),
        "heads interleaved": (
            lambda n, e: n + (n + 2) * np.arange(e),
            "In the joined row the numbers of one head are neighbours, not spread out.",
        ),
        "rows counted from 1": (
            lambda n, e: np.arange(n * e + 1, (n + 1) * e + 1),
            "All your row numbers are one too high. Which number does the first row have?",
        ),
        "one row too many": (
            lambda n, e: np.arange(n * e, (n + 1) * e + 1),
            "You name one row too many: the last one belongs to the next head. How many numbers does a head have?",
        ),
        "one row too few": (
            lambda n, e: np.arange(n * e, (n + 1) * e - 1),
            "A row is missing at the end. How many numbers does a head have?",
        ),
    },
)

CONTRIBUTION = Step(
    name="contribution",
    claim="what head n adds to the output, of shape (L, m)",
    reference=_contribution,
    truth=_contribution_truth,
    cases=_contribution_cases,
    counterexample=_contribution_lines,
    wrong={
        "always the first block": (
            lambda heads, w_o, n: heads[n] @ w_o[: heads.shape[2]],
            "You use the first rows of W_O for every head. Which rows did your first step name?",
        ),
        "the mean of the blocks": (
            lambda heads, w_o, n: heads[n] @ w_o.reshape(len(heads), -1, w_o.shape[1]).mean(axis=0),
            "You average W_O over the heads. Each head meets its own rows.",
        ),
        "an equal share of the output": (
            lambda heads, w_o, n: _output(heads, w_o) / len(heads),
            "That is the whole output divided by h. Set the other heads to 0 and see what remains.",
        ),
        "no W_O": (
            lambda heads, w_o, n: heads[n],
            "That is the answer of the head, e numbers wide. What carries it into the m columns of the output?",
        ),
        "every h-th row": (
            lambda heads, w_o, n: heads[n] @ w_o[n :: len(heads)],
            "You take every h-th row of W_O. In the joined row, are the numbers of one head together or apart?",
        ),
        "a step of one": (
            lambda heads, w_o, n: heads[n] @ w_o[n : n + heads.shape[2]],
            "You moved on by n rows. How many rows do the n heads before this one take?",
        ),
        "the block before": (
            lambda heads, w_o, n: heads[n] @ w_o[(n - 1) * heads.shape[2] : n * heads.shape[2]],
            "You are one head early: the first head has the index 0. Which rows did your first step name?",
        ),
    },
)

OUTPUT = Step(
    name="output",
    claim="the output of the layer, as a sum over the heads",
    reference=_output,
    truth=_output_truth,
    cases=lambda rng: [case(*sizes) for sizes in _sizes(rng)],
    counterexample=_output_lines,
    wrong={
        "a mean over heads": (
            lambda heads, w_o: _output(heads, w_o) / len(heads),
            "You average the contributions. Count in the product of the joined row with W_O how often each term occurs.",
        ),
        "heads added before W_O": (
            lambda heads, w_o: heads.sum(axis=0) @ w_o[: heads.shape[2]],
            "Adding the heads first lets only the first rows of W_O act. Add *after* each head has met its own rows.",
        ),
        "joined by a reshape": (
            lambda heads, w_o: heads.reshape(heads.shape[1], -1) @ w_o,
            "Right for one word only: a plain reshape mixes numbers of different words.",
        ),
        "every h-th row": (
            lambda heads, w_o: sum(head @ w_o[n :: len(heads)] for n, head in enumerate(heads)),
            "Your heads take turns in the rows of W_O. Which rows did your first step name?",
        ),
        "only the first head": (
            lambda heads, w_o: heads[0] @ w_o[: heads.shape[2]],
            "Only the first head is left. How many terms should the sum have?",
        ),
    },
)

WITHOUT = Step(
    name="without",
    claim="the output when head n is silenced, from the full output",
    reference=lambda full, heads, w_o, n: full - _contribution(heads, w_o, n),
    truth=_without_truth,
    cases=_without_cases,
    counterexample=_without_lines,
    wrong={
        "the rest scaled up": (
            lambda full, heads, w_o, n: (full - _contribution(heads, w_o, n)) * len(heads) / max(len(heads) - 1, 1),
            "You scale the other heads up to make up for the loss. In a sum, what happens to the other terms when one is removed?",
        ),
        "only that head kept": (
            lambda full, heads, w_o, n: _contribution(heads, w_o, n),
            "That is what head n adds. It should go, and the rest should stay.",
        ),
        "an equal share removed": (
            lambda full, heads, w_o, n: full * (1 - 1 / len(heads)),
            "You take away the same share for every head. Do all heads add the same?",
        ),
        "added once more": (
            lambda full, heads, w_o, n: full + _contribution(heads, w_o, n),
            "Now head n counts twice. The full output is a sum: what happens to it when a term goes?",
        ),
        "one block for every head": (
            lambda full, heads, w_o, n: full - heads[n] @ w_o[: heads.shape[2]],
            "You take away what the head would say through the rows of the first head. Which rows are its own?",
        ),
    },
)

STEPS = (ROWS, CONTRIBUTION, OUTPUT, WITHOUT)

SUM_OF_HEADS = Exercise(
    id="6.4",
    title="Joining is adding",
    kind="prove",
    minutes=15,
    difficulty=2,
    statement="""\
Prove that [head_1 … head_h] W_O is a sum with one term for each head. `heads` is (h, i, e) and `w_o` (h·e, m); in \
code, n counts heads from 0. Write one function per step: `rows(n, e)`, the numbers of the rows of W_O that meet head \
n; `contribution(heads, w_o, n)`, what head n adds; `output(heads, w_o)`, the sum; `without(full, heads, w_o, n)`, \
what is left of the output `full` (i, m) when the numbers of head n are set to 0. Each is compared with the joined \
product. On paper, write one entry of the product as a sum over the h·e columns, and mark where you regroup it.""",
    hints=(
        "Entry (i, c) of a product is a sum over the columns of the left factor. Which of these columns belong to head n?",
        "The joined row has e numbers of the first head, then e of the second, and so on. With n from 0, column n·e + a of it is number a of head n.",
        "Split the sum over h·e columns into h sums of e terms. Each is an entry of head_n times rows n·e to (n+1)·e − 1 of W_O; silencing a head removes its term.",
    ),
    stub='steps = {"rows": ..., "contribution": ..., "output": ..., "without": ...}',
    reference={step.name: step.reference for step in STEPS},
    steps=STEPS,
    alternatives={
        "as a list, in order": [step.reference for step in STEPS],
        "by einsum": {
            "rows": lambda n, e: [n * e + a for a in range(e)],
            "contribution": lambda heads, w_o, n: np.einsum("ie,eo->io", heads[n], np.split(w_o, len(heads))[n]),
            "output": lambda heads, w_o: np.einsum("hie,heo->io", heads, w_o.reshape(*heads.shape[::2], -1)),
            "without": lambda full, heads, w_o, n: full - heads[n] @ np.split(w_o, len(heads))[n],
        },
    },
    success="A head can be taken out of the sum, and the rest stays.",
    solution=r"""
**Rows.** Count heads from 0, as the code does. In the joined row $H$, the heads before head $n$ take $n\,e$ places, so number $a$ of head $n$ is column $n e + a$. In $H W_O$ column $c$ of $H$ meets row $c$ of $W_O$.

**Contribution and output.** Entry $(i, o)$ of the product is a sum over the $h\,e$ columns. *Regroup it* by heads:

$$
\sum_{c=0}^{he-1} H_{ic}\, (W_O)_{co} = \sum_{n=0}^{h-1} \; \sum_{a=0}^{e-1} (\text{head}_n)_{ia}\, (W_O)_{ne+a,\,o} .
$$

The inner sum is entry $(i, o)$ of $\text{head}_n$ times rows $ne$ to $(n+1)e - 1$ of $W_O$.

**Without.** With $\text{head}_n$ set to 0, its inner sum is 0 and the other terms do not contain it.

*Check your own proof:* it must say which column of $H$ belongs to which head, and that the $h\,e$ columns are regrouped, each occurring exactly once.

```python
def rows(n, e):
    return np.arange(n * e, (n + 1) * e)


def contribution(heads, w_o, n):
    return heads[n] @ w_o[rows(n, heads.shape[2])]


def output(heads, w_o):
    return sum(contribution(heads, w_o, n) for n in range(len(heads)))


def without(full, heads, w_o, n):
    return full - contribution(heads, w_o, n)


steps = {"rows": rows, "contribution": contribution,
         "output": output, "without": without}
check(...)
```
""",
)

PARTS = ("w_q", "w_k", "w_v", "w_o")
SHAPES = {"w_q": (2, 4, 2), "w_k": (2, 4, 2), "w_v": (2, 4, 2), "w_o": (4, 4)}


def _run(layer, x):
    """The contributions of the two heads (2, L, 4) and their weights (2, L, L)."""
    q, k, v = (x @ np.asarray(layer[name], dtype=float) for name in ("w_q", "w_k", "w_v"))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(2)
    raw = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = raw / raw.sum(axis=-1, keepdims=True)
    return weights @ v @ np.asarray(layer["w_o"], dtype=float).reshape(2, 2, 4), weights


def _measure(layer):
    """How sharp head 1 is, and how much each head is heard, whatever the size of its W_V and its rows of W_O: over 200 sentences."""
    x = np.random.default_rng(6).normal(size=(200, 5, 4))
    runs = [_run(layer, one) for one in x]
    sharp = np.mean([weights[0].max(axis=-1).mean() for _, weights in runs])
    heard = np.array([np.abs(contributions).max(axis=(1, 2)) for contributions, _ in runs]).max(axis=0)
    sizes = [np.abs(np.asarray(layer[name], dtype=float).reshape(2, 8)).max(axis=1) for name in ("w_v", "w_o")]
    return sharp, heard / np.maximum(sizes[0] * sizes[1], 1e-300)


def _readable(layer):
    missing = [name for name in PARTS if name not in layer]
    if missing:
        return f"the layer has no {missing[0]}; it needs {', '.join(PARTS)}."
    for name in PARTS:
        array = np.asarray(layer[name], dtype=float)
        if array.shape != SHAPES[name]:
            return f"{name}: expected shape {SHAPES[name]}, got {array.shape}."
        if not np.isfinite(array).all():
            return f"{name} has entries that are not finite numbers."
    return None


def _accepts(layer):
    problem = _readable(layer)
    if problem:
        return problem
    sharp, heard = _measure(layer)
    if sharp < 0.8:
        return (
            f"the largest weight of head 1 is {sharp:.2f} on average over sentences of 5 random words; make it at "
            "least 0.8. Larger scores make sharper weights."
        )
    if _is_silent(layer, "w_v", 0):
        return "the w_v of head 1 is nearly zero compared with the other; give it values to read."
    if _is_silent(layer, "w_o", slice(0, 2)):
        return "the rows of w_o that meet head 1 are nearly zero; give them numbers, and find why it is not heard all the same."
    if heard[0] > UNHEARD:
        return "without head 1 the output still changes. Look at the product of its w_v with the rows of w_o that it meets."
    if heard[1] <= UNHEARD:
        return "head 2 must be heard, but without it the output stays the same."
    return None


def _busy_layer(*, w_v=None, w_o=None, sharpness=4.0):
    """Head 1 writes into its first number alone; W_O listens to its second alone."""
    rng = np.random.default_rng(3)
    layer = {
        "w_q": rng.normal(size=(2, 4, 2)) * sharpness,
        "w_k": rng.normal(size=(2, 4, 2)),
        "w_v": rng.normal(size=(2, 4, 2)),
        "w_o": rng.normal(size=(4, 4)),
    }
    layer["w_v"][0, :, 1] = 0.0
    layer["w_o"][0] = 0.0
    if w_v is not None:
        layer["w_v"][w_v] = 0.0
    if w_o is not None:
        layer["w_o"][w_o] = 0.0
    return layer


def _heard_layer():
    layer = _busy_layer()
    layer["w_o"][0] = 1.0
    return layer


def _orthogonal_layer():
    """The same without a single zero: the columns of W_V and the rows of W_O cancel."""
    layer = _busy_layer()
    layer["w_v"][0] = np.outer([1.0, 2.0, -1.0, 3.0], [1.0, -2.0])
    layer["w_o"][:2] = np.outer([2.0, 1.0], [1.0, 3.0, 2.0, -1.0])
    return layer


def _is_silent(layer, name, rows):
    matrix = np.abs(np.asarray(layer[name], dtype=float))
    return bool(matrix[rows].max() <= SILENT * matrix.max())


def _exchanged(layer):
    """The same layer with its two heads the other way round."""
    own = {name: np.asarray(layer[name], dtype=float)[::-1] for name in PARTS[:3]}
    return {**own, "w_o": np.roll(np.asarray(layer["w_o"], dtype=float), 2, axis=0)}


def _neither_busy_nor_silent(layer):
    sharp, heard = _measure(layer)
    return sharp < 0.8 and heard[0] > UNHEARD


BUSY_HEAD = Exercise(
    id="6.5",
    title="A busy head that nobody hears",
    kind="explore",
    minutes=15,
    difficulty=3,
    statement="""\
Can you remove a head with sharp weights at no cost? Build a layer of two heads for words of width 4: a dict with \
`w_q`, `w_k`, `w_v` of shape (2, 4, 2) and `w_o` of shape (4, 4). Head 1, with the index 0, should look busy: for sentences \
of five words drawn from `rng.normal`, the largest weight in a row of its map is at least 0.8 on average. Still, \
nobody hears it: the outputs stay the same when it is silenced. None of its four matrices may be all zeros (of `w_o` \
it has the first two rows). Silencing head 2 should change the outputs.""",
    hints=(
        "Two matrices lie between the words that head 1 reads and the output. Which product decides what is heard?",
        "The contribution of head 1 is weights · x · (W_V W_O), with its own W_V (4, 2) and its own two rows of W_O. A product of two matrices can be 0 although neither matrix is.",
        "Let its W_V fill only the first of its two numbers, and let W_O read only the second. For sharp weights multiply its `w_q` by a large number.",
    ),
    stub='layer = {"w_q": ..., "w_k": ..., "w_v": ..., "w_o": ...}',
    reference=_busy_layer(),
    accepts=_accepts,
    wrong={
        "the other head is silent": (
            _exchanged(_busy_layer()),
            "There is a busy head that nobody hears, but it is the second one. Which index does head 1 have?",
            lambda layer: _readable(layer) is None and _accepts(_exchanged(layer)) is None,
        ),
        "values of zero": (
            _busy_layer(w_v=0),
            "Head 1 has a W_V of zeros, so it reads nothing at all. Let it read, and still not be heard.",
            lambda layer: _is_silent(layer, "w_v", 0),
        ),
        "zero rows in W_O": (
            _busy_layer(w_o=slice(0, 2)),
            "Both rows of W_O that meet head 1 are zero, so you removed the head by hand. Find rows that are not all zero.",
            lambda layer: _is_silent(layer, "w_o", slice(0, 2)),
        ),
        "head 1 still heard": (
            _heard_layer(),
            "The weights are sharp, but W_O passes on what head 1 reads. Multiply its W_V by its two rows of W_O and look at the product.",
            lambda layer: _readable(layer) is None and _measure(layer)[0] >= 0.8 and _measure(layer)[1][0] > UNHEARD,
        ),
        "weights nearly even": (
            _busy_layer(sharpness=0.2),
            "Nobody hears head 1, and that is right. But it is not busy: its weights are nearly even. What makes weights sharp?",
            lambda layer: _readable(layer) is None and _measure(layer)[0] < 0.8 and _measure(layer)[1][0] <= UNHEARD,
        ),
        "nobody heard at all": (
            _busy_layer(w_o=slice(2, 4)),
            "Now head 2 is silent as well. Only head 1 should have no effect.",
            lambda layer: _readable(layer) is None and _measure(layer)[1].max() <= UNHEARD,
        ),
        "neither busy nor silent": (
            {**_heard_layer(), "w_q": _busy_layer(sharpness=0.2)["w_q"]},
            "Head 1 is heard, and its weights are nearly even. Take one thing at a time: first let nobody hear it, then make it sharp.",
            lambda layer: _readable(layer) is None and _neither_busy_nor_silent(layer),
        ),
    },
    alternatives={"without a single zero": _orthogonal_layer()},
    success="A sharp map says what a head reads. It does not say whether anyone hears it.",
    solution=r"""
Head 1 adds weights · x · ($W_V W_{O,1}$), and the product of two matrices can be 0 though neither is. Here $W_V$ fills only the first
of the head's two numbers, and $W_O$ reads only the second.

```python
rng = np.random.default_rng(1)
shapes = {"w_q": (2, 4, 2), "w_k": (2, 4, 2), "w_v": (2, 4, 2), "w_o": (4, 4)}
layer = {name: rng.normal(size=shape) for name, shape in shapes.items()}
layer["w_q"][0] *= 10         # large scores, sharp weights
layer["w_v"][0][:, 1] = 0     # head 1 writes nothing into its second number
layer["w_o"][0] = 0           # W_O reads nothing from its first
print("W_V W_O of head 1:\n", layer["w_v"][0] @ layer["w_o"][:2])

check(...)
```

The map of such a head can look as telling as you like, and still the head adds nothing:

```python
words = rng.normal(size=(5, 4))
scores = words @ layer["w_q"][0] @ (words @ layer["w_k"][0]).T / np.sqrt(2)
largest = softmax(scores).max(axis=1)
print("largest weight of each word in head 1:", largest.round(1))
assert largest.mean() > 0.8
assert not (words @ layer["w_v"][0] @ layer["w_o"][:2]).any()
```
""",
)

EXERCISES = (SUM_OF_HEADS, BUSY_HEAD)
