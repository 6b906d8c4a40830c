"""Lines over an axis: learning curves, and measurements of any kind."""

from collections.abc import Mapping, Sequence, Sized

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from xformer_course.plots.style import new_axes


def line_plot(
    x: Sequence[float] | np.ndarray,
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one line per entry of `series`, labelled by its name, over the points `x`.


    Raises:
        ValueError: If a line does not have one point for each x.
    """
    for name, line in series.items():
        if len(line) != len(x):
            raise ValueError(f"{name}: expected {len(x)} points, one for each x, got {len(line)}; cut one to the other")
    ax = new_axes(ax, (6.4, 3.8))
    for name, line in series.items():
        ax.plot(x, line, label=name)
    if log_x:
        ax.set_xscale("log", base=2)
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.minorticks_off()
    if log_y:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title or "")
    ax.legend()
    return ax


def smooth_plot(
    x: Sequence[float] | np.ndarray,
    curves: Mapping[str, Sequence[float] | np.ndarray],
    *,
    points: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray] | None = None,
    point_label: str = "data",
    behind: Mapping[str, Sequence[float] | np.ndarray] | None = None,
    xlabel: str,
    ylabel: str,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw curves that are known at many points, over the points they were made from.

    Args:
        x: Where the curves are known, in order.
        curves: One number for each x, by the name of the curve.
        points: Coordinates of single points, two lists of one length, or None.
        point_label: What the points are, for the legend.
        behind: More curves, drawn thin and grey below the others: what those should come near to.
        xlabel: What x is, with its unit.
        ylabel: What the curves are, with their unit.
        ax: Where to draw; new axes when None.
        title: A line above the curves.

    Raises:
        ValueError: If a curve does not have one number for each x, or the points do not pair up.
    """
    for name, curve in [*curves.items(), *(behind or {}).items()]:
        _same_count(name, curve, len(x), "x")
    ax = new_axes(ax, (7.0, 3.8))
    for name, curve in (behind or {}).items():
        ax.plot(x, curve, label=name, color="#777777", linewidth=1.0, linestyle="-", marker="", zorder=1)
    if points is not None:
        _same_count("points", points[1], len(points[0]), "first coordinate")
        ax.plot(*points, marker="o", linestyle="", color="#999999", markersize=4, label=point_label, zorder=1)
    ax.set_prop_cycle(None)
    for name, curve in curves.items():
        ax.plot(x, curve, label=name, marker="", zorder=2)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title or "")
    ax.legend()
    return ax


def _same_count(name: str, items: Sized, count: int, what: str) -> None:
    if len(items) != count:
        raise ValueError(f"{name}: expected {count}, one for each {what}, got {len(items)}; cut one to the other")
