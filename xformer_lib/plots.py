"""Figures in the style of the book.

Every function draws on the axes it is given (or on new ones) and returns them, so that a figure can be
composed, changed and tested. Attention maps always have queries as rows and keys as columns, with the words
on both axes. Colours are viridis, cividis and the palette of Okabe and Ito, which stay apart for
colour-blind readers; lines also differ in dash and marker, so that they stay apart in grey.

>>> import numpy as np
>>> axes = attention_map(np.eye(2), queries=["Le", "chat"], keys=["The", "cat"])
>>> [label.get_text() for label in axes.get_yticklabels()]
['Le', 'chat']
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.ticker import FuncFormatter, MaxNLocator

__all__ = [
    "OKABE_ITO",
    "architecture",
    "attention_map",
    "learning_curve",
    "line_plot",
    "mask_map",
    "positional_heatmap",
    "use_style",
]

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
MASK_COLOURS = ("#3b3b3b", "#f2e6c2")  # may not attend, may attend

STYLE = {
    "figure.figsize": (6.4, 4.0),
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.prop_cycle": cycler(color=OKABE_ITO) + cycler(linestyle=DASHES) + cycler(marker=MARKERS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.labelsize": 11,
    "grid.color": "#dddddd",
    "font.size": 11,
    "image.cmap": "viridis",
    "legend.frameon": False,
    "lines.markersize": 5,
    "svg.hashsalt": "xformer",
}


def use_style() -> None:
    """Give every figure that follows the book's fonts, colours and line styles."""
    plt.rcParams.update(STYLE)


def attention_map(
    weights: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    values: bool = False,
    colorbar: bool = True,
    vmax: float = 1.0,
    query_axis: str = "query",
    key_axis: str = "key",
) -> Axes:
    """Draw weights with one row per query and one column per key.

    Args:
        weights: (i, j); row i says how query i shares its attention out.
        queries: The i words of the rows.
        keys: The j words of the columns.
        ax: Where to draw; new axes when None.
        title: A line above the map.
        values: Write each weight into its cell, with two decimals.
        colorbar: Draw the scale beside the map; switch it off for all but one of several maps.
        vmax: Weight of the lightest colour; one value for all maps that are to be compared.
        query_axis: Name of the vertical axis; it must contain the word "query".
        key_axis: Name of the horizontal axis; it must contain the word "key".

    Raises:
        ValueError: If the words do not match the shape of the weights, or an axis lost its name.
    """
    weights = np.asarray(weights)
    _check_words("weights", weights, queries, keys)
    _check_axis_names(query_axis, key_axis)
    ax = _axes(ax, (1.6 + 0.62 * len(keys), 1.3 + 0.5 * len(queries)))
    image = ax.imshow(weights, cmap="viridis", vmin=0.0, vmax=vmax, aspect="auto")
    _label_words(ax, queries, keys, query_axis, key_axis, title)
    if values:
        _write_values(ax, weights, vmax)
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="attention weight")
    return ax


def mask_map(
    mask: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    colorbar: bool = True,
) -> Axes:
    """Draw a boolean mask with one row per query and one column per key: light may attend, dark may not.

    Raises:
        ValueError: If the mask is not boolean, or the words do not match its shape.
    """
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(f"mask: expected booleans (True = may attend), got {mask.dtype}; weights go to attention_map")
    _check_words("mask", mask, queries, keys)
    ax = _axes(ax, (1.6 + 0.62 * len(keys), 1.3 + 0.5 * len(queries)))
    scale = BoundaryNorm([-0.5, 0.5, 1.5], 2)
    image = ax.imshow(mask.astype(int), cmap=ListedColormap(MASK_COLOURS), norm=scale, aspect="auto")
    _label_words(ax, queries, keys, "query", "key", title)
    _separate_cells(ax, mask.shape)
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, ticks=[0, 1])
        bar.ax.set_yticklabels(["hidden", "may attend"])
    return ax


