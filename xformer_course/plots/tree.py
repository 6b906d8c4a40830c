"""A beam search as the tree of what it weighed."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from xformer_course.plots.style import OKABE_ITO, new_axes

_KINDS: dict[str, tuple[str, str, Any, str]] = {  # edge colour, fill, line style, weight of the letters
    "kept": (OKABE_ITO[0], "#D6E9F5", "-", "normal"),
    "finished": (OKABE_ITO[2], "#CDEBE0", "-", "bold"),
    "dropped": ("#8A8A8A", "white", ":", "normal"),
}


def beam_tree(
    steps: Sequence[Sequence[tuple[tuple[str, ...], float]]], size: int, *, end: str = "<eos>", root: str = "<bos>", ax: Axes | None = None
) -> Axes:
    """Draw every extension that a beam search weighed, step by step to the right: kept, finished or dropped.

    Args:
        steps: For each step the extensions (words, probability), likeliest first, as the search sorted them.
        size: How many the beam keeps of each step.
        end: The word that finishes a sentence.
        root: What stands at the start.
        ax: Where to draw; new axes when None.

    Raises:
        ValueError: If an extension's beginning was not kept in the step before.
    """
    kinds: dict[tuple[str, ...], str] = {(): "kept"}
    chances: dict[tuple[str, ...], float] = {}
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = {(): []}
    for number, step in enumerate(steps):
        for rank, (said, chance) in enumerate(step):
            if kinds.get(said[:-1]) != "kept" or len(said) != number + 1:
                raise ValueError(
                    f"steps: expected extensions of what step {number} kept, got {' '.join(said)!r} in step "
                    f"{number + 1}; give the steps in their order, each likeliest first"
                )
            kinds[said] = "dropped" if rank >= size else "finished" if said[-1] == end else "kept"
            chances[said] = chance
            children[said[:-1]].append(said)
            children[said] = []
    heights = _heights(children)
    leaves = sum(not below for below in children.values())
    ax = new_axes(ax, (min(9.0, 1.0 + 1.75 * len(steps)), 0.8 + 0.42 * leaves))
    for said, kind in kinds.items():
        edge, fill, style, weight = _KINDS[kind]
        place = (len(said), heights[said])
        if said:
            ax.plot(
                [len(said) - 1, len(said)],
                [heights[said[:-1]], heights[said]],
                color=edge,
                linestyle=style,
                linewidth=1.6,
                marker="",
                zorder=1,
            )
        ax.text(
            *place,
            f"{said[-1]}  {chances[said]:.3f}" if said else root,
            ha="center",
            va="center",
            fontsize=10,
            weight=weight,
            zorder=2,
            color="#555555" if kind == "dropped" else "black",
            bbox={"boxstyle": "round,pad=0.3", "facecolor": fill, "edgecolor": edge, "linestyle": style},
        )
    handles = [
        Line2D([], [], color=edge, linestyle=style, marker="", linewidth=1.6, label=kind) for kind, (edge, _, style, _) in _KINDS.items()
    ]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(handles))
    ax.set(xlim=(-0.4, len(steps) + 0.5), ylim=(leaves - 0.5, -0.5))
    ax.set_xticks(range(len(steps) + 1), ["", *(f"step {n + 1}" for n in range(len(steps)))])
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return ax


def _heights(children: dict) -> dict:
    """Leaves on rows of their own, likeliest branch first; above them the middle of what follows."""
    heights, rows = {}, iter(range(len(children)))

    def place(said):
        below = [place(child) for child in children[said]]
        heights[said] = sum(below) / len(below) if below else next(rows)
        return heights[said]

    place(())
    return heights
