"""Chapter 09, exercises of page 9a: what a longer row brings, and how rotary is stretched."""

import numpy as np

from xformer_course.exercises.exercise import Exercise, case

PAGE = "09a_longer_than_trained"


def _news(*, learned: int = 18, relative: int = 0, rotary: int = 18, place: int = 12) -> dict:
    return {"learned": learned, "relative": relative, "rotary": rotary, "first place": place}


NEWS = Exercise(
    id="9.11",
    title="What a longer row brings",
    kind="predict",
    minutes=6,
    difficulty=2,
    page=PAGE,
    statement="""\
A causal model was trained on rows of at most 12 letters, positions 0 to 11. We test it on rows of 30. How many of these does the \
model meet for the first time in the test?

- `"learned"`: rows of a learned table;
- `"relative"`: vectors of relative positions, one for each offset from −4 to 4, where farther offsets use the outer ones;
- `"rotary"`: offsets i − j between a position and the positions that it may attend to.

And at which position of a test row does rotary first meet a new offset?""",
    hints=(
        "Which positions, and which offsets, does a row of 12 letters have?",
        "Positions 0 to 11 and, looking only back, offsets 0 to 11. A row of 30 has both up to 29; what does clipping do with them?",
        "12 to 29 are 18 numbers. Clipped at 4 they are all one old vector. Position 11 has offsets up to 11; which position has the offset 12?",
    ),
    stub='answer = {"learned": ..., "relative": ..., "rotary": ..., "first place": ...}',
    reference=_news(),
    wrong={
        "both directions": (_news(rotary=36), "That counts offsets ahead as well. Which positions may a causal model attend to?"),
        "fence posts": (
            _news(learned=17, rotary=17, place=13),
            "One off: rows of 12 letters have the positions 0 to 11. Is 12 among them?",
            lambda a: a["first place"] in (11, 13) or (a["learned"] in (17, 19) or a["rotary"] in (17, 19)),
        ),
        "clipping forgotten": (
            _news(relative=18),
            "Without clipping that would be so. Which vector does the offset −20 use, and has training used it?",
            lambda a: a["relative"] in (17, 18, 26, 36),
        ),
        "vectors in use": (
            _news(relative=5),
            "Those are the vectors in use. How many of them did no training row use?",
            lambda a: a["relative"] in (4, 5, 9),
        ),
        "everything is new": (
            _news(learned=30, rotary=30),
            "You counted all that a row of 30 has. How much of it did the training rows have?",
            lambda a: a["learned"] in (30, 29) or a["rotary"] in (30, 29),
        ),
        "pairs of places": (
            _news(rotary=171),
            "You counted pairs of positions. Rotary does not tell two pairs with the same offset apart: count offsets.",
        ),
        "none is lost": (_news(rotary=0), "Rotary has no table, but is the angle for an offset of 20 among those that training has shown?"),
    },
    alternatives={"as floats": {"learned": 18.0, "relative": 0.0, "rotary": 18.0, "first place": 12.0}},
    success="New rows, nothing new, new angles: three schemes, three ways to meet a longer row.",
    solution=r"""
Rows of 12 letters have the positions 0 to 11 and, looking only back, the offsets 0 to 11. Rows of 30 go up to 29 in both, so 18 rows of
the learned table and 18 offsets are new. Clipping sends all offsets from 4 on to one vector, which a row of five letters already uses.
The first offset of 12 belongs to position 12, looking at position 0.

```python
trained = {(i, i - j) for i in range(12) for j in range(i + 1)}
tested = {(i, i - j) for i in range(30) for j in range(i + 1)}
offsets = [{offset for _, offset in pairs} for pairs in (trained, tested)]
clipped = [{min(offset, 4) for offset in one} for one in offsets]
answer = {"learned": len({i for i, _ in tested} - {i for i, _ in trained}),
          "relative": len(clipped[1] - clipped[0]),
          "rotary": len(offsets[1] - offsets[0]),
          "first place": min(i for i, offset in tested if offset not in offsets[0])}
print(answer)
check(...)
```
""",
)


