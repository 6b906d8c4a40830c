"""Several heads: each reads the words in its own way, the answers lie end to end, and one matrix carries them back."""

from collections.abc import Sequence

import numpy as np

from xformer_course.pictures.drawing import Drawing, number
from xformer_course.pictures.picture import Picture, by_state
from xformer_lib.reference.attention import scaled_dot_product_attention
from xformer_lib.shapes import Float

__all__ = ["all_in_one", "heads", "joining"]

MARKS, ROLES = ("●", "◆"), ("weight", "ink")  # the first head is drawn solid, the second dashed
WORDS, FOOT = 186.0, 398.0  # how far down the words and the two answers stand
PAIR, HIGH = 23, 23  # a cell of a query or key
COLUMN = 62.0  # from one column of the model to the next
Head = tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m d"], Float[np.ndarray, "m e"]]


def heads(
    words: Sequence[str],
    x: Float[np.ndarray, "i m"],
    matrices: Sequence[Head],
    *,
    questions: Sequence[Sequence[str]],
    value_names: Sequence[Sequence[str]],
    first: str,
) -> Picture:
    """Draw how one word reads the others twice: above them with one head, below them with another.

    Args:
        words: four or so; a press on a word lets it ask.
        x: a row for each word.
        matrices: of the two heads, each W_Q, W_K, W_V.
        questions: for each head, what each word asks in it.
        value_names: for each head, the columns of its values, three of them.
        first: who asks at first.

    >>> eye, names = np.eye(2), [["a", "b", "c"]] * 2
    >>> two = [(eye, eye, np.ones((2, 3)))] * 2
    >>> heads(["x", "y"], eye, two, questions=[["who?"] * 2] * 2, value_names=names, first="y").chosen
    {'ask': '1'}
    """
    x = np.asarray(x, float)
    drawing = Drawing(400, int(FOOT) + 82)
    at = [46 + 276 * place / (len(words) - 1) for place in range(len(words))]
    answers = [scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v) for w_q, w_k, w_v in matrices]
    for place, word in enumerate(words):
        with drawing.group(press=f"ask:{place}", label=f"Let {word} ask"):
            drawing.word(at[place], WORDS, word, width=70)
        drawing.word(at[place], WORDS, word, width=70, role="query", state=f"ask:{place}", rest=word != first)
    for head, (w_q, w_k, _) in enumerate(matrices):
        step, lit = (2, 5)[head], f"head-{head}"
        with drawing.group(step=step, lit=lit):
            for place, numbers in enumerate(x @ w_k):
                _pair(drawing, at[place], _level(head, 22), numbers, "key")
            for place, numbers in enumerate(x @ w_q):
                with drawing.group(state=f"ask:{place}", rest=words[place] != first):
                    _pair(drawing, at[place], _level(head, 66), numbers, "query")
                    for away, name in ((66, "query"), (22, "key")):
                        drawing.text(at[place] + PAIR + 5, _level(head, away), name, role=name, anchor="start", size=14)
                    _rays(drawing, at, place, answers[head][1][place], head, step + 1)
                    drawing.text(104, _line(head), questions[head][place], anchor="start")
        with drawing.group(step=step, light=lit, lit=lit, label=f"See head {head + 1} alone"):
            drawing.box(2, _line(head) - 14, 98, 28, fill="paper", stroke=ROLES[head], radius=14)
            drawing.text(51, _line(head), f"{MARKS[head]} head {head + 1}", role=ROLES[head], bold=True)
        for column, name in enumerate(value_names[head]):
            left = 14 + COLUMN * (3 * head + column)
            with drawing.group(step=step + 2, lit=lit):
                drawing.text(left + COLUMN / 2, FOOT + 22, name, size=14, role="quiet")
                for place in range(len(words)):
                    with drawing.group(state=f"ask:{place}", rest=words[place] != first):
                        _share(drawing, left, FOOT + 36, answers[head][0][place, column], head)
    drawing.text(200, FOOT - 2, "two answers, end to end", bold=True, step=7)
    drawing.path(f"M14 {FOOT + 71}v6h372v-6", stroke="ink", step=7)
    return Picture(
        name="heads",
        title="One word, two heads: each head reads the sentence in its own way",
        description=_description(words, answers, value_names, words.index(first)),
        drawing=drawing,
        steps=by_state(
            "ask", [_sentences(words, answers, questions, value_names, place) for place in range(len(words))], words.index(first)
        ),
        chosen={"ask": str(words.index(first))},
    )


