"""One sentence on its way through the model: vectors at each station, words at each step, votes for one word, the sum so far."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import ConnectionPatch

from xformer_course.plots.style import OKABE_ITO, new_axes

CHARTS_A_ROW = 3
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


def next_words(
    probabilities: np.ndarray, words: Sequence[str], *, titles: Sequence[str], top: int = 5, chosen: Sequence[int] | None = None
) -> list[Axes]:
    """Draw the likeliest next words of each step as bars, with the word that was taken in another colour.

    Args:
        probabilities: (t, v); row n belongs to step n.
        words: The v words of the vocabulary.
        titles: A line above each chart, one a step.
        top: How many words each chart shows.
        chosen: The id that each step took; the likeliest when None. One that is not among the `top` has no bar.

    Raises:
        ValueError: If words, titles or chosen ids do not match the probabilities.
    """
    table = np.asarray(probabilities)
    if table.ndim != 2 or table.shape != (len(titles), len(words)):
        raise ValueError(
            f"probabilities: expected ({len(titles)} steps, {len(words)} words), got shape {table.shape}; "
            "give one title per row and one word per column"
        )
    chosen = table.argmax(axis=1) if chosen is None else chosen
    if len(chosen) != len(table):
        raise ValueError(f"chosen: expected one id for each of {len(table)} steps, got {len(chosen)}; add or drop some")
    columns = min(len(table), CHARTS_A_ROW)
    lines = -(-len(table) // columns)
    size = (2.9 * columns, 0.3 + lines * (0.75 + 0.22 * top))
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False)
    for ax in axes.flat[len(table) :]:
        figure.delaxes(ax)
    figure.supxlabel("probability", fontsize=11)
    for ax, row, title, taken in zip(axes.flat, table, titles, chosen, strict=False):
        _bars(ax, row, words, title, top, taken)
    return list(axes.flat[: len(table)])


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
    image = ax.imshow(table, cmap="viridis", vmin=0.0, vmax=1.0, aspect="auto", origin="lower")
    for row, column in np.ndindex(table.shape):
        colour = "black" if table[row, column] > 0.6 else "white"
        ax.text(column, row, words[row][column], ha="center", va="center", color=colour, fontsize=10)
    ax.set_yticks(range(len(depths)), depths)
    ax.set_xticks(range(len(steps)), steps)
    ax.set(xlabel="the decoder has just read", ylabel="read out after")
    ax.set_title(title or "")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, label="probability of the word shown")
    return ax


def vote_bars(
    votes: Mapping[str, np.ndarray], names: Sequence[str], *, ax: Axes | None = None, title: str | None = None, xlabel: str = "vote"
) -> Axes:
    """Draw what each part adds to one number, in the order of computing, and the sum as a last bar; numbers at the bars.

    Args:
        votes: For each account's name its (n,) numbers, one a part; several accounts stand side by side.
        names: The n names of the parts.
        ax: Where to draw; new axes when None.
        title: A line above the bars.
        xlabel: What the bars measure, with its unit.

    Raises:
        ValueError: If an account does not have one number for each name.
    """
    table = {account: np.asarray(row, dtype=float) for account, row in votes.items()}
    for account, row in table.items():
        if row.shape != (len(names),):
            raise ValueError(
                f"votes, {account}: expected {len(names)} numbers, one for each name, got shape {row.shape}; give one vote a part"
            )
    ax = new_axes(ax, (7.2, 1.2 + (0.12 + 0.2 * len(table)) * (len(names) + 1)))
    places, height = np.array([*range(len(names)), len(names) + 0.4]), 0.8 / len(table)
    for n, (account, row) in enumerate(table.items()):
        shifted = places + (n - (len(table) - 1) / 2) * height
        bars = ax.barh(shifted, [*row, row.sum()], height, label=account, color=OKABE_ITO[n])
        ax.bar_label(bars, [f"{bar.get_width():+.2f}".replace("-", "−") for bar in bars], padding=3, fontsize=9)
    ax.set_yticks(places, [*names, "sum"])
    ax.set_ylim(places[-1] + 0.7, -0.7)
    ax.axhline(len(names) - 0.3, color="#555555", linewidth=0.8, linestyle="-", marker="")
    ax.axvline(0.0, color="#555555", linewidth=0.8, linestyle="-", marker="")
    ax.margins(x=0.14)
    ax.set(xlabel=xlabel)
    ax.set_title(title or "")
    ax.grid(axis="y", visible=False)
    ax.set_axisbelow(True)
    if len(table) > 1:
        ax.legend()
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


def _bars(ax: Axes, row: np.ndarray, words: Sequence[str], title: str, top: int, taken: int) -> None:
    best = np.argsort(-row, kind="stable")[:top]
    ax.barh(range(len(best)), row[best], 0.7, color=[OKABE_ITO[1] if n == taken else OKABE_ITO[0] for n in best])
    for place, number in enumerate(best):
        long = row[number] > 0.75  # the number stands inside the bar
        label = f"{row[number]:.2f}" if row[number] >= 0.005 else "< 0.01"
        side: dict[str, Any] = {"ha": "right", "color": "white"} if long else {"ha": "left", "color": "black"}
        ax.text(row[number] + (-0.02 if long else 0.02), place, label, va="center", fontsize=9, **side)
    ax.set_yticks(range(len(best)), [words[number] for number in best], fontsize=10)
    ax.set_xlim(0.0, 1.0)
    ax.set_xticks([0.0, 0.5, 1.0])
    ax.invert_yaxis()
    ax.set_title(title, fontsize=10)
    ax.grid(axis="y", visible=False)
    ax.set_axisbelow(True)
