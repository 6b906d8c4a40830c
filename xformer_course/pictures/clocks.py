"""Clock hands: each turns by an angle of its own from place to place, and its tip is a pair of numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state

__all__ = ["clocks"]

LEFT, COLUMN, TOP, ROW, RADIUS = 58.0, 70.0, 64.0, 70.0, 31.0
CELL, PAIR = 25.0, 55.0  # from one number of the strip to the next, and from one hand’s to the next’s


def clocks(speeds: Sequence[float], names: Sequence[str], *, length: int = 4) -> Picture:
    """Draw the hand of each speed at the places 0, 1, 2, …, and below each place the numbers of its tips.

    A switch shifts by one place, two or three: then every hand turns by a fixed angle, wherever it stands.

    Args:
        speeds: radians per place; three or so.
        names: of the hands.
        length: how many places, four or so.

    >>> clocks([math.pi / 2, math.pi / 4], ["fast", "slow"]).chosen
    {'shift': '1'}
    """
    strip = TOP + ROW * len(speeds) - 30
    drawing = Drawing(400, int(strip + PAIR * len(speeds) + 46))
    middles = [LEFT + COLUMN * (place + 0.5) for place in range(length)]
    for place, x in enumerate(middles):
        drawing.text(x, 16, f"position {place}" if place == 0 else str(place), bold=True)
    for hand, (speed, name) in enumerate(zip(speeds, names)):
        y, lit = TOP + ROW * hand, f"hand-{hand}"
        with drawing.group(light=lit, lit=lit, label=f"Follow the {name} hand"):
            drawing.box(0, y - 16, 52, 32, fill="paper", strength=0.0)
            drawing.text(4, y, name, anchor="start", size=14, bold=True)
        for place, x in enumerate(middles):
            angle = speed * place
            step = 2 if place else None
            with drawing.group(lit=lit):
                drawing.circle(x, y, RADIUS, fill="soft", stroke="line")
                drawing.path(f"M{x} {y - RADIUS}v5", stroke="line")
                with drawing.group(step=step, come=("turn", -math.degrees(speed), x, y), late=place):
                    _hand(drawing, x, y, angle)
                with drawing.group(step=3, until=4):
                    tip = _tip(x, y, angle, RADIUS - 6)
                    drawing.path(f"M{x} {tip[1]:.1f}H{tip[0]:.1f}", stroke="accent", thick=3)
                _numbers(drawing, x, strip + PAIR * hand, angle)
        for shift in range(1, length):
            with drawing.group(state=f"shift:{shift - 1}", rest=shift != 2, step=4, lit=lit):
                for place in range(shift, length):
                    _turn(drawing, middles[place], y, speed * (place - shift), speed * place, late=place - shift)
                drawing.text(LEFT + COLUMN * length + 4, y - 8, _turns(speed * shift), anchor="start", bold=True, size=14)
                drawing.text(LEFT + COLUMN * length + 4, y + 10, "turn", anchor="start", size=14, role="quiet")
        for row, word in enumerate(("sine", "cosine")):
            drawing.text(
                LEFT - 2, strip + PAIR * hand + CELL * (row + 0.5) - 1.5, word, anchor="end", size=14, role="quiet", step=3, lit=lit
            )
    y = drawing.height - 20.0
    drawing.text(4, y, "shift by", anchor="start", size=14, step=4)
    for shift in range(1, length):
        x = 110 + 60.0 * (shift - 1)
        with drawing.group(press=f"shift:{shift - 1}", label=f"Shift by {shift}", step=4):
            drawing.word(x, y, str(shift), width=48)
        drawing.word(x, y, str(shift), width=48, role="ink", state=f"shift:{shift - 1}", rest=shift != 2, step=4)
    angles = ", ".join(f"{name} {_turns(speed)} turn" for name, speed in zip(names, speeds))
    told = [
        f"A clock with {len(speeds)} hands, each drawn on a dial of its own. At position 0 all point up.",
        f"From each position to the next a hand turns by an angle of its own: {angles}. Touch a name to follow its hand.",
        "How far the tip is to the right is the <b>sine</b>, how far it is up the <b>cosine</b>. "
        "These pairs, one below the other, are the vector of a position.",
    ]
    ends = [[*told, _shifted(speeds, names, shift, length)] for shift in range(1, length)]
    return Picture(
        name="clocks",
        title="Every position has its hands, and a shift turns each by a fixed angle",
        description=f"Dials at positions 0 to {length - 1}. Per position, the hands turn: {angles}. Below, sine and cosine of each hand",
        drawing=drawing,
        steps=by_state("shift", ends, 1),
        chosen={"shift": "1"},
    )


def _shifted(speeds, names, shift: int, length: int) -> str:
    turns = ", ".join(f"{name} {_turns(speed * shift)}" for name, speed in zip(names, speeds))
    pairs = " and ".join(f"from {place} to {place + shift}" for place in range(length - shift))
    return f"A shift by {shift}, {pairs}, turns each hand by its own fixed angle (in turns: {turns}), wherever it stood before."


def _turns(angle: float) -> str:
    return str(Fraction(angle / (2 * math.pi)).limit_denominator(64))


def _tip(x: float, y: float, angle: float, length: float) -> tuple[float, float]:
    return x + length * math.sin(angle), y - length * math.cos(angle)


def _hand(drawing: Drawing, x: float, y: float, angle: float) -> None:
    drawing.arrow((x, y), _tip(x, y, angle, RADIUS - 2), role="ink", thick=2.5)
    drawing.circle(x, y, 3, fill="ink")


def _turn(drawing: Drawing, x: float, y: float, start: float, end: float, *, late: float) -> None:
    """Draw where the hand stood before, and the way that it turned."""
    tip = _tip(x, y, start, RADIUS - 3)
    drawing.path(f"M{x} {y}L{tip[0]:.1f} {tip[1]:.1f}", stroke="quiet", thick=1.5, dash="3 4")
    radius, short = 16.0, end - min(0.45, 0.5 * (end - start))
    (x0, y0), (x1, y1) = _tip(x, y, start, radius), _tip(x, y, short, radius)
    large = int((short - start) % (2 * math.pi) > math.pi)
    drawing.path(f"M{x0:.1f} {y0:.1f}A{radius} {radius} 0 {large} 1 {x1:.1f} {y1:.1f}", stroke="accent", thick=3, come="draw", late=late)
    inner, outer, ahead = _tip(x, y, short, radius - 5), _tip(x, y, short, radius + 5), _tip(x, y, end, radius)
    corners = "L".join(f"{a:.1f} {b:.1f}" for a, b in (inner, outer, ahead))
    drawing.path(f"M{corners}Z", stroke=None, fill="accent", late=late + 1)


def _numbers(drawing: Drawing, x: float, top: float, angle: float) -> None:
    for row, value in enumerate((math.sin(angle), math.cos(angle))):
        drawing.cell(x - 27, top + CELL * row, 54, CELL - 3, number(value), role="ink", strength=0.1, step=3)
