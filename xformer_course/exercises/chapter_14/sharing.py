"""Chapter 14, exercises on shared batches: how much each gradient counts, and who adds what on a ring."""

import numpy as np

from xformer_course.exercises import comparison
from xformer_course.exercises.exercise import Exercise, case


def _shared(sums, tokens):
    return sum(sums) / sum(tokens)


def _shared_cases(rng):
    def drawn(shape, *tokens):
        return case([rng.normal(size=shape) * count for count in tokens], list(tokens))

    return [
        case([np.array([6.0, 0.0]), np.array([2.0, 8.0])], [3, 1]),
        drawn((2, 3), 5, 2),
        drawn(7, 3, 11, 4),
        case([rng.normal(size=5), np.zeros(5), rng.normal(size=5)], [4, 0, 7], note="a process without tokens"),
    ]


def _mean_over_busy(sums, tokens):
    busy = [total / count for total, count in zip(sums, tokens, strict=True) if count]
    return sum(busy) / len(busy)


SHARED_STUB = """\
def shared_gradient(sums, tokens):
    gradients = []
    for total, count in zip(sums, tokens):
        gradients.append(total / count)
    return sum(gradients) / len(gradients)"""

SHARED = Exercise(
    id="14.1",
    title="The step of all processes",
    kind="find the bug",
    minutes=8,
    difficulty=1,
    statement="""\
`sums` holds one gradient for each process: the gradient of the *summed* loss of its rows. `tokens` says how many target tokens these rows have. The function should return the gradient of the mean loss per token over the whole \
batch, so that every token counts the same. A process may have no tokens. Try the function below with `sums = [6.0, 8.0]` and `tokens = [3, 1]`. Then find the bug and fix it.""",
    hints=(
        "In the result of the stub, how much does one token of the first process weigh? And one of the second?",
        "You may add sums over different tokens. Which single division is left?",
        "Σ sums / Σ tokens. A process without tokens adds zeros to both sums.",
    ),
    stub=SHARED_STUB,
    reference=_shared,
    cases=_shared_cases,
    returns=("gradient",),
    wrong={
        "mean of means": (
            lambda sums, tokens: sum(total / count for total, count in zip(sums, tokens, strict=True)) / len(sums),
            "You give every process the same weight, so a token among few counts more than a token among many. And a process without tokens divides by zero.",
        ),
        "mean over busy processes": (
            _mean_over_busy,
            "You leave out processes without tokens, but the others still weigh the same, whether they have one token or a thousand.",
        ),
        "never divided": (
            lambda sums, tokens: sum(sums),
            "You return the gradient of the summed loss, and it grows with the batch. One division is missing.",
        ),
        "divided by processes": (
            lambda sums, tokens: sum(sums) / len(sums),
            "Your sum is right, but you divide by the processes. A mean over tokens divides by the tokens.",
        ),
        "divided twice": (
            lambda sums, tokens: sum(sums) / len(sums) / sum(tokens),
            "You divide twice, by the tokens and by the processes. Only the tokens count.",
        ),
        "all as large as the largest": (
            lambda sums, tokens: sum(sums) / (len(tokens) * max(tokens)),
            "You divide as if every process had as many tokens as the fullest one. Padding does not count.",
        ),
        "weighted twice": (
            lambda sums, tokens: sum(total * count for total, count in zip(sums, tokens, strict=True)) / sum(tokens),
            "You multiply by the tokens, but the loss of a process is already summed over them. So a token among many counts too much.",
        ),
        "means added": (
            lambda sums, tokens: sum(total / count for total, count in zip(sums, tokens, strict=True) if count),
            "You add the means of the processes. With twice as many such processes your result would double.",
        ),
        "means added, empty ones too": (
            lambda sums, tokens: sum(total / count for total, count in zip(sums, tokens, strict=True)),
            "You add the means of the processes, and one without tokens divides by zero. Which single division does the whole batch need?",
        ),
        "busy processes divided by all": (
            lambda sums, tokens: sum(total / count for total, count in zip(sums, tokens, strict=True) if count) / len(sums),
            "You no longer divide by zero, but every process still weighs the same, whether it has one token or a thousand.",
        ),
        "first process's tokens": (
            lambda sums, tokens: sum(sums) / tokens[0],
            "Your sum is right, but you divide by the tokens of one process. How many tokens do all of them have?",
        ),
    },
    alternatives={"means over means": lambda sums, tokens: np.mean(sums, axis=0) / np.mean(tokens)},
    success="You may share the rows out as you like: the step stays the same.",
    solution=r"""
With `sums = [6, 8]` and `tokens = [3, 1]` the stub gives (2 + 8) / 2 = 5, but 14 / 4 = 3.5 is right. In the stub the one token of the
second process weighs as much as three of the first. Add up the sums, and divide once, by all tokens.

```python
def shared_gradient(sums, tokens):
    return sum(sums) / sum(tokens)


print(shared_gradient([6.0, 8.0], [3, 1]))
check(...)
```
""",
)


def _reduce_scatter(vectors):
    count = len(vectors)
    chunks = [np.array_split(np.array(vector, dtype=float), count) for vector in vectors]
    for step in range(count - 1):
        moving = [chunks[p][(p - step) % count].copy() for p in range(count)]
        for p in range(count):
            chunks[(p + 1) % count][(p - step) % count] += moving[p]
    return [chunks[p][(p + 1) % count] for p in range(count)]


