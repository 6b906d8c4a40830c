"""Chapter 09, exercises on masks in torch. Torch is imported where it is used."""

import math

import numpy as np

from xformer_course.exercises.exercise import Complaint, Exercise, case, tensor_or_array


def _closed_softmax(scores, mask):
    """Filled with the lowest finite score, then closed."""
    import torch

    lowest = torch.finfo(scores.dtype).min
    return torch.where(mask, torch.softmax(torch.where(mask, scores, lowest), dim=-1), 0.0)


def _with_gradient(function):
    """Weights and the gradient of their weighted sum, so that a NaN on the way back shows."""

    def value_and_gradient(scores, mask):
        import torch

        scores = scores.clone().requires_grad_(True)
        weights = function(scores, mask)
        if not isinstance(weights, torch.Tensor):
            raise Complaint("the gradient must flow through the weights, so return a torch tensor and stay within torch")
        if weights.shape != scores.shape:
            raise Complaint(f"weights: expected shape {tuple(scores.shape)}, got shape {tuple(weights.shape)}")
        if weights.dtype != scores.dtype:
            raise Complaint(f"weights: expected dtype {scores.dtype}, that of `scores`, got {weights.dtype}")
        if not weights.requires_grad:
            raise Complaint("the weights do not depend on `scores` by torch operations; look for .detach(), .numpy() or torch.tensor")
        slopes = torch.linspace(-1.0, 2.0, weights.numel()).reshape(weights.shape).to(weights.dtype)
        (weights * slopes).sum().backward()
        return weights.detach(), scores.grad

    return value_and_gradient


def _closed_cases(rng):
    import torch

    def inputs(*shape, dtype=torch.float64, closed=True):
        mask = rng.random(shape) < 0.5
        mask[..., 0] = ~mask[..., 1]
        if closed:
            mask[..., -1, :] = False
        return torch.from_numpy(2 * rng.normal(size=shape)).to(dtype), torch.from_numpy(mask)

    far = inputs(3, 4, closed=False)
    far[0][0] += 2000.0
    above = inputs(5, 7, closed=False)
    above[0][~above[1]] += 3000.0
    return [
        case(*inputs(2, 3, closed=False)),
        case(*inputs(2, 3), note="a closed row"),
        case(*inputs(2, 3, 5, 7), note="a closed row in every head"),
        case(*far, note="scores near 2000"),
        case(*above, note="closed scores 3000 above the open ones"),
        case(*inputs(5, 3, dtype=torch.float16), note="float16"),
        case(*inputs(4, 6, dtype=torch.bfloat16), note="bfloat16"),
    ]


def _filled(fill, *, flip=False, dim=-1, repair=None):
    def masked_softmax(scores, mask):
        import torch

        filled = scores.masked_fill(mask if flip else ~mask, fill)
        weights = torch.softmax(filled, dim=dim)
        return weights if repair is None else repair(weights, mask)

    return masked_softmax


def _closed(weights, mask):
    return weights.masked_fill(~mask, 0.0)


def _mask_after(scores, mask):
    import torch

    return torch.softmax(scores, dim=-1) * mask


def _renormalised(scores, mask):
    kept = scores.softmax(dim=-1) * mask
    return kept / kept.sum(dim=-1, keepdim=True)


def _repaired_forward(scores, mask):
    import torch

    return torch.softmax(scores + torch.zeros_like(scores).masked_fill(~mask, -math.inf), dim=-1).nan_to_num(0.0)


def _open_then_close(scores, mask):
    import torch

    open_rows = mask.any(dim=-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(~(mask | ~open_rows), -math.inf), dim=-1)
    return weights.masked_fill(~open_rows, 0.0)


def _by_exponentials(scores, mask):
    import torch

    top = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(dim=-1, keepdim=True).detach()
    raw = torch.where(mask, torch.exp(torch.where(mask, scores - top, 0.0)), 0.0)
    total = raw.sum(dim=-1, keepdim=True)
    return raw / torch.where(total == 0, 1.0, total)


