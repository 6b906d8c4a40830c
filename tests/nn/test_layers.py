"""Positions, dropout, residuals."""

import inspect
import math
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch

from xformer_lib import engine, nn
from xformer_lib.nn.layers import DecoderLayer, EncoderLayer, PositionwiseFeedForward, Residual
from xformer_lib.nn.multi_head import MultiHeadAttention
from xformer_lib.nn.positions import POSITIONS, AlibiPositions, LearnedPositions, NoPositions, SinusoidalPositions, sinusoidal_positions
from xformer_lib.nn.transformer import TransformerConfig

B, I, M, F = 3, 5, 14, 11


def test_sinusoidal_table_is_the_formula():
    table = sinusoidal_positions(I, M)
    for i in range(I):
        for k in range(M // 2):
            angle = i / 10000 ** (2 * k / M)
            assert table[i, 2 * k] == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[i, 2 * k + 1] == pytest.approx(math.cos(angle), abs=1e-7)


@pytest.mark.errors
def test_odd_width_is_refused():
    with pytest.raises(ValueError, match="dim: expected an even number, got 13"):
        sinusoidal_positions(I, 13)


@pytest.mark.parametrize("scheme", [SinusoidalPositions, LearnedPositions])
def test_positions_are_added_from_the_start_given(scheme):
    positions, x = scheme(M, 23), torch.randn(B, I, M)
    torch.testing.assert_close(positions(x) - x, positions.table[:I].expand(B, I, M), atol=1e-6, rtol=0)
    torch.testing.assert_close(positions(x, 7) - x, positions.table[7 : 7 + I].expand(B, I, M), atol=1e-6, rtol=0)
    assert torch.equal(positions(x[:, 3:4], 3), positions(x)[:, 3:4])


def test_only_learned_positions_have_parameters():
    count = {s: sum(p.numel() for p in s(M, 23).parameters()) for s in (SinusoidalPositions, LearnedPositions, NoPositions)}
    assert count == {SinusoidalPositions: 0, LearnedPositions: 23 * M, NoPositions: 0}
    x = torch.randn(B, I, M)
    assert torch.equal(NoPositions(M, 23)(x), x)


@pytest.mark.errors
@pytest.mark.parametrize("p", [1.0, float("nan"), "0.1"])
def test_dropout_outside_its_range_is_refused(p):
    for make in (
        partial(Residual, M),
        partial(PositionwiseFeedForward, M, F),
        partial(MultiHeadAttention, M, 2),
        partial(EncoderLayer, M, 2, F),
    ):
        with pytest.raises(ValueError, match=r"dropout: expected 0 ≤ dropout < 1, got .*; 0\.1 is usual"):
            make(dropout=p)


def test_dropout_acts_in_training_alone():
    """In a residual and inside the feed-forward net; what is dropped is PyTorch's to draw."""
    x = torch.randn(B, I, M)
    for part, call in (
        (Residual(M, dropout=0.5), lambda part: part(x, torch.tanh)),
        (PositionwiseFeedForward(M, F, dropout=0.5), lambda part: part(x)),
    ):
        assert type(part.dropout) is torch.nn.Dropout and part.dropout.p == 0.5
        assert not torch.equal(call(part), call(part))
        part.eval()
        assert torch.equal(call(part), call(part))


def test_a_layer_takes_any_attention():
    """``attention`` builds it, from the width, the heads and the positions."""
    asked = []

    def build(*sizes, **options):
        asked.append((sizes, options))
        return MultiHeadAttention(*sizes, **options)

    inside = AlibiPositions()
    EncoderLayer(M, 2, F, attention=build, positions=inside)
    assert asked == [((M, 2), {"positions": inside})]
    asked.clear()
    layer = DecoderLayer(M, 2, F, attention=build, positions=inside)
    assert layer.self_attention.positions is inside and layer.cross_attention.positions is None and len(asked) == 2


FILES = [import_module(f"{room.__name__}.{file.stem}") for room in (nn, engine) for file in Path(room.__path__[0]).glob("[!_]*.py")]
NAMES = list(dict.fromkeys(one for file in FILES for one in vars(file).values() if getattr(one, "__module__", "") == file.__name__))
MODULES = [
    one for one in NAMES if isinstance(one, type) and issubclass(one, torch.nn.Module) and one.forward is not torch.nn.Module.forward
]


@pytest.mark.parametrize("module", MODULES, ids=lambda one: one.__name__)
def test_help_says_what_a_call_returns(module):
    """Not "Define the computation performed at every call", which PyTorch says of a forward without words of its own."""
    assert inspect.getdoc(module.forward) != inspect.getdoc(torch.nn.Module.forward)


def test_help_says_what_may_be_chosen():
    words = inspect.getdoc(TransformerConfig)
    assert all(f'"{name}"' in words for name in ("pre", "post", *POSITIONS))
    assert "- ``layers`` (chapter 8, Layers): " in nn.__doc__ and all(name in nn.__doc__ for name in nn.__all__)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_residual_order(norm):
    residual, x = Residual(M, norm=norm), torch.randn(B, I, M)
    torch.nn.init.normal_(residual.norm.weight)
    sublayer = torch.nn.Linear(M, M)
    expected = x + sublayer(residual.norm(x)) if norm == "pre" else residual.norm(x + sublayer(x))
    torch.testing.assert_close(residual(x, sublayer), expected)


@pytest.mark.errors
def test_unknown_norm_is_refused():
    with pytest.raises(ValueError, match='norm: expected "pre" or "post", got \'middle\''):
        Residual(M, norm="middle")


def test_feed_forward_sees_one_position_at_a_time():
    layer, x = PositionwiseFeedForward(M, F), torch.randn(B, I, M)
    whole = layer(x)
    for i in range(I):
        torch.testing.assert_close(layer(x[:, i]), whole[:, i])
