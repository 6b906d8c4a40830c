"""Exercises of chapter 01: crossing arcs, two directions, gradients through time, what a stack of layers sees."""

import itertools

import numpy as np

from xformer_course.exercises.exercise import Chapter, Exercise, case

HEARING = [1, 2, None, 2, 1, 6, 4, 3]


def _arcs(heads):
    return [(min(head, word), max(head, word)) for word, head in enumerate(heads) if head is not None]


def _crossings(heads):
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in itertools.combinations(_arcs(heads), 2))


def _random_tree(rng, length):
    """Each word's head among the words placed before it in a random order, so that arcs may cross."""
    order = rng.permutation(length)
    heads = [None] * length
    for place in range(1, length):
        heads[int(order[place])] = int(order[rng.integers(0, place)])
    return heads


def _tangled(length):
    """Two fans that interleave: word 0 heads the odd places, word 1 the even ones."""
    return [None] + [0 if word % 2 else 1 for word in range(1, length)]


def _only_rightward(heads):
    arcs = [(head, word) for word, head in enumerate(heads) if head is not None]
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in itertools.combinations(arcs, 2))


def _arcs_that_cross(heads):
    arcs = _arcs(heads)
    return sum(any(a < c < b < d or c < a < d < b for c, d in arcs) for a, b in arcs)


def _pairs_of_arcs(arcs, count):
    """A wrong answer from how arcs are made, and from which pairs of them count."""
    return lambda heads: sum(count(a, b, c, d) for (a, b), (c, d) in itertools.combinations(arcs(heads), 2))


def _crossings_by_inside(heads):
    arcs, count = _arcs(heads), 0
    for i, (a, b) in enumerate(arcs):
        for c, d in arcs[:i]:
            if len({a, b, c, d}) == 4 and (a < c < b) != (a < d < b):
                count += 1
    return count


def _crossings_by_ends(heads):
    count = 0
    for four in itertools.combinations(range(len(heads)), 4):
        first, second = (four[0], four[2]), (four[1], four[3])
        count += first in _arcs(heads) and second in _arcs(heads)
    return count


