"""Costs on logarithmic axes: lines of different lengths, and a roofline."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from xformer_course.plots.style import new_axes


def growth_plot(
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw costs against sizes on logarithmic axes, where a power of the size is a straight line.

    Args:
        lines: For each name its sizes, rising, and its costs; each line may have sizes of its own.
        xlabel: What the size is, with its unit.
        ylabel: What the cost is, with its unit.
        ax: Where to draw; new axes when None.
        title: A line above the plot.

    Raises:
        ValueError: If a line has fewer than two points, or numbers that have no logarithm.
    """
    for name, (sizes, costs) in lines.items():
        if len(sizes) != len(costs) or len(sizes) < 2:
            raise ValueError(
                f"{name}: expected a cost for each size, two points or more, got {len(sizes)} sizes and {len(costs)} costs; "
                "pass (sizes, costs)"
            )
        if min(*sizes, *costs) <= 0:
            raise ValueError(f"{name}: expected positive numbers, got {min(*sizes, *costs)}; logarithmic axes have no zero")
    ax = new_axes(ax, (7.2, 4.4))
    every = np.concatenate([sizes for sizes, _ in lines.values()])
    for name, (sizes, costs) in lines.items():
        ax.plot(sizes, costs, label=name)
    _logarithmic(ax, np.unique(every))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_title(title or "")
    ax.legend(fontsize=9)
    return ax


def roofline_plot(
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    peak: float,
    bandwidth: float,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw speeds against arithmetic intensity under the roof min(peak, intensity · bandwidth).

    Args:
        points: For each name its intensities (FLOP a byte) and its speeds (GFLOP/s).
        peak: Most GFLOP/s of the processor.
        bandwidth: Gigabytes a second of the memory.
        labels: A word for each point of the first entry.
        ax: Where to draw; new axes when None.

    Raises:
        ValueError: If the peak or the bandwidth is not positive.
    """
    if not (peak > 0 and bandwidth > 0):
        raise ValueError(f"peak, bandwidth: expected positive numbers, got {peak} and {bandwidth}; measure both first")
    ax = new_axes(ax, (7.2, 4.2))
    every = np.concatenate([one for one, _ in points.values()])
    corner = peak / bandwidth
    x = np.array(sorted({min(every.min(), corner) / 2, corner, max(every.max(), corner) * 2}))
    ax.plot(x, np.minimum(peak, x * bandwidth), color="#000000", linestyle="-", marker="", label="roof")
    ax.axvline(corner, color="#999999", linewidth=1, linestyle=":", marker="")
    ax.annotate(
        f"balance: {corner:.1f}",
        (corner, 0.03),
        xycoords=("data", "axes fraction"),
        xytext=(5, 0),
        textcoords="offset points",
        fontsize=9,
        color="#555555",
    )
    for name, (intensity, speed) in points.items():
        ax.plot(intensity, speed, linestyle="", label=name)
    for label, place, height in zip(labels or (), *next(iter(points.values())), strict=False):
        ax.annotate(label, (place, height), xytext=(5, -11), textcoords="offset points", fontsize=9)
    _logarithmic(ax)
    ax.set(xlabel="arithmetic intensity (FLOP a byte)", ylabel="speed (GFLOP/s)")
    ax.legend(fontsize=9)
    return ax


def _plain(value: float, _place: int | None = None) -> str:
    """12, 0.5, 20,000; from a million on as a power of ten."""
    return f"{value:,.10g}" if value < 1e6 else f"$10^{{{np.log10(value):.10g}}}$"


def _logarithmic(ax: Axes, ticks: np.ndarray | None = None) -> None:
    """Both axes logarithmic, with plain numbers on them; ``ticks`` for the horizontal one, thinned to at most nine."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    if ticks is not None:
        shown = ticks[:: -(-len(ticks) // 9)]
        ax.set_xticks(shown, [f"{value:g}" for value in shown])
    else:
        ax.xaxis.set_major_locator(LogLocator(base=2, numticks=10))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if high < 30 * low else (1,), numticks=20))
    ax.yaxis.set_major_formatter(FuncFormatter(_plain))
    ax.yaxis.set_minor_locator(NullLocator())