def _without_shift(scores, mask):
    import torch

    raw = torch.where(mask, torch.exp(torch.where(mask, scores, 0.0)), 0.0)
    total = raw.sum(dim=-1, keepdim=True)
    return raw / torch.where(total == 0, 1.0, total)


def _top_of_all(scores, mask):
    import torch

    top = scores.amax(dim=-1, keepdim=True).detach()
    raw = torch.where(mask, torch.exp(torch.where(mask, scores - top, 0.0)), 0.0)
    total = raw.sum(dim=-1, keepdim=True)
    return raw / torch.where(total == 0, 1.0, total)


def _exponentials_then_mask(*, guard=True, shift=False):
    """Exponentials of all scores, closed ones too, and the mask only then."""

    def masked_softmax(scores, mask):
        import torch

        raw = torch.exp(scores - scores.amax(dim=-1, keepdim=True) if shift else scores) * mask
        total = raw.sum(dim=-1, keepdim=True)
        return raw / (torch.where(total == 0, torch.ones_like(total), total) if guard else total)

    return masked_softmax


CLOSED_ROWS = Exercise(
    id="9.10",
    title="A softmax for closed rows",
    kind="implement",
    minutes=15,
    difficulty=3,
    requires="torch",
    statement="""\
Chapter 8 filled closed scores with the lowest number. Now write `masked_softmax(scores, mask)` from `exp` and a sum: weights \
over the last axis, exactly 0 where the boolean `mask` (same shape) is False, and zeros in a row without any True. The check \
also sends a gradient back: no NaN, in float64, float16 and bfloat16, even for scores in the thousands. Return a tensor with \
the dtype of `scores`.""",
    hints=(
        "What is the sum of the exponentials of a closed row, and what does dividing by it give? And what is the exponential of 2000?",
        "`torch.where` hides a NaN on the way forward; on the way back it comes through, since 0 times NaN is NaN. Keep it from arising on either branch.",
        "Subtract the row's largest open score. Replace what is closed by 0 *before* `exp` as well as after it, and divide by the sum, or by 1 where the sum is 0.",
    ),
    stub="def masked_softmax(scores, mask):\n    return ...",
    reference=_closed_softmax,
    cases=_closed_cases,
    probe=_with_gradient,
    returns=("weights", "gradient"),
    wrong={
        "not a number in closed rows": (
            _filled(-math.inf),
            "A row of minus infinities becomes NaN, and one NaN spoils a whole batch. What should such a row give?",
        ),
        "repaired on the way forward only": (
            _repaired_forward,
            "Your weights are right, but the gradient of a closed row is NaN: something in the middle still is, and the way back passes through it. Print `scores.grad`.",
        ),
        "largest score not subtracted": (
            _without_shift,
            "Right for small scores. Near 2000 the exponential is infinite: which number may you subtract from a whole row without changing its weights?",
        ),
        "largest of all subtracted": (
            _top_of_all,
            "Right until a closed score lies far above the open ones: then every open exponential is 0. Among which scores do you look for the largest?",
        ),
        "-1e9 in half precision": (
            _filled(-1e9),
            "A closed row shares its weight evenly over forbidden keys, and float16 cannot hold -1e9 at all: print `torch.finfo(torch.float16).min`.",
        ),
        "-1e9, then zeros": (
            _filled(-1e9, repair=_closed),
            "Right in float64. float16 cannot hold -1e9: print `torch.finfo(torch.float16).min`.",
        ),
        "not low enough": (
            _filled(-1e3),
            "Right for open rows. A closed row holds one number everywhere, however low, and softmax turns it into even weights. What should they be?",
        ),
        "mask ignored": (
            lambda scores, mask: scores.softmax(dim=-1),
            "The weights are those without a mask. Where does your function use it?",
        ),
        "mask after softmax": (_mask_after, "Open rows no longer add up to 1: softmax had given the forbidden keys a share first."),
        "shared out anew by a sum of 0": (
            _renormalised,
            "Right while the open keys get some weight. In a closed row, or beside a huge closed score, you divide by a sum of 0: print those rows.",
        ),
        "mask turned round": (_filled(-math.inf, flip=True), "The allowed keys are shut out. True means *may attend*."),
        "over the wrong axis": (
            _filled(-math.inf, dim=-2),
            "Your weights add up to 1 down the columns. Each row is one query; which axis holds its keys?",
        ),
        "exponentials before the mask": (
            _exponentials_then_mask(),
            "Right for small scores. Near 2000 an exponential is infinite, and infinity times False is not a number: what may you subtract from a row, and what should happen to closed scores before `exp`?",
        ),
        "largest not subtracted, sum 0": (
            _exponentials_then_mask(guard=False),
            "Two things: near 2000 an exponential is infinite, and in a closed row you divide by a sum of 0. Print both.",
        ),
        "closed scores set to 0": (
            _filled(0.0),
            "A closed key gets the score 0 and so the exponential 1. Print a row with one open key: what do the others receive?",
        ),
        "set to 0, then closed": (
            _filled(0.0, repair=_closed),
            "Closed keys end at 0, but before that each had taken a share: exp(0) is 1. Add up an open row.",
        ),
    },
    alternatives={
        "open, then close": _open_then_close,
        "exponentials by hand": _by_exponentials,
        "float64 inside": lambda scores, mask: _closed_softmax(scores.double(), mask).to(scores.dtype),
        "gradient stopped by masked_fill": _filled(-math.inf, repair=_closed),
    },
    success="Closed rows give zeros, forward and backward, in every dtype.",
    solution=r"""
Three things can go wrong: the exponential of a large score is infinite, a closed row has sum 0, and a NaN that `torch.where` hides
still comes back with the gradient. So the largest open score is subtracted first, closed scores are replaced *before* `exp` and closed
exponentials after it, and a sum of 0 is replaced by 1. Then `exp` sees neither a NaN nor an infinity, and nothing bad comes back.
Subtracting the largest score changes no weight, so no gradient need pass through it, hence `detach`.

```python
def masked_softmax(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    top = scores.masked_fill(~mask, lowest).amax(dim=-1, keepdim=True).detach()
    safe = torch.where(mask, scores - top, 0.0)
    exponentials = torch.where(mask, safe.exp(), 0.0)
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / torch.where(total == 0, 1.0, total)


check(...)
```

The tempting repair, a mask added as minus infinity and the NaN replaced afterwards, looks right until a gradient passes through.

```python
scores = torch.zeros(2, 2, requires_grad=True)
mask = torch.tensor([[True, True], [False, False]])
repaired = (scores + torch.zeros(2, 2).masked_fill(~mask, -math.inf)).softmax(dim=-1).nan_to_num()
repaired[:, 0].sum().backward()
print("weights ", repaired.tolist())
print("gradient", scores.grad.tolist())
```
""",
)


