"""The computation of attention as a picture, with its numbers written in."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from xformer_course.plots.style import HATCH, MASK_COLOURS, ROLES, WEIGHTS, ink, new_axes, tint
from xformer_lib.reference.attention import softmax

WIDEST = 9.0  # inches
CELL = 0.6  # inches a cell is wide, at most
SMALLEST = 0.45  # below this the numbers would touch
HEIGHT = 0.7  # of a cell, in its widths
GAP = 1.2  # between two blocks, in the same
PLAIN, EDGE = "#f7f7f7", "#555555"
OF_BLOCK = {"q": "query", "k": "key", "v": "value"}


def attention_steps(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    key_columns: Sequence[str] | None = None,
    mask: np.ndarray | None = None,
    scale: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw every number of the attention of hand-sized arrays, from the queries to the outputs, as matrices.

    Each score stands where the row of its query crosses the column of its key, each output where a row of weights
    crosses a column of the values.

    Queries are blue, keys orange and values green; weights have the colours of a map.
    Every number is a text of the axes, and its gid says which: "weights[1,2]" (query 1, key 2).

    Args:
        q: Queries (i, d).
        k: Keys (j, d).
        v: Values (j, e).
        queries: The i words of the queries.
        keys: The j words of the keys.
        columns: Names of the e numbers of a value.
        key_columns: Names of the d numbers of a query or a key.
        mask: Booleans (i, j), True = may attend. A hidden score is drawn dark, as minus infinity.
        scale: Divide the scores by √d, as the library does.
        ax: Where to draw; new axes of the right size when None.
        title: A line above the picture.

    Raises:
        ValueError: If shapes, words or the mask do not match, or the picture would be too wide to read.
    """
    q, k, v = (np.asarray(array, dtype=float) for array in (q, k, v))
    _check(q, k, v, queries, keys, columns, key_columns, mask)
    may_attend = np.ones((len(q), len(k)), dtype=bool) if mask is None else mask
    divided = q @ k.T / (np.sqrt(q.shape[1]) if scale else 1.0)
    steps = {"q": q, "k": k, "v": v, "may_attend": may_attend, "scores": np.where(may_attend, divided, -np.inf)}
    steps["weights"] = softmax(steps["scores"])
    steps["output"] = steps["weights"] @ v
    divisor = rf"$\sqrt{{{q.shape[1]}}}$" if scale else ""
    names = list(columns or [""] * v.shape[1]), list(key_columns or [""] * q.shape[1])
    return _draw(steps, queries, keys, names, divisor, ax, title)


def _draw(steps, queries, keys, names, divisor, ax, title):
    rows, (columns, key_columns) = len(queries), names
    left, before_keys, before_values = (0.4 + _longest(words) for words in (queries, key_columns, keys))
    scores_at = left + steps["q"].shape[1] + max(before_keys, 0.6)
    weights_at = scores_at + len(keys) + GAP
    values_at = weights_at + len(keys) + before_values
    top = max(steps["k"].shape[1], len(keys)) * HEIGHT + 2.2
    board = _Board(ax, values_at + len(columns) + 0.1, top + rows * HEIGHT + 0.6, title)

    board.words(queries, left, top)
    board.block("q", steps["q"], left, top, head="queries")

    keys_top = top - 1.4 - steps["k"].shape[1] * HEIGHT
    board.words(key_columns, scores_at, keys_top)
    board.block("k", steps["k"].T, scores_at, keys_top, head="keys, turned", turned=True)
    board.names(keys, scores_at, top, head="scores")
    board.block("scores", steps["scores"], scores_at, top, foot="queries × keys" + (f" ÷ {divisor}" if divisor else ""))
    adds_up = "sum 1 in each row" if steps["may_attend"].any(axis=1).all() else ""
    board.arrow(weights_at - GAP, top, rows, "softmax")
    board.names(keys, weights_at, top, head="weights")
    board.block("weights", steps["weights"], weights_at, top, shade=True, foot=adds_up)

    values_top = top - 1.4 - len(keys) * HEIGHT
    board.words(keys, values_at, values_top)
    board.names(columns, values_at, values_top, head="values", role="value")
    board.block("v", steps["v"], values_at, values_top)
    board.names(columns, values_at, top, head="output")
    board.block("output", steps["output"], values_at, top, foot="weights × values")
    return board.ax


