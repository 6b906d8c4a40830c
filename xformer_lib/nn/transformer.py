import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from xformer_lib.nn.checks import check_config, check_given, check_ids
from xformer_lib.nn.layers import DecoderLayer, EncoderLayer
from xformer_lib.nn.masks import padding_mask, target_mask
from xformer_lib.nn.options import layer_options
from xformer_lib.nn.positions import POSITIONS
from xformer_lib.shapes import Float, Int

__all__ = ["TransformerConfig", "TokenEmbedding", "Encoder", "Decoder", "Transformer"]


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of a Transformer; one vocabulary serves both languages."""

    vocab_size: int                  # v
    d_model: int = 256               # m
    num_heads: int = 4               # h
    d_ff: int = 1024                 # f
    num_encoder_layers: int = 3
    num_decoder_layers: int = 3
    dropout: float = 0.1             # embeddings, sublayer outputs, feed-forward
    norm: str = "pre"                # or "post"
    max_len: int = 256               # tokens, special ones included
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    attention_dropout: float = 0.0   # on attention weights
    positions: str = "sinusoidal"    # or learned, relative, rotary, alibi, none
    max_offset: int = 16             # places told apart by "relative"
    num_kv_heads: int | None = None  # heads of keys and values, if fewer than h

    def __post_init__(self):
        check_config(self)


class TokenEmbedding(nn.Module):
    """Ids to vectors times √m; with the same matrix, vectors to logits.

    Source: Press & Wolf (2017) for the sharing, Vaswani et al. (2017), 3.4, for √m.
    """

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocab_size, d_model) / math.sqrt(d_model))

    def forward(self, ids: Int[Tensor, "b i"]) -> Float[Tensor, "b i m"]:
        return F.embedding(ids, self.weight) * math.sqrt(self.weight.shape[1])

    def logits(self, x: Float[Tensor, "b t m"]) -> Float[Tensor, "b t v"]:
        return F.linear(x, self.weight)


class Encoder(nn.Module):
    """Encoder layers, (b s m) → (b s m); a pre-norm stack ends in a LayerNorm."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_given(config, TransformerConfig)
        self.layers = nn.ModuleList(
            EncoderLayer(**layer_options(config)) for _ in range(config.num_encoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(self, x: Float[Tensor, "b s m"], *, mask: Tensor | None = None) -> Float[Tensor, "b s m"]:
        for layer in self.layers:
            x = layer(x, mask=mask)
        return self.norm(x)


class Decoder(nn.Module):
    """Decoder layers over one memory, (b t m) → (b t m)."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_given(config, TransformerConfig)
        self.layers = nn.ModuleList(
            DecoderLayer(**layer_options(config)) for _ in range(config.num_decoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(
        self, x: Float[Tensor, "b t m"], memory: Float[Tensor, "b s m"], *,
        mask: Tensor | None = None, memory_mask: Tensor | None = None,
    ) -> Float[Tensor, "b t m"]:
        for layer in self.layers:
            x = layer(x, memory, mask=mask, memory_mask=memory_mask)
        return self.norm(x)


class Transformer(nn.Module):
    """``model(source, target_in)`` → logits (b t v), after Vaswani et al. (2017).

    ``source`` (b s) and ``target_in`` (b t) are ids; their padding is masked.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_given(config, TransformerConfig)
        self.config = config
        self.embedding = TokenEmbedding(config.vocab_size, config.d_model)
        self.positions = POSITIONS[config.positions](config.d_model, config.max_len)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def forward(self, source: Int[Tensor, "b s"], target_in: Int[Tensor, "b t"]) -> Float[Tensor, "b t v"]:
        memory = self.encode(source)
        return self.decode(target_in, memory, source)

    def encode(self, source: Int[Tensor, "b s"]) -> Float[Tensor, "b s m"]:
        check_ids("source", source, self.config)
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder(self.embed(source), mask=mask)

    def decode(self, target_in, memory, source) -> Float[Tensor, "b t v"]:
        return self.embedding.logits(self.states(target_in, memory, source))

    def states(self, target_in, memory, source) -> Float[Tensor, "b t m"]:
        """The decoder's vectors, before they become logits."""
        check_ids("target_in", target_in, self.config)
        mask = target_mask(target_in, self.config.pad_id)
        memory_mask = padding_mask(source, self.config.pad_id)
        return self.decoder(self.embed(target_in), memory, mask=mask, memory_mask=memory_mask)

    def embed(self, ids: Int[Tensor, "b i"]) -> Float[Tensor, "b i m"]:
        """Scaled token vectors plus positions, with dropout."""
        return self.dropout(self.positions(self.embedding(ids)))
