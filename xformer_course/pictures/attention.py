"""Attention as pictures: one query against all keys, step by step, and the rays from a word to those that it reads."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number, strip
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.reference.attention import scaled_dot_product_attention
from xformer_lib.shapes import Float

__all__ = ["attention_by_hand"]

GUTTER, ASK, FIRST, COLUMN, CELL, SUM = 72, 76, 122, 52, 44, 344  # where the columns of the picture stand
PRESS = " Press another word to let it ask."
HIGH, GAP = 27, 3  # a cell, and the room below it


def attention_by_hand(
    words: Sequence[str],
    keys: Float[np.ndarray, "j d"],
    values: Float[np.ndarray, "j e"],
    queries: Mapping[str, Float[np.ndarray, "d"]],
    *,
    key_names: Sequence[str],
    value_names: Sequence[str],
    first: str | None = None,
) -> Picture:
    """Draw how one query is answered: keys, products, scores, weights, weighted values, sum.

    Words are columns and properties are rows, so that a product is added up downwards and an answer to the right.
    Every number is computed here from what is given.

    Args:
        words: four at most, since each is a column.
        keys: a row for each word.
        values: a row for each word.
        queries: who may ask, and with what; where these are the words, a press on a word lets it ask.
        key_names: of the columns of queries and keys.
        value_names: of the columns of the values.
        first: who asks at first.

    >>> eye = np.eye(2)
    >>> attention_by_hand(["a", "b"], eye, eye, {"a": eye[0]}, key_names="xy", value_names="xy", first="a").chosen
    {'ask': '0'}
    """
    k, v = np.asarray(keys, float), np.asarray(values, float)
    width, depth = k.shape[1], v.shape[1]
    place = {name: row for row, name in enumerate(queries)}
    first = first or next(iter(queries))
    lefts = [FIRST + COLUMN * j for j in range(len(words))]
    tops = _rows(width, depth)
    drawing = Drawing(400, tops["end"])

    for asker, column in place.items():  # the eye follows one word, the first of the best, from its key to its value
        best = lefts[int((k @ np.asarray(queries[asker], float)).argmax())]
        with drawing.group(state=f"ask:{column}", rest=asker != first):
            drawing.box(best - 4, tops["words"] + 20, CELL + 8, tops["end"] - tops["words"] - 38, fill="soft", step=2)
    for asker, column in place.items():
        state, pressed = f"ask:{column}", f"Let {asker} ask"
        if asker in words:
            x = lefts[words.index(asker)] + CELL / 2
            with drawing.group(press=state, label=pressed):
                drawing.word(x, tops["words"], asker, width=COLUMN - 2)
            drawing.word(x, tops["words"], asker, width=COLUMN - 2, role="query", state=state, rest=asker != first)
    for j, word in enumerate(words):
        if word not in place:
            drawing.word(lefts[j] + CELL / 2, tops["words"], word, width=COLUMN - 2)

    for y, step in ((tops["keys"] - 20, 2), (tops["values"] - 20, 5)):  # the column passes behind the headings
        drawing.box(0, y - 13, 400, 26, fill="paper", step=step)
    drawing.stage(tops["keys"] - 20, 1, "query × key, number by number", step=2)
    drawing.stage(tops["product"] + HIGH / 2, 2, "add up", step=2)
    drawing.stage(tops["scores"] + HIGH / 2, 3, f"÷ √{width}", step=3)
    drawing.stage(tops["bars"] + 34, 4, "softmax", step=4)
    drawing.stage(tops["values"] - 20, 5, "value × weight", step=5)
    for row, name in enumerate(key_names):
        drawing.text(GUTTER - 4, tops["keys"] + row * (HIGH + GAP) + HIGH / 2, name, anchor="end", role="quiet", size=14)
    drawing.text(ASK + 18, tops["keys"] + width * (HIGH + GAP) + 8, "query", role="query", size=14)
    drawing.text(SUM + 24, tops["keys"] + width * (HIGH + GAP) / 2, "keys", role="key", size=14)
    for row, name in enumerate(value_names):
        drawing.text(GUTTER - 4, tops["values"] + row * (HIGH + GAP) + HIGH / 2, name, anchor="end", role="quiet", size=14, step=5)
    for j in range(len(words)):
        strip(drawing, lefts[j], tops["keys"], k[j], width=CELL, height=HIGH, role="key", until=2)
        strip(drawing, lefts[j], tops["values"], v[j], width=CELL, height=HIGH, role="value", step=5, until=6)

    for asker, column in place.items():
        rest = asker != first
        with drawing.group(state=f"ask:{column}", rest=rest):
            _answer(drawing, np.asarray(queries[asker], float), k, v, lefts, tops)
    for j in range(len(words)):  # drawn last: they fly over the rest
        over, down, across = ASK - lefts[j], tops["bars"] + 30 - tops["values"], lefts[j] - SUM
        for step, x, top, rows, role, come in (
            (2, lefts[j], "keys", width, "query", ("ghost", over, 0)),  # the query goes to every key
            (6, lefts[j], "values", depth, "weight", ("ghost", 0, down)),  # the weight to its value
            (7, SUM, "values", depth, "value", ("ghost", across, 0)),  # what is left of the values into the sum
        ):
            high = rows * (HIGH + GAP) - GAP
            drawing.box(
                x, tops[top], CELL, high, fill=role, strength=0.1, stroke=role, thick=2.5, radius=2, step=step, come=come, late=0.6 * j
            )  # fmt: skip
    return Picture(
        name="attention-by-hand",
        title="One word asks, all words answer: attention in five moves",
        description=_description(words, k, v, queries[first], first, value_names),
        drawing=drawing,
        steps=by_state(
            "ask",
            [_sentences(words, k, v, asker, np.asarray(q, float), value_names, len(queries) > 1) for asker, q in queries.items()],
            place[first],
        ),
        chosen={"ask": str(place[first])},
    )


def _rows(width: int, depth: int) -> dict[str, int]:
    """Return how far down each stage stands."""
    tops = {"words": 18}
    tops["keys"] = 74
    tops["product"] = tops["keys"] + width * (HIGH + GAP) + 22
    tops["scores"] = tops["product"] + HIGH + 12
    tops["bars"] = tops["scores"] + HIGH + 6
    tops["values"] = tops["bars"] + 124
    tops["end"] = tops["values"] + depth * (HIGH + GAP) + 24
    return tops


def _answer(drawing, q, k, v, lefts, tops) -> None:
    """Draw all that depends on who asks."""
    output, weights = scaled_dot_product_attention(q[None], k, v)
    products, shares = k @ q, weights[0]
    scores = products / math.sqrt(k.shape[1])
    strip(drawing, ASK, tops["keys"], q, width=36, height=HIGH, role="query")
    for j, left in enumerate(lefts):
        x = left + CELL / 2
        for row, (asked, offered) in enumerate(zip(q, k[j])):
            text = f"{number(asked)}·{number(offered)}"
            text = text if len(text) < 6 else number(asked * offered)
            drawing.cell(left, tops["keys"] + row * (HIGH + GAP), CELL, HIGH, text, role="key", step=2)
        down = {"come": (0, -HIGH), "late": 1 + 0.6 * j}
        drawing.text(x, tops["product"] + HIGH / 2, number(products[j]), step=2, **down)
        drawing.path(f"M{x - 14} {tops['product'] - 4}h28", stroke="line", step=2)
        drawing.text(x, tops["scores"] + HIGH / 2, number(scores[j]), step=3, come=(0, tops["product"] - tops["scores"]))
        high = 60 * shares[j]
        drawing.box(left + 8, tops["bars"] + 64 - high, CELL - 16, high, fill="weight", radius=2, step=4, come="up")
        drawing.text(x, tops["bars"] + 76, number(shares[j]), role="weight", bold=True, step=4)
        for row, value in enumerate(v[j]):
            y = tops["values"] + row * (HIGH + GAP)
            drawing.cell(
                left, y, CELL, HIGH, number(shares[j] * value), role="value", strength=0.05 + 0.5 * shares[j] * (value != 0), step=6
            )
    drawing.text(SUM + 24, tops["bars"] + 76, "sum 1", role="quiet", size=14, step=4)
    drawing.text(SUM + 24, tops["values"] - 18, "answer", role="value", bold=True, step=7)
    for row, value in enumerate(output[0]):
        y = tops["values"] + row * (HIGH + GAP)
        drawing.text(SUM - 8, y + HIGH / 2, "=", role="quiet", step=7)
        drawing.cell(SUM, y, 48, HIGH, number(value), role="value", strength=0.14, bold=True, step=7, late=2)


def _sentences(words, k, v, asker, q, value_names, several) -> list[str]:
    """Return a sentence for each step, for one who asks."""
    output, weights = scaled_dot_product_attention(q[None], k, v)
    best = int((k @ q).argmax())
    sums = " + ".join(f"{number(a)} · {number(b)}" for a, b in zip(q, k[best]))
    most = " and ".join(word for word, share in zip(words, weights[0]) if np.isclose(share, weights.max()))
    answer = ", ".join(f"{number(part)} {name}" for part, name in zip(output[0], value_names))
    return [
        f"<b>{asker}</b> asks with its query, ({', '.join(map(number, q))}). Below each word stands its key, with numbers of the same kind."
        + PRESS * (asker in words and several),
        f"Multiply query and key number by number, and add downwards. For <b>{words[best]}</b>: {sums} = {number(k[best] @ q)}.",
        f"Divide by √{len(q)}, since a key has {len(q)} numbers. These are the scores.",
        f"Softmax makes positive weights of the scores, which add up to 1. The most goes to <b>{most}</b>.",
        "Every word also has a value: what it hands over.",
        "Each value is multiplied by its word’s weight. What has little weight fades.",
        f"Add up each row to the right. The answer for <b>{asker}</b>: {answer}.",
    ]


def _description(words, k, v, query, first, value_names) -> str:
    output, weights = scaled_dot_product_attention(np.asarray(query, float)[None], k, v)
    shares = ", ".join(f"{word} {number(share)}" for word, share in zip(words, weights[0]))
    answer = ", ".join(f"{name} {number(part)}" for name, part in zip(value_names, output[0]))
    return f"{first} asks. The weights of the words: {shares}. The answer: {answer}"
