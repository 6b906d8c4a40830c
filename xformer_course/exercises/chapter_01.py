"""Exercises of chapter 01: a table of shares, two directions, gradients through time, what a stack of layers sees."""

import numpy as np

from xformer_course.exercises.exercise import Chapter, Exercise, case

HEARING = [1, 2, None, 2, 1, 6, 4, 3]


def _random_tree(rng, length):
    """Each word's head among the words placed before it in a random order, so the root may be anywhere."""
    order = rng.permutation(length)
    heads = [None] * length
    for place in range(1, length):
        heads[int(order[place])] = int(order[rng.integers(0, place)])
    return heads


def _half_and_half(heads):
    table = np.zeros((len(heads), len(heads)))
    for word, head in enumerate(heads):
        table[word, word] += 0.5
        table[word, word if head is None else head] += 0.5
    return table


def _shares(own, of_head, of_root):
    """A wrong table: what each word takes of itself and of its head, and what the root takes of itself."""

    def table_of(heads):
        table = np.zeros((len(heads), len(heads)))
        for word, head in enumerate(heads):
            if head is None:
                table[word, word] = of_root
            else:
                table[word, word], table[word, head] = own, of_head
        return table

    return table_of


def _none_as_index(heads):
    table = 0.5 * np.eye(len(heads))
    for word, head in enumerate(heads):
        table[word, head] = 0.5  # for the root, all of its row
    return table


def _heads_one_place_early(heads):
    return _half_and_half([None if head is None else head - 1 for head in heads])


def _needs(heads):
    return np.eye(len(heads))[[word if head is None else head for word, head in enumerate(heads)]]


def _in_lists(heads):
    rows = [[0.0] * len(heads) for _ in heads]
    for word, head in enumerate(heads):
        rows[word][word] = 1.0 if head is None else 0.5
        if head is not None:
            rows[word][head] = 0.5
    return rows


HALVES = Exercise(
    id="1.1",
    title="Half itself, half its head",
    kind="implement",
    minutes=10,
    difficulty=1,
    statement="""\
`heads` holds for each word the place of its head, counted from 0, and `None` for the root. Write `half_and_half(heads)`: \
the table $A$ with which each word takes half of its own numbers and half of its head's. The root takes all of its own. For \
*The big yellow cat* the heads are `[3, 3, 3, None]`, and the row of *big* is 0, 0.5, 0, 0.5.""",
    hints=(
        "Which row belongs to word number `word`? Which two places in this row hold a number?",
        "Begin with `np.zeros((len(heads), len(heads)))`, and go through the words with `enumerate(heads)`.",
        "`table[word, word]` and `table[word, head]` are 0.5 each. If `head is None`, `table[word, word]` is 1.",
    ),
    stub="def half_and_half(heads):\n    return ...",
    reference=_half_and_half,
    cases=lambda rng: [
        case([1, None]),
        case([3, 3, 3, None]),
        case(HEARING),
        case([None], note="a single word, the root"),
        *(case(_random_tree(rng, length)) for length in (5, 9, 12)),
    ],
    returns=("A",),
    wrong={
        "columns read": (
            lambda heads: _half_and_half(heads).T,
            "You gave each word that reads a column. It should have a row. Compare your second row with the row of *big*.",
        ),
        "None as an index": (
            _none_as_index,
            "The whole row of the root is 0.5. In NumPy, `table[word, None]` is all of that row. Treat the root by itself.",
        ),
        "half a root": (_shares(0.5, 0.5, 0.5), "Only half of the root is left. It has no head, so it takes all of its own numbers."),
        "no row for the root": (
            _shares(0.5, 0.5, 0.0),
            "The row of the root is 0 everywhere, so the root would lose its numbers. It takes all of its own.",
        ),
        "all of the head": (_needs, "Each word takes all of its head and nothing of itself. *Big* should stay half *big*."),
        "one and one": (_shares(1.0, 1.0, 1.0), "Add up a row: most of yours give 2. A word takes half of each."),
        "places from 1": (
            _heads_one_place_early,
            "Your heads are one place too far to the left. The places in `heads` are already counted from 0.",
        ),
        "read in both directions": (
            lambda heads: np.maximum(_half_and_half(heads), _half_and_half(heads).T),
            "You let each head read its words as well. Only the word reads its head.",
        ),
        "heads alone": (_shares(0.0, 0.5, 1.0), "The half of the head is there. Where is the half of the word itself?"),
    },
    alternatives={"two tables": lambda heads: (np.eye(len(heads)) + _needs(heads)) / 2, "in lists": _in_lists},
    success="One rule, and a table for every sentence. Each row adds up to 1.",
    solution=r"""
Row `word` says what this word takes: a half at its own place and a half at the place of its head. The root keeps everything.

```python
def half_and_half(heads):
    table = np.zeros((len(heads), len(heads)))
    for word, head in enumerate(heads):
        if head is None:
            table[word, word] = 1.0
        else:
            table[word, word] = 0.5
            table[word, head] = 0.5
    return table


check(...)
```

With this table *The* is half itself and half *cat*:

```python
X = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 5.0]])
print(half_and_half([3, 3, 3, None]) @ X)
```
""",
)


