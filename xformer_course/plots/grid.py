"""One cell for every layer and head: maps side by side, a table of numbers, numbers with their intervals."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from xformer_course.plots.maps import _check_axis_names, _check_words
from xformer_course.plots.style import MARKERS, OKABE_ITO, ROLES, WEIGHTS, frame, new_axes


def map_grid(
    weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], *, vmax: float = 1.0, query_axis: str = "query", key_axis: str = "key"
) -> np.ndarray:
    """Draw the maps of all layers and heads: a row of maps for each layer, a column for each head.

    Args:
        weights: (l, h, i, j); the rows of a map are queries.
        queries: The i words of the rows, written once at the left of each layer.
        keys: The j words of the columns, written once below each head.
        vmax: Weight of the deepest colour, the same for all maps.
        query_axis: Name of the vertical axes; it must contain the word "query".
        key_axis: Name of the horizontal axes; it must contain the word "key".

    Returns:
        The axes, (l, h).

    Raises:
        ValueError: If the weights have no layer or head axis, or do not fit the words.
    """
    weights = np.asarray(weights)
    if weights.ndim != 4:
        raise ValueError(f"weights: expected (layer, head, query, key), got shape {weights.shape}; the heads of one layer go to head_maps")
    _check_words("weights", weights[0, 0], queries, keys)
    _check_axis_names(query_axis, key_axis)
    layers, heads = weights.shape[:2]
    width = min(9.0, 1.2 + heads * (0.35 + 0.24 * len(keys)))
    longest = max(len(word) for word in keys)
    height = 0.6 + 0.09 * longest + layers * (0.35 + 0.23 * len(queries))
    figure, axes = plt.subplots(layers, heads, figsize=(width, height), sharex=True, sharey=True, squeeze=False)
    for (layer, head), ax in np.ndenumerate(axes):
        image = ax.imshow(weights[layer, head], cmap=WEIGHTS, vmin=0.0, vmax=vmax, aspect="auto")
        ax.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=9.5)
        ax.grid(False)
        frame(ax)
    axes[0, 0].set_xticks(range(len(keys)), keys)
    axes[0, 0].set_yticks(range(len(queries)), queries)
    for ax in axes.flat:
        ax.tick_params(labelsize=9)
    for ax in axes[-1]:
        ax.tick_params(axis="x", labelrotation=90)
    figure.supxlabel(key_axis, fontsize=11, color=ROLES["key"])
    figure.supylabel(query_axis, fontsize=11, color=ROLES["query"])
    figure.colorbar(image, ax=list(axes.flat), label="attention weight", aspect=35, pad=0.02)
    return axes


def head_table(
    values: np.ndarray,
    *,
    label: str,
    ax: Axes | None = None,
    title: str | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    decimals: int = 2,
    colorbar: bool = True,
) -> Axes:
    """Draw one number for each head: a row for each layer, a column for each head, the number in the cell.

    Args:
        values: (l, h).
        label: What the numbers measure, written beside the scale.
        ax: Where to draw; new axes when None.
        title: A line above the table.
        vmin: Value of the darkest colour; the smallest one when None.
        vmax: Value of the lightest colour; the largest one when None.
        decimals: How many are written into the cells.
        colorbar: Draw the scale beside the table.

    Raises:
        ValueError: If the values do not have two axes.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"values: expected (layer, head), got shape {values.shape}; give one number for each head")
    ax = new_axes(ax, (2.2 + 0.85 * values.shape[1], 1.2 + 0.55 * len(values)))
    low, high = (np.min(values) if vmin is None else vmin), (np.max(values) if vmax is None else vmax)
    image = ax.imshow(values, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    ax.set_xticks(range(values.shape[1]), [str(head + 1) for head in range(values.shape[1])])
    ax.set_yticks(range(len(values)), [str(layer + 1) for layer in range(len(values))])
    ax.set(xlabel="head", ylabel="layer")
    ax.set_title(title or "")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    for (layer, head), value in np.ndenumerate(values):
        colour = "black" if value > low + 0.55 * (high - low) else "white"
        ax.text(head, layer, f"{value:.{decimals}f}", ha="center", va="center", color=colour)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def interval_plot(
    groups: dict[str, tuple[np.ndarray, np.ndarray]], names: Sequence[str], *, xlabel: str, ax: Axes | None = None, zero: bool = True
) -> Axes:
    """Draw numbers with their intervals, one row for each, groups below one another in their own colour and mark.

    Args:
        groups: From the group's name to (centres, half widths), each (n,).
        names: The n names of the rows of every group.
        xlabel: What is measured, with its unit.
        ax: Where to draw; new axes when None.
        zero: Draw a line at zero.

    Raises:
        ValueError: If a group has not one centre and one width for each name.
    """
    rows = len(names)
    for group, (centres, widths) in groups.items():
        if np.shape(centres) != (rows,) or np.shape(widths) != (rows,):
            raise ValueError(
                f"{group}: expected {rows} centres and {rows} widths, one for each name, "
                f"got shapes {np.shape(centres)} and {np.shape(widths)}; add or drop some"
            )
    ax = new_axes(ax, (6.8, 0.9 + 0.24 * rows * len(groups)))
    if zero:
        ax.axvline(0.0, color="#555555", linewidth=0.9, linestyle="-", marker="")
    for number, (group, (centres, widths)) in enumerate(groups.items()):
        places = np.arange(rows) + number * (rows + 0.6)
        colour, marker = OKABE_ITO[number % len(OKABE_ITO)], MARKERS[number % len(MARKERS)]
        ax.errorbar(centres, places, xerr=widths, linestyle="", marker=marker, color=colour, capsize=2.5, elinewidth=1.4, label=group)
    ticks = np.concatenate([np.arange(rows) + number * (rows + 0.6) for number in range(len(groups))])
    ax.set_yticks(ticks, list(names) * len(groups), fontsize=9)
    ax.invert_yaxis()
    ax.set(xlabel=xlabel)
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower right")
    return ax
