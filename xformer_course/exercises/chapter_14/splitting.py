"""Chapter 14, exercises on models that are split: heads on several devices, and the time of a pipeline."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _one_head(x, w_q, w_k, w_v, scale=None):
    scores = (x @ w_q) @ (x @ w_k).T / (np.sqrt(w_q.shape[1]) if scale is None else scale)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ (x @ w_v)


def _heads(x, w_q, w_k, w_v, chosen, scale=None):
    return np.concatenate([_one_head(x, w_q[h], w_k[h], w_v[h], scale) for h in chosen], axis=1)


def _groups(w_q, devices):
    return np.split(np.arange(len(w_q)), devices)


def _places(heads, d):
    return np.concatenate([np.arange(h * d, (h + 1) * d) for h in heads])


def _head_shares(x, w_q, w_k, w_v, w_o, devices):
    return [_heads(x, w_q, w_k, w_v, own) @ w_o[_places(own, w_q.shape[2])] for own in _groups(w_q, devices)]


def _head_cases(rng):
    def drawn(n, m, h, d, devices):
        w_q, w_k, w_v = (rng.normal(size=(h, m, d)) for _ in range(3))
        return case(rng.normal(size=(n, m)), w_q, w_k, w_v, rng.normal(size=(h * d, m)), devices)

    return [drawn(3, 5, 4, 2, 2), drawn(5, 7, 6, 3, 3), drawn(4, 6, 4, 3, 4), drawn(2, 5, 3, 2, 1)]


def _in_turn(x, w_q, w_k, w_v, w_o, devices):
    groups = [np.arange(r, len(w_q), devices) for r in range(devices)]
    return [_heads(x, w_q, w_k, w_v, own) @ w_o[_places(own, w_q.shape[2])] for own in groups]


def _rows_in_turn(x, w_q, w_k, w_v, w_o, devices):
    return [_heads(x, w_q, w_k, w_v, own) @ w_o[r::devices] for r, own in enumerate(_groups(w_q, devices))]


def _first_rows(x, w_q, w_k, w_v, w_o, devices):
    size = len(w_o) // devices
    return [_heads(x, w_q, w_k, w_v, own) @ w_o[:size] for own in _groups(w_q, devices)]


def _unscaled(x, w_q, w_k, w_v, w_o, devices):
    return [_heads(x, w_q, w_k, w_v, own, 1.0) @ w_o[_places(own, w_q.shape[2])] for own in _groups(w_q, devices)]


def _scaled_by_model(x, w_q, w_k, w_v, w_o, devices):
    wide = np.sqrt(x.shape[1])
    return [_heads(x, w_q, w_k, w_v, own, wide) @ w_o[_places(own, w_q.shape[2])] for own in _groups(w_q, devices)]


def _head_by_head(x, w_q, w_k, w_v, w_o, devices):
    h, _, d = w_q.shape
    shares = [np.zeros((len(x), w_o.shape[1])) for _ in range(devices)]
    for head in range(h):
        shares[head * devices // h] += _one_head(x, w_q[head], w_k[head], w_v[head]) @ w_o[head * d : (head + 1) * d]
    return shares


HEADS = Exercise(
    id="14.4",
    title="Heads on several devices",
    kind="implement",
    minutes=12,
    difficulty=2,
    statement="""\
