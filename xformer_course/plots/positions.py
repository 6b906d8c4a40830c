"""Positions: similarity against offset for several schemes, and rotary encoding as turning arrows."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from xformer_course.plots.style import ROLES, new_axes


def offset_panels(scores: Mapping[str, np.ndarray], queries: Sequence[int], *, columns: int = 4, ylabel: str = "score") -> Figure:
    """Draw one panel per scheme: the scores of a few queries against the offset of the key.

    Where the lines of a panel lie on one another, the score depends on the offset alone.

    Args:
        scores: A square (i, j) array for each name; entry (i, j) is the score of the query at place i
            with the key at place j.
        queries: Places of the queries to draw, one line each.
        columns: Panels in a row.
        ylabel: Name of the vertical axes.

    Raises:
        ValueError: If there are no scores, an array is not square, or a query lies outside it.
    """
    if not scores:
        raise ValueError("scores: expected at least one array by name, got none; pass {'name': array}")
    for name, table in scores.items():
        _check_square(name, np.asarray(table), queries)
    rows = -(-len(scores) // columns)
    figure, axes = plt.subplots(rows, min(columns, len(scores)), figsize=(min(9.0, 3.3 * columns), 2.0 * rows + 0.6), squeeze=False)
    for ax, (name, table) in zip(axes.flat, scores.items(), strict=False):
        for query in queries:
            row = np.asarray(table)[query]
            ax.plot(np.arange(len(row)) - query, row, label=f"query at {query}", markevery=4, markersize=4)
        ax.set_title(name, fontsize=11)
        ax.tick_params(labelsize=9)
    for ax in axes.flat[len(scores) :]:
        ax.set_visible(False)
    figure.supxlabel("offset of the key from the query (places)", fontsize=11)
    figure.supylabel(ylabel, fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(queries), fontsize=10)
    return figure


def turning_arrows(
    query: Sequence[float],
    key: Sequence[float],
    query_place: int,
    key_place: int,
    *,
    turn: float,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one pair of columns of a query and a key, before (dotted) and after (solid) their rotary turn: q blue, k orange.

    A grey arc between the solid arrows carries the angle from query to key, rounded to a degree.

    Args:
        query: Two numbers.
        key: Two numbers.
        query_place: The query turns by this many times `turn`.
        key_place: The key turns by this many times `turn`.
        turn: Angle for one place, in radians, counterclockwise.
        ax: Where to draw; new axes when None.
        title: A line above the arrows.

    Raises:
        ValueError: If the query or the key does not have two numbers.
    """
    for name, vector in (("query", query), ("key", key)):
        if np.shape(vector) != (2,):
            raise ValueError(f"{name}: expected two numbers, got shape {np.shape(vector)}; pick one pair of columns")
    ax = new_axes(ax, (3.2, 3.2))
    reach = 1.45 * max(np.linalg.norm(query), np.linalg.norm(key))
    arrows = (("q", query, query_place, ROLES["query"]), ("k", key, key_place, ROLES["key"]))
    ends = []
    for letter, vector, place, colour in arrows:
        start = np.arctan2(vector[1], vector[0])
        length, end = np.linalg.norm(vector), start + turn * place
        tip = length * np.array([np.cos(end), np.sin(end)])
        ends.append(end)
        ax.plot([0, vector[0]], [0, vector[1]], color=colour, linestyle=":", marker="", linewidth=1.8)
        style = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.6, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=tip, xytext=(0, 0), arrowprops=style)
        x, y = tip * (1 + 0.17 * reach / length / 1.45)
        ax.text(x, y, letter, ha="center", va="center", color=colour, fontsize=13)
    between = np.remainder(ends[1] - ends[0] + np.pi, 2 * np.pi) - np.pi  # the shorter way round
    path, radius = ends[0] + np.linspace(0, between, 60), 0.22 * reach
    ax.plot(radius * np.cos(path), radius * np.sin(path), color="#555555", linestyle="-", marker="", linewidth=2.5)
    beside = path[30] + (np.pi / 3 if abs(between) < np.pi / 4 else 0)  # a narrow angle has no room inside
    ax.text(
        1.6 * radius * np.cos(beside),
        1.6 * radius * np.sin(beside),
        f"{abs(np.degrees(between)):.0f}°",
        ha="center",
        va="center",
        color="#555555",
        fontsize=11,
        bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.8},
    )
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    ax.axhline(0, color="#bbbbbb", linewidth=0.8, linestyle="-", marker="", zorder=0)
    ax.axvline(0, color="#bbbbbb", linewidth=0.8, linestyle="-", marker="", zorder=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    ax.set_title(title or "")
    return ax


def _check_square(name: str, table: np.ndarray, queries: Sequence[int]) -> None:
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"{name}: expected a square array (query, key), got shape {table.shape}; score all pairs")
    for query in queries:
        if not 0 <= query < len(table):
            raise ValueError(f"queries: expected places from 0 to {len(table) - 1}, got {query}; score more places")