def _read(x, w_h, w_x):
    h, states = np.zeros(len(w_h)), []
    for word in x:
        h = np.tanh(h @ w_h + word @ w_x)
        states.append(h)
    return np.array(states)


def _carry(x, w):
    h, states = np.zeros(x.shape[1]), []
    for word in x:
        h = w * h + word
        states.append(h)
    return np.array(states)


def _both(x, w):
    return np.concatenate([_carry(x, w), _carry(x[::-1], w)[::-1]], axis=1)


def _both_cases(rng):
    def words(length, d):
        return rng.normal(size=(length, d))

    return [case(words(3, 2), 0.5), case(words(5, 4), 0.9), case(words(8, 3), 0.7), case(words(4, 5), -0.5)]


def _pieces(combine):
    """A wrong answer from the two readings, before the second is turned back."""
    return lambda x, w: combine(_carry(x, w), _carry(x[::-1], w))


def _beside(*parts):
    return np.concatenate(parts, axis=1)


def _both_by_loop(x, w):
    length, d = x.shape
    states = np.zeros((length, 2 * d))
    forward, backward = np.zeros(d), np.zeros(d)
    for t in range(length):
        forward = w * forward + x[t]
        backward = w * backward + x[length - 1 - t]
        states[t, :d], states[length - 1 - t, d:] = forward, backward
    return states