In NumPy: write `head_shares(x, w_q, w_k, w_v, w_o, devices)`. `x` (n, m) has a row for each word. `w_q`, `w_k` and `w_v` (h, m, d) hold one matrix for each head. `w_o` (h·d, m) projects the concatenated heads, head 0 \
first. There is no mask, and scores are divided by √d. Device r holds the heads from r·h/devices up to, but not including, (r + 1)·h/devices. It has only the weights that these heads need. `devices` divides h. Return a list with, \
for each device, the array (n, m) that it gives to the all-reduce. Their sum is the output of the layer.""",
    hints=(
        "The heads lie side by side. Which rows of `w_o` does head 0 use?",
        "A device concatenates its own heads, (n, d · heads of the device), and multiplies by the same number of rows of `w_o`.",
        "With k = h // devices heads each: `w_q[r * k:(r + 1) * k]` and `w_o[r * k * d:(r + 1) * k * d]`.",
    ),
    stub="def head_shares(x, w_q, w_k, w_v, w_o, devices):\n    return ...",
    reference=_head_shares,
    cases=_head_cases,
    returns=("shares",),
    wrong={
        "everything everywhere": (
            lambda x, w_q, w_k, w_v, w_o, devices: [sum(_head_shares(x, w_q, w_k, w_v, w_o, 1)) for _ in range(devices)],
            "Each of your devices returns the whole output. The all-reduce then counts it once per device, and nobody has saved anything.",
        ),
        "mean instead of sum": (
            lambda x, w_q, w_k, w_v, w_o, devices: [share / devices for share in _head_shares(x, w_q, w_k, w_v, w_o, devices)],
            "You divided by the number of devices. The projection adds up over the heads, and so does the all-reduce.",
        ),
        "heads dealt out in turn": (
            _in_turn,
            "Your sum is right, but you deal the heads out in turn. Device 0 should hold the first heads, one after another.",
        ),
        "rows of W_O dealt out in turn": (
            _rows_in_turn,
            "Your heads are right, but you deal the rows of `w_o` out in turn. The rows of one head lie next to each other.",
        ),
        "everybody takes the first rows": (
            _first_rows,
            "Your device 0 is right. The others also take the rows of `w_o` that belong to device 0.",
        ),
        "the whole W_O": (
            lambda x, w_q, w_k, w_v, w_o, devices: [_heads(x, w_q, w_k, w_v, own) @ w_o for own in _groups(w_q, devices)],
            "You multiply by the whole `w_o`. A device has fewer than h heads: which rows does it need?",
        ),
        "scores not divided": (_unscaled, "You do not divide the scores by √d."),
        "scores divided by the model's width": (
            _scaled_by_model,
            "You divide the scores by the square root of the width of `x`. Take the width of a head's queries.",
        ),
        "W_O forgotten": (
            lambda x, w_q, w_k, w_v, w_o, devices: [_heads(x, w_q, w_k, w_v, own) for own in _groups(w_q, devices)],
            "You return the heads, side by side. Each device also multiplies by its own rows of `w_o`.",
        ),
        "already summed": (
            lambda x, w_q, w_k, w_v, w_o, devices: sum(_head_shares(x, w_q, w_k, w_v, w_o, devices)),
            "You return the sum, which is the all-reduce's job. Return a list with what each device gives to it.",
        ),
    },
    alternatives={"head by head": _head_by_head},
    success="One message per device and layer, as large as the output, however many heads there are.",
    solution=r"""
The heads lie side by side and use the rows of `w_o` in order, d rows for each head. So a device with k neighbouring heads needs k · d
neighbouring rows. The product is a sum over all rows, and that sum splits into one sum per device.

```python
def one_head(x, w_q, w_k, w_v):
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(w_q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ (x @ w_v)


def head_shares(x, w_q, w_k, w_v, w_o, devices):
    h, _, d = w_q.shape
    k, shares = h // devices, []
    for r in range(devices):
        own = range(r * k, (r + 1) * k)
        heads = [one_head(x, w_q[i], w_k[i], w_v[i]) for i in own]
        shares.append(np.concatenate(heads, axis=1) @ w_o[r * k * d:(r + 1) * k * d])
    return shares


check(...)
```

The sum over two devices is the output of the layer, as [chapter 6](../06_multi_head_attention.ipynb) computes it in one place.

