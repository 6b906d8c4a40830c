"""Rays: from a word to those that it reads, as thick as the weights."""

from collections.abc import Mapping, Sequence

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state

__all__ = ["Look", "reading"]

Look = Mapping[str, float]  # the weight of each word that is read
LETTER = 8.3  # about the width of a letter, in units of a picture


def reading(
    lines: Sequence[Sequence[str]], reader: str, looks: Mapping[str, Sequence[Look]], *, title: str, sentences: Sequence[str]
) -> Picture:
    """Draw a sentence in which one word reads others, for each choice of its last word.

    Args:
        lines: the words, line by line, without the last one.
        reader: the word that reads; it stands in ``lines`` once.
        looks: for each last word, the weights of one or more looks, one after the other.
        title: of the picture.
        sentences: HTML; first what is asked, then one for each look. ``{last}`` is the chosen word, ``{best}`` what the look reads most.

    >>> looks = {"tired": [{"animal": 0.9, "it": 0.1}], "wide": [{"animal": 0.2, "it": 0.8}]}
    >>> reading([["The", "animal"], ["it", "was"]], "it", looks, title="it", sentences=["?", "{best}"]).steps[1].count("<span")
    2
    """
    places, width = _places(lines, list(looks))
    high = 46 + 88 * (len(lines) - 1) + 84
    drawing = Drawing(400, high)
    states = {last: f"last:{number}" for number, last in enumerate(looks)}
    first = next(iter(looks))
    for last, state in states.items():
        rest = last != first
        for count, look in enumerate(looks[last], start=1):
            shown = {"step": count + 1, "until": count + 2} if count < len(looks[last]) else {"step": count + 1}
            with drawing.group(state=state, rest=rest):
                for word, weight in look.items():
                    at = places[last if word == last else word]
                    _ray(drawing, places[reader], at, weight, own=word == reader, **shown)
    for word, (x, y, _) in places.items():
        if word in states:
            with drawing.group(press=states[word], label=f"End with {word}"):
                drawing.word(x, y, word, width=_wide(word))
            drawing.word(x, y, word, width=_wide(word), role="ink", state=states[word], rest=word != first)
        else:
            drawing.word(x, y, word, width=_wide(word), role="query" if word == reader else None)
    for word, (x, y) in ((word, places[word][:2]) for word in states):
        if list(states).index(word):
            drawing.text(x, y - 24, "or", role="quiet", size=14)
    description = "; ".join(
        f"with {last} it reads " + ", then ".join(f"{max(look, key=look.__getitem__)} most" for look in looks[last]) for last in looks
    )
    return Picture(
        name="reading",
        title=title,
        description=description,
        drawing=drawing,
        steps=by_state("last", [_sentences(sentences, last, looks[last]) for last in looks]),
        chosen={"last": "0"},
    )


def _wide(word: str) -> float:
    return max(36.0, LETTER * len(word) + 16)


def _places(lines, lasts) -> tuple[dict[str, tuple[float, float, float]], float]:
    """Return the middle and the width of each word; the choices for the last word stand one below the other."""
    places: dict[str, tuple[float, float, float]] = {}
    right = 0.0
    for row, line in enumerate(lines):
        x, y = 0.0, 46 + 88 * row
        for word in line:
            wide = _wide(word)
            places[word] = (x + wide / 2 + 1, y, wide)
            x += wide + 5
        right = max(right, x)
    wide = max(map(_wide, lasts))
    for count, last in enumerate(lasts):
        places[last] = (x + wide / 2 + 1, y + 48 * count, wide)
    return places, max(right, x + wide)


def _ray(drawing: Drawing, start, end, weight: float, *, own: bool, **shown) -> None:
    (x0, y0, _), (x1, y1, _) = start, end
    if own:
        return
    if y1 < y0:  # a line above: straight up
        drawing.ray((x0, y0 - 14), (x1, y1 + 14), weight, **shown)
        label = (x1, y1 - 26)
    else:  # on its own line, or below: an arc underneath
        drop = y0 + 44 + 10 * (y1 > y0)
        data = f"M{x0:.1f} {y0 + 14:.1f}C{x0:.1f} {drop:.1f} {x1 - 60:.1f} {drop:.1f} {x1 - 20:.1f} {y1 + 12:.1f}"
        drawing.path(data, stroke="weight", thick=max(0.75, 14 * weight), strength=0.35 + 0.65 * weight, come="draw", **shown)
        label = (x0 + 0.45 * (x1 - x0), drop + 10)
    if weight >= 0.005:
        drawing.text(*label, number(weight), role="weight", bold=True, late=1, **shown)


def _sentences(sentences: Sequence[str], last: str, looks: Sequence[Look]) -> list[str]:
    best = ["", *(max(look, key=look.__getitem__) for look in looks)]
    return [sentence.format(last=last, best=word) for sentence, word in zip(sentences, best)]
