"""Chapter 05, exercises on telling an equivariant layer from others."""

import operator

import numpy as np

from xformer_course.exercises.chapter_05 import layers
from xformer_course.exercises.chapter_05.layers import all_orders, close
from xformer_course.exercises.comparison import describe
from xformer_course.exercises.exercise import Complaint, Exercise, case


def _checker(*, orders=all_orders, expected=lambda layer, x, order: layer(x)[order], same=close, moved=lambda x, order: x[order]):
    """An equivariance check with each of its parts open to replacement."""

    def failing_order(layer, x):
        for order in orders(len(x)):
            if not same(layer(moved(x, order)), expected(layer, x, order)):
                return tuple(int(row) for row in order)
        return None

    return failing_order


def _looked_at(function):
    """Whether an order is given, and whether it is a counterexample; any one that fails will do."""

    def looked_at(layer, x):
        order = function(layer, x)
        if order is None:
            return "None"
        if isinstance(order, (bool, np.bool_)):
            raise Complaint(f"you returned {describe(order)}; return an order that fails, or None if there is none")
        try:
            order = [operator.index(row) for row in order]
        except TypeError:
            raise Complaint(f"you returned {describe(order)}; return a tuple of row numbers, or None") from None
        if sorted(order) != list(range(len(x))):
            raise Complaint(f"you returned {tuple(order[:9])}; an order of {len(x)} rows holds each of 0 to {len(x) - 1} once")
        fails = not close(layer(x[order]), layer(x)[order])
        return "an order that fails" if fails else "an order that does not fail"

    return looked_at


def _by_matrices(layer, x):
    eye = np.eye(len(x))
    for order in all_orders(len(x)):
        if np.abs(layer(eye[order] @ x) - eye[order] @ layer(x)).max() > 1e-9:
            return [int(row) for row in order]
    return None


def _undone_afterwards(layer, x):
    same = [np.allclose(layer(x[order])[np.argsort(order)], layer(x)) for order in all_orders(len(x))]
    return None if all(same) else all_orders(len(x))[same.index(False)]


def _backwards_through_all(layer, x):
    failing = [tuple(order) for order in all_orders(len(x)) if not close(layer(x[order]), layer(x)[order])]
    return failing[-1] if failing else None


def _checker_cases(rng):
    tenths = np.array([[0.1], [0.2], [0.3]])
    return [
        case(layers.TwiceEachRow(), np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])),
        case(layers.RunningSum(), rng.normal(size=(3, 2))),
        case(layers.ColumnsSorted(), rng.normal(size=(3, 5)), note="a layer that sorts every column"),
        case(layers.RowsReversed(), rng.normal(size=(3, 2)), note="a layer that turns the rows upside down"),
        case(layers.RowBeforeAdded(), rng.normal(size=(4, 3)), note="a layer that adds to each row the one before"),
        case(layers.LastRowDoubled(), rng.normal(size=(4, 5)), note="a layer that doubles the last row"),
        case(layers.FirstRowDoubled(), rng.normal(size=(3, 4)), note="a layer that doubles the first row"),
        case(layers.ColumnMeanRemoved(), rng.normal(size=(4, 2))),
        case(layers.MeanInEveryRow(), rng.normal(size=(2, 3))),
        case(layers.DenseForEachRow(), rng.normal(size=(3, 4)), note="one weight matrix for all rows"),
        case(layers.SumRowByRow(), tenths, note="rows 0.1, 0.2 and 0.3, whose sum depends on the order in its last bit"),
        case(layers.FaintPositions(), rng.normal(size=(4, 3)), note="a layer that adds thousandths"),
    ]


