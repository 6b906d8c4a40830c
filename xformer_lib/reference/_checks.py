"""What the NumPy functions refuse, before anything is computed: no arrays, no numbers, shapes that do not meet.

Written by hand: the chapters show what the functions do, each calls one or two of these first.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from xformer_lib._checks import check_whole, is_number, is_whole, shown

__all__ = [
    "check_array",
    "check_even",
    "check_heads",
    "check_lengths",
    "check_mask",
    "check_number",
    "check_order",
    "check_places",
    "check_projections",
    "check_qkv",
    "check_scorer",
    "check_table",
    "check_tables",
    "check_whole",
    "check_wide",
]

ROWS = "an array (*b, position, width)"

# ---------------------------------------------------------------- one argument


def conversion(name: str, value: object) -> str:
    """Return the line that makes an array of what was given, where there is one."""
    if isinstance(value, list | tuple):
        return f"write np.array({name})"
    if hasattr(value, "detach"):
        return f"write {name}.detach().numpy()"
    return "pass an array of NumPy's"


def check_numbers(name: str, array: np.ndarray) -> None:
    """Raise ValueError for an array of anything but whole or floating-point numbers."""
    kind = array.dtype.kind
    if kind not in "iuf":
        advice = f"write {name}.astype(float)" if kind in "bO" else "pass real numbers"
        raise ValueError(f"{name}: expected numbers, got an array of {array.dtype}; {advice}")


def check_array(
    name: str, value: object, expected: str = "an array", *, axes: int = 1, exactly: bool = False, products: bool = True, advice: str = ""
) -> None:
    """Raise ValueError unless ``value`` is an array of numbers with at least, or exactly, so many axes.

    ``products``: it is computed with, so whole numbers need a sign and more than two bytes, else they would wrap round.
    """
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name}: expected {expected}, got {shown(value)}; {conversion(name, value)}")
    check_numbers(name, value)
    if products and (value.dtype.kind == "u" or value.dtype in (np.int8, np.int16)):
        raise ValueError(f"{name}: expected numbers that cannot wrap round, got an array of {value.dtype}; write {name}.astype(float)")
    if value.ndim < axes or (exactly and value.ndim > axes):
        advice = advice or ("add the missing axis" if value.ndim < axes else "index the others away, or reshape")
        raise ValueError(f"{name}: expected {expected}, got shape {value.shape}; {advice}")


def check_number(name: str, value: object, *, positive: bool = True, finite: bool = True, advice: str = "") -> None:
    """Raise ValueError unless ``value`` is a finite number, and above 0, unless told otherwise."""
    if not is_number(value) or np.isnan(value) or (finite and np.isinf(value)) or (positive and value <= 0):
        kind = "a positive number" if positive else "a finite number"
        raise ValueError(f"{name}: expected {kind}, got {shown(value)}; {advice or f'try {name}=1.0'}")


def is_row(value: object) -> TypeGuard[Sequence | np.ndarray]:
    """Return whether it is a sequence of numbers: a list, a tuple, a range, an array; no text."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def check_lengths(lengths: Any, max_len: int) -> None:
    """Raise ValueError unless each row's length is a whole number up to max_len."""
    check_whole("max_len", max_len, advice="pass an int such as max_len=4")
    if not is_row(lengths):
        raise ValueError(f"lengths: expected one whole number a row, got {shown(lengths)}; pass a list such as [3, 1]")
    for length in lengths:
        check_whole("lengths", length, advice="pass whole numbers such as [3, 1]")
        if length > max_len:
            raise ValueError(f"lengths: expected at most max_len={max_len}, got {length}; shorten that row or raise max_len")


def check_order(order: Any) -> None:
    """Raise ValueError unless the order is a row of whole numbers."""
    if not is_row(order) or not all(is_whole(row) for row in order):
        raise ValueError(f"order: expected whole numbers in a row, got {shown(order)}; write them as in [2, 0, 1]")


