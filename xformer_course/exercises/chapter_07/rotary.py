"""Chapter 07, exercises on rotary encoding: write it, and find out which columns belong together."""

import math

import numpy as np

from xformer_course.exercises.exercise import Exercise, case


def _angles(x, positions, base):
    dim = x.shape[-1]
    return np.asarray(positions)[:, None] * base ** (-2 * np.arange(dim // 2) / dim)


def _turned(a, b, angles):
    return a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)


def _neighbours(a, b):
    return np.stack([a, b], axis=-1).reshape(len(a), -1)


def _rotary(x, positions, base=10000.0):
    return _neighbours(*_turned(x[:, 0::2], x[:, 1::2], _angles(x, positions, base)))


def _by_loops(x, positions, base=10000.0):
    rows = []
    for row, place in zip(x, positions, strict=True):
        new = []
        for k in range(len(row) // 2):
            angle = place * base ** (-2 * k / len(row))
            a, b = row[2 * k], row[2 * k + 1]
            new += [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)]
        rows.append(new)
    return rows


def _by_complex_numbers(x, positions, base=10000.0):
    turned = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * _angles(x, positions, base))
    return _neighbours(turned.real, turned.imag)


def _by_einsum(x, positions, base=10000.0):
    angles = _angles(x, positions, base)
    c, s = np.cos(angles), np.sin(angles)
    blocks = np.array([[c, -s], [s, c]])  # (2, 2, i, pair)
    return np.einsum("abip,ipb->ipa", blocks, x.reshape(len(x), -1, 2)).reshape(x.shape)


def _halves(x, positions, base=10000.0):
    half = x.shape[1] // 2
    return np.concatenate(_turned(x[:, :half], x[:, half:], _angles(x, positions, base)), axis=1)


def _table_added(x, positions, base=10000.0):
    angles = _angles(x, positions, base)
    return x + _neighbours(np.sin(angles), np.cos(angles))


def _frequencies_from_one(x, positions, base=10000.0):
    angles = _angles(x, positions, base) * base ** (-2 / x.shape[1])
    return _neighbours(*_turned(x[:, 0::2], x[:, 1::2], angles))


def _one_overwritten(x, positions, base=10000.0):
    angles = _angles(x, positions, base)
    even = x[:, 0::2] * np.cos(angles) - x[:, 1::2] * np.sin(angles)
    return _neighbours(even, even * np.sin(angles) + x[:, 1::2] * np.cos(angles))


def _in_place(x, positions, base=10000.0):
    x[:, 0::2], x[:, 1::2] = _turned(x[:, 0::2].copy(), x[:, 1::2].copy(), _angles(x, positions, base))
    return x


def _calls(rng):
    length, pairs = int(rng.integers(8, 12)), int(rng.integers(4, 7))
    places = np.sort(rng.choice(np.arange(1, 90), size=length, replace=False))
    return [
        case(rng.integers(1, 5, size=(2, 4)).astype(float), np.array([1, 3])),
        case(rng.normal(size=(3, 6)), np.array([4, 0, 9]), note="places out of order"),
        case(rng.normal(size=(5, 8)), np.arange(5), base=100.0, note="base 100"),
        case(rng.normal(size=(length, 2 * pairs)), places),
    ]


