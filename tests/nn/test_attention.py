"""Attention in PyTorch: both paths, empty rows in every precision, masks, cache, recording, errors."""

import numpy as np
import pytest
import torch

from xformer_lib.nn import DecoderLayer, EncoderLayer, PositionwiseFeedForward
from xformer_lib.nn.attention import (
    KeyValueCache,
    MultiHeadAttention,
    attend,
    explicit_attention,
    fused_attention,
    record_attention,
)

B, I, J, H, D, E = 2, 5, 7, 3, 11, 13
M = 17


def qkv(dtype=torch.float64, scale=1.0):
    torch.manual_seed(1)
    shapes = (B, H, I, D), (B, H, J, D), (B, H, J, E)
    return [(scale * torch.randn(shape, dtype=dtype)).requires_grad_() for shape in shapes]


def mask_with_empty_rows():
    mask = torch.rand(B, 1, I, J, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[0, 0, 1] = mask[1, 0, 4] = False
    return mask


def backward(output, tensors):
    weights = torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).sin()
    return torch.autograd.grad((output * weights).sum(), tensors)


@pytest.mark.parametrize("masked", [True, False])
def test_fused_equals_explicit_forward_and_backward(masked):
    tensors, mask = qkv(), mask_with_empty_rows() if masked else None
    explicit, _ = explicit_attention(*tensors, mask=mask)
    fused = fused_attention(*tensors, mask=mask)
    torch.testing.assert_close(fused, explicit, atol=1e-13, rtol=0)
    for ours, theirs in zip(backward(fused, tensors), backward(explicit, tensors), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


@pytest.mark.parametrize("path", ["explicit", "fused"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_row_that_may_attend_to_nothing_is_zero_both_ways(path, dtype, scale):
    tensors, mask = qkv(dtype, scale), mask_with_empty_rows()
    output, weights = attend(*tensors, mask=mask, path=path, need_weights=path == "explicit")
    empty = ~mask.any(-1).expand(B, H, I)
    assert (output[empty] == 0).all()
    assert (weights is None) == (path == "fused") and (weights is None or (weights[empty] == 0).all())
    assert output.isfinite().all() and (output[~empty] != 0).any()
    gradients = backward(output, tensors)
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][empty] == 0).all() and (gradients[2] != 0).any()


@pytest.mark.parametrize("path", ["explicit", "fused"])
def test_all_rows_empty(path):
    tensors = qkv(torch.float32)
    output, _ = attend(*tensors, mask=torch.zeros(I, J, dtype=torch.bool), path=path)
    assert (output == 0).all()
    assert all((g == 0).all() for g in backward(output, tensors))


def test_masked_keys_have_no_influence():
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E).double()
    query, memory = torch.randn(B, I, M).double(), torch.randn(B, J, M).double()
    mask = torch.ones(B, 1, J, dtype=torch.bool)
    mask[0, 0, 4:] = False
    before, _ = layer(query, memory, memory, mask=mask)
    changed = memory.clone()
    changed[0, 4:] += 100.0
    after, _ = layer(query, changed, changed, mask=mask)
    torch.testing.assert_close(after, before, atol=0, rtol=0)
    opened, _ = layer(query, changed, changed)
    assert not torch.allclose(opened[0], before[0])


def test_three_mask_ranks_mean_the_same():
    layer = MultiHeadAttention(M, H, d_head=D)
    query, memory = torch.randn(B, I, M), torch.randn(B, J, M)
    flat = torch.rand(I, J) < 0.7
    outputs = [layer(query, memory, memory, mask=mask)[0]
               for mask in (flat, flat.expand(B, I, J), flat.expand(B, H, I, J))]
    torch.testing.assert_close(outputs[0], outputs[1])
    torch.testing.assert_close(outputs[0], outputs[2])


def test_weights_are_returned_only_when_asked_for():
    layer = MultiHeadAttention(M, H, d_head=D)
    x = torch.randn(B, I, M)
    output, weights = layer(x, x, x)
    assert weights is None
    again, weights = layer(x, x, x, need_weights=True)
    assert weights.shape == (B, H, I, I)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, I))
    torch.testing.assert_close(again, output)