def _level(head: int, away: float) -> float:
    """Return the middle of a row above the words for the first head, below them for the second."""
    return WORDS + (away + 14) * (1 if head else -1)


def _line(head: int) -> float:
    return 2 * WORDS - 16 if head else 16


def _pair(drawing: Drawing, x: float, y: float, numbers, role: str) -> None:
    for place, value in enumerate(numbers):
        left = x + PAIR * (place - len(numbers) / 2)
        drawing.cell(left, y - HIGH / 2, PAIR, HIGH, number(value), role=role)


def _share(drawing: Drawing, left: float, y: float, value: float, head: int, **belongs: object) -> None:
    """Draw one number of a head's answer."""
    with drawing.group(**belongs):
        drawing.box(left + 3, y, COLUMN - 6, 30, fill="paper", stroke=ROLES[head], radius=3)
        drawing.text(left + COLUMN / 2 - 17, y + 15, MARKS[head], role=ROLES[head], size=14)
        drawing.text(left + COLUMN / 2 + 7, y + 15, number(value), role=ROLES[head], bold=True)


def _rays(drawing: Drawing, at, asker: int, weights, head: int, step: int) -> None:
    """Draw a bow from the query of the one who asks to the key of each word."""
    up = 1 if head else -1
    start, end = _level(head, 66) + up * HIGH / 2, _level(head, 22) + up * HIGH / 2
    with drawing.group(step=step):
        for place, weight in enumerate(weights):
            thick = max(1.0, 14 * weight)
            dash = f"{thick + 1:.1f} {thick + 5:.1f}" if head else None
            if place == asker:
                drawing.path(f"M{at[place]:.1f} {end + up}V{start - up * (HIGH + 1)}", stroke=ROLES[head], thick=thick)
                drawing.text(at[place] + 24, (start + end - up * HIGH) / 2, number(weight), role=ROLES[head], bold=True)
                continue
            high = start + up * (26 + 0.2 * abs(at[place] - at[asker]))
            lands = end + up * (1 + thick / 2)
            x0, x1 = at[asker], at[place]
            data = f"M{x0:.1f} {start + up * thick / 2:.1f}C{x0:.1f} {high:.1f} {x1:.1f} {high:.1f} {x1:.1f} {lands:.1f}"
            drawing.path(
                data, stroke=ROLES[head], thick=thick, dash=dash, strength=0.4 + 0.6 * min(1, 2 * weight), come=None if head else "draw"
            )
            side = 26 if place > asker else -26
            drawing.text(at[place] + side, end + up * 12, number(weight), role=ROLES[head], bold=True)


def _named(numbers, names) -> str:
    return ", ".join(f"{number(value)} {name}" for value, name in zip(numbers, names))


def _most(words, weights) -> str:
    return " and ".join(f"<b>{word}</b>" for word, weight in zip(words, weights) if np.isclose(weight, weights.max()))


