"""Laws of attention and its masks, for sizes, masks and numbers that hypothesis draws; the reference and the layers alike.

A mask is drawn at random, so rows that may attend to nothing are among the examples.
"""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.whole_models import computed
from xformer_lib.engine.decode import later_mask
from xformer_lib.engine.modules import explicit_attention, fused_attention
from xformer_lib.nn import GroupedQueryAttention, MultiHeadAttention, Transformer, TransformerConfig
from xformer_lib.nn import masks as nn_masks
from xformer_lib.nn.multi_head import attention
from xformer_lib.nn.positions import POSITIONS, attention_positions
from xformer_lib.reference import masks
from xformer_lib.reference.attention import additive_attention, scaled_dot_product_attention
from xformer_lib.reference.multi_head import multi_head_attention
from xformer_lib.reference.single_head import self_attention

SIZES = st.integers(1, 7)
SEEDS = st.integers(0, 2**32)
DENSITY = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
SCALE = st.sampled_from([1e-3, 1.0, 30.0, 1e4])
KV_HEADS = st.sampled_from([None, 1])  # of three: each its own keys and values, or one for all
WAYS = ("plain", "explicit", "fused")
INSIDE = [name for name in POSITIONS if attention_positions(name, 4, 3) is not None]  # relative, rotary, alibi


def draw(seed, *shapes, scale=1.0):
    rng = np.random.default_rng(seed)
    return [scale * rng.normal(size=shape) for shape in shapes]


def drawn_mask(seed, density, *shape):
    return np.random.default_rng(seed + 1).random(shape) < density


# ---------------------------------------------------------------- masks


@given(st.integers(0, 23), st.integers(0, 25))
def test_masks_of_the_reference_are_their_definitions(length, window):
    causal, local = masks.causal_mask(length), masks.local_mask(length, window)
    for i in range(length):
        for j in range(length):
            assert causal[i, j] == (j <= i) and local[i, j] == (abs(i - j) <= window)
    assert causal.shape == local.shape == (length, length)


@given(st.lists(st.integers(0, 11), max_size=7), st.integers(0, 5))
def test_padding_masks_open_the_beginning_of_each_row(lengths, more):
    width = max(lengths, default=0) + more
    mask = masks.length_mask(lengths, width)
    assert mask.shape == (len(lengths), width) and mask.dtype == bool
    assert mask.tolist() == [[j < length for j in range(width)] for length in lengths]


@given(st.integers(1, 5), st.integers(1, 11), SEEDS, st.integers(0, 2))
def test_masks_of_the_layers_are_their_definitions(rows, length, seed, pad_id):
    ids = torch.from_numpy(np.random.default_rng(seed).integers(0, 5, (rows, length)))
    padding, target = nn_masks.padding_mask(ids, pad_id), nn_masks.target_mask(ids, pad_id)
    assert padding.shape == (rows, 1, length) and target.shape == (rows, length, length)
    for b in range(rows):
        for i in range(length):
            for j in range(length):
                assert padding[b, 0, j] == (ids[b, j] != pad_id)
                assert target[b, i, j] == (j <= i and ids[b, j] != pad_id)


@given(st.integers(1, 9), st.integers(0, 9))
def test_a_causal_mask_that_continues_is_the_end_of_a_longer_one(length, start):
    """None for one newest word, which may read all: so does that row of the longer mask."""
    continued, whole = later_mask(torch.zeros(2, length, dtype=torch.int64), start), nn_masks.causal_mask(start + length)
    assert whole.tolist() == [[j <= i for j in range(start + length)] for i in range(start + length)]
    assert whole[start:].all() if length == 1 else torch.equal(continued, whole[start:])
    assert (continued is None) == (length == 1)


# ---------------------------------------------------------------- the reference


def by_hand(q, k, v, mask):
    """One query and one key at a time."""
    output = np.zeros((len(q), v.shape[1]))
    for i, query in enumerate(q):
        scores = {j: query @ k[j] / np.sqrt(len(query)) for j in range(len(k)) if mask[i, j]}
        peak = max(scores.values(), default=0)
        total = sum(np.exp(score - peak) for score in scores.values())
        for j, score in scores.items():
            output[i] += np.exp(score - peak) / total * v[j]
    return output


def additive(q, k, v, *, mask, seed=0):
    w_q, w_k, w_v = draw(seed, (q.shape[-1], 3), (k.shape[-1], 3), 3)
    return additive_attention(q, k, v, w_q, w_k, w_v, mask=mask)


def heads(q, k, v, *, mask, seed=0):
    """Two heads over queries and, as their context, the keys; the values are the keys'."""
    w_q, w_k = draw(seed, (2, q.shape[-1], 3), (2, k.shape[-1], 3))
    w_v, w_o = draw(seed + 1, (2, k.shape[-1], 5), (10, 2))
    return multi_head_attention(q, k, w_q, w_k, w_v, w_o, mask=mask)


KINDS = {"scaled dot product": scaled_dot_product_attention, "additive": additive, "two heads": heads}
each_kind = pytest.mark.parametrize("attend", KINDS.values(), ids=list(KINDS))


