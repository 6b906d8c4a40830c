"""The encoder–decoder as boxes and arrows, with a shape on every arrow."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from xformer_course.plots.style import ROLES, new_axes

_BOX_COLOURS = {"shared": "#F5D58A", "attention": "#E4D6EC", "plain": "#EEEEEE"}
_LETTERS = {"q": "query", "k": "key", "v": "value"}


def _column(ax: Axes, x: float, start: str, boxes: Sequence[tuple[float, str, str, str | None]]) -> None:
    """Boxes above each other, each joined to the next by an arrow that carries its output's shape."""
    ax.text(x, 0.5, start, ha="center", va="center")
    below, carried = 0.8, None
    for y, text, kind, shape in boxes:
        half = 0.3 + 0.17 * text.count("\n")  # of the height of the box
        _arrow(ax, (x, below), (x, y - half))
        if carried:
            ax.text(x + 0.15, (below + y - half) / 2, carried, ha="left", va="center", fontsize=9, color="#333333")
        if kind == "attention":
            _roles(ax, "q" if text.startswith("cross") else "qkv", x - 0.2, (below + y - half) / 2)
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=10,
            bbox={"boxstyle": "round,pad=0.45", "facecolor": _BOX_COLOURS[kind], "edgecolor": "#333333"},
        )
        below, carried = y + half, shape


def _roles(ax: Axes, letters: str, right: float, y: float) -> None:
    """What an arrow brings into attention: q, k and v in the colours of their roles, ending at `right`."""
    for place, letter in enumerate(reversed(letters)):
        colour = ROLES[_LETTERS[letter]]
        ax.text(right - 0.4 * place, y, letter, ha="right", va="center", fontsize=10, weight="bold", color=colour)


def _layer_frame(ax: Axes, x: float, bottom: float, top: float, text: str) -> None:
    ax.add_patch(plt.Rectangle((x - 2.3, bottom), 4.6, top - bottom - 0.65, fill=False, ls="--", ec="#777777"))
    ax.text(x - 2.2, top - 0.75, text, ha="left", va="top", fontsize=8, color="#555555")


def _memory_arrow(ax: Axes, text: str) -> None:
    """From the top of the encoder, over, and into cross-attention."""
    _arrow(ax, (2.4, 7.9), (2.4, 8.65))
    ax.text(2.4, 9.1, text, ha="center", va="center", fontsize=10, weight="bold")
    ax.plot([3.4, 4.9, 4.9], [9.1, 9.1, 5.6], color="#333333", lw=1.2, ls="-", marker="")
    _arrow(ax, (4.9, 5.6), (6.2, 5.6))
    _roles(ax, "kv", 5.75, 5.85)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#333333", "lw": 1.2, "shrinkA": 0, "shrinkB": 0})


def architecture(config, *, src_len: int, tgt_len: int, ax: Axes | None = None) -> Axes:
    """Draw an encoder–decoder from its ids up to its probabilities, with the shape on every arrow.

    Letters beside the arrows into attention say what comes in: queries q, keys k, values v, each in its colour.

    Args:
        config: Anything with `vocab_size`, `d_model`, `num_encoder_layers` and `num_decoder_layers`.
        src_len: Tokens of the source, s.
        tgt_len: Tokens of the decoder's input, t.
        ax: Where to draw; new axes when None.
    """
    ax = new_axes(ax, (5.2, 8.0))
    ax.set(xlim=(0, 10), ylim=(0, 13.4))
    ax.axis("off")
    source, target = f"({src_len}, {config.d_model})", f"({tgt_len}, {config.d_model})"
    _layer_frame(ax, 2.4, 3.35, 7.0, f"{config.num_encoder_layers} encoder layers")
    _layer_frame(ax, 7.4, 3.35, 8.7, f"{config.num_decoder_layers} decoder layers")
    _column(
        ax,
        2.4,
        f"source ids ({src_len},)",
        [
            (2.1, "embedding · √m\n+ positions", "shared", source),
            (3.9, "self-attention", "attention", source),
            (5.6, "feed-forward", "plain", source),
            (7.6, "LayerNorm", "plain", source),
        ],
    )
    _column(
        ax,
        7.4,
        f"target_in ids ({tgt_len},)",
        [
            (2.1, "embedding · √m\n+ positions", "shared", target),
            (3.9, "masked\nself-attention", "attention", target),
            (5.6, "cross-attention", "attention", target),
            (7.3, "feed-forward", "plain", target),
            (9.3, "LayerNorm", "plain", target),
            (10.9, "embedding\ntransposed", "shared", f"logits ({tgt_len}, {config.vocab_size})"),
            (12.4, "softmax over\nthe words", "plain", None),
        ],
    )
    _memory_arrow(ax, f"memory Z\n{source}")
    ax.text(
        0.1,
        12.4,
        "yellow: one shared matrix\nviolet: attention, which\nreads queries q, keys k\nand values v",
        ha="left",
        va="center",
        fontsize=9,
    )
    return ax
