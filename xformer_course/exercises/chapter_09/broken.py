"""Exercise of page 9b: which of five models has which fault."""

from xformer_course.exercises.exercise import Exercise

_RIGHT = {"A": "padding in the loss", "B": "wrong shift", "C": "no positions", "D": "no causal mask", "E": "scaled twice"}

WHY = Exercise(
    id="9.18",
    title="Why does it not learn?",
    kind="predict",
    page="09b_without_pytorch",
    minutes=25,
    difficulty=3,
    statement="""\
Five models are to learn words backwards, and each has one fault: *no causal mask*; *no positions*; *padding in the loss*, which counts \
padded positions as if they were letters; *scaled twice*, scores divided by d instead of √d; *wrong shift*, where the decoder reads at each \
position the very letter that it has to write there. `broken("A")` to `broken("E")` give them, untrained and with the same initial weights, and \
`broken("healthy")` one without a fault. Each has `model`, a `Transformer` of this page; `train()`, 200 steps, which returns their losses; \
`write_words(words)`; `batch(n)`, sources and targets of n words; `logits(source, target)` as in training; and \
`loss(source, target)`. Find out by experiments which model has which fault.""",
    hints=(
        "Train all six and let them write. Which two have a loss that is too good? What, then, may they have seen?",
        "Change the second letter of a target and see at which positions `logits` moves. Swap two letters of a source. Cut the padded columns off a "
        "target and see whether `loss` changes.",
        "The last fault shows before training: after a call of `logits`, `model.decoder[0].cross_attention.f.weights` has the weights. Compare "
        "how large they are with those of the healthy model.",
    ),
    stub='answer = {"A": ..., "B": ..., "C": ..., "D": ..., "E": ...}',
    reference=_RIGHT,
    wrong={
        "mask and shift exchanged": (
            {**_RIGHT, "B": "no causal mask", "D": "wrong shift"},
            "Both see the letter that they have to write. Change the second letter of a target: without a mask, even the logits of the first "
            "position move; with a wrong shift, those from the second position on.",
        ),
        "positions and scale exchanged": (
            {**_RIGHT, "C": "scaled twice", "E": "no positions"},
            "Swap two letters of a source. A model without positions gives the very same logits.",
        ),
        "padding and scale exchanged": (
            {**_RIGHT, "A": "scaled twice", "E": "padding in the loss"},
            "Take a short word and cut the padded columns off its target. The loss of one of the two changes.",
        ),
        "padding and positions exchanged": (
            {**_RIGHT, "A": "no positions", "C": "padding in the loss"},
            "Which of the two writes an anagram? Swap two letters of a source and compare the logits.",
        ),
    },
    alternatives={"another order": dict(reversed(_RIGHT.items()))},
    success="Five faults, and none of them raised an error.",
    solution=r"""
Four questions separate them. The first is asked of the target: if its second letter changes, at which positions do the logits move? In a
healthy model they move from the third position on, because the letter is read one position later.

```python
from xformer_course.lessons.broken import broken

patients = {letter: broken(letter) for letter in ("healthy", "A", "B", "C", "D", "E")}


def moved(patient):
    source, target = patient.batch(1)
    before = patient.logits(source, target)
    target[0, 1] = 3 + (target[0, 1] - 2) % 26
    after = patient.logits(source, target)
    return (abs(after - before)[0].max(axis=-1) > 1e-5).tolist()


for letter, patient in patients.items():
    print(patient, "logits move from place", moved(patient).index(True) + 1)
```

*D* moves from the first position on: it sees the future. *B* moves from the second: it reads the letter that it has to write. The next
two questions: do the logits change when two letters of the source are swapped, and does the loss change when the padded columns go?

```python
def notices_order(patient):
    source, target = patient.batch(1)
    before = patient.logits(source, target)
    source[:, [0, 1]] = source[:, [1, 0]]
    return bool(abs(patient.logits(source, target) - before).max() > 1e-5)


def counts_padding(patient):
    source, target = patient.batch(20)
    short = (target != 0).sum(axis=1).argmin()
    source, target = source[[short]], target[[short]]
    cut = target[:, : (target != 0).sum()]
    return bool(abs(patient.loss(source, target) - patient.loss(source, cut)) > 1e-3)


for letter, patient in patients.items():
    print(patient, "order", notices_order(patient), " padding", counts_padding(patient))
```

*C* does not notice order, and *A* counts padding. *E* is left, and its attention gives it away: it is flatter than that of the healthy model.

```python
def largest_weights(patient):
    patient.logits(*patient.batch(20))
    return float(patient.model.decoder[0].cross_attention.f.weights.max(axis=-1).mean())


for letter, patient in patients.items():
    print(patient, f"{largest_weights(patient):.2f}")

answer = {"A": "padding in the loss", "B": "wrong shift", "C": "no positions",
          "D": "no causal mask", "E": "scaled twice"}
check(...)
```

```python claims
#@title Claims about the book's numbers
assert [moved(patient).index(True) for patient in patients.values()] == [2, 2, 1, 2, 0, 2]
assert [letter for letter, patient in patients.items() if not notices_order(patient)] == ["C"]
assert [letter for letter, patient in patients.items() if counts_padding(patient)] == ["A"]
assert min(patients, key=lambda letter: largest_weights(patients[letter])) == "E"
```
""",
)
EXERCISES = (WHY,)