@settings(max_examples=200)
@given(SIZES, SIZES, SIZES, SIZES, SEEDS, DENSITY, SCALE)
def test_attention_is_its_definition(n, m, d, e, seed, density, scale):
    q, k, v = draw(seed, (n, d), (m, d), (m, e), scale=scale)
    mask = drawn_mask(seed, density, n, m)
    output, weights = scaled_dot_product_attention(q, k, v, mask=mask)
    assert np.allclose(output, by_hand(q, k, v, mask), rtol=1e-9, atol=1e-9 * scale)
    assert (weights >= 0).all() and not weights[~mask].any()
    assert np.allclose(weights.sum(axis=1), mask.any(axis=1))
    assert not output[~mask.any(axis=1)].any()  # nothing to attend to: zeros


@each_kind
@given(n=SIZES, m=SIZES, seed=SEEDS, density=DENSITY, huge=st.sampled_from([1.0, 1e6, 1e150]))
def test_what_is_masked_has_no_influence(attend, n, m, seed, density, huge):
    """Keys and values that no query may read are exchanged for others, however large: not a bit changes."""
    q, k, v, other_k, other_v = draw(seed, (n, 4), (m, 4), (m, 3), (m, 4), (m, 3))
    mask = drawn_mask(seed, density, n, m)
    hidden = ~mask.any(axis=0)[:, None]
    before, weights = attend(q, k, v, mask=mask)
    after, other = attend(q, np.where(hidden, huge * other_k, k), np.where(hidden, huge * other_v, v), mask=mask)
    assert np.array_equal(before, after) and np.array_equal(weights, other)


@each_kind
@given(n=SIZES, m=SIZES, seed=SEEDS, density=DENSITY)
def test_permutation_laws(attend, n, m, seed, density):
    """Invariant under one joint order of keys, values and mask columns; equivariant in queries and mask rows."""
    q, k, v = draw(seed, (n, 4), (m, 4), (m, 3))
    mask, rng = drawn_mask(seed, density, n, m), np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(m)
    output, weights = attend(q, k, v, mask=mask)
    moved, its_weights = attend(q[rows], k[columns], v[columns], mask=mask[rows][:, columns])
    assert np.allclose(moved, output[rows], atol=1e-12)
    assert np.allclose(its_weights, weights[..., rows, :][..., columns], atol=1e-12)


@given(SIZES, SEEDS, DENSITY)
def test_self_attention_is_equivariant(n, seed, density):
    x, w_q, w_k, w_v = draw(seed, (n, 4), (4, 3), (4, 3), (4, 5))
    mask, order = drawn_mask(seed, density, n, n), np.random.default_rng(seed).permutation(n)
    output = self_attention(x, w_q, w_k, w_v, mask=mask)[0]
    assert np.allclose(self_attention(x[order], w_q, w_k, w_v, mask=mask[order][:, order])[0], output[order], atol=1e-12)


# ---------------------------------------------------------------- the layers


def tensors(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


ATTENTION = {"plain": attention, "explicit": explicit_attention, "fused": lambda *a, **o: (fused_attention(*a, **o), None)}


@pytest.mark.parametrize("way", ATTENTION)
@given(n=SIZES, m=SIZES, seed=SEEDS, density=DENSITY, scale=SCALE)
def test_every_way_is_the_reference_and_sends_no_gradient_to_the_masked(way, n, m, seed, density, scale):
    """Outputs equal; a row with nothing to attend to is zero; gradients are finite, and zero for what nobody reads."""
    q, k, v = draw(seed, (2, n, 4), (2, m, 4), (2, m, 3))
    mask = drawn_mask(seed, density, 2, n, m)
    inputs = [torch.tensor(array, requires_grad=True) for array in (scale * q, k, v)]
    output, _ = ATTENTION[way](*inputs, mask=torch.from_numpy(mask))
    expected = scaled_dot_product_attention(scale * q, k, v, mask=mask)[0]
    assert np.allclose(output.detach().numpy(), expected, atol=1e-9)
    assert not output[~torch.from_numpy(mask.any(axis=-1))].any()
    output.square().sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)
    unread, blind = torch.from_numpy(~mask.any(axis=1)), torch.from_numpy(~mask.any(axis=2))
    assert not inputs[1].grad[unread].any() and not inputs[2].grad[unread].any() and not inputs[0].grad[blind].any()


def built(kv_heads, **options):
    """A layer of three heads, with as many heads of keys and values or with one."""
    made = MultiHeadAttention(12, 3, **options) if kv_heads is None else GroupedQueryAttention(12, 3, num_kv_heads=kv_heads, **options)
    return made.double()