BOTH = Exercise(
    id="1.2",
    title="Two directions, one of them wrong",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
A bidirectional layer gives each word t one row of 2d numbers: first the state after reading the words 1 to t from the \
left, then the state after reading the words L to t from the right. Here a word is a row of d numbers, $h_t = \
w\\,h_{t-1} + x_t$ is applied to each of the d numbers, and both directions share $w$. The function below runs, and \
the shape is right. But only the first half of each row is what it should be. Find the mistake, and fix it.""",
    hints=(
        "Look at row 0 of the faulty result. Which words has its second half read? Which words should it have read?",
        "`read(x[::-1])` gives its states in the order of reading. Which word does its first row belong to?",
        "Reverse the rows of the second reading, `[::-1]`, before you put them next to the first.",
    ),
    stub="""\
def both_directions(x, w):
    def read(sentence):
        h, states = np.zeros(x.shape[1]), []
        for word in sentence:
            h = w * h + word
            states.append(h)
        return np.array(states)

    return np.concatenate([read(x), read(x[::-1])], axis=1)""",
    reference=_both,
    cases=_both_cases,
    returns=("states",),
    wrong={
        "not turned back": (
            _pieces(_beside),
            "Row 0 joins the state of the first word with the state of the *last* word. Its two halves must belong to the same word.",
        ),
        "forward twice": (
            _pieces(lambda left, right: _beside(left, left)),
            "Both halves have read the same words now. Change the last word: does row 0 notice?",
        ),
        "columns turned": (
            _pieces(lambda left, right: _beside(left, right[:, ::-1])),
            "You reversed the d numbers inside each state. Which axis counts the words?",
        ),
        "both turned": (
            _pieces(lambda left, right: _beside(left[::-1], right[::-1])),
            "Now the second half is right. But you turned the first half as well, and it was right before.",
        ),
        "the wrong one turned": (
            _pieces(lambda left, right: _beside(left[::-1], right)),
            "The halves fit each other, but the rows run from the last word to the first. Which reading has its states in the wrong order?",
        ),
        "right half first": (
            _pieces(lambda left, right: _beside(right[::-1], left)),
            "Every row belongs to the right word. But the exercise asks for the reading from the left first.",
        ),
        "added up": (
            _pieces(lambda left, right: left + right[::-1]),
            "You add the two states, so a row has d numbers and nobody can tell left from right. The exercise asks for 2d.",
        ),
        "one under the other": (
            _pieces(lambda left, right: np.concatenate([left, right[::-1]])),
            "You have 2L rows of d numbers. Which axis should grow?",
        ),
        "forward reading turned": (
            _pieces(lambda left, right: _beside(left, left[::-1])),
            "Both halves come from the reading from the left, and you turned one of them round. In which order must the words go *into* the second reading?",
        ),
        "both axes turned": (
            _pieces(lambda left, right: _beside(left, right[::-1, ::-1])),
            "Now the words are in the right rows. But you reversed the d numbers of each state as well. How many axes does your `[::-1]` touch?",
        ),
        "features of words turned": (
            lambda x, w: _beside(_carry(x, w), _carry(x[:, ::-1], w)[::-1]),
            "You reversed the numbers inside each word before the second reading. Which axis of x counts the words?",
        ),
        "halves exchanged, not turned": (
            _pieces(lambda left, right: _beside(right, left)),
            "You exchanged the two halves, but each row still joins two different words. Which word does each row of the second reading belong to?",
        ),
    },
    alternatives={
        "one loop": _both_by_loop,
        "flip and hstack": lambda x, w: np.hstack([_carry(x, w), np.flip(_carry(np.flip(x, 0), w), 0)]),
    },
    success="Every row has now seen the whole sentence: its left part and its right part, each in a state of its own.",
    solution=r"""
`read(x[::-1])` returns its states in the order of reading, so its first row belongs to the *last* word. Reverse the rows once more,
and each state is back at its word.

```python
def both_directions(x, w):
    def read(sentence):
        h, states = np.zeros(x.shape[1]), []
        for word in sentence:
            h = w * h + word
            states.append(h)
        return np.array(states)

    return np.concatenate([read(x), read(x[::-1])[::-1]], axis=1)


check(...)
```
""",
)


def _gradient(states, w_h):
    gradient = np.eye(len(w_h))
    for h in states[1:]:
        gradient = gradient @ (w_h * (1 - h**2))
    return gradient


def _gradient_cases(rng):
    def inputs(length, m, d=3):
        w_h = rng.normal(size=(m, m)) / np.sqrt(m)
        return _read(0.7 * rng.normal(size=(length, d)), w_h, rng.normal(size=(d, m))), w_h

    return [
        case(*inputs(2, 2)),
        case(*inputs(3, 2)),
        case(*inputs(6, 4)),
        case(*inputs(9, 5)),
        case(*inputs(1, 3), note="a sentence of one word"),
    ]


def _factors(factor, skip=1):
    """The product of one factor a state, in the order of reading."""

    def gradient(states, w_h):
        product = np.eye(len(w_h))
        for t in range(skip, len(states)):
            product = product @ factor(states, t, w_h)
        return product

    return gradient


def _reversed_order(states, w_h):
    product = np.eye(len(w_h))
    for h in states[1:]:
        product = (w_h * (1 - h**2)) @ product
    return product


def _elementwise(states, w_h):
    product = np.ones_like(w_h)
    for h in states[1:]:
        product = product * (w_h * (1 - h**2))
    return product


def _gradient_from_the_end(states, w_h):
    gradient = np.eye(len(w_h))
    for t in reversed(range(1, len(states))):
        gradient = w_h @ np.diag(1 - states[t] ** 2) @ gradient
    return gradient


def _gradient_by_rows(states, w_h):
    rows = []
    for change in np.eye(len(w_h)):  # a change of one number of h_1, carried along
        for h in states[1:]:
            change = (change @ w_h) * (1 - h**2)
        rows.append(change)
    return rows


GRADIENT = Exercise(
    id="1.3",
    title="How a change travels",
    page="01a_memory_clocks_and_size",
    kind="implement",
    minutes=15,
    difficulty=3,
    statement="""\
`states` (T, m) holds the states $h_1, \\dots, h_T$ of the layer $h_t = \\tanh(h_{t-1} W_h + x_t W_x)$ as rows. \
Write `state_gradient(states, w_h)`: the matrix (m, m) whose entry [a, b] is the derivative of number b of $h_T$ \
with respect to number a of $h_1$, while the words stay as they are. The derivative of $\\tanh z$ is $1 - \\tanh^2 z$, and \
$\\tanh z$ is in `states`.""",
    hints=(
        "For T = 1 you know the answer without any calculation. What is it? And what does one more word do to it?",
        "The derivative of number b of h_t with respect to number a of h_{t−1} is w_h[a, b] times the slope of tanh at number b.",
        "Start from the identity; for each h_t with t = 2, …, T multiply from the right by `w_h * (1 - h_t**2)`.",
    ),
    stub="def state_gradient(states, w_h):\n    return ...",
    reference=_gradient,
    cases=_gradient_cases,
    returns=("gradient",),
    wrong={
        "slope of tanh left out": (
            _factors(lambda states, t, w_h: w_h),
            "You multiply only the weights. That would be right for a layer without tanh. Each step also has the slope of tanh.",
        ),
        "slope at the state before": (
            _factors(lambda states, t, w_h: w_h * (1 - states[t - 1] ** 2)),
            "You take the slope at h_{t−1}. It belongs to the tanh that makes h_t.",
        ),
        "slope on the rows": (
            _factors(lambda states, t, w_h: w_h * (1 - states[t] ** 2)[:, None]),
            "The slope at number b multiplies column b of the weights. Yours multiplies row b.",
        ),
        "one step too many": (
            _factors(lambda states, t, w_h: w_h * (1 - states[t] ** 2), skip=0),
            "T states have T − 1 steps between them. What should come out for T = 1?",
        ),
        "steps in reverse order": (
            _reversed_order,
            "This is right for two states and wrong for three, because matrices do not commute. States are rows here. Which factor stands leftmost, that of the first step or that of the last?",
        ),
        "transposed": (
            lambda states, w_h: _gradient(states, w_h).T,
            "You exchanged rows and columns. Entry [a, b] must be the derivative of number b of the last state.",
        ),
        "not squared": (_factors(lambda states, t, w_h: w_h * (1 - states[t])), "The slope of tanh is 1 − tanh². You wrote 1 − tanh."),
        "entry by entry": (
            _elementwise,
            "A change in one number spreads to all numbers of the next state. Which product adds up over all the paths between them?",
        ),
    },
    alternatives={"from the end": _gradient_from_the_end, "one change at a time": _gradient_by_rows},
    tolerance=1e-9,
    success="One matrix per word. Their product grows or shrinks geometrically.",
    solution=r"""
Number $b$ of $h_t$ is $\tanh$ of a sum in which number $a$ of $h_{t-1}$ has the weight `w_h[a, b]`. By the chain rule its derivative is
that weight times the slope $1 - h_t[b]^2$. So column $b$ of the weights is multiplied by the slope at $b$. There is one such matrix for
each of the $T - 1$ steps from $h_1$ to $h_T$. States are rows, so the factor of the first step stands leftmost.

```python
def state_gradient(states, w_h):
    gradient = np.eye(len(w_h))
    for h in states[1:]:
        gradient = gradient @ (w_h * (1 - h**2))
    return gradient


check(...)
```

You can always test a derivative: make the change. Move number 0 of $h_1$ a little and let the layer run on:

```python
rng = np.random.default_rng(0)
w_h, inputs = rng.normal(size=(4, 4)) / 2, rng.normal(size=(5, 4))  # inputs: x_t W_x


def run_on(h):
    states = [h]
    for row in inputs:
        states.append(np.tanh(states[-1] @ w_h + row))
    return np.array(states)


h1, step = np.tanh(rng.normal(size=4)), 1e-6
change = step * np.eye(4)[0]
measured = (run_on(h1 + change)[-1] - run_on(h1 - change)[-1]) / (2 * step)
assert np.allclose(measured, state_gradient(run_on(h1), w_h)[0], atol=1e-8)
print(measured.round(4))
```
""",
)

FIELD = Exercise(
    id="1.4",
    title="What a stack of convolutions sees",
    page="01a_memory_clocks_and_size",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
Stack convolutions, all of the same width. Far from both ends, how many input positions does one output of \
three layers of width 5 depend on? How many layers of width 5 does it take before one output depends \
on 41 positions? And how many layers of width 3?""",
    hints=(
        "One layer of width 5 sees 5 positions. How many new ones does the second layer add on each side?",
        "Every layer adds the same number of positions, and before the first layer there is one.",
        "n layers of width k see n·(k − 1) + 1 positions.",
    ),
    stub="""\
answer = {
    "three of width 5": ...,
    "layers of width 5": ...,
    "layers of width 3": ...,
}""",
    reference={"three of width 5": 13, "layers of width 5": 10, "layers of width 3": 20},
    wrong={
        "widths added": (
            {"three of width 5": 15, "layers of width 5": 9, "layers of width 3": 14},
            "You add whole widths. But the five inputs of the second layer overlap in what they have seen. Draw it.",
        ),
        "widths multiplied": (
            {"three of width 5": 125, "layers of width 5": 3, "layers of width 3": 4},
            "Your stack grows by a factor per layer. But neighbouring outputs see almost the same positions. Count only the new ones.",
        ),
        "one side only": (
            {"three of width 5": 7, "layers of width 5": 20, "layers of width 3": 40},
            "You looked at one side only. A centred layer of width 5 adds two positions on the left and two on the right.",
        ),
        "the position itself forgotten": (
            {"three of width 5": 12, "layers of width 5": 11, "layers of width 3": 21},
            "Almost. With no layers at all, an output would still depend on one position.",
        ),
    },
    alternatives={"as formulas": {"three of width 5": 3 * 4 + 1, "layers of width 5": 40 / 4, "layers of width 3": np.int64(20)}},
    tolerance=1e-12,
    success="Each layer adds k − 1 positions. You pay for distance with depth.",
    solution=r"""
We start with one position. Each layer of width $k$ adds $(k-1)/2$ positions on each side, so $n$ layers see $n(k-1)+1$. Three layers of
width 5 see $3 \cdot 4 + 1$. To see 41, you must add forty, in steps of 4 or of 2.

```python
answer = {"three of width 5": 13, "layers of width 5": 10, "layers of width 3": 20}
check(...)
```
""",
)


