"""Chapter 05, exercises on what one causal layer and two can tell about the order of the words."""

import numpy as np

from xformer_course.exercises.exercise import Exercise

ONE_LAYER, TWO_LAYERS = [6, 2, 2, 6], [6, 2, 1, 1]

STUB = """\
rng = np.random.default_rng(1)
four = rng.normal(size=(4, 3))
matrices = 0.5 * rng.normal(size=(3, 3, 3))  # w_q, w_k and w_v
unchanged = [..., ..., ..., ...]"""


def _counts(answer):
    return np.array(answer, dtype=float).tolist()


def _accept(wanted):
    """An acceptance of four counts; it names the first place that is wrong."""

    def accept(answer):
        try:
            counts = np.array(answer, dtype=float)
        except (TypeError, ValueError):
            return "give four whole numbers, one for each place."
        if counts.shape != (4,):
            return f"give four whole numbers, one for each place; yours has shape {counts.shape}."
        for place, (have, want) in enumerate(zip(counts, wanted, strict=True)):
            if have != want:
                return (
                    f"place {place}: {have:g} is not the number. Print the orders that leave this row unchanged; "
                    "compare with `np.allclose`, for the rows and matrices of the cell."
                )
        return None

    return accept


def _mistakes(known):
    """Wrong counts with their diagnoses; shares and counts given with two digits are recognised, too."""

    def like(counts):
        return lambda answer: np.allclose(_counts(answer), counts, rtol=0, atol=0.005)

    return {name: (counts, diagnosis, like(counts)) for name, (counts, diagnosis) in known.items()}


PREFIX = Exercise(
    id="5.10",
    title="What a causal layer can tell",
    kind="explore",
    minutes=10,
    difficulty=2,
    statement="""\
Run self-attention under a causal mask, in NumPy, on the four rows and three matrices of the cell below. For each \
place 0 to 3, count: after how many of the 24 orders of the rows is the output row at this place the same as before, \
up to rounding (`np.allclose`)? The order that moves nothing counts too. Then explain the four numbers.""",
    hints=(
        "Which rows of x does the output row at place 2 depend on?",
        "It depends on the word at its own place and on the *set* of words before it. How many orders keep both?",
        "At place i: i! orders of the words before, times (3 − i)! orders of the words after it.",
    ),
    stub=STUB,
    reference=ONE_LAYER,
    accepts=_accept(ONE_LAYER),
    wrong=_mistakes(
        {
            "no mask": ([6, 6, 6, 6], "6 at every place: that is what happens without a mask. Pass `mask=causal_mask(4)`."),
            "order that moves nothing left out": (
                [5, 1, 1, 5],
                "Each number is one too small: the order that moves nothing counts as well.",
            ),
            "every change of order is seen": (
                TWO_LAYERS,
                "A single layer at the last place reads three earlier words as a set. Does it know which of them came first? Compare up to rounding.",
            ),
            "words behind held still": (
                [1, 1, 2, 6],
                "You reorder the words before each place and hold the words after it still. Place 0 reads none of those: may they move?",
            ),
            "own word among the set": (
                [6, 4, 6, 24],
                "You count the orders that keep the *set* of words up to the place. But the word at the place asks the question. May another word be there?",
            ),
            "past held still": (
                [24, 6, 2, 1],
                "You hold the words *before* the place still and let the others move. Then another word comes to place 0: is its output the same?",
            ),
            "orders up to the place": (
                [1, 2, 6, 24],
                "You count the orders of the words up to the place. The word at the place must stay, and the words after it may move.",
            ),
            "nothing may move": (
                [1, 1, 1, 1],
                "Not every order is noticed: place 0 reads only itself. Which other words may move without changing its output?",
            ),
            "changed orders counted": (
                [18, 22, 22, 18],
                "You count the orders after which the row is *different*. Count the orders after which it is the same.",
            ),
            "shares in place of counts": ([0.25, 1 / 12, 1 / 12, 0.25], "These are shares of the 24 orders. Give the numbers of orders."),
        }
    ),
    alternatives={"an array of floats": np.array([6.0, 2.0, 2.0, 6.0]), "a tuple": (6, 2, 2, 6)},
    success="One causal layer reads the past as a set.",
    solution=r"""
One causal layer at place i depends on the word there and on the *set* of words before: i! · (3 − i)! orders keep both.

```python
rng = np.random.default_rng(1)
four = rng.normal(size=(4, 3))
matrices = 0.5 * rng.normal(size=(3, 3, 3))  # w_q, w_k and w_v


def one(x):
    return self_attention(x, *matrices, mask=causal_mask(4))[0]


def count(layer):
    totals = np.zeros(4, dtype=int)
    for order in itertools.permutations(range(4)):
        totals += np.isclose(layer(four[list(order)]), layer(four)).all(axis=1)
    return totals.tolist()


unchanged = count(one)
print(unchanged)
check(...)
```

Place by place: the word at place 0 must stay, which leaves 3! = 6 orders of the others. Place 1: words 0 and 1 must stay, 2! = 2
orders. Place 2: word 2 stays, words 0 and 1 may swap, 2 orders. Place 3: word 3 stays, 3! = 6.

(Why the small matrices? With large ones softmax gives nearly everything to one key, and different rows can look equal.)
""",
)