CROSSINGS = Exercise(
    id="1.1",
    title="Arcs that cross",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
`heads` holds for each word the position of its head, and `None` for the root, as in the sentence above. Write \
`crossings(heads)`: the number of *pairs* of arcs that cross when all arcs are drawn above the sentence. Arcs that \
share an end do not cross, and neither do arcs of which one lies under the other.""",
    hints=(
        "Draw two arcs over four different words. In which orders of the four ends do they cross?",
        "Forget the direction first: write each arc as (left, right). `itertools.combinations(arcs, 2)` gives each pair of arcs once.",
        "Arcs (a, b) and (c, d) cross when a < c < b < d or c < a < d < b.",
    ),
    stub="def crossings(heads):\n    return ...",
    reference=_crossings,
    cases=lambda rng: [
        case([1, None, 1]),
        case([2, 3, None, 2]),
        case(HEARING),
        case(_tangled(7)),
        *(case(_random_tree(rng, length)) for length in (9, 11, 13)),
    ],
    returns=("crossings",),
    wrong={
        "touching counted": (
            lambda heads: sum(a < c <= b < d or c < a <= d < b for (a, b), (c, d) in itertools.combinations(_arcs(heads), 2)),
            "You also count arcs that share an end. Two arcs that meet at a word touch, but they do not cross. Look at `<=`.",
        ),
        "nested counted": (
            lambda heads: sum(max(a, c) < min(b, d) for (a, b), (c, d) in itertools.combinations(_arcs(heads), 2)),
            "You count every pair that overlaps. An arc that lies entirely under another one does not cross it.",
        ),
        "only arcs to the right": (
            _only_rightward,
            "You miss some crossings. Is the head always to the left of its word? Print an arc whose head comes later.",
        ),
        "one order missed": (
            lambda heads: sum(a < c < b < d for (a, b), (c, d) in itertools.combinations(_arcs(heads), 2)),
            "You miss some crossings. When two arcs cross, must the one that you look at first also begin first?",
        ),
        "arcs instead of pairs": (
            _arcs_that_cross,
            "You count the arcs that cross some other arc. We want pairs: two arcs that cross each other are one pair.",
        ),
        "every pair twice": (
            lambda heads: 2 * _crossings(heads),
            "You have twice too many. You meet each pair twice, once from either side.",
        ),
        "any shared end counted": (
            _pairs_of_arcs(_arcs, lambda a, b, c, d: a <= c <= b <= d or c <= a <= d <= b),
            "You also count arcs that share an end, whichever end it is. Two arcs that meet at a word do not cross. Look at each `<=`.",
        ),
        "arcs of one head counted": (
            _pairs_of_arcs(_arcs, lambda a, b, c, d: a <= c < b <= d or c <= a < d <= b),
            "You count arcs that begin, or end, at the same word. One of them lies under the other. Look at each `<=`.",
        ),
        "only arcs to the left": (
            _pairs_of_arcs(
                lambda heads: [(word, head) for word, head in enumerate(heads) if head is not None],
                lambda a, b, c, d: a < c < b < d or c < a < d < b,
            ),
            "You miss some crossings. Is the head always to the right of its word? Print an arc whose head comes earlier.",
        ),
        "the other order missed": (
            _pairs_of_arcs(_arcs, lambda a, b, c, d: c < a < d < b),
            "You miss some crossings. When two arcs cross, must the one that you look at last begin first?",
        ),
    },
    alternatives={"one end inside": _crossings_by_inside, "choose four words": _crossings_by_ends},
    success="A tree with a crossing is called non-projective: you cannot cut its sentence into nested spans.",
    solution=r"""
Only the ends of an arc matter, so we write each arc as (left, right). Two arcs cross when their four ends alternate: the second arc has
one end strictly inside the first arc and the other end strictly outside.

```python
def crossings(heads):
    arcs = [
        (min(head, word), max(head, word))
        for word, head in enumerate(heads)
        if head is not None
    ]
    pairs = itertools.combinations(arcs, 2)
    return sum(a < c < b < d or c < a < d < b for (a, b), (c, d) in pairs)


check(...)
```

The sentence about the hearing has one crossing. Without *today* it has none.

```python
hearing = [1, 2, None, 2, 1, 6, 4, 3]
print(crossings(hearing), crossings(hearing[:-1]))
assert (crossings(hearing), crossings(hearing[:-1])) == (1, 0)
```
""",
)


def _read(x, w_h, w_x):
    h, states = np.zeros(len(w_h)), []
    for word in x:
        h = np.tanh(h @ w_h + word @ w_x)
        states.append(h)
    return np.array(states)


def _both(x, w_h, w_x):
    return np.concatenate([_read(x, w_h, w_x), _read(x[::-1], w_h, w_x)[::-1]], axis=1)


def _both_cases(rng):
    def inputs(length, m, d):
        return rng.normal(size=(length, d)), rng.normal(size=(m, m)) / np.sqrt(m), rng.normal(size=(d, m))

    return [case(*inputs(3, 2, 1)), case(*inputs(5, 4, 2)), case(*inputs(8, 3, 7)), case(*inputs(4, 5, 6))]


def _pieces(combine):
    """A wrong answer from the two readings, before the second is turned back."""
    return lambda x, w_h, w_x: combine(_read(x, w_h, w_x), _read(x[::-1], w_h, w_x))


def _beside(*parts):
    return np.concatenate(parts, axis=1)


def _both_by_loop(x, w_h, w_x):
    length, m = len(x), len(w_h)
    states = np.zeros((length, 2 * m))
    forward, backward = np.zeros(m), np.zeros(m)
    for t in range(length):
        forward = np.tanh(forward @ w_h + x[t] @ w_x)
        backward = np.tanh(backward @ w_h + x[length - 1 - t] @ w_x)
        states[t, :m], states[length - 1 - t, m:] = forward, backward
    return states


BOTH = Exercise(
    id="1.2",
    title="Two directions, one of them lost",
    kind="find the bug",
    minutes=8,
    difficulty=2,
    statement="""\
A bidirectional layer gives each word t one row of 2m numbers: first the state after reading the words 1 to t from \
the left, then the state after reading the words L to t from the right. To keep it short, both directions share their \
weights. The function below runs, and the shape is right. But only the first half of each row holds the right \
numbers. Find what is lost, and fix it.""",
    hints=(
        "Look at row 0 of the faulty result. Which words has its second half read? Which words should it have read?",
        "`read(x[::-1])` gives its states in the order of reading. Which word does its first row belong to?",
        "Turn the rows of the second reading round again, `[::-1]`, before you put them next to the first.",
    ),
    stub="""\
def both_directions(x, w_h, w_x):
    def read(sentence):
        h, states = np.zeros(len(w_h)), []
        for word in sentence:
            h = np.tanh(h @ w_h + word @ w_x)
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
            "You reversed the m numbers inside each state. Which axis counts the words?",
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
            "Every row belongs to the right word. But the statement wants the reading from the left first.",
        ),
        "added up": (
            _pieces(lambda left, right: left + right[::-1]),
            "You add the two states, so a row has m numbers and nobody can tell left from right. The statement wants 2m.",
        ),
        "one under the other": (
            _pieces(lambda left, right: np.concatenate([left, right[::-1]])),
            "You have 2L rows of m numbers. Which axis should grow?",
        ),
        "forward reading turned": (
            _pieces(lambda left, right: _beside(left, left[::-1])),
            "Both halves come from the reading from the left, and you turned one of them round. In which order must the words go *into* the second reading?",
        ),
        "both axes turned": (
            _pieces(lambda left, right: _beside(left, right[::-1, ::-1])),
            "Now the words are in the right rows. But you reversed the m numbers of each state as well. How many axes does your `[::-1]` touch?",
        ),
        "features of words turned": (
            lambda x, w_h, w_x: _beside(_read(x, w_h, w_x), _read(x[:, ::-1], w_h, w_x)[::-1]),
            "You reversed the numbers inside each word before the second reading. Which axis of x counts the words?",
        ),
        "halves exchanged, not turned": (
            _pieces(lambda left, right: _beside(right, left)),
            "You exchanged the two halves, but each row still joins two different words. Which word does each row of the second reading belong to?",
        ),
    },
    alternatives={
        "one loop": _both_by_loop,
        "flip and hstack": lambda x, w_h, w_x: np.hstack([_read(x, w_h, w_x), np.flip(_read(np.flip(x, 0), w_h, w_x), 0)]),
    },
    success="Every row has now seen the whole sentence: its left part and its right part, each in a state of its own.",
    solution=r"""
`read(x[::-1])` returns its states in the order of reading, so its first row belongs to the *last* word. Turn the rows round once more,
and each state is back at its word.

```python
def both_directions(x, w_h, w_x):
    def read(sentence):
        h, states = np.zeros(len(w_h)), []
        for word in sentence:
            h = np.tanh(h @ w_h + word @ w_x)
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
            "This is right for two states and wrong for three, because matrices do not commute. States are rows here. Which factor comes first from the left, the first step or the last?",
        ),
        "transposed": (
            lambda states, w_h: _gradient(states, w_h).T,
            "You exchanged rows and columns. Entry [a, b] must be the derivative of number b of the last state.",
        ),
        "not squared": (_factors(lambda states, t, w_h: w_h * (1 - states[t])), "The slope of tanh is 1 − tanh². You wrote 1 − tanh."),
        "entry by entry": (
            _elementwise,
            "A change in one number spreads to all numbers of the next state. Which product adds up over the ways between?",
        ),
    },
    alternatives={"from the end": _gradient_from_the_end, "one change at a time": _gradient_by_rows},
    tolerance=1e-9,
    success="One matrix per word. Their product grows or shrinks geometrically.",
    solution=r"""
