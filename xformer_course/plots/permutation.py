"""Rows that move: what happens to a layer's output when the rows of its input are reordered."""

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from xformer_course.plots.style import DASHES, OKABE_ITO, new_axes

CELL = 0.22  # width of one number; all lengths are in units of half an inch
GAP = 2.2  # room for the lines between two matrices
HEIGHT = 0.62  # of a row


def permutation_flow(
    x: np.ndarray,
    order: Sequence[int],
    output: np.ndarray,
    reordered_output: np.ndarray,
    *,
    words: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    tolerance: float = 1e-9,
) -> Axes:
    """Draw rows on their way: input, reordered input, its output, and the output of the input as it was.

    Lines join equal rows. On the left each row goes to its new place. On the right, the rows of the two outputs are
    compared with one another: a solid line from each row to the place that equivariance asks for, if the two are equal
    there; a thin dotted one for any other equal pair. So a layer is seen to be equivariant if the right half mirrors
    the left, and invariant if the lines on the right run straight across.

    Args:
        x: (i, m) input, one row a token.
        order: The i row numbers; row `order[0]` comes to the top.
        output: (i, e) what the layer makes of `x`, or (e,) if it makes one vector of all rows.
        reordered_output: What it makes of `x` in the new order; the same shape.
        words: The i names of the rows.
        ax: Where to draw; new axes when None.
        title: A line above.
        tolerance: Largest difference between entries of rows that count as equal.

    Returns:
        The axes; the lines have the gids "input", "output" (solid) and "coincidence" (dotted).

    Raises:
        ValueError: If order, outputs or words do not fit x.
    """
    x, output, reordered_output = (np.asarray(array, dtype=float) for array in (x, output, reordered_output))
    order = _checked(x, order, output, reordered_output, words)
    pooled = output.ndim == 1
    ax = new_axes(ax, (6.3, 0.9 + 0.4 * len(x)))
    matrices = [x, x[order], np.atleast_2d(reordered_output), np.atleast_2d(output)]
    tops = [0.0 if len(matrix) == len(x) else (len(x) - 1) / 2 for matrix in matrices]
    lefts = _draw_matrices(ax, matrices, tops)
    rights = [left + CELL * matrix.shape[1] for left, matrix in zip(lefts, matrices, strict=True)]
    for place, row in enumerate(order):
        _join(ax, (rights[0], row), (lefts[1], place), row, "input")
    middle = (len(x) - 1) / 2
    _through_the_layer(ax, rights[1], lefts[2], middle)
    _join_outputs(ax, order, matrices[2], matrices[3], (rights[2], lefts[3]), middle if pooled else 0.0, tolerance)
    if words is not None:
        _write_words(ax, words, order, lefts, rights[3], pooled)
    for left, right, name in zip(lefts, rights, ("X", "P X", "f(P X)", "f(X)"), strict=True):
        ax.text((left + right) / 2, -0.85, name, ha="center", va="center", fontsize=11)
    ax.set(xlim=(-1.15, rights[3] + 1.15), ylim=(len(x) - 0.5, -1.3))
    ax.set_title(title or "")
    ax.set_axis_off()
    return ax


def _checked(
    x: np.ndarray, order: Sequence[int], output: np.ndarray, reordered_output: np.ndarray, words: Sequence[str] | None
) -> list[int]:
    if x.ndim != 2:
        raise ValueError(f"x: expected (row, number), got shape {x.shape}; pick one sentence, such as x[0]")
    order = [int(row) for row in order]
    if sorted(order) != list(range(len(x))):
        raise ValueError(f"order: expected each of 0 to {len(x) - 1} once, got {order}; count rows from 0")
    if output.shape != reordered_output.shape:
        raise ValueError(
            f"reordered_output: expected the shape of output, {output.shape}, got {reordered_output.shape}; run the same layer on both"
        )
    if output.ndim != 1 and (output.ndim != 2 or len(output) != len(x)):
        raise ValueError(f"output: expected {len(x)} rows or one vector, got shape {output.shape}; give one layer's")
    if words is not None and len(words) != len(x):
        raise ValueError(f"words: expected {len(x)}, one for each row of x, got {len(words)}; split the sentence")
    return order