def check_even(dim: object) -> None:
    """Raise ValueError unless a width can be cut into pairs."""
    if not is_whole(dim) or dim <= 0 or dim % 2:
        raise ValueError(f"dim: expected an even number above 0, got {shown(dim)}; sines and cosines come in pairs")


def check_places(name: str, places: object, number: int | None = None) -> None:
    """Raise ValueError unless places are numbers in a row, one for each of so many rows."""
    advice = "try np.arange"
    if not is_row(places):
        raise ValueError(f"{name}: expected one place for each row, got {shown(places)}; {advice}")
    array = np.asarray(places)
    if array.size:
        check_numbers(name, array)
    if array.ndim != 1 or (number is not None and len(array) != number):
        of = "each row" if number is None else f"each of {number} rows"
        raise ValueError(f"{name}: expected one place for {of}, got shape {array.shape}; {advice}")


# ---------------------------------------------------------------- queries, keys, values


def check_qkv(q: Any, k: Any, v: Any, *, same_width: bool = True) -> None:
    """Refuse anything but (*b i d), (*b j d) and (*b j e)."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        check_array(name, array, ROWS, axes=2, advice=f"for a single vector write {name}[None]")
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        got = f"{q.shape[:-2]}, {k.shape[:-2]} and {v.shape[:-2]}"
        raise ValueError(f"q, k, v: expected the same batch axes, got {got}; repeat or index one of them until they agree")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"v: expected one value for each of the {k.shape[-2]} keys, got {v.shape[-2]}; keys and values come in pairs")
    if same_width and (q.shape[-1] != k.shape[-1] or q.shape[-1] == 0):
        raise ValueError(
            f"q, k: expected the same width of at least 1, got {q.shape[-1]} and {k.shape[-1]}; "
            "project one of them, or use additive_attention"
        )


def check_mask(mask: object, shape: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean, or does not fit scores of this shape."""
    if not isinstance(mask, np.ndarray):
        raise ValueError(f"mask: expected booleans (True = may attend), got {shown(mask)}; {conversion('mask', mask)}")
    if mask.dtype != np.bool_:
        raise ValueError(f"mask: expected booleans (True = may attend), got {mask.dtype}; write a comparison such as mask == 1")
    wide = (1,) * (len(shape) - mask.ndim) + mask.shape
    if len(wide) != len(shape) or any(have not in (1, want) for have, want in zip(wide, shape, strict=True)):
        raise ValueError(f"mask: expected a shape that fits the scores {shape}, got {mask.shape}; a mask over keys needs mask[:, None, :]")


def check_scorer(d_q: int, d_k: int, w_q: Any, w_k: Any, w_v: Any) -> None:
    """Refuse anything but (q a), (k a) and (a,); q and k are widths."""
    check_array("w_v", w_v, "one vector (a,)", exactly=True, advice="it makes one score of a numbers, it does not project values")
    for name, matrix, d_in in (("w_q", w_q, d_q), ("w_k", w_k, d_k)):
        expected, advice = (d_in, len(w_v)), f"rows for the width of {name[-1]}, columns for w_v"
        check_array(name, matrix, f"shape {expected}", axes=2, exactly=True, advice=advice)
        if matrix.shape != expected:
            raise ValueError(f"{name}: expected shape {expected}, got shape {matrix.shape}; {advice}")


# ---------------------------------------------------------------- tables and projections


def check_table(query: Any, keys: Any, values: Any) -> None:
    """Refuse anything but (*b d), (j d) and (j e) with at least one key."""
    check_array("query", query, "an array (*b, width)")
    for name, array in (("keys", keys), ("values", values)):
        check_array(name, array, "a matrix (key, width)", axes=2, exactly=True)
    if not len(keys) == len(values) > 0:
        raise ValueError(
            "keys, values: expected one value for each key, and at least one pair, "
            f"got {len(keys)} keys and {len(values)} values; they are the rows of two tables"
        )
    if query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"query: expected the width of the keys, {keys.shape[-1]}, got {query.shape[-1]}; make both vectors in the same way"
        )


