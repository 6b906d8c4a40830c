"""Chapter 12, exercises on what a part is worth: one look of Bahdanau's attention, and a difference between seeds."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case
from xformer_lib.reference import softmax

PAGE = "12c_what_each_part_is_worth"
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}

# ---------------------------------------------------------------- one look


def _scores(states, notes, w, u, v):
    return np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v


def _looked(weights, notes):
    return (weights[:, None] @ notes)[:, 0], weights


def _look(states, notes, real, w, u, v):
    return _looked(softmax(np.where(real, _scores(states, notes, w, u, v), -np.inf)), notes)


def _look_cases(rng):
    def drawn(b, s, m):
        real = np.arange(s) < rng.integers(1, s, size=(b, 1))  # padding in every row
        notes = np.where(real[..., None], rng.normal(size=(b, s, m)), 2.0)
        w, u = rng.normal(size=(2, m, m))
        return rng.normal(size=(b, m)), notes, real, w, u, rng.normal(size=m)

    notes = np.array([[[1.0, 1.0], [-1.0, 0.0], [0.0, 2.0]]])
    large = 1.5 + rng.random((2, 5)), rng.random((2, 4, 5)), np.full((2, 4), True), np.eye(5), 0.3 * np.eye(5), np.full(5, 400.0)
    apart = np.array([1.5, -1.5])[:, None] + 0.3 * rng.random((2, 7)), rng.random((2, 5, 7)), np.full((2, 5), True)
    padded = -1.5 - rng.random((3, 4)), rng.random((3, 6, 4)), np.arange(6) < np.array([[5], [2], [4]])
    padded[1][~padded[2]] = 9.0
    turn, by_hand = np.array([[0.0, 1.0], [0.5, 0.0]]), (np.array([[1.0, -1.0]]), notes)
    return [
        case(*by_hand, np.array([[True, True, False]]), np.eye(2), turn, np.array([2.0, 1.0])),
        case(*drawn(3, 5, 4)),
        case(*drawn(2, 7, 3)),
        case(*large, note="scores in the thousands"),
        case(*apart, np.eye(7), 0.3 * np.eye(7), np.full(7, 400.0), note="two sentences whose scores are thousands apart"),
        case(*padded, np.eye(4), np.eye(4), np.full(4, 500.0), note="padding whose score would be thousands above the words'"),
    ]


def _one_word(states, notes, real, w, u, v):
    best = np.where(real, _scores(states, notes, w, u, v), -np.inf).argmax(axis=1)
    return _looked(np.eye(notes.shape[1])[best], notes)


def _no_exponential(states, notes, real, w, u, v):
    scores = np.where(real, _scores(states, notes, w, u, v), 0.0)
    return _looked(scores / scores.sum(axis=1, keepdims=True), notes)


def _over_the_batch(states, notes, real, w, u, v):
    scores = np.where(real, _scores(states, notes, w, u, v), -np.inf)
    return _looked(softmax(scores.ravel()).reshape(scores.shape), notes)


def _look_by(scores):
    """One look with other scores."""
    return lambda states, notes, real, *weights: _looked(softmax(np.where(real, scores(states, notes, *weights), -np.inf)), notes)


def _overflows(states, notes, real, w, u, v):
    with np.errstate(all="ignore"):
        powers = np.where(real, np.exp(_scores(states, notes, w, u, v)), 0.0)
        return _looked(powers / powers.sum(axis=1, keepdims=True), notes)


def _by_loops(states, notes, real, w, u, v):
    weights = np.zeros(real.shape)
    for row, (state, words, there) in enumerate(zip(states, notes, real, strict=True)):
        scores = {j: v @ np.tanh(w @ state + u @ word) for j, word in enumerate(words) if there[j]}
        total = sum(math.exp(score - max(scores.values())) for score in scores.values())
        for j, score in scores.items():
            weights[row, j] = math.exp(score - max(scores.values())) / total
    return [sum(a * word for a, word in zip(row, words, strict=True)) for row, words in zip(weights, notes, strict=True)], weights


LOOK = Exercise(
    id="12.9",
    page=PAGE,
    title="One look, past the padding",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
Write `look(states, notes, real, w, u, v)` in NumPy: one step of Bahdanau's attention for a padded batch. `states` (b, m) holds a decoder state for each sentence, `notes` (b, s, m) the source states, \
and `real` (b, s) is True where there is a word; each row has at least one. With `w`, `u` (m, m) and `v` (m,), the score of a word is `v @ tanh(w @ state + u @ note)`. Return the contexts (b, m) and the weights (b, s). \
A position without a word gets weight 0, the weights of each sentence add up to 1, and scores may be in the thousands.""",
    hints=(
        "Which positions may share in the softmax of a row? What must the score of the other positions be so that their weight is 0?",
        "`states @ w.T` is (b, m) and `notes @ u.T` is (b, s, m). An axis of length 1 lets them be added: `[:, None]`.",
        "Set the scores at `~real` to minus infinity, subtract the largest of each row, exponentiate and divide by the row's sum.",
    ),
    stub="def look(states, notes, real, w, u, v):\n    return ...",
    reference=_look,
    cases=_look_cases,
    returns=("contexts", "weights"),
    wrong={
        "padding read": (
            lambda states, notes, real, w, u, v: _looked(softmax(_scores(states, notes, w, u, v)), notes),
            "Positions without a word have a weight. Where does your code use `real`?",
        ),
        "a score of 0": (
            lambda states, notes, real, w, u, v: _looked(softmax(np.where(real, _scores(states, notes, w, u, v), 0.0)), notes),
            "You gave padding the score 0, and exp(0) is 1. Print its weight.",
        ),
        "zeroed afterwards": (
            lambda states, notes, real, w, u, v: _looked(softmax(_scores(states, notes, w, u, v)) * real, notes),
            "Padding has weight 0, but the words' weights no longer add up to 1. Hide the scores *before* the softmax.",
        ),
        "a plain mean": (
            lambda states, notes, real, w, u, v: _looked(real / real.sum(axis=1, keepdims=True), notes),
            "Every word has the same weight. Where do the scores enter?",
        ),
        "one word only": (_one_word, "You took the best word alone. A softmax leaves something for each of them."),
        "no tanh": (
            _look_by(lambda states, notes, w, u, v: ((states @ w.T)[:, None] + notes @ u.T) @ v),
            "Your scores have no tanh in them. Without it, the state adds the same amount to every word's score, and cancels.",
        ),
        "w and u swapped": (
            lambda states, notes, real, w, u, v: _look(states, notes, real, u, w, v),
            "You multiplied states by `u` and annotations by `w`. It is the other way round.",
        ),
        "transposed": (
            lambda states, notes, real, w, u, v: _look(states, notes, real, w.T, u.T, v),
            "`w @ state` for one row is `states @ w.T` for all. Your matrix products use `w` and `u` the wrong way round.",
        ),
        "a dot product": (
            _look_by(lambda states, notes, *weights: np.einsum("bm,bsm->bs", states, notes)),
            "You scored by the dot product of state and annotation. Use `w`, `u` and `v`.",
        ),
        "no exponential": (_no_exponential, "You divided the scores by their sum. Scores may be negative; exponentiate them first."),
        "one softmax for all": (_over_the_batch, "The weights of the whole *batch* add up to 1. Each sentence has its own sum."),
        "overflow": (_overflows, "This is right for small scores. `np.exp(1000)` is infinite: subtract the largest of each row first."),
        "keys mixed": (
            lambda states, notes, real, w, u, v: _looked(_look(states, notes, real, w, u, v)[1], notes @ u.T),
            "The weights are right, but you averaged the `u @ note`. Average the annotations themselves.",
        ),
    },
    alternatives={"loops": _by_loops},
    success="Called once for each word that it writes, this function is all that attention added to the translator.",
    solution=r"""
The scores of all words come from two matrix products and one sum: the state's part gets an axis of length 1, so it is added to each
word. A score of minus infinity becomes a weight of exactly 0, and since that happens before the softmax, the words share the whole
weight. Subtracting the largest score of each row changes no weight and makes the largest exponential 1, so that nothing overflows and
no sum is 0.

```python
def look(states, notes, real, w, u, v):
    scores = np.tanh((states @ w.T)[:, None] + notes @ u.T) @ v  # (b, s)
    scores = np.where(real, scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return (weights[:, None] @ notes)[:, 0], weights


check(...)
```
""",
)