def _own_chunk(vectors):
    total = sum(np.asarray(vector, dtype=float) for vector in vectors)
    return np.array_split(total, len(vectors))


def _right_chunk(vectors):
    parts = _own_chunk(vectors)
    return [parts[(p + 1) % len(parts)] for p in range(len(parts))]


def _chunk_before(vectors):
    parts = _own_chunk(vectors)
    return [parts[(p - 1) % len(parts)] for p in range(len(parts))]


def _not_added(vectors):
    count = len(vectors)
    return [np.array_split(np.asarray(vector, dtype=float), count)[(p + 1) % count] for p, vector in enumerate(vectors)]


def _everything(vectors):
    total = sum(np.asarray(vector, dtype=float) for vector in vectors)
    return [total for _ in vectors]


def _replaced(vectors):
    count = len(vectors)
    return [np.array_split(np.asarray(vectors[(p + 1) % count], dtype=float), count)[(p + 1) % count] for p in range(count)]


def _two_places_on(vectors):
    """The chunk behind the complete one: the summand of the process before is missing."""
    count = len(vectors)
    chunks = [np.array_split(np.array(vector, dtype=float), count) for vector in vectors]
    sums = [sum(own[c] for own in chunks) for c in range(count)]
    lacking = [sums[(p + 2) % count] - chunks[(p + 1) % count][(p + 2) % count] for p in range(count)]
    return lacking if count > 1 else sums


def _compare_lists(expected, got):
    if not isinstance(got, list | tuple) and not (isinstance(got, np.ndarray) and got.ndim):
        return "your answer is not a list with one array for each process"
    if len(got) != len(expected):  # before anything is read: an answer may be huge
        return f"expected {len(expected)} arrays, one for each process, and got {len(got)}"
    try:
        got = [comparison.as_floats(part) for part in got]
    except comparison.Unreadable:
        return "your answer is not a list with one array for each process"
    for p, (one, other) in enumerate(zip(expected, got, strict=True)):
        if one.shape != other.shape:
            return f"process {p} should end with {one.size} numbers and has {other.size}"
        if comparison.difference(one, other) is not None:
            return f"process {p} should end with {np.round(one, 4).tolist()} and has {np.round(other, 4).tolist()}"
    return None


RING = Exercise(
    id="14.2",
    title="Half a ring",
    kind="implement",
    minutes=15,
    difficulty=3,
    statement="""\
Write `reduce_scatter(vectors)` with NumPy: the first half of the ring. Process p of N starts with `vectors[p]`. All vectors have the same length, and each is cut into N chunks by `np.array_split`. In move k = 0, …, N − 2 every \
process p sends chunk (p − k) mod N, as it is at that moment, to process p + 1 (the last process sends to process 0). The receiver adds it to its own chunk with the same number. Return a list that holds, for each p, the one chunk that \
is complete there at the end.""",
    hints=(
        "With two processes there is one move. Which chunk of which process is complete after it?",
        "Keep the chunks in a list of lists, `chunks[p][c]`. After move k, chunk (p − k) mod N of process p + 1 has k + 2 summands.",
        "After N − 1 moves, process p holds the complete chunk (p + 1) mod N.",
    ),
    stub="def reduce_scatter(vectors):\n    return ...",
    reference=_reduce_scatter,
    cases=lambda rng: [
        case([np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]), np.array([100.0, 200.0, 300.0])]),
        case(list(rng.normal(size=(5, 13)))),
        case([rng.normal(size=7)], note="one process alone"),
        case(list(rng.normal(size=(4, 3))), note="fewer numbers than processes"),
    ],
    compare=_compare_lists,
    returns=("chunks",),
    wrong={
        "chunk p on process p": (
            _own_chunk,
            "Your sums are right, but one process off. Follow two processes through their one move: which chunk went to whom?",
        ),
        "turned the other way": (_chunk_before, "Your sums are right, but your ring turns the other way. Send from p to p + 1."),
        "nothing added": (_not_added, "Each process returns its own numbers. Add what arrives, and check that your last move takes place."),
        "mean instead of sum": (
            lambda vectors: [part / len(vectors) for part in _right_chunk(vectors)],
            "You return the mean. A reduce-scatter only adds; dividing comes later.",
        ),
        "everything everywhere": (
            _everything,
            "You return all chunks everywhere. In this half of the ring each process ends with one complete chunk.",
        ),
        "replaced instead of added": (_replaced, "You replace the chunk that is there. Add what arrives to it."),
        "one place too far": (
            _two_places_on,
            "You return a chunk that still lacks a summand. After the last move, which chunk has just arrived at process p?",
        ),
    },
    alternatives={"sum, then deal out": _right_chunk},
    success="Every process has sent N − 1 chunks, each an N-th of the whole.",
    solution=r"""
Each chunk starts at the process with the same number and collects one summand at every stop. After N − 1 moves it has all of them, one
process before the place where it began.

```python
def reduce_scatter(vectors):
    count = len(vectors)
    chunks = [np.array_split(np.array(vector, dtype=float), count) for vector in vectors]
    for move in range(count - 1):
        for p in range(count):
            place = (p - move) % count
            chunks[(p + 1) % count][place] += chunks[p][place]
    return [chunks[p][(p + 1) % count] for p in range(count)]


check(...)
```

You need no copies. In one move a process sends chunk p − k and receives chunk p − k − 1, and these two are different as soon as there
are two processes.
""",
)

EXERCISES = (SHARED, RING)