def _sentences(words, answers, questions, names, place) -> list[str]:
    """Return a sentence for each step, for one who asks."""
    told = [f"<b>{words[place]}</b> has two questions, and one softmax answers only one. Press another word to let it ask."]
    others = ("", " from the same words with matrices of its own,")
    for head, (output, weights) in enumerate(answers):
        mark = f"{MARKS[head]} Head {head + 1}"
        told.append(
            f"{mark} makes,{others[head] or ' with its own matrices,'} a query for <b>{words[place]}</b> and a key for every word. "
            f"The query asks: <i>{questions[head][place]}</i>"
        )
        told.append(f"Query times key, and softmax: most of the weight of head {head + 1} goes to {_most(words, weights[place])}.")
        told.append(f"Its answer for <b>{words[place]}</b> is the weighted sum of its values: {_named(output[place], names[head])}.")
    told[-1] = told[-1][:-1] + ". The answers lie end to end, and the second took nothing from the first. Touch a head to see it alone."
    return told


def _description(words, answers, names, place) -> str:
    told = (
        f"head {head + 1} gives the weights {_named(weights[place], words)} and the answer {_named(output[place], names[head])}"
        for head, (output, weights) in enumerate(answers)
    )
    return f"{words[place]} reads the other words twice: {'; '.join(told)}"