def test_dropout_only_while_training():
    torch.manual_seed(0)
    layer = MultiHeadAttention(M, H, d_head=D, dropout=0.5)
    x = torch.randn(B, I, M)
    assert not torch.equal(layer(x, x, x)[0], layer(x, x, x)[0])
    layer.eval()
    assert torch.equal(layer(x, x, x)[0], layer(x, x, x)[0])


def test_growing_cache_gives_the_uncached_output():
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E).double()
    x = torch.randn(B, I, M).double()
    causal = torch.ones(I, I, dtype=torch.bool).tril()
    whole, _ = layer(x, x, x, mask=causal)
    cache = KeyValueCache(grows=True)
    steps = [layer(x[:, i:i + 1], x[:, i:i + 1], x[:, i:i + 1], cache=cache)[0] for i in range(I)]
    torch.testing.assert_close(torch.cat(steps, dim=1), whole, atol=1e-13, rtol=0)


def test_the_cache_copies_when_its_room_is_full_and_only_then():
    """50 steps: rooms of 16, 34 and 70 places; what was kept stays, to the bit, through each move."""
    cache, kept, rooms = KeyValueCache(grows=True), [], []
    for _ in range(50):
        k, v = torch.randn(B, H, 1, D), torch.randn(B, H, 1, E)
        kept.append((k, v))
        found = cache.update(k, v)
        rooms.append(cache.rooms[0].data_ptr())
        for x, own, parts in zip(found, (cache.k, cache.v), zip(*kept, strict=True), strict=True):
            assert torch.equal(x, torch.cat(parts, dim=2)) and torch.equal(own, x)
    assert cache.length == 50 and [x.shape[2] for x in cache.rooms] == [70, 70]
    assert len(dict.fromkeys(rooms)) == 3


def test_rows_that_stay_take_their_room_along():
    cache, order = KeyValueCache(grows=True), torch.tensor([2, 0])
    before = [torch.randn(3, H, 4, D) for _ in "kv"]
    cache.update(*before)
    cache.keep(order)
    after = [torch.randn(2, H, 1, D) for _ in "kv"]
    for found, old, new in zip(cache.update(*after), before, after, strict=True):
        assert torch.equal(found, torch.cat([old[order], new], dim=2))


def test_the_memory_needs_no_spare_room():
    cache = KeyValueCache(grows=False)
    k, _ = cache.update(torch.randn(B, J, H, D).transpose(1, 2), torch.randn(B, H, J, E))
    assert cache.rooms[0].shape[2] == J and k.is_contiguous() and cache.ready


def test_auto_takes_the_fused_path_for_one_query_alone(monkeypatch):
    from xformer_lib.nn import attention

    asked = []
    monkeypatch.setattr(attention, "fused_attention", lambda *x, **settings: (asked.append(1), fused_attention(*x, **settings))[1])
    for shape, fused in (((1, H, 1, D), 1), ((B, H, 1, D), 0), ((1, H, 2, D), 0)):
        asked.clear()
        q, k = torch.randn(shape), torch.randn(shape[0], H, J, D)
        output, _ = attend(q, k, k)
        assert len(asked) == fused
        torch.testing.assert_close(output, attend(q, k, k, path="explicit")[0])


def test_fixed_cache_projects_the_memory_once():
    layer = MultiHeadAttention(M, H, d_head=D).double()
    query, memory = torch.randn(B, I, M).double(), torch.randn(B, J, M).double()
    cache = KeyValueCache(grows=False)
    first, _ = layer(query, memory, memory, cache=cache)
    second, _ = layer(query, torch.zeros_like(memory), torch.zeros_like(memory), cache=cache)
    torch.testing.assert_close(first, second, atol=0, rtol=0)
    cache.keep(torch.tensor([1]))
    kept, _ = layer(query[1:], memory[1:], memory[1:], cache=cache)
    torch.testing.assert_close(kept, first[1:], atol=1e-14, rtol=0)


