"""Chapter 13, exercise on the cache: each word at its own place."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _attend(query, keys, values):
    scores = query @ keys.T / np.sqrt(keys.shape[1])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values


def _stepwise(*, place=lambda n: n, key_place=True, value_place=True, newest=False, whole=False):
    """The function of exercise 13.5 with one thing changed."""

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
    id="13.5",
    title="The same word at every place",
    page="13b_engine",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
The function below runs masked self-attention one word at a time and keeps keys and values. `x` (t, m) holds the word vectors, `positions` a vector for each of more than t places. \
The first output row is right, the later ones are not. Mend it: row n must be what word n, at place n, gets from the words 0 to n, each at its own place.""",
    hints=(
        "Change the order of the first two words. Does the output of the third word change?",
        "Print what is added to each word.",
        "When one word arrives alone, its place is not 0: it is the number of words that came before.",
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
            "Each word gets the vector of place 0, so the words are a bag again. Which place does the third word have?",
        ),
        "one place too far": (
            _stepwise(place=lambda n: n + 1),
            "Now the first row is wrong too: the first word gets the vector of place 1.",
        ),
        "keys without places": (_stepwise(key_place=False), "The query knows its place, the keys do not know theirs."),
        "values without places": (
            _stepwise(value_place=False),
            "Queries and keys have their places, the values have not. All three are projections of one sum.",
        ),
        "nothing kept": (
            _stepwise(newest=True),
            "Each word attends to itself alone, with a weight of 1. What became of the words before it?",
        ),
        "future seen": (
            _stepwise(whole=True),
            "The first row changes when the last word changes. What has been kept when the first word is read?",
        ),
    },
    alternatives={"all at once, masked": _by_mask},
    success="A cache saves what was computed; it cannot know the place of a new word unless you count.",
    solution=r"""
A word that arrives alone is row 0 of its own array, but not at place 0 of the sentence: `positions[:len(new)]` is always the first
vector. The place is the number of words already kept.

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
