"""A Transformer as CTranslate2's own converters would write it (https://opennmt.net/CTranslate2/conversion.html)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from xformer_lib import _needs
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.export.programs import ready_for_export, without_remarks
from xformer_lib.nn.transformer import Transformer, TransformerConfig

__all__ = ["export_ctranslate2"]


def export_ctranslate2(model: Transformer, folder: str | Path, *, words: Sequence[str] | None = None) -> None:
    """Write a folder that ``ctranslate2.Translator`` loads, in float32.

    ``words``: the v words of the vocabulary by their ids, all different; their numbers if not given.

    Raises:
        ImportError: without ctranslate2.
        ValueError: for anything but a `Transformer`, see `ready_for_export`, and for positions "alibi".
    """
    _needs.check(("ctranslate2",))
    ready: Any = ready_for_export(model)
    config = ready.config
    words = [str(number) for number in range(config.vocab_size)] if words is None else list(words)
    if len(set(words)) != config.vocab_size or len(words) != config.vocab_size:
        raise ValueError(
            f"words: expected {config.vocab_size} different ones, got {len(words)}, {len(set(words))} different; give each id one"
        )
    with without_remarks():
        spec = empty_specification(config)
        fill(spec, ready)
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.bos_token = spec.config.decoder_start_token = words[config.bos_id]
    spec.config.eos_token, spec.config.unk_token = words[config.eos_id], words[Tokenizer.unk_id]
    spec.config.layer_norm_epsilon = ready.decoder.layers[0].residuals[0].norm.eps
    spec.validate()
    spec.optimize()
    Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def empty_specification(config: TransformerConfig) -> Any:
    """Return the specification that has a place for each weight of such a model."""
    from ctranslate2.specs import transformer_spec

    if config.positions == "alibi":
        raise ValueError(
            "positions: expected sinusoidal, learned, rotary, relative or none, got alibi; CTranslate2 has it in decoders alone, "
            "take onnx or torch"
        )
    kind = dict(
        pre_norm=config.norm == "pre",
        relative_position=config.positions == "relative",
        rotary_dim=config.d_model // config.num_heads if config.positions == "rotary" else None,
        num_heads_kv=config.num_kv_heads,
    )
    return transformer_spec.TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.num_encoder_layers, config.num_heads, **kind),
        transformer_spec.TransformerDecoderSpec(config.num_decoder_layers, config.num_heads, **kind),
    )


def fill(spec: Any, model: Any) -> None:
    """Put a model's weights into its specification."""
    config, matrix = model.config, model.embedding.weight.numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = matrix
    no_table = torch.zeros(config.max_len, config.d_model)
    for to, of in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        if hasattr(to, "position_encodings"):  # not read where attention has positions
            to.position_encodings.encodings = getattr(model.positions, "table", no_table).numpy()
        if config.norm == "pre":
            fill_norm(to.layer_norm, of.norm)
        for layer, ours in zip(to.layer, of.layers, strict=True):
            fill_attention(layer.self_attention, ours.self_attention, ours.residuals[0], own=True)
            if to is spec.decoder:
                fill_attention(layer.attention, ours.cross_attention, ours.residuals[1], own=False)
            fill_linear(layer.ffn.linear_0, ours.feed_forward.w_1)
            fill_linear(layer.ffn.linear_1, ours.feed_forward.w_2)
            fill_norm(layer.ffn.layer_norm, ours.residuals[-1].norm)


def fill_linear(to: Any, of: Any) -> None:
    to.weight, to.bias = of.weight.numpy(), of.bias.numpy()


def fill_norm(to: Any, of: Any) -> None:
    to.gamma, to.beta = of.weight.numpy(), of.bias.numpy()


def fill_attention(to: Any, of: Any, residual: Any, *, own: bool) -> None:
    """Self-attention has its three projections in one matrix, cross-attention those of the memory."""
    from ctranslate2.converters.utils import fuse_linear
    from ctranslate2.specs import common_spec

    parts = [common_spec.LinearSpec() for _ in range(3)]
    for part, projection in zip(parts, (of.w_q, of.w_k, of.w_v)):
        fill_linear(part, projection)
    for place, group in enumerate([parts] if own else [parts[:1], parts[1:]]):
        fuse_linear(to.linear[place], group)
    fill_linear(to.linear[-1], of.w_o)
    fill_norm(to.layer_norm, residual.norm)
    if hasattr(to, "relative_position_keys"):
        to.relative_position_keys = of.positions.key_table.numpy()
        to.relative_position_values = of.positions.value_table.numpy()
