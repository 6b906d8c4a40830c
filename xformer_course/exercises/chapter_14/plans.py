"""Chapter 14, exercises on plans: memory, seconds on the network, hours, and what a larger batch saves."""

from xformer_course.exercises.exercise import Exercise, Misconception, case

MEMORY = {"weights": 12.0, "gradients": 12.0, "Adam": 24.0, "Adam, sharded over 8": 3.0}


def _memory(**changes):
    return {**MEMORY, **changes}


STATE = Exercise(
    id="14.6",
    title="What a model weighs",
    kind="predict",
    minutes=5,
    difficulty=1,
    statement="""\
You train 3 billion parameters with Adam, everything in float32. How many gigabytes (10⁹ bytes) does one device hold for the weights, for the gradients, and for the state of Adam? And for the state of \
Adam, if eight devices share it evenly?""",
    hints=(
        "How many bytes does one number in float32 take?",
        "Adam keeps two running means for every parameter, so twice the weights.",
        "Weights and gradients 3 · 4 gigabytes each; Adam 3 · 8, and an eighth of that when it is shared.",
    ),
    page="14a_planning_a_run",
    stub='answer = {"weights": ..., "gradients": ..., "Adam": ..., "Adam, sharded over 8": ...}',
    reference=MEMORY,
    wrong={
        "all of it shared": (
            _memory(**{"Adam, sharded over 8": 6.0}),
            "You share weights and gradients as well. Only the state of Adam is shared here.",
            lambda answer: float(answer["Adam"]) == 24 and float(answer["Adam, sharded over 8"]) == 6,
        ),
        "two bytes a number": (
            {name: value / 2 for name, value in MEMORY.items()},
            "You counted two bytes per number. That is bfloat16; float32 takes four.",
        ),
        "one mean": (
            _memory(**{"Adam": 12.0, "Adam, sharded over 8": 1.5}),
            "You counted one mean. Adam keeps the mean of the gradient *and* the mean of its square.",
        ),
        "eight bytes a number": (
            {name: value * 2 for name, value in MEMORY.items()},
            "You counted eight bytes per number. float32 has 32 bits.",
        ),
        "sharing copies": (
            _memory(**{"Adam, sharded over 8": 24.0}),
            "You let every device hold all of it, as plain data parallelism does. Here each holds an eighth.",
        ),
        "bits": ({name: value * 8 for name, value in MEMORY.items()}, "You counted bits. A byte has eight."),
    },
    alternatives={"as whole numbers": {name: int(value) for name, value in MEMORY.items()}},
    success="16 bytes for each parameter, before the first activation.",
    solution=r"""
With four bytes per number there are 12 GB of weights, 12 GB of gradients, and twice 12 GB for Adam's two means. Eight devices that share
these means hold 3 GB each.

```python
weights = 3e9 * 4 / 1e9
answer = {"weights": weights, "gradients": weights, "Adam": 2 * weights,
          "Adam, sharded over 8": 2 * weights / 8}
check(...)
```
""",
)


def _ring_seconds(parameters, processes, bytes_per_second):
    return 2 * (processes - 1) / processes * 4 * parameters / bytes_per_second


def _ring_cases(rng):
    drawn = [case(int(rng.integers(10**6, 10**8)), int(n), float(rng.uniform(1e8, 1e10))) for n in (3, 5, 16)]
    return [case(1_000_000, 2, 1e9), case(7_000_000, 1, 1e9, note="one process"), *drawn]


