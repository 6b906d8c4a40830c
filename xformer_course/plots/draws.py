"""Differences over many draws, with zero marked."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np

from xformer_course.plots.style import OKABE_ITO


def draw_histograms(draws: Mapping[str, Sequence[float] | np.ndarray], *, xlabel: str, bins: int = 48, middle: float = 0.95) -> np.ndarray:
    """Draw one histogram per entry, below one another on one axis: above zero blue, the rest orange and hatched.

    A bar under each histogram spans the middle of its values, 95 % unless told otherwise.

    Args:
        draws: For each name its values, such as the gaps of two systems on resampled test sets.
        xlabel: What was measured, with its unit.
        bins: How many, over the range of all values; zero is a border between two.
        middle: The part of the values that the bar spans.

    Returns:
        The axes, one for each entry.

    Raises:
        ValueError: If there is no entry, or one without values.
    """
    tables = {name: np.asarray(values, dtype=float).ravel() for name, values in draws.items()}
    if not tables or not all(values.size for values in tables.values()):
        raise ValueError(f"draws: expected values for each name, got {_sizes(tables)}; leave the empty ones out")
    every = np.concatenate([[0.0], *tables.values()])
    width = max(np.ptp(every), 1e-9) / bins
    edges = width * np.arange(np.floor(every.min() / width) - 1, np.ceil(every.max() / width) + 2)
    _, axes = plt.subplots(len(tables), 1, figsize=(6.8, 0.7 + 1.6 * len(tables)), sharex=True, squeeze=False)
    for ax, (name, values) in zip(axes[:, 0], tables.items(), strict=True):
        above, below = values[values > 0], values[values <= 0]
        ax.hist(above, edges, color=OKABE_ITO[0], label="above 0")
        ax.hist(below, edges, color=OKABE_ITO[1], hatch="////", edgecolor="white", label="0 or below")
        ax.axvline(0.0, color="black", linewidth=1.4, linestyle="-", marker="")
        low, high = np.quantile(values, [(1 - middle) / 2, (1 + middle) / 2])
        top = ax.get_ylim()[1]
        ax.plot(
            [low, high],
            [-0.09 * top] * 2,
            color="black",
            linewidth=3,
            linestyle="-",
            marker="|",
            markersize=9,
            label=f"middle {middle:.0%}".replace("%", " %"),
        )
        ax.set_ylim(-0.18 * top, top)
        ax.set_title(name)
        ax.set(ylabel="draws")
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
        ax.grid(False, axis="x")
    axes[0, 0].legend(loc="upper left")
    axes[-1, 0].set(xlabel=xlabel)
    return axes[:, 0]


def _sizes(tables: Mapping[str, np.ndarray]) -> str:
    return ", ".join(f"{values.size} for {name!r}" for name, values in tables.items()) or "none"
