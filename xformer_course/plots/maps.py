"""Matrices as coloured cells: attention weights, masks, tables of positions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from xformer_course.plots.style import HATCH, MASK_COLOURS, ROLES, WEIGHTS, frame, ink, new_axes


def attention_map(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    values: bool = False,
    colorbar: bool = True,
    vmax: float = 1.0,
    query_axis: str = "query",
    key_axis: str = "key",
) -> Axes:
    """Draw weights with one row per query and one column per key.

    Args:
        weights: (i, j); row i says how query i shares its attention out.
        queries: The i words of the rows.
        keys: The j words of the columns.
        ax: Where to draw; new axes when None.
        title: A line above the map.
        values: Write each weight into its cell, with two decimals.
        colorbar: Draw the scale beside the map; switch it off for all but one of several maps.
        vmax: Weight of the deepest colour; one value for all maps that are to be compared.
        query_axis: Name of the vertical axis; it must contain the word "query".
        key_axis: Name of the horizontal axis; it must contain the word "key".

    Raises:
        ValueError: If the words do not match the shape of the weights, or an axis lost its name.
    """
    weights = np.asarray(weights)
    _check_words("weights", weights, queries, keys)
    _check_axis_names(query_axis, key_axis)
    ax = new_axes(ax, (1.6 + 0.62 * len(keys), 1.3 + 0.5 * len(queries)))
    image = ax.imshow(weights, cmap=WEIGHTS, vmin=0.0, vmax=vmax, aspect="auto")
    _label_words(ax, queries, keys, query_axis, key_axis, title)
    frame(ax)
    if values:
        _write_values(ax, weights, vmax)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="attention weight")
    return ax


def mask_map(
    mask: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw a boolean mask with one row per query and one column per key: white may attend, hatched may not.

    Raises:
        ValueError: If the mask is not boolean, or the words do not match its shape.
    """
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(f"mask: expected booleans (True = may attend), got {mask.dtype}; weights go to attention_map")
    _check_words("mask", mask, queries, keys)
    ax = new_axes(ax, (1.6 + 0.62 * len(keys), 1.3 + 0.5 * len(queries)))
    scale = BoundaryNorm([-0.5, 0.5, 1.5], 2)
    image = ax.imshow(mask.astype(int), cmap=ListedColormap(MASK_COLOURS), norm=scale, aspect="auto")
    _label_words(ax, queries, keys, "query", "key", title)
    _separate_cells(ax, mask.shape, "#7b8794")
    for row, column in np.argwhere(~mask):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **HATCH))
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, ticks=[0, 1])
        bar.ax.add_patch(Rectangle((0, -0.5), 1, 1, **HATCH))
        bar.ax.set_yticklabels(["hidden", "may attend"])
    return ax


def positional_heatmap(table: np.ndarray, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw a table of position vectors: one row per position, one column per dimension.

    Raises:
        ValueError: If the table does not have two axes.
    """
    table = np.asarray(table)
    if table.ndim != 2:
        raise ValueError(f"table: expected (position, dimension), got shape {table.shape}; pick one table, table[0]")
    ax = new_axes(ax, (6.4, 4.0))
    image = ax.imshow(table, cmap="cividis", aspect="auto", interpolation="nearest")
    ax.set(xlabel="dimension", ylabel="position")
    ax.set_title(title or "")
    ax.grid(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.figure.colorbar(image, ax=ax, label="value")
    return ax


def _check_words(name: str, array: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> None:
    if isinstance(queries, str) or isinstance(keys, str):
        raise ValueError("queries, keys: expected lists of words, got one string; split it into words, text.split()")
    if array.ndim != 2:
        raise ValueError(f"{name}: expected (query, key), got shape {array.shape}; pick one map, such as {name}[0]")
    expected = (len(queries), len(keys))
    if array.shape != expected:
        hint = "it is transposed, draw its .T" if array.T.shape == expected else "give one word per row and column"
        raise ValueError(f"{name}: expected {expected[0]} queries × {expected[1]} keys, got shape {array.shape}; {hint}")


def _check_axis_names(query_axis: str, key_axis: str) -> None:
    for name, text, word in (("query_axis", query_axis, "query"), ("key_axis", key_axis, "key")):
        if word not in text:
            raise ValueError(f'{name}: expected a name with the word "{word}", got {text!r}; try "{word} ({text})"')


def _label_words(ax: Axes, queries: Sequence[str], keys: Sequence[str], query_axis: str, key_axis: str, title: str | None) -> None:
    long_words = sum(len(word) for word in keys) > 7 * len(keys) or len(keys) > 8
    ax.set_xticks(range(len(keys)), keys, rotation=60 if long_words else 0, ha="right" if long_words else "center")
    ax.set_yticks(range(len(queries)), queries)
    ax.set_xlabel(key_axis, color=ROLES["key"])
    ax.set_ylabel(query_axis, color=ROLES["query"])
    ax.set_title(title or "")
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _separate_cells(ax: Axes, shape: tuple[int, int], colour: str = "white") -> None:
    for axis, size in ((ax.yaxis, shape[0]), (ax.xaxis, shape[1])):
        axis.set_ticks(np.arange(size - 1) + 0.5, minor=True)
        axis.set_tick_params(which="minor", length=0)
    ax.grid(which="minor", color=colour, linewidth=1.5 if colour == "white" else 0.8)


def _write_values(ax: Axes, weights: np.ndarray, vmax: float) -> None:
    for row, line in enumerate(weights):
        for column, weight in enumerate(line):
            ax.text(column, row, f"{weight:.2f}", ha="center", va="center", color=ink(weight / vmax))