NETWORK = Exercise(
    id="14.3",
    title="Seconds on the ring",
    kind="implement",
    minutes=6,
    difficulty=2,
    statement="""\
In plain Python: write `ring_seconds(parameters, processes, bytes_per_second)`. It returns the seconds that a ring all-reduce of the gradient takes. Gradients are float32, every process sends `bytes_per_second`, and all send at \
the same time. Ignore the delay before each message starts.""",
    hints=(
        "How many bytes does the gradient have, and what share of it is one chunk?",
        "Each process sends one chunk per move. N − 1 moves collect the sums, and N − 1 moves hand them out.",
        "2 · (N − 1) / N · 4 · parameters / bytes_per_second.",
    ),
    stub="def ring_seconds(parameters, processes, bytes_per_second):\n    return ...",
    reference=_ring_seconds,
    cases=_ring_cases,
    returns=("seconds",),
    wrong={
        "half the way": (
            lambda p, n, s: (n - 1) / n * 4 * p / s,
            "You count the moves that collect the sums. The sums must also get back to everybody.",
        ),
        "bytes forgotten": (lambda p, n, s: 2 * (n - 1) / n * p / s, "You counted numbers, and the network counts bytes."),
        "to one and back": (
            lambda p, n, s: 2 * (n - 1) * 4 * p / s,
            "You count what one process receives and sends when everybody sends it everything. On a ring, a message is an N-th of the gradient.",
        ),
        "twice the gradient": (
            lambda p, n, s: 2 * 4 * p / s,
            "You are nearly right for many processes. Try one process: what does it send, and to whom?",
        ),
        "shared by all": (
            lambda p, n, s: 2 * (n - 1) / n**2 * 4 * p / s,
            "You divide by the processes twice. All send at the same time, each over its own link.",
        ),
        "bits": (
            lambda p, n, s: 2 * (n - 1) / n * 32 * p / s,
            "You counted 32 per number, but those are bits. The rate is given in bytes.",
        ),
    },
    alternatives={"move by move": lambda p, n, s: sum(4 * p / n / s for _ in range(2 * (n - 1)))},
    success="A process never sends more than twice the gradient, however many there are.",
    solution=r"""
A chunk is an N-th of the gradient, with 4 bytes per number. A process sends N − 1 chunks while the sums are made (exercise 14.2), and
N − 1 more while the finished chunks go round.

```python
def ring_seconds(parameters, processes, bytes_per_second):
    chunk = 4 * parameters / processes
    return 2 * (processes - 1) * chunk / bytes_per_second


print(f"{ring_seconds(7_600_000, 8, 1e9):.3f} s for the book's model on 8 processes")
check(...)
```
""",
)


def _hours(parameters, tokens, devices, peak, utilisation):
    return 6 * parameters * tokens / (devices * peak * utilisation) / 3600


def _hours_cases(rng):
    drawn = [
        case(
            float(rng.uniform(1e8, 1e10)),
            float(rng.uniform(1e9, 1e11)),
            int(n),
            float(rng.uniform(1e13, 1e15)),
            float(rng.uniform(0.2, 0.6)),
        )
        for n in (1, 3, 7)
    ]
    return [case(1e9, 3.6e9, 2, 1e14, 0.5), *drawn]


HOURS = Exercise(
    id="14.7",
    title="Hours of a large run",
    kind="implement",
    minutes=6,
    difficulty=2,
    statement="""\
A large model takes about 6 operations per parameter and token, 2 in the forward pass and 4 in the backward pass. In plain Python, write `hours(parameters, tokens, devices, peak, utilisation)`: \
the hours that a training run over `tokens` tokens takes. A device could do `peak` operations per second, and reaches the share `utilisation` of that.""",
    hints=(
        "How many operations does the whole run take? The devices do not matter for that.",
        "How many operations per second do all devices reach together?",
        "6 · parameters · tokens / (devices · peak · utilisation) seconds, and an hour has 3,600 seconds.",
    ),
    page="14a_planning_a_run",
    stub="def hours(parameters, tokens, devices, peak, utilisation):\n    return ...",
    reference=_hours,
    cases=_hours_cases,
    returns=("hours",),
    wrong={
        "forward only": (
            lambda p, t, d, k, u: 2 * p * t / (d * k * u) / 3600,
            "You count only the forward pass. The backward pass takes twice as much.",
        ),
        "full speed": (lambda p, t, d, k, u: 6 * p * t / (d * k) / 3600, "You divide by the peak. The devices reach only a share of it."),
        "utilisation upside down": (
            lambda p, t, d, k, u: 6 * p * t * u / (d * k) / 3600,
            "In your formula a lower utilisation makes the run shorter. Should it?",
        ),
        "seconds": (lambda p, t, d, k, u: 6 * p * t / (d * k * u), "You return seconds. Divide by 3,600."),
        "hours of all devices": (
            lambda p, t, d, k, u: 6 * p * t / (k * u) / 3600,
            "You return the hours that you pay for, of all devices together. How long does the run take?",
        ),
        "minutes": (lambda p, t, d, k, u: 6 * p * t / (d * k * u) / 60, "You return minutes. Divide by 60 once more."),
    },
    alternatives={"in two lines": lambda p, t, d, k, u: (p * t * 6 / 3600) / (k * d * u)},
    success="Multiply by the devices and by the price of an hour, and you have the bill.",
    solution=r"""
Divide the operations of the run by what all devices reach together. That gives seconds, and an hour has 3,600.

```python
def hours(parameters, tokens, devices, peak, utilisation):
    operations = 6 * parameters * tokens
    reached = devices * peak * utilisation
    return operations / reached / 3600


print(f"{hours(7e9, 1e12, 256, 1e15, 0.4) / 24:.1f} days")
check(...)
```
""",
)