class _Board:
    """Axes in units of one cell's width, with y growing downwards."""

    def __init__(self, ax: Axes | None, width: float, height: float, title: str | None):
        cell = min(CELL, WIDEST / width)
        if ax is None and cell < SMALLEST:
            raise ValueError(
                f"q, k, v: expected arrays of hand size, at most {WIDEST / SMALLEST:.0f} cells side by "
                f"side, got {width:.0f} with the words; draw fewer words, or the weights alone with attention_map"
            )
        self.ax = new_axes(ax, (cell * width, cell * height))
        self.ax.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
        self.ax.axis("off")
        self.ax.set_title(title or "")

    def text(self, x, y, words, **options):
        self.ax.text(x, y, words, **{"ha": "center", "va": "center", "fontsize": 9, **options})

    def block(self, name, numbers, x, y, *, head="", foot="", shade=False, turned=False):
        """Draw a matrix with its upper left corner at (x, y); give the x where it ends."""
        finite = numbers[np.isfinite(numbers)]
        decimals = 0 if np.allclose(finite, np.round(finite), atol=1e-12) else 2
        role = OF_BLOCK.get(name)
        edge = ROLES[role] if role else EDGE
        for (i, j), number in np.ndenumerate(numbers):
            place = (j, i) if turned else (i, j)
            colour, ink = _colours(number, shade)
            if role:
                colour = tint(role)
            corner = (x + j, y + i * HEIGHT)
            self.ax.add_patch(Rectangle(corner, 1, HEIGHT, facecolor=colour, edgecolor=edge, linewidth=0.8))
            if np.isneginf(number):
                self.ax.add_patch(Rectangle(corner, 1, HEIGHT, **HATCH))
            self.text(
                corner[0] + 0.5,
                corner[1] + HEIGHT / 2,
                _written(number, decimals),
                color=ink,
                fontsize=10,
                gid=f"{name}[{place[0]},{place[1]}]",
            )
        if head:
            self.text(x + numbers.shape[1] / 2, y - 0.3, head, **_heading(role))
        if foot:
            self.text(x + numbers.shape[1] / 2, y + len(numbers) * HEIGHT + 0.3, foot)
        return x + numbers.shape[1]

    def names(self, words, x, y, *, head="", role=None):
        """Names of columns, above a block at (x, y); the heading goes above them."""
        for position, word in enumerate(words):
            self.text(x + position + 0.5, y - 0.25, word)
        if head:
            self.text(x + len(words) / 2, y - (0.75 if any(words) else 0.3), head, **_heading(role))

    def words(self, words, x, y):
        """Words of rows, left of a block at (x, y)."""
        for position, word in enumerate(words):
            self.text(x - 0.15, y + (position + 0.5) * HEIGHT, word, ha="right", fontsize=10, color="black")

    def arrow(self, x, y, rows, words):
        """An arrow from a block that ends at x; give the x where the next one begins."""
        middle = y + rows * HEIGHT / 2
        self.ax.annotate("", (x + GAP - 0.1, middle), (x + 0.1, middle), arrowprops={"arrowstyle": "->", "lw": 1.2})
        self.text(x + GAP / 2, middle - 0.12, words, va="bottom")
        return x + GAP


def _heading(role: str | None) -> dict:
    return {"fontweight": "bold", "fontsize": 10, "color": ROLES[role] if role else "black"}


def _colours(number: float, shade: bool) -> tuple:
    """The colour of a cell and of the number in it."""
    if np.isneginf(number):
        return MASK_COLOURS[0], "black"
    if shade:
        return WEIGHTS(number), ink(number)
    return PLAIN, "black"


def _written(number: float, decimals: int) -> str:
    if np.isneginf(number):
        return "−∞"
    text = f"{number:.{decimals}f}"
    return (text[1:] if float(text) == 0 and text[0] == "-" else text).replace("-", "−")


def _longest(words: Sequence[str]) -> float:
    """Room for the longest word, in cells."""
    return 0.16 * max(map(len, words), default=0)


def _check(q, k, v, queries, keys, columns, key_columns, mask) -> None:
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 2:
            raise ValueError(f"{name}: expected (position, width), got shape {array.shape}; pick one, {name}[0]")
    if q.shape[1] != k.shape[1] or len(k) != len(v):
        raise ValueError(
            f"q, k, v: expected (i, d), (j, d), (j, e), got {q.shape}, {k.shape}, {v.shape}; "
            "queries and keys share their width, keys and values their number"
        )
    words = (
        ("queries", queries, len(q)),
        ("keys", keys, len(k)),
        ("columns", columns, v.shape[1]),
        ("key_columns", key_columns, k.shape[1]),
    )
    for name, given, size in words:
        if given is not None and (isinstance(given, str) or len(given) != size):
            raise ValueError(f"{name}: expected a list of {size} words, got {given!r}; one word for each row or column")
    if mask is not None:
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != (len(q), len(k)):
            raise ValueError(
                f"mask: expected booleans of shape {(len(q), len(k))} (True = may attend), got "
                f"{mask.dtype} of shape {mask.shape}; write a comparison such as mask == 1"
            )