# ---------------------------------------------------------------- settled by seeds


def _half(values, t=None, ddof=1, root=True):
    n = len(values)
    return (T_95[n] if t is None else t) * float(np.std(values, ddof=ddof)) / (math.sqrt(n) if root else 1.0)


def _verdict(low, high):
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


def _differences(ours, theirs):
    return [ours[seed] - theirs[seed] for seed in ours if seed in theirs]


def _settled(ours, theirs):
    gaps = _differences(ours, theirs)
    middle, half = float(np.mean(gaps)), _half(gaps)
    return _verdict(middle - half, middle + half)


def _settled_cases(rng):
    def drawn(seeds, others, lead, spread):
        luck = {seed: 3.0 * rng.normal() for seed in {*seeds, *others}}  # what both runs of a seed share
        ours = {seed: 40.0 + lead + luck[seed] + spread * rng.normal() for seed in seeds}
        return ours, {seed: 40.0 + luck[seed] + spread * rng.normal() for seed in others}

    return [
        case({1: 44.0, 2: 45.0, 3: 46.0}, {1: 41.0, 2: 43.0, 3: 42.0}),
        case({1: 50.0, 2: 40.0, 3: 45.0}, {3: 44.2, 1: 49.0, 2: 39.1}, note="dicts in two orders"),
        case({1: 33.0, 2: 34.0, 3: 32.5, 4: 33.0}, {1: 36.0, 2: 37.5, 3: 35.0, 4: 36.5}),
        case({1: 30.0, 2: 31.0, 5: 90.0}, {2: 30.6, 1: 29.5, 4: 10.0}, note="a seed without its partner"),
        case(*drawn((4, 1, 3, 2, 5), (2, 5, 3, 1, 4), 1.0, 0.3)),
        case(*drawn((7, 1, 3, 2), (1, 2, 3, 7), 0.4, 1.0)),
        case(*drawn((3, 1, 2), (1, 3, 2), -4.0, 0.3)),
    ]