ROTARY = Exercise(
    id="7.5",
    page="07a_positions_in_the_scores",
    title="Turn the pairs",
    kind="implement",
    minutes=15,
    difficulty=2,
    statement="""\
Write `my_rotary(x, positions, base=10000.0)` for an array `x` (L, d) of floats with d even. Row i is at position \
`positions[i]`; the L positions are whole numbers in any order. Columns 2k and 2k+1 are a pair (a, b). Rotate each pair by the angle \
θ = positions[i] · base^(−2k/d): it becomes (a cos θ − b sin θ, a sin θ + b cos θ). Return an array of the shape of \
`x`, and leave `x` as it was.""",
    hints=(
        "For d = 4 and position 3, which two angles are there, and which two columns share each?",
        "Take `x[:, 0::2]` and `x[:, 1::2]`: two arrays (L, d/2), like the angles.",
        "Compute both new arrays from the two old ones, before you write either back into the even and odd columns of a new array.",
    ),
    stub="def my_rotary(x, positions, base=10000.0):\n    return ...",
    reference=_rotary,
    cases=_calls,
    returns=("turned",),
    pure=True,
    wrong={
        "turned the other way": (
            lambda x, positions, base=10000.0: _rotary(x, -np.asarray(positions), base),
            "Your pairs rotate the wrong way, clockwise. For (1, 0) and a small angle, should the second number become positive or negative?",
        ),
        "halves paired": (
            _halves,
            "You pair each column with the one half a width away. Here neighbours are a pair: columns 0 and 1, columns 2 and 3.",
        ),
        "table added": (
            _table_added,
            "You add sines and cosines to x, whereas a rotation multiplies. What should happen to a row of zeros?",
        ),
        "one angle for all pairs": (
            lambda x, positions, base=10000.0: _neighbours(*_turned(x[:, 0::2], x[:, 1::2], np.asarray(positions)[:, None] * 1.0)),
            "Your first pair is right, but all the others rotate just as fast. Where does k enter the angle?",
        ),
        "frequencies from 1": (
            _frequencies_from_one,
            "All your pairs rotate too slowly; the first should rotate by `positions[i]` radians. Where does k start?",
        ),
        "row number as place": (
            lambda x, positions, base=10000.0: _rotary(x, np.arange(len(x)), base),
            "This is right when the positions are 0, 1, 2, … Do you use `positions`?",
        ),
        "half of the pair overwritten": (
            _one_overwritten,
            "The even columns are right. The odd ones are not: you computed them from the *new* even columns.",
        ),
        "columns left in halves": (
            lambda x, positions, base=10000.0: np.concatenate(_turned(x[:, 0::2], x[:, 1::2], _angles(x, positions, base)), axis=1),
            "You have the right numbers in the wrong columns: first all a, then all b. Put each b next to its a.",
        ),
        "changed in place": (_in_place, "The result is right, but the caller's x changed. Write into a new array."),
    },
    alternatives={"loops and lists": _by_loops, "complex numbers": _by_complex_numbers, "einsum with blocks": _by_einsum},
    success="Each pair keeps its length and rotates at its own speed, without a table and without a largest position.",
    solution=r"""
Separate the even and the odd columns. Rotate all pairs at once with angles of shape (L, d/2), and put the two results into the even
and odd columns of a new array. Because both results need both old columns, nothing may be overwritten in between.

```python
def my_rotary(x, positions, base=10000.0):
    dim = x.shape[1]
    theta = np.asarray(positions)[:, None] * base ** (-2 * np.arange(dim // 2) / dim)
    a, b = x[:, 0::2], x[:, 1::2]
    turned = np.empty_like(x)
    turned[:, 0::2] = a * np.cos(theta) - b * np.sin(theta)
    turned[:, 1::2] = a * np.sin(theta) + b * np.cos(theta)
    return turned


check(...)
```
""",
)


def _with(angles_of, partner_of):
    """cos · x + sin · partner, with a layout for the angles and one for the partners."""

    def turned(x, positions, base=10000.0):
        dim = x.shape[1]
        frequencies = base ** (-np.arange(0, dim, 2) / dim)
        angles = np.asarray(positions)[:, None] * angles_of(frequencies)
        return x * np.cos(angles) + partner_of(x) * np.sin(angles)

    return turned


def _twice(frequencies):
    return np.concatenate([frequencies, frequencies])


def _each_twice(frequencies):
    return np.repeat(frequencies, 2)


def _neighbour(x):
    return _neighbours(-x[:, 1::2], x[:, 0::2])


def _other_half(x):
    half = x.shape[1] // 2
    return np.concatenate([-x[:, half:], x[:, :half]], axis=1)


def _neighbours_in_halves(x):
    return np.concatenate([-x[:, 1::2], x[:, 0::2]], axis=1)


