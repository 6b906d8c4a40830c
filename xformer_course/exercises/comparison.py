"""Reading what a learner returned, and saying in words how it differs from what was expected.

Everything here may raise on a hostile object; `isolation.py` stands around it.
"""

import numbers
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

LOOSER = {"float32": 2e-4, "float16": 2e-2, "bfloat16": 5e-2}
SHOWN = 24
LARGEST = 10_000_000
DEEPEST = 5


class Unreadable(Exception):
    """The value cannot be compared; the message says why, in the learner's terms."""


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor, found out without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_array(value: Any) -> tuple[np.ndarray, str]:
    """Turns numbers, nested lists, arrays and tensors into an array; gives its original dtype too."""
    if is_tensor(value):
        dtype = str(value.dtype).removeprefix("torch.")
        plain = value.detach().cpu()
        return (plain.float() if dtype == "bfloat16" else plain).numpy(), dtype
    if isinstance(value, (Iterator, set, frozenset, Mapping)):
        raise Unreadable(f"a {type(value).__name__} where an array was expected")
    if isinstance(value, (list, tuple)):
        value = [as_array(item)[0] if is_tensor(item) else item for item in value]
    try:
        array = np.asarray(value)
    except ValueError:
        raise Unreadable("a nested list whose rows have different lengths") from None
    if array.dtype.kind == "O" and array.size and all(isinstance(item, numbers.Number) for item in array.flat):
        try:
            array = array.astype(float)  # fractions and decimals
        except (TypeError, ValueError, OverflowError):
            raise Unreadable("a number that no float can hold") from None
    if array.dtype.kind not in "biufc":
        raise Unreadable(f"a {type(value).__name__} where numbers were expected")
    return array, str(array.dtype)


