"""Means over seeds with their uncertainty."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from xformer_course.plots.style import new_axes

# Student's t, two-sided 95 %, for 1, 2, ... degrees of freedom; `_t_factor` goes on from there.
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def band_plot(
    x: Sequence[float] | np.ndarray,
    series: Mapping[str, np.ndarray],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw, for each entry of `series`, the mean over seeds with error bars.

    A bar is the 95 % confidence interval of the mean, mean ± t · s / √n, with s the standard deviation
    over the n seeds (divisor n − 1) and t Student's quantile for n − 1 degrees of freedom. It says how far
    the *mean* is known, and not how far single seeds spread. On a logarithmic axis a bar that reaches 0
    runs to the lower edge.

    Args:
        x: The points on the horizontal axis.
        series: For each name an array (seeds, len(x)); at least two seeds.
        xlabel: What `x` is, with its unit.
        ylabel: What was measured, with its unit.
        log_x: Logarithmic horizontal axis, labelled at the points `x`.
        log_y: Logarithmic vertical axis.
        ax: Where to draw; new axes when None.
        title: A line above the plot.

    Raises:
        ValueError: If an array is not (seeds, len(x)), or has a single seed.
    """
    tables = {name: _table(name, values, len(x)) for name, values in series.items()}
    ax = new_axes(ax, (6.4, 3.8))
    for name, table in tables.items():
        ax.errorbar(x, table.mean(axis=0), yerr=_half_width(table), label=name, capsize=3, elinewidth=1.2)
    if log_x:
        ax.set_xscale("log", base=2)
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.minorticks_off()
    if log_y:
        ax.set_yscale("log", nonpositive="clip")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title or "")
    ax.legend()
    return ax


def _table(name: str, values: np.ndarray, points: int) -> np.ndarray:
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[1] != points:
        hint = "it is transposed, give its .T" if table.ndim == 2 and len(table) == points else "one row a seed"
        raise ValueError(f"{name}: expected (seeds, {points}), got shape {table.shape}; {hint}")
    if len(table) < 2:
        raise ValueError(f"{name}: expected at least 2 seeds, got {len(table)}; one run has no spread, use line_plot")
    return table


def _half_width(table: np.ndarray) -> np.ndarray:
    """Half the length of each bar: t · s / √n."""
    return _t_factor(len(table) - 1) * table.std(axis=0, ddof=1) / np.sqrt(len(table))


def _t_factor(freedom: int) -> float:
    """Student's t; beyond the table by the expansion in 1/freedom, right to three decimals there."""
    if freedom <= len(T_95):
        return T_95[freedom - 1]
    z = 1.959964
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))
