"""One sentence on its way through the model: vectors at each station, words at each step, votes for one word, the sum so far."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import ConnectionPatch

from xformer_course.plots.style import WEIGHTS, frame, ink, new_axes

TITLE = 0.4  # inches between two strips
ARROW: dict[str, Any] = {"arrowstyle": "-|>", "color": "#333333", "lw": 1.2, "mutation_scale": 11}


def conveyor(
    belts: Mapping[str, Sequence[tuple[str, Sequence[str], np.ndarray]]], *, into: Sequence[int] = (), limit: float = 3.0
) -> list[list[Axes]]:
    """Draw the stations of a sentence as strips of its vectors, one belt a column, from top to bottom.

    Each row is on a scale of its own, in units of its standard deviation, so that a long row does not dim the others;
    its length, the root of the sum of squares, stands at its right.

    Args:
        belts: For each belt's title its stations (name, words, vectors), vectors (i, m) with one row a word.
        into: Stations of the second belt, counted from 0, that read the last station of the first.
        limit: Entry, in standard deviations from its row's mean, of the lightest colour; its negative is the darkest.

    Returns:
        The axes, a list for each belt.

    Raises:
        ValueError: If a station does not have one word a row, or `into` names a station that is not there.
    """
    belts = {title: [(name, words, np.asarray(x)) for name, words, x in stations] for title, stations in belts.items()}
    _check_belts(belts, into)
    rows = max(sum(len(words) + 2 for _, words, _ in stations) for stations in belts.values())
    figure = plt.figure(figsize=(4.4 * len(belts), 0.6 + 0.2 * rows), layout="none")
    drawn = [
        _belt(figure, (column + 0.13) / len(belts), 0.77 / len(belts), rows, title, stations, limit)
        for column, (title, stations) in enumerate(belts.items())
    ]
    if len(into):
        _bus(figure, drawn[0][-1], [drawn[1][station] for station in into])
    _scale(figure, drawn[-1][0])
    return drawn


def readout_map(
    words: Sequence[Sequence[str]],
    probabilities: np.ndarray,
    *,
    depths: Sequence[str],
    steps: Sequence[str],
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw which word each depth would say at each step: the word in the cell, its probability as the colour.

    Args:
        words: (depth, step); the likeliest word of each read-out.
        probabilities: (depth, step); its probability.
        depths: Names of the rows, drawn from the bottom up, as the model computes.
        steps: Names of the columns.
        ax: Where to draw; new axes when None.
        title: A line above the map.

    Raises:
        ValueError: If words, depths or steps do not match the probabilities.
    """
    table = np.asarray(probabilities)
    expected = (len(depths), len(steps))
    if table.shape != expected or [len(row) for row in words] != [expected[1]] * expected[0]:
        raise ValueError(
            f"words, probabilities: expected {expected[0]} depths × {expected[1]} steps, got shape {table.shape}; "
            "give one name per row and column"
        )
    ax = new_axes(ax, (min(9.0, 2.6 + 0.95 * len(steps)), 1.4 + 0.5 * len(depths)))
    image = ax.imshow(table, cmap=WEIGHTS, vmin=0.0, vmax=1.0, aspect="auto", origin="lower")
    for row, column in np.ndindex(table.shape):
        ax.text(column, row, words[row][column], ha="center", va="center", color=ink(float(table[row, column])), fontsize=10)
    ax.set_yticks(range(len(depths)), depths)
    ax.set_xticks(range(len(steps)), steps)
    ax.set(xlabel="the decoder has just read", ylabel="read out after")
    ax.set_title(title or "")
    ax.grid(False)
    frame(ax)
    ax.figure.colorbar(image, ax=ax, label="probability of the word shown")
    return ax


def running_sums(sentences: Mapping[str, tuple[Sequence[str], np.ndarray]], *, ax: Axes | None = None) -> Axes:
    """Draw the log-probability of each sentence so far, piece by piece, with the pieces beside the points.

    Args:
        sentences: For each line's name the t pieces said and their (t,) log-probabilities.
        ax: Where to draw; new axes when None.

    Raises:
        ValueError: If a sentence does not have one log-probability a piece.
    """
    sums = {}
    for name, (pieces, log_probs) in sentences.items():
        log_probs = np.asarray(log_probs, dtype=float)
        if log_probs.shape != (len(pieces),):
            raise ValueError(
                f"{name}: expected {len(pieces)} log-probabilities, one for each piece, got shape {log_probs.shape}; "
                "count <eos> on both sides or on neither"
            )
        sums[name] = np.concatenate([[0.0], log_probs.cumsum()])
    ax, written = new_axes(ax, (7.2, 4.2)), set()
    close = 0.2 * max(np.ptp(line) for line in sums.values())
    for name, line in sums.items():
        ax.plot(line, label=name)
        for place, height in enumerate(line[1:], start=1):
            pieces = sentences[name][0][:place]
            point = (*pieces, round(height, 3))
            if point in written:  # sentences that begin alike share their points
                continue
            written.add(point)
            crowded = any(0.01 < other[place] - height < close for other in sums.values() if len(other) > place)
            offset = {"xytext": (4, -4), "va": "top"} if crowded else {"xytext": (4, 4), "va": "bottom"}
            ax.annotate(pieces[-1], (place, height), textcoords="offset points", fontsize=9, **offset)
    ax.set(xlabel="pieces said", ylabel="log-probability so far")
    ax.legend()
    return ax


