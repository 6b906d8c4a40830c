"""Chapter 12, exercises on beam search."""

from dataclasses import dataclass

import numpy as np

from xformer_course.exercises.comparison import as_array, as_floats, difference
from xformer_course.exercises.exercise import Exercise, case


def _log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _beam_step(totals, log_probs):
    extended = totals[:, None] + log_probs
    best = np.argsort(-extended, axis=None, kind="stable")[: len(totals)]
    return extended.ravel()[best], best // log_probs.shape[1], best % log_probs.shape[1]


def _beam_step_cases(rng):
    def drawn(k, v):
        return -np.sort(rng.exponential(3.0, size=k)), _log_softmax(2 * rng.normal(size=(k, v)))

    small = np.log(np.array([[0.5, 0.3, 0.2], [0.05, 0.9, 0.05]]))
    alive, long = drawn(3, 5), drawn(5, 11)
    return [
        case(np.log(np.array([0.6, 0.4])), small),
        case(*drawn(3, 7)),
        case(long[0] - 800.0, long[1], note="long sentences, whose probability is too small for a float"),
        case(np.array([-0.1, -9.0, -11.0]), alive[1], note="a beam where all that is kept extends one beginning"),
        case(np.array([-1.0, -np.inf, -np.inf]), alive[1], note="the first step, where only one place is filled"),
    ]


def _best_of_each(totals, log_probs):
    words = log_probs.argmax(axis=1)
    sums = totals + log_probs.max(axis=1)
    order = np.argsort(-sums)
    return sums[order], order, words[order]


def _multiplied(totals, log_probs):
    extended = totals[:, None] * log_probs
    best = np.argsort(-extended, axis=None)[: len(totals)]
    return extended.ravel()[best], best // log_probs.shape[1], best % log_probs.shape[1]


def _divided_by_k(totals, log_probs):
    sums, parents, words = _beam_step(totals, log_probs)
    places = parents * log_probs.shape[1] + words
    return sums, places // len(totals), places % len(totals)


def _likeliest_last(totals, log_probs):
    extended = totals[:, None] + log_probs
    best = np.argsort(extended, axis=None)[: len(totals)]
    return extended.ravel()[best], best // log_probs.shape[1], best % log_probs.shape[1]


def _through_probabilities(totals, log_probs):
    with np.errstate(all="ignore"):
        sums = np.log(np.exp(totals)[:, None] * np.exp(log_probs)).ravel()
    best = np.argsort(-sums, kind="stable")[: len(totals)]
    return sums[best], best // log_probs.shape[1], best % log_probs.shape[1]


def _parent_and_word_swapped(totals, log_probs):
    sums, parents, words = _beam_step(totals, log_probs)
    return sums, words, parents


def _step_by_list(totals, log_probs):
    rows = [(float(total + p), n, word) for n, total in enumerate(totals) for word, p in enumerate(log_probs[n])]
    rows = sorted(rows, key=lambda row: row[0], reverse=True)[: len(totals)]
    return [list(column) for column in zip(*rows, strict=True)]


def _same_step(expected, got):
    """Sums as numbers; parents and words where the place is filled."""
    if len(got) != 3:
        return f"expected sums, parents and words, got {len(got)} values"
    sums, places = as_floats(got[0]), [as_array(part)[0] for part in got[1:]]
    filled = np.isfinite(expected[0])
    same_places = sums.shape == expected[0].shape and (np.isfinite(sums) == filled).all()
    if not same_places or difference(expected[0][filled], sums[filled], tolerance=1e-6):
        return f"the sums should be {np.round(expected[0], 3).tolist()}, got {np.round(sums, 3).tolist()}"
    for name, right, answer in zip(("parents", "words"), expected[1:], places, strict=True):
        if answer.shape != right.shape or (answer[filled] != right[filled]).any():
            return f"the {name} should be {right[filled].tolist()}, got {answer.tolist()}"
    return None


