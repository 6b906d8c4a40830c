"""Chapter 02, exercises on weights and on the lookup itself."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _far_keys_share(answer):
    first, second, third, fourth = (float(weight) for weight in answer)
    return abs(first - third) < 1e-3 and abs(second - fourth) < 1e-3 and 0 < second < first


TWO_INFINITIES = Exercise(
    id="2.1",
    title="Two keys that match",
    kind="predict",
    minutes=3,
    difficulty=1,
    statement="""\
Four keys receive the scores 3, −∞, 3, −∞. Write down the four weights that softmax makes from them.""",
    hints=(
        "What is the exponential of minus infinity? And what must the four weights add up to?",
        "The first and the third key have the same score, so nothing can tell their weights apart.",
        "The exponentials are e³, 0, e³, 0. Divide each by their sum, 2e³.",
    ),
    stub="weights = ...",
    reference=(0.5, 0.0, 0.5, 0.0),
    wrong={
        "first match wins": (
            (1.0, 0.0, 0.0, 0.0),
            "You chose one of two keys with the same score. Softmax sees nothing but scores. What could tell the first match from the second?",
        ),
        "everyone gets a share": (
            (0.25, 0.25, 0.25, 0.25),
            "Two of the scores are minus infinity. What is the exponential of minus infinity?",
        ),
        "not normalised": ((1.0, 0.0, 1.0, 0.0), "The zeros are right. Now add your four weights up."),
        "exponentials only": (
            (float(np.exp(3.0)), 0.0, float(np.exp(3.0)), 0.0),
            "You took the exponentials and stopped. One more operation follows in softmax.",
        ),
        "not a number": (
            (np.nan,) * 4,
            "Infinity minus infinity would be undefined, but you need no such difference here. Write down the four exponentials first.",
        ),
        "infinity taken for 0": (
            (0.4763, 0.0237, 0.4763, 0.0237),
            "Your two keys with the score minus infinity still get something. What is exp of −10, of −100, of −1000?",
            _far_keys_share,
        ),
        "scores kept": (
            (3.0, -np.inf, 3.0, -np.inf),
            "Those are the scores. A weight is never below 0. What does softmax do to a score first?",
            lambda answer: len(answer) == 4 and any(np.isneginf(float(weight)) for weight in answer),
        ),
        "a half for everyone": (
            (0.5, 0.5, 0.5, 0.5),
            "Add your four weights up. Which two keys should get nothing?",
            lambda answer: len(answer) == 4 and np.ptp([float(weight) for weight in answer]) < 1e-6,
        ),
    },
    alternatives={"array": np.array([0.5, 0.0, 0.5, 0.0]), "list": [1 / 2, 0, 1 / 2, 0]},
    tolerance=1e-3,
    success="A key with the score −∞ gets nothing. Keys that match equally well share.",
    solution=r"""
The exponential of minus infinity is 0, so two keys drop out. The other two have the same score and share a total of 1, whatever that
score is.

