"""Chapter 07, exercises on the sinusoidal table: its wavelengths, the table itself, its base."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, Misconception, case

PAIRS = range(4)

WAVELENGTHS = Exercise(
    id="7.1",
    title="Four wavelengths",
    kind="predict",
    minutes=4,
    difficulty=1,
    statement="""\
A table with 8 columns has four clock hands, k = 0, 1, 2, 3, and the base is 10000. What is the wavelength of each \
pair of columns: after how many positions does it come back to the same two numbers? Answer in units of 2π positions, which \
makes the numbers round: a pair with frequency 1 has wavelength 1.""",
    hints=(
        "An angle starts at 0 and grows by ω at every position. At which position has it gone round once?",
        "The wavelength is 2π/ω, so in units of 2π it is 1/ω. Now ω = 10000^(−2k/8).",
        "1/ω = 10000^(k/4), and the fourth root of 10000 is 10.",
    ),
    stub="wavelengths = {0: ..., 1: ..., 2: ..., 3: ...}",
    reference={k: 10.0**k for k in PAIRS},
    tolerance=1e-3,
    wrong={
        "counted from 1": Misconception(
            {k: 10.0 ** (k + 1) for k in PAIRS},
            "Each of your numbers belongs to the pair before: you counted from 1. Which k does the first pair have, and what is 10000⁰?",
            whole=True,
        ),
        "frequencies": (
            {k: 10.0**-k for k in PAIRS},
            "Those are the frequencies, the angle per position. How many positions does a whole turn take?",
        ),
        "largest first": Misconception(
            {k: 10.0 ** (3 - k) for k in PAIRS},
            "You have the right four numbers in the wrong order. The frequency falls from pair to pair. What does the wavelength do?",
            whole=True,
        ),
        "factor 2 missing": (
            {k: 10000 ** (k / 8) for k in PAIRS},
            "Your exponents are k/8. Look at the 2 in the formula: k counts pairs, and pair k begins at column 2k of 8.",
        ),
        "ends at the base": (
            {k: 10000 ** (k / 3) for k in PAIRS},
            "Your last wavelength is 10000 · 2π. The formula comes close to that only in wide tables. Put k = 3 and 8 columns into it.",
        ),
        "evenly spaced": (
            {k: 1 + 333 * k for k in PAIRS},
            "Your wavelengths grow by equal steps. In the formula k is in the exponent, so what does each step do?",
            lambda answer: np.allclose(np.diff([answer[k] for k in PAIRS], n=2), 0, atol=1) and answer[3] > 100,
        ),
        "in places": (
            {k: 2 * math.pi * 10.0**k for k in PAIRS},
            "Right, counted in positions. The question asks for units of 2π positions: divide.",
        ),
    },
    success="A factor of 10 from pair to pair: four clock hands, from seconds to hours.",
    solution=r"""
The wavelength is $2\pi/\omega_k$. In units of $2\pi$ that is $1/\omega_k = 10000^{2k/8} = 10^k$. The table stops at 1000, because
the last pair has $k = 3$ and not 4.

```python
wavelengths = {k: 10000 ** (2 * k / 8) for k in range(4)}
print({k: round(value, 3) for k, value in wavelengths.items()})
check(...)
```
""",
)


def _angles(length, dim, base):
    frequencies = base ** (-2 * np.arange(dim // 2) / dim)
    return np.arange(length)[:, None] * frequencies


def _interleaved(even, odd):
    return np.stack([even, odd], axis=-1).reshape(len(even), -1)


def _waves(angles):
    return _interleaved(np.sin(angles), np.cos(angles))


def table_of(length, dim, base=10000.0):
    """The reference of exercise 7.2."""
    return _waves(_angles(length, dim, base))


def _by_loops(length, dim, base=10000.0):
    rows = []
    for i in range(length):
        row = []
        for k in range(dim // 2):
            angle = i / base ** (2 * k / dim)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows


def _by_complex_numbers(length, dim, base=10000.0):
    turned = np.exp(1j * _angles(length, dim, base))
    table = np.empty((length, dim))
    table[:, 0::2], table[:, 1::2] = turned.imag, turned.real
    return table


def _spaced(exponents):
    """A table from another exponent for pair k: exponents(k, dim)."""

    def table(length, dim, base=10000.0):
        return _waves(np.arange(length)[:, None] * base ** exponents(np.arange(dim // 2), dim))

    return table


def _one_frequency_a_column(length, dim, base=10000.0):
    angles = np.arange(length)[:, None] * base ** (-np.arange(dim) / dim)
    return _interleaved(np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2]))


def _halves(length, dim, base=10000.0):
    angles = _angles(length, dim, base)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def _cosine_first(length, dim, base=10000.0):
    angles = _angles(length, dim, base)
    return _interleaved(np.cos(angles), np.sin(angles))


SINUSOIDAL = Exercise(
    id="7.2",
    title="The sinusoidal table",
    kind="implement",
    minutes=10,
    difficulty=2,
    statement="""\
