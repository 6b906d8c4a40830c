"""A step whose loss is computed by compiled code: for a long run on a GPU, which a step in Python keeps waiting."""

import os
import shutil
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.utils._triton import has_triton

from xformer_lib.engine.modules import FastTransformer
from xformer_lib.nn.protocols import TrainableModel
from xformer_lib.training.loss import masked_cross_entropy

__all__: list[str] = []  # for the library itself

COMPILED_FROM = 5000  # steps: on an H200 compiling took 18 to 57 s and saved 8 of 27 ms of a step, so that 7,000 repay the slowest


def dense_loss(
    model: TrainableModel,
    source: Tensor,
    target_in: Tensor,
    target_out: Tensor,
    *,
    label_smoothing: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Return what `translation_loss` does on a GPU, on any device."""
    pad_id = model.config.pad_id
    states = model.states(target_in, model.encode(source), source)
    loss = masked_cross_entropy(
        states,
        model.embedding.weight,
        target_out,
        pad_id=pad_id,
        label_smoothing=label_smoothing,
    )
    return loss, (target_out != pad_id).sum()


def compiled_loss(model: TrainableModel, **options) -> Callable:
    """Return the same through `torch.compile`, one program for sentences of any length."""
    return torch.compile(partial(dense_loss, model), dynamic=True, **options)


def can_compile() -> bool:
    """Return whether this machine has what compiling for a GPU takes: Triton, a C compiler and Python's headers."""
    has_c = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    headers = Path(sysconfig.get_path("include")) / "Python.h"
    return bool(has_c) and headers.exists() and has_triton()


def is_worth_compiling(
    model: TrainableModel, *, engine: str, device: str, steps: int
) -> bool:
    """Return whether to compile for so many ``steps``: by itself a model of the library's, on a GPU, for `COMPILED_FROM` or more."""
    if engine != "fast":
        return engine == "compiled"
    is_long, on_gpu = steps >= COMPILED_FROM, device.startswith("cuda")
    return is_long and on_gpu and type(model) is FastTransformer and can_compile()