def _decoder_mask(target_in, pad_id):
    past = np.tri(target_in.shape[1], dtype=bool)
    return past & (np.asarray(target_in) != pad_id)[:, None, :]


def _decoder_mask_cases(rng):
    def ids(pad_id, *lengths):
        rows = [[*rng.integers(10, 90, size=n).tolist(), *([pad_id] * (max(lengths) - n))] for n in lengths]
        return np.array(rows)

    return [
        case(tensor_or_array(rows), pad_id, note=note)
        for rows, pad_id, note in (
            (ids(0, 2, 3), 0, ""),
            (ids(0, 5, 2, 4), 0, ""),
            (ids(7, 3, 6), 7, "another pad_id"),
            (ids(0, 5, 3)[:, ::-1].copy(), 0, "padding before the tokens"),
            (ids(0, 4, 1, 3, 2, 5, 4, 2), 0, ""),
        )
    ]


def _decoder_mask_of(combine):
    def decoder_mask(target_in, pad_id):
        ids = np.asarray(target_in)
        square = (*ids.shape, ids.shape[1])
        past, real = np.tri(ids.shape[1], dtype=bool), (ids != pad_id)[:, None, :]
        return combine(*(np.broadcast_to(part, square) for part in (past, real)))

    return decoder_mask


def _decoder_mask_by_lengths(target_in, pad_id):
    place = np.arange(target_in.shape[1])
    lengths = (np.asarray(target_in) != pad_id).sum(axis=1)
    return (place[:, None] >= place) & (place < lengths[:, None])[:, None, :]


