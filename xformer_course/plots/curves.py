"""Lines over an axis: learning curves, and measurements of any kind."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from xformer_course.plots.style import new_axes


def learning_curve(
    history: Sequence[Mapping[str, float]],
    *,
    x: str = "step",
    ax: Axes | None = None,
    title: str | None = None,
    unit: str = "nats per token",
) -> Axes:
    """Draw training and validation loss against steps, tokens or minutes.

    Args:
        history: Records in the order they were made. Each has `x` and one or both of
            "train_loss" and "val_loss"; other entries are ignored.
        x: "step", "tokens" or "minutes".
        ax: Where to draw; new axes when None.
        title: A line above the curves.
        unit: Unit of the loss, for the label of the axis.

    Raises:
        ValueError: If `x` is unknown or missing from the history, or there is no loss in it.
    """
    labels = {"step": "training steps", "tokens": "target tokens seen", "minutes": "minutes of training"}
    if x not in labels:
        raise ValueError(f"x: expected one of {', '.join(labels)}, got {x!r}; choose what to plot the loss against")
    ax = new_axes(ax, (6.4, 4.0))
    drawn = False
    for name, label in (("train_loss", "training"), ("val_loss", "validation")):
        points = [(record[x], record[name]) for record in history if name in record and x in record]
        if points:
            ax.plot(*np.array(points).T, label=label, markevery=max(1, len(points) // 12))
            drawn = True
    if not drawn:
        raise ValueError(
            f'history: expected records with "{x}" and "train_loss" or "val_loss", got {_keys(history)}; '
            f"pass the history that training returned"
        )
    ax.set(xlabel=labels[x], ylabel=f"loss ({unit})")
    ax.set_title(title or "")
    ax.legend()
    return ax


def line_plot(
    x: Sequence[float] | np.ndarray,
    series: Mapping[str, Sequence[float] | np.ndarray],
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    colours: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw one line per entry of `series`, labelled by its name, over the points `x`.

    `colours` stand in place of the usual ones, such as `NO_ROLE` on a page where blue, orange and green mean something.

    Raises:
        ValueError: If a line does not have one point for each x.
    """
    for name, line in series.items():
        if len(line) != len(x):
            raise ValueError(f"{name}: expected {len(x)} points, one for each x, got {len(line)}; cut one to the other")
    ax = new_axes(ax, (6.4, 3.8))
    for number, (name, line) in enumerate(series.items()):
        ax.plot(x, line, label=name, **({"color": colours[number % len(colours)]} if colours else {}))
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


def _keys(history: Sequence[Mapping[str, float]]) -> str:
    return ", ".join(sorted({key for record in history for key in record})) or "no records"
