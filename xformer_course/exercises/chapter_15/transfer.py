"""Chapter 15, exercise on pooling a sequence. Torch is imported where it is used."""

import math

from xformer_course.exercises.exercise import Exercise, case


def _mean(x, mask):
    total = x.masked_fill(~mask[..., None], 0.0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def _mean_cases(rng):
    import torch

    def inputs(lengths, width, d_model, *, fill=None):
        mask = torch.zeros(len(lengths), width, dtype=torch.bool)
        for row, length in enumerate(lengths):
            mask[row, :length] = True
        x = torch.from_numpy(rng.normal(size=(len(lengths), width, d_model)) + 1)
        return (x if fill is None else x.masked_fill(~mask[..., None], fill)), mask

    holes = torch.from_numpy(rng.permuted(rng.integers(7, size=(5, 7)) < 4, axis=1))
    holes[:, 3] = True
    return [
        case(*inputs([2, 3], 3, 2)),
        case(*inputs([5, 1, 4], 5, 7)),
        case(torch.from_numpy(rng.normal(size=(5, 7, 3))), holes, note="gaps in the middle"),
        case(*inputs([3, 0], 4, 5), note="a row without any real token"),
        case(*inputs([2, 4, 1], 5, 3, fill=math.nan), note="NaN at the padding"),
    ]


def _by_product(x, mask):
    kept = mask[..., None].to(x.dtype)
    return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)


def _as_attention(x, mask):
    import torch

    weights = mask.to(x.dtype) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.einsum("bi,bim->bm", weights, torch.where(mask[..., None], x, 0.0))


def _by_loop(x, mask):
    import torch

    return torch.stack(
        [
            row[kept].mean(dim=0) if kept.any() else row[0] * 0 if not row.isnan().any() else torch.zeros_like(row[0])
            for row, kept in zip(x, mask)
        ]
    )


MEAN = Exercise(
    id="15.6",
    title="The mean of what is there",
    kind="implement",
    minutes=8,
    difficulty=1,
    requires="torch",
    statement="""\
An encoder gives one vector for each token; a classifier wants one for each row. In PyTorch, write `masked_mean(x, mask)` for \
`x` (b, i, m) and a boolean `mask` (b, i), True at real tokens: the mean (b, m) of each row's real vectors. A row \
without any real token gives zeros, and whatever stands at the padding, even NaN, must not come through.""",
    hints=(
        "By what number do you divide the sum of a row, and is it the same for all rows?",
        "`x.masked_fill(condition, 0.0)` *replaces* numbers; `x * 0` of a NaN stays NaN. The mask needs a third axis.",
        "Replace the padding by 0, add along axis 1, divide by `mask.sum(dim=1, keepdim=True)`, and let that count be at least 1.",
    ),
    stub="def masked_mean(x, mask):\n    return ...",
    reference=_mean,
    cases=_mean_cases,
    returns=("mean",),
    wrong={
        "padding averaged too": (
            lambda x, mask: x.mean(dim=1),
            "Your mean takes in the padding. Give a row more padding and print its mean again.",
        ),
        "a sum": (
            lambda x, mask: x.masked_fill(~mask[..., None], 0.0).sum(dim=1),
            "Your rows grow with their length. Which number turns a sum into a mean?",
        ),
        "divided by the padded length": (
            lambda x, mask: x.masked_fill(~mask[..., None], 0.0).mean(dim=1),
            "The padding adds nothing to your sum, but it is counted when you divide.",
        ),
        "padding summed": (
            lambda x, mask: x.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1),
            "You divide by the right count, but the padded vectors are still in the sum.",
        ),
        "first token only": (lambda x, mask: x[:, 0], "You return the first vector of each row. What happens to the others?"),
        "the mask upside down": (lambda x, mask: _mean(x, ~mask), "You averaged just the padding. True means: a real token."),
        "empty rows": (
            lambda x, mask: x.masked_fill(~mask[..., None], 0.0).sum(dim=1) / mask.sum(dim=1, keepdim=True),
            "All is right but for a row without any real token: 0 divided by 0.",
        ),
        "NaN times zero": (_by_product, "All is right until the padding holds a NaN: 0 · NaN is NaN. Replace instead of multiplying."),
    },
    alternatives={"as attention with equal weights": _as_attention, "loop": _by_loop},
    success="It is attention with equal weights on the real tokens, and nothing on the rest.",
    page="15a_one_body_other_tasks",
    solution=r"""
Replace what stands at the padding by zeros, add, and divide by the number of real tokens; `clamp` saves the empty row from 0/0.
Replacing is safer than multiplying by 0, because 0 · NaN is NaN.

```python
def masked_mean(x, mask):
    total = x.masked_fill(~mask[..., None], 0.0).sum(dim=1)
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


check(...)
```
""",
)

EXERCISES = (MEAN,)