MIXED_PAIRS = Exercise(
    id="7.6",
    page="07a_positions_in_the_scores",
    title="Which columns are a pair",
    kind="find the bug",
    minutes=10,
    difficulty=2,
    statement="""\
The function below writes a rotary encoding as cosine times x plus sine times partner. It should rotate the pairs of \
neighbouring columns, 2k and 2k+1, as in the previous exercise, and for d = 2 it does. For d = 4, however, the scores do not depend \
only on the offset, and rows even change their length. Find the fault with a small example and fix it. One line is \
enough.""",
    hints=(
        "For d = 4, print the angles of the row at position 1. Which columns have the same one?",
        "A pair needs two things: one angle for both columns, and each column as the other's partner. Two lines disagree about what a pair is.",
        "`partner` swaps neighbours, so neighbours need one angle: each frequency twice in a row, not the whole list twice.",
    ),
    stub="""\
def mixed_rotary(x, positions, base=10000.0):
    frequencies = base ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    angles = positions[:, None] * np.concatenate([frequencies, frequencies])
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)""",
    reference=_rotary,
    cases=_calls,
    returns=("turned",),
    wrong={
        "angles of halves": (
            _with(_twice, _neighbour),
            "The two columns of a pair still have two angles: for d = 4, columns 0 and 2 share one, but columns 0 and 1 are partners.",
        ),
        "halves throughout": (
            _with(_twice, _other_half),
            "This is consistent now, and the scores depend only on the offset. Your pairs, however, are k and k + d/2, and we asked for neighbours.",
        ),
        "partners of halves": (
            _with(_each_twice, _other_half),
            "You changed both lines, and they still disagree, only the other way round. Change just one.",
        ),
        "one frequency a column": (
            _with(lambda frequencies: (frequencies[1] / frequencies[0]) ** (np.arange(2 * len(frequencies)) / 2), _neighbour),
            "Now every column has its own angle. How many different angles does a row of d numbers need?",
        ),
        "minus on the wrong column": (
            _with(_each_twice, lambda x: -_neighbour(x)),
            "The pairs are right, but they rotate clockwise. Look at the sign in the partner.",
        ),
        "no minus": (
            _with(_each_twice, lambda x: np.abs(np.sign(x)) * _neighbours(x[:, 1::2], x[:, 0::2])),
            "Your pairs do not keep their length. A rotation has one minus sign: where did it go?",
        ),
        "slowest pair first": (
            _with(lambda frequencies: np.repeat(frequencies[::-1], 2), _neighbour),
            "Each pair has one angle now, but the first pair rotates slowest. Print the frequencies. Which of them belongs to columns 0 and 1?",
        ),
        "partners left in halves": (
            _with(_each_twice, _neighbours_in_halves),
            "The angles are right now. Print `partner` for a row 0, 1, 2, 3. In which column is each number?",
        ),
        "all in halves but x": (
            _with(_twice, _neighbours_in_halves),
            "You moved the partners to the order of the angles, but x stayed. One of the two lines was right before. Which?",
        ),
        "one angle for all pairs": (
            _with(lambda frequencies: np.ones(2 * len(frequencies)), _neighbour),
            "All pairs rotate at the same speed now. How many different angles does a row of d numbers need?",
        ),
    },
    alternatives={"repeated frequencies": _with(_each_twice, _neighbour), "complex numbers": _by_complex_numbers},
    success="Angles and partners agree on what a pair is. Libraries differ here, so you cannot mix their weights.",
    solution=r"""
The partners are neighbours, but the angles are laid out for halves: `[frequencies, frequencies]` gives columns 0 and 2 the same
angle when d = 4. Repeating each frequency twice in a row gives it to columns 0 and 1.

```python
def mixed_rotary(x, positions, base=10000.0):
    frequencies = base ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    angles = positions[:, None] * np.repeat(frequencies, 2)
    partner = np.stack([-x[:, 1::2], x[:, 0::2]], axis=-1).reshape(x.shape)
    return x * np.cos(angles) + partner * np.sin(angles)


check(...)
```

Other libraries pair column $k$ with column $k + d/2$. That is the same encoding with the columns in a different order: if you reorder the
columns of queries and keys in the same way, every score is the same. Weights trained with one layout, however, are wrong in the other.

```python
def rotary_halves(x, positions):
    a, b = np.split(x, 2, axis=1)
    theta = np.outer(positions, 10000.0 ** (-2 * np.arange(4) / 8))
    c, s = np.cos(theta), np.sin(theta)
    return np.concatenate([a * c - b * s, a * s + b * c], axis=1)


rng, place = np.random.default_rng(0), np.arange(5)
q, k = rng.normal(size=(2, 5, 8))
scores = my_rotary(q, place) @ my_rotary(k, place).T
order = [0, 2, 4, 6, 1, 3, 5, 7]  # all first members of a pair, then all second ones
reordered = rotary_halves(q[:, order], place) @ rotary_halves(k[:, order], place).T
assert np.allclose(reordered, scores)
unordered = rotary_halves(q, place) @ rotary_halves(k, place).T
assert not np.allclose(unordered, scores)
print(f"{scores[1, 3]:.3f} reordered {reordered[1, 3]:.3f}, not {unordered[1, 3]:.3f}")
```
""",
)
