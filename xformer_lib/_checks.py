"""What is refused at the boundary, whatever the layer: *name: expected …, got …; what to do*, in one line.

Written by hand: the chapters call these and show what they let through. Neither NumPy nor torch is needed here.
"""

import numbers
import reprlib
from typing import TypeGuard

__all__ = ["check_share", "check_whole", "is_number", "is_whole", "shown"]


def shown(value: object) -> str:
    """Return what was given in a few words: a number or a text as it is written, an array by its shape, else its type."""
    if value is None or isinstance(value, numbers.Number | str):
        return reprlib.repr(value)
    name, shape = type(value).__name__, getattr(value, "shape", None)
    return f"{name} of shape {tuple(shape)}" if isinstance(shape, tuple) else name


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether it is an int, or NumPy's; True and False are answers, not numbers."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether it is a real number of Python's or NumPy's, whole or not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_whole(name: str, value: object, *, least: int = 0, advice: str) -> None:
    """Raise ValueError unless ``value`` is a whole number of at least ``least``."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name}: expected a whole number, {least} or more, got {shown(value)}; {advice}")


def check_share(name: str, value: object) -> None:
    """Raise ValueError unless ``value`` is a share that dropout can take."""
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise ValueError(f"{name}: expected 0 ≤ {name} < 1, got {shown(value)}; 0.1 is usual")
