"""Chapter 05, how many sentences are left when a layer cannot tell orders apart."""

import numpy as np

from xformer_course.exercises.chapter_05 import layers
from xformer_course.exercises.chapter_05.layers import all_orders, close
from xformer_course.exercises.exercise import Exercise, case


def _count(results):
    kept = []
    for result in results:
        if not any(close(result, other) for other in kept):
            kept.append(result)
    return len(kept)


def _distinct(layer, x):
    return _count([layer(x[order]) for order in all_orders(len(x))])


def _sets(layer, x):
    results = [np.atleast_2d(layer(x[order])) for order in all_orders(len(x))]
    return _count([result[np.lexsort(result.T.round(6))] for result in results])


def _counted(count):
    """Another count of the results for all orders."""
    return lambda layer, x: count([layer(x[order]) for order in all_orders(len(x))])


def _by_unique(layer, x):
    results = np.array([np.ravel(layer(x[order])) for order in all_orders(len(x))])
    return len(np.unique(results.round(7), axis=0))


def _count_cases(rng):
    repeated = rng.normal(size=(4, 2))
    repeated[3] = repeated[0]
    return [
        case(layers.MeanOfRows(), np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 8.0]])),
        case(layers.TwiceEachRow(), rng.normal(size=(3, 2))),
        case(layers.LastRow(), rng.normal(size=(4, 3)), note="a layer that returns the last row"),
        case(layers.TwiceEachRow(), repeated, note="four rows, two of them equal"),
        case(layers.ColumnsSorted(), rng.normal(size=(3, 5))),
        case(layers.FirstMinusLast(), rng.normal(size=(4, 2)), note="the first row minus the last"),
        case(
            layers.SumOfRowsInTurn(),
            np.array([[0.1], [0.2], [0.3]]),
            note="rows 0.1, 0.2 and 0.3, whose sum depends on the order in its last bit",
        ),
        case(layers.TwiceEachRow(), 0.05 * rng.normal(size=(3, 4)), note="small numbers"),
        case(layers.TwiceEachRow(), 1 + 0.001 * rng.normal(size=(4, 5)), note="rows that differ by thousandths"),
        case(layers.NeighbourProducts(), rng.normal(size=(4, 2)), note="products of neighbouring rows"),
        case(layers.RunningSum(), rng.normal(size=(2, 3))),
    ]


DISTINCT = Exercise(
    id="5.14",
    page="05a_how_much_order_is_left",
    title="How many sentences are left?",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
Write `distinct_outputs(layer, x)`: `layer` takes a matrix and returns an array; `x` has at most 4 rows. Run the \
layer on `x` in every order of its rows, and count how many *different* outputs there are. Two outputs are the same \
if they agree up to rounding (`np.allclose`). Then try it on a mean of the rows, on self-attention, and on \
self-attention followed by a mean.""",
    hints=(
        "For the mean of the rows of `x`, what must the count be? For a layer that changes nothing?",
        "Keep a list of the outputs that you have met. When do you add a new one?",
        "`if not any(np.allclose(result, other) for other in met): met.append(result)`; the answer is the length of the list.",
    ),
    stub="def distinct_outputs(layer, x):\n    return ...",
    reference=_distinct,
    cases=_count_cases,
    returns=("count",),
    wrong={
        "bits compared": (
            lambda layer, x: len({np.asarray(layer(x[order])).tobytes() for order in all_orders(len(x))}),
            "You count equal sums as different, because they differ in their last bit. Compare with `np.allclose`.",
        ),
        "outputs as sets": (
            _sets,
            "You sort the rows of each output before you compare, whereas the same rows in another order are a different output.",
        ),
        "compared with the first alone": (
            _counted(lambda results: 1 + sum(not close(result, results[0]) for result in results)),
            "You count the outputs that differ from the first. Two of them may be equal to each other.",
        ),
        "compared with the one before": (
            _counted(lambda results: 1 + sum(not close(one, other) for one, other in zip(results, results[1:], strict=False))),
            "You compare each output with the one before it. An output may come back later in the list.",
        ),
        "orders counted": (
            lambda layer, x: len(all_orders(len(x))),
            "That is the number of orders, n!. Which of them give the same output?",
        ),
        "inputs counted": (
            lambda layer, x: _count([x[order] for order in all_orders(len(x))]),
            "You count the different inputs. Count what the layer makes of them.",
        ),
        "original left out": (
            lambda layer, x: _count([layer(x[order]) for order in all_orders(len(x))[1:]]),
            "You left out the order that moves nothing. Its output may be one of a kind.",
        ),
        "rounded to whole numbers": (
            lambda layer, x: len({(np.round(layer(x[order])) + 0.0).tobytes() for order in all_orders(len(x))}),
            "You round to whole numbers before comparing, and small outputs all become 0.",
        ),
    },
    alternatives={
        "rounded to six decimals": lambda layer, x: len(
            {tuple((np.round(layer(x[order]), 6) + 0.0).ravel().tolist()) for order in all_orders(len(x))}
        ),
        "np.unique on rows": _by_unique,
    },
    success="A model built on this layer can tell at most so many orders apart.",
    solution=r"""
Keep the outputs met so far, and add one only if it is close to none of them. If you compared bits instead, differences by rounding would count as well.

```python
def distinct_outputs(layer, x):
    met = []
    for order in itertools.permutations(range(len(x))):
        output = layer(x[list(order)])
        if not any(np.allclose(output, other) for other in met):
            met.append(output)
    return len(met)


check(...)
```

On a mean, on self-attention, and on both:

```python
attended = lambda x: self_attention(x, *matrices)[0]
print("mean of the words       ", distinct_outputs(lambda x: x.mean(axis=0), four))
print("self-attention          ", distinct_outputs(attended, four))
print("self-attention, its mean", distinct_outputs(lambda x: attended(x).mean(axis=0), four))
```
""",
)

EXERCISES = (DISTINCT,)
