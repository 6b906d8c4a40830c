"""What an answer does on its way to the result: how often it projects, and how large its arrays grow.

For probes of exercises whose statement forbids a way and not a result.
"""

import tracemalloc
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np


class Watched(np.ndarray):
    """A matrix that counts the vectors it is multiplied by; its slices and views count for it, its products do not.

    Made with `watched(matrix)`. What is computed from a plain copy of it is not seen.
    """

    __array_priority__ = 1.0  # what the method `.dot` makes of it is of this class, too

    def __array_finalize__(self, origin: Any) -> None:
        self.count, self.width = getattr(origin, "count", None), getattr(origin, "width", 1)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        if method == "__call__" and ufunc is np.matmul:
            inner = np.shape(inputs[0])[-1]
            self.note(inputs, np.size(result) * inner)
        elif method == "__call__" and ufunc is np.multiply and all(np.size(one) > 1 for one in inputs):
            self.note(inputs, np.size(result))
        elif method == "__call__" and ufunc in (np.add, np.tanh):  # nobody adds to a matrix: a product by `.dot`
            self.count[0] += sum(one.size // one.width for one in inputs if isinstance(one, Watched))
        return result

    def __array_function__(self, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        if function is np.einsum and isinstance(args[0], str):
            operands = [np.shape(one) for one in args[1:]]
            letters = [term.replace(".", "").replace(" ", "") for term in args[0].split("->")[0].split(",")]
            sizes = {letter: size for term, shape in zip(letters, operands) for letter, size in zip(term[::-1], shape[::-1])}
            self.note(args[1:], prod(sizes.values()))
        elif function in (np.dot, np.inner):
            self.note(args, prod(np.shape(args[0])) * prod(np.shape(args[1])) // max(1, np.shape(args[0])[-1]))
        elif function not in (np.einsum, np.tensordot):
            return super().__array_function__(function, types, args, kwargs)
        elif function is np.tensordot:
            result = np.tensordot(*map(plain, args), **kwargs)
            both = prod(map(np.size, args[:2]))
            self.note(args[:2], int((both * max(1, np.size(result))) ** 0.5))
            return result
        return function(*map(plain, args), **kwargs)

    def note(self, operands: Any, products: int) -> None:
        """So many single products were made: that many vectors, for a matrix of this size."""
        own = max((np.size(one) for one in operands if isinstance(one, Watched)), default=0)
        if own:
            self.count[0] += products // own


def watched(matrix: np.ndarray) -> Watched:
    """A matrix that counts, from 0."""
    view = matrix.view(Watched)
    view.count, view.width = [0], matrix.shape[-1]
    return view


def plain(value: Any) -> Any:
    """An array as it was before it was watched."""
    return value.view(np.ndarray) if isinstance(value, Watched) else value


def peak_bytes(function: Callable, *args: Any) -> tuple[Any, int]:
    """A function's result, and the most memory that Python and NumPy held for it at one time."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = function(*args)
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()
