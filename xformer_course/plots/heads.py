"""What each head of a layer reads of an input."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from xformer_course.plots.style import WEIGHTS, frame, new_axes


def influence_map(
    influence: np.ndarray,
    columns: Sequence[str],
    *,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    vmax: float | None = None,
    xlabel: str = "column of the input",
    colorbar: bool = True,
    label: str = "influence",
) -> Axes:
    """Draw how strongly each head reacts to each column of its input; a cell without any influence is crossed out.

    Args:
        influence: (h, m), at least 0; exactly 0 where the head does not see the column.
        columns: The m names of the input's columns.
        ax: Where to draw; new axes when None.
        names: Labels of the heads; "head 1", "head 2", … when None.
        title: A line above the map.
        vmax: Influence of the deepest colour; the largest one when None.
        xlabel: Name of the horizontal axis.
        colorbar: Draw the scale beside the map.
        label: What the scale beside the map measures, with its unit.

    Raises:
        ValueError: If columns or names do not match the shape, or an influence is negative.
    """
    table = _table("influence", influence, columns)
    names = _names(names, len(table))
    if (table < 0).any():
        raise ValueError(f"influence: expected sizes of at least 0, got {table.min():g}; take the absolute value")
    ax = new_axes(ax, (2.4 + 0.5 * table.shape[1], 1.2 + 0.5 * len(table)))
    image = ax.imshow(table, cmap=WEIGHTS, vmin=0.0, vmax=table.max() if vmax is None else vmax, aspect="auto")
    ax.set_xticks(range(table.shape[1]), columns)
    ax.set_yticks(range(len(table)), names)
    ax.set(xlabel=xlabel)
    ax.set_title(title or "")
    ax.grid(False)
    frame(ax)
    for row, column in np.argwhere(table == 0.0):
        ax.text(column, row, "×", ha="center", va="center", color="black", fontsize=13)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def _table(name: str, array: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    table = np.asarray(array, dtype=float)
    if table.ndim != 2 or table.shape[1] != len(columns):
        transposed = table.ndim == 2 and len(table) == len(columns)
        hint = "it is transposed, draw its .T" if transposed else "give one name per column"
        raise ValueError(f"{name}: expected (head, {len(columns)} columns), got shape {table.shape}; {hint}")
    return table


def _names(names: Sequence[str] | None, num_heads: int) -> list[str]:
    if names is None:
        return [f"head {number}" for number in range(1, num_heads + 1)]
    if len(names) != num_heads:
        raise ValueError(f"names: expected one for each of {num_heads} heads, got {len(names)}; add or drop some")
    return list(names)