def _check_belts(belts: Mapping, into: Sequence[int]) -> None:
    for title, stations in belts.items():
        for name, words, vectors in stations:
            if vectors.ndim != 2 or len(vectors) != len(words):
                raise ValueError(
                    f"{title}, {name}: expected (position, width) with {len(words)} rows, one for each word, "
                    f"got shape {vectors.shape}; of a batch give one sentence, such as x[0]"
                )
    if into and (len(belts) < 2 or not all(0 <= place < len(list(belts.values())[1]) for place in into)):
        raise ValueError(f"into: expected stations of a second belt, counted from 0, got {list(into)}; add the belt")


def _belt(figure, left: float, width: float, rows: int, title: str, stations: Sequence, limit: float) -> list[Axes]:
    """Strips below each other, an arrow between neighbours; heights in rows, so that a word is as high everywhere."""
    unit = 1.0 / (rows + 2)
    figure.text(left, 1.0 - 0.5 * unit, title, va="center", fontsize=12)
    axes: list[Axes] = []
    top = 1.0 - 2.2 * unit
    for name, words, vectors in stations:
        ax = figure.add_axes((left, top - len(words) * unit, width, len(words) * unit))
        spread = np.maximum(vectors.std(axis=1, keepdims=True), 1e-12)
        scaled = (vectors - vectors.mean(axis=1, keepdims=True)) / spread
        ax.imshow(scaled, cmap="cividis", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest")
        ax.set_yticks(range(len(words)), words, fontsize=9)
        ax.tick_params(length=0)
        ax.set_xticks([])
        ax.grid(False)
        ax.spines[:].set_visible(False)
        ax.set_title(name, fontsize=9.5, pad=3, loc="left")
        ax.set_title(f"({', '.join(map(str, vectors.shape))})", fontsize=9.5, pad=3, loc="right", color="#333333")
        for place, length in enumerate(np.linalg.norm(vectors, axis=1)):
            ax.text(1.01, place, f"{length:.0f}", transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        if axes:
            _join(figure, axes[-1], (0.94, 0.0), ax, (0.94, 1.0), shrink=(1, 12))
        else:
            ax.text(1.01, 1.0, "length", transform=ax.transAxes, va="bottom", fontsize=9)
        axes.append(ax)
        top -= (len(words) + 2) * unit
    return axes


def _bus(figure, memory: Axes, readers: Sequence[Axes]) -> None:
    """From the middle of one strip to the right, then up and down, with an arrow to the title of each reader."""
    box = memory.get_position()
    titles = [ax.get_position().y1 + 0.25 * TITLE / figure.get_figheight() for ax in readers]
    start, line = (box.x1 + 0.026, (box.y0 + box.y1) / 2), box.x1 + 0.036  # right of the lengths
    style: dict[str, Any] = {"color": ARROW["color"], "lw": ARROW["lw"], "ls": "-", "marker": ""}
    figure.add_artist(plt.Line2D([start[0], line, line], [start[1], start[1], max(titles)], **style))
    figure.add_artist(plt.Line2D([line, line], [min(titles), start[1]], **style))
    for ax, height in zip(readers, titles, strict=True):
        end = (ax.get_position().x0 - 0.004, height)
        figure.add_artist(ConnectionPatch((line, height), end, "figure fraction", "figure fraction", **ARROW))


def _scale(figure, strip: Axes) -> None:
    """A bar of colours at the bottom, below the right end of the belt that a strip belongs to."""
    box, inch = strip.get_position(), 1.0 / figure.get_figheight()
    bar = figure.add_axes((box.x1 - 0.12, 0.2 * inch, 0.12, 0.1 * inch))
    low, high = strip.images[0].get_clim()
    scale = figure.colorbar(strip.images[0], cax=bar, orientation="horizontal", ticks=[low, 0.0, high])
    scale.ax.tick_params(labelsize=9, length=2, pad=1)
    scale.outline.set_visible(False)
    words = "entry, in standard deviations of its row"
    figure.text(box.x1 - 0.13, 0.25 * inch, words, ha="right", va="center", fontsize=9)


def _join(figure, one: Axes, start, other: Axes, end, shrink=(2, 2)) -> None:
    options: dict[str, Any] = {"coordsA": one.transAxes, "coordsB": other.transAxes, "shrinkA": shrink[0], "shrinkB": shrink[1]}
    figure.add_artist(ConnectionPatch(start, end, **options, **ARROW))