Write `my_positions(length, dim, base=10000.0)`. It returns an array (length, dim) with one row for each position i = 0, 1, … \
Columns 2k and 2k+1 hold the sine and the cosine of i · ω_k, where ω_k = base^(−2k/dim) and k runs from 0 to \
dim/2 − 1. `dim` is even.""",
    hints=(
        "How many different angles does a row with 6 columns need?",
        "`np.arange(length)[:, None] * frequencies` makes all angles at once, an array (length, dim/2).",
        "Fill the even columns, `table[:, 0::2]`, with the sines of the angles, and `table[:, 1::2]` with the cosines of the same angles.",
    ),
    stub="def my_positions(length, dim, base=10000.0):\n    return ...",
    reference=table_of,
    cases=lambda rng: [
        case(3, 4),
        case(5, 6),
        case(4, 8, base=100.0, note="base 100"),
        case(37, 10),
        case(int(rng.integers(11, 17)), 2 * int(rng.integers(6, 9)), base=float(rng.uniform(50, 500))),
    ],
    returns=("table",),
    wrong={
        "frequencies from 1": (
            _spaced(lambda k, dim: -2 * (k + 1) / dim),
            "All your waves are too slow: the first pair should have frequency 1. Where does your k start?",
        ),
        "one frequency a column": (
            _one_frequency_a_column,
            "Your sines are right, but your cosines are too slow. A sine and its cosine share one frequency. How many frequencies did you make?",
        ),
        "halves side by side": (
            _halves,
            "You have the right numbers in the wrong columns: all sines, then all cosines. Here each cosine comes right after its sine.",
        ),
        "cosine first": (_cosine_first, "Row 0 should be 0, 1, 0, 1, … Which of the two comes first in a pair?"),
        "factor 2 missing": (
            _spaced(lambda k, dim: -k / dim),
            "Your frequencies fall too slowly from pair to pair. Look at the exponent: k counts pairs, not columns.",
        ),
        "ends at the base": (
            _spaced(lambda k, dim: -k / max(dim // 2 - 1, 1)),
            "Your last frequency is exactly 1/base. Put the largest k into the formula. Is the exponent −1?",
        ),
        "frequencies upside down": (
            _spaced(lambda k, dim: 2 * k / dim),
            "Your later pairs turn faster and faster. Look at the sign of the exponent.",
        ),
        "places from 1": (
            lambda length, dim, base=10000.0: _waves(_angles(length + 1, dim, base)[1:]),
            "Your first row belongs to position 1. Where do the positions start?",
        ),
        "base ignored": (
            lambda length, dim, base=10000.0: _waves(_angles(length, dim, 10000.0)),
            "This is right only for the base 10000. Do you use the argument `base`?",
        ),
    },
    alternatives={"loops and lists": _by_loops, "complex numbers": _by_complex_numbers},
    success="Every pair of columns is a point on a circle, so every row has the length √(dim/2).",
    solution=r"""
All angles are one outer product of positions and frequencies, with half as many columns as the table. Each angle then gives two
neighbouring columns, its sine and its cosine.

```python
def my_positions(length, dim, base=10000.0):
    omega = base ** (-2 * np.arange(dim // 2) / dim)
    angles = np.arange(length)[:, None] * omega
    table = np.empty((length, dim))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


check(...)
```
""",
)

DIM, LENGTH, WANTED = 32, 200, 400


def _half(base):
    """The first distance at which the similarity falls below one half."""
    table = table_of(LENGTH, DIM, base)
    return int(np.argmax(table @ table[0] / (DIM / 2) < 0.5))


def _base_for(wavelength, exponent=(DIM - 2) / DIM):
    return (wavelength / (2 * math.pi)) ** (1 / exponent)


BASE = _base_for(WANTED)


def _accept_base(answer):
    for key in ("base", "half"):
        if key not in answer:
            return f"the key {key!r} is missing."
    base, half = float(answer["base"]), float(answer["half"])
    if not base > 1:
        return f"with the base {base:g} the waves do not get longer from pair to pair; choose one above 1."
    longest = 2 * math.pi * base ** ((DIM - 2) / DIM)
    if abs(longest / WANTED - 1) > 0.01:
        return (
            f"with the base {base:g} the slowest pair has the wavelength {longest:.0f}, so in {LENGTH} steps it "
            f"makes {LENGTH / longest:.2f} turns."
        )
    if half != _half(base):
        return (
            f"the base fits. Is distance {half:g} the first one at which the similarity is below 0.5? "
            f"Print the dot products of row 0 with rows 0, 1, 2, …, divided by {DIM // 2}."
        )
    return None


def _base_is(value):
    return lambda answer: abs(float(answer["base"]) / value - 1) < 0.01


def _divided_wrongly():
    """The first distances below one half when the dot product is divided by 1, or by the number of columns."""
    table = table_of(LENGTH, DIM, BASE)
    return [int(np.argmax(table @ table[0] / divisor < 0.5)) for divisor in (1, DIM)]


CHOOSE_BASE = Exercise(
    id="7.4",
    title="Choose the base",
    kind="explore",
    minutes=12,
    difficulty=2,
    statement="""\
