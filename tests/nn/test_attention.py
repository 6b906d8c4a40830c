"""Attention as the definition has it: empty rows in every precision, masks, weights, dropout, errors."""

import numpy as np
import pytest
import torch
from torch import nn

from xformer_lib.nn import DecoderLayer, EncoderLayer, GroupedQueryAttention, PositionwiseFeedForward, TokenEmbedding
from xformer_lib.nn.masks import padding_mask, target_mask
from xformer_lib.nn.multi_head import MultiHeadAttention, attention, masked_softmax
from xformer_lib.nn.positions import LearnedPositions, RelativePositions, RotaryPositions, attention_positions

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


def test_a_softmax_of_four_scores_by_hand():
    scores = torch.tensor([[0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert masked_softmax(scores, mask).tolist() == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(masked_softmax(scores), scores.softmax(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_row_that_may_attend_to_nothing_is_zero_both_ways(dtype, scale):
    tensors, mask = qkv(dtype, scale), mask_with_empty_rows()
    output, weights = attention(*tensors, mask=mask)
    empty = ~mask.any(-1).expand(B, H, I)
    assert (output[empty] == 0).all() and (weights[empty] == 0).all()
    assert output.isfinite().all() and (output[~empty] != 0).any()
    gradients = backward(output, tensors)
    assert all(g.isfinite().all() for g in gradients)
    assert (gradients[0][empty] == 0).all() and (gradients[2] != 0).any()


def test_dropout_is_on_the_weights_that_mix_and_not_on_those_returned():
    q, k, v = (x.detach() for x in qkv())
    torch.manual_seed(3)
    output, weights = attention(q, k, v, dropout=0.5)
    whole, exact = attention(q, k, v)
    assert torch.equal(weights, exact) and not torch.allclose(output, whole)
    torch.manual_seed(3)
    torch.testing.assert_close(output, torch.nn.functional.dropout(weights, 0.5) @ v, atol=1e-14, rtol=0)


def test_a_mask_of_two_axes_is_one_of_queries_and_keys():
    """Also where the batch is as large as the queries are many: a square one, one with an axis more, one row for all."""
    layer = MultiHeadAttention(M, H, d_head=D)
    for b, i, j in ((I, I, I), (I, I, J), (1, 1, J), (B, I, J), (J, I, J)):
        x, memory = torch.randn(b, i, M), torch.randn(b, j, M)
        mask = torch.ones(i, j, dtype=torch.bool).tril()
        wanted = torch.cat([layer(x[n : n + 1], memory[n : n + 1], memory[n : n + 1], mask=mask)[0] for n in range(b)])
        forms = [mask[None], mask[None, None]] + [mask] * (b != i or i == j or b == 1)
        for form in forms:
            torch.testing.assert_close(layer(x, memory, memory, mask=form)[0], wanted)


def test_three_mask_ranks_mean_the_same():
    layer = MultiHeadAttention(M, H, d_head=D)
    query, memory = torch.randn(B, I, M), torch.randn(B, J, M)
    flat = torch.rand(I, J) < 0.7
    outputs = [layer(query, memory, memory, mask=mask)[0] for mask in (flat, flat.expand(B, I, J), flat.expand(B, H, I, J))]
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


def test_the_projections_are_pytorchs_own():
    """No class of ours hides behind them: whoever knows nn.Linear can read the layer."""
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E)
    assert {type(part) for part in layer.children()} == {torch.nn.Linear}
    assert [tuple(part.weight.shape) for part in layer.children()] == [(H * D, M), (H * D, M), (H * E, M), (M, H * E)]


@pytest.mark.errors
@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: MultiHeadAttention(512, 7), r"d_model=512, num_heads=7 \(remainder 1\); try d_model=504 or num_heads=8"),
        (lambda: MultiHeadAttention("32", 4), "d_model: expected a whole number, 1 or more, got '32'; pass a size such as 64"),
        (lambda: MultiHeadAttention(32, None), "num_heads: expected a whole number, 1 or more, got None"),
        (lambda: MultiHeadAttention(32, 0), "num_heads: expected a whole number, 1 or more, got 0"),
        (lambda: MultiHeadAttention(32, 4, d_head=0), "d_head: expected a whole number, 1 or more, got 0"),
        (lambda: MultiHeadAttention(32, 4, d_value=2.5), "d_value: expected a whole number, 1 or more, got 2.5"),
        (lambda: MultiHeadAttention(32, 4, dropout=1.5), "dropout: expected 0 ≤ dropout < 1, got 1.5; 0.1 is usual"),
        (
            lambda: GroupedQueryAttention(32, 4, num_kv_heads="2"),
            "num_kv_heads: expected a divisor of num_heads=4, got '2'; try one of 1, 2, 4",
        ),
        (lambda: PositionwiseFeedForward("32", 4), "d_model: expected a whole number, 1 or more, got '32'"),
        (lambda: EncoderLayer(32, 4, -7), "d_ff: expected a whole number, 1 or more, got -7"),
        (lambda: DecoderLayer(32, 4, 64, norm="middle"), 'norm: expected "pre" or "post", got \'middle\''),
        (
            lambda: layer_on(np.ones((B, I, M))),
            r"query: expected a torch.Tensor, got ndarray of shape \(2, 5, 17\); write torch.from_numpy\(query\)",
        ),
        (lambda: layer_on(torch.randn(B, I, M), [[1.0]]), r"key: expected a torch.Tensor, got list; write torch.tensor\(key\)"),
        (lambda: layer_on("a dog"), "query: expected a torch.Tensor, got 'a dog'; pass vectors"),
        (
            lambda: layer_on(torch.ones(B, I, M, dtype=torch.int64)),
            r"query: expected floating-point numbers, got torch.int64; write query.float\(\), or embed the ids first",
        ),
        (
            lambda: layer_on(torch.from_numpy(np.ones((B, I, M)))),
            r"query: expected torch.float32, as the weights are, got torch.float64; write query.to\(torch.float32\)",
        ),
        (
            lambda: layer_on(torch.randn(B, I, M, device="meta")),
            r"query: expected it on cpu, as the weights are, got meta; write query.to\('cpu'\)",
        ),
        (
            lambda: MultiHeadAttention(M, H, d_head=D).to("meta")(*[torch.zeros(B, I, M, device="meta", dtype=torch.float64)] * 3),
            "query: expected torch.float32, as the weights are, got torch.float64",
        ),
        (
            lambda: layer_on(torch.randn(B, I, M), mask=np.ones((I, I), dtype=bool)),
            r"mask: expected a torch.Tensor, got ndarray of shape \(5, 5\); write torch.from_numpy\(mask\)",
        ),
        (lambda: layer_on(torch.randn(I, M)), r"query: expected \(batch, length, d_model=17\), got \(5, 17\)"),
        (lambda: layer_on(torch.randn(B, I, M + 2)), r"query: expected .* got \(2, 5, 19\)"),
        (lambda: layer_on(torch.randn(B, I, M), torch.randn(B + 1, J, M)), r"one batch size, got query \(2, 5, 17\)"),
        (
            lambda: layer_on(torch.randn(B, I, M), mask=torch.ones(J, I, dtype=torch.bool)),
            r"broadcasts to \(b, h, i, j\) = \(2, 3, 5, 5\), got \(7, 5\); rows are queries",
        ),
        (lambda: layer_on(torch.randn(B, I, M), mask=torch.ones(B, J, I, dtype=torch.bool)), r"= \(2, 3, 5, 5\), got \(2, 7, 5\); rows"),
        (lambda: layer_on(torch.randn(B, I, M), mask=torch.ones(B, H, 2, I, I, dtype=torch.bool)), r"mask: expected"),
        # a mask of keys, (b, j): where it fits nothing, and where it would pass for one of queries and keys
        (
            lambda: layer_on(torch.randn(B, I, M), torch.randn(B, J, M), torch.ones(B, J, dtype=torch.bool)),
            r"got \(2, 7\); rows .*\(b, j\) write mask\[:, None, :\]$",
        ),
        (
            lambda: layer_on(torch.randn(I, I, M), torch.randn(I, J, M), torch.ones(I, J, dtype=torch.bool)),
            r"mask: expected three axes .*, 5, got \(5, 7\); .*\(i, j\) write mask\[None\]; .*\(b, j\) write mask\[:, None, :\]$",
        ),
        (
            lambda: MultiHeadAttention(64, 4, positions="rotary"),
            r"positions: expected None or a scheme .*, got 'rotary'; write attention_positions\(\"rotary\", 16, max_offset=16\)$",
        ),
        (lambda: EncoderLayer(64, 4, 7, positions="alibi"), "positions: expected None or a scheme .*, got 'alibi'; write attention_pos"),
        (lambda: DecoderLayer(64, 4, 7, positions=LearnedPositions(64, 9)), "positions: expected None or a scheme .*got LearnedPositions;"),
        (lambda: MultiHeadAttention(64, 4, positions=RotaryPositions), "positions: expected None or a scheme .*got type;"),
        (lambda: MultiHeadAttention(64, 4, positions=RotaryPositions(8)), "of width 16, got RotaryPositions for 8; build it for 16"),
        (lambda: MultiHeadAttention(64, 4, positions=RelativePositions(8, 3)), "of width 16, got RelativePositions for 8; build"),
        (lambda: MultiHeadAttention(64, 4, d_value=8, positions=RelativePositions(16, 3)), "d_value: expected 16, .* got 8; leave it out"),
        (lambda: GroupedQueryAttention(64, 4, num_kv_heads=2, positions="rotary"), "positions: expected None or a scheme"),
        (lambda: attention_positions("rotery", 16, 3), 'name: expected "sinusoidal", .* or "none", got \'rotery\'; "none" leaves'),
        (lambda: RotaryPositions("8"), "d_head: expected a whole number, 1 or more, got '8'"),
        (lambda: RelativePositions(8, -1), "max_offset: expected a whole number, 1 or more, got -1"),
        (lambda: LearnedPositions(8, "9"), "max_len: expected a whole number, 1 or more, got '9'"),
        (lambda: LearnedPositions(8, 9)(torch.ones(2, 3, 4)), r"x: expected vectors \(batch, length, d_model=8\), got \(2, 3, 4\); one"),
        (lambda: LearnedPositions(8, 9)(torch.ones(3, 8)), r"x: expected vectors .*, got \(3, 8\); one sentence is .*x\[None\]"),
        (lambda: TokenEmbedding(0, 8), "vocab_size: expected a whole number, 1 or more, got 0"),
        (lambda: padding_mask(torch.ones(3).long(), 0), r"ids: expected integer ids \(batch, length\), got .* \(3,\); .*ids\[None\]"),
        (lambda: target_mask([[1, 0]], 0), r"ids: expected a torch.Tensor, got list"),
        (lambda: EncoderLayer(32, 4, 64, attention=nn.MultiheadAttention), "attention: expected .*pass xformer_lib.nn.Multi"),
        (lambda: DecoderLayer(32, 4, 64, attention="dot"), "attention: expected the class MultiHeadAttention .*got 'dot'; pass"),
    ],
)
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