def check_projections(x, context, w_q, w_k, w_v) -> None:
    """Refuse sequences without a width, and matrices that do not fit them."""
    for name, array in (("x", x), ("context", context)):
        check_array(name, array, ROWS, axes=2, advice=f"for a single vector write {name}[None]")
    for name, matrix, array in (("w_q", w_q, x), ("w_k", w_k, context), ("w_v", w_v, context)):
        expected, advice = f"({array.shape[-1]}, columns)", "one row for each number of a vector"
        check_array(name, matrix, expected, axes=2, exactly=True, advice=advice)
        if len(matrix) != array.shape[-1]:
            raise ValueError(f"{name}: expected {expected}, got shape {matrix.shape}; {advice}")
    if w_q.shape[1] != w_k.shape[1]:
        raise ValueError(f"w_q, w_k: expected the same number of columns, got {w_q.shape[1]} and {w_k.shape[1]}; queries meet keys")


def check_heads(x, context, w_q, w_k, w_v, w_o) -> None:
    """Refuse arrays whose sizes do not meet."""
    for name, array in (("x", x), ("context", context)):
        check_array(name, array, ROWS, axes=2, advice=f"for one word write {name}[None]")
    if x.shape[:-2] != context.shape[:-2]:
        raise ValueError(
            f"x, context: expected the same batch axes, got {x.shape[:-2]} and {context.shape[:-2]}; repeat one until they agree"
        )
    h = len(w_q) if np.ndim(w_q) == 3 else "h"
    for name, w, m in (("w_q", w_q, x.shape[-1]), ("w_k", w_k, context.shape[-1]), ("w_v", w_v, context.shape[-1])):
        expected, advice = f"({h}, {m}, head width)", "per_head cuts a wide one"
        check_array(name, w, expected, axes=3, exactly=True, advice=advice)
        if w.shape[:2] != (h, m):
            raise ValueError(f"{name}: expected {expected}, got shape {w.shape}; {advice}")
    if w_k.shape[2] != w_q.shape[2]:
        raise ValueError(f"w_k: expected head width {w_q.shape[2]} as in w_q, got {w_k.shape[2]}; they meet in a dot product")
    rows = h * w_v.shape[2]
    expected, advice = f"{rows} rows, one for each number of the joined heads", "its shape is (h·e, m)"
    check_array("w_o", w_o, expected, axes=2, exactly=True, advice=advice)
    if len(w_o) != rows:
        raise ValueError(f"w_o: expected {expected}, got shape {w_o.shape}; {advice}")


def check_wide(wide: Any, num_heads: object) -> None:
    """Refuse what cannot be cut into so many equal heads."""
    check_whole("num_heads", num_heads, least=1, advice="pass the number of heads")
    expected, advice = f"(m, h·d) with h = {num_heads} equal heads", "change the number of heads"
    check_array("wide", wide, expected, axes=2, exactly=True, advice=advice)
    if wide.shape[1] % num_heads:
        raise ValueError(f"wide: expected {expected}, got shape {wide.shape}; {advice}")


def check_tables(q: np.ndarray, v: np.ndarray, key_table: Any, value_table: Any) -> None:
    """Refuse tables of relative positions that do not have one odd number of rows, as wide as queries and values."""
    advice = "one row for each offset from -c to c"
    for name, table in (("key_table", key_table), ("value_table", value_table)):
        check_array(name, table, "a matrix (2c + 1, width)", axes=2, exactly=True, advice=advice)
    for name, table, width in (("key_table", key_table, q.shape[-1]), ("value_table", value_table, v.shape[-1])):
        if table.shape != (len(key_table), width) or len(table) % 2 == 0:
            raise ValueError(
                f"{name}: expected (2c + 1, {width}) with one odd number of rows for both tables, got shape {table.shape}; {advice}"
            )