```python
from xformer_lib.reference import multi_head_attention

rng = np.random.default_rng(0)
x = rng.normal(size=(5, 8))  # five places, width 8
w_q, w_k, w_v = (rng.normal(size=(4, 8, 2)) for _ in range(3))  # four heads
w_o = rng.normal(size=(8, 8))  # two rows for each head
whole, _ = multi_head_attention(x, x, w_q, w_k, w_v, w_o)
halves = head_shares(x, w_q, w_k, w_v, w_o, 2)
print("two devices, one sum of", halves[0].shape, "activations")
assert np.allclose(sum(halves), whole, atol=1e-12)
```
""",
)


def _finished(seconds, parts):
    return sum(seconds) + (parts - 1) * max(seconds)


def _finished_by_table(seconds, parts):
    free = [0.0] * len(seconds)
    for _ in range(parts):
        ready = 0.0
        for stage, long in enumerate(seconds):
            ready = free[stage] = max(ready, free[stage]) + long
    return free[-1]


def _time_cases(rng):
    drawn = [case([float(s) for s in rng.uniform(1, 9, size=n)], parts) for n, parts in ((3, 5), (5, 4), (4, 9))]
    return [case([1.0, 3.0, 2.0], 2), case([2.0, 2.0], 3, note="equal stages"), case([2.0, 5.0, 3.0, 1.0], 1, note="one part"), *drawn]


TIMES = Exercise(
    id="14.5",
    title="A slow stage",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
The stages of a pipeline are not equally fast. Stage k takes `seconds[k]` for one micro-batch, and works on one at a time, in order. Sending takes no time, and any number of micro-batches may wait in front of a stage. In plain Python, write \
`finished(seconds, parts)`: the seconds until the last of `parts` micro-batches has left the last stage. Count only the forward pass.""",
    hints=(
        "How long does a single micro-batch take? And two, when all stages are equally fast?",
        "After the first micro-batch has passed through, how many seconds apart do the others leave the slowest stage?",
        "The first one takes the sum of all stages. Each further one leaves later, by the time that the slowest stage takes.",
    ),
    stub="def finished(seconds, parts):\n    return ...",
    reference=_finished,
    cases=_time_cases,
    returns=("seconds",),
    wrong={
        "one after another": (
            lambda s, p: p * sum(s),
            "You let one micro-batch go through before the next begins. A stage may take the next one while the others work.",
        ),
        "all as slow as the slowest": (
            lambda s, p: (len(s) + p - 1) * max(s),
            "You treat every stage as if it were the slowest. The first micro-batch passes through the fast stages quickly.",
        ),
        "the pipe is never empty": (
            lambda s, p: p * max(s),
            "You count only the work of the slowest stage. What happens before it and after it?",
        ),
        "one part too many": (
            lambda s, p: sum(s) + p * max(s),
            "You count one micro-batch too many. A single one takes the sum of the stages, and no more.",
        ),
        "the last stage decides": (
            lambda s, p: sum(s) + (p - 1) * s[-1],
            "You let the last stage decide. It cannot be faster than the slowest stage lets micro-batches through.",
        ),
        "the first stage decides": (
            lambda s, p: sum(s) + (p - 1) * s[0],
            "You let the first stage decide. Micro-batches enter at its pace: at what pace do they leave?",
        ),
        "all as quick as the average": (
            lambda s, p: (len(s) + p - 1) * sum(s) / len(s),
            "You take the average stage, which is right only if all are equal. A slow stage costs more time than the fast ones win back.",
        ),
    },
    alternatives={"as a timetable": _finished_by_table},
    success="One slow stage sets the pace for all. So share the layers out by their seconds, not by their number.",
    solution=r"""
The first micro-batch takes the sum of all stages. The slowest stage never waits once it has begun, so the others leave it at its pace,
and the stages after it are faster.

```python
def finished(seconds, parts):
    return sum(seconds) + (parts - 1) * max(seconds)


print(finished([1.0, 1.0, 1.0, 1.0], 4), finished([1.0, 1.0, 2.0, 1.0], 4))
check(...)
```

One stage that takes twice as long brings the pipeline from 7 seconds to 11. If all four were slow it would take 14.
""",
)

EXERCISES = (HEADS, TIMES)
