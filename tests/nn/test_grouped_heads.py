"""Heads that share keys and values: equal to a full model with repeated weights, by every way of computing."""

import dataclasses

import pytest
import torch

from tests.ci import combinations
from tests.whole_models import computed
from xformer_lib.decoding import greedy
from xformer_lib.inspection import edit_attention
from xformer_lib.nn.grouped import GroupedQueryAttention
from xformer_lib.nn.multi_head import MultiHeadAttention
from xformer_lib.nn.positions import POSITIONS, attention_positions
from xformer_lib.nn.transformer import Transformer, TransformerConfig

B, I, J, H, D, E, M = 2, 5, 7, 6, 4, 3, 17
CONFIG = TransformerConfig(
    vocab_size=31, d_model=24, num_heads=6, d_ff=29, num_encoder_layers=2, num_decoder_layers=3, dropout=0.0, max_len=23, max_offset=3
)


def repeated(grouped_state, full, num_kv_heads):
    """The grouped model's weights, each head of keys and values written down once for every head it serves."""
    state = {}
    for name, wanted in full.state_dict().items():
        given = grouped_state[name]
        if given.shape != wanted.shape:
            assert ".w_k." in f".{name}" or ".w_v." in f".{name}"
            heads = given.unflatten(0, (num_kv_heads, -1))
            given = heads.repeat_interleave(len(wanted) // len(given), dim=0).flatten(0, 1)
        state[name] = given
    full.load_state_dict(state)
    return full


def gathered(gradient, num_heads, num_kv_heads):
    """Of the full layer's key or value gradient: the sum over the heads that share one."""
    return gradient.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1)).sum(dim=1).flatten(0, 1)


@combinations(
    way=("plain", "explicit", "fused"), num_kv_heads=(1, 2, 3), scheme=(None, "rotary", "alibi", "relative"), masked=(True, False)
)
def test_a_grouped_layer_is_a_full_one_with_repeated_weights(way, num_kv_heads, scheme, masked):
    torch.manual_seed(0)
    sizes = {"d_head": D, "d_value": D if scheme == "relative" else E}
    inside = [scheme and attention_positions(scheme, D, 2) for _ in range(2)]
    grouped = GroupedQueryAttention(M, H, num_kv_heads=num_kv_heads, positions=inside[0], **sizes).double()
    full = MultiHeadAttention(M, H, positions=inside[1], **sizes).double()
    repeated(grouped.state_dict(), full, num_kv_heads)
    x = torch.randn(B, I, M).double()
    memory = x if scheme else torch.randn(B, J, M).double()
    mask = torch.rand(B, I, memory.shape[1]) < 0.6 if masked else None
    results = []
    for layer in (computed(way, grouped), full):
        inputs = x.clone().requires_grad_(), memory.clone().requires_grad_()
        output, _ = layer(inputs[0], inputs[1], inputs[1], mask=mask)
        (output * torch.arange(output.numel()).sin().view(output.shape)).sum().backward()
        results.append((output.detach(), inputs[0].grad, inputs[1].grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)
    theirs = dict(full.named_parameters())
    for name, parameter in grouped.named_parameters():
        wanted = theirs[name].grad
        if parameter.shape != wanted.shape:
            wanted = gathered(wanted, H, num_kv_heads)
        torch.testing.assert_close(parameter.grad, wanted, atol=1e-12, rtol=0)


def test_as_many_as_heads_is_the_model_without_the_argument():
    states, source = [], torch.randint(3, 31, (3, 7), generator=torch.Generator().manual_seed(5))
    for settings in ({}, {"num_kv_heads": H}, {"num_kv_heads": None}):
        torch.manual_seed(3)
        model = Transformer(dataclasses.replace(CONFIG, **settings))
        assert not [part for part in model.modules() if isinstance(part, GroupedQueryAttention)]
        states.append((*model.state_dict().values(), model.encode(source)))
    assert all(torch.equal(a, b) for other in states[1:] for a, b in zip(states[0], other, strict=True))


def test_as_many_as_heads_is_the_full_layer():
    torch.manual_seed(3)
    grouped, full, x = GroupedQueryAttention(M, H, num_kv_heads=H, d_head=D), MultiHeadAttention(M, H, d_head=D), torch.randn(B, I, M)
    full.load_state_dict(grouped.state_dict())
    assert torch.equal(grouped(x, x, x)[0], full(x, x, x)[0])


@pytest.mark.parametrize("bias", [True, False])
def test_the_fewer_matrices_begin_as_the_others_do(bias):
    """Xavier's bound for their own shape, no bias but zeros, and only the layer's own four matrices."""
    layer = GroupedQueryAttention(M, H, num_kv_heads=2, d_head=D, d_value=E, bias=bias)
    assert len(list(layer.parameters())) == (8 if bias else 4)
    for matrix, rows in ((layer.w_k, 2 * D), (layer.w_v, 2 * E)):
        bound = (6 / (M + rows)) ** 0.5
        assert matrix.weight.shape == (rows, M) and 0.8 * bound < matrix.weight.abs().max().item() <= bound
        assert matrix.bias is None if not bias else not matrix.bias.any()


@pytest.mark.parametrize("positions", list(POSITIONS))
def test_a_grouped_model_is_a_full_one_with_repeated_weights(positions):
    torch.manual_seed(0)
    grouped, full = (Transformer(dataclasses.replace(CONFIG, positions=positions, num_kv_heads=n)).double().eval() for n in (2, None))
    repeated(grouped.state_dict(), full, 2)
    source, target = torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5))
    torch.testing.assert_close(grouped(source, target), full(source, target), atol=1e-12, rtol=0)
    assert greedy(grouped, source) == greedy(full, source)


@pytest.mark.parametrize("num_kv_heads", [1, 2])
def test_weights_that_are_put_back_unchanged_change_nothing(num_kv_heads):
    """Chapter 12b's tool mixes the values itself."""
    model = Transformer(dataclasses.replace(CONFIG, num_kv_heads=num_kv_heads)).double().eval()
    source, target = torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5))
    with edit_attention(model, {"decoder.layers.1.cross_attention": lambda weights: weights}):
        edited = model(source, target)
    torch.testing.assert_close(edited, model(source, target), atol=1e-12, rtol=0)


@pytest.mark.errors
@pytest.mark.parametrize("number", [0, -2, 4, 12])
def test_heads_that_cannot_be_shared_equally(number):
    message = f"num_kv_heads: expected a divisor of num_heads=6, got {number}; try one of 1, 2, 3, 6"
    with pytest.raises(ValueError, match=message):
        GroupedQueryAttention(M, H, d_head=D, num_kv_heads=number)
    with pytest.raises(ValueError, match=message):
        Transformer(dataclasses.replace(CONFIG, num_kv_heads=number))