def _as_listed(ours, theirs):
    count = min(len(ours), len(theirs))
    gaps = np.subtract(list(ours.values())[:count], list(theirs.values())[:count])
    middle, half = float(np.mean(gaps)), _half(gaps)
    return _verdict(middle - half, middle + half)


def _varied(half=_half, sign=1.0, verdict=None):
    def settled(ours, theirs):
        gaps = [sign * gap for gap in _differences(ours, theirs)]
        middle, width = float(np.mean(gaps)), half(gaps)
        low, high = middle - width, middle + width
        return _verdict(low, high) if verdict is None else (low, high, verdict(ours, theirs, middle))

    return settled


def _by_overlap(ours, theirs, middle):
    seeds = [seed for seed in ours if seed in theirs]
    (low, high), (low_2, high_2) = (
        (np.mean(one) - _half(one), np.mean(one) + _half(one)) for one in ([runs[seed] for seed in seeds] for runs in (ours, theirs))
    )
    return "more" if low > high_2 else "less" if high < low_2 else "open"


def _two_means(ours, theirs):
    seeds = [seed for seed in ours if seed in theirs]
    one, other = ([runs[seed] for seed in seeds] for runs in (ours, theirs))
    half = T_95[len(seeds)] * math.sqrt((np.var(one, ddof=1) + np.var(other, ddof=1)) / len(seeds))
    middle = float(np.mean(one) - np.mean(other))
    return _verdict(middle - half, middle + half)


