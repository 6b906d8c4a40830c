"""A word that is handed from neighbour to neighbour, and the same word read at once."""

from collections.abc import Sequence
from fractions import Fraction

from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.picture import Picture

__all__ = ["chain"]

HAND, WORDS, READ = 96.0, 176.0, 268.0  # how far down the chain, the words, and what is read stand
LETTER, SQUARE = 8.3, 34.0


def chain(words: Sequence[str], *, added: int, keep: float = 0.5) -> Picture:
    """Draw how the last word gets hold of the first: handed along by a recurrence, and read at once by attention.

    The last step puts in one more word: less of the first arrives at the end of the chain, and the ray stays as it is.

    Args:
        words: with the one that is put in last; the last of them needs the first.
        added: the place of the word that is put in.
        keep: how much of what it was handed a word hands on.

    >>> len(chain(["hearing", "is", "now", "on"], added=2).steps)
    4
    """
    widths = [max(36.0, LETTER * len(word) + 16) for word in words]
    gap = (396 - sum(widths)) / (len(words) - 1)
    at = [2 + sum(widths[:place]) + gap * place + widths[place] / 2 for place in range(len(words))]
    drawing = Drawing(400, 330)
    last = len(words) - 1
    for place, word in enumerate(words):
        role = "value" if place == 0 else "query" if place == last else None
        with drawing.group(step=4 if place == added else None):
            drawing.word(at[place], WORDS, word, width=widths[place], role=role)
    drawing.text(0, 14, "recurrence: handed from word to word", anchor="start", bold=True, step=2)
    drawing.text(0, HAND - 50, f"how much of “{words[0]}” is still there:", anchor="start", size=14, role="quiet", step=2)
    drawing.text(0, READ + 48, "attention: read at once", anchor="start", bold=True, role="weight", step=3)
    with drawing.group(until=2):
        high = WORDS - 100
        drawing.path(
            f"M{at[last]:.1f} {WORDS - 16}C{at[last]:.1f} {high} {at[0]:.1f} {high} {at[0]:.1f} {WORDS - 16}", stroke="line", dash="4 6"
        )
        drawing.circle(sum(at[::last]) / 2, WORDS - 79, 16, fill="paper", stroke="line")
        drawing.text(sum(at[::last]) / 2, WORDS - 79, "?", bold=True, size=18)
    short = [place for place in range(len(words)) if place != added]
    with drawing.group(step=2, until=4):
        _handed(drawing, [at[place] for place in short], keep)
    with drawing.group(step=4):
        _handed(drawing, at, keep)
    with drawing.group(step=3):
        start, end = at[last], at[0]
        data = f"M{end:.1f} {WORDS + 16}C{end:.1f} {READ + 34} {start - 70:.1f} {READ + 34} {start - SQUARE / 2:.1f} {READ - 6}"
        drawing.path(data, stroke="weight", thick=11, come="draw")
        drawing.path(f"M{start:.1f} {WORDS + 15}V{READ - 52}", stroke="line", dash="2 4")
        with drawing.group(come=(end - start, WORDS - READ + 14)):
            _square(drawing, start, READ - 14, 1.0)
        drawing.text(start, READ - 44, "1", role="value", bold=True, late=1)
    before, after = (Fraction(keep).limit_denominator(1000) ** hops for hops in (last - 1, last))
    return Picture(
        name="chain",
        title="Handed along, a word fades; read at once, it arrives whole",
        description=f"{words[last]} needs {words[0]}. Along the chain {before} of it arrives, and {after} with {words[added]} in between; "
        "a single ray brings all of it",
        drawing=drawing,
        steps=(
            f"To understand <b>{words[last]}</b>, one must find <b>{words[0]}</b>.",
            f"A recurrence reads word after word. If each word hands on {_fraction(keep)} of what it was handed, {before} of "
            f"<b>{words[0]}</b> is left when <b>{words[last]}</b> comes.",
            f"Attention lets <b>{words[last]}</b> read <b>{words[0]}</b> itself, wherever it is. All of it arrives.",
            f"Put <b>{words[added]}</b> in between: the chain is longer by one, and only {after} arrives. The ray brings what it brought.",
        ),
    )


def _fraction(value: float) -> str:
    return {0.5: "half"}.get(value, str(Fraction(value).limit_denominator(1000)))


def _square(drawing: Drawing, x: float, y: float, share: float) -> None:
    drawing.box(x - SQUARE / 2, y - SQUARE / 2, SQUARE, SQUARE, fill="paper", stroke="value", thick=1, radius=3)
    drawing.box(x - SQUARE / 2, y - SQUARE / 2, SQUARE, SQUARE, fill="value", strength=share, radius=3)


def _handed(drawing: Drawing, at: Sequence[float], keep: float) -> None:
    """Draw the chain: what arrives at each word, and an arrow to the next."""
    for place, x in enumerate(at):
        share = keep**place
        came = {"come": (at[place - 1] - x, 0), "late": place} if place else {"come": (0, WORDS - HAND - 12)}
        with drawing.group(**came):
            _square(drawing, x, HAND + 12, share)
        drawing.text(x, HAND - 18, str(Fraction(share).limit_denominator(1000)), role="value", bold=True, late=place + 1)
        drawing.path(f"M{x:.1f} {HAND + 31}V{WORDS - 15}", stroke="line", dash="2 4", late=place)
        if place:
            ends = (at[place - 1] + SQUARE / 2 + 1, HAND + 12), (x - SQUARE / 2 - 1, HAND + 12)
            drawing.arrow(*ends, role="ink", thick=2, late=place)