def _reached(offsets):
    """The distances, back from the last position, from which something arrives."""
    distances = {0}
    for offset in offsets:
        distances |= {distance + int(offset) for distance in distances}
    return distances


def _accept_offsets(answer):
    try:
        offsets = [int(offset) for offset in answer]
        whole = all(offset == given for offset, given in zip(offsets, answer, strict=True))
    except (TypeError, ValueError):
        return "give a list of four whole numbers, such as [1, 1, 1, 1]."
    if len(offsets) != 4 or not whole:
        return f"four layers have four offsets, each a whole number; you gave {len(offsets)}."
    if min(offsets) < 1:
        return f"an offset says how far *back* a layer looks, at least 1; one of yours is {min(offsets)}."
    missing = sorted(set(range(16)) - _reached(offsets))
    if missing:
        return f"{16 - len(missing)} of the 16 positions arrive. The nearest that does not lies {missing[0]} before the last."
    return None


def _is(*offsets):
    return lambda answer: sorted(int(offset) for offset in answer) == sorted(offsets)


REACH = Exercise(
    id="1.5",
    title="Sixteen positions in four layers",
    page="01a_memory_clocks_and_size",
    kind="explore",
    minutes=8,
    difficulty=2,
    statement="""\
A *dilated* convolution reads positions that are not neighbours. Let each layer read two positions: its own, and the \
one `offset` places before it. Choose the offsets of four such layers, from the first to the last. The last of 16 \
positions should depend on all 16. With the offsets [1, 1, 1, 1] it depends on only 5.""",
    hints=(
        "How many positions can four layers reach at most, if each layer at best doubles their number?",
        "A position at distance 11 is reached by taking some of the offsets and leaving out the others. Which four numbers can make every total from 0 to 15?",
        "Binary digits: the offsets are powers of two.",
    ),
    stub="offsets = [..., ..., ..., ...]",
    reference=[1, 2, 4, 8],
    accepts=_accept_offsets,
    wrong={
        "neighbours only": (
            [1, 1, 1, 1],
            "Four steps of one reach only four places back. Let a later layer take larger steps.",
            _is(1, 1, 1, 1),
        ),
        "steps that grow by one": (
            [1, 2, 3, 4],
            "Your layers reach only 10 places back, because 1 + 2 + 3 + 4 = 10, and you reach some distances in two ways. Which growth wastes nothing?",
            _is(1, 2, 3, 4),
        ),
        "equal long steps": (
            [4, 4, 4, 4],
            "You reach far enough, but only every fourth position arrives. How do you get to distance 1?",
            _is(4, 4, 4, 4),
        ),
        "doubling from two": (
            [2, 4, 8, 16],
            "Doubling is the right idea. But only even distances arrive, and 16 is outside.",
            _is(2, 4, 8, 16),
        ),
        "powers of three": ([1, 3, 9, 27], "Powers of three would fit layers that read three positions. These read two.", _is(1, 3, 9, 27)),
    },
    alternatives={"from far to near": (8, 4, 2, 1)},
    success="Each layer doubles the reach, so the path is logarithmic. But the offsets are still fixed in advance.",
    solution=r"""
Walk from the last position down to the input. Each layer either stays or goes back by its offset, so the distances that arrive are the
sums of some of the offsets. Powers of two give every distance from 0 to 15 exactly once, as binary digits, in any order.

Is there another choice? No. Four layers have only $2^4 = 16$ such sums, so each distance must come exactly once. Distance 1 needs an
offset of 1. A second 1 would give distance 1 twice, so the next missing distance, 2, must be an offset as well; then 4, then 8.

```python
offsets = [1, 2, 4, 8]
check(...)
```

```python
choices = itertools.product(*[(0, offset) for offset in offsets])  # stay or go back
distances = {sum(taken) for taken in choices}
print(sorted(distances))
assert distances == set(range(16))
```
""",
)

CHAPTER = Chapter(number=1, title="Motivation", slug="01_motivation", exercises=(HALVES, BOTH, GRADIENT, FIELD, REACH))
