"""Lines between places of a sentence: dependency arcs, and the wiring of a layer."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc

from xformer_course.plots.style import OKABE_ITO, new_axes

PLAIN = "#555555"
MARKED = OKABE_ITO[1]
FAINT = "#c4c4c4"

Node = tuple[int, int]


def dependency_arcs(
    words: Sequence[str],
    heads: Sequence[int | None],
    *,
    marked: Collection[tuple[int, int]] = (),
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a sentence with an arc from every word's head to the word, its length written at the top.

    The arrow points at the dependent word. The height of an arc is in proportion to its length, so that
    arcs over the same words nest, and arcs that cross are seen to cross.

    Args:
        words: The words, left to right.
        heads: For each word the position of its head, or None for the root.
        marked: Arcs (head, word) to draw thick and coloured.
        ax: Where to draw; new axes when None.
        title: A line above the arcs.

    Raises:
        ValueError: If there is not one head for each word, a head lies outside the sentence, a word is its
            own head, or a marked arc is not in the tree.
    """
    arcs = _arcs(words, heads)
    missing = sorted(set(marked) - set(arcs))
    if missing:
        raise ValueError(f"marked: expected arcs (head, word) of the tree, got {missing[0]}; one is {arcs[0]}")
    longest = max((abs(head - word) for head, word in arcs), default=1)
    neighbours = max(len(a + b) for a, b in zip(words, [*words[1:], ""], strict=True))
    pitch = max(0.6, 0.052 * neighbours + 0.09)  # inches from word to word: narrow, so that a phone can show it
    ax = new_axes(ax, (pitch * len(words), 1.2 + 0.5 * longest))
    for head, word in arcs:
        _arc(ax, head, word, (head, word) in marked)
    for place, (text, own_head) in enumerate(zip(words, heads, strict=True)):
        weight = "bold" if own_head is None else "normal"
        ax.text(place, -0.18, text, ha="center", va="top", fontsize=12, weight=weight)
    ax.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.7, 0.5 * longest + 0.35))
    ax.set_title(title or "")
    ax.axis("off")
    return ax


def wiring(
    reads: Mapping[Node, Sequence[Node]],
    *,
    path: Sequence[Node] = (),
    words: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw what every number of a layer is computed from, with one path through it in colour.

    Args:
        reads: For each node (layer, position) the nodes that it reads; layer 0 is the input, at the bottom.
        path: Nodes of the path, each of which is read by the next.
        words: Words under the input positions; their numbers when None.
        ax: Where to draw; new axes when None.
        title: A line above the drawing.

    Raises:
        ValueError: If a step of the path is not in the wiring, or there is not one word for each position.
    """
    nodes = sorted(set(reads) | {source for sources in reads.values() for source in sources})
    length = 1 + max(position for _, position in nodes)
    words = list(map(str, range(length))) if words is None else list(words)
    if len(words) != length:
        raise ValueError(f"words: expected {length}, one for each position, got {len(words)}; cut one to the other")
    steps = set(zip(path, path[1:], strict=False))
    wrong = [step for step in steps if step[0] not in reads.get(step[1], ())]
    if wrong:
        raise ValueError(f"path: expected each node to be read by the next, got {wrong[0]}; look at reads{wrong[0][1]}")
    depth = max(layer for layer, _ in nodes)
    ax = new_axes(ax, (0.55 * length + 0.6, 0.8 * depth + 1.3))
    for target, sources in reads.items():
        for source in sources:
            if (source, target) not in steps:
                _line(ax, source, target, FAINT, 1.0)
    for source, target in steps:
        _line(ax, source, target, MARKED, 2.4)
    for layer, position in nodes:
        on_path = (layer, position) in path
        ax.plot(
            position,
            layer,
            marker="o",
            ls="",
            ms=9,
            mec=MARKED if on_path else PLAIN,
            mew=1.6,
            mfc=MARKED if on_path else "white",
            zorder=3,
        )
    for position, word in enumerate(words):
        ax.text(position, -0.28, word, ha="center", va="top", fontsize=11)
    ax.set(xlim=(-0.6, length - 0.4), ylim=(-0.75, depth + 0.3))
    ax.set_title(title or "")
    ax.axis("off")
    return ax


def _arcs(words: Sequence[str], heads: Sequence[int | None]) -> list[tuple[int, int]]:
    if len(heads) != len(words):
        raise ValueError(f"heads: expected {len(words)}, one for each word, got {len(heads)}; the root's head is None")
    for word, head in enumerate(heads):
        if head is not None and not (0 <= head < len(words) and head != word):
            raise ValueError(
                f"heads: expected another word's position for {words[word]!r}, got {head}; "
                f"count from 0 to {len(words) - 1}, None for the root"
            )
    return [(head, word) for word, head in enumerate(heads) if head is not None]


def _arc(ax: Axes, head: int, word: int, marked: bool) -> None:
    """Half an ellipse, an arrowhead where it lands, and its length at the top."""
    length = abs(head - word)
    colour, width = (MARKED, 2.4) if marked else (PLAIN, 1.3)
    start, end = head + 0.16 * np.sign(word - head), word  # an arrow lands in the middle, others leave beside it
    middle, span = (start + end) / 2, abs(end - start)
    ax.add_patch(Arc((middle, 0), span, float(length), theta1=0, theta2=180, color=colour, lw=width))
    ax.plot(end, 0.02, marker="v", ls="", color=colour, ms=7 if marked else 5)
    ax.text(
        middle,
        length / 2,
        str(length),
        ha="center",
        va="center",
        fontsize=13,
        color=colour,
        weight="bold" if marked else "normal",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2},
    )


def _line(ax: Axes, source: Node, target: Node, colour: str, width: float) -> None:
    """From a node to the node that reads it."""
    ax.plot([source[1], target[1]], [source[0], target[0]], color=colour, lw=width, ls="-", marker="", zorder=1)
