import torch
from torch import Tensor

from xformer_lib.shapes import Bool, Int

__all__ = ["causal_mask", "padding_mask", "target_mask"]


def causal_mask(length: int, *, device=None) -> Bool[Tensor, "i j"]:
    """True where key j is at or before query i."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Int[Tensor, "b j"], pad_id: int) -> Bool[Tensor, "b 1 j"]:
    """True where a key is a real token; one row serves every query."""
    return (ids != pad_id)[:, None, :]


def target_mask(target_in: Int[Tensor, "b t"], pad_id: int) -> Bool[Tensor, "b t t"]:
    """Neither the future nor padding."""
    past = causal_mask(target_in.shape[1], device=target_in.device)
    return past & padding_mask(target_in, pad_id)
