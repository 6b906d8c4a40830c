"""Scores of several systems, each trained with several seeds."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from xformer_course.plots.bands import _half_width
from xformer_course.plots.style import OKABE_ITO, new_axes


def seed_rows(
    series: Mapping[str, Sequence[float]], *, xlabel: str, baseline: float | None = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw one row per entry of `series`: a dot a seed, the mean, and its 95 % confidence interval.

    The interval is mean ± t · s / √n over the n seeds, with Student's quantile t for n − 1 degrees of
    freedom, as in `band_plot`. A system with a single seed gets its dot and no interval. The first row
    is at the top.

    Args:
        series: For each name the scores of its seeds; at least one.
        xlabel: What was measured, with its unit.
        baseline: Where to draw a dotted vertical line.
        ax: Where to draw; new axes when None.
        title: A line above the rows.

    Raises:
        ValueError: If there is no system, or a system without a score.
    """
    tables = {name: np.asarray(values, dtype=float) for name, values in series.items()}
    empty = [name for name, values in tables.items() if values.ndim != 1 or not len(values)]
    if empty or not tables:
        raise ValueError(f"series: expected a list of scores for each name, got none for {empty or 'any'}; leave the name out")
    ax = new_axes(ax, (6.8, 0.9 + 0.42 * len(tables)))
    for row, values in enumerate(tables.values()):
        if len(values) > 1:
            ax.errorbar(
                values.mean(),
                row,
                xerr=_half_width(values),
                color=OKABE_ITO[0],
                marker="|",
                markersize=11,
                capsize=4,
                elinewidth=1.6,
                linestyle="",
            )
        ax.plot(values, np.full(len(values), row), color=OKABE_ITO[1], linestyle="", marker="o", markersize=4)
    if baseline is not None:
        ax.axvline(baseline, color="0.4", linestyle=":", marker="")
    ax.set_yticks(range(len(tables)), list(tables))
    ax.set_ylim(len(tables) - 0.4, -0.6)
    ax.grid(False, axis="y")
    ax.set(xlabel=xlabel)
    ax.set_title(title or "")
    return ax