def joining(
    answers: Sequence[Float[np.ndarray, "e"]], names: Sequence[Sequence[str]], columns: Sequence[str], w_o: Float[np.ndarray, "he m"]
) -> Picture:
    """Draw how W_O carries each number of the joined answers to the columns of the model, and adds what meets there.

    Args:
        answers: of the two heads for one word, three numbers each.
        names: of these numbers.
        columns: of the model, six.
        w_o: an arrow is drawn for every number in it that is not 0.

    >>> joining([np.ones(3), np.ones(3)], ["abc", "abd"], "abcdef", np.eye(6)).chosen
    {'left': '0'}
    """
    joined, w_o = np.concatenate(answers), np.asarray(w_o, float)
    drawing = Drawing(400, 356)
    top, foot = 62.0, 254.0
    middle = [14 + COLUMN * (place + 0.5) for place in range(6)]
    for head in (0, 1):
        drawing.text(14 + COLUMN * (3 * head + 1.5), 12, f"{MARKS[head]} head {head + 1} answers", role=ROLES[head], bold=True)
        for column, name in enumerate(names[head]):
            drawing.text(middle[3 * head + column], 46, name, role="quiet", size=14)
            _share(drawing, middle[3 * head + column] - COLUMN / 2, top, joined[3 * head + column], head)
    with drawing.group(step=2):
        drawing.box(14, 142, 372, 34, fill="soft", radius=6)
        drawing.text(24, 159, "× W_O", anchor="start", bold=True)
    gone: list[set[int]] = [set(), {0}, {1}]  # what is left out in each state
    for state, left_out in enumerate(gone):
        kept = np.array([0 if place // 3 in left_out else value for place, value in enumerate(joined)])
        with drawing.group(state=f"left:{state}", rest=state > 0, step=2):
            _carry(drawing, middle, w_o, left_out, top + 31, foot - 2)
            for column, value in enumerate(kept @ w_o):
                meets = [place for place in np.flatnonzero(w_o[:, column]) if place // 3 not in left_out]
                _column(drawing, middle[column], foot, value, meets, step=3, come=(0, -40))
    for place, name in enumerate(columns):
        drawing.text(middle[place], foot + 44, name, size=14, role="quiet", step=2)
    for state, label in enumerate(("both heads", "without ●", "without ◆")):
        with drawing.group(press=f"left:{state}", label=f"Show {label}", step=4):
            drawing.word(68 + 132 * state, 338, label, width=120)
        drawing.word(68 + 132 * state, 338, label, width=120, role="ink", state=f"left:{state}", rest=state > 0, step=4)
    return _told(drawing, joined, names, columns, w_o)


def _carry(drawing: Drawing, middle, w_o, left_out, top: float, foot: float) -> None:
    """Draw an arrow for each entry of W_O that is not 0; those that lead to one column meet at a plus."""
    for column in range(6):
        meets = [place for place in np.flatnonzero(w_o[:, column]) if place // 3 not in left_out]
        x1, end = middle[column], foot - (46 if len(meets) > 1 else 9)
        for place in meets:
            head = int(place // 3)
            data = f"M{middle[place]:.1f} {top}C{middle[place]:.1f} {top + 76} {x1:.1f} {end - 76} {x1:.1f} {end}"
            drawing.path(data, stroke=ROLES[head], thick=2.5, dash="5 6" if head else None, come=None if head else "draw")
        if meets:
            role = "ink" if len(meets) > 1 else ROLES[int(meets[0] // 3)]
            drawing.arrow((x1, end), (x1, foot), role=role, thick=2.5)
        if len(meets) > 1:
            drawing.circle(x1, end, 11, fill="paper", stroke="ink")
            drawing.path(f"M{x1 - 5:.1f} {end}h10M{x1:.1f} {end - 5}v10", stroke="ink", thick=2)


def _column(drawing: Drawing, x: float, y: float, value: float, meets, **belongs) -> None:
    role = ROLES[int(meets[0] // 3)] if len(meets) == 1 else "ink" if meets else "quiet"
    with drawing.group(**belongs):
        drawing.box(x - COLUMN / 2 + 3, y, COLUMN - 6, 30, fill="soft" if meets else None, stroke=role, thick=1.5, radius=3)
        drawing.text(x, y + 15, number(value), bold=bool(meets), role=role)


def _told(drawing: Drawing, joined, names, columns, w_o) -> Picture:
    total = joined @ w_o
    both = [column for column in range(6) if np.count_nonzero(w_o[:, column]) > 1]
    none = [column for column in range(6) if not w_o[:, column].any()]
    sums = (
        " + ".join(number(joined[place]) for place in np.flatnonzero(w_o[:, column])) + f" = {number(total[column])}" for column in both
    )
    meet = ", ".join(f"in <b>{columns[column]}</b>, {line}" for column, line in zip(both, sums))
    empty = " and ".join(f"<b>{columns[column]}</b>" for column in none)
    told = [
        "Each head has answered with three numbers. Joined, they are six, and their columns are not those of the model.",
        "W<sub>O</sub> carries every number to a column of the model. Each arrow is an entry of this matrix that is not 0.",
        f"Where two arrows meet, the numbers are added: {meet}. " + (f"No arrow leads to {empty}, so it gets 0." if none else ""),
    ]
    ends = ["Take the arrows of one head away: what the other brings stays as it is."]
    for head in (0, 1):
        left = np.where(np.arange(6) // 3 == head, 0, joined) @ w_o
        lost = [f"{columns[column]} falls to {number(left[column])}" for column in range(6) if not np.isclose(left[column], total[column])]
        ends.append(f"Without {MARKS[head]}, {', '.join(lost)}. The output is a <b>sum</b> over the heads.")
    description = f"The joined answers {_named(joined, [*names[0], *names[1]])} become {_named(total, columns)}"
    return Picture(
        name="joining",
        title="One more matrix carries each number to the column with its name",
        description=description,
        drawing=drawing,
        steps=by_state("left", [[*told, end] for end in ends]),
        chosen={"left": "0"},
    )


GUTTER, ROW = 54.0, 22.0  # room for the words at the left of a grid, and from one row of it to the next
LANES = (GUTTER, 228.0)  # where the two heads begin
WIDE = 57.0  # from one column of the model to the next


def all_in_one(
    words: Sequence[str],
    x: Float[np.ndarray, "i m"],
    matrices: Sequence[Head],
    w_o: Float[np.ndarray, "he m"],
    *,
    columns: Sequence[str],
    value_names: Sequence[Sequence[str]],
    sections: Sequence[str],
) -> Picture:
    """Draw the whole layer with its numbers: words, projections, weights and answers of two heads, and the output.

    A touch on a word lights its rows, a touch on a head what belongs to it.

    Args:
        words: four or so.
        x: a row for each word; as the queries, keys and values, whole numbers of one digit.
        matrices: of the two heads, each W_Q, W_K (two columns) and W_V (three).
        w_o: six rows.
        columns: of the model, six.
        value_names: for each head, the columns of its values.
        sections: the anchors to which the headings of the five stages lead.

    >>> one = (np.eye(6)[:, :2], np.eye(6)[:, :2], np.eye(6)[:, :3])
    >>> names = {"columns": "abcdef", "value_names": ["abc", "def"], "sections": "12345"}
    >>> all_in_one(["x", "y"], np.eye(6)[:2], [one, one], np.eye(6), **names).title
    'Multi-head attention, all of it'
    """
    x, w_o = np.asarray(x, float), np.asarray(w_o, float)
    projected = [tuple(x @ w for w in head) for head in matrices]
    answers = [scaled_dot_product_attention(*head) for head in projected]
    output = np.concatenate([answer for answer, _ in answers], axis=1) @ w_o
    rows = len(words)
    deep = rows * ROW
    tops = [70.0]  # of the grid of each stage
    tops.append(tops[0] + rows * 29 + 86)
    tops.append(tops[1] + deep + 56)
    tops.append(tops[2] + deep + 70)
    tops.append(tops[3] + deep + 78)
    drawing = Drawing(400, int(tops[4] + deep + 44))
    told = ["the words: X", "two heads", f"softmax(Q Kᵀ / √{projected[0][0].shape[1]}): the weights"]
    told += ["weights × V: an answer per head", "× W_O"]  # short, since curves come down beside it

    def named(top: float, high: float = ROW, **belongs) -> None:
        for place, word in enumerate(words):
            drawing.text(GUTTER - 8, top + high * (place + 0.5), word, anchor="end", size=14, lit=f"row-{place} head-0 head-1", **belongs)

    both = "head-0 head-1"
    every = " ".join(f"row-{row}" for row in range(rows))
    for column, name in enumerate(columns):
        far = 14 + 17 * (column % 2)  # long names stand clear of their neighbours
        drawing.text(GUTTER + WIDE * (column + 0.5), tops[0] - far, name, role="quiet", size=14)
        drawing.text(GUTTER + WIDE * (column + 0.5), tops[4] + deep + far, name, role="quiet", size=14, step=5)
    for place, word in enumerate(words):
        y = tops[0] + 29 * place
        with drawing.group(lit=f"row-{place} {both}"):
            _row(drawing, GUTTER, y + 2, WIDE, x[place], "ink", high=24)
        with drawing.group(light=f"row-{place}", lit=f"row-{place} {both}", label=f"Follow {word}"):  # its name has no numbers
            drawing.text(GUTTER - 8, y + 14, word, anchor="end", size=14)
            drawing.box(0, y, GUTTER + 6 * WIDE, 29, fill="paper", strength=0.0)
        with drawing.group(step=5, lit=f"row-{place} {both}"):
            _row(drawing, GUTTER, tops[4] + ROW * place, WIDE, output[place], "ink")
    for stage in (1, 2, 3, 4):
        named(tops[stage], step=stage + 1)
    for head, ((q, k, v), (answer, weights)) in enumerate(zip(projected, answers)):
        left, role, lit = LANES[head], ROLES[head], f"head-{head}"
        with drawing.group(step=2):
            drawing.arrow((left + 80, tops[1] - 84), (left + 80, tops[1] - 55), role=role, thick=2)
            with drawing.group(light=lit, lit=f"{lit} {every}", label=f"See head {head + 1} alone"):
                drawing.box(left + 30, tops[1] - 54, 100, 28, fill="paper", stroke=role, radius=14)
                drawing.text(left + 80, tops[1] - 40, f"{MARKS[head]} head {head + 1}", role=role, bold=True)
            for shift, colour, name, numbers in ((0, "query", "Q", q), (47, "key", "K", k), (94, "value", "V", v)):
                drawing.text(left + shift + 10.5 * numbers.shape[1], tops[1] - 13, name, role=colour, bold=True, size=14)
                for place in range(rows):
                    with drawing.group(lit=f"{lit} {every if colour != 'query' else f'row-{place}'}"):
                        _row(drawing, left + shift, tops[1] + ROW * place, 21, numbers[place], colour)
        for place, word in enumerate(words):
            drawing.text(left + 41 * (place + 0.5), tops[2] - 13, word, role="quiet", size=14, step=3)
            with drawing.group(step=3, lit=f"{lit} row-{place}"):
                _row(drawing, left, tops[2] + ROW * place, 41, weights[place], role, deep=weights[place])
            with drawing.group(step=4, lit=f"{lit} row-{place}"):
                _row(drawing, left, tops[3] + ROW * place, WIDE, answer[place], role)
        for column, name in enumerate(value_names[head]):
            drawing.text(left + WIDE * (column + 0.5), tops[3] - 13 - 17 * (column % 2), name, role="quiet", size=14, step=4)
        with drawing.group(step=5, lit=f"{lit} {every}"):
            for row, column in np.argwhere(w_o[3 * head : 3 * head + 3]):
                x0, x1 = left + WIDE * (row + 0.5), GUTTER + WIDE * (column + 0.5)
                y0, y1 = tops[3] + deep + 1, tops[4] - 2
                data = f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + 60:.1f} {x1:.1f} {y1 - 60:.1f} {x1:.1f} {y1:.1f}"
                drawing.path(data, stroke=role, thick=2, dash="4 5" if head else None)
                drawing.path(f"M{x1 - 4:.1f} {y1 - 7:.1f}L{x1:.1f} {y1:.1f}L{x1 + 4:.1f} {y1 - 7:.1f}", stroke=role, thick=2)
    for stage, (top, heading, section, away) in enumerate(zip(tops, told, sections, (57, 76, 41, 56, 54))):
        with drawing.link(f"#{section}"):  # above what leads to the stage, so that it can be read
            drawing.box(0, top - away - 15, 34 + 8.4 * len(heading), 30, fill="paper")
            drawing.stage(top - away, stage + 1, heading, step=stage + 1)
    last = words[-1]
    steps = (
        "Each word is a row: one number in each column of the model; an empty cell is 0. Touch a word and follow it through the layer.",
        "Each head multiplies <b>all</b> columns by its own W<sub>Q</sub>, W<sub>K</sub> and W<sub>V</sub>. Touch a head to see it alone.",
        f"Each row holds one word’s weights, which add up to 1. <b>{last}</b> reads {_most(words, answers[0][1][-1])} with head 1 and "
        f"{_most(words, answers[1][1][-1])} with head 2.",
        "Each head adds up its values with its weights: three numbers for each word.",
        "The answers lie end to end, and W<sub>O</sub> carries them to the columns of the model. "
        f"For <b>{last}</b>: {_named(output[-1], columns)}.",
    )
    return Picture(
        name="all-in-one",
        title="Multi-head attention, all of it",
        description=f"{rows} words pass through two heads and W_O. {_description(words, answers, value_names, rows - 1)}; "
        f"the output is {_named(output[-1], columns)}",
        drawing=drawing,
        steps=steps,
        wide=28,
    )


def _row(drawing: Drawing, left: float, top: float, wide: float, numbers, role: str, *, deep=None, high: float = ROW) -> None:
    """Draw a row of a grid; ``deep`` gives each cell the depth of its colour."""
    for place, value in enumerate(numbers):
        strength = 0.08 + 0.92 * deep[place] if deep is not None else 0.1
        drawing.box(left + wide * place, top, wide - 1, high - 1, fill=role, strength=strength, radius=1)
        written = number(float(value))
        if written != "0":  # an empty cell says it, so that the others can be seen
            drawing.text(left + wide * (place + 0.5), top + high / 2, written, role="paper" if strength > 0.55 else "ink", size=14)