Your sentences have at most 200 positions, and your table has 32 columns. Choose the base so that the slowest pair makes \
half a turn in 200 steps. Then look at the similarity of rows, their dot product divided by 16: at which distance does \
it fall below 0.5 for the first time? Give both numbers, the base within 1 %, and compare with the base 10000. On \
paper: what does the small base cost if a text of 500 positions turns up after all?""",
    hints=(
        "If half a turn takes 200 steps, how long is the whole wave?",
        "The slowest of 16 pairs has k = 15. Write its wavelength as a formula in the base, and solve for the base.",
        "2π · base^(30/32) = 400. For the distance, look for the first j with `table @ table[0] / 16 < 0.5`.",
    ),
    stub='answer = {"base": ..., "half": ...}',
    reference={"base": BASE, "half": _half(BASE)},
    accepts=_accept_base,
    wrong={
        "2π forgotten": (
            {"base": _base_for(WANTED * 2 * math.pi), "half": 30},
            "Your slowest wave is about six times too long. A wave of frequency ω has the length 2π/ω, not 1/ω.",
            _base_is(_base_for(WANTED * 2 * math.pi)),
        ),
        "last exponent 1": (
            {"base": WANTED / (2 * math.pi), "half": 8},
            "Your slowest wave is too short. The last of 16 pairs has k = 15, so its exponent is not quite −1. What is it?",
            _base_is(WANTED / (2 * math.pi)),
        ),
        "a whole turn": (
            {"base": _base_for(LENGTH), "half": 6},
            "With your base the slowest pair makes a whole turn in 200 steps. We asked for half a turn.",
            _base_is(_base_for(LENGTH)),
        ),
        "column as exponent": (
            {"base": _base_for(WANTED, 31 / 32), "half": 8},
            "You gave the last column an exponent of its own, 31/32. But it is the cosine of pair k = 15, and its exponent is 2k/32.",
            _base_is(_base_for(WANTED, 31 / 32)),
        ),
        "measured with the old base": (
            {"base": BASE, "half": _half(10000.0)},
            "The base fits, but you measured the distance with the base 10000. Pass your base to the table.",
            lambda answer: _base_is(BASE)(answer) and answer["half"] == _half(10000.0),
        ),
        "last distance above": (
            {"base": BASE, "half": _half(BASE) - 1},
            "The base fits, but the distance is off by one. Print the similarity there and at its two neighbours.",
            lambda answer: _base_is(BASE)(answer) and answer["half"] in (_half(BASE) - 1, _half(BASE) + 1),
        ),
        "similarity not divided": (
            {"base": BASE, "half": _divided_wrongly()[0]},
            "The base fits. The dot product of a row with itself is 16 here. What did you divide by before you compared with 0.5?",
            lambda answer: _base_is(BASE)(answer) and answer["half"] in _divided_wrongly(),
        ),
        "factor 2 missing": (
            {"base": _base_for(WANTED, 15 / 32), "half": 8},
            "Your base would fit if the exponent were k/32. k counts pairs of columns: what is the exponent of pair 15?",
            _base_is(_base_for(WANTED, 15 / 32)),
        ),
    },
    alternatives={"rounded base": {"base": float(round(BASE, 1)), "half": _half(round(BASE, 1))}},
    success="A smaller base spends its waves on nearby positions: the similarity falls sooner.",
    solution=r"""
Half a turn in 200 steps means a wavelength of 400. The slowest pair has $k = 15$ and the wavelength
$2\pi \cdot \text{base}^{30/32}$. So the base is $(400/2\pi)^{32/30}$, about 84 instead of 10000.

```python
def below_half(base):
    table = my_positions(200, 32, base)
    return int(np.argmax(table @ table[0] / 16 < 0.5))


base = (400 / (2 * math.pi)) ** (32 / 30)
answer = {"base": base, "half": below_half(base)}
print(f"base {base:.1f}: below 0.5 at distance {answer['half']}")
print(f"base 10000: below 0.5 at distance {below_half(10000.0)}")
check(...)
```

With the base 10000, seven of the sixteen pairs make less than a quarter turn within 200 steps. With the smaller base all pairs take
part, and the similarity falls to one half at a quarter of the distance. Longer texts pay the price: after 400 steps the slowest pair
has come round. In a text of 500 positions, position 402 looks closer to position 0 than position 9 does.

```python
slow = 200 * 10000.0 ** (-2 * np.arange(16) / 32) < 0.5 * math.pi
print("base 10000: pairs with less than a quarter turn in 200 steps:", slow.sum())
assert slow.sum() == 7

table = my_positions(500, 32, base)
similar = table @ table[0] / 16
far = 200 + int(np.argmax(similar[200:]))
print(f"small base: place 9 {similar[9]:.2f}, place {far} {similar[far]:.2f}")
assert far == 402 and similar[far] > similar[9:400].max()
```
""",
)