def test_recording_names_the_layers_and_leaves_no_hook():
    model = torch.nn.ModuleDict({"a": MultiHeadAttention(M, H, d_head=D)})
    x = torch.randn(B, I, M)
    with record_attention(model) as maps:
        model["a"](x, x, x)
    assert list(maps) == ["a"] and maps["a"].shape == (B, H, I, I)
    assert model["a"](x, x, x)[1] is None


@pytest.mark.errors
@pytest.mark.parametrize("call, message", [
    (lambda: MultiHeadAttention(512, 7), r"d_model=512, num_heads=7 \(remainder 1\); try d_model=504 or num_heads=8"),
    (lambda: MultiHeadAttention("32", 4), "d_model: expected a whole number, 1 or more, got '32'; pass a size such as 64"),
    (lambda: MultiHeadAttention(32, None), "num_heads: expected a whole number, 1 or more, got None"),
    (lambda: MultiHeadAttention(32, 0), "num_heads: expected a whole number, 1 or more, got 0"),
    (lambda: MultiHeadAttention(32, 4, d_head=0), "d_head: expected a whole number, 1 or more, got 0"),
    (lambda: MultiHeadAttention(32, 4, d_value=2.5), "d_value: expected a whole number, 1 or more, got 2.5"),
    (lambda: MultiHeadAttention(32, 4, dropout=1.5), "dropout: expected 0 ≤ dropout < 1, got 1.5; 0.1 is usual"),
    (lambda: MultiHeadAttention(32, 4, num_kv_heads="2"), "num_kv_heads: expected a divisor of num_heads=4, got '2'; try one of 1, 2, 4"),
    (lambda: PositionwiseFeedForward("32", 4), "d_model: expected a whole number, 1 or more, got '32'"),
    (lambda: EncoderLayer(32, 4, -7), "d_ff: expected a whole number, 1 or more, got -7"),
    (lambda: DecoderLayer(32, 4, 64, norm="middle"), 'norm: expected "pre" or "post", got \'middle\''),
    (lambda: layer_on(np.ones((B, I, M))), r"query: expected a torch.Tensor, got ndarray of shape \(2, 5, 17\); write torch.from_numpy\(query\)"),
    (lambda: layer_on(torch.randn(B, I, M), [[1.0]]), r"key: expected a torch.Tensor, got list; write torch.tensor\(key\)"),
    (lambda: layer_on("a dog"), "query: expected a torch.Tensor, got 'a dog'; pass vectors"),
    (lambda: layer_on(torch.ones(B, I, M, dtype=torch.int64)), r"query: expected floating-point numbers, got torch.int64; write query.float\(\), or embed the ids first"),
    (lambda: layer_on(torch.randn(B, I, M), mask=np.ones((I, I), dtype=bool)), r"mask: expected a torch.Tensor, got ndarray of shape \(5, 5\); write torch.from_numpy\(mask\)"),
    (lambda: MultiHeadAttention(M, H, d_head=D, path="fast"), r'path: expected "auto", "explicit" or "fused", got \'fast\''),
    (lambda: layer_on(torch.randn(I, M)), r"query: expected \(batch, length, d_model=17\), got \(5, 17\)"),
    (lambda: layer_on(torch.randn(B, I, M + 2)), r"query: expected .* got \(2, 5, 19\)"),
    (lambda: layer_on(torch.randn(B, I, M), torch.randn(B + 1, J, M)), r"one batch size, got query \(2, 5, 17\)"),
    (lambda: layer_on(torch.randn(B, I, M), mask=torch.ones(J, I, dtype=torch.bool)),
     r"broadcasts to \(b, h, i, j\) = \(2, 3, 5, 5\), got \(7, 5\); rows are queries"),
    (lambda: layer_on(torch.randn(B, I, M), mask=torch.ones(B, H, 2, I, I, dtype=torch.bool)), r"mask: expected"),
])
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.errors
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_mask_that_is_not_boolean_is_refused(dtype):
    with pytest.raises(TypeError, match=f"mask: expected torch.bool, True = may attend, got {dtype}"):
        layer_on(torch.randn(B, I, M), mask=torch.ones(I, I, dtype=dtype))


def layer_on(query, memory=None, mask=None):
    memory = query if memory is None else memory
    return MultiHeadAttention(M, H, d_head=D)(query, memory, memory, mask=mask)
