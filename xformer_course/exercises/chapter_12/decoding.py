"""Chapter 12, exercises on greedy decoding and on the cache."""

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
begin with `<bos>`, take the likeliest word again and again, and stop at `<eos>` or after `limit` words. Return the list of words without `<bos>` and `<eos>`.""",
    hints=(
        "What does the model have to read before it says the third word?",
        "Keep one list that begins with `bos_id`; each step asks the model about the whole list and appends `argmax`.",
        "Look at the new word before you append it: `<eos>` ends the loop, and so does having `limit` words.",
    ),
    stub="def say(next_logits, bos_id, eos_id, limit):\n    return ...",
    reference=_greedy,
    cases=_greedy_cases,
    returns=("words",),
    wrong={
        "words behind the end": (_goes_on, "You take <eos> out and go on behind it. What a model says after <eos> belongs to no sentence."),
        "newest word only": (
            _newest_word_only,
            "The model was asked about the newest word alone. How can it know what it has already said?",
        ),
        "begin kept": (
            lambda next_logits, bos_id, eos_id, limit: [bos_id, *_greedy(next_logits, bos_id, eos_id, limit)],
            "Your list begins with <bos>, which is no word of the sentence.",
        ),
        "end kept": (_keeps_eos, "Your list ends with <eos>, which is no word of the sentence."),
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
The model is asked about everything said so far, with `<bos>` in front, because the next word depends on all of it. The new word is
looked at before it is appended, so that `<eos>` ends the loop and never enters the sentence.

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


def _attend(query, keys, values):
    scores = query @ keys.T / np.sqrt(keys.shape[1])
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values


def _stepwise(*, place=lambda n: n, key_place=True, value_place=True, newest=False, whole=False):
    """The function of exercise 12.2 with one thing changed."""

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
    id="12.2",
    title="The same word at every place",
    page="13a_engine",
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

EXERCISES = (GREEDY, CACHE)
