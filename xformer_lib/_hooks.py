"""Hooks that act in one block of code alone, though other threads call the same model meanwhile.

Written by hand: chapter 12b says what a hook is, and ``xformer_lib.inspection`` hangs its own by this.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from torch import nn

__all__ = ["hooks_of_a_block"]

_blocks: ContextVar[frozenset] = ContextVar("blocks that are open in this thread or task", default=frozenset())
_one_at_a_time = Lock()  # PyTorch numbers hooks without one


@contextmanager
def hooks_of_a_block() -> Iterator[Callable[..., None]]:
    """Yields ``hang(part, before=hook, after=hook)``; the hooks are called with the options of the call, too.

    They act on calls that come from the block itself. Calls of other threads and tasks go through as if there were none.
    """
    block, handles = object(), list[Any]()

    def asleep_elsewhere(hook: Callable) -> Callable:
        return lambda *given: hook(*given) if block in _blocks.get() else None

    def hang(part: nn.Module, *, before: Callable | None = None, after: Callable | None = None) -> None:
        with _one_at_a_time:
            if before is not None:
                handles.append(part.register_forward_pre_hook(asleep_elsewhere(before), with_kwargs=True))
            if after is not None:
                handles.append(part.register_forward_hook(asleep_elsewhere(after), with_kwargs=True))

    _blocks.set(_blocks.get() | {block})
    try:
        yield hang
    finally:
        _blocks.set(_blocks.get() - {block})
        with _one_at_a_time:
            for handle in handles:
                handle.remove()
