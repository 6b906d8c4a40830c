"""The whole encoder–decoder as one map: two streams, what is added to them, and the memory that every decoder layer reads."""

from collections.abc import Sequence
from typing import Any

from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.picture import Picture

__all__ = ["machine"]

BOX, HIGH, RISE = 130.0, 29.0, 50.0  # a sublayer's box, and the room that it takes on its stream
LEFT, RIGHT = 26.0, 374.0  # the two streams
BUS = 197.0  # the way of the memory to the decoder
MORE = 40.0  # the room of a layer that is drawn closed
STRIP = 18.0  # the height of a word's vector on its way


def machine(
    source: Sequence[str], target_in: Sequence[str], *, d_model: int, num_heads: int, d_ff: int, vocab_size: int, num_layers: int = 3
) -> Picture:
    """Draw an encoder–decoder with its shapes; each step, or a press on a box, tells what happens there.

    >>> picture = machine(["Hi", "<eos>"], ["<bos>"], d_model=8, num_heads=2, d_ff=16, vocab_size=9, num_layers=1)
    >>> picture.steps[0]
    '<b>Source.</b> The words as ids, the end sign last: shape (2,). Begin here and read upwards.'
    """
    s, t = len(source), len(target_in)
    stations = _stations(s, t, d_model, num_heads, d_ff, vocab_size, num_layers)
    number = {name: count for count, (name, _) in enumerate(stations, start=1)}
    top = 132.0  # of the decoder's layers
    more = (num_layers - 1) * MORE
    foot = top + 3 * RISE + 8 + more  # where both streams begin
    shelf = foot - 2 * RISE - 8 - more  # the top of the encoder's layers
    drawing = Drawing(400, int(foot + 96))

    outlines: dict[int, tuple[float, float, float, float]] = {}  # what marks a station, by its count

    def station(name: str, x: float, y: float, width: float, text: str, role: str, *, strength: float = 0.16) -> None:
        """Draw a box that a press opens."""
        count = number[name]
        with drawing.group(press=f"step:{count}", label=f"Explain {text}"):
            drawing.box(x, y, width, HIGH, fill="paper", radius=6)
            drawing.box(x, y, width, HIGH, fill=role, stroke=role, strength=strength, radius=6)
            drawing.text(x + width / 2, y + HIGH / 2, text, size=14)
        outlines[count] = x - 2, y - 2, width + 4, HIGH + 4

    def sublayer(name: str, x: float, y: float, side: int, text: str, role: str, letters: str) -> None:
        """Draw one branch of a stream: the norm, the box, and the way back to the plus."""
        left = x + 20 if side > 0 else x - 20 - BOX
        enter = x + side * 46
        drawing.path(f"M{x} {y + 40}H{enter}V{y + HIGH}", stroke="quiet")
        drawing.box(enter - 9, y + 30, 18, 6, fill="paper", stroke="ink", thick=1.2, radius=1)
        if letters:
            drawing.letters(enter + side * 14, y + 42, letters, anchor="start" if side > 0 else "end")
        drawing.path(f"M{x + side * 20} {y + 10}H{x + side * 9}", stroke="quiet")
        station(name, left, y, BOX, text, role)
        drawing.plus(x, y + 10)

    for line, told in enumerate(("norm", "added to the stream")):
        y = 14.0 + 26 * line
        if line:
            drawing.plus(13, y)
        else:
            drawing.box(4, y - 3, 18, 6, fill="paper", stroke="ink", thick=1.2, radius=1)
        drawing.text(30, y, told, anchor="start", size=14, role="quiet")
    for x, y in ((LEFT, shelf - 17), (RIGHT, top - 29)):
        drawing.path(f"M{x} {foot + 12}V{y}", stroke="ink", thick=3)
    for left, rise in ((LEFT - 14, 2 * RISE), (RIGHT - BOX - 28, 3 * RISE)):  # the first layer open, the others closed
        drawing.box(left, foot - rise - 2, BOX + 42, rise + 2, stroke="line", thick=1, radius=8)
        for layer in range(2, num_layers + 1):
            y = foot - rise - 8 - (layer - 1) * MORE
            drawing.box(left, y, BOX + 42, MORE - 8, stroke="line", thick=1, radius=8)
            drawing.text(left + BOX / 2 + 21, y + MORE / 2 - 4, f"layer {layer}, built alike", size=14, role="quiet")
    sublayer("encoder attention", LEFT, foot - RISE, 1, "attention", "weight", "q k v")
    sublayer("encoder forward", LEFT, foot - 2 * RISE, 1, "feed-forward", "line", "")
    sublayer("decoder attention", RIGHT, foot - RISE, -1, "masked attention", "weight", "q k v")
    cross = foot - 2 * RISE
    sublayer("cross attention", RIGHT, cross, -1, "attention to Z", "weight", "q")
    sublayer("decoder forward", RIGHT, foot - 3 * RISE, -1, "feed-forward", "line", "")
    reading = [cross + 13, *(foot - 3 * RISE - 12 - layer * MORE + MORE / 2 for layer in range(1, num_layers))]
    for y in reading:
        drawing.arrow((BUS, y), (RIGHT - 20 - BOX - 1 if y == cross + 13 else RIGHT - BOX - 29, y), role="ink")
    drawing.letters(BUS, cross + 30, "k v", anchor="middle")
    flows = number["cross attention"]
    for y in reading:  # while cross-attention is told of, the memory is seen to flow into every layer
        start = f"M{LEFT + BOX + 28} {shelf - 33}H{BUS}V{y}H{RIGHT - 22 - BOX if y == cross + 13 else RIGHT - BOX - 30}"
        drawing.path(start, stroke="accent", thick=4, step=flows, until=flows + 1, come="draw", late=1)

    for name, x, words in (("source", LEFT, source), ("target", RIGHT, target_in)):
        left, anchor = (8.0, "start") if x == LEFT else (392.0, "end")
        box = LEFT - 14 if x == LEFT else RIGHT - BOX - 28
        station(f"{name} embedding", box, foot + 12, BOX + 42, "embedding + position", "matrix")
        drawing.text(left, foot + 56, " ".join(words), anchor=anchor, size=14)
        left = left - 6 if anchor == "start" else left - 178
        with drawing.group(press=f"step:{number[name]}", label=f"Explain the {name}"):
            drawing.box(left, foot + 43, 184, 28, fill="paper", strength=0.0)
        outlines[number[name]] = left, foot + 43, 184, 28
    drawing.text(4, foot + 82, "↑ begin here", anchor="start", role="accent", size=14, bold=True)
    drawing.text(396, foot + 82, "target, one position later", anchor="end", role="quiet", size=14)

    station("memory", LEFT - 14, shelf - 46, BOX + 42, f"norm, Z: {s} × {d_model}", "line", strength=0.3)
    drawing.path(f"M{LEFT + BOX + 28} {shelf - 33}H{BUS}M{BUS} {min(*reading, shelf - 33)}V{max(reading)}", stroke="ink", thick=2)
    station("logits", RIGHT - BOX - 28, top - 58, BOX + 42, f"norm, × Eᵀ: {t} × {vocab_size}", "matrix")
    station("softmax", RIGHT - BOX - 28, top - 96, BOX + 42, "softmax: next words", "line", strength=0.3)
    drawing.path(f"M{RIGHT - 60} {top - 58}V{top - 67}M{RIGHT - 60} {top - 96}V{top - 103}", stroke="ink", thick=3)

    def strips(x: float, y: float, words: Sequence[str], **belongs: Any) -> None:
        """Draw the vectors of a sentence on their way, a strip for each word."""
        with drawing.group(**belongs):
            for word in range(len(words)):
                drawing.box(x + 7 * word, y, 5.5, STRIP, fill="accent", stroke="paper", thick=1, radius=1)

    def travel(x: float, words: Sequence[str], names: Sequence[str], heights: Sequence[float], stays: bool) -> None:
        """At every station the sentence arrives from the one before."""
        for place, (name, y) in enumerate(zip(names, heights)):
            came = heights[place - 1] - y if place else 40.0
            last = {} if stays and place + 1 == len(names) else {"until": number[name] + 1}
            strips(x - 3.5 * len(words), y, words, step=number[name], come=(0, came), late=0.5, **last)

    above = [foot - 10, *(foot - RISE * count - 14 for count in range(1, 4))]  # the embedding, and each sublayer
    travel(LEFT, source, ["source embedding", "encoder attention", "encoder forward", "memory"], [*above[:3], shelf - 67], True)
    steps = ["target embedding", "decoder attention", "cross attention", "decoder forward", "logits"]
    travel(RIGHT, target_in, steps, [*above, top - 26], False)
    x, y = RIGHT - BOX + 14, cross + 6  # cross-attention reads the memory, which flies there and is gone
    strips(x, y, source, step=flows, until=flows + 1, come=("ghost", LEFT - x, shelf - 67 - y), late=1)
    come_out = " ".join([*target_in[1:], "<eos>"])
    drawing.text(396, 20, come_out, anchor="end", role="accent", size=14, bold=True, step=number["softmax"], come=(0, 50), late=0.5)
    before = outlines[1]
    for count, mark in sorted(outlines.items()):  # each comes from the station before
        came = before[0] - mark[0], before[1] - mark[1]
        drawing.box(*mark, stroke="accent", thick=3.5, radius=8, step=count, until=count + 1, come=came)
        before = mark
    description = (
        f"Left a stream for the source with {num_layers} layers of attention and feed-forward, ending in the memory Z. Right one for the "
        f"target with {num_layers} layers of masked attention, attention to Z and feed-forward, ending in logits and softmax. Z leads into "
        "every decoder layer"
    )
    return Picture(
        name="machine",
        title="The whole model on one map: read from the bottom",
        description=description,
        drawing=drawing,
        steps=tuple(text for _, text in stations),
        wide=28,
    )


