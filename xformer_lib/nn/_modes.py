"""Where a plain definition meets what it was not written for: transforms of PyTorch's, second derivatives, and float16's small range.

Written by hand: chapters 8 and 13 name the cases in a sentence and call these.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["differentiable_gradients", "in_full_precision", "is_transformed", "may_be_read"]


def is_transformed(*tensors: Tensor | None) -> bool:
    """Inside ``torch.func``'s transforms, or with a tangent of forward-mode differentiation.

    Kernels without a rule for these step aside for PyTorch's own operations, which have one each.
    """
    if torch.compiler.is_compiling():
        return False  # a compiler takes the transforms apart before it meets a kernel
    if torch._C._are_functorch_transforms_active():
        return True
    return any(x is not None and forward_ad.unpack_dual(x).tangent is not None for x in tensors)


def may_be_read(x: Tensor) -> bool:
    """Whether the numbers of ``x`` are at hand: on a CPU, and nobody traces, compiles or transforms the program meanwhile."""
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing() or type(x) is not Tensor  # FakeTensor, to plan without numbers
    return x.device.type == "cpu" and not traced and not is_transformed(x)


def in_full_precision(x: Tensor) -> AbstractContextManager:
    """Return a context in which autocast, where the device of ``x`` knows it, rounds nothing to 16 bits."""
    kind = x.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else nullcontext()


def differentiable_gradients(call: Callable[..., Tensor], grad: Tensor, *given: Tensor | None) -> list[Tensor | None]:
    """Return gradients of ``call(*given)`` that have gradients themselves; None for what needs none.

    ``grad`` is the gradient of the output. It is for the backward pass of an `autograd.Function` under ``create_graph``,
    where the numbers that were made by hand would count as constants: a second derivative would be wrong without a word.
    """
    own = [None if x is None else x.view_as(x) for x in given]  # views: one may have been computed from another
    wanted = [x for x in own if x is not None and x.requires_grad]
    found = iter(torch.autograd.grad(call(*own), wanted, grad, create_graph=True))
    return [next(found) if x is not None and x.requires_grad else None for x in own]