Number $b$ of $h_t$ is $\tanh$ of a sum in which number $a$ of $h_{t-1}$ has the weight `w_h[a, b]`. By the chain rule its derivative is
that weight times the slope $1 - h_t[b]^2$. So column $b$ of the weights is multiplied by the slope at $b$. There is one such matrix for
each of the $T - 1$ steps from $h_1$ to $h_T$. States are rows, so the first step comes first from the left.

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
Convolutions are stacked, and every layer has the same width. On how many input positions does one output of \
three layers of width 5 depend, far from both ends? How many layers of width 5 does it take until one output depends \
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
            "Almost. With no layer at all, an output would depend on one position.",
        ),
    },
    alternatives={"as formulas": {"three of width 5": 3 * 4 + 1, "layers of width 5": 40 / 4, "layers of width 3": np.int64(20)}},
    tolerance=1e-12,
    success="Each layer adds k − 1 positions. You pay for distance in depth.",
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
        "A position at distance 11 is reached by taking some of the offsets and leaving out the others. Which numbers have every sum from 0 to 15 among their partial sums?",
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
            "You reach far enough, but only every fourth position arrives. How does one get to distance 1?",
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
offset of 1. A second 1 would make distance 1 twice, so the next distance that is missing, 2, must be an offset as well; then 4, then 8.

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

CHAPTER = Chapter(number=1, title="Motivation", slug="01_motivation", exercises=(CROSSINGS, BOTH, GRADIENT, FIELD, REACH))