TWICE = Exercise(
    id="5.11",
    title="Two causal layers",
    kind="explore",
    minutes=8,
    difficulty=3,
    statement="""\
Take the rows and matrices of exercise 5.10, and two layers: the second reads the output of the first, under the \
same causal mask and with the same matrices. For each place 0 to 3, count again: after how many of the 24 orders is \
the output row of the *second* layer the same as before? Predict the four numbers first.""",
    hints=(
        "What does the second layer find at place 0 and at place 1, and on which words does that depend?",
        "Row 0 of the first layer says which word came first. Can the second layer at place 2 see row 0?",
        "Places 0 and 1 are as before, since a set of one word has one order. From place 2 on, no order of the past is free.",
    ),
    stub=STUB,
    reference=TWO_LAYERS,
    accepts=_accept(TWO_LAYERS),
    wrong=_mistakes(
        {
            "two layers like one": (
                ONE_LAYER,
                "These are the counts of a single layer. The second has to read the *output* of the first, and the first also needs its mask.",
            ),
            "no mask": ([6, 6, 6, 6], "6 at every place: that is what happens without a mask. Both layers need `mask=causal_mask(4)`."),
            "past held still": (
                [24, 6, 2, 1],
                "You hold the words *before* the place still and let the others move. Then another word comes to place 0: is its output the same?",
            ),
            "last place alone": (
                [6, 2, 2, 1],
                "Place 2 reads the rows 0 and 1 of the first layer. Row 0 says which word came first: may the two still swap?",
            ),
            "mask turned round": (
                TWO_LAYERS[::-1],
                "Your second layer knows most at place 0, as if each word saw the words *after* it. In a causal mask row i is True up to column i, and the words after it may move.",
            ),
            "order that moves nothing left out": (
                [5, 1, 0, 0],
                "Each number is one too small: the order that moves nothing counts as well.",
            ),
            "all places see all": (
                [1, 1, 1, 1],
                "Place 0 reads only itself, however many layers there are, if *both* have the mask. How many orders leave the first word where it is?",
            ),
        }
    ),
    alternatives={"an array of floats": np.array([6.0, 2.0, 1.0, 1.0]), "a tuple": (6, 2, 1, 1)},
    success="The first layer reads the past as a set. The second can tell its order.",
    solution=r"""
The second layer reads words that have seen their own pasts, and these differ with the order. So the order of the past counts as well.

```python
unchanged = count(lambda x: one(one(x)))
print(unchanged)
check(...)
```

Places 0 and 1 are as before, since a set of one word has one order. From place 2 on, the second layer reads row 0 of the first, the value
of the word that came first. At place 2 that settles the order. At place 3 it also reads row 1, which depends on the word that came
second. So no order of the past is free: 1 and 1.
""",
)