IS_EQUIVARIANT = Exercise(
    id="5.2",
    title="Your own check",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
Write `failing_order(layer, x)`. The function `layer` takes a matrix and returns one with the same number of rows; `x` \
has at most 4 rows. Return an order, a tuple, for which reordering the rows before the layer does *not* give the same \
as reordering its output. If there is no such order, return None. Rounding does not count as a difference: compare \
relative to the largest value, or use `np.allclose`.""",
    hints=(
        "For one order you can compute two matrices. Which two, and when must they be equal?",
        "`itertools.permutations(range(len(x)))` gives all orders as tuples; `list(order)` indexes rows.",
        "Compare `layer(x[list(order)])` with `layer(x)[list(order)]` by `np.allclose`; return the first order for which they differ, and None after the loop.",
    ),
    stub="def failing_order(layer, x):\n    return ...",
    reference=_checker(),
    cases=_checker_cases,
    returns=("what you return",),
    probe=_looked_at,
    wrong={
        "invariance checked": (
            _checker(expected=lambda layer, x, order: layer(x)),
            "You ask whether the output stays the same: that is invariance. Here the output has to move along with the rows.",
        ),
        "output moved the other way": (
            _checker(expected=lambda layer, x, order: layer(x)[np.argsort(order)]),
            "You reorder the rows by the order and the output by its inverse. For a swap the two agree; try the order (1, 2, 0) on a layer that does nothing.",
        ),
        "bits compared": (
            _checker(same=lambda one, other: np.array_equal(one, other)),
            "You compare to the last bit. (0.1 + 0.2) + 0.3 and (0.3 + 0.2) + 0.1 differ there, though they are the same sum.",
        ),
        "rows compared as a set": (
            _checker(same=lambda one, other: close(sorted(map(tuple, np.round(one, 6))), sorted(map(tuple, np.round(other, 6))))),
            "You ask whether the same rows come out in any order at all. They have to come out in *this* order: look at a layer that turns its rows upside down.",
        ),
        "one equal entry is enough": (
            _checker(same=lambda one, other: bool(np.isclose(one, other).any())),
            "You call two matrices equal as soon as one of their entries agrees. A layer that doubles a single row leaves most of them alone.",
        ),
        "columns reordered": (
            _checker(moved=lambda x, order: x[:, order], expected=lambda layer, x, order: layer(x)[:, order]),
            "You reorder columns, the features of every token. The tokens are the rows.",
        ),
        "shifts only": (
            _checker(orders=lambda n: [np.roll(np.arange(n), shift) for shift in range(n)]),
            "You try only orders that turn the rows round in a circle. A layer that adds the row before passes all of them, although it knows its neighbours.",
        ),
        "one swap only": (
            _checker(orders=lambda n: [np.array([1, 0, *range(2, n)])]),
            "You try a single swap, of the first two rows. Which layer treats another row in a special way?",
        ),
        "reversal only": (
            _checker(orders=lambda n: [np.arange(n)[::-1]]),
            "You try the reversed order alone. Which layers respect it and no other?",
        ),
        "tolerance too wide": (
            _checker(same=lambda one, other: bool(np.allclose(one, other, rtol=0.0, atol=0.01))),
            "Your comparison forgives a hundredth, and a layer that adds thousandths slips through. Rounding is far smaller: plain `np.allclose` is enough.",
        ),
    },
    alternatives={"with matrices": _by_matrices, "undo afterwards": _undone_afterwards, "another counterexample": _backwards_through_all},
    success="You try every order and forgive only rounding. If somebody doubts a no, you have the order.",
    solution=r"""
This is the definition, word for word: for every order, reordering before and reordering after must agree. The first order for which they
do not is the counterexample. `np.allclose` forgives a relative difference of 1e-5 and an absolute one of 1e-8, which is far more than
rounding.

```python
def failing_order(layer, x):
    for order in itertools.permutations(range(len(x))):
        rows = list(order)
        if not np.allclose(layer(x[rows]), layer(x)[rows]):
            return order
    return None


check(...)
```
""",
)

FIVE_LAYERS_SOURCE = """\
layers = {
    "A": lambda x: x - x.mean(axis=0),
    "B": lambda x: np.cumsum(x, axis=0),
    "C": lambda x: x @ x.T @ x,
    "D": lambda x: np.sort(x, axis=0),
    "E": lambda x: x + np.roll(x, 1, axis=0),
}
"""
_names = {"np": np}
exec(FIVE_LAYERS_SOURCE, _names)  # the layers that are judged are those that are printed
FIVE_LAYERS = _names["layers"]
EQUIVARIANT = ("A", "C")
SPLITS = {"B": "look at its first row", "D": "try the rows 1 and 2 in both orders", "E": "try three rows and one swap"}


def _accept_layers(answer):
    for name in FIVE_LAYERS:
        if name not in answer:
            return f"layer {name} is missing; give an entry for each of A, B, C, D and E."
    problems = {name: (_claim_problem if isinstance(answer[name], str) else _pair_problem)(name, answer[name]) for name in FIVE_LAYERS}
    wrong = [name for name, problem in problems.items() if problem]
    others = f" Look again at {' and '.join(wrong[1:])} as well." if wrong[1:] else ""
    return problems[wrong[0]] + others if wrong else None


def _claim_problem(name, claim):
    if claim.strip().casefold() != "equivariant":
        return f'layer {name}: write "equivariant", or a pair (x, order); {claim[:40]!r} is neither.'
    return None if name in EQUIVARIANT else f"layer {name} is not equivariant: {SPLITS[name]}."


def _pair_problem(name, pair):
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        return f"layer {name}: a counterexample is a pair (x, order), a matrix and a tuple of row numbers."
    try:
        x, order = np.array(pair[0], dtype=float), [int(i) for i in np.ravel(pair[1])]
    except (TypeError, ValueError):
        return f"layer {name}: x must be a matrix of numbers, and order a tuple of whole numbers."
    if x.ndim != 2 or not x.size or x.size > 10_000 or not np.isfinite(x).all() or np.abs(x).max() > 1e6:
        return f"layer {name}: x must be a matrix with rows and columns, of finite numbers below a million."
    if sorted(order) != list(range(len(x))):
        return f"layer {name}: for {len(x)} rows, an order holds each of 0 to {len(x) - 1} once; yours is {order[:9]}."
    layer = FIVE_LAYERS[name]
    before, after = layer(x[order]), layer(x)[order]
    if np.allclose(before, after, rtol=1e-6, atol=1e-6 * np.abs(after).max()):
        more = "; could it be that there is no counterexample?" if name in EQUIVARIANT else "; try other rows or orders."
        return f"layer {name}: with your x and order, both sides come out equal{more}"
    return None


def _says(**claims):
    return lambda answer: (
        all(answer[name] == "equivariant" for name in claims["equivariant"])
        and all(answer[name] != "equivariant" for name in claims.get("others", ""))
    )


_THREE = ([[1.0], [2.0], [4.0]], (1, 0, 2))
_RIGHT = {"A": "equivariant", "B": _THREE, "C": "equivariant", "D": _THREE, "E": _THREE}

WHICH_OF_FIVE = Exercise(
    id="5.3",
    title="Which of these five?",
    kind="explore",
    minutes=12,
    difficulty=2,
    statement="""\
Which of the five layers below are equivariant, for every input and every order? For each of these, answer \
`"equivariant"`. For each other layer, give a counterexample: a pair `(x, order)` for which `layer(x[list(order)])` \
and `layer(x)[list(order)]` differ. You may need three rows or more. Your function of exercise 5.2 finds such \
orders.""",
    hints=(
        "Which of the five treat all rows alike, and for which does the place of a row matter?",
        "Rows that are easy to follow help: 1, 2 and 4 in one column. Two rows are not always enough.",
        "A sum or mean over all rows does not care about their order. A running sum, a sort and a neighbour do: swap the first two of three rows.",
    ),
    stub=FIVE_LAYERS_SOURCE + 'answer = {"A": ..., "B": ..., "C": ..., "D": ..., "E": ...}',
    reference=_RIGHT,
    accepts=_accept_layers,
    wrong={
        "all are equivariant": (
            dict.fromkeys("ABCDE", "equivariant"),
            "Not all five are. Follow the first row through layer B, then put another row first.",
            _says(equivariant="ABCDE"),
        ),
        "sorted means equivariant": (
            {**_RIGHT, "D": "equivariant"},
            "Sorted columns come out the same for every order of the rows. That is invariance. An equivariant layer would have to reorder its output.",
            _says(equivariant="D", others="B"),
        ),
        "shifts stand for all orders": (
            {**_RIGHT, "E": "equivariant"},
            "Layer E respects every shift of the rows in a circle, and of two rows every order is such a shift. Take three rows and swap two of them.",
            _says(equivariant="E", others="BD"),
        ),
        "a mean mixes, so it breaks": (
            {**_RIGHT, "A": _THREE},
            "Layer A does look at all rows, but only through their mean, which has no order. Compute both sides for your counterexample.",
            lambda answer: not isinstance(answer["A"], str),
        ),
        "products of rows break": (
            {**_RIGHT, "C": _THREE},
            "Layer C: write P x in place of x. Where do P and its transpose meet? Compute both sides for your counterexample.",
            lambda answer: not isinstance(answer["C"], str),
        ),
    },
    alternatives={
        "arrays and lists": {
            **_RIGHT,
            "B": (np.array([[1.0, 0.0], [0.0, 1.0]]), [1, 0]),
            "D": (np.array([[1], [2]]), np.array([1, 0])),
            "E": [np.arange(8.0).reshape(4, 2), [0, 2, 1, 3]],
        },
        "capitals": {**_RIGHT, "A": " Equivariant", "C": "EQUIVARIANT"},
    },
    success="A and C see the other rows only through sums over all of them.",
    solution=r"""
A and C see the other rows only through sums over all rows, which are the same in every order. For A it is the mean. C is $X (X^\top
X)$, and $(P X)^\top (P X) = X^\top X$ because $P^\top P$ is the identity. For the others, three rows and one swap are enough. A
sort returns the same result for every order, which is invariance.

```python
layers = {
    "A": lambda x: x - x.mean(axis=0),
    "B": lambda x: np.cumsum(x, axis=0),
    "C": lambda x: x @ x.T @ x,
    "D": lambda x: np.sort(x, axis=0),
    "E": lambda x: x + np.roll(x, 1, axis=0),
}
x, order = np.array([[1.0], [2.0], [4.0]]), (1, 0, 2)
for name in "BDE":
    before, after = layers[name](x[list(order)]), layers[name](x)[list(order)]
    print(name, before.ravel(), after.ravel())

answer = {"A": "equivariant", "B": (x, order), "C": "equivariant", "D": (x, order), "E": (x, order)}
check(...)
```
""",
)

EXERCISES = (IS_EQUIVARIANT, WHICH_OF_FIVE)
