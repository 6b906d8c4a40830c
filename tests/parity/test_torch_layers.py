"""Our layers against PyTorch's, with copied weights: outputs and every gradient, in float64."""

import pytest
import torch
from torch import nn

from tests.parity.copying import attention_pairs, both_gradients, copy, largest_difference, layer_pairs, perturb, stack_pairs
from tests.whole_models import computed
from xformer_lib.nn.layers import DecoderLayer, EncoderLayer
from xformer_lib.nn.masks import causal_mask
from xformer_lib.nn.multi_head import MultiHeadAttention
from xformer_lib.nn.transformer import Decoder, Encoder, TransformerConfig

B, S, T, H, D, F, LAYERS = 3, 7, 5, 2, 11, 29, 2  # no two sizes alike, save the heads and layers
M = H * D
TOLERANCE = 1e-12
by_way = pytest.mark.parametrize("way", ["plain", "explicit", "fused"])


@pytest.fixture(autouse=True)
def float64():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def record(record_property):
    """Assert that two lists of tensors agree, and keep the largest difference for the parity table."""

    def agree(kind, ours, theirs):
        difference = largest_difference(ours, theirs)
        record_property(kind, f"{difference:.1e}")
        assert difference < TOLERANCE, f"{kind} differs by {difference}"

    return agree


def source_mask():
    mask = torch.ones(B, S, dtype=torch.bool)
    mask[0, 5:] = False
    mask[2, 3:] = False
    return mask


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@by_way
def test_multi_head_attention(bias, masked, way, record):
    ours = computed(way, MultiHeadAttention(M, H, bias=bias))
    theirs = nn.MultiheadAttention(M, H, bias=bias, batch_first=True)
    perturb(theirs)
    copy(pairs := attention_pairs(ours, theirs), ours, theirs)
    query, memory = torch.randn(B, T, M, requires_grad=True), torch.randn(B, S, M, requires_grad=True)
    mask = source_mask() if masked else None
    output, _ = ours(query, memory, memory, mask=None if mask is None else mask[:, None, :])
    expected, _ = theirs(query, memory, memory, key_padding_mask=None if mask is None else ~mask)
    record("forward", [output], [expected])
    record("gradient", *both_gradients(output, expected, [query, memory], pairs))


@by_way
def test_attention_weights_of_every_head(way, record):
    ours, theirs = computed(way, MultiHeadAttention(M, H)), nn.MultiheadAttention(M, H, batch_first=True)
    copy(attention_pairs(ours, theirs), ours, theirs)
    query, memory = torch.randn(B, T, M), torch.randn(B, S, M)
    _, weights = ours(query, memory, memory, mask=source_mask()[:, None, :], need_weights=True)
    _, expected = theirs(query, memory, memory, key_padding_mask=~source_mask(), average_attn_weights=False)
    record("forward", [weights], [expected])


@pytest.mark.parametrize("norm", ["pre", "post"])
@by_way
def test_encoder_layer(norm, way, record):
    ours = computed(way, EncoderLayer(M, H, F, norm=norm))
    theirs = nn.TransformerEncoderLayer(M, H, F, dropout=0.0, norm_first=norm == "pre", batch_first=True)
    perturb(theirs)
    copy(pairs := layer_pairs(ours, theirs), ours, theirs)
    x = torch.randn(B, S, M, requires_grad=True)
    output = ours(x, mask=source_mask()[:, None, :])
    expected = theirs(x, src_key_padding_mask=~source_mask())
    real = source_mask()[..., None]  # torch may write anything into padded places
    record("forward", [output * real], [expected * real])
    record("gradient", *both_gradients(output * real, expected * real, [x], pairs))


@pytest.mark.parametrize("norm", ["pre", "post"])
@by_way
def test_decoder_layer(norm, way, record):
    ours = computed(way, DecoderLayer(M, H, F, norm=norm))
    theirs = nn.TransformerDecoderLayer(M, H, F, dropout=0.0, norm_first=norm == "pre", batch_first=True)
    perturb(theirs)
    copy(pairs := layer_pairs(ours, theirs), ours, theirs)
    x, memory = torch.randn(B, T, M, requires_grad=True), torch.randn(B, S, M, requires_grad=True)
    output = ours(x, memory, mask=causal_mask(T), memory_mask=source_mask()[:, None, :])
    expected = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=~source_mask())
    record("forward", [output], [expected])
    record("gradient", *both_gradients(output, expected, [x, memory], pairs))


@pytest.mark.parametrize("norm", ["pre", "post"])
@by_way
def test_whole_stack(norm, way, record):
    """Encoder and decoder together against ``nn.Transformer`` (whose post-norm stacks end in a norm of their own)."""
    config = TransformerConfig(
        vocab_size=31, d_model=M, num_heads=H, d_ff=F, num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, dropout=0.0, norm=norm
    )
    encoder, decoder = (computed(way, made(config)) for made in (Encoder, Decoder))
    theirs = nn.Transformer(M, H, LAYERS, LAYERS, F, dropout=0.0, norm_first=norm == "pre", batch_first=True)
    if norm == "post":
        theirs.encoder.norm, theirs.decoder.norm = None, None
    perturb(theirs)
    pairs = stack_pairs(encoder, theirs.encoder) + stack_pairs(decoder, theirs.decoder)
    copy(pairs, nn.ModuleList([encoder, decoder]), theirs)
    x, y = torch.randn(B, S, M, requires_grad=True), torch.randn(B, T, M, requires_grad=True)
    mask = source_mask()
    output = decoder(y, encoder(x, mask=mask[:, None, :]), mask=causal_mask(T), memory_mask=mask[:, None, :])
    expected = theirs(x, y, tgt_mask=~causal_mask(T), src_key_padding_mask=~mask, memory_key_padding_mask=~mask)
    record("forward", [output], [expected])
    record("gradient", *both_gradients(output, expected, [x, y], pairs))