def as_floats(value: Any) -> np.ndarray:
    """A copy as an array of floats whose dtype still says how exact they are; bfloat16, which NumPy lacks, becomes float16."""
    array, dtype = as_array(value)
    if dtype == "bfloat16":
        return array.astype(np.float16)
    return array.astype(array.dtype if array.dtype.kind == "f" else float)


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is made of numbers, strings and arrays alone, finite in number, so that it is safe to read."""
    if value is None or value is Ellipsis or isinstance(value, (numbers.Number, str, np.generic)):
        return True
    if isinstance(value, np.ndarray) or is_tensor(value):
        return (value.size if isinstance(value, np.ndarray) else value.numel()) <= LARGEST
    if depth == DEEPEST or not isinstance(value, (list, tuple, Mapping)) or len(value) > LARGEST:
        return False
    items = list(value.values()) if isinstance(value, Mapping) else list(value)
    return all(is_plain(item, depth + 1) for item in items)


def describe(value: Any) -> str:
    """A few words for any value, without calling its own `__repr__`."""
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float)):
        return "a float that is not a number" if value != value else str(value)
    if type(value) is str:
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, np.ndarray):
        return f"{_article(value.dtype)} array of shape {value.shape}"
    if is_tensor(value):
        return f"{_article(str(value.dtype).removeprefix('torch.'))} tensor of shape {tuple(value.shape)}"
    if type(value) in (tuple, list):
        return f"a {type(value).__name__} of {len(value)}"
    return f"{'an' if type(value).__name__[:1] in 'aeiouAEIOU' else 'a'} {type(value).__name__}"


def _article(dtype: Any) -> str:
    return f"{'an' if str(dtype)[0] == 'i' else 'a'} {dtype}"


def show(value: Any) -> str:
    """A small array in full, anything else in a few words; made to stand after an equals sign."""
    try:
        array, _ = as_array(value)
    except Unreadable:
        return " " + describe(value)
    if array.ndim == 0:
        return " " + number(array[()])
    if array.size > SHOWN:
        return " " + describe(value)
    text = np.array2string(array, precision=4, suppress_small=True, floatmode="maxprec")
    return " " + text if array.ndim == 1 else "\n    " + text.replace("\n", "\n    ")


def number(value: Any, digits: int = 6) -> str:
    """One number, short."""
    return str(value) if isinstance(value, (bool, np.bool_)) else f"{value:.{digits}g}"


def apart(want: Any, have: Any) -> str:
    """Two numbers that differ, with as many digits as it takes to see it."""
    pairs = [(number(want, digits), number(have, digits)) for digits in (6, 9, 17)]
    one, other = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"expected {one}, got {other}"


def difference(expected: Any, got: Any, *, tolerance: float = 1e-9, name: str = "result") -> str | None:
    """None when `got` is `expected` up to style and rounding, otherwise one sentence on where they part."""
    if expected is None or isinstance(expected, str):
        return _plain(expected, got, name)
    if isinstance(expected, Mapping):
        return _mapping(expected, got, tolerance, name)
    if isinstance(expected, tuple) and any(isinstance(item, str) or not np.isscalar(item) for item in expected):
        return _pair(expected, got, tolerance, (name,) * len(expected))
    return _numbers(expected, got, tolerance, name)


def _plain(expected: Any, got: Any, name: str) -> str | None:
    same = got is None if expected is None else (isinstance(got, str) and got.strip().casefold() == expected.strip().casefold())
    return None if same else f"{name}: {describe(got)} is not it"


def _mapping(expected: Mapping, got: Any, tolerance: float, name: str) -> str | None:
    if not isinstance(got, Mapping):
        return f"{name}: expected a dict with the keys {', '.join(map(str, expected))}, got {describe(got)}"
    for key, value in expected.items():
        if key not in got:
            return f"{name}: the key {key!r} is missing"
        found = difference(value, got[key], tolerance=tolerance, name=str(key))
        if found:
            return found
    return None


def _pair(expected: tuple, got: Any, tolerance: float, names: tuple[str, ...]) -> str | None:
    if isinstance(got, np.ndarray) or is_tensor(got):
        got = parts(expected, got)
    if not isinstance(got, (tuple, list)) or len(got) != len(expected):
        return f"expected {len(expected)} values ({', '.join(names)}), got {describe(got)}"
    for name, want, have in zip(names, expected, got, strict=True):
        found = difference(want, have, tolerance=tolerance, name=name)
        if found:
            return found
    return None


def parts(expected: tuple, got: Any) -> Any:
    """An array of several values as a list of them, where each has the shape that is expected of it."""
    shapes = [tuple(np.shape(one)) for one in expected]
    return list(got) if len(got.shape) and shapes == [tuple(got.shape[1:])] * len(got) else got


def form_problem(expected: Any, got: Any) -> str | None:
    """What is wrong with the form of a prediction, without giving its value away."""
    if isinstance(expected, str):
        return None if isinstance(got, str) else f"expected one of the words offered, got {describe(got)}"
    if isinstance(expected, bool) and isinstance(got, str):
        return f"write True or False, without quotes, in place of {describe(got)}"
    if isinstance(expected, Mapping):
        if not isinstance(got, Mapping):
            return f"expected a dict with the keys {', '.join(map(repr, expected))}, got {describe(got)}"
        missing = [key for key in expected if key not in got]
        problems = (form_problem(value, got[key]) for key, value in expected.items() if key in got)
        return f"the key {missing[0]!r} is missing" if missing else next(filter(None, problems), None)
    try:
        have = as_array(got)[0]
    except Unreadable as reason:
        return str(reason)
    want = as_array(expected)[0]
    if have.shape == want.shape:
        return None
    wanted = "one number" if want.ndim == 0 else f"shape {want.shape}"
    return f"expected {wanted}, got {'one number' if have.ndim == 0 else f'shape {have.shape}'}"


def returned(expected: Any, got: Any, names: tuple[str, ...], tolerance: float) -> str | None:
    """`difference` for a function's return value, with a name for each part."""
    if len(names) > 1 and isinstance(expected, (tuple, list)) and len(expected) == len(names):
        return _pair(tuple(expected), got, tolerance, names)
    return difference(expected, got, tolerance=tolerance, name=names[0])


def _numbers(expected: Any, got: Any, tolerance: float, name: str) -> str | None:
    want, want_dtype = as_array(expected)
    try:
        have, dtype = as_array(got)
    except Unreadable as reason:
        return f"{name}: {reason}"
    if want.shape != have.shape:
        return f"{name}: expected shape {want.shape}, got shape {have.shape}"
    if want.dtype.kind == "b" and have.dtype.kind != "b" and not isinstance(expected, bool):  # for a single one 1 and 0 will do
        return f"{name}: expected booleans (dtype bool), got dtype {dtype}"
    if have.dtype.kind == "c":
        return f"{name}: expected real numbers, got complex ones"
    slack = max(tolerance, LOOSER.get(dtype, 0.0), LOOSER.get(want_dtype, 0.0))
    close = np.isclose(have.astype(float), want.astype(float), rtol=slack, atol=slack, equal_nan=True)
    if close.all():
        return None
    return f"{name}{_where(want, have, close)}"


def _where(want: np.ndarray, have: np.ndarray, close: np.ndarray) -> str:
    if want.ndim == 0:
        return f": {apart(want[()], have[()])}"
    index = tuple(int(i) for i in np.argwhere(~close)[0])
    place = "[" + ", ".join(map(str, index)) + "]"
    count = int((~close).sum())
    more = "" if count == 1 else f" ({count} of {close.size} entries differ)"
    return f"{place}: {apart(want[index], have[index])}{more}"