def _decoder_mask_by_loops(target_in, pad_id):
    rows = target_in.tolist()
    return [[[j <= i and row[j] != pad_id for j in range(len(row))] for i in range(len(row))] for row in rows]


DECODER_MASK = Exercise(
    id="9.6",
    title="Neither the future nor the padding",
    kind="implement",
    minutes=8,
    difficulty=2,
    statement="""\
Write `target_mask(target_in, pad_id)` for a tensor `target_in` (b, t) (on the web page, an array). It returns a boolean mask \
(b, t, t), True where the query (second axis) may attend to the key (third axis): to the real tokens at or before its own \
position, and to nothing else.""",
    hints=(
        "Two conditions on a pair of query and key. Which of them concerns the key alone?",
        "The triangle has shape (t, t), the real tokens (b, t). Which axis must the second one grow, and where?",
        "`(target_in != pad_id)[:, None, :]` has shape (b, 1, t) and says for every query which keys are real; join it to the triangle with `&`.",
    ),
    stub="def target_mask(target_in, pad_id):\n    return ...",
    reference=_decoder_mask,
    cases=_decoder_mask_cases,
    returns=("mask",),
    wrong={
        "padding alone": (
            _decoder_mask_of(lambda past, real: real),
            "Padding is hidden, the future is not. Look at row 0: may it see the word it must say next?",
        ),
        "future alone": (
            _decoder_mask_of(lambda past, real: past),
            "The future is hidden, padding is not. Look at the last row of a short sentence.",
        ),
        "either is enough": (
            _decoder_mask_of(lambda past, real: past | real),
            "Your mask opens a pair when *one* of the two conditions holds. How many must?",
        ),
        "padding on the query axis": (
            _decoder_mask_of(lambda past, real: past & real.swapaxes(1, 2)),
            "You close the rows of padded queries, which the statement leaves open. It is padded keys that nobody may read: which axis is theirs?",
        ),
        "triangle upside down": (
            _decoder_mask_of(lambda past, real: past.swapaxes(1, 2) & real),
            "Each query sees itself and what comes after. Rows are queries, columns are keys: which corner is the future?",
        ),
        "cannot see itself": (
            _decoder_mask_of(lambda past, real: np.tril(past, -1) & real),
            "The diagonal is closed, so the first query sees nothing. `target_in` is already shifted: its own word may be read.",
        ),
        "True for hidden": (_decoder_mask_of(lambda past, real: ~(past & real)), "Turned round: True means *may attend*."),
        "counted instead of looked at": (
            _decoder_mask_by_lengths,
            "Right while padding comes last. You counted the real tokens of a sentence; what if padding comes before them?",
        ),
        "zeros and ones": (
            _decoder_mask_of(lambda past, real: (past & real).astype(int)),
            "The right pattern, as integers. Masks are booleans here: look at `dtype`.",
        ),
    },
    alternatives={"loops and lists": _decoder_mask_by_loops},
    success="Both conditions at once, broadcast over queries and over the batch.",
    solution=r"""
The triangle (t, t) is a condition on query and key and is the same for every sentence. The condition on padding concerns the key alone,
so it gets a new axis for the queries, (b, 1, t). Joined with `&`, the two broadcast to (b, t, t).

```python
def target_mask(target_in, pad_id):
    length = target_in.shape[1]
    past = torch.ones(length, length, dtype=torch.bool).tril()
    return past & (target_in != pad_id)[:, None, :]


print(target_mask(torch.tensor([[1, 12, 15, 0]]), pad_id=0).int())
check(...)
```
""",
)

EXERCISES = (CLOSED_ROWS, DECODER_MASK)
