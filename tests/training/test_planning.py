"""Plans on paper: operations counted to the last one, memory, bytes and hours."""

from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from xformer_lib.data import make_batch
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training import planning, translation_loss
from xformer_lib.training.step import to_tensors

BASE = TransformerConfig(vocab_size=311, d_model=24, num_heads=4, d_ff=37, num_encoder_layers=2, num_decoder_layers=1, max_len=29)
BATCH = make_batch([([5 + n] * (3 + n % 4), [7 + n] * (6 + n % 5)) for n in range(11)])
TARGETS = int((BATCH.target_out != 0).sum())


@pytest.mark.parametrize(
    "changes",
    (
        {},
        {"num_encoder_layers": 1},
        {"num_decoder_layers": 3},
        {"num_kv_heads": 2},
        {"num_kv_heads": 1},
        {"d_ff": 53},
        {"d_model": 28},
        {"vocab_size": 401},
        {"norm": "post"},
        {"positions": "rotary"},
        {"positions": "learned"},
    ),
)
def test_operations_are_those_that_are_counted(changes):
    config = replace(BASE, **changes)
    with FlopCounterMode(display=False) as counter:
        loss, count = translation_loss(Transformer(config), *to_tensors(BATCH, "cpu"))
        (loss / count).backward()
    rows, source_len = BATCH.source.shape
    assert planning.step_flops(config, rows, source_len, BATCH.target_in.shape[1], TARGETS) == counter.get_total_flops()


@pytest.mark.parametrize("changes", ({}, {"num_kv_heads": 2}, {"positions": "learned"}, {"norm": "post"}))
def test_parameters_are_counted_without_memory(changes):
    config = replace(BASE, **changes)
    assert planning.parameter_count(config) == sum(weight.numel() for weight in Transformer(config).parameters())
    assert torch.get_default_device() == torch.device("cpu")
    assert planning.parameter_count(replace(config, d_model=100_000, d_ff=1_000_000)) > 10**11  # more than any memory holds


def test_a_ring_sends_nothing_alone_and_never_more_than_twice():
    assert [planning.ring_bytes(840, n) for n in (1, 2, 3, 5)] == [0, 840, 1120, 1344]


def test_a_plan_adds_up():
    one = planning.plan(BASE, rows=13, source_len=7, target_len=11, steps=17, flops_per_second=1e6, real=0.5, price=3.0)
    assert one.flops == planning.step_flops(BASE, 13, 7, 11, 72)  # 0.5 · 143 rounded to the even side
    assert one.state_bytes == 16 * one.parameters and one.sent_bytes == 0
    assert one.step_seconds == one.flops / 1e6 and one.hours == 17 * one.step_seconds / 3600
    assert one.cost == 3.0 * one.hours
    many = planning.plan(
        BASE, rows=13, source_len=7, target_len=11, steps=17, flops_per_second=1e6, real=0.5, price=3.0, devices=5, bytes_per_second=1e4
    )
    assert many.sent_bytes == pytest.approx(8 / 5 * 4 * many.parameters)
    assert many.step_seconds == pytest.approx(one.step_seconds / 5 + many.sent_bytes / 1e4)
    assert many.cost == pytest.approx(5 * 3.0 * many.hours)
