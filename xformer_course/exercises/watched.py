"""What an answer does on its way to the result: how often it projects, and how large its arrays grow.

For probes of exercises whose statement forbids a way and not a result.
"""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np


@dataclass
class Tally:
    """The single products, a number times an entry of the matrix, that were made so far."""

    matrix: np.ndarray
    products: int = 0
    made: list = field(default_factory=list)  # arrays made of parts, and how many products each entry took if it is one

    def holds(self, array: np.ndarray) -> bool:
        """Whether an array is a part or a copy of the matrix, in this or another precision, and not a product."""
        return bool(np.isin(plain(array).astype(np.float32), self.matrix.astype(np.float32)).all())

    def total(self) -> int:
        return self.products + sum(array.size * each for array, each in self.made if not self.holds(array))


class Watched(np.ndarray):
    """A matrix that counts the products it is in; its parts and copies count for it, what comes out of a product does not.

    Made with `watched(matrix)`. What is computed from a plain copy of it, or from single entries, is not seen.
    """

    __array_priority__ = 1.0  # so that the method `.dot` of a plain array makes an array of this class, and comes by here

    def __array_finalize__(self, origin: Any) -> None:
        self.tally = origin.tally if isinstance(origin, Watched) and origin.is_part() else None
        if self.tally is not None and self.base is None:  # memory of its own, still empty: a copy, or what `.dot` will fill
            self.tally.made.append((self, origin.shape[-2] if origin.ndim > 1 else origin.size))

    def is_part(self) -> bool:
        return self.tally is not None and self.tally.holds(self)

    def dot(self, *others: Any) -> Any:
        return np.dot(self, *others)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs = {name: tuple(map(plain, value)) if name == "out" else value for name, value in kwargs.items()}
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        if method == "__call__" and ufunc.signature:  # matmul and its kin
            note(inputs, np.size(result) * np.shape(inputs[0])[-1])
        elif method == "__call__" and ufunc is np.multiply:
            rows = max(map(np.ndim, inputs)) < 2
            if rows or min(map(np.size, inputs)) > 1:  # a number times the whole matrix is another scale, no product
                note(inputs, np.size(result))
        return result

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        if function not in (np.einsum, np.dot, np.inner, np.vdot, np.tensordot):
            result = super().__array_function__(function, types, args, kwargs)
            if isinstance(result, Watched) and result.tally is None:
                result.tally = self.tally  # joined from parts, perhaps
            return result
        result = function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        first, second = [*args, *kwargs.values()][:2]
        if function is np.einsum:
            note(args, prod(sizes(args).values()))
        elif function is np.tensordot:
            note((first, second), round((np.size(first) * np.size(second) * np.size(result)) ** 0.5))
        else:
            inner = (np.shape(first) or (1,))[-1]
            note((first, second), np.size(first) * np.size(second) // max(1, inner))
        return result


def note(operands: Any, products: int) -> None:
    """So many single products were made of these, if one of them is a part of the matrix."""
    for one in operands:
        if isinstance(one, Watched) and one.is_part():
            one.tally.products += products
            return


def sizes(args: tuple) -> dict:
    """The length of every axis of an einsum, whether its axes are letters or numbers."""
    if isinstance(args[0], str):
        terms, operands = args[0].replace(" ", "").split("->")[0].split(","), args[1:]
    else:
        terms, operands = args[1::2], args[:-1:2]
    found: dict = {}
    for term, operand in zip(terms, operands, strict=False):
        if isinstance(term, str):  # the axes behind an ellipsis as digits, which match from the right
            term = term.replace("...", "9876543210"[10 - np.ndim(operand) + len(term.replace("...", "")) :])
        for axis, length in zip(term[::-1], np.shape(operand)[::-1], strict=False):
            found[axis] = max(length, found.get(axis, 1))
    return found


def watched(matrix: np.ndarray) -> Watched:
    """A matrix that counts, from 0."""
    view = matrix.view(Watched)
    view.tally = Tally(matrix)
    return view


def plain(value: Any) -> Any:
    """An array as it was before it was watched."""
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def peak_bytes(function: Callable, *args: Any) -> tuple[Any, int]:
    """A function's result, and the most memory that Python and NumPy held for it at one time, or torch for one tensor."""
    torch = sys.modules.get("torch")
    if torch is not None:  # what its first operation under a mode imports takes long while memory is traced
        with largest_tensor():
            torch.zeros(1).add(1)
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        with largest_tensor() as largest:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            result = function(*args)
            return result, max(tracemalloc.get_traced_memory()[1] - before, *largest)
    finally:
        if not running:
            tracemalloc.stop()


@contextmanager
def largest_tensor() -> Iterator[list[int]]:
    """A list that holds the bytes of the largest tensor that torch makes inside the block; 0 where nobody has loaded torch."""
    made = [0]
    if sys.modules.get("torch") is None:
        yield made
        return
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for one in result if isinstance(result, (tuple, list)) else [result]:
                if isinstance(one, torch.Tensor) and one.layout == torch.strided:
                    made[0] = max(made[0], one.untyped_storage().nbytes())
            return result

    with Look():
        yield made
