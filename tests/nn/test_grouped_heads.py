"""Heads that share keys and values: equal to a full model with repeated weights, cached as uncached, a smaller cache."""

import dataclasses

import pytest
import torch

from xformer_lib.decoding import greedy
from xformer_lib.inspection import edit_attention
from xformer_lib.nn.attention import KeyValueCache, MultiHeadAttention
from xformer_lib.nn.positions import POSITIONS, attention_positions
from xformer_lib.nn.transformer import Transformer, TransformerConfig

B, I, J, H, D, E, M = 2, 5, 7, 6, 4, 3, 17
CONFIG = TransformerConfig(vocab_size=31, d_model=24, num_heads=6, d_ff=29, num_encoder_layers=2,
                           num_decoder_layers=3, dropout=0.0, max_len=23, max_offset=3)


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


@pytest.mark.parametrize("path", ["explicit", "fused"])
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3])
@pytest.mark.parametrize("scheme", [None, "rotary", "alibi", "relative"])
@pytest.mark.parametrize("masked", [True, False])
def test_a_grouped_layer_is_a_full_one_with_repeated_weights(path, num_kv_heads, scheme, masked):
    torch.manual_seed(0)
    sizes = {"d_head": D, "d_value": D if scheme == "relative" else E, "path": path}
    grouped, full = (MultiHeadAttention(M, H, num_kv_heads=n, positions=scheme and attention_positions(scheme, D, 2),
                                        **sizes).double() for n in (num_kv_heads, None))
    repeated(grouped.state_dict(), full, num_kv_heads)
    x = torch.randn(B, I, M).double()
    memory = x if scheme else torch.randn(B, J, M).double()
    mask = torch.rand(B, I, memory.shape[1]) < 0.6 if masked else None
    results = []
    for layer in (grouped, full):
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


def test_as_many_as_heads_is_the_layer_without_the_argument():
    states = []
    for settings in ({}, {"num_kv_heads": H}, {"num_kv_heads": None}):
        torch.manual_seed(3)
        layer, x = MultiHeadAttention(M, H, d_head=D, **settings), torch.randn(B, I, M)
        states.append((*layer.state_dict().values(), layer(x, x, x)[0]))
    assert all(torch.equal(a, b) for other in states[1:] for a, b in zip(states[0], other, strict=True))


@pytest.mark.parametrize("path", ["explicit", "fused"])
@pytest.mark.parametrize("positions", list(POSITIONS))
@pytest.mark.parametrize("num_kv_heads", [1, 2])
def test_cached_steps_equal_the_whole_model(path, positions, num_kv_heads):
    torch.manual_seed(0)
    model = Transformer(dataclasses.replace(CONFIG, positions=positions, attention_path=path,
                                            num_kv_heads=num_kv_heads)).double().eval()
    source, target = torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5))
    source[1, 5:] = CONFIG.pad_id
    whole, memory, cache = model(source, target), model.encode(source), model.new_cache()
    steps = [model.decode(target[:, :2], memory, source, cache=cache)]
    steps += [model.decode(target[:, t:t + 1], memory, source, cache=cache) for t in range(2, 5)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-12, rtol=0)
    assert greedy(model, source) == greedy(model, source, use_cache=False)


@pytest.mark.parametrize("positions", list(POSITIONS))
def test_a_grouped_model_is_a_full_one_with_repeated_weights(positions):
    torch.manual_seed(0)
    grouped, full = (Transformer(dataclasses.replace(CONFIG, positions=positions, num_kv_heads=n)).double().eval()
                     for n in (2, None))
    repeated(grouped.state_dict(), full, 2)
    source, target = torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5))
    torch.testing.assert_close(grouped(source, target), full(source, target), atol=1e-12, rtol=0)
    assert greedy(grouped, source) == greedy(full, source)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
def test_the_cache_holds_the_fewer_heads(num_kv_heads):
    layer, cache = MultiHeadAttention(M, H, d_head=D, d_value=E, num_kv_heads=num_kv_heads), KeyValueCache(grows=True)
    for _ in range(J):
        x = torch.randn(B, 1, M)
        layer(x, x, x, cache=cache)
    assert cache.k.numel() == B * num_kv_heads * J * D and cache.v.numel() == B * num_kv_heads * J * E


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
        MultiHeadAttention(M, H, d_head=D, num_kv_heads=number)
    with pytest.raises(ValueError, match=message):
        Transformer(dataclasses.replace(CONFIG, num_kv_heads=number))
