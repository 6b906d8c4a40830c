"""Chapter 12, exercise on greedy decoding."""

from dataclasses import dataclass

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

BOS, EOS = 1, 2


@dataclass(frozen=True)
class MadeUpModel:
    """Logits for ids: says `length` words, then <eos>, then words again; everything said so far decides the next one."""

    seed: int
    vocab_size: int
    length: int
    bos_id: int = BOS
    eos_id: int = EOS

    def __call__(self, ids):
        history = [int(i) for i in np.ravel(np.asarray(ids))]
        logits = np.random.default_rng([self.seed, *history]).normal(size=self.vocab_size)
        logits[[0, self.bos_id]] = -9.0
        logits[self.eos_id] = 9.0 if len(history) > self.length and self.eos_id not in history else -9.0
        return logits


def _greedy(next_logits, bos_id, eos_id, limit):
    said = []
    while len(said) < limit:
        word = int(np.argmax(next_logits([bos_id, *said])))
        if word == eos_id:
            break
        said.append(word)
    return said


def _greedy_cases(rng):
    def model(vocab_size, length, *ends):
        return MadeUpModel(int(rng.integers(2**31)), vocab_size, length, *ends)

    return [
        case(model(7, 3), BOS, EOS, 9),
        case(model(13, 5), BOS, EOS, 11),
        case(model(11, 9), BOS, EOS, 4, note="a sentence that reaches the limit"),
        case(model(17, 6), BOS, EOS, 6, note="a sentence as long as the limit"),
        case(model(5, 0), BOS, EOS, 3, note="a sentence that ends at once"),
        case(model(19, 4, 7, 5), 7, 5, 8, note="other numbers for <bos> and <eos>"),
    ]


def _newest_word_only(next_logits, bos_id, eos_id, limit):
    return _greedy(lambda ids: next_logits(ids[-1:] if len(ids) < 20 else [BOS] * 50), bos_id, eos_id, limit)


def _keeps_eos(next_logits, bos_id, eos_id, limit):
    said = _greedy(next_logits, bos_id, eos_id, limit)
    return [*said, eos_id] if len(said) < limit else said


def _goes_on(next_logits, bos_id, eos_id, limit):
    ids = [bos_id]
    for _ in range(limit):
        ids.append(int(np.argmax(next_logits(ids))))
    return [word for word in ids[1:] if word != eos_id]


def _with_arrays(next_logits, bos_id, eos_id, limit):
    ids = np.array([bos_id])
    for _ in range(limit):
        ids = np.append(ids, next_logits(ids).argmax())
        if ids[-1] == eos_id:
            return ids[1:-1]
    return ids[1:]


def _by_recursion(next_logits, bos_id, eos_id, limit):
    def more(ids):
        word = max(enumerate(next_logits(ids)), key=lambda pair: pair[1])[0]
        return [] if len(ids) > limit or word == eos_id else [word, *more([*ids, word])]

    return tuple(more([bos_id]))


GREEDY = Exercise(
    id="12.1",
    title="Word after word",
    kind="implement",
    minutes=10,
    difficulty=1,
    statement="""\
`next_logits(ids)` is a model: it takes the ids of everything said so far, `<bos>` first, and returns one logit for each word of the vocabulary. Write `say(next_logits, bos_id, eos_id, limit)`: \
begin with `<bos>`, take the most likely word again and again, and stop at `<eos>` or after `limit` words. Return the list of words without `<bos>` and `<eos>`.""",
    hints=(
        "What does the model have to read before it says the third word?",
        "Keep one list that begins with `bos_id`. Each step asks the model about the whole list and appends the `argmax`.",
        "Look at the new word before you append it: `<eos>` ends the loop, and so does having `limit` words.",
    ),
    stub="def say(next_logits, bos_id, eos_id, limit):\n    return ...",
    reference=_greedy,
    cases=_greedy_cases,
    returns=("words",),
    wrong={
        "words behind the end": (_goes_on, "You take <eos> out and go on. Nothing that a model says after <eos> belongs to the sentence."),
        "newest word only": (_newest_word_only, "You only told the model the newest word. How can it know what it has already said?"),
        "begin kept": (
            lambda next_logits, bos_id, eos_id, limit: [bos_id, *_greedy(next_logits, bos_id, eos_id, limit)],
            "Your list begins with <bos>, which is not a word of the sentence.",
        ),
        "end kept": (_keeps_eos, "Your list ends with <eos>, which is not a word of the sentence."),
        "no limit": (
            lambda next_logits, bos_id, eos_id, limit: _greedy(next_logits, bos_id, eos_id, limit + 40),
            "A sentence went on past the limit. What stops your loop when <eos> does not come?",
        ),
        "begin counted": (
            lambda next_logits, bos_id, eos_id, limit: _greedy(next_logits, bos_id, eos_id, limit - 1),
            "A sentence that reaches the limit is one word short. Does <bos> count as a word?",
        ),
        "no start": (
            lambda next_logits, bos_id, eos_id, limit: _greedy(lambda ids: next_logits(ids[1:]), bos_id, eos_id, limit),
            "The first words are not what the model says after <bos>. Print what you ask it about first.",
        ),
    },
    alternatives={"arrays": _with_arrays, "recursion": _by_recursion},
    success="That is all of greedy decoding.",
    solution=r"""
Ask the model about everything said so far, with `<bos>` in front, because the next word depends on all of it. Look at the new word before
you append it: then `<eos>` ends the loop and never enters the sentence.

```python
def say(next_logits, bos_id, eos_id, limit):
    ids = [bos_id]
    while len(ids) <= limit:
        word = int(np.argmax(next_logits(ids)))
        if word == eos_id:
            break
        ids.append(word)
    return ids[1:]


check(...)
```
""",
)

EXERCISES = (GREEDY,)
