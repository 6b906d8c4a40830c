"""Rotary, ALiBi and relative positions in the trainable layer against the NumPy definitions, in float64."""

import itertools

import numpy as np
import pytest
import torch

from tests.whole_models import computed
from xformer_lib.engine import modules
from xformer_lib.engine.cache import KeyValueCache
from xformer_lib.engine.modules import explicit_attention
from xformer_lib.nn.masks import causal_mask
from xformer_lib.nn.multi_head import MultiHeadAttention
from xformer_lib.nn.positions import alibi_slopes, apply_rotary, attention_positions
from xformer_lib.reference import positions as reference
from xformer_lib.reference.attention import softmax

B, H, I, D, MAX_OFFSET = 2, 3, 7, 10, 2  # offsets up to 6 are clipped to 2
M = H * D
SCHEMES = ["relative", "rotary", "alibi"]
by_way = pytest.mark.parametrize("way", ["plain", "explicit", "fused"])
TOLERANCE = 1e-12


def build(scheme, way="plain"):
    torch.manual_seed(0)
    inside = attention_positions(scheme, D, MAX_OFFSET)
    return computed(way, MultiHeadAttention(M, H, positions=inside).double())


def random_mask():
    mask = np.random.default_rng(4).random((B, 1, I, I)) < 0.6
    mask[1, :, 2] = False  # a row that may attend to nothing
    return mask


def scores_and_values(scheme, layer, q, k):
    """The definition, scheme by scheme: scores (b h i j), and what is added to the values (i j d)."""
    nothing = np.zeros((I, I, D))
    if scheme == "rotary":
        q, k = (reference.rotary(x, np.arange(I)) for x in (q, k))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(D)
    if scheme == "alibi":
        return scores + reference.alibi_bias(H, I, I), nothing
    if scheme == "relative":
        rows = reference.relative_index(I, I, MAX_OFFSET)
        keys, values = (t.detach().numpy()[rows] for t in (layer.positions.key_table, layer.positions.value_table))
        return scores + np.einsum("bhid,ijd->bhij", q, keys) / np.sqrt(D), values
    return scores, nothing


def by_definition(scheme, layer, x, mask):
    def project(x, linear):
        return x @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()

    q, k, v = (project(x, w).reshape(B, I, H, D).swapaxes(1, 2) for w in (layer.w_q, layer.w_k, layer.w_v))
    scores, added = scores_and_values(scheme, layer, q, k)
    weights = softmax(np.where(mask, scores, -np.inf))
    heads = weights @ v + np.einsum("bhij,ijd->bhid", weights, added)
    return project(heads.swapaxes(1, 2).reshape(B, I, M), layer.w_o), weights


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
@by_way
def test_layer_is_the_definition(scheme, masked, way):
    layer, x = build(scheme, way), np.random.default_rng(5).normal(size=(B, I, M))
    mask = random_mask() if masked else np.ones((1, 1, I, I), dtype=bool)
    output, weights = layer(*[torch.from_numpy(x)] * 3, mask=torch.from_numpy(mask), need_weights=True)
    expected, expected_weights = by_definition(scheme, layer, x, mask)
    assert np.abs(weights.detach().numpy() - expected_weights).max() < TOLERANCE
    assert np.abs(output.detach().numpy() - expected).max() < TOLERANCE
    alone, weights = layer(*[torch.from_numpy(x)] * 3, mask=torch.from_numpy(mask))
    assert np.abs(alone.detach().numpy() - expected).max() < TOLERANCE and weights is None


def test_relative_is_relative_attention():
    """The reference's own function, one head at a time, keys and values."""
    layer, x = build("relative"), np.random.default_rng(6).normal(size=(B, I, M))
    tables = layer.positions.key_table.detach().numpy(), layer.positions.value_table.detach().numpy()
    q, k, v = (layer.split(w(torch.from_numpy(x)), D) for w in (layer.w_q, layer.w_k, layer.w_v))
    bias, value_bias = layer.positions.terms(q, I, 0)
    found = {"engine": explicit_attention(q, k, v, bias=bias, value_bias=value_bias), "plain": layer.positions(q, k, v)}
    for n, (output, weights) in itertools.product(range(H), found.values()):
        expected = reference.relative_attention(*(a[:, n].detach().numpy() for a in (q, k, v)), *tables)
        for ours, theirs in zip((output[:, n], weights[:, n]), expected, strict=True):
            assert np.abs(ours.detach().numpy() - theirs).max() < TOLERANCE


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_ways_agree_forward_and_backward(scheme, masked):
    x = torch.randn(B, I, M, dtype=torch.float64, requires_grad=True)
    mask = torch.from_numpy(random_mask()) if masked else None
    found = []
    for way in ("plain", "explicit", "fused"):
        layer = build(scheme, way)
        output, _ = layer(x, x, x, mask=mask)
        uneven = torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).cos()
        found.append([output, *torch.autograd.grad((output * uneven).sum(), [x, *layer.parameters()])])
    for plain, *others in zip(*found, strict=True):
        assert all((ours - plain).abs().max() < TOLERANCE for ours in others)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_fused_kernel_runs_where_it_can(scheme, monkeypatch):
    """Relative positions need the weights for their value term; the other two never see them."""
    seen = []
    for name in ("explicit_attention", "fused_attention"):
        real = getattr(modules, name)
        monkeypatch.setattr(modules, name, lambda *a, name=name, real=real, **k: (seen.append(name), real(*a, **k))[1])
    build(scheme, "fused")(*[torch.randn(B, I, M, dtype=torch.float64)] * 3)
    assert seen == ["explicit_attention" if scheme == "relative" else "fused_attention"]


@pytest.mark.parametrize("path", ["explicit", "fused"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_cached_steps_know_their_place(scheme, path):
    layer, x = build(scheme, path), torch.randn(B, I, M, dtype=torch.float64)
    whole, _ = layer(x, x, x, mask=causal_mask(I))
    cache, rows = KeyValueCache(grows=True), []
    for start, end in ((0, 3), (3, 4), (4, I)):  # several words, one word, several words
        new = x[:, start:end]
        rows.append(layer(new, new, new, mask=causal_mask(end)[start:], cache=cache)[0])
    assert cache.length == I
    assert (torch.cat(rows, dim=1) - whole).abs().max() < TOLERANCE


@pytest.mark.parametrize("start", [0, 5])
@pytest.mark.parametrize("shape", [(I, D), (B, I, 2), (B, H, I, D)])
def test_rotary(shape, start):
    x = np.random.default_rng(7).normal(size=shape)
    expected = reference.rotary(x, np.arange(start, start + I))
    assert np.abs(apply_rotary(torch.from_numpy(x), start).numpy() - expected).max() < TOLERANCE


@pytest.mark.parametrize("num_heads", [1, 2, 3, 5, 8, 13, 16])
def test_alibi_slopes(num_heads):
    ours = alibi_slopes(num_heads, dtype=torch.float64).numpy()
    np.testing.assert_allclose(ours, reference.alibi_slopes(num_heads), rtol=1e-15)


def test_alibi_starts_where_the_cache_ends():
    bias, _ = attention_positions("alibi", D, 1).terms(torch.zeros(B, H, 2, D, dtype=torch.float64), I, 5)
    np.testing.assert_allclose(bias.numpy(), reference.alibi_bias(H, 2, I, start=5), atol=1e-15)
