"""Chapter 12, exercises of pages 12b and 12i: the alignment error rate of a head, and a dozen of heads judged by a control."""

from dataclasses import dataclass

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _rate(*values):
    return lambda answer: any(abs(float(answer) - value) < 2e-3 for value in values)


ERROR_RATE = Exercise(
    id="12.7",
    page="12b_what_attention_shows",
    title="One map, one error rate",
    kind="predict",
    minutes=8,
    difficulty=2,
    statement="""\
A head's map for *the black cat sleeps* → *le chat noir dort*, rows named by the word about to be written:

```
        the  black  cat   sleeps  <eos>
le      0.7  0.1    0.1   0.1     0
chat    0.5  0      0.45  0       0.05
noir    0.1  0.3    0.4   0.1     0.1
dort    0    0.1    0.1   0.3     0.5
<eos>   0    0.1    0     0.6     0.3
```

Sure links are the–le, cat–chat, black–noir and sleeps–dort. The possible links are these four and the–chat, black–chat, the–noir. Read the links off as on this page: one for each row, but not for the row of `<eos>` or a row whose largest weight is on `<eos>`. What is the alignment error rate? By hand; a fraction or three digits.""",
    hints=(
        "For which rows does the head propose a link, and for which does it propose none?",
        "Three links are proposed: for *le*, *chat* and *noir*. One is sure, and one more is possible.",
        "$|A \\cap P|$ also counts the sure links, so it is 2; $|A| + |S|$ is 3 + 4.",
    ),
    stub="rate = ...",
    reference=4 / 7,
    wrong={
        "the hits, not the errors": (3 / 7, "You counted what is right, whereas an error rate is 0 for a perfect head.", _rate(3 / 7)),
        "possible links not counted": (
            5 / 7,
            "You left out a possible link. A sure link also counts as possible. How large is $|A \\cap P|$?",
            _rate(5 / 7),
        ),
        "the end mark linked": (5 / 8, "You proposed a link for a row or a column of `<eos>`, which is not a word.", _rate(5 / 8, 6 / 9)),
        "the second best for dort": (
            3 / 8,
            "The largest weight of *dort* is on `<eos>`, so its row proposes nothing, not even the second best.",
            _rate(3 / 8),
        ),
        "a link for each column": (
            1 / 7,
            "You went down the columns. For each *row*, the word about to be written, a head proposes the source word with the largest weight.",
            _rate(1 / 7),
        ),
        "possible links below the line": (
            7 / 10,
            "You counted the possible links below the line. The formula has $|A| + |S|$ there: a head may leave out a merely possible link.",
            _rate(7 / 10),
        ),
        "one precision": (
            1 / 3,
            "You only divided by the proposed links. What does a head lose by the sure links that it misses?",
            _rate(1 / 3),
        ),
    },
    alternatives={"three digits": 0.571, "as a float": 1 - 3 / 7},
    tolerance=1e-3,
    success="One proposed link is wrong, one is merely possible, and three sure links are missed: an error rate above one half, from a map that looks reasonable.",
    solution=r"""
The rows of *le*, *chat* and *noir* propose the–le, the–chat and cat–noir. The row of *dort* has its largest weight on `<eos>` and proposes nothing.
Three links are therefore proposed, whereas four are sure. Among the three, one is sure and two are possible, because a sure link is also possible.
The rate is 1 − (1 + 2) / (3 + 4) = 4/7, about 0.571.

```python
rate = 1 - (1 + 2) / (3 + 4)
check(...)
```
""",
)


@dataclass(frozen=True)
class Team:
    """Costs of sets of heads: singles add up, and two heads that stand in for each other cost more together."""

    singles: np.ndarray
    together: np.ndarray

    def __call__(self, heads):
        heads = np.sort(np.asarray(list(heads), dtype=int))  # a set costs the same to the last bit, in whatever order it comes
        return float(self.singles[heads].sum() + self.together[np.ix_(heads, heads)].sum())


def _judge(losses, cost, draws):
    k = draws.shape[1]
    chosen = np.argsort(losses[:, 0])[:k]
    together = cost(chosen)
    no_dearer = np.mean([cost(draw) <= together for draw in draws])
    return losses[chosen, 1].sum(), together, no_dearer


def _judge_cases(rng):
    def drawn(n, k, r):
        losses = rng.exponential(2.0, size=(n, 1)) + rng.normal(size=(n, 2))
        together = np.triu(rng.exponential(0.6, size=(n, n)), k=1)
        draws = np.stack([rng.permutation(n)[:k] for _ in range(r)])
        cost = Team(losses[:, 1], together)
        draws[: r // 3] = np.argsort(losses[:, 0])[:k]  # the same set is drawn, too: no dearer, and no cheaper
        draws[r // 3 : r // 2] = [np.argsort(losses[:, 1])[:k]] * (r // 2 - r // 3)
        return case(losses, cost, draws)

    by_hand = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 0.5], [9.0, 8.0]])
    pairs = np.zeros((4, 4))
    pairs[0, 1] = 4.0
    return [case(by_hand, Team(by_hand[:, 1], pairs), np.array([[1, 2], [0, 3], [2, 3], [0, 1]])), drawn(13, 5, 17), drawn(24, 12, 10)]