def positional_heatmap(table: np.ndarray, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw a table of position vectors: one row per position, one column per dimension.

    Raises:
        ValueError: If the table does not have two axes.
    """
    table = np.asarray(table)
    if table.ndim != 2:
        raise ValueError(f"table: expected (position, dimension), got shape {table.shape}; pick one table, table[0]")
    ax = _axes(ax, (6.4, 4.0))
    image = ax.imshow(table, cmap="cividis", aspect="auto", interpolation="nearest")
    ax.set(xlabel="dimension", ylabel="position")
    ax.set_title(title or "")
    ax.grid(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.figure.colorbar(image, ax=ax, label="value")
    return ax


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
    ax = _axes(ax, (6.4, 4.0))
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
    ax = _axes(ax, (6.4, 3.8))
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


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax


def _keys(history: Sequence[Mapping[str, float]]) -> str:
    return ", ".join(sorted({key for record in history for key in record})) or "no records"


def _check_words(name: str, array: np.ndarray, queries: Sequence[str], keys: Sequence[str]) -> None:
    if isinstance(queries, str) or isinstance(keys, str):
        raise ValueError("queries, keys: expected lists of words, got one string; split it into words, text.split()")
    if array.ndim != 2:
        raise ValueError(f"{name}: expected (query, key), got shape {array.shape}; pick one map, such as {name}[0]")
    expected = (len(queries), len(keys))
    if array.shape != expected:
        hint = "it is transposed, draw its .T" if array.T.shape == expected else "give one word per row and column"
        raise ValueError(
            f"{name}: expected {expected[0]} queries × {expected[1]} keys, got shape {array.shape}; {hint}"
        )


def _check_axis_names(query_axis: str, key_axis: str) -> None:
    for name, text, word in (("query_axis", query_axis, "query"), ("key_axis", key_axis, "key")):
        if word not in text:
            raise ValueError(f'{name}: expected a name with the word "{word}", got {text!r}; try "{word} ({text})"')


def _label_words(
    ax: Axes, queries: Sequence[str], keys: Sequence[str], query_axis: str, key_axis: str, title: str | None
) -> None:
    long_words = sum(len(word) for word in keys) > 7 * len(keys) or len(keys) > 8
    ax.set_xticks(range(len(keys)), keys, rotation=60 if long_words else 0, ha="right" if long_words else "center")
    ax.set_yticks(range(len(queries)), queries)
    ax.set(xlabel=key_axis, ylabel=query_axis)
    ax.set_title(title or "")
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _separate_cells(ax: Axes, shape: tuple[int, int]) -> None:
    for axis, size in ((ax.yaxis, shape[0]), (ax.xaxis, shape[1])):
        axis.set_ticks(np.arange(size - 1) + 0.5, minor=True)
        axis.set_tick_params(which="minor", length=0)
    ax.grid(which="minor", color="white", linewidth=1.5)


def _write_values(ax: Axes, weights: np.ndarray, vmax: float) -> None:
    for row, line in enumerate(weights):
        for column, weight in enumerate(line):
            colour = "black" if weight > 0.6 * vmax else "white"
            ax.text(column, row, f"{weight:.2f}", ha="center", va="center", color=colour)


def architecture(config, *, src_len: int, tgt_len: int, ax: Axes | None = None) -> Axes:
    """Draw an encoder–decoder from its ids up to its probabilities, with the shape on every arrow.

    Args:
        config: Anything with `vocab_size`, `d_model`, `num_encoder_layers` and `num_decoder_layers`.
        src_len: Tokens of the source, s.
        tgt_len: Tokens of the decoder's input, t.
        ax: Where to draw; new axes when None.
    """
    ax = _axes(ax, (5.2, 8.0))
    ax.set(xlim=(0, 10), ylim=(0, 13.4))
    ax.axis("off")
    source, target = f"({src_len}, {config.d_model})", f"({tgt_len}, {config.d_model})"
    _layer_frame(ax, 2.4, 3.35, 7.0, f"{config.num_encoder_layers} encoder layers")
    _layer_frame(ax, 7.4, 3.35, 8.7, f"{config.num_decoder_layers} decoder layers")
    _column(
        ax,
        2.4,
        f"source ids ({src_len},)",
        [
            (2.1, "embedding · √m\n+ positions", "shared", source),
            (3.9, "self-attention", "attention", source),
            (5.6, "feed-forward", "plain", source),
            (7.6, "LayerNorm", "plain", source),
        ],
    )
    _column(
        ax,
        7.4,
        f"target_in ids ({tgt_len},)",
        [
            (2.1, "embedding · √m\n+ positions", "shared", target),
            (3.9, "masked\nself-attention", "attention", target),
            (5.6, "cross-attention", "attention", target),
            (7.3, "feed-forward", "plain", target),
            (9.3, "LayerNorm", "plain", target),
            (10.9, "embedding\ntransposed", "shared", f"logits ({tgt_len}, {config.vocab_size})"),
            (12.4, "softmax over\nthe words", "plain", None),
        ],
    )
    _memory_arrow(ax, f"memory Z\n{source}")
    ax.text(0.1, 12.4, "yellow: one shared matrix\nblue: attention", ha="left", va="center", fontsize=9)
    return ax


_BOX_COLOURS = {"shared": "#F5D58A", "attention": "#A9D6F0", "plain": "#EEEEEE"}


def _column(ax: Axes, x: float, start: str, boxes: Sequence[tuple[float, str, str, str | None]]) -> None:
    """Boxes above each other, each joined to the next by an arrow that carries its output's shape."""
    ax.text(x, 0.5, start, ha="center", va="center")
    below, carried = 0.8, None
    for y, text, kind, shape in boxes:
        half = 0.3 + 0.17 * text.count("\n")  # of the height of the box
        _arrow(ax, (x, below), (x, y - half))
        if carried:
            ax.text(x + 0.15, (below + y - half) / 2, carried, ha="left", va="center", fontsize=9, color="#333333")
        ax.text(
            x,
            y,
            text,
            ha="center",
            va="center",
            fontsize=10,
            bbox={"boxstyle": "round,pad=0.45", "facecolor": _BOX_COLOURS[kind], "edgecolor": "#333333"},
        )
        below, carried = y + half, shape


def _layer_frame(ax: Axes, x: float, bottom: float, top: float, text: str) -> None:
    ax.add_patch(plt.Rectangle((x - 2.3, bottom), 4.6, top - bottom - 0.65, fill=False, ls="--", ec="#777777"))
    ax.text(x - 2.2, top - 0.75, text, ha="left", va="top", fontsize=8, color="#555555")


def _memory_arrow(ax: Axes, text: str) -> None:
    """From the top of the encoder, over, and into cross-attention."""
    _arrow(ax, (2.4, 7.9), (2.4, 8.6), head=False)
    ax.text(2.4, 9.1, text, ha="center", va="center", fontsize=10, weight="bold")
    ax.plot([3.4, 4.9, 4.9], [9.1, 9.1, 5.6], color="#333333", lw=1.2, ls="-", marker="")
    _arrow(ax, (4.9, 5.6), (6.0, 5.6))


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], head: bool = True) -> None:
    ax.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "->" if head else "-", "color": "#333333", "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )
