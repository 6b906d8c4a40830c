"""Six schemes of positions: what each can tell apart, in the layer and in the model."""

import dataclasses

import pytest
import torch

from tests.ci import combinations
from tests.whole_models import computed
from xformer_lib.nn.checks import SCHEMES
from xformer_lib.nn.multi_head import MultiHeadAttention, attention
from xformer_lib.nn.positions import POSITIONS, apply_rotary, attention_positions
from xformer_lib.nn.transformer import Transformer, TransformerConfig

B, S, T, V = 3, 7, 5, 31
CONFIG = TransformerConfig(
    vocab_size=V, d_model=22, num_heads=1, d_ff=29, num_encoder_layers=2, dropout=0.0, num_decoder_layers=3, max_len=23, max_offset=2
)
SIX = ["sinusoidal", "learned", "relative", "rotary", "alibi", "none"]
INSIDE = ["relative", "rotary", "alibi"]
by_scheme = pytest.mark.parametrize("scheme", SIX)
inside = pytest.mark.parametrize("scheme", INSIDE)


def build(scheme, **changes):
    torch.manual_seed(0)
    return Transformer(dataclasses.replace(CONFIG, positions=scheme, **changes)).double().eval()


def ids(length, seed=0):
    return torch.randint(3, V, (B, length), generator=torch.Generator().manual_seed(seed))


def test_the_six_names():
    """Those that have a class are those that a configuration may name."""
    assert list(POSITIONS) == list(SCHEMES) == SIX


def test_a_module_may_take_the_place_of_attention():
    """``positions`` is called as `attention` is, whatever it makes of the scores."""

    class Average(torch.nn.Module):
        def forward(self, q, k, v, *, mask=None, dropout=0.0):
            return attention(torch.zeros_like(q), k, v, mask=mask, dropout=dropout)

    layer, x = MultiHeadAttention(22, 1, positions=Average()).double(), torch.randn(B, S, 22).double()
    _, weights = layer(x, x, x, need_weights=True)
    torch.testing.assert_close(weights, torch.full((B, 1, S, S), 1 / S).double())


@by_scheme
def test_only_none_treats_the_source_as_a_set(scheme):
    model, source = build(scheme), ids(S)
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    moves_along = torch.allclose(model.encode(source[:, order]), model.encode(source)[:, order], atol=1e-10)
    assert moves_along == (scheme == "none")


@by_scheme
def test_cross_attention_is_untouched(scheme):
    """Only self-attention gets a scheme; the memory's rows may change places with their mask."""
    model, source = build(scheme), ids(S)
    for layer in model.decoder.layers:
        assert layer.cross_attention.positions is None
        assert (layer.self_attention.positions is not None) == (scheme in INSIDE)
    order, memory = torch.tensor([3, 0, 6, 2, 5, 1, 4]), model.encode(source)
    torch.testing.assert_close(
        model.decode(ids(T, 1), memory[:, order], source[:, order]), model.decode(ids(T, 1), memory, source), atol=1e-12, rtol=0
    )


@pytest.mark.parametrize("scheme", ["relative", "rotary", "alibi", "none"])
def test_these_know_offsets_and_no_places(scheme):
    """Padding before the words moves them along; their rows of the memory stay the same. Tables are not so."""
    for name, same in ((scheme, True), ("sinusoidal", False), ("learned", False)):
        model, source = build(name), ids(S)
        moved = torch.cat([torch.full((B, 4), CONFIG.pad_id), source], dim=1)
        assert torch.allclose(model.encode(moved)[:, 4:], model.encode(source), atol=1e-10) == same


def test_two_sided_alibi_cannot_tell_left_from_right():
    for scheme, blind in (("alibi", True), ("relative", False), ("rotary", False)):
        model, source = build(scheme), ids(S)
        assert torch.allclose(model.encode(source.flip(1)), model.encode(source).flip(1), atol=1e-10) == blind


@pytest.mark.errors  # the signature promises floating-point numbers
def test_rotary_turns_whole_numbers_as_it_turns_others():
    whole = torch.arange(3 * 10).reshape(3, 10)
    torch.testing.assert_close(apply_rotary(whole, 7), apply_rotary(whole.float(), 7))


def test_rotary_scores_depend_on_the_offset_alone():
    q, k = torch.randn(2, 1, 10, dtype=torch.float64)
    score = lambda i, j: float(apply_rotary(q[None], i) @ apply_rotary(k[None], j).mT)
    assert score(3, 1) == pytest.approx(score(120, 118), abs=1e-12)
    assert abs(score(3, 1) - score(1, 3)) > 1e-3 and abs(score(3, 1) - score(4, 1)) > 1e-3


@inside
def test_gradients_reach_the_schemes_parameters(scheme):
    model = build(scheme).train()
    model(ids(S), ids(T, 1)).square().sum().backward()
    tables = {n: p for n, p in model.named_parameters() if ".positions." in n}
    assert len(tables) == (2 * 5 if scheme == "relative" else 0)
    assert all(p.grad.abs().sum() > 0 for p in tables.values())


@combinations(scheme=INSIDE, way=("plain", "explicit", "fused"), dtype=(torch.float32, torch.float16, torch.bfloat16))
def test_closed_rows_are_zero_both_ways_in_every_precision(scheme, way, dtype):
    torch.manual_seed(0)
    layer = computed(way, MultiHeadAttention(22, 1, positions=attention_positions(scheme, 22, 2)).to(dtype))
    x = torch.randn(B, S, 22).to(dtype).requires_grad_()
    mask = torch.rand(B, S, S) < 0.6
    mask[0, 3] = mask[2, 5] = False
    output, _ = layer(x, x, x, mask=mask)
    assert (output[0, 3] == 0).all() and (output[2, 5] == 0).all() and output.isfinite().all()
    output.square().sum().backward()
    assert x.grad.isfinite().all() and all(p.grad.isfinite().all() for p in layer.parameters())


@by_scheme
@pytest.mark.parametrize("way", ["plain", "explicit", "fused"])
def test_bfloat16_follows_float32(scheme, way):
    model = build(scheme).float()
    expected = model(ids(S), ids(T, 1))
    logits = computed(way, model.bfloat16())(ids(S), ids(T, 1))
    assert logits.dtype == torch.bfloat16
    assert (logits - expected).abs().max() < 0.1 * expected.abs().max()


@pytest.mark.parametrize("way", ["plain", "explicit", "fused"])
def test_dropout_on_the_weights_drops_the_value_term_too(way):
    """With the values themselves at zero, what is left is the relative vectors under the dropped weights."""
    torch.manual_seed(0)
    inside = attention_positions("relative", 22, 2)
    layer = MultiHeadAttention(22, 1, dropout=0.5, bias=False, positions=inside).double()
    torch.nn.init.zeros_(layer.w_v.weight)
    layer, x = computed(way, layer), torch.randn(1, S, 22, dtype=torch.float64)
    with torch.no_grad():
        draws = torch.stack([layer(x, x, x)[0] for _ in range(2003)])
        whole = layer.eval()(x, x, x)[0]
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert error.min() > 0
    assert ((draws.mean(dim=0) - whole).abs() / error).max() < 5


def test_names_and_draws_of_the_default_model_are_those_of_trained_models():
    """Stored models were made with these names, in this order, from these random draws."""
    model = build("sinusoidal").float()
    layer = [f"{part}.{kind}" for part in ("w_q", "w_k", "w_v", "w_o") for kind in ("weight", "bias")]
    rest = ["feed_forward.w_1.weight", "feed_forward.w_1.bias", "feed_forward.w_2.weight", "feed_forward.w_2.bias"]
    norm = lambda *numbers: [f"residuals.{n}.norm.{kind}" for n in numbers for kind in ("weight", "bias")]
    attention = lambda name: [f"{name}.{parameter}" for parameter in layer]
    encoder = attention("self_attention") + rest + norm(0, 1)
    decoder = attention("self_attention") + attention("cross_attention") + rest + norm(0, 1, 2)
    expected = ["embedding.weight"]
    expected += [f"encoder.layers.{n}.{name}" for n in range(2) for name in encoder]
    expected += ["encoder.norm.weight", "encoder.norm.bias"]
    expected += [f"decoder.layers.{n}.{name}" for n in range(3) for name in decoder]
    expected += ["decoder.norm.weight", "decoder.norm.bias"]
    assert list(model.state_dict()) == expected
    torch.manual_seed(0)
    assert torch.equal(model.embedding.weight, torch.randn(V, 22) / 22**0.5)
    for layer in model.encoder.layers:  # nothing else draws between the layers' own parameters
        fresh = type(layer)(22, 1, 29)
        assert all(torch.equal(a, b) for a, b in zip(layer.parameters(), fresh.parameters(), strict=True))


@pytest.mark.errors
@pytest.mark.parametrize(
    "change, message",
    [
        ({"positions": "Rotary"}, "expected one of sinusoidal, learned, relative, rotary, alibi, none, got 'Rotary'"),
        (
            {"positions": "rotary", "num_heads": 2},
            "rotary turns pairs of dimensions, got heads of width 11; try d_model=20 or num_heads=11",
        ),
        ({"positions": "relative", "max_offset": 0}, "max_offset: expected a whole number, 1 or more, got 0"),
    ],
)
def test_schemes_that_cannot_be_built(change, message):
    with pytest.raises(ValueError, match=message):
        Transformer(dataclasses.replace(CONFIG, **change))


@pytest.mark.parametrize("scheme", ["sinusoidal", "learned"])
def test_places_that_no_row_stands_for(scheme):
    """Slices beyond the table would be empty, or repeat one row."""
    table = POSITIONS[scheme](12, 7)
    assert table(torch.zeros(2, 3, 12), start=4).shape == (2, 3, 12)
    for length, start in ((8, 0), (3, 5), (1, 7)):
        with pytest.raises(ValueError, match=f"x: expected at most max_len=7 places, got {length + start}; shorten x"):
            table(torch.zeros(2, length, 12), start=start)