CRITICAL = {"steps": 2.0, "tokens": 2.0, "steps, batch 4 times critical": 1.25, "tokens, batch 4 times critical": 5.0}

TRADE = Exercise(
    id="14.8",
    title="At the critical batch",
    kind="predict",
    minutes=6,
    difficulty=2,
    statement="""\
With batches of B tokens a run needs S = S₀ · (1 + B₀/B) steps, where B₀ is the critical batch and S₀ the least number of steps. The fewest tokens, reached with the smallest batches, \
are E₀ = S₀ · B₀. How many times S₀ steps, and how many times E₀ tokens, does a run at B = B₀ take? And a run at B = 4 · B₀?""",
    hints=("Tokens are steps times tokens per step.", "E = S · B. Divide by S₀ · B₀.", "S / S₀ = 1 + B₀/B and E / E₀ = 1 + B/B₀."),
    page="14a_planning_a_run",
    stub="""\
answer = {"steps": ..., "tokens": ...,
          "steps, batch 4 times critical": ..., "tokens, batch 4 times critical": ...}""",
    reference=CRITICAL,
    wrong={
        "nothing lost": Misconception(
            {"steps": 1.0, "tokens": 1.0, "steps, batch 4 times critical": 0.25, "tokens, batch 4 times critical": 1.0},
            "You expect a quarter of the steps with four times the batch, however large it gets. The formula has a 1 in it.",
            whole=True,
        ),
        "steps and tokens exchanged": (
            {**CRITICAL, "steps, batch 4 times critical": 5.0, "tokens, batch 4 times critical": 1.25},
            "In your answer a larger batch costs steps and saves tokens. It is the other way round.",
        ),
        "tokens do not change": (
            {**CRITICAL, "tokens": 1.0, "tokens, batch 4 times critical": 1.0},
            "You let the tokens stay the same. Do the steps really fall as fast as the batch grows?",
        ),
        "tokens against the steps": (
            {**CRITICAL, "tokens, batch 4 times critical": 4.0},
            "You multiply the batch by the least number of steps. The steps are 1.25 times the least.",
        ),
        "steps at four": (
            {**CRITICAL, "steps, batch 4 times critical": 0.5},
            "You let the steps shrink below the least. Only infinitely large batches reach S₀.",
            lambda answer: float(answer["steps, batch 4 times critical"]) < 1,
        ),
        "one part lost": (
            {**CRITICAL, "steps": 1.0},
            "At the critical batch both steps and tokens are above their least. Put B = B₀ into the formula: the 1 is still there.",
            lambda answer: float(answer["steps"]) <= 1 or float(answer["tokens"]) <= 1,
        ),
        "tokens in proportion": (
            {**CRITICAL, "tokens, batch 4 times critical": 8.0},
            "You let the tokens grow as the batch does. The steps fall at the same time: multiply one by the other.",
        ),
        "batch left out of the tokens": (
            {**CRITICAL, "tokens, batch 4 times critical": 1.25},
            "You return the steps again. Tokens are steps times tokens per step: how large is a batch here, measured in B₀?",
        ),
        "larger batch, more steps": (
            {**CRITICAL, "steps, batch 4 times critical": 4.0},
            "You expect more steps with larger batches. Put B = 4 · B₀ into the formula.",
            lambda answer: float(answer["steps, batch 4 times critical"]) > 2,
        ),
    },
    alternatives={"fractions of integers": {**CRITICAL, "steps, batch 4 times critical": 5 / 4, "tokens": 2}},
    success="At the critical batch a run takes twice the fewest steps and twice the fewest tokens. A larger batch spends tokens to save steps.",
    solution=r"""
S / S₀ = 1 + B₀/B and, since E = S · B, E / E₀ = 1 + B/B₀. Put in B = B₀, then B = 4 B₀.

```python
answer = {"steps": 1 + 1, "tokens": 1 + 1,
          "steps, batch 4 times critical": 1 + 1 / 4,
          "tokens, batch 4 times critical": 1 + 4}
check(...)
```
""",
)

EXERCISES = (NETWORK, TRADE, STATE, HOURS)