@pytest.mark.parametrize("scheme", ["none", *INSIDE])
@given(n=SIZES, seed=SEEDS, density=DENSITY, way=st.sampled_from(WAYS), kv_heads=KV_HEADS)
@settings(max_examples=90)
def test_a_layer_does_not_read_what_is_masked(scheme, n, seed, density, way, kv_heads):
    """With every position scheme, and with shared keys: other tokens behind the mask change no bit, and what nobody reads gets no
    gradient.
    """
    torch.manual_seed(seed)
    layer = computed(way, built(kv_heads, positions=attention_positions(scheme, 4, 3)))
    x, other = tensors(seed, (2, n, 12), (2, n, 12))
    mask = torch.from_numpy(drawn_mask(seed, density, 2, 1, n).repeat(n, axis=1))  # whole columns: tokens are hidden
    hidden = ~mask.any(dim=1)[..., None]
    changed = torch.where(hidden, 1e3 * other, x).requires_grad_()
    before, _ = layer(x, x, x, mask=mask)
    after, _ = layer(x, changed, changed, mask=mask)
    assert torch.equal(before, after)
    after.square().sum().backward()
    assert changed.grad.isfinite().all() and not changed.grad[hidden.expand_as(changed)].any()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


@given(SIZES, SEEDS, DENSITY, KV_HEADS, st.sampled_from(WAYS))
@settings(max_examples=90)
def test_a_layer_without_positions_is_equivariant(n, seed, density, kv_heads, way):
    torch.manual_seed(seed)
    layer = computed(way, built(kv_heads))
    (x,), order = tensors(seed, (2, n, 12)), torch.from_numpy(np.random.default_rng(seed).permutation(n))
    mask = torch.from_numpy(drawn_mask(seed, density, n, n))
    moved = layer(x[:, order], x[:, order], x[:, order], mask=mask[order][:, order])[0]
    assert torch.allclose(moved, layer(x, x, x, mask=mask)[0][:, order], atol=1e-12)


@pytest.mark.parametrize("scheme", INSIDE)
def test_a_layer_with_positions_is_not(scheme):
    """The control: where order enters, the law must fail."""
    torch.manual_seed(1)
    layer = MultiHeadAttention(12, 3, positions=attention_positions(scheme, 4, 3)).double()
    for table in layer.positions.parameters():
        torch.nn.init.normal_(table)
    (x,), order = tensors(2, (1, 5, 12)), torch.tensor([1, 2, 0, 4, 3])
    moved = layer(x[:, order], x[:, order], x[:, order])[0]
    assert not torch.allclose(moved, layer(x, x, x)[0][:, order], atol=1e-3)


def tiny(scheme, norm, seed, kv_heads=None):
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=17,
        d_model=12,
        num_heads=3,
        num_kv_heads=kv_heads,
        d_ff=13,
        num_encoder_layers=1,
        num_decoder_layers=2,
        dropout=0.0,
        norm=norm,
        positions=scheme,
        max_offset=3,
        max_len=23,
    )
    return Transformer(config).double().eval()


@pytest.mark.parametrize("scheme", list(POSITIONS))
@settings(max_examples=30)
@given(
    s=SIZES,
    t=SIZES,
    more=st.integers(0, 5),
    seed=st.integers(0, 99),
    norm=st.sampled_from(["pre", "post"]),
    kv_heads=KV_HEADS,
    way=st.sampled_from(("auto", *WAYS)),
)
@example(s=1, t=1, more=5, seed=0, norm="pre", kv_heads=1, way="auto")
@example(s=1, t=1, more=5, seed=0, norm="pre", kv_heads=1, way="plain")
def test_a_model_sees_neither_padding_nor_the_future(scheme, s, t, more, seed, norm, kv_heads, way):
    """More padding behind source and target changes nothing; nor do other words after the place that is asked for."""
    model, rng = computed(way, tiny(scheme, norm, seed, kv_heads)), np.random.default_rng(seed)
    source, target, later = (torch.from_numpy(rng.integers(3, 17, (2, length))) for length in (s, t, t))
    pad = torch.zeros(2, more, dtype=torch.int64)
    with torch.no_grad():
        logits = model(source, target)
        padded = model(torch.cat([source, pad], dim=1), torch.cat([target, pad], dim=1))[:, :t]
        assert torch.allclose(padded, logits, atol=1e-12)
        for place in range(t):
            changed = torch.cat([target[:, : place + 1], later[:, place + 1 :]], dim=1)
            assert torch.allclose(model(source, changed)[:, : place + 1], logits[:, : place + 1], atol=1e-12)
    alone = model(source[:1], target[:1])
    assert torch.allclose(alone, logits[:1], atol=1e-12) and alone.isfinite().all()


@pytest.mark.parametrize("scheme", list(POSITIONS))
@pytest.mark.parametrize("way", WAYS)
def test_a_sentence_of_padding_alone_has_finite_gradients(scheme, way):
    """It may read nothing at all, in the encoder and across: no NaN comes out, and none goes into a weight."""
    model = computed(way, tiny(scheme, "pre", 3).train())
    source = torch.tensor([[5, 6, 2], [0, 0, 0]])
    target = torch.tensor([[1, 7, 8, 9], [0, 0, 0, 0]])
    logits = model(source, target)
    assert logits.isfinite().all()
    logits.square().mean().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    assert None not in grads.values() and all(grad.isfinite().all() for grad in grads.values())
    assert sum(bool(grad.any()) for grad in grads.values()) > len(grads) / 2
