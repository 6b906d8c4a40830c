"""Byte-pair encoding: the two neighbours that occur together most often become one token, and again."""

from collections import Counter
from collections.abc import Mapping
from html import escape
from itertools import pairwise

from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.picture import Picture

__all__ = ["merging"]

LETTER, HIGH, TOP, DEEP = 16.0, 28.0, 56.0, 84.0  # a cell, where the first row of words stands, and from row to row


def merging(counts: Mapping[str, int], merges: int) -> Picture:
    """Draw the first merges of a text: each step marks the pair that occurs most often, and shows it as one token.

    Of pairs that occur equally often the one that is met first is taken.

    Args:
        counts: how often each word occurs in the text; the words have 20 letters or fewer together.
        merges: how many pairs are merged.

    >>> merging({"ab": 3, "abc": 2}, 1).steps[1]
    '<b>a·b</b> occurs 3 + 2 = 5 times, more often than any other pair. It becomes one token, in every word.'
    """
    gap = (396 - LETTER * sum(map(len, counts))) / max(1, len(counts) - 1)
    lefts: list[float] = []
    x = 3.0
    for word in counts:
        lefts.append(x)
        x += LETTER * len(word) + gap
    drawing = Drawing(400, int(TOP + DEEP * merges + HIGH + 8))
    spelled = {word: list(word) for word in counts}
    steps = ["Each word is spelled with letters. Above it stands how often it occurs in the text."]
    for left, (word, count) in zip(lefts, counts.items()):
        drawing.text(left + LETTER * len(word) / 2, 14, f"{count} ×", size=14, bold=True)
    for merge in range(merges + 1):
        y, step = TOP + DEEP * merge, merge + 1
        met = [(pair, count) for word, count in counts.items() for pair in pairwise(spelled[word])]
        found: Counter[tuple[str, str]] = Counter()
        for pair, count in met:
            found[pair] += count
        best = found.most_common(1)[0][0]
        for left, word in zip(lefts, counts):
            _tokens(drawing, left, y, spelled[word], best if merge < merges else None, step)
        if merge == merges:
            break
        shares = [str(count) for pair, count in met if pair == best]
        drawing.stage(y + HIGH + 28, step, f"{'·'.join(best)}: {found[best]} times", step=step + 1)
        sums = f"{' + '.join(shares)} = {found[best]}" if len(shares) > 1 else shares[0]
        rank = "more often than any other pair" if [*found.values()].count(found[best]) == 1 else "and no pair occurs more often"
        steps.append(f"<b>{escape('·'.join(best))}</b> occurs {sums} times, {rank}. It becomes one token, in every word.")
        spelled = {word: _merged(tokens, best) for word, tokens in spelled.items()}
    steps[-1] += " Which pair comes next?" * (merges > 1)
    return Picture(
        name="merging",
        title="The most frequent pair becomes one token",
        description=f"The words {', '.join(counts)}, spelled with letters; after {merges} merges they are "
        + ", ".join("·".join(tokens) for tokens in spelled.values()),
        drawing=drawing,
        steps=tuple(steps),
    )


def _tokens(drawing: Drawing, left: float, y: float, tokens: list[str], best: tuple[str, str] | None, step: int) -> None:
    """Draw a word as its tokens; a line below joins the pair that is merged next."""
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    for token, start in zip(tokens, ends):
        wide = LETTER * len(token) - 2
        long = len(token) > 1
        drawing.box(left + LETTER * start, y, wide, HIGH, fill="paper", stroke="line", radius=4, step=step)
        if long:
            drawing.box(left + LETTER * start, y, wide, HIGH, fill="accent", stroke="accent", strength=0.16, radius=4, step=step)
        drawing.text(left + LETTER * start + wide / 2, y + HIGH / 2, token, bold=long, step=step)
    place = 0
    while place < len(tokens) - 1:
        if (tokens[place], tokens[place + 1]) == best:
            first, last = left + LETTER * ends[place] + 2, left + LETTER * ends[place + 2] - 4
            drawing.path(f"M{first} {y + HIGH + 4}v5H{last}v-5", stroke="accent", thick=2, step=step + 1)
            place += 1
        place += 1


def _merged(tokens: list[str], pair: tuple[str, str]) -> list[str]:
    made: list[str] = []
    rest = iter(range(len(tokens)))
    for place in rest:
        if (*tokens[place : place + 2],) == pair:
            made.append("".join(pair))
            next(rest, None)
        else:
            made.append(tokens[place])
    return made