def _by_hand(ours, theirs):
    gaps = [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
    n = len(gaps)
    mean = sum(gaps) / n
    half = T_95[n] * math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / (n - 1) / n)
    verdict = "open"
    if mean > half:
        verdict = "more"
    elif mean < -half:
        verdict = "less"
    return mean - half, mean + half, verdict


SETTLED = Exercise(
    id="12.10",
    page=PAGE,
    title="Settled, seed by seed",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Two systems were each trained with several seeds. `ours` and `theirs` are dicts from seed to BLEU, in any order; only seeds that are in both count, and there are two to five of these. \
Write `settled(ours, theirs)` in plain Python or NumPy. Take ours minus theirs for each common seed, n differences with mean x̄ and standard deviation σ (divisor n − 1), and return `(low, high, verdict)`: \
the ends x̄ ∓ k σ / √n of the interval, with k = `T_95[n]`, and `"more"` if all of it lies above 0, `"less"` if all of it lies below, else `"open"`.""",
    hints=(
        "Which two numbers make one difference, if the dicts list their seeds in different orders?",
        "`ours.keys() & theirs.keys()` are the common seeds. From there on, only the differences matter.",
        "`half = T_95[n] * np.std(differences, ddof=1) / np.sqrt(n)`, and the verdict looks at `low` and `high`, not at the mean.",
    ),
    stub="T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}\n\n\ndef settled(ours, theirs):\n    return ...",
    reference=_settled,
    cases=_settled_cases,
    returns=("low", "high", "verdict"),
    wrong={
        "paired as listed": (_as_listed, "You paired the scores in the order of the dicts. Pair them by their seed."),
        "divisor n": (_varied(lambda gaps: _half(gaps, ddof=0)), "Your interval is too short: `np.std` divides by n. Use n − 1."),
        "factor 1.96": (_varied(lambda gaps: _half(gaps, t=1.96)), "You took 1.96, which is for many seeds. Look up `T_95[n]`."),
        "always three seeds": (
            _varied(lambda gaps: _half(gaps, t=T_95[3])),
            "Your factor is 4.303 for any n. It depends on how many seeds count.",
        ),
        "the degrees of freedom": (
            _varied(lambda gaps: _half(gaps, t=T_95.get(len(gaps) - 1, T_95[2]))),
            "You looked up n − 1. Here the table goes by the number of differences, n.",
        ),
        "of one run": (
            _varied(lambda gaps: _half(gaps, root=False)),
            "That is how far single differences spread. The *mean* of n varies less: divide by √n.",
        ),
        "divided by n": (
            _varied(lambda gaps: _half(gaps) / math.sqrt(len(gaps))),
            "You divided σ by n. The mean of n has σ divided by √n.",
        ),
        "theirs minus ours": (_varied(sign=-1.0), "Your signs are reversed: a system that scores more must come out positive."),
        "the mean decides": (
            _varied(verdict=lambda ours, theirs, middle: "more" if middle > 0 else "less"),
            "The interval is right, but your verdict looks at the mean. If 0 lies inside the interval, the matter is open.",
        ),
        "two intervals that overlap": (
            _varied(verdict=_by_overlap),
            "You compared one interval per system. Those may overlap even when every seed agrees; look at the differences.",
        ),
        "two means": (_two_means, "You took the spread of each system. What a seed does to *both* cancels if you subtract first."),
    },
    alternatives={"by hand": _by_hand},
    success="Three seeds settle a difference if its mean is about 2.5 times as large as its spread.",
    solution=r"""
Only the differences matter, each between two runs of one seed. The verdict looks at the ends of the interval: if 0 lies between them,
these seeds leave the matter open, whichever way the mean points.

```python
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}


def settled(ours, theirs):
    gaps = [ours[seed] - theirs[seed] for seed in ours.keys() & theirs.keys()]
    half = T_95[len(gaps)] * np.std(gaps, ddof=1) / np.sqrt(len(gaps))
    low, high = np.mean(gaps) - half, np.mean(gaps) + half
    return low, high, "more" if low > 0 else "less" if high < 0 else "open"


check(...)
```
""",
)

EXERCISES = (LOOK, SETTLED)
