"""Where a plain definition meets what it was not written for: transforms of PyTorch's, and float16's small range.

Written by hand: chapters 8 and 13 name the cases in a sentence and call these.
"""

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["in_full_precision", "is_transformed"]


def is_transformed(*tensors: Tensor | None) -> bool:
    """Inside ``torch.func``'s transforms, or with a tangent of forward-mode differentiation.

    Kernels without a rule for these step aside for PyTorch's own operations, which have one each.
    """
    if torch.compiler.is_compiling():
        return False  # a compiler takes the transforms apart before it meets a kernel
    if torch._C._are_functorch_transforms_active():
        return True
    return any(x is not None and forward_ad.unpack_dual(x).tangent is not None for x in tensors)


def in_full_precision(x: Tensor) -> AbstractContextManager:
    """Return a context in which autocast, where the device of ``x`` knows it, rounds nothing to 16 bits."""
    kind = x.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()
