"""The PyTorch layers against the NumPy definitions, in float64."""

import numpy as np
import pytest
import torch

from tests.whole_models import computed
from xformer_lib.engine.modules import explicit_attention, fused_attention
from xformer_lib.nn.masks import causal_mask
from xformer_lib.nn.multi_head import MultiHeadAttention, attention
from xformer_lib.reference import masks
from xformer_lib.reference.attention import scaled_dot_product_attention

B, I, J, D, E, H = 2, 5, 7, 3, 11, 4
M = 13


def arrays(rng, *shapes):
    return [rng.standard_normal(shape) for shape in shapes]


def random_mask(rng):
    mask = rng.random((B, I, J)) < 0.6
    mask[1, 2] = False  # a row that may attend to nothing
    return mask


WAYS = {"plain": attention, "explicit": explicit_attention, "fused": fused_attention}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("masked", [True, False])
def test_one_head(way, masked):
    rng = np.random.default_rng(3)
    q, k, v = arrays(rng, (B, I, D), (B, J, D), (B, J, E))
    mask = random_mask(rng) if masked else None
    expected, expected_weights = scaled_dot_product_attention(q, k, v, mask=mask)
    tensors = [torch.from_numpy(x) for x in (q, k, v)]
    torch_mask = None if mask is None else torch.from_numpy(mask)
    output = WAYS[way](*tensors, mask=torch_mask)
    if way != "fused":
        output, weights = output
        np.testing.assert_allclose(weights.numpy(), expected_weights, atol=1e-14)
    np.testing.assert_allclose(output.numpy(), expected, atol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_multi_head_is_heads_side_by_side(way):
    rng = np.random.default_rng(5)
    layer = MultiHeadAttention(M, H, d_head=D, d_value=E).double()
    query, memory = arrays(rng, (B, I, M), (B, J, M))
    mask = random_mask(rng)
    inputs = [torch.from_numpy(x) for x in (query, memory, memory)]
    output, weights = computed(way, layer)(*inputs, mask=torch.from_numpy(mask), need_weights=True)
    alone, _ = computed(way, layer)(*inputs, mask=torch.from_numpy(mask))  # the fused kernel has no weights

    def project(x, linear):
        return x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()

    q, k, v = project(query, layer.w_q), project(memory, layer.w_k), project(memory, layer.w_v)
    heads = []
    for h in range(H):
        head, head_weights = scaled_dot_product_attention(
            q[..., h * D : (h + 1) * D], k[..., h * D : (h + 1) * D], v[..., h * E : (h + 1) * E], mask=mask
        )
        heads.append(head)
        np.testing.assert_allclose(weights[:, h].detach().numpy(), head_weights, atol=1e-14)
    expected = project(np.concatenate(heads, axis=-1), layer.w_o)
    for found in (output, alone):
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-13)


def test_causal_mask():
    np.testing.assert_array_equal(causal_mask(I).numpy(), masks.causal_mask(I))