def _stations(s: int, t: int, m: int, h: int, f: int, v: int, layers: int) -> list[tuple[str, str]]:
    """Return the stations in the order of the computation, each with what is told there."""
    more = f" Layer 2 to {layers} are built alike, with weights of their own." if layers > 1 else ""
    return [
        ("source", f"<b>Source.</b> The words as ids, the end sign last: shape ({s},). Begin here and read upwards."),
        (
            "source embedding",
            "<b>Embedding.</b> Each word becomes a vector, a strip here; follow them. It knows only which word it is, from its row of the "
            f"matrix E ({v} × {m}, times √{m}), and where it stands, from its position's row, which is added: ({s}, {m}).",
        ),
        (
            "encoder attention",
            f"<b>Self-attention.</b> Every word reads every word, in {h} heads, and adds what it finds to what it was. Queries, keys and "
            f"values all come from the source: weights ({h}, {s}, {s}). The stream stays ({s}, {m}).",
        ),
        (
            "encoder forward",
            f"<b>Feed-forward.</b> Each word works alone on what it has read: up to {f} numbers, through max(0, ·), and back to {m}. Then "
            f"the layer is done.{more}",
        ),
        (
            "memory",
            f"<b>Memory.</b> After the last layer a LayerNorm. Z, ({s}, {m}), is all that the decoder learns of the source: a vector for "
            "each word that knows the whole sentence.",
        ),
        (
            "target",
            f"<b>Target.</b> What has been written so far, behind the start sign: ({t},). A translation begins with the start sign alone "
            "and gets longer by a word in each run. In training all of it is given.",
        ),
        ("target embedding", f"<b>Embedding.</b> The same matrix E and the same positions: ({t}, {m})."),
        (
            "decoder attention",
            "<b>Masked self-attention.</b> As in the encoder, but a word may read only itself and earlier words, since the others are yet "
            f"to be written: weights ({h}, {t}, {t}), a triangle.",
        ),
        (
            "cross attention",
            f"<b>Cross-attention.</b> Each target word reads the source: its query meets keys and values from Z. Weights ({h}, {t}, {s}), "
            "a row for each target word, a column for each source word. Every decoder layer reads the same Z.",
        ),
        ("decoder forward", f"<b>Feed-forward.</b> Each target word alone, through {f} numbers and back to {m}.{more}"),
        (
            "logits",
            f"<b>Logits.</b> How well would each of the {v} words fit next? After a LayerNorm each vector is compared with every row of E: "
            f"({t}, {v}).",
        ),
        (
            "softmax",
            f"<b>Softmax.</b> The {v} numbers of each row become probabilities. In a trained model the words above are the likeliest: the "
            "target, moved by one, with the next word at its end.",
        ),
    ]
