"""Chapter 12, an exercise on drawing the next word."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _keep(probabilities, words):
    kept = np.zeros_like(probabilities)
    kept[words] = probabilities[words]
    return kept / kept.sum()


def _nucleus(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    reached = np.cumsum(probabilities[likeliest_first])
    count = int((reached < p).sum()) + 1
    return _keep(probabilities, likeliest_first[:count])


def _nucleus_cases(rng):
    def drawn(v, spread):
        logits = spread * rng.normal(size=v)
        return np.exp(logits) / np.exp(logits).sum()

    return [
        case(np.array([0.15, 0.5, 0.05, 0.3]), 0.7),
        case(np.array([0.02, 0.03, 0.9, 0.05]), 0.6, note="one word that is enough alone"),
        case(np.array([0.125, 0.5, 0.125, 0.25]), 0.5, note="a word that has exactly p"),
        case(np.array([0.25, 0.0625, 0.125, 0.5, 0.0625]), 0.75, note="two words that have exactly p"),
        case(drawn(11, 1.0), 0.83),
        case(drawn(17, 2.0), 0.93),
        case(drawn(7, 0.3), 0.41),
    ]


def _without_the_last(probabilities, p):
    order = np.argsort(-probabilities)
    count = int((np.cumsum(probabilities[order]) < p).sum())
    return _keep(probabilities, order[: max(1, count)])


def _one_too_many(probabilities, p):
    order = np.argsort(-probabilities)
    count = int((np.cumsum(probabilities[order]) < p).sum()) + 2
    return _keep(probabilities, order[:count])


def _threshold(probabilities, p):
    words = np.flatnonzero(probabilities >= 1 - p)
    return _keep(probabilities, words if len(words) else [probabilities.argmax()])


def _tail_kept(probabilities, p):
    order = np.argsort(probabilities)
    count = int((np.cumsum(probabilities[order]) < p).sum()) + 1
    return _keep(probabilities, order[:count])


def _softmax_again(probabilities, p):
    kept = _nucleus(probabilities, p) > 0
    powers = np.where(kept, np.exp(probabilities), 0.0)
    return powers / powers.sum()


def _by_loop(probabilities, p):
    kept, total = [0.0] * len(probabilities), 0.0
    for word in sorted(range(len(probabilities)), key=lambda n: probabilities[n], reverse=True):
        kept[word] = float(probabilities[word])
        total += kept[word]
        if total >= p:
            break
    return [one / total for one in kept]


NUCLEUS = Exercise(
    id="12.4",
    title="The nucleus",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `nucleus(probabilities, p)` in NumPy. `probabilities` (v,) belong to the v words of a vocabulary and add up to 1; `p` lies between 0 and 1. Keep as few words as possible, the most likely first, \
until together they have a probability of at least `p`. Return the probabilities (v,) to draw from, each word at its old place: 0 for the words you drop, and the others divided by one number so that they add up to 1.""",
    hints=(
        "Which word is kept first, and when do you know that you have enough?",
        "`np.argsort(-probabilities)` lists the words, the most likely first, and `np.cumsum` adds up along that list.",
        "Count the sums that are still below `p`. One more word than that is needed.",
    ),
    stub="def nucleus(probabilities, p):\n    return ...",
    reference=_nucleus,
    cases=_nucleus_cases,
    returns=("probabilities",),
    wrong={
        "stops too early": (_without_the_last, "Your words do not reach `p`. The word that takes the sum past `p` belongs to the nucleus."),
        "one too many": (_one_too_many, "You kept one word too many. Your words reach `p` without the last of them."),
        "not shared out": (
            lambda probabilities, p: np.where(_nucleus(probabilities, p) > 0, probabilities, 0.0),
            "You kept the right words, but their probabilities no longer add up to 1. Divide them by their sum.",
        ),
        "sorted": (
            lambda probabilities, p: np.sort(_nucleus(probabilities, p))[::-1],
            "You found the right numbers and put them in the wrong places. Word n must keep place n.",
        ),
        "a threshold": (
            _threshold,
            "You looked at one word at a time. It may take many small ones to reach `p` together, or a single large one.",
        ),
        "a share of the words": (
            lambda probabilities, p: _keep(probabilities, np.argsort(-probabilities)[: max(1, round(p * len(probabilities)))]),
            "You kept a share of the *words*. `p` is a share of the *probability*: how many words that takes differs from row to row.",
        ),
        "tail kept": (_tail_kept, "You began with the least likely words. `argsort` puts the smallest first."),
        "in the order given": (
            lambda probabilities, p: _keep(probabilities, np.arange(int((np.cumsum(probabilities) < p).sum()) + 1)),
            "You added up in the order of the vocabulary. Begin with the most likely word.",
        ),
        "softmax again": (
            _softmax_again,
            "You applied a softmax to probabilities, which makes them more alike. Divide them by their sum instead.",
        ),
    },
    alternatives={"a loop": _by_loop},
    success="One factor for all: the words that are left keep their proportions.",
    solution=r"""
List the words, the most likely first, and add up along the list. You need all the words whose sum is still below `p`, and one more, which
takes the sum past `p`. The kept probabilities go back to their old places. Dividing by their sum makes them add up to 1 again.

```python
def nucleus(probabilities, p):
    likeliest_first = np.argsort(-probabilities)
    reached = np.cumsum(probabilities[likeliest_first])
    words = likeliest_first[:np.sum(reached < p) + 1]
    kept = np.zeros(len(probabilities))
    kept[words] = probabilities[words]
    return kept / kept.sum()


check(...)
```
""",
)

EXERCISES = (NUCLEUS,)
