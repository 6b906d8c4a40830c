"""Chapter 13, exercise on the cache: each word at its own place."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _attend(query, keys, values):
    scores = query @ keys.T / np.sqrt(keys.shape[1])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values


def _stepwise(*, place=lambda n: n, key_place=True, value_place=True, newest=False, whole=False):
    """The function of exercise 13.1 with one thing changed."""

    def step_by_step(x, positions, w_q, w_k, w_v):
        outputs = []
        placed = np.stack([row + positions[place(n)] for n, row in enumerate(x)])
        keys, values = (placed if key_place else x) @ w_k, (placed if value_place else x) @ w_v
        for n in range(len(x)):
            kept = slice(n, n + 1) if newest else slice(0, len(x) if whole else n + 1)
            outputs.append(_attend(placed[n] @ w_q, keys[kept], values[kept]))
        return np.stack(outputs)

    return step_by_step


def _by_mask(x, positions, w_q, w_k, w_v):
    placed = x + positions[: len(x)]
    scores = (placed @ w_q) @ (placed @ w_k).T / w_k.shape[1] ** 0.5
    scores[np.triu_indices(len(x), k=1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ placed @ w_v


def _cache_cases(rng):
    def drawn(t, places, m, d, e):
        return [rng.normal(size=size) for size in ((t, m), (places, m), (m, d), (m, d), (m, e))]

    return [case(*drawn(3, 5, 4, 2, 3)), case(*drawn(7, 9, 6, 5, 2)), case(*drawn(2, 4, 3, 2, 5))]


CACHE = Exercise(
    id="13.1",
    title="Right at first",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
The NumPy function below runs self-attention with one head. It reads one word at a time and keeps keys and values. `x` (t, m) holds the word vectors. \
`positions` holds one vector for each position, and there are more than t positions; each word gets its vector added before the projections. The first row of the result is right, and the later ones are wrong. \
Find the bug and fix it: word n must read words 0 to n, as if all the words had been sent at once.""",
    hints=(
        "Swap the first two words. Does the output of the third word change? Should it?",
        "Print the vector that is added to each word.",
        "A word that arrives alone is not at place 0. Its place is the number of words that came before it.",
    ),
    stub="""\
def step_by_step(x, positions, w_q, w_k, w_v):
    keys, values, outputs = [], [], []
    for word in x:
        new = word[None]
        new = new + positions[:len(new)]
        keys.append(new @ w_k)
        values.append(new @ w_v)
        k, v = np.concatenate(keys), np.concatenate(values)
        scores = new @ w_q @ k.T / np.sqrt(k.shape[1])
        weights = np.exp(scores - scores.max())
        outputs.append(weights / weights.sum() @ v)
    return np.concatenate(outputs)""",
    reference=_stepwise(),
    cases=_cache_cases,
    returns=("outputs",),
    wrong={
        "always place 0": (
            _stepwise(place=lambda n: 0),
            "You add the vector of place 0 to every word, so the model cannot tell their order. At which place is the third word?",
        ),
        "one place too far": (
            _stepwise(place=lambda n: n + 1),
            "You count one too many: the first word gets the vector of place 1. How many words came before it?",
        ),
        "keys without places": (
            _stepwise(key_place=False),
            "Your query knows its place, but your keys do not. Add the position before you make the key.",
        ),
        "values without places": (
            _stepwise(value_place=False),
            "Your queries and keys know their places, but your values do not. Make all three from the same sum of word and position.",
        ),
        "nothing kept": (
            _stepwise(newest=True),
            "Each word attends only to itself, with a weight of 1. Where did the earlier keys and values go?",
        ),
        "future seen": (
            _stepwise(whole=True),
            "Your first row changes when the last word changes, so a word reads its future. Which keys exist when the first word is read?",
        ),
    },
    alternatives={"all at once, masked": _by_mask},
    success="The cache keeps the keys. You have to count the place of a new word yourself.",
    solution=r"""
A word that arrives alone is row 0 of its own array. It is not at place 0 of the sentence, and `positions[:len(new)]` is always the
vector of place 0. Count the words that are kept already: that is the place of the new one.

```python
def step_by_step(x, positions, w_q, w_k, w_v):
    keys, values, outputs = [], [], []
    for word in x:
        place = len(keys)
        new = word[None] + positions[place:place + 1]
        keys.append(new @ w_k)
        values.append(new @ w_v)
        k, v = np.concatenate(keys), np.concatenate(values)
        scores = new @ w_q @ k.T / np.sqrt(k.shape[1])
        weights = np.exp(scores - scores.max())
        outputs.append(weights / weights.sum() @ v)
    return np.concatenate(outputs)


check(...)
```
""",
)