def _wrongly(*, chosen_by=lambda losses: losses[:, 0], alone_from=1, dearest=False, strictly=False, dearer=False, alone_for_control=False):
    """The function of exercise 12.8 with one thing changed."""

    def judge(losses, cost, draws):
        order = np.argsort(chosen_by(losses))
        chosen = order[::-1][: draws.shape[1]] if dearest else order[: draws.shape[1]]
        together = cost(chosen)
        controls = np.array([losses[draw, 1].sum() if alone_for_control else cost(draw) for draw in draws])
        share = (controls > together) if dearer else (controls < together) if strictly else (controls <= together)
        return losses[chosen, alone_from].sum(), together, share.mean()

    return judge


def _sum_for_together(losses, cost, draws):
    alone, _, share = _judge(losses, cost, draws)
    return alone, alone, share


def _by_sorting(losses, cost, draws):
    chosen = sorted(range(len(losses)), key=lambda head: losses[head][0])[: len(draws[0])]
    together = cost(chosen)
    return sum(losses[head][1] for head in chosen), together, sum(cost(draw) <= together for draw in draws) / len(draws)


JUDGED = Exercise(
    id="12.8",
    page="12i_what_a_head_is_worth",
    title="Chosen on one half, judged on the other",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
`losses` (n, 2), a NumPy array, says what each of n heads costs when only that head is switched off: column 0 on the first half of the sentences, column 1 on the second. `cost` is a function: `cost(heads)` returns what it costs to switch off several heads at once, named by their numbers from 0 to n − 1, on the second half. Each row of `draws` (r, k) names k heads drawn at random.

Write `judge(losses, cost, draws)`. Choose the k heads that look cheapest on the first half. Return three numbers: what these k cost one by one on the second half, added up; what they cost together; and the share of the r draws whose heads cost no more together than your k do.""",
    hints=(
        "Which half may the choice look at, and which half says what the choice is worth?",
        "`np.argsort(losses[:, 0])` lists the heads, the cheapest first; `draws.shape[1]` says how many to take.",
        "`cost(draw) <= together`, for each row of `draws`; the mean of these is the share.",
    ),
    stub="def judge(losses, cost, draws):\n    return ...  # alone, together, share",
    reference=_judge,
    cases=_judge_cases,
    returns=("alone", "together", "share"),
    wrong={
        "chosen where it is measured": (
            _wrongly(chosen_by=lambda losses: losses[:, 1]),
            "You chose on the half on which you measure. The smallest of many noisy numbers are partly the luckiest.",
        ),
        "chosen on both halves": (
            _wrongly(chosen_by=lambda losses: losses.mean(axis=1)),
            "You also used the second half for the choice, so it can no longer test the choice.",
        ),
        "measured where it was chosen": (
            _wrongly(alone_from=0),
            "You added up losses from the first half, which made the choice. By luck these are too small; take the second half.",
        ),
        "the dearest chosen": (_wrongly(dearest=True), "You chose the most expensive heads. `argsort` puts the smallest first."),
        "added up for together": (
            _sum_for_together,
            "You added up single losses. Heads that do each other's work cost more together: call `cost`.",
        ),
        "ties left out": (
            _wrongly(strictly=True),
            "A draw that costs exactly as much costs no more, so it counts. One of the draws may be your own choice.",
        ),
        "the dearer draws counted": (
            _wrongly(dearer=True),
            "You counted the draws that cost more. Count those that cost no more than your choice.",
        ),
        "controls one by one": (
            _wrongly(alone_for_control=True),
            "You compared sums of single losses with a joint cost. Call `cost` for the draws as well.",
        ),
    },
    alternatives={"sorted lists": _by_sorting},
    success="A small share says that choosing helped. If together is far above alone, losses do not add up.",
    solution=r"""
We choose on the first half and measure on the second, so that the luck of the choice does not enter the result. The control says what
heads drawn at random cost, together and on the same half.

```python
def judge(losses, cost, draws):
    chosen = np.argsort(losses[:, 0])[:draws.shape[1]]
    together = cost(chosen)
    no_dearer = np.mean([cost(draw) <= together for draw in draws])
    return losses[chosen, 1].sum(), together, no_dearer


check(...)
```
""",
)

EXERCISES = (ERROR_RATE, JUDGED)
