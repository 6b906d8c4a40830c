"""What one softmax can reach: the line between two values, and what lies beside it."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["blending"]

LEFT, RIGHT, TOP, FOOT = 52.0, 384.0, 44.0, 320.0


def blending(
    names: Sequence[str], facts: Float[np.ndarray, "n 2"], columns: Sequence[str], *, shares: Sequence[float] = (1.0, 0.75, 0.5, 0.25, 0.0)
) -> Picture:
    """Draw why one head cannot give the first number of one thing and the second of another, while two heads can.

    A press on a point of the line gives the first thing that share of the weight.

    Args:
        names: of the two things that are blended; others are drawn where they are.
        facts: two numbers of each.
        columns: what the two numbers are.
        shares: of the first thing.

    >>> blending(["cat", "dog", "hen"], np.array([[2.0, 5], [6, 1], [4, 3]]), ["size", "colour"]).chosen
    {'share': '2'}
    """
    facts = np.asarray(facts, float)
    low, high = facts.min(axis=0) - [1.7, 1.2], facts.max(axis=0) + 1.2

    def at(point) -> tuple[float, float]:
        x, y = (np.asarray(point, float) - low) / (high - low)
        return LEFT + (RIGHT - LEFT) * float(x), FOOT - (FOOT - TOP) * float(y)

    wanted = np.array([facts[0, 0], facts[1, 1]])
    (one_x, one_y), (two_x, two_y), (x, y) = at(facts[0]), at(facts[1]), at(wanted)
    first = len(shares) // 2
    drawing = Drawing(400, 400)
    drawing.arrow((LEFT, FOOT), (RIGHT + 6, FOOT), role="quiet")
    drawing.arrow((LEFT, FOOT), (LEFT, TOP - 12), role="quiet")
    drawing.text(RIGHT, FOOT + 36, columns[0], anchor="end", role="quiet")
    drawing.text(4, TOP - 30, columns[1], anchor="start", role="quiet")
    for fact in facts:
        px, py = at(fact)
        drawing.text(px, FOOT + 14, number(fact[0]), size=14, role="quiet")
        drawing.text(LEFT - 12, py, number(fact[1]), size=14, role="quiet")
        drawing.path(f"M{px:.1f} {FOOT}v-5M{LEFT} {py:.1f}h5", stroke="quiet")

    with drawing.group(step=3):
        drawing.path(f"M{one_x:.1f} {one_y:.1f}L{two_x:.1f} {two_y:.1f}", stroke="weight", thick=5, strength=0.55)
    with drawing.group(step=4):  # each head brings one number
        drawing.path(f"M{one_x:.1f} {one_y + 14:.1f}V{y - 16:.1f}", stroke="weight", thick=4)
        drawing.path(f"M{two_x - 14:.1f} {two_y:.1f}H{x + 16:.1f}", stroke="ink", thick=4, dash="7 8")
        drawing.text(x + 12, y - 44, f"● {columns[0]} = {number(wanted[0])}", role="weight", anchor="start", bold=True)
        drawing.text((two_x + x) / 2, y + 18, f"◆ {columns[1]} = {number(wanted[1])}", bold=True)
        drawing.text(4, FOOT + 64, "two heads", anchor="start", bold=True)
        drawing.text(300, FOOT + 64, "off by 0 + 0", role="accent", bold=True)
    with drawing.group(step=2):
        drawing.circle(x, y, 11, fill="paper", stroke="accent")
        drawing.circle(x, y, 4, fill="accent")
        drawing.text(x - 10, y + 26, "wanted", role="accent", bold=True)
    for name, fact in zip(names, facts):
        px, py = at(fact)
        drawing.circle(px, py, 8, fill="value")
        drawing.text(px + 14, py - 14, name, role="value", bold=True, anchor="start")

    told = []
    for state, share in enumerate(shares):
        blend = share * facts[0] + (1 - share) * facts[1]
        px, py = at(blend)
        off = np.abs(blend - wanted)
        with drawing.group(press=f"share:{state}", label=f"Give {names[0]} the weight {number(share)}", step=3):
            drawing.box(px - 15, py - 15, 30, 30, fill="paper", strength=0.0)
            drawing.circle(px, py, 6, fill="weight")
        with drawing.group(state=f"share:{state}", rest=state != first, step=3, until=4):
            drawing.path(f"M{px:.1f} {py:.1f}H{x:.1f}", stroke="accent", thick=2.5, dash="3 5")
            drawing.path(f"M{px:.1f} {py:.1f}V{y:.1f}", stroke="accent", thick=2.5, dash="3 5")
            if off[0]:
                drawing.text((px + x) / 2, py - 12, number(off[0]), role="accent", bold=True)
            if off[1]:
                drawing.text(px - 12, (py + y) / 2, number(off[1]), role="accent", bold=True)
            drawing.circle(px, py, 9, fill="paper", stroke="weight")
            weights = f"weights: {names[0]} {number(share)}, {names[1]} {number(1 - share)}"
            drawing.text(4, FOOT + 64, weights, anchor="start", role="weight", bold=True)
            drawing.text(300, FOOT + 64, f"off by {number(off[0])} + {number(off[1])}", role="accent", bold=True)
        told.append(_sentence(names, facts, columns, blend, wanted, share))
    steps = [
        f"Each animal is a point: its {columns[0]} to the right, its {columns[1]} upwards. These two numbers are its value.",
        f"Wanted is the {columns[0]} of <b>{names[0]}</b> together with the {columns[1]} of <b>{names[1]}</b>: "
        f"({number(wanted[0])}, {number(wanted[1])}).",
    ]
    last = (
        f"Two heads have two softmaxes. ● reads <b>{names[0]}</b> alone and passes on its {columns[0]}, "
        f"◆ reads <b>{names[1]}</b> alone and passes on its {columns[1]}."
    )
    return Picture(
        name="blending",
        title="One head moves along the line, and what is wanted lies beside it",
        description=f"A plane of {columns[0]} and {columns[1]} with {', '.join(names)}; the line from {names[0]} to {names[1]} misses "
        f"({number(wanted[0])}, {number(wanted[1])})",
        drawing=drawing,
        steps=by_state("share", [[*steps, sentence, last] for sentence in told], first),
        chosen={"share": str(first)},
    )


def _sentence(names, facts, columns, blend, wanted, share: float) -> str:
    met = [name for name, fact in zip(names, facts) if np.allclose(fact, blend)]
    who = f"{number(share)} {names[0]} and {number(1 - share)} {names[1]}" if 0 < share < 1 else f"all of {names[0] if share else names[1]}"
    off = np.abs(blend - wanted)
    same = f", number for number a <b>{met[0]}</b>" if met and 0 < share < 1 else ""
    return (
        f"One softmax mixes both: {who} is ({number(blend[0])}, {number(blend[1])}){same}. The {columns[0]} is off by {number(off[0])}, "
        f"the {columns[1]} by {number(off[1])}. Press another point of the line: what one number gains, the other loses."
    )
