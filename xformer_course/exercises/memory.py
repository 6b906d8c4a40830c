"""How much memory an answer takes on its way to the result, for probes of exercises whose statement sets a limit."""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
