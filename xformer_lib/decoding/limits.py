"""How decoding calls a model: without dropout, within a limit, and never a word that is none; page w5 explains it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from xformer_lib._checks import is_whole
from xformer_lib.decoding._checks import check_source
from xformer_lib.nn._trees import second_tree
from xformer_lib.nn.checks import check_ids, check_known_ids
from xformer_lib.nn.protocols import SomeModule, TranslationModel
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.shapes import Float, Int

__all__ = ["next_logits"]


@contextmanager
def evaluation_mode(model: SomeModule) -> Iterator[SomeModule]:
    """A block without gradients, and the model for it, without dropout: where a part of
    ``model`` trains, a second tree of modules over the same parameters."""
    trains = any(part.training for part in model.modules())
    with torch.inference_mode():
        yield second_tree(model).eval() if trains else model


def length_limits(
    model: TranslationModel, source: Int[Tensor, "b s"], max_len: int | None
) -> Int[Tensor, "b"]:
    """Tokens each sentence may get: ``max_len``, or twice its source and ten."""
    check_source(source)
    check_ids("source", source, model.config)
    check_known_ids("source", source, model.config)
    lengths = (source != model.config.pad_id).sum(dim=1)
    longest = model.config.max_len - 1
    if max_len is None:
        return (2 * lengths + 10).clamp(max=longest)
    if not is_whole(max_len) or not 1 <= max_len <= longest:
        raise ValueError(
            f"max_len: expected from 1 to {longest} tokens, "
            f"got {max_len}; leave it out for a limit that follows "
            "the source"
        )
    return torch.full_like(lengths, max_len)


def sayable(
    logits: Float[Tensor, "b v"], config: TransformerConfig
) -> Float[Tensor, "b v"]:
    """The same logits with −∞ for <pad> and <bos>, which are no words."""
    logits[:, config.pad_id] = logits[:, config.bos_id] = -torch.inf
    return logits


def next_logits(
    model: TranslationModel,
    tokens: Int[Tensor, "b t"],
    memory: Float[Tensor, "b ..."],
    source: Int[Tensor, "b s"],
) -> Float[Tensor, "b v"]:
    """Logits of the word after ``tokens``, −∞ for <pad> and <bos>.

    ``memory`` is what ``model.encode`` gave, (b s m) for a Transformer.
    """
    return sayable(model.decode(tokens, memory, source)[:, -1], model.config)
