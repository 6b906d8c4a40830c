"""Chapter 12, exercise on the precisions of BLEU."""

from collections import Counter

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _ngrams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _clipped(hypothesis, reference, n):
    said, wanted = Counter(_ngrams(hypothesis, n)), Counter(_ngrams(reference, n))
    return sum(min(count, wanted[gram]) for gram, count in said.items()), sum(said.values())


def _clipped_cases(rng):
    def drawn(size):
        return [str(word) for word in rng.choice(["le", "chat", "dort", "ici"], size=size)]

    return [
        case(["le", "chat", "chat"], ["le", "gros", "chat"], 1),
        case(["le", "le", "chat", "dort"], ["le", "chat", "dort", "et", "le", "chien"], 2),
        case(["le", "chat", "dort", "le", "chat", "mange"], ["le", "chat", "voit", "le", "chat"], 1),
        case(["le", "chat", "le", "chat"], ["le", "chat", "le", "chat", "le", "chat"], 2, note="n-grams that occur twice"),
        case([*drawn(13), "mur", "EST"], [*drawn(11), "murmure", "est"], 1, note="words that are alike and not equal"),
        case([*drawn(17), "ab", "c"], [*drawn(7), "a", "bc"], 2, note="words that are equal only when they run together"),
        case(["le", "chat"], ["le", "chat"], 3, note="fewer words than n"),
        case(["le"], ["le"], 3, note="fewer words than n, by two"),
        case(["chat", "le"], ["le", "chat"], 2, note="the same words in another order"),
    ]


def _not_clipped(hypothesis, reference, n):
    wanted = set(_ngrams(reference, n))
    return sum(gram in wanted for gram in _ngrams(hypothesis, n)), len(_ngrams(hypothesis, n))


def _each_once(hypothesis, reference, n):
    said = set(_ngrams(hypothesis, n))
    return len(said & set(_ngrams(reference, n))), len(said)


def _kinds_against_all(hypothesis, reference, n):
    return len(set(_ngrams(hypothesis, n)) & set(_ngrams(reference, n))), len(_ngrams(hypothesis, n))


def _run_together(hypothesis, reference, n):
    said, wanted = (Counter("".join(gram) for gram in _ngrams(words, n)) for words in (hypothesis, reference))
    return (said & wanted).total(), said.total()


def _crossing_out(hypothesis, reference, n):
    left, hits = _ngrams(reference, n), 0
    for gram in _ngrams(hypothesis, n):
        if gram in left:
            left.remove(gram)
            hits += 1
    return hits, max(0, len(hypothesis) - n + 1)


def _by_intersection(hypothesis, reference, n):
    said = Counter(zip(*(hypothesis[i:] for i in range(n)), strict=False))
    wanted = Counter(zip(*(reference[i:] for i in range(n)), strict=False))
    return [np.int64((said & wanted).total()), said.total()]


CLIPPED = Exercise(
    id="12.11",
    page="12e_how_good_is_it",
    title="Clipped matches",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `matches(hypothesis, reference, n)` for two lists of words: the pair (hits, total). `total` is the number of n-grams of the hypothesis, each occurrence counted. `hits` is how many of them the reference \
confirms: if it has an n-gram k times, it confirms at most k occurrences. A hypothesis of fewer than n words gives (0, 0).""",
    hints=(
        "The hypothesis is `le le le`, the reference `le chat`. How many times may `le` count?",
        "Count the n-grams of both sides; `collections.Counter` does it.",
        "An n-gram said a times and wanted b times adds min(a, b) to the hits.",
    ),
    stub="def matches(hypothesis, reference, n):\n    return ...",
    reference=_clipped,
    cases=_clipped_cases,
    returns=("hits", "total"),
    wrong={
        "not clipped": (
            _not_clipped,
            "A word is said three times and wanted once, and you counted it three times. Then repeating it would pay. Count it once.",
        ),
        "each kind once": (_each_once, "You counted each different n-gram once. Count every occurrence, in the hits and in the total."),
        "kinds against occurrences": (
            _kinds_against_all,
            "Your total counts occurrences, but your hits only count kinds. An n-gram that is said twice and wanted twice gives two hits.",
        ),
        "recall": (
            lambda hypothesis, reference, n: (_clipped(hypothesis, reference, n)[0], len(_ngrams(reference, n))),
            "Your total counts the n-grams of the reference. Precision asks how much of what was said is right.",
        ),
        "words run together": (
            _run_together,
            "You glued the words of an n-gram together, so *ab c* and *a bc* look the same. How else can you keep n words together?",
        ),
        "words for n-grams": (
            lambda hypothesis, reference, n: (_clipped(hypothesis, reference, n)[0], len(hypothesis)),
            "Your total is the number of words. How many pairs of neighbours do four words have?",
        ),
    },
    alternatives={"crossing out": _crossing_out, "intersection": _by_intersection},
    success="hits / total, over all sentences of a corpus, is the modified precision of BLEU.",
    solution=r"""
Count the n-grams of both sides. An n-gram that is said a times and wanted b times adds the smaller of the two to the hits. Repeating
a word therefore gains nothing.

```python
def matches(hypothesis, reference, n):
    said = Counter(tuple(hypothesis[i:i + n]) for i in range(len(hypothesis) - n + 1))
    wanted = Counter(tuple(reference[i:i + n]) for i in range(len(reference) - n + 1))
    hits = sum(min(count, wanted[gram]) for gram, count in said.items())
    return hits, said.total()


check(...)
```
""",
)


EXERCISES = (CLIPPED,)
