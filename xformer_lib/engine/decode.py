from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from xformer_lib.engine.cache import KeyValueCache
from xformer_lib.engine.modules import FAST, FastTransformer, accelerate, needed
from xformer_lib.engine.quantized import Int8Embedding, Int8Linear
from xformer_lib.nn.checks import check_choice, check_ids
from xformer_lib.nn.layers import DecoderLayer, EncoderLayer, PositionwiseFeedForward, Residual
from xformer_lib.nn.masks import padding_mask, target_mask
from xformer_lib.nn.positions import (
    AlibiPositions,
    LearnedPositions,
    NoPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
)
from xformer_lib.nn.transformer import Decoder, Encoder, Transformer
from xformer_lib.shapes import Float, Int

__all__ = ["Steps", "PlainSteps", "CachedSteps", "OwnSteps", "begin"]


@runtime_checkable
class Steps(Protocol):
    """Sentences that are being translated: what was read, and what is kept between words."""

    memory: Tensor  # what ``model.encode`` gave

    def next_logits(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b v"]:
        """Logits of the word after ``tokens``, which continue those of the last call."""

    def keep(self, rows: Int[Tensor, "r"]) -> None:
        """Keep these rows, in this order; one may come several times."""


class PlainSteps:
    """The definition: the whole decoder runs again for every word."""

    def __init__(self, model: nn.Module, source: Int[Tensor, "b s"]):
        self.model, self.source, self.memory = model, source, model.encode(source)

    def next_logits(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b v"]:
        return self.model.decode(tokens, self.memory, self.source)[:, -1]

    def keep(self, rows: Int[Tensor, "r"]) -> None:
        self.source, self.memory = self.source[rows], self.memory[rows]


class CachedSteps:
    """A `Transformer` that computes only what is new in a word: its own place in each layer."""

    def __init__(self, model: Transformer, source: Int[Tensor, "b s"]):
        self.model = accelerate(model)
        self.memory = self.model.encode(source)
        self.mask = needed(padding_mask(source, model.config.pad_id))
        self.length = 0  # words decoded so far
        layers = model.decoder.layers
        self.caches = [(KeyValueCache(grows=True), KeyValueCache(grows=False)) for _ in layers]

    def next_logits(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b v"]:
        states = self.states(tokens[:, self.length:])
        return self.model.embedding.logits(states[:, -1:])[:, 0]

    def states(self, new: Int[Tensor, "b n"]) -> Float[Tensor, "b n m"]:
        """The decoder's vectors for words that follow those of earlier calls."""
        config, start = self.model.config, self.length
        check_ids("target_in", new, config, start)
        mask = target_mask(new, config.pad_id) if start == 0 else later_mask(new, start)
        x = self.model.dropout(self.model.positions(self.model.embedding(new), start))
        for layer, caches in zip(self.model.decoder.layers, self.caches):
            x = self.through(layer, caches, x, mask)
        self.length = start + new.shape[1]
        return self.model.decoder.norm(x)

    def through(self, layer: DecoderLayer, caches, x, mask):
        """One layer, as `DecoderLayer` has it, over keys and values that are kept."""
        own, read = caches

        def look_back(x):
            return layer.self_attention(x, x, x, mask=mask, cache=own)[0]

        def consult(x):
            return layer.cross_attention(x, self.memory, self.memory, mask=self.mask, cache=read)[0]

        x = layer.residuals[0](x, look_back)
        x = layer.residuals[1](x, consult)
        return layer.residuals[2](x, layer.feed_forward)

    def keep(self, rows: Int[Tensor, "r"]) -> None:
        self.memory = self.memory[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        for cache in (cache for pair in self.caches for cache in pair):
            cache.keep(rows)


def later_mask(new: Int[Tensor, "b n"], start: int) -> Tensor | None:
    """For n words behind ``start`` others: each reads all before it. None for one, which reads all."""
    length = new.shape[1]
    if length == 1:
        return None
    return torch.ones(length, start + length, dtype=torch.bool, device=new.device).tril(diagonal=start)


class OwnSteps:
    """A model that brings a cache of its own: ``new_cache()``, and ``states(…, cache=)``."""

    def __init__(self, model: nn.Module, source: Int[Tensor, "b s"]):
        self.model, self.source, self.memory = model, source, model.encode(source)
        self.cache = model.new_cache()

    def next_logits(self, tokens: Int[Tensor, "b t"]) -> Float[Tensor, "b v"]:
        new = tokens[:, self.cache.length:]
        states = self.model.states(new, self.memory, self.source, cache=self.cache)
        return self.model.embedding.logits(states[:, -1:])[:, 0]

    def keep(self, rows: Int[Tensor, "r"]) -> None:
        self.source, self.memory = self.source[rows], self.memory[rows]
        self.cache.keep(rows)


KNOWN = {*FAST, *FAST.values(), Encoder, Decoder, EncoderLayer, DecoderLayer, PositionwiseFeedForward, Residual,
         nn.ModuleList, nn.LayerNorm, nn.Identity, Int8Linear, Int8Embedding, SinusoidalPositions, LearnedPositions,
         NoPositions, RotaryPositions, AlibiPositions, RelativePositions}


def is_known(model: nn.Module) -> bool:
    """Whether every part is the library's own and nobody looks on: no hook, no subclass, no part exchanged."""
    return type(model) in (Transformer, FastTransformer) and all(
        type(part) in KNOWN and not part._forward_hooks and not part._forward_pre_hooks for part in model.modules())


def begin(model: nn.Module, source: Int[Tensor, "b s"], *, engine: str = "fast") -> Steps:
    """Read the source sentences, by the quickest way that gives the same words.

    ``engine="plain"`` is the definition. So is "fast" for a model of a kind, or with a part or a hook, that
    `CachedSteps` does not know and that brings no cache of its own.
    """
    check_choice("engine", engine, ("fast", "plain"), '"plain" is the definition, "fast" gives the same in less time')
    if engine == "fast" and hasattr(model, "new_cache"):
        return OwnSteps(model, source)
    if engine == "fast" and is_known(model):
        return CachedSteps(model, source)
    return PlainSteps(model, source)
