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
    query: int | None = None,
    columns: Sequence[str] | None = None,
    key_columns: Sequence[str] | None = None,
    mask: np.ndarray | None = None,
    scale: bool = True,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw every number of the attention of hand-sized arrays, from the query to the output.

    With `query`, one query is followed from left to right: it stands above the keys, each row is one key
    with its score, its weight and its value, and the output stands below the values, column by column.
    Without, all queries are shown as matrices: each score where the row of its query crosses the column
    of its key, each output where a row of weights crosses a column of the values.

    Queries are blue, keys orange and values green; weights have the colours of a map.
    Every number is a text of the axes, and its gid says which: "weights[1,2]" (query 1, key 2).

    Args:
        q: Queries (i, d).
        k: Keys (j, d).
        v: Values (j, e).
        queries: The i words of the queries.
        keys: The j words of the keys.
        query: Which query to follow; None shows them all.
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
    _check(q, k, v, queries, keys, columns, key_columns, mask, query)
    may_attend = np.ones((len(q), len(k)), dtype=bool) if mask is None else mask
    divided = q @ k.T / (np.sqrt(q.shape[1]) if scale else 1.0)
    steps = {"q": q, "k": k, "v": v, "products": q @ k.T, "may_attend": may_attend, "scores": np.where(may_attend, divided, -np.inf)}
    steps["weights"] = softmax(steps["scores"])
    steps["output"] = steps["weights"] @ v
    divisor = rf"$\sqrt{{{q.shape[1]}}}$" if scale else ""
    names = list(columns or [""] * v.shape[1]), list(key_columns or [""] * q.shape[1])
    if query is None:
        return _all_queries(steps, queries, keys, names, divisor, ax, title)
    return _one_query(steps, query, queries, keys, names, divisor, ax, title)


def _one_query(steps, query, queries, keys, names, divisor, ax, title):
    row = slice(query, query + 1)
    masked = not steps["may_attend"][query].all()
    changed = bool(divisor) or masked
    left = 0.3 + _longest([queries[query], *keys])
    width = left + steps["k"].shape[1] + (3 if changed else 2) * (GAP + 1) + GAP + steps["v"].shape[1] + 0.2
    top, rows = 2.2, len(keys)
    below = top + rows * HEIGHT
    board = _Board(ax, width, below + 1.6, title)

    board.block("q", steps["q"][row], left, 0.7, first_row=query)
    board.names(names[1], left, 0.7)
    board.words([f"query: {queries[query]}"], left, 0.7, bold=True, role="query")
    x = board.block("k", steps["k"], left, top, head="keys")
    board.words(keys, left, top)
    x = board.arrow(x, top, rows, "dot\nproduct")
    x = board.block("products", steps["products"][row].T, x, top, head="scores", transposed=query)
    if changed:
        words = (f"÷ {divisor}" if divisor else "") + ("\n" if divisor and masked else "") + ("mask" if masked else "")
        x = board.arrow(x, top, rows, words)
        head = "scaled" if divisor else "masked"
        x = board.block("scores", steps["scores"][row].T, x, top, head=head, transposed=query)
    x = board.arrow(x, top, rows, "softmax")
    x = board.block("weights", steps["weights"][row].T, x, top, head="weights", shade=True, transposed=query)
    x = board.arrow(x, top, rows, "times")
    end = board.block("v", steps["v"], x, top)
    board.names(names[0], x, top, head="values", role="value")
    board.text((x + end) / 2, below + 0.35, "added, column by column  ↓")
    board.block("output", steps["output"][row], x, below + 0.7, first_row=query)
    board.words(["output"], x, below + 0.7, bold=True)
    return board.ax


def _all_queries(steps, queries, keys, names, divisor, ax, title):
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
    board.block("k", steps["k"].T, scores_at, keys_top, head="keys, turned", transposed=0)
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

    def block(self, name, numbers, x, y, *, head="", foot="", shade=False, first_row=0, transposed=None):
        """Draw a matrix with its upper left corner at (x, y); give the x where it ends."""
        finite = numbers[np.isfinite(numbers)]
        decimals = 0 if np.allclose(finite, np.round(finite), atol=1e-12) else 2
        role = OF_BLOCK.get(name)
        edge = ROLES[role] if role else EDGE
        for (i, j), number in np.ndenumerate(numbers):
            place = (i + first_row, j) if transposed is None else (j + transposed, i)
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

    def words(self, words, x, y, *, bold=False, role=None):
        """Words of rows, left of a block at (x, y)."""
        for position, word in enumerate(words):
            self.text(
                x - 0.15,
                y + (position + 0.5) * HEIGHT,
                word,
                ha="right",
                fontsize=10,
                fontweight="bold" if bold else "normal",
                color=ROLES[role] if role else "black",
            )

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


def _check(q, k, v, queries, keys, columns, key_columns, mask, query) -> None:
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
    if query is not None and not 0 <= query < len(q):
        raise ValueError(f"query: expected the number of a row, 0 to {len(q) - 1}, got {query}; None shows them all")
