"""Chapter 12, exercises of page 12a: a key that nobody may read, and two memories that differ in a few rows."""

from dataclasses import dataclass

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _answered(lead):
    return lambda answer: abs(float(answer["lead"]) - lead) < 1e-3


BLOCKED = Exercise(
    id="12.5",
    page="12a_step_by_step",
    title="Nobody may read the cat",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
A small decoder reads *an old cat* and is about to write *chat* or *chien*, cat or dog. Before it looks at the English, its state gives *chat* a lead of −0.6, so it would write *chien*. \
Then one head adds its output. It gives *an* the weight 0.2, *old* 0.3 and *cat* 0.5; read alone, with weight 1, the three would add 0.5, 1 and 4 to the lead. The whole lead is therefore −0.6 + 0.1 + 0.3 + 2 = 1.8.

Now the head may not read *cat*: that score becomes −∞ before the softmax, and the other scores stay. What is the lead, and which word does greedy decoding write? By hand, no code.""",
    hints=(
        "What do the weights of *an* and *old* add up to before the block, and what must they add up to after it?",
        "Softmax shares out 1 among the keys that are left; two scores that stay keep the ratio of their weights, here 2 to 3.",
        "Multiply the two weights by the factor that makes their sum 1. The −0.6 was there before the head looked: no weight multiplies it.",
    ),
    stub='answer = {"lead": ..., "word": ...}',
    reference={"lead": 0.2, "word": "chat"},
    wrong={
        "its share taken away": (
            {"lead": -0.2, "word": "chien"},
            "You took away what *cat* had added. But the head still shares out a weight of 1: who gets the half that is free now?",
            _answered(-0.2),
        ),
        "all of the lead enlarged": (
            {"lead": -0.4, "word": "chien"},
            "You enlarged the whole lead by one factor. Which part of it does the head not touch?",
            _answered(-0.4),
        ),
        "the head alone": (
            {"lead": 0.8, "word": "chat"},
            "That is what the head adds. What was in the state before it looked?",
            _answered(0.8),
        ),
        "shared out in equal parts": (
            {"lead": 0.175, "word": "chat"},
            "You shared the free weight equally between the other two. The scores of *an* and *old* did not change: what does that say about the ratio of their weights?",
            lambda answer: _answered(0.175)(answer) or _answered(0.15)(answer),
        ),
        "a weight of its own": (
            {"lead": 1.8, "word": "chat"},
            "The lead has not changed. What weight does a score of −∞ give?",
            _answered(1.8),
        ),
        "the head silent": (
            {"lead": -0.6, "word": "chien"},
            "You took the whole head away. It may still read two of its three keys.",
            _answered(-0.6),
        ),
        "the sign misread": (
            {"lead": 0.2, "word": "chien"},
            "Your lead is right. It is the logit of *chat* minus the logit of *chien*: who is ahead?",
        ),
    },
    alternatives={"a capital letter": {"lead": 0.2, "word": "Chat"}},
    tolerance=1e-3,
    success="*cat* had added 2 to reach the lead of 1.8, yet without it the lead falls by only 1.6, because the others now weigh more. What a word adds and what blocking it costs are two different things.",
    solution=r"""
Blocking *cat* takes the weight 0.5 away, and softmax shares out 1 between the two that are left. Their scores did not change, so their
weights keep the ratio 2 to 3 and become 0.4 and 0.6. The head now adds 0.4 · 0.5 + 0.6 · 1 = 0.8. The −0.6 was in the state before the
head looked, and it stays, so the lead is 0.2, and the decoder still writes *chat*.

```python
answer = {"lead": -0.6 + 0.4 * 0.5 + 0.6 * 1.0, "word": "chat"}
check(...)
```
""",
)


@dataclass(frozen=True)
class SumOfRows:
    """A lead that can be followed by hand: the sum of all entries, the first row counted ten times."""

    def __call__(self, memory):
        memory = np.asarray(memory)
        return float(memory.sum() + 9 * memory[0].sum())


@dataclass(frozen=True)
class Readout:
    """One query reads a memory by a dot product and a softmax; a fixed direction makes a number of what it read."""

    query: np.ndarray
    direction: np.ndarray

    def __call__(self, memory):
        memory = np.asarray(memory)
        scores = memory @ self.query
        weights = np.exp(scores - scores.max())
        return float(weights @ memory @ self.direction / weights.sum())


def _costs(lead, memory, other, pairs):
    costs = []
    for n, k in pairs:
        patched = memory.copy()
        patched[n] = other[k]
        costs.append(lead(memory) - lead(patched))
    return np.array(costs)


def _costs_cases(rng):
    def drawn(s, u, m, pairs):
        return case(Readout(*rng.normal(size=(2, m))), rng.normal(size=(s, m)), rng.normal(size=(u, m)), pairs)

    return [
        case(SumOfRows(), np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), np.array([[0.0, 0.0], [1.0, 1.0]]), [(0, 0), (2, 1)]),
        drawn(7, 6, 5, [(0, 0), (3, 3), (5, 4), (6, 5)]),
        drawn(6, 7, 3, [(1, 2), (4, 6), (2, 0)]),
    ]


def _patched(*, kept=False, sign=1, other_row=lambda n, k, u: k, turned=False, zero=False, taken_out=False, plain=False):
    """The function of exercise 12.6 with one thing changed."""

    def exchange_costs(lead, memory, other, pairs):
        costs, patched = [], memory.copy()
        whole = lead(memory)
        for n, k in pairs:
            if turned:
                n, k = k, n
            if not kept:
                patched = memory.copy()
            if taken_out:
                patched = np.delete(memory, n, axis=0)
            else:
                patched[n] = 0.0 if zero else other[other_row(n, k, len(other))]
            costs.append(lead(patched) if plain else sign * (whole - lead(patched)))
        return np.array(costs)

    return exchange_costs


def _in_the_callers_memory(lead, memory, other, pairs):
    whole, costs = lead(memory), []
    for n, k in pairs:
        memory[n] = other[k]
        costs.append(whole - lead(memory))
    return np.array(costs)


def _by_where(lead, memory, other, pairs):
    rows = np.arange(len(memory))[:, None]
    return [lead(memory) - lead(np.where(rows == n, other[k], memory)) for n, k in pairs]


EXCHANGED = Exercise(
    id="12.6",
    page="12a_step_by_step",
    title="Where two memories differ",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Two sentences have the memories `memory` (s, m) and `other` (u, m), both NumPy arrays, and one may have more rows than the other. `pairs` lists (n, k): row n of `memory` and row k of `other` belong to the same token. \
`lead(memory)` decodes from any memory and returns a number, the lead of one word over another.

Write `exchange_costs(lead, memory, other, pairs)`: for each pair, by how much the lead falls when row n of `memory`, and no other row, is replaced by row k of `other`. The answer is a list or an array in the order of `pairs`; `memory` stays as it was.""",
    hints=(
        "What should the memory look like when you try the second pair?",
        "Begin each pair with a fresh `memory.copy()` and change one row of it.",
        "A fall is what it was before minus what it is now: `lead(memory) - lead(patched)`.",
    ),
    stub="def exchange_costs(lead, memory, other, pairs):\n    return ...",
    reference=_costs,
    cases=_costs_cases,
    returns=("costs",),
    pure=True,
    wrong={
        "exchanges kept": (
            _patched(kept=True),
            "From the second pair on, the rows of the earlier pairs are exchanged as well. Whose cost are you measuring then?",
        ),
        "the caller's memory changed": (
            _in_the_callers_memory,
            "Your function changed the caller's memory, so each pair was tried with the earlier rows exchanged. Where do you write?",
        ),
        "rises for falls": (_patched(sign=-1), "Every number has the wrong sign. A lead that shrinks has a cost above 0."),
        "the row of the same number": (
            _patched(other_row=lambda n, k, u: min(n, u - 1)),
            "You took row n of the other memory. The sentences differ in length: which row belongs to the same token?",
        ),
        "pairs turned": (_patched(turned=True), "You swapped the two numbers of a pair. The first is a row of `memory`."),
        "rows of zeros": (_patched(zero=True), "You put zeros in. The question is what the *other* sentence's row does there."),
        "rows taken out": (
            _patched(taken_out=True),
            "You took the row out, so nobody can read anything there. Put the other sentence's row in its place.",
        ),
        "leads, not falls": (_patched(plain=True), "You returned the leads after each exchange. By how much did each one fall?"),
    },
    alternatives={"np.where": _by_where},
    success="This exchange is called patching. It finds the row that carries a message, wherever the message started.",
    solution=r"""
Each pair starts from the memory as it was: make a fresh copy and overwrite one row of it. The cost is the lead before minus the lead
after. Without the copy, the second cost would contain the first.

```python
def exchange_costs(lead, memory, other, pairs):
    whole, costs = lead(memory), []
    for n, k in pairs:
        patched = memory.copy()
        patched[n] = other[k]
        costs.append(whole - lead(patched))
    return costs


check(...)
```
""",
)

EXERCISES = (BLOCKED, EXCHANGED)
