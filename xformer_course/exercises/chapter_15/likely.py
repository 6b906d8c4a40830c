"""Chapter 15, an exercise on cutting the tail of many rows of logits at once. Torch is imported where it is used."""

import math

from xformer_course.exercises.exercise import Exercise, case


def _keep(logits, k, p, *, again=True):
    """The tail cut by k, then by p; the probabilities are made anew in between."""
    import torch

    values, places = logits.sort(dim=-1, descending=True)
    rank = torch.arange(values.shape[-1]).expand_as(values)
    cut = values.masked_fill(rank >= k, -math.inf)
    chances = (cut if again else values).softmax(dim=-1)
    before = chances.cumsum(dim=-1) - chances
    kept = cut.masked_fill(before >= p, -math.inf)
    return torch.empty_like(logits).scatter(-1, places, kept)


def _cases(rng):
    import torch

    def drawn(rows, v, spread):
        return torch.from_numpy(spread * rng.normal(size=(rows, v)))

    return [
        case(torch.tensor([[0.4, 0.3, 0.2, 0.1]]).double().log(), 3, 0.7),
        case(drawn(3, 7, 1.0), 4, 0.6),
        case(torch.tensor([[-5.0, 0.0, math.log(2), 0.0]], dtype=torch.float64), 3, 0.5, note="a word that has exactly p"),
        case(drawn(5, 11, 2.0), 11, 0.8, note="k keeps every word"),
        case(drawn(3, 5, 0.3), 2, 1.0, note="p keeps whatever k left"),
        case(drawn(2, 13, 0.5), 5, 0.55),
    ]


def _by_row(logits, k, p):
    import torch

    out = torch.full_like(logits, -math.inf)
    for row, scores in enumerate(logits):
        best = scores.argsort(descending=True)[:k]
        chances, reached = scores[best].softmax(dim=-1), 0.0
        for place, chance in zip(best, chances):
            if reached >= p:
                break
            out[row, place] = scores[place]
            reached += float(chance)
    return out


def _short(logits, k, p):
    import torch

    values, places = logits.sort(dim=-1, descending=True)
    cut = values.masked_fill(torch.arange(values.shape[-1]).expand_as(values) >= k, -math.inf)
    kept = cut.masked_fill(cut.softmax(dim=-1).cumsum(dim=-1) > p, -math.inf)
    return torch.empty_like(logits).scatter(-1, places, kept)


def _in_order(logits, k, p):
    import torch

    values, _ = logits.sort(dim=-1, descending=True)
    cut = values.masked_fill(torch.arange(values.shape[-1]).expand_as(values) >= k, -math.inf)
    chances = cut.softmax(dim=-1)
    return cut.masked_fill(chances.cumsum(dim=-1) - chances >= p, -math.inf)


LIKELY = Exercise(
    id="15.9",
    title="The likely ones of every row",
    kind="implement",
    minutes=12,
    difficulty=3,
    requires="torch",
    statement="""\
Write `keep_likely(logits, k, p)` in torch for `logits` (b, v), one row for each text that is being written. In each row keep the k \
likeliest words; turn *their* logits into probabilities; of these words keep as few as possible, the likeliest first, so that together \
they have a probability of at least p (0 < p ≤ 1). Return logits (b, v): those of the kept words unchanged and in their old \
places, −∞ for all others. Leave `logits` as they were.""",
    hints=(
        "For one row of probabilities .4, .3, .2, .1 with k = 3 and p = .7: what do the three become when the fourth is gone?",
        "`logits.sort(dim=-1, descending=True)` gives values and places; `scatter` puts values back at their places.",
        "After the sort, a word stays if its rank is below k and the probabilities *before* it, cumsum − own, are below p.",
    ),
    stub="def keep_likely(logits, k, p):\n    return ...",
    reference=_keep,
    cases=_cases,
    returns=("logits",),
    pure=True,
    wrong={
        "k forgotten": (
            lambda logits, k, p: _keep(logits, logits.shape[-1], p),
            "Your rows keep more than k words. First k, then p among those k.",
        ),
        "p forgotten": (
            lambda logits, k, p: _keep(logits, k, 2.0),
            "You keep k words in every row, even where fewer words reach p together.",
        ),
        "probabilities of before": (
            lambda logits, k, p: _keep(logits, k, p, again=False),
            "You add up probabilities of the *whole* vocabulary. After the first cut the k words share everything: softmax once more.",
        ),
        "stopped too early": (
            _short,
            "You drop the word that takes the sum past p. Without it the kept words stay below p, and if the first word passes p, nothing is left.",
        ),
        "lost their places": (_in_order, "You return the right numbers, but sorted. A word's logit belongs in its old column."),
        "probabilities returned": (
            lambda logits, k, p: _keep(logits, k, p).softmax(dim=-1),
            "You return probabilities. Return logits, with −∞ for the dropped words.",
        ),
        "zero for the dropped": (
            lambda logits, k, p: _keep(logits, k, p).masked_fill(_keep(logits, k, p) == -math.inf, 0.0),
            "Your dropped words have the logit 0, and e⁰ = 1: they can still be drawn. Which logit has the probability 0?",
        ),
    },
    alternatives={"one row at a time": _by_row},
    success="Both cuts act on every row at once, so a whole batch of texts can be written together.",
    page="15a_one_body_other_tasks",
    solution=r"""
Sort every row. A word stays if its rank is below k and if the probabilities *before* it are below p. So the word that takes the sum past p is
kept, and so is the first word. Setting the others to −∞ before the softmax shares everything among the k. At the end `scatter` puts the
values back at their places.

```python
def keep_likely(logits, k, p):
    values, places = logits.sort(dim=-1, descending=True)
    late = torch.arange(values.shape[-1]) >= k
    values = values.masked_fill(late, -torch.inf)
    chances = values.softmax(dim=-1)
    before = chances.cumsum(dim=-1) - chances
    values = values.masked_fill((before >= p) & (p < 1), -torch.inf)  # a rounded sum may reach 1 too early
    return torch.empty_like(logits).scatter(-1, places, values)


check(...)
```
""",
)

EXERCISES = (LIKELY,)
