"""The residual stream: each word runs up a lane of its own, and sublayers only ever add to it."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Float

__all__ = ["lanes"]

LEFT, TOP = 20.0, 62.0
ATTEND, THINK, FOOT = 250.0, 98.0, 402.0  # the heights of attention, of the feed-forward nets, and of the words' feet


def lanes(words: Sequence[str], thick: str, vector: Float[np.ndarray, "m"], *, reads: str | None = None) -> Picture:
    """Draw one layer as lanes: attention joins them, the feed-forward net does not, and each adds its part to the lane.

    Two switches: where the norm stands (before the sublayer, or after the sum), and what becomes of ``vector`` at
    ``thick`` where both sublayers add 0.

    Args:
        words: four to eight.
        thick: the word that is followed; in the bar of attention, lines lead to it from all words.
        vector: its numbers.
        reads: the word whose line is drawn thick.

    >>> lanes(["a", "b"], "b", np.array([2.0, 4, 4, 6])).chosen
    {'norm': '0'}
    """
    x = np.asarray(vector, float)
    normed = (x - x.mean()) / x.std()
    gap = min(70.0, 238 / max(1, len(words) - 1))
    at = [LEFT + gap * place for place in range(len(words))]
    drawing = Drawing(400, 500)
    right = at[-1] + 40

    for place, word in enumerate(words):
        lit = f"lane-{place}"
        with drawing.group(lit=lit):
            drawing.path(f"M{at[place]:.1f} {FOOT}V{TOP}", stroke="ink", thick=5 if word == thick else 2.5)
            drawing.path(
                f"M{at[place] - 6:.1f} {TOP + 2}L{at[place]:.1f} {TOP - 8}L{at[place] + 6:.1f} {TOP + 2}Z", stroke=None, fill="ink"
            )
        with drawing.group(light=lit, label=f"Follow {word}", lit=lit):
            drawing.text(at[place], FOOT + 18, word, bold=word == thick, size=14)
            drawing.box(at[place] - 24, FOOT + 2, 48, 30, fill="paper", strength=0.0)
    drawing.text(4, FOOT + 48, f"{thick}: ({', '.join(map(number, x))})", anchor="start", size=14, step=5)

    _sublayer(drawing, at, words, ATTEND, step=2, to=words.index(thick), most=words.index(reads) if reads else None, right=right)
    _sublayer(drawing, at, words, THINK, step=3, right=right)
    for state, vectors, rest in (("norm:0", x, False), ("norm:1", normed, True)):
        with drawing.group(state=state, rest=rest):
            drawing.text(4, 22, f"{thick}: ({', '.join(map(number, vectors))})", anchor="start", size=14, step=5)
            same = "as it was: nothing was added" if not rest else "changed, though nothing was added"
            drawing.text(4, 42, same, anchor="start", size=14, role="quiet", step=5)
    for place, (state, label) in enumerate((("norm:0", "pre-norm"), ("norm:1", "post-norm"))):
        with drawing.group(press=state, label=f"Show {label}", step=4):
            drawing.word(60 + 118 * place, 482, label, width=106)
        drawing.word(60 + 118 * place, 482, label, width=106, role="ink", state=state, rest=place == 1, step=4)
    given, post = (", ".join(map(number, numbers)) for numbers in (x, normed))
    kept = f"With pre-norm, ({given}) comes out as it went in."
    changed = f"With post-norm, ({given}) becomes ({post})."
    told = [
        f"Each word runs up a lane of its own, as a vector. <b>{thick}</b> is drawn thick.",
        "A normed copy of every lane goes to <b>attention</b>. It lies across the lanes, because here words exchange what they know. "
        "Its answer is <b>added</b> to each lane.",
        "A normed copy goes to the <b>feed-forward</b> net. There is a box beside each lane, with the same weights in all of them: "
        "every word is worked on alone. Again the answer is added.",
        "The norm may also stand on the lane, behind the plus. That is <b>post-norm</b>, the form of 2017. Press it.",
    ]
    description = (
        f"{len(words)} upright lanes, one for each word, {thick} thick. A bar named attention lies across all of them, and a box named "
        "feed-forward beside each. Both take a normed copy of the lanes and add their answer to them at a plus"
    )
    return Picture(
        name="lanes",
        title="Each word has a lane; a layer only adds to it",
        description=description,
        drawing=drawing,
        steps=by_state("norm", [[*told, f"Let both sublayers add 0. {last}"] for last in (kept, changed)]),
        chosen={"norm": "0"},
    )


def _sublayer(drawing: Drawing, at, words, y: float, *, step: int, right: float, to: int | None = None, most: int | None = None) -> None:
    """Draw a branch that leaves each lane, the norm on it, the sublayer, and the way back to a plus on the lane.

    Attention, where ``to`` is given, is one bar for all lanes; in it lines lead to that lane, the one from ``most`` thick.
    """
    shared = to is not None
    out, plus, before = y + 100.0, y - 14.0, y + 66.0
    with drawing.group(step=step):
        if shared:  # the lanes pass behind the bar, untouched
            drawing.box(at[0] - 8, y, right - at[0], 32, fill="paper", radius=6)
            for x in at:
                drawing.path(f"M{x:.1f} {y + 2}V{y + 30}", stroke="ink", thick=2.5, dash="2 5")
            drawing.box(at[0] - 8, y, right - at[0], 32, fill="weight", stroke="weight", strength=0.16, radius=6)
            for place, x in enumerate(at):
                start, end = x + 20, at[to] + 20
                bend = f"M{start:.1f} {y + 32}C{start:.1f} {y + 14} {end:.1f} {y + 18} {end:.1f} {y}"
                drawing.path(bend, stroke="weight", thick=5 if place == most else 1.5, come="draw", late=1)
        for place, x in enumerate(at):
            side = x + 20
            with drawing.group(lit=f"lane-{place}"):
                drawing.path(f"M{x:.1f} {out}Q{side:.1f} {out} {side:.1f} {out - 12}V{y + 32}", stroke="quiet", thick=2, come="draw")
                drawing.box(side - 11, before, 22, 9, fill="paper", stroke="ink", radius=2, state="norm:0")
                drawing.box(x - 11, plus - 22, 22, 9, fill="paper", stroke="ink", radius=2, state="norm:1", rest=True)
                drawing.path(
                    f"M{side:.1f} {y}V{plus + 8}Q{side:.1f} {plus} {x + 9:.1f} {plus}", stroke="quiet", thick=2, come="draw", late=1.5
                )
                if not shared:
                    drawing.box(side - 13, y, 26, 32, fill="line", stroke="quiet", strength=0.3, radius=4)
                drawing.plus(x, plus)
        drawing.text(right - 1, before + 5, "norm", anchor="start", size=14, role="quiet", state="norm:0")
        drawing.text(right - 20, plus - 18, "norm", anchor="start", size=14, role="quiet", state="norm:1", rest=True)
        names, role = (("attention", "exchange"), "weight") if shared else (("feed-forward", "each alone"), "ink")
        for line, name in enumerate(names):
            drawing.text(right - 1, y + 8 + 18 * line, name, anchor="start", role=role, bold=line == 0, size=14)