def _draw_matrices(ax: Axes, matrices: list[np.ndarray], tops: list[float]) -> list[float]:
    """One strip of coloured cells a row; the two inputs share a scale, and so do the two outputs."""
    lefts, left, limits = [], 0.0, (_range(matrices[:2]), _range(matrices[2:]))
    for index, (matrix, top) in enumerate(zip(matrices, tops, strict=True)):
        lefts.append(left)
        low, high = limits[index // 2]
        for (row, column), number in np.ndenumerate(matrix):
            colour = colormaps["cividis"](0.08 + 0.92 * (number - low) / (high - low))
            corner = (left + CELL * column, top + row - HEIGHT / 2)
            ax.add_patch(Rectangle(corner, CELL, HEIGHT, facecolor=colour, edgecolor="white", linewidth=0.8))
        left += CELL * matrix.shape[1] + GAP
    return lefts


def _range(matrices: list[np.ndarray]) -> tuple[float, float]:
    numbers = np.concatenate([matrix.ravel() for matrix in matrices])
    low, high = float(numbers.min()), float(numbers.max())
    return low, high if high > low else low + 1.0


def _join(ax: Axes, start: tuple[float, float], end: tuple[float, float], row: int, gid: str) -> None:
    dotted = gid == "coincidence"
    room = 1.3 if gid == "input" else 0.08  # for the words before the reordered rows
    (x0, y0), (x1, y1) = start, end
    ax.plot(
        [x0 + 0.08, x1 - room],
        [y0, y1],
        color="#777777" if dotted else OKABE_ITO[row % len(OKABE_ITO)],
        linestyle=":" if dotted else DASHES[row % len(DASHES)],
        linewidth=1.2 if dotted else 2.4,
        marker="",
        gid=gid,
    )


def _through_the_layer(ax: Axes, start: float, end: float, middle: float) -> None:
    arrow = {"arrowstyle": "-|>", "color": "#555555", "linewidth": 1.6}
    ax.annotate("", (end - 1.15, middle), (start + 0.15, middle), arrowprops=arrow)
    ax.text((start + 0.15 + end - 1.15) / 2, middle - 0.4, "f", ha="center", va="center", style="italic")


def _join_outputs(
    ax: Axes, order: list[int], reordered: np.ndarray, output: np.ndarray, edges: tuple[float, float], top: float, tolerance: float
) -> None:
    wanted = [0] if len(output) != len(order) else order
    for place, row in np.ndindex(len(reordered), len(output)):
        if np.abs(reordered[place] - output[row]).max() <= tolerance:
            gid = "output" if wanted[place] == row else "coincidence"
            _join(ax, (edges[0], top + place), (edges[1], top + row), row, gid)


def _write_words(ax: Axes, words: Sequence[str], order: list[int], lefts: list[float], right: float, pooled: bool) -> None:
    moved = [words[row] for row in order]
    if pooled:  # one row, made of all words
        middle = (len(words) - 1) / 2
        ax.text(lefts[2] - 0.08, middle, "all", ha="right", va="center", fontsize=10.5)
        ax.text(right + 0.1, middle, "all", ha="left", va="center", fontsize=10.5)
    for place in range(len(words)):
        ax.text(lefts[0] - 0.1, place, words[place], ha="right", va="center", fontsize=10.5)
        ax.text(lefts[1] - 0.08, place, moved[place], ha="right", va="center", fontsize=10.5)
        if not pooled:
            ax.text(lefts[2] - 0.08, place, moved[place], ha="right", va="center", fontsize=10.5)
            ax.text(right + 0.1, place, words[place], ha="left", va="center", fontsize=10.5)
