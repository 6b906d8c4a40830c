"""Chapter 12, exercise on the paired bootstrap."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _win_rate(first, second, draws):
    wins = 0
    for draw in draws:
        a, b = first[draw].sum(axis=0), second[draw].sum(axis=0)
        wins += b[0] / b[1] > a[0] / a[1]
    return wins / len(draws)


def _win_rate_cases(rng):
    def drawn(n, samples, lead):
        totals = rng.integers(3, 41, size=(2, n))
        hits = [rng.binomial(row, 0.5 + shift * rng.uniform(0.3, 1.7, size=n)) for row, shift in zip(totals, (0, lead), strict=True)]
        first, second = (np.column_stack(pair) for pair in zip(hits, totals, strict=True))
        draws = rng.integers(n, size=(samples, n))
        a, b = first[draws].sum(axis=1), second[draws].sum(axis=1)
        tied = a[:, 0] * b[:, 1] == b[:, 0] * a[:, 1]  # a quotient of means rounds differently: the small cases ask about ties
        return first, second, draws[~tied]

    unequal = np.array([[1, 2], [1, 2], [9, 30]]), np.array([[2, 2], [2, 2], [6, 30]])
    same = np.array([[3, 5], [2, 7], [4, 4]])
    return [
        case(*unequal, np.array([[0, 1, 2], [2, 2, 1], [0, 0, 1], [2, 1, 1], [2, 2, 2]])),
        case(same, same, np.array([[0, 1, 2], [2, 1, 1]]), note="a system against itself"),
        case(*drawn(11, 101, 0.05)),
        case(*drawn(17, 211, -0.02)),
        case(*drawn(7, 307, 0.03)),
    ]


def _rate(score, *, order=lambda draw: draw, ties=False):
    def win_rate(first, second, draws):
        a = [score(first[draw]) for draw in draws]
        b = [score(second[order(draw)]) for draw in draws]
        return float(np.mean([y >= x if ties else y > x for x, y in zip(a, b, strict=True)]))

    return win_rate


def _of_sums(rows):
    return rows[:, 0].sum() / rows[:, 1].sum()


def _sentences_won(first, second, draws):
    better = second[:, 0] / second[:, 1] > first[:, 0] / first[:, 1]
    return float(better[draws].mean())


def _vectorised(first, second, draws):
    a, b = first[draws].sum(axis=1), second[draws].sum(axis=1)
    return np.mean(b[:, 0] * a[:, 1] > a[:, 0] * b[:, 1])


BOOTSTRAP = Exercise(
    id="12.12",
    page="12e_how_good_is_it",
    title="The same draw for both",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Two systems translated the same n sentences. `first` and `second` (n, 2) hold the hits and the total for each sentence, as in exercise 12.11; the score of several sentences is all their hits divided by all their totals. \
Each row of `draws` (samples, n) names the sentences of one sample, some more than once. Write `win_rate(first, second, draws)`: the share of the samples in which the second system scores higher. A tie does not count as a win.""",
    hints=(
        "Which sentences does the first system get in sample 0, and which the second?",
        "`first[draw]` (n, 2) are the rows of one sample. Sum over axis 0, then divide once.",
        "For each row of `draws`: the two sums of `second[draw]`, the two of `first[draw]`, and whether the first quotient is larger.",
    ),
    stub="def win_rate(first, second, draws):\n    return ...",
    reference=_win_rate,
    cases=_win_rate_cases,
    returns=("win rate",),
    wrong={
        "not paired": (
            _rate(_of_sums, order=lambda draw: len(draw) - 1 - draw),
            "Your two systems got different sentences in a sample. Then one may win because its sentences are easier. Use the same rows for both.",
        ),
        "mean of quotients": (
            _rate(lambda rows: (rows[:, 0] / rows[:, 1]).mean()),
            "You averaged the sentences' precisions. As in BLEU, add up first and divide once.",
        ),
        "ties won": (_rate(_of_sums, ties=True), "By your count a system beats itself. A tie does not count as a win."),
        "the first one's wins": (
            lambda first, second, draws: _win_rate(second, first, draws),
            "You counted the samples that the first system wins. The question is about the second.",
        ),
        "sentences won": (_sentences_won, "You counted sentences. A sample is won or lost as a whole, by its sums."),
        "hits alone": (
            _rate(lambda rows: rows[:, 0].sum()),
            "You compared hits. A system that says more has more of them. Divide by the totals.",
        ),
    },
    alternatives={"all samples at once": _vectorised},
    success="A win rate of 0.95 or more is what Koehn (2004) called significant.",
    solution=r"""
One draw names the sentences of one sample. Score both systems on exactly these: add up hits and totals first and divide once, as in BLEU.
The win rate is the share of samples in which the second quotient is larger.

```python
def win_rate(first, second, draws):
    wins = []
    for draw in draws:
        (hits_1, total_1), (hits_2, total_2) = first[draw].sum(axis=0), second[draw].sum(axis=0)
        wins.append(hits_2 / total_2 > hits_1 / total_1)
    return np.mean(wins)


check(...)
```
""",
)

EXERCISES = (BOOTSTRAP,)