STEP = Exercise(
    id="12.2",
    title="One step of a beam",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
The NumPy array `totals` (k,) holds the log p of the k beginnings in a beam, and `log_probs` (k, v) the log p of each next word after each of them. Write `beam_step(totals, log_probs)`: find the k most likely of all k · v extensions, the most likely first. \
Return three arrays (k,): their log p, the row of the beginning each one extends, and the word it adds.""",
    hints=(
        "What is the log p of a beginning with one more word, if probabilities multiply?",
        "Make one matrix (k, v) of all the sums, and sort it as one long row: `np.argsort(..., axis=None)`.",
        "Place n of the long row is row `n // v` and column `n % v` of the matrix.",
    ),
    stub="def beam_step(totals, log_probs):\n    return ...",
    reference=_beam_step,
    cases=_beam_step_cases,
    returns=("sums", "parents", "words"),
    compare=_same_step,
    wrong={
        "one of each": (
            _best_of_each,
            "You kept the best word of each beginning. Two extensions of one beginning may both be likelier than any of another.",
        ),
        "past forgotten": (
            lambda totals, log_probs: _beam_step(np.zeros(len(totals)), log_probs),
            "You only compared the new words. What has each beginning cost so far?",
        ),
        "logarithms multiplied": (_multiplied, "You multiplied two logarithms. Probabilities multiply; what do their logarithms do?"),
        "divided by k": (
            _divided_by_k,
            "Your sums are right, but the places are wrong. How many columns does the matrix have that you laid out in one row?",
        ),
        "through probabilities": (
            _through_probabilities,
            "This works for short sentences. The probability of a long one becomes 0 on the machine: print `np.exp(-800.0)`. Stay with logarithms.",
        ),
        "least likely": (_likeliest_last, "You kept the least likely extensions. `argsort` puts the smallest first."),
        "swapped": (_parent_and_word_swapped, "Your parents are words and your words are parents. The quotient is the row."),
    },
    alternatives={"lists": _step_by_list},
    success="With tensors for several sentences, this is `extend` of the library.",
    solution=r"""
Put all k · v sums into one matrix and look for the k largest among all of them. So one good beginning may have several children.
`divmod` turns a place in the long row into the beginning and the word.

```python
def beam_step(totals, log_probs):
    extended = (totals[:, None] + log_probs).ravel()
    best = np.argsort(-extended)[:len(totals)]
    parents, words = np.divmod(best, log_probs.shape[1])
    return extended[best], parents, words


check(...)
```
""",
)


@dataclass(frozen=True)
class StatefulModel:
    """A made-up decoder with a state for each beginning: step(states, words) → log_probs, new states."""

    mix: np.ndarray
    words: np.ndarray
    out: np.ndarray

    def __call__(self, states, words):
        states = np.tanh(np.asarray(states) @ self.mix + self.words[np.asarray(words, dtype=int)])
        return _log_softmax(states @ self.out), states


def _searching(*, reorder=True, words_reordered=True, one_start=True, by_rank=False, summed=True):
    """The function of exercise 12.3 with one thing changed."""

    def search(step, state, bos_id, k, length):
        states, words = np.repeat(state[None], k, axis=0), np.full(k, bos_id)
        totals = np.where(np.arange(k) == 0, 0.0, -np.inf if one_start else 0.0)
        said = np.zeros((k, 0), dtype=int)
        for _ in range(length):
            log_probs, states = step(states, words)
            extended = ((totals if summed else np.where(np.isinf(totals), totals, 0.0))[:, None] + log_probs).ravel()
            best = np.argsort(-extended, kind="stable")[:k]
            parents, words = np.divmod(best, log_probs.shape[1])
            totals = extended[best]
            states = states[np.argsort(parents, kind="stable")] if by_rank else states[parents] if reorder else states
            said = np.column_stack([said[parents] if words_reordered else said, words])
        return said

    return search


def _search_cases(rng):
    def drawn(m, v, k, length):
        model = StatefulModel(rng.normal(size=(m, m)), 2 * rng.normal(size=(v, m)), 2 * rng.normal(size=(m, v)))
        return model, rng.normal(size=m), int(rng.integers(v)), k, length

    return [
        case(*drawn(3, 5, 2, 4)),
        case(*drawn(5, 7, 3, 6)),
        case(*drawn(7, 13, 5, 11)),
        case(*drawn(4, 11, 6, 8)),
        case(*drawn(6, 9, 4, 13)),
    ]


def _search_lists(step, state, bos_id, k, length):
    kept = [([], 0.0, state, bos_id)]
    for _ in range(length):
        longer = []
        for said, total, old, word in kept:
            log_probs, new = step(old[None], [word])
            longer += [([*said, n], total + p, new[0], n) for n, p in enumerate(log_probs[0])]
        kept = sorted(longer, key=lambda row: -row[1])[:k]
    return [said for said, *_ in kept]


REORDER = Exercise(
    id="12.3",
    title="Whose memory is this",
    kind="find the bug",
    minutes=15,
    difficulty=3,
    statement="""\
This beam search keeps a state for each beginning: `step(states, words)` takes the states (k, m) and newest words (k,), and returns `log_probs` (k, v) and the new states (k, m). \
At first there is one beginning, with `state` (m,); the other k − 1 rows are copies, and −∞ keeps them from being chosen. \
Every sentence has `length` words. With k = 1 the function is right; with more it is wrong. Fix it: return the k sentences (k, length), the most likely first.""",
    hints=(
        "Take k = 2 and let both new rows extend row 0. Which state belongs to each?",
        "Print `parents` next to the rows of `said` and `states`.",
        "Everything that belongs to a beginning moves with it: its words, its log p, and its state.",
    ),
    stub="""\
def search(step, state, bos_id, k, length):
    states, words = np.repeat(state[None], k, axis=0), np.full(k, bos_id)
    totals = np.array([0.0] + [-np.inf] * (k - 1))
    said = np.zeros((k, 0), dtype=int)
    for _ in range(length):
        log_probs, states = step(states, words)
        extended = (totals[:, None] + log_probs).ravel()
        best = np.argsort(-extended)[:k]
        parents, words = np.divmod(best, log_probs.shape[1])
        totals = extended[best]
        said = np.column_stack([said[parents], words])
    return said""",
    reference=_searching(),
    cases=_search_cases,
    returns=("sentences",),
    wrong={
        "state left behind": (
            _searching(reorder=False),
            "The words move to new rows and the states stay. Whose state does row 1 have after the second step?",
        ),
        "words left behind": (
            _searching(words_reordered=False),
            "Now the states move, but the words said before stay behind. Your sentences are glued together from several.",
        ),
        "k equal starts": (
            _searching(one_start=False),
            "All k rows begin with the same word and a log p of 0, so the first step keeps the same extension k times.",
        ),
        "sorted states": (
            _searching(by_rank=True),
            "You moved the states, but not to their parents' rows. One parent may come twice, another not at all.",
        ),
        "newest word alone": (
            _searching(summed=False),
            "You compare extensions only by their newest word. Where did the log p of the beginnings go?",
        ),
    },
    alternatives={"lists of tuples": _search_lists},
    success="In the library, `cache.keep(rows[stay])` moves keys and values in the same way.",
    solution=r"""
After a step, row n continues the beginning `parents[n]`. Its words and its log p move there. Its state stayed behind, so each row went on
with the state of another. With k = 1 there is only one row, and nothing to move. One line fixes it.

```python
def search(step, state, bos_id, k, length):
    states, words = np.repeat(state[None], k, axis=0), np.full(k, bos_id)
    totals = np.array([0.0] + [-np.inf] * (k - 1))
    said = np.zeros((k, 0), dtype=int)
    for _ in range(length):
        log_probs, states = step(states, words)
        extended = (totals[:, None] + log_probs).ravel()
        best = np.argsort(-extended)[:k]
        parents, words = np.divmod(best, log_probs.shape[1])
        totals, states = extended[best], states[parents]
        said = np.column_stack([said[parents], words])
    return said


check(...)
```
""",
)

EXERCISES = (STEP, REORDER)
