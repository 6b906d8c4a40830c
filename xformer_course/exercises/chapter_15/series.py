"""Chapter 15, exercise on reading an attention map against known times."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _share(weights, heard):
    return (weights * (heard[None] == np.arange(len(weights))[:, None])).sum(axis=1)


def _cases(rng):
    def inputs(lasts, pauses):
        heard = [-1] * pauses[0]
        for word, last in enumerate(lasts):
            heard += [word] * last + [-1] * pauses[word + 1]
        weights = rng.random((len(lasts), len(heard))) ** 3
        return weights / weights.sum(axis=1, keepdims=True), np.array(heard)

    return [
        case(np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), np.array([0, 1, 1])),
        case(*inputs([2, 1, 4], [1, 0, 2, 1]), note="pauses"),
        case(*inputs([3, 2, 1, 5, 2], [0, 1, 3, 0, 2, 2])),
        case(inputs([2, 3], [1, 1, 2])[0], np.array([-1, 0, 0, -1, -1, -1, -1, -1, -1])[:9], note="a word that is not heard"),
    ]


def _mean_weight(weights, heard):
    own = heard[None] == np.arange(len(weights))[:, None]
    return (weights * own).sum(axis=1) / np.maximum(own.sum(axis=1), 1)


def _without_pauses(weights, heard):
    kept = weights * (heard >= 0)
    return _share(kept / kept.sum(axis=1, keepdims=True), heard)


def _by_loop(weights, heard):
    return [sum(weight for weight, word in zip(row, heard) if word == place) for place, row in enumerate(weights)]


def _by_one_hot(weights, heard):
    table = np.zeros((len(heard), len(weights)))
    table[heard >= 0, heard[heard >= 0]] = 1
    return np.diagonal(weights @ table)


SHARE = Exercise(
    id="15.12",
    title="On the right frames",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
`weights` (t, j) is a cross-attention map: each of t words spreads a weight of 1 over j frames. `heard` (j,) holds, \
for each frame, the place in the text (0 to t − 1) of the word that sounds in it, −1 in a pause. Write \
`own_share(weights, heard)`: for each word the share of its weight that falls on its own frames, an array (t,). What falls on a pause is lost; a word that \
is never heard gets 0.""",
    hints=(
        "For word 2, which columns of its row count?",
        "`heard == 2` is a boolean row over frames. You need one such row for each word: compare with a column.",
        "`own = heard[None] == np.arange(t)[:, None]` has the shape of `weights`; multiply and add along axis 1.",
    ),
    stub="def own_share(weights, heard):\n    return ...",
    reference=_share,
    cases=_cases,
    returns=("share",),
    wrong={
        "only the peak": (
            lambda weights, heard: (heard[weights.argmax(axis=1)] == np.arange(len(weights))).astype(float),
            "You look only at the largest weight of each row. That says right or wrong, but not how much.",
        ),
        "a mean weight": (_mean_weight, "You divide by the number of frames, so long words look worse. A share is a sum."),
        "columns made to add to one": (
            lambda weights, heard: _share(weights / weights.sum(axis=0, keepdims=True), heard),
            "You rescaled the columns. Each row is a word and spreads a weight of 1.",
        ),
        "pauses forgiven": (_without_pauses, "You left the pauses out and rescaled. Weight on a pause is lost."),
        "largest weight": (
            lambda weights, heard: (weights * (heard[None] == np.arange(len(weights))[:, None])).max(axis=1),
            "You take one frame for each word. A word may be heard in several.",
        ),
        "one number for all": (
            lambda weights, heard: _share(weights, heard).mean(),
            "You averaged over the words; the statement asks for one number each.",
        ),
    },
    alternatives={"loop": _by_loop, "one-hot table": _by_one_hot},
    success="Compare it with the floor: the share of all frames that belong to the word.",
    page="15c_pixels_and_sounds",
    solution=r"""
Compare the frames, as a row, with the words' numbers, as a column. That gives a boolean table of which word sounds where. The weights that it
keeps add up to each word's share. −1 equals no word.

```python
def own_share(weights, heard):
    own = heard[None, :] == np.arange(len(weights))[:, None]
    return (weights * own).sum(axis=1)


check(...)
```
""",
)

EXERCISES = (SHARE,)