```python
weights = [1 / 2, 0, 1 / 2, 0]
check(...)
```
""",
)


def _weights(scores, temperature):
    raw = np.exp((scores - scores.max()) / temperature)
    return raw / raw.sum()


def _lookup(query, keys, values, temperature=1.0):
    weights = _weights(keys @ query, temperature)
    return weights @ values, weights


def _lookup_cases(rng):
    three = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    sizes = [rng.normal(size=3), rng.normal(size=(7, 3)), rng.normal(size=(7, 5))]
    return [
        case(np.array([1.0, 0.0]), three, np.array([[4.0], [8.0], [6.0]])),
        case(*sizes),
        case(*sizes, temperature=0.3, note="temperature 0.3"),
        case(*sizes, temperature=20.0, note="temperature 20"),
        case(rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=(2, 3)), 3.0, note="more columns than keys"),
        case(40.0 * sizes[0], 20.0 * sizes[1], sizes[2], note="scores in the hundreds or thousands"),
        case(*sizes, temperature=1e-4, note="temperature 0.0001"),
        case(np.array([-30.0]), np.array([[50.0], [50.1], [50.05]]), np.array([[1.0], [2.0], [4.0]]), note="scores near -1500"),
    ]


def _keys_blended(query, keys, values, temperature=1.0):
    weights = _weights(keys @ query, temperature)
    return weights @ keys, weights


def _lookup_by(weigh):
    """The lookup with other weights."""

    def lookup(query, keys, values, temperature=1.0):
        weights = weigh(query, keys, temperature)
        return weights @ values, weights

    return lookup


def _by_loops(query, keys, values, temperature=1.0):
    scores = [float(sum(a * b for a, b in zip(key, query, strict=True))) / temperature for key in keys]
    raw = [np.exp(score - max(scores)) for score in scores]
    output = np.zeros(values.shape[1])
    for part, value in zip(raw, values, strict=True):
        output += part / sum(raw) * value
    return output, [part / sum(raw) for part in raw]


def _by_logarithms(query, keys, values, temperature=1.0):
    scores = np.einsum("d,jd->j", query, keys) / temperature
    weights = np.exp(scores - np.logaddexp.reduce(scores))
    return np.einsum("j,je->e", weights, values), weights


LOOKUP = Exercise(
    id="2.2",
    title="A lookup with a temperature",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `my_lookup(query, keys, values, temperature=1.0)` for one query: `query` (d,), `keys` (j, d), `values` (j, d_v). \
Divide the dot products of query and keys by the temperature, turn them into weights with softmax, take the mean of \
the values, and return the pair `(output, weights)`. All numbers must be finite, even for scores in the thousands or a \
temperature of 0.0001. Beware: `np.exp(1000)` is infinite, and infinity divided by infinity is `nan`. What can you \
subtract from all scores without changing a weight?""",
    hints=(
        "What shapes do the scores, the weights and the output have, and which product makes each of them?",
        "`keys @ query` gives one score for each key. Softmax sees only differences. Which number can you subtract from all scores so that no exponent is above 0?",
        "Subtract the largest score, divide by the temperature, take exponentials, divide by their sum; the output is `weights @ values`.",
    ),
    stub="def my_lookup(query, keys, values, temperature=1.0):\n    return ...",
    reference=_lookup,
    cases=_lookup_cases,
    returns=("output", "weights"),
    wrong={
        "temperature multiplied": (
            _lookup_by(lambda query, keys, temperature: _weights(keys @ query, 1 / temperature)),
            "Your weights get flatter when the temperature falls. Which way should a low temperature push the differences between scores?",
        ),
        "temperature without effect": (
            lambda query, keys, values, temperature=1.0: _lookup(query, keys, values),
            "Two temperatures give you the same weights. If you divide the exponentials, the division cancels. At which step must you divide?",
        ),
        "weights divided": (
            _lookup_by(lambda query, keys, temperature: _weights(keys @ query, 1.0) / temperature),
            "Your weights add up to one over the temperature. Divide something else, before the softmax.",
        ),
        "exponentials overflow": (
            _lookup_by(lambda query, keys, temperature: np.exp(keys @ query / temperature) / np.exp(keys @ query / temperature).sum()),
            "This is right for small scores, but `nan` for large scores or a low temperature. Print the largest score divided by the temperature, and its exponential.",
        ),
        "hard choice": (
            _lookup_by(lambda query, keys, temperature: np.eye(len(keys))[np.argmax(keys @ query)]),
            "One weight is 1 and the others are 0 at every temperature. The other keys should get a share.",
        ),
        "not normalised": (
            _lookup_by(lambda query, keys, temperature: np.exp((keys @ query - (keys @ query).max()) / temperature)),
            "Add your weights up. A step is missing after the exponentials.",
        ),
        "distances as scores": (
            _lookup_by(lambda query, keys, temperature: _weights(-((keys - query) ** 2).sum(axis=1), temperature)),
            "You score a key by its distance from the query. The exercise asks for the dot product. The two rank keys differently when the keys have different lengths.",
        ),
        "cosines as scores": (
            _lookup_by(
                lambda query, keys, temperature: _weights(
                    keys @ query / (np.linalg.norm(keys, axis=1) * np.linalg.norm(query)), temperature
                )
            ),
            "You divide by the lengths of query and key. Here the score is the plain dot product.",
        ),
        "root of the width": (
            lambda query, keys, values, temperature=1.0: _lookup(query / np.sqrt(len(query)), keys, values, temperature),
            "You divide the scores by the root of the width. That comes in chapter 3. Here you divide only by the temperature.",
        ),
        "keys blended": (_keys_blended, "Your weights are right, but your output has the width of a key. Which array should you blend?"),
        "pair swapped": (
            lambda query, keys, values, temperature=1.0: _lookup(query, keys, values, temperature)[::-1],
            "You return the weights first. The output comes first, then the weights.",
        ),
    },
    alternatives={"loops": _by_loops, "log-sum-exp": _by_logarithms},
    success="Scores, a temperature, weights, a mean: this is a soft lookup.",
    solution=r"""
One matrix product makes the scores, and another makes the output. Between them we divide by the temperature and take softmax. We subtract
the largest score first: this changes no weight, and then no exponent is above 0.

```python
def my_lookup(query, keys, values, temperature=1.0):
    scores = keys @ query
    raw = np.exp((scores - scores.max()) / temperature)
    weights = raw / raw.sum()
    return weights @ values, weights


check(...)
```
""",
)

EXERCISES = (TWO_INFINITIES, LOOKUP)
