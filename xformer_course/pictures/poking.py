"""Poke a word and see which outputs move: what a sublayer, a layer or a mask lets through."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.shapes import Bool

__all__ = ["poking"]

TOP, FOOT = 96.0, 286.0  # the lanes
BAR = 150.0  # the longest bar


def poking(
    words: Sequence[str],
    moved: Mapping[str, Bool[np.ndarray, "i i"]],
    *,
    bars: Mapping[str, Mapping[str, float]] | None = None,
    first: int = 0,
) -> Picture:
    """Draw which words move when one of them is changed; a press pokes another word, or takes another layer.

    Args:
        words: of a sentence, five or so.
        moved: for each kind of layer, row p: True where a change of word p moved the output at that word.
        bars: numbers from 0 on to draw below, all on one scale, by kind and by what they measure.
        first: the word that is poked at first.

    >>> picture = poking(["a", "b"], {"alone": np.eye(2, dtype=bool), "all": np.ones((2, 2), dtype=bool)})
    >>> picture.chosen
    {'kind': '0', 'word': '0'}
    """
    names = list(moved)
    gap = 400 / len(words)
    at = [gap * (place + 0.5) for place in range(len(words))]
    lines = max((len(numbers) for numbers in bars.values()), default=0) if bars else 0
    drawing = Drawing(400, int(FOOT + 34 + (46 + 30 * lines if lines else 0)))
    longest = max((1.0, *(value for numbers in bars.values() for value in numbers.values()))) if bars else 1.0
    wide = 400 / len(names)
    for place, name in enumerate(names):
        where = wide * (place + 0.5), 18
        with drawing.group(press=f"kind:{place}", label=f"Show {name}"):
            drawing.word(*where, name, width=wide - 8)
        drawing.word(*where, name, width=wide - 8, role="ink", state=f"kind:{place}", rest=place > 0)
    for x in at:
        drawing.path(f"M{x:.1f} {FOOT - 22}V{TOP}", stroke="line", thick=3)
    drawing.text(4, TOP - 40, "what comes out", anchor="start", size=14, role="quiet")
    told = []
    for kind, name in enumerate(names):
        with drawing.group(state=f"kind:{kind}", rest=kind > 0):
            alone = bool((np.asarray(moved[name]) == np.eye(len(words), dtype=bool)).all())
            for left, wide in [(x - 26, 52.0) for x in at] if alone else [(4.0, 392.0)]:
                drawing.box(left, TOP + 62, wide, 60, fill="soft", stroke="line", radius=6)
            for poked in range(len(words)):
                with drawing.group(state=f"word:{poked}", rest=poked != first, step=2):
                    for place, hit in enumerate(moved[name][poked]):
                        if hit:
                            x = at[place]
                            if place != poked:
                                drawing.path(
                                    f"M{at[poked]:.1f} {TOP + 122}L{x:.1f} {TOP + 62}", stroke="accent", thick=2, dash="4 4", late=1
                                )
                            else:
                                drawing.path(f"M{x:.1f} {TOP + 122}V{TOP + 62}", stroke="accent", thick=5, come="draw")
                            drawing.path(f"M{x:.1f} {TOP + 62}V{TOP}", stroke="accent", thick=5, come="draw", late=1.5)
                            drawing.text(x, TOP - 12, "moves", role="accent", size=14, bold=True, late=2.5)
            drawing.text(388 - 8 * len(words), TOP - 40, name, anchor="end", bold=True)
            for reader, row in enumerate(np.asarray(moved[name]).T):  # who reads whom, small: rows read, columns are read
                for read, hit in enumerate(row):
                    x, y = 396.0 - 8 * (len(words) - read), TOP - 41 + 8 * (reader - len(words) / 2)
                    drawing.box(x, y, 7, 7, fill="weight" if hit else "soft", radius=1)
            if bars:
                with drawing.group(step=3):
                    for line, (label, value) in enumerate(bars[name].items()):
                        y, long = FOOT + 48 + 30 * line, BAR * value / longest
                        drawing.text(4, y, label, anchor="start", size=14)
                        drawing.box(190, y - 9, max(1.5, long), 18, fill="ink", radius=2, come="right")
                        drawing.text(196 + long, y, number(value), anchor="start", size=14, bold=True, late=1)
        told.append(f"<b>{name}</b>: {_counts(np.asarray(moved[name]), words)}")
    if bars:
        y = FOOT + 30 + 30 * lines
        with drawing.group(step=3):
            drawing.path(f"M190 {y + 12}V{y + 6}H{190 + BAR}V{y + 12}", stroke="line", thick=1)
            drawing.text(4, y + 20, "one scale for all", anchor="start", size=14, role="quiet")
            for end in (0.0, longest):
                drawing.text(190 + BAR * end / longest, y + 20, number(end), size=14, role="quiet")
    for place, word in enumerate(words):
        with drawing.group(state=f"word:{place}", rest=place != first):
            drawing.path(f"M{at[place]:.1f} {FOOT - 16}V{TOP + 122}", stroke="accent", thick=5)
        with drawing.group(press=f"word:{place}", label=f"Change {word}"):
            drawing.word(at[place], FOOT, word, width=gap - 8)
        drawing.word(at[place], FOOT, word, width=gap - 8, role="accent", state=f"word:{place}", rest=place != first)
    steps = []
    for name, sentence in zip(names, told):
        ask = "Change one word at the foot, here the filled one. Which outputs move? Choose a kind of layer at the top."
        steps.append([ask, sentence])
        if bars:
            measured = ", ".join(f"{label} {number(value)}" for label, value in bars[name].items())
            steps[-1].append(f"<b>{name}</b>, after training: {measured}.")
    return Picture(
        name="poking",
        title="Change one word, and see which outputs move",
        description=f"Lanes of {', '.join(words)}; one word is changed, and the outputs that move are marked, for {', '.join(names)}",
        drawing=drawing,
        steps=by_state("kind", steps),
        chosen={"kind": "0", "word": str(first)},
    )


def _counts(moved: np.ndarray, words: Sequence[str]) -> str:
    """Say what the square shows."""
    count = len(moved)
    if (moved == np.eye(count, dtype=bool)).all():
        return "each word moves its own output and no other."
    if moved.all():
        return "each word moves all outputs."
    if (moved == np.triu(np.ones((count, count), dtype=bool))).all():
        return "a word moves its own output and those after it, none before it."
    alone = [escape(words[place]) for place in range(count) if moved[place].sum() <= 1 <= moved[place][place]]
    if alone and moved.sum() == len(alone) + count * (count - len(alone)):
        return f"{' and '.join(alone)} moves only its own output, each other word moves all."
    return f"{int(moved.sum())} of {count * count} pairs move."
