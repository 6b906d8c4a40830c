"""Several heads in one picture: their maps on one scale, what they add to an output, what they read."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from xformer_course.plots.maps import attention_map
from xformer_course.plots.style import NO_ROLE, new_axes

HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
MAPS_A_ROW = 3


def head_maps(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    axes: np.ndarray | Sequence[Axes] | None = None,
    titles: Sequence[str] | None = None,
    values: bool = False,
    vmax: float = 1.0,
) -> np.ndarray:
    """Draw the weights of all heads side by side, on one scale, with one colour bar.

    Args:
        weights: (h, i, j); map n belongs to head n.
        queries: The i words of the rows.
        keys: The j words of the columns.
        axes: Where to draw, one axes a head; a new figure, at most three maps a row, when None.
        titles: A line above each map; "head 1", "head 2", … when None.
        values: Write each weight into its cell, with two decimals.
        vmax: Weight of the lightest colour, the same for all heads.

    Returns:
        The axes, one a head.

    Raises:
        ValueError: If the weights have no head axis, or axes or titles are not one a head.
    """
    weights = np.asarray(weights)
    if weights.ndim != 3:
        raise ValueError(
            f"weights: expected (head, query, key), got shape {weights.shape}; "
            f"give one map to attention_map, and of a batch one sentence, such as weights[0]"
        )
    num_heads = len(weights)
    titles = [f"head {number}" for number in range(1, num_heads + 1)] if titles is None else list(titles)
    axes = _grid(num_heads, len(queries), len(keys)) if axes is None else np.ravel(np.asarray(axes))
    for name, items in (("titles", titles), ("axes", axes)):
        if len(items) != num_heads:
            raise ValueError(f"{name}: expected one for each of {num_heads} heads, got {len(items)}; add or drop some")
    for ax, title, head in zip(axes, titles, weights, strict=True):
        attention_map(head, queries, keys, ax=ax, title=title, values=values, vmax=vmax, colorbar=False)
    image = axes[-1].images[0]
    axes[-1].figure.colorbar(image, ax=list(axes), label="attention weight")
    return axes


def head_contributions(
    contributions: np.ndarray,
    columns: Sequence[str],
    *,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
    title: str | None = None,
    ylabel: str = "output",
) -> Axes:
    """Draw what each head adds to one output vector: bars stacked column by column, a dash at their sum.

    Positive parts are stacked upwards from zero, negative ones downwards; the dash is the sum of both.

    Args:
        contributions: (h, m); row n is what head n adds.
        columns: The m names of the output's columns.
        ax: Where to draw; new axes when None.
        names: Labels of the heads; "head 1", "head 2", … when None.
        title: A line above the bars.
        ylabel: What the bars measure.

    Raises:
        ValueError: If columns or names do not match the shape.
    """
    table = _table("contributions", contributions, columns)
    names = _names(names, len(table))
    ax = new_axes(ax, (6.4, 3.4))
    places, above, below = np.arange(table.shape[1]), np.zeros(table.shape[1]), np.zeros(table.shape[1])
    for number, (name, row) in enumerate(zip(names, table, strict=True)):
        bottom = np.where(row >= 0, above, below)
        colour, hatch = NO_ROLE[number % len(NO_ROLE)], HATCHES[number % len(HATCHES)]
        ax.bar(places, row, 0.6, bottom=bottom, label=name, color=colour, hatch=hatch, edgecolor="white")
        above, below = above + np.maximum(row, 0), below + np.minimum(row, 0)
    ax.hlines(table.sum(axis=0), places - 0.38, places + 0.38, color="black", linewidth=2, label="sum")
    ax.axhline(0.0, color="#555555", linewidth=0.8, linestyle="-", marker="")
    ax.set_xticks(places, columns)
    ax.set(ylabel=ylabel)
    ax.set_title(title or "")
    ax.grid(axis="x", visible=False)
    ax.legend()
    return ax


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
        vmax: Influence of the lightest colour; the largest one when None.
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
    image = ax.imshow(table, cmap="viridis", vmin=0.0, vmax=table.max() if vmax is None else vmax, aspect="auto")
    ax.set_xticks(range(table.shape[1]), columns)
    ax.set_yticks(range(len(table)), names)
    ax.set(xlabel=xlabel)
    ax.set_title(title or "")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    for row, column in np.argwhere(table == 0.0):
        ax.text(column, row, "×", ha="center", va="center", color="white", fontsize=13)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def _grid(num_heads: int, num_queries: int, num_keys: int) -> np.ndarray:
    """Axes for all heads, at most three a row; a place that is left over is taken away."""
    columns = min(num_heads, MAPS_A_ROW)
    rows = -(-num_heads // columns)
    width = min(8.8, columns * (0.9 + 0.5 * num_keys) + 0.9)
    figure, axes = plt.subplots(rows, columns, figsize=(width, rows * (1.2 + 0.42 * num_queries)), squeeze=False)
    for ax in axes.flat[num_heads:]:
        figure.delaxes(ax)
    return axes.flat[:num_heads]


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
