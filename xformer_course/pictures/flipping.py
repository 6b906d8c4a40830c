"""Why a layer needs a net with a kink: one number that is added to both cannot flip *good* and *bad*, two hidden numbers can."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["flipping"]

LEFT, RIGHT = 96.0, 384.0  # the number line
LINES = (58.0, 104.0)  # the height of the two words on it
NET = 206.0  # where the net begins


def flipping(
    phrases: Sequence[str],
    inputs: Float[np.ndarray, "p 2"],
    w_1: Float[np.ndarray, "2 f"],
    b_1: Float[np.ndarray, "f"],
    w_2: Float[np.ndarray, "f"],
    *,
    added: Sequence[float] = (-2.0, -1.0, 0.0, 1.0, 2.0),
) -> Picture:
    """Draw what a number c that is added to both words does to them, and what a net with hidden numbers makes of each phrase.

    Args:
        phrases: four: two words, and the same two with *not* before them.
        inputs: of each phrase, n (is there a *not*?) and g (how good the word is).
        w_1, b_1: of the hidden numbers max(0, x w_1 + b_1).
        w_2: how much each of them adds to g.
        added: the choices for c.

    >>> inputs, w_1 = np.array([[0.0, 1], [0, -1], [1, 1], [1, -1]]), np.array([[1.0, 1], [1, -1]])
    >>> picture = flipping(["good", "bad", "not good", "not bad"], inputs, w_1, np.array([-1.0, -1]), np.array([-2.0, 2]))
    >>> picture.chosen
    {'c': '0', 'phrase': '2'}
    """
    inputs = np.asarray(inputs, float)
    words = inputs[:2, 1]
    reach = float(max(abs(words[:, None] + np.asarray(added)).max(), 1.0))
    drawing = Drawing(400, 400)

    def at(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (value + reach) / (2 * reach)

    for y, name, start in zip(LINES, phrases[2:], words):
        wanted = (LEFT - 8, at(0) - LEFT + 8) if start > 0 else (at(0), RIGHT + 8 - at(0))
        drawing.box(wanted[0], y - 17, wanted[1], 34, fill="value", strength=0.16, radius=4)
        drawing.path(f"M{LEFT - 8} {y}H{RIGHT + 8}", stroke="line")
        drawing.text(4, y, name, anchor="start", bold=True)
        drawing.circle(at(start), y, 6, fill="ink")
    drawing.path(f"M{at(0):.1f} {LINES[0] - 24}V{LINES[1] + 24}", stroke="quiet", dash="3 4")
    for value in range(-int(reach), int(reach) + 1):
        drawing.text(at(value), 22, number(value), size=14, role="quiet")
    drawing.text(4, 22, "wanted", anchor="start", role="value", size=14, bold=True)

    told = []
    for state, c in enumerate(added):
        ends = words + c
        right = [float(end) * float(start) < 0 for start, end in zip(words, ends)]
        with drawing.group(press=f"c:{state}", label=f"c = {number(c)}: add it to both", step=2):
            drawing.word(40 + 80 * state, 156, f"c = {number(c)}", width=72)
        drawing.word(40 + 80 * state, 156, f"c = {number(c)}", width=72, role="ink", state=f"c:{state}", rest=state != 0, step=2)
        with drawing.group(state=f"c:{state}", rest=state != 0, step=2):
            for y, start, end, good in zip(LINES, words, ends, right):
                if c:
                    drawing.arrow((at(start), y), (at(end) - (9 if c > 0 else -9), y), role="ink", thick=3)
                drawing.circle(at(end), y, 9, fill="value" if good else "paper", stroke="value" if good else "ink")
                drawing.text(at(end), y, "✓" if good else "×", role="paper" if good else "ink", size=14, bold=True)
        met = [name for name, good in zip(phrases[2:], right) if good]
        told.append(
            f"With fixed weights, attention gives both words the same number c for the <b>not</b>. With c = {number(c)}, "
            + (f"only <b>{met[0]}</b> comes out on its wanted side." if met else "neither comes out on its wanted side.")
            + " Press another c: the two arrows stay equal."
        )

    hidden = np.maximum(0, inputs @ w_1 + b_1)
    wide = 400 / len(b_1)
    with drawing.group(step=3):
        drawing.path(f"M4 {NET - 24}H396", stroke="line", thick=1)
    for state, (phrase, numbers, lamps) in enumerate(zip(phrases, inputs, hidden)):
        with drawing.group(press=f"phrase:{state}", label=f"Give the net {phrase}", step=3):
            drawing.word(51 + 99.5 * state, NET, phrase, width=92)
        drawing.word(51 + 99.5 * state, NET, phrase, width=92, role="ink", state=f"phrase:{state}", rest=state != 2, step=3)
        with drawing.group(state=f"phrase:{state}", rest=state != 2, step=3):
            drawing.text(200, NET + 36, f"n = {number(numbers[0])},  g = {number(numbers[1])}", bold=True)
            for place, value in enumerate(lamps):
                x = wide * (place + 0.5)
                drawing.circle(x, NET + 92, 19, fill="ink" if value else "paper", stroke="ink")
                drawing.text(x, NET + 92, number(value), role="paper" if value else "ink", bold=True)
            sum_ = " ".join(_signed(weight, number(value)) for weight, value in zip(w_2, lamps))
            drawing.text(200, NET + 172, f"{number(numbers[1])} {sum_} = {number(numbers[1] + lamps @ w_2)}", bold=True, size=17, step=4)
    for place in range(len(b_1)):
        drawing.text(wide * (place + 0.5), NET + 58, _formula(w_1[:, place], b_1[place]), size=14, role="quiet", step=3)
        drawing.arrow((wide * (place + 0.5), NET + 114), (200 + 50 * (place * 2 - 1), NET + 154), step=4)
    drawing.text(4, NET + 172, "g + net:", anchor="start", size=14, role="quiet", step=4)
    return Picture(
        name="flipping",
        title="One number cannot flip both words; two hidden numbers can",
        description=f"A number line with {phrases[0]} at {number(words[0])} and {phrases[1]} at {number(words[1])}; equal arrows move "
        f"both. Below, {len(b_1)} hidden numbers and the output for each of {', '.join(phrases)}",
        drawing=drawing,
        steps=by_state(
            "c",
            [
                [
                    f"<b>{phrases[0]}</b> is at {number(words[0])} and <b>{phrases[1]}</b> at {number(words[1])}. A <b>not</b> must bring "
                    "each of them to the other side of 0.",
                    sentence,
                    "A hidden number is cut off at 0. Press the four phrases: each of the two is above 0 for one phrase only.",
                    "Where a hidden number is above 0 it corrects g, and elsewhere g stays as it is. "
                    "Where one number failed above, the net gets all four phrases right.",
                ]
                for sentence in told
            ],
        ),
        chosen={"c": "0", "phrase": "2"},
    )


def _signed(weight: float, text: str) -> str:
    return f"{'−' if weight < 0 else '+'} {number(abs(float(weight)))}·{text}"


def _formula(weights, offset: float) -> str:
    parts = [f"{'−' if weight < 0 else '+'} {'' if abs(weight) == 1 else number(abs(weight))}{name}" for weight, name in zip(weights, "ng")]
    end = f" {'−' if offset < 0 else '+'} {number(abs(offset))}" if offset else ""
    return f"max(0, {' '.join(parts).removeprefix('+ ')}{end})"
