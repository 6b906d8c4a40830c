"""Multi-head attention in NumPy against PyTorch's layer with copied weights, in float64.

PyTorch's masks say what is *hidden*, ours what may be attended to: they are each other's negation.
"""

import numpy as np
import pytest
import torch
from torch import nn

from xformer_lib.reference.masks import causal_mask, length_mask
from xformer_lib.reference.multi_head import multi_head_attention, per_head

BATCH, QUERIES, KEYS, HEADS, WIDTH = 2, 5, 7, 3, 11  # all sizes are different primes
MODEL, KEY_MODEL = HEADS * WIDTH, 13
TOLERANCE = 1e-12


@pytest.fixture
def rng():
    return np.random.default_rng(6)


@pytest.fixture
def layer():
    torch.manual_seed(6)
    return nn.MultiheadAttention(MODEL, HEADS, bias=False, batch_first=True, dtype=torch.float64).eval()


def array(tensor):
    return tensor.detach().numpy()


def copied(layer):
    """(h m d) for queries, keys and values, and (h·d m): torch keeps them wide, transposed and stacked."""
    wide = [array(part) for part in layer.in_proj_weight.chunk(3)]
    return [*(per_head(part.T, HEADS) for part in wide), array(layer.out_proj.weight).T]


def theirs(layer, x, context, *, hidden=None, hidden_keys=None):
    x, context = torch.from_numpy(x), torch.from_numpy(context)
    output, weights = layer(
        x,
        context,
        context,
        average_attn_weights=False,
        attn_mask=None if hidden is None else torch.from_numpy(hidden),
        key_padding_mask=None if hidden_keys is None else torch.from_numpy(hidden_keys),
    )
    return array(output), array(weights)


def assert_same(ours, expected):
    for value, reference in zip(ours, expected, strict=True):
        assert value.shape == reference.shape
        assert np.abs(value - reference).max() < TOLERANCE


def sentences(rng, length, width=MODEL):
    return rng.normal(size=(BATCH, length, width))


@pytest.mark.parametrize("masked", [False, True])
def test_self_attention(rng, layer, masked):
    x, mask = sentences(rng, QUERIES), causal_mask(QUERIES) if masked else None
    ours = multi_head_attention(x, x, *copied(layer), mask=mask)
    assert_same(ours, theirs(layer, x, x, hidden=None if mask is None else ~mask))


@pytest.mark.parametrize("masked", [False, True])
def test_cross_attention(rng, layer, masked):
    x, context = sentences(rng, QUERIES), sentences(rng, KEYS)
    mask = rng.random((QUERIES, KEYS)) < 0.6 if masked else None
    if masked:
        mask[:, 0] = True  # torch has no answer for a query that may attend to nothing
    ours = multi_head_attention(x, context, *copied(layer), mask=mask)
    assert_same(ours, theirs(layer, x, context, hidden=None if mask is None else ~mask))


def test_padding(rng, layer):
    x, context, real = sentences(rng, QUERIES), sentences(rng, KEYS), length_mask([KEYS, 2], KEYS)
    ours = multi_head_attention(x, context, *copied(layer), mask=real[:, None, :])
    assert_same(ours, theirs(layer, x, context, hidden_keys=~real))


def test_a_mask_for_each_head(rng, layer):
    x, context = sentences(rng, QUERIES), sentences(rng, KEYS)
    mask = rng.random((BATCH, HEADS, QUERIES, KEYS)) < 0.6
    mask[..., 0] = True
    ours = multi_head_attention(x, context, *copied(layer), mask=mask)
    assert_same(ours, theirs(layer, x, context, hidden=~mask.reshape(BATCH * HEADS, QUERIES, KEYS)))


def test_the_same_mask_without_negation_gives_something_else(rng, layer):
    """The comparison can fail: for torch, True means hidden."""
    x, mask = sentences(rng, QUERIES), causal_mask(QUERIES)
    mask = mask & ~np.eye(QUERIES, dtype=bool) | np.eye(QUERIES, dtype=bool)[::-1]
    ours, _ = multi_head_attention(x, x, *copied(layer), mask=mask)
    assert np.abs(ours - theirs(layer, x, x, hidden=mask)[0]).max() > 1e-3


def test_one_sentence_without_a_batch(rng, layer):
    x, context = rng.normal(size=(QUERIES, MODEL)), rng.normal(size=(KEYS, MODEL))
    assert_same(multi_head_attention(x, context, *copied(layer)), theirs(layer, x, context))


def test_keys_of_another_width(rng):
    """torch's kdim; values share it here, as keys and values come from one context."""
    torch.manual_seed(7)
    layer = nn.MultiheadAttention(MODEL, HEADS, bias=False, batch_first=True, kdim=KEY_MODEL, vdim=KEY_MODEL, dtype=torch.float64).eval()
    wide = layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight
    weights = [*(per_head(array(part).T, HEADS) for part in wide), array(layer.out_proj.weight).T]
    x, context = sentences(rng, QUERIES), sentences(rng, KEYS, KEY_MODEL)
    assert_same(multi_head_attention(x, context, *weights), theirs(layer, x, context))
