"""A layer of 2017 and one of today, side by side: the same two branches, and five parts that have changed."""

from collections.abc import Mapping

from xformer_course.pictures.drawing import Drawing
from xformer_course.pictures.picture import Picture

__all__ = ["then_and_now"]

WIDE, LANE = 192.0, 14.0  # a column, and where its stream runs in it
LEFT, BOX = 42.0, 140.0  # the boxes of a branch
RIGHT = 208.0  # the second column
HEADS, ATTEND, NET = 380.0, 260.0, 84.0  # how far down they stand
NAMES = {"norm": "RMSNorm", "rotary": "rotate q and k", "qk-norm": "norm q and k", "grouped": "q, k and v", "gate": "gate, up, × and down"}


def then_and_now(*, d_model: int, num_heads: int, num_kv_heads: int, d_ff: int, gated_d_ff: int, sections: Mapping[str, str]) -> Picture:
    """Draw a layer of 2017 beside one of today; each step lights a part that has changed, and a press on it leads to its section.

    Args:
        d_model: width of both layers.
        num_heads: heads of queries, up to eight.
        num_kv_heads: heads of keys and values of the layer of today.
        d_ff: inner width of the net of 2017.
        gated_d_ff: that of the gated net.
        sections: the anchor of each changed part: norm, rotary, qk-norm, grouped, gate.

    >>> sizes = {"d_model": 512, "num_heads": 8, "num_kv_heads": 2, "d_ff": 2048, "gated_d_ff": 1365}
    >>> then_and_now(**sizes, sections=dict.fromkeys(NAMES, "here")).steps[4]
    '<b>Shared keys.</b> Two heads of keys and values serve 8 of queries. A token leaves 256 numbers in the cache instead of 1,024.'
    """
    d_head = d_model // num_heads
    drawing = Drawing(400, 562)
    drawing.text(WIDE / 2, 14, "2017", bold=True, size=17)
    drawing.text(RIGHT + WIDE / 2, 14, "today", bold=True, size=17)
    drawing.path(f"M{(WIDE + RIGHT) / 2:.0f} 6V556", stroke="line", dash="2 5", thick=1)

    for start, heads in ((0.0, num_heads), (RIGHT, num_kv_heads)):
        now = start > 0
        lane, left = start + LANE, start + LEFT
        drawing.path(f"M{lane} 506V34", stroke="ink", thick=3)
        drawing.path(f"M{lane - 6} 38L{lane} 28L{lane + 6} 38Z", stroke=None, fill="ink")
        drawing.text(left, 516, f"a word: {d_model} numbers", anchor="start", size=14)
        for enter, plus, below in ((492.0, 236.0, HEADS + 58), (204.0, 62.0, NET + 64)):  # the two branches
            drawing.path(f"M{lane} {enter}H{left + BOX / 2}V{below}", stroke="quiet", thick=2)
            drawing.path(f"M{left + BOX / 2} {plus + 22}V{plus}H{lane + 9}", stroke="quiet", thick=2)
            drawing.plus(lane, plus)
        for row, (role, count) in enumerate((("query", num_heads), ("key", heads), ("value", heads))):
            y = HEADS + 20.0 * row
            drawing.letters(left + 6, y + 13, "qkv"[row])
            for place in range(count):
                drawing.box(left + 20 + 15 * place, y, 13, 16, fill=role, stroke=role, strength=0.7, thick=1, radius=2)
        _box(drawing, left, ATTEND, BOX, "attention", "weight")
        drawing.path(f"M{left + BOX / 2} {HEADS - 2}V{ATTEND + 30}", stroke="quiet", thick=2)
        if now:
            _box(drawing, left, 336, BOX, "norm q and k", "line")
            _box(drawing, left, 298, BOX, "rotate q and k", "line")
            _box(drawing, left, 452, BOX, "RMSNorm", "line")
            _box(drawing, left, 164, BOX, "RMSNorm", "line")
            _box(drawing, left, NET + 36, 67, "gate", "line")
            _box(drawing, left + 73, NET + 36, 67, "up", "line")
            _box(drawing, left, NET, BOX, "×, then down", "line")
        else:
            drawing.text(left, 544, "position added, once", anchor="start", size=14)
            drawing.path(f"M{lane} 536V506", stroke="ink", thick=3)
            drawing.plus(lane, 544)
            _box(drawing, left, NET + 36, BOX, f"{d_model} → {d_ff:,}", "line")
            _box(drawing, left, NET, BOX, "max(0, ·), back", "line")
            for y in (214.0, 40.0):
                drawing.box(lane - 10, y, 20, 8, fill="paper", stroke="ink", radius=2)
                drawing.text(lane + 15, y + 4, "LayerNorm", anchor="start", size=14)

    where = {
        "norm": [(452.0, 28.0), (164.0, 28.0)], "rotary": [(298.0, 28.0)], "qk-norm": [(336.0, 28.0)],
        "grouped": [(HEADS - 3, 60.0)], "gate": [(NET, 64.0)],
    }  # fmt: skip
    for step, part in enumerate(NAMES, start=2):
        for y, high in where[part]:
            with drawing.link(f"#{sections[part]}", NAMES[part]):
                drawing.box(RIGHT + LEFT - 4, y - 3, BOX + 8, high + 6, fill="accent", strength=0.0)
                drawing.box(RIGHT + LEFT - 4, y - 4, BOX + 8, high + 8, stroke="accent", thick=3, step=step, radius=8)
    kept_then, kept_now = 2 * d_model, 2 * num_kv_heads * d_head
    net_then, net_now = 2 * d_model * d_ff, 3 * d_model * gated_d_ff
    number = {1: "One head", 2: "Two heads", 4: "Four heads"}.get(num_kv_heads, f"{num_kv_heads} heads")
    steps = (
        "Both layers read upwards: attention adds its answer to the word, and then a feed-forward net adds its own.",
        "<b>The norm.</b> In 2017 it stood on the stream, behind each plus. Today it stands in the branch, and it only divides.",
        "<b>Positions.</b> In 2017 a position was added to the word, once. Today each layer rotates queries and keys by their position.",
        "<b>QK-norm.</b> A second norm, head by head, limits the scores. It comes before the rotation.",
        f"<b>Shared keys.</b> {number} of keys and values serve {num_heads} of queries. A token leaves {kept_now:,} numbers in the "
        f"cache instead of {kept_then:,}.",
        f"<b>A gate.</b> Three matrices instead of two, each {gated_d_ff:,} wide instead of {d_ff:,}: {net_now:,} numbers instead of "
        f"{net_then:,}. A press on a lit part leads to its section.",
    )
    return Picture(
        name="then-and-now",
        title="The same two branches, and five parts that have changed",
        description=(
            f"Two layers side by side. Left, 2017: {num_heads} heads of queries, keys and values, attention, a plus, LayerNorm, a net "
            f"of two matrices, a plus, LayerNorm. Right, today: RMSNorm before each branch, {num_heads} heads of queries and "
            f"{num_kv_heads} of keys and values, queries and keys normed and rotated, attention, a plus, a gated net of three matrices"
        ),
        drawing=drawing,
        steps=steps,
    )


def _box(drawing: Drawing, x: float, y: float, width: float, words: str, role: str) -> None:
    drawing.box(x, y, width, 28, fill="paper", radius=6)
    drawing.box(x, y, width, 28, fill=role, stroke=role, strength=0.16, radius=6)
    drawing.text(x + width / 2, y + 14, words, size=14)