def _angles(places, dim, base):
    return np.asarray(places, dtype=float)[:, None] * base ** (-2 * np.arange(dim // 2) / dim)


def _slowed(places, dim, factor, how):
    if how == "interpolate":
        return _angles(np.asarray(places) / factor, dim, 10000.0)
    return _angles(places, dim, 10000.0 * factor ** (dim / (dim - 2)))


def _by_loops(places, dim, factor, how):
    rows = []
    for place in places:
        row = []
        for k in range(dim // 2):
            if how == "interpolate":
                row.append(place / factor / 10000 ** (2 * k / dim))
            else:
                row.append(place / (10000 * factor ** (dim / (dim - 2))) ** (2 * k / dim))
        rows.append(row)
    return np.array(rows)


def _with(angles_of):
    """A wrong answer from what it does with positions and base."""

    def answer(places, dim, factor, how):
        return angles_of(np.asarray(places, dtype=float), dim, factor, how)

    return answer


def _bare(places, dim, base, frequency=lambda base, k, dim: base ** (-2 * k / dim)):
    return places[:, None] * frequency(base, np.arange(dim // 2), dim)


def _both(places, dim, factor, how):
    return _bare(places / factor if how == "interpolate" else places, dim, 10000.0 * factor ** (dim / (dim - 2)))


SLOWED = Exercise(
    id="9.12",
    title="Two ways to slow the clocks",
    kind="implement",
    minutes=10,
    difficulty=2,
    page=PAGE,
    statement="""\
Write `slowed(places, dim, factor, how)`, in NumPy: the angles of rotary positions for texts `factor` times as long as in training. \
`places` is an array of n positions. Return one row for each position and one column for each of the dim/2 pairs. Pair k has the \
frequency base^(−2k/dim), k from 0. With `how="interpolate"` the base is 10000, and every position is divided by `factor`. With \
`how="base"` the positions stay, and the base is 10000 · factor^(dim/(dim − 2)).""",
    hints=(
        "What differs between the two ways: the positions, or the frequencies?",
        "Set `places` and `base` first, and change only one of them; the same last line then serves both ways.",
        "`places[:, None] * base ** (-2 * np.arange(dim // 2) / dim)`",
    ),
    stub="def slowed(places, dim, factor, how):\n    return ...",
    reference=_slowed,
    cases=lambda rng: [
        case(np.array([0.0, 1.0, 2.0]), 4, 4, "interpolate"),
        case(np.array([0.0, 1.0, 2.0]), 4, 4, "base"),
        case(np.arange(7), 10, 3, "interpolate", note="whole numbers as positions"),
        case(np.arange(7), 10, 3, "base"),
        case(rng.uniform(0, 90, size=5), 16, 4, "base", note="the head of this page"),
        case(rng.uniform(0, 90, size=11), 6, 2.5, "interpolate"),
    ],
    returns=("angles",),
    wrong={
        "places multiplied": (
            _with(
                lambda p, d, f, how: _bare(
                    p * f if how == "interpolate" else p, d, 10000.0 * (1 if how == "interpolate" else f ** (d / (d - 2)))
                )
            ),
            "Your clocks run faster. Where should position 60 of a long text point, if training knew 15 positions and the factor is 4?",
        ),
        "base times factor": (
            _with(lambda p, d, f, how: _bare(p / f, d, 10000.0) if how == "interpolate" else _bare(p, d, 10000.0 * f)),
            "Your new base is 10000 · factor. Then the slowest clock, k = dim/2 − 1, is not yet `factor` times slower: what does the exponent dim/(dim − 2) make up for?",
        ),
        "exponent upside down": (
            _with(lambda p, d, f, how: _bare(p / f, d, 10000.0) if how == "interpolate" else _bare(p, d, 10000.0 * f ** ((d - 2) / d))),
            "Look at the exponent of the factor once more: dim/(dim − 2) is greater than 1.",
        ),
        "base divided": (
            _with(lambda p, d, f, how: _bare(p / f, d, 10000.0) if how == "interpolate" else _bare(p, d, 10000.0 / f ** (d / (d - 2)))),
            "A smaller base makes the slow clocks faster. Longer texts need them slower.",
        ),
        "one way for both": (
            _with(lambda p, d, f, how: _bare(p / f, d, 10000.0)),
            'With how="base" the positions stay as they are. What changes then?',
        ),
        "both at once": (_with(_both), 'With how="interpolate" the base stays 10000: one thing changes at a time.'),
        "whole places only": (
            _with(lambda p, d, f, how: _bare(p // f, d, 10000.0) if how == "interpolate" else _bare(p, d, 10000.0 * f ** (d / (d - 2)))),
            "You rounded the positions down, so several share an angle. Interpolated positions lie between the old ones.",
        ),
        "clocks counted from 1": (
            _with(
                lambda p, d, f, how: _bare(
                    p / (f if how == "interpolate" else 1),
                    d,
                    10000.0 * (1 if how == "interpolate" else f ** (d / (d - 2))),
                    lambda base, k, dim: base ** (-2 * (k + 1) / dim),
                )
            ),
            "Your first clock is the second one. What is base⁰, the frequency of clock 0?",
        ),
        "factor 2 missing": (
            _with(
                lambda p, d, f, how: _bare(
                    p / (f if how == "interpolate" else 1),
                    d,
                    10000.0 * (1 if how == "interpolate" else f ** (d / (d - 2))),
                    lambda base, k, dim: base ** (-k / dim),
                )
            ),
            "Your exponent is −k/dim. k counts pairs of columns, and the formula has 2k.",
        ),
    },
    alternatives={"by loops": _by_loops},
    success="The fastest clock keeps counting single steps under another base; under interpolation it, too, slows down.",
    solution=r"""
Both ways use one formula and differ only in what goes in: smaller positions, or a larger base. The exponent of the new base is chosen for the slowest
clock, $k = d/2 - 1$: its frequency is $\text{base}^{-(d-2)/d}$, so a base $f^{d/(d-2)}$ times as large makes it exactly $f$ times
slower, while clock 0 keeps its frequency 1.

```python
def slowed(places, dim, factor, how):
    places, base = np.asarray(places, dtype=float), 10000.0
    if how == "interpolate":
        places = places / factor
    else:
        base *= factor ** (dim / (dim - 2))
    return places[:, None] * base ** (-2 * np.arange(dim // 2) / dim)


for how in ("interpolate", "base"):
    print(f"{how:11}", slowed([60], 16, 4, how)[0].round(3))
check(...)
```
""",
)

EXERCISES = (NEWS, SLOWED)
