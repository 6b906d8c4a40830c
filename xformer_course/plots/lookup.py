"""Where a lookup's answers lie: the convex hull of its values, and answers as the query or the temperature moves."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from xformer_course.plots.style import NO_ROLE, ROLES, new_axes


def hull_plot(
    values: np.ndarray,
    names: Sequence[str],
    paths: Mapping[str, np.ndarray],
    *,
    labels: Mapping[str, Sequence[str]] | None = None,
    marks: Mapping[str, Sequence[float]] | None = None,
    xlabel: str,
    ylabel: str,
    aspect: float = 1.0,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw values in the plane (green dots), the shape they span, and the paths of the outputs inside it.

    Args:
        values: (j, 2), one point for each value.
        names: The j words beside the points.
        paths: For each query the outputs (n, 2), in order.
        labels: For some of the paths, n words; a point with a word gets a dot, an empty word is left out.
        marks: Other points, by name, drawn as crosses.
        xlabel: First coordinate, with its unit.
        ylabel: Second coordinate, with its unit.
        aspect: Length of one unit upwards over one unit sideways.
        ax: Where to draw; new axes when None.
        title: A line above the map.

    Raises:
        ValueError: If the values or a path are not points of the plane, or words are missing.
    """
    values = _points("values", values)
    _same_count("names", names, len(values), "value")
    ax = new_axes(ax, (7.6, 4.6))
    corners = values[convex_hull(values)]
    ax.fill(*corners.T, facecolor="#eeeeee", edgecolor="#777777", linestyle="-", linewidth=1.0, zorder=1)
    for name, point in zip(names, values, strict=True):
        ax.plot(*point, marker="o", markersize=9, color=ROLES["value"], linestyle="", zorder=3)
        _write(ax, name, point, weight="bold", above=point[1] >= values[:, 1].mean(), colour=ROLES["value"])
    for number, (name, path) in enumerate(paths.items()):
        _draw_path(ax, name, _points(name, path), (labels or {}).get(name), NO_ROLE[number % len(NO_ROLE)])
    for name, point in (marks or {}).items():
        ax.plot(*point, marker="x", markersize=8, markeredgewidth=2, color="black", linestyle="", zorder=4)
        _write(ax, name, point, weight="normal", above=True)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.set_aspect(aspect)
    ax.margins(0.12)
    ax.set_title(title or "")
    if paths:
        ax.legend(title="query", loc="lower right")
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


def convex_hull(points: np.ndarray) -> list[int]:
    """Numbers of the corners of the smallest convex shape around points (n, 2), counterclockwise.

    Points on an edge are no corners. Source: Andrew (1979), the monotone chain.

    >>> convex_hull(np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 4.0]]))
    [0, 1, 3]
    """
    points = _points("points", points)
    order = np.lexsort((points[:, 1], points[:, 0])).tolist()
    lower, upper = _chain(points, order), _chain(points, order[::-1])
    return lower[:-1] + upper[:-1] if len(lower) > 1 else lower


def _chain(points: np.ndarray, order: list[int]) -> list[int]:
    """The part of the hull met while walking in this order: every turn is to the left."""
    kept: list[int] = []
    for number in order:
        while len(kept) > 1 and not _turns_left(*points[kept[-2:]], points[number]):
            kept.pop()
        if not kept or (points[kept[-1]] != points[number]).any():
            kept.append(number)
    return kept


def _turns_left(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
    return bool((b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]))


def _draw_path(ax: Axes, name: str, path: np.ndarray, labels: Sequence[str] | None, colour: str) -> None:
    if labels is not None:
        _same_count(f"labels of {name}", labels, len(path), "point of the path")
    ax.plot(*path.T, color=colour, label=name, marker="", zorder=2)
    for label, point in zip(labels or (), path, strict=False):
        if label:
            ax.plot(*point, marker="o", markersize=5, color=colour, linestyle="", zorder=2)
            ax.annotate(label, point, xytext=(-5, 5), textcoords="offset points", ha="right", fontsize=9.5)


def _write(ax: Axes, word: str, point: Sequence[float], *, weight: str, above: bool, colour: str = "black") -> None:
    place = (0, 8) if above else (0, -17)
    ax.annotate(word, point, xytext=place, textcoords="offset points", ha="center", fontweight=weight, color=colour, zorder=5)


def _points(name: str, array: np.ndarray) -> np.ndarray:
    array = np.asarray(array, dtype=float)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise ValueError(f"{name}: expected points of the plane (n, 2), got shape {array.shape}; pick two columns")
    return array


def _same_count(name: str, items: Sequence, count: int, what: str) -> None:
    if len(items) != count:
        raise ValueError(f"{name}: expected {count}, one for each {what}, got {len(items)}; cut one to the other")
