"""Receptive fields: what moved after one position was changed."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap

from xformer_course.plots.style import MOVED_COLOURS, new_axes


def reach_map(
    moved: np.ndarray,
    rows: Sequence[str],
    *,
    changed: int,
    positions: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw which outputs moved after the input at one position was changed: light moved, dark did not.

    Args:
        moved: Booleans (row, position), such as one row for each number of layers.
        rows: What each row stands for.
        changed: The position whose input was changed; it is marked with a cross.
        positions: Words of the columns; their numbers when None.
        ax: Where to draw; new axes when None.
        title: A line above the picture.

    Raises:
        ValueError: If `moved` is not boolean, or the words or the position do not match its shape.
    """
    moved = np.asarray(moved)
    if moved.ndim != 2 or moved.dtype != np.bool_:
        raise ValueError(
            f"moved: expected booleans (row, position), got {moved.dtype} of shape {moved.shape}; "
            "compare two outputs, (before != after).any(axis=-1)"
        )
    positions = [str(place) for place in range(moved.shape[1])] if positions is None else positions
    for name, words, size in (("rows", rows, moved.shape[0]), ("positions", positions, moved.shape[1])):
        if isinstance(words, str) or len(words) != size:
            raise ValueError(f"{name}: expected a list of {size} words, got {words!r}; one for each of them")
    if not 0 <= changed < moved.shape[1]:
        raise ValueError(f"changed: expected a position, 0 to {moved.shape[1] - 1}, got {changed}; count from 0")
    ax = new_axes(ax, (min(9.0, 2.6 + 0.42 * moved.shape[1]), 1.2 + 0.45 * moved.shape[0]))
    scale = BoundaryNorm([-0.5, 0.5, 1.5], 2)
    image = ax.imshow(moved.astype(int), cmap=ListedColormap(MOVED_COLOURS), norm=scale, aspect="auto")
    ax.set_xticks(range(len(positions)), positions)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(np.arange(moved.shape[1] - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(moved.shape[0] - 1) + 0.5, minor=True)
    ax.tick_params(which="minor", length=0)
    ax.grid(False)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.spines[:].set_visible(False)
    ax.plot([changed], [0], marker="X", linestyle="", color="black", markersize=8)
    ax.set(xlabel="position of the output (× : its input was changed)")
    ax.set_title(title or "")
    bar = ax.figure.colorbar(image, ax=ax, ticks=[0, 1])
    bar.ax.set_yticklabels(["stayed", "moved"])
    return ax
