"""Whole models of small, unlike sizes, every choice that a configuration has, and what each of them must not see."""

import dataclasses

import pytest
import torch

from xformer_lib.engine.modules import accelerate
from xformer_lib.nn.transformer import Transformer, TransformerConfig

B, S, T, V = 3, 7, 5, 31
CONFIG = TransformerConfig(
    vocab_size=V, d_model=44, num_heads=2, d_ff=29, num_encoder_layers=2, num_decoder_layers=3, dropout=0.0, max_len=23, max_offset=3
)
SIX = ("sinusoidal", "learned", "relative", "rotary", "alibi", "none")
CHOICES = [{"norm": norm, "positions": positions} for norm in ("pre", "post") for positions in SIX]
by_choice = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: "-".join(choice.values()))
WAYS = ("plain", "auto", "explicit", "fused")
by_path = pytest.mark.parametrize("path", ["explicit", "fused"])


def build(**changes):
    torch.manual_seed(0)
    return Transformer(dataclasses.replace(CONFIG, **changes)).double().eval()


def computed(way, model):
    """The model itself, or what the engine makes of it by one of its paths."""
    return model if way == "plain" else accelerate(model, path=way)


def ids(length, seed=0):
    return torch.randint(3, V, (B, length), generator=torch.Generator().manual_seed(seed))


def see_neither_the_future_nor_padding(model):
    """Other words later on change nothing before; a sentence gives the same logits alone and in a batch that pads it."""
    source, target = ids(S), ids(T, 1)
    before = model(source, target)
    for t in range(1, T):
        changed = target.clone()
        changed[:, t:] = ids(T, 2)[:, t:]
        after = model(source, changed)
        assert torch.allclose(after[:, :t], before[:, :t], atol=1e-12, rtol=0), "the future is seen"
        assert not torch.allclose(after[:, t:], before[:, t:])
    source[0, 4:] = CONFIG.pad_id
    target[0, 3:] = CONFIG.pad_id
    batch, alone = model(source, target), model(source[:1, :4], target[:1, :3])
    assert torch.allclose(batch[:1, :3], alone, atol=1e-12, rtol=0), "padding is seen"
