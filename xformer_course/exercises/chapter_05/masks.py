"""Chapter 05, the exercise on the masks that keep equivariance."""

import numpy as np

from xformer_course.exercises.chapter_05.layers import all_orders, attend, close
from xformer_course.exercises.exercise import Exercise, case


def _same_for(orders):
    """Whether the mask looks the same after rows and columns are reordered, for some set of orders."""

    def keeps(mask):
        return all(np.array_equal(mask[order][:, order], mask) for order in orders(len(mask)))

    return keeps


def _two_values(mask):
    off = mask[~np.eye(len(mask), dtype=bool)]
    return bool(len(set(mask.diagonal().tolist())) <= 1 and len(set(off.tolist())) <= 1)


def _by_attention(mask):
    n = len(mask)
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 3))
    w_q, w_k, w_v = rng.normal(size=(3, 3, 4))
    output = attend(x, w_q, w_k, w_v, mask)
    return all(close(attend(x[order], w_q, w_k, w_v, mask), output[order]) for order in all_orders(n))


def _by_swaps(mask):
    for place in range(len(mask) - 1):
        order = np.arange(len(mask))
        order[[place, place + 1]] = place + 1, place
        if (mask[np.ix_(order, order)] != mask).any():
            return False
    return True


def _mask_cases(rng):
    ones = np.ones((4, 4), dtype=bool)
    circle = np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=1)
    ring = np.eye(5, dtype=bool)
    ring |= np.roll(ring, 1, axis=1) | np.roll(ring, -1, axis=1)
    one_diagonal = ones.copy()
    one_diagonal[2, 2] = False
    triangle = np.triu(rng.random((5, 5)) < 0.5)
    padding = np.repeat([[True, True, True, False]], 4, axis=0)
    drawn = rng.random((5, 5)) < 0.5
    drawn[0, 1], drawn[1, 0] = True, False
    return [
        case(np.tril(np.ones((3, 3), dtype=bool)), note="a causal mask"),
        case(np.ones((2, 2), dtype=bool), note="nothing hidden"),
        case(np.eye(3, dtype=bool), note="each word reads itself alone"),
        case(~np.eye(4, dtype=bool), note="each word reads all others"),
        case(np.zeros((3, 3), dtype=bool), note="all hidden"),
        case(padding, note="the last key hidden from all"),
        case(circle, note="each word reads itself and the next, in a circle"),
        case(ring, note="each word reads itself and both neighbours, in a circle"),
        case(one_diagonal, note="one word cannot read itself"),
        case(np.kron(np.eye(2), np.ones((2, 2))).astype(bool), note="two groups of two words"),
        case(np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1, note="a local window"),
        case(triangle | triangle.T, note="a random symmetric mask"),
        case(drawn, note="a random mask"),
        case(np.zeros((1, 1), dtype=bool), note="a single word that reads nothing"),
    ]


WHICH_MASK = Exercise(
    id="5.9",
    title="Which mask keeps it?",
    kind="implement",
    minutes=12,
    difficulty=3,
    statement="""\
The mask stays where it is while the words change places. Write `keeps_equivariance(mask)` for a boolean `mask` (n, \
n), True = may attend. Return True if self-attention under this mask is equivariant for every order, whatever the \
words and weights; otherwise False. A query that may attend to nothing gets zeros. n is at most 5, and for n = 1 \
every mask passes. Then count: for n = 3, how many of the 512 masks pass?""",
    hints=(
        "Reorder the words of a sentence under a mask. Which mask would the proof need?",
        "The proof needs P M Pᵀ = M. `mask[order][:, order]` is P M Pᵀ; `itertools.permutations` gives all orders.",
        "P M Pᵀ = M for every P says that all entries on the diagonal are alike, and all entries off it are alike.",
    ),
    stub="def keeps_equivariance(mask):\n    return ...",
    reference=_same_for(all_orders),
    cases=_mask_cases,
    returns=("result",),
    wrong={
        "nothing may be hidden": (
            lambda mask: bool(mask.all()),
            "A mask that hides something can still keep equivariance. Suppose every word reads only itself: what does reordering do to the outputs?",
        ),
        "symmetric is enough": (
            lambda mask: bool((mask == mask.T).all()),
            "A local window is symmetric, and yet it knows who is next to whom. Swap the first two words under it.",
        ),
        "equal numbers of keys": (
            lambda mask: len(set(mask.sum(axis=1).tolist())) == 1,
            "Equally many keys for each query are not enough: *which* keys they are depends on the place. Try two groups of two words.",
        ),
        "rows alike": (
            lambda mask: bool((mask == mask[0]).all()),
            "Equal rows treat all queries alike, but not all keys: a hidden key belongs to a place, whichever word is there. And what about a mask on the diagonal?",
        ),
        "shifts only": (
            _same_for(lambda n: [np.roll(np.arange(n), s) for s in range(n)]),
            "This mask survives when the words turn in a circle, but not when two are swapped. Which orders do you try?",
        ),
        "reversal only": (
            _same_for(lambda n: [np.arange(n)[::-1]]),
            "You try only the reversed order. A local window survives that as well.",
        ),
        "diagonal not looked at": (
            lambda mask: bool(len(set(mask[~np.eye(len(mask), dtype=bool)].tolist())) <= 1),
            "You compare the entries off the diagonal. If a single place cannot read itself, what happens when another word moves there?",
        ),
        "words must read themselves": (
            lambda mask: bool(mask.diagonal().all()),
            "Reading oneself is neither needed nor enough: look at the causal mask.",
        ),
    },
    alternatives={"two values": _two_values, "attention, brute force": _by_attention, "swaps of neighbours": _by_swaps},
    success="All entries on the diagonal must be the same, and so must all the others: only 4 of the 512 masks pass.",
    solution=r"""
The proof goes through if reordering rows and columns of the mask leaves it as it is. Is that also necessary? Yes. Take equal scores,
and values that each have a 1 in their own column. Then each output row is the row of the mask divided by its sum, and two different
masks give two different outputs. So an equivariant layer needs $P M P^\top = M$ for every order: all entries on the diagonal agree, and
all entries off it agree.

```python
def keeps_equivariance(mask):
    for order in itertools.permutations(range(len(mask))):
        order = list(order)
        if (mask[order][:, order] != mask).any():
            return False
    return True


check(...)
```

Of the 512 masks for three words, four pass.

```python
masks = [np.reshape(bits, (3, 3)) for bits in itertools.product([False, True], repeat=9)]
kept = [mask for mask in masks if keeps_equivariance(mask)]
print(len(kept), "of", len(masks))
for mask in kept:
    print(mask.astype(int).tolist())
assert len(kept) == 4
```
""",
)
