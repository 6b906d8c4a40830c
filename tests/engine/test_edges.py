"""Where a layer meets what its author did not think of: odd layouts, empty tensors, transforms, float16's small range."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacrev, jvp, vmap

from tests.ci import combinations
from tests.whole_models import SIX, WAYS, S, build, computed
from tests.whole_models import T as TARGET_LEN
from xformer_lib.engine import explicit_attention, fused_attention, local_attention, tiled_attention
from xformer_lib.engine.modules import attend
from xformer_lib.engine.products import FastLinear, product
from xformer_lib.nn import GroupedQueryAttention, Transformer, TransformerConfig
from xformer_lib.nn.multi_head import attention as plain_attention
from xformer_lib.training import translation_loss

T, IN, OUT = 7, 263, 257  # wide enough for the library's own product

# ---------------------------------------------------------------- layouts in memory


def drawn(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(11))


BIASES = {
    "every second number": lambda: drawn(OUT, 2)[:, 0],
    "one number, spread": lambda: drawn(1)[0].expand(OUT),
    "backwards": lambda: drawn(OUT).flip(0),
    "a column": lambda: drawn(OUT, OUT).t()[3],
    "conjugate": lambda: torch.view_as_complex(drawn(OUT, 2)).conj().imag,
}


@pytest.mark.parametrize("name", BIASES)
@pytest.mark.parametrize("with_gradients", [True, False])
def test_a_bias_of_any_layout(name, with_gradients):
    x, weight, bias = drawn(T, IN), drawn(OUT, IN), BIASES[name]()
    with torch.set_grad_enabled(with_gradients):
        torch.testing.assert_close(product(x, weight, bias), F.linear(x, weight, bias), atol=2e-4, rtol=1e-5)


def test_a_layer_whose_bias_is_a_slice():
    layer, x = FastLinear(IN, OUT), drawn(T, IN)
    layer.bias = torch.nn.Parameter(drawn(OUT, 2)[:, 1])
    assert not layer.bias.is_contiguous()
    torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias), atol=2e-4, rtol=1e-5)


X = {
    "columns": lambda: drawn(T, 2 * IN)[:, ::2],
    "one row, spread": lambda: drawn(1, IN).expand(T, IN),
    "one column, spread": lambda: drawn(T, 1).expand(T, IN),
    "axes exchanged": lambda: drawn(IN, 3, T).permute(1, 2, 0),
    "conjugate": lambda: torch.view_as_complex(drawn(T, IN, 2)).conj().imag,
}
WEIGHTS = {
    "columns": lambda: drawn(OUT, 2 * IN)[:, ::2],
    "rows": lambda: drawn(2 * OUT, IN)[::2],
    "transposed": lambda: drawn(IN, OUT).t(),
    "one row, spread": lambda: drawn(1, IN).expand(OUT, IN),
    "conjugate": lambda: torch.view_as_complex(drawn(OUT, IN, 2)).conj().imag,
}


@combinations(x=X, weight=WEIGHTS)
def test_inputs_and_weights_of_any_layout_with_their_gradients(x, weight):
    made = []
    for multiply in (product, F.linear):
        tensors = [X[x]().detach().requires_grad_(), WEIGHTS[weight]().detach().requires_grad_(), drawn(OUT).requires_grad_()]
        output = multiply(*tensors)
        made.append([output, *torch.autograd.grad(output.square().sum(), tensors)])
    for ours, theirs in zip(*made, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=1e-4)


@pytest.mark.errors
@pytest.mark.parametrize("shapes", [((T, IN), (OUT, IN + 2), (OUT,)), ((T, IN), (OUT, IN), (OUT + 2,)), ((T, IN), (2, OUT, IN), None)])
def test_sizes_that_do_not_meet_are_pytorchs_error(shapes):
    tensors = [None if shape is None else drawn(*shape) for shape in shapes]
    with pytest.raises(RuntimeError) as theirs:
        F.linear(*tensors)
    with pytest.raises(RuntimeError) as ours:
        product(*tensors)
    assert str(ours.value) == str(theirs.value)


# ---------------------------------------------------------------- transforms

B, H, L, D = 2, 3, 7, 5


def of_a_layer(way):
    torch.manual_seed(3)
    layer = computed(way, GroupedQueryAttention(H * D, H, num_kv_heads=1).double())
    return lambda q, k, v: layer(*(x.transpose(1, 2).flatten(2) for x in (q, k, v)))[0]


ATTENTION = {
    "explicit": lambda q, k, v: explicit_attention(q, k, v)[0],
    "fused": fused_attention,
    "local": lambda q, k, v: local_attention(q, k, v, window=2),
    "local, causal": lambda q, k, v: local_attention(q, k, v, window=3, causal=True),
    "tiled": lambda q, k, v: tiled_attention(q, k, v, tile=3),
    "tiled, masked": lambda q, k, v: tiled_attention(q, k, v, tile=3, mask=torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()),
    "grouped, explicit": lambda q, k, v: attend(q, k[:, :1], v[:, :1], path="explicit")[0],
    "grouped, fused": lambda q, k, v: attend(q, k[:, :1], v[:, :1], path="fused")[0],
    "a grouped layer": of_a_layer("plain"),
    "a grouped layer, explicit": of_a_layer("explicit"),
    "a grouped layer, fused": of_a_layer("fused"),
    "plain": lambda q, k, v: plain_attention(q, k, v)[0],
}


def by_definition(name, q, k, v):
    """The same from PyTorch's plain operations; of a layer itself, whose parts are the plain ones."""
    near = (torch.arange(L)[:, None] - torch.arange(L)).abs()
    past = torch.ones(L, L, dtype=torch.bool).tril()
    masks = {"local": near <= 2, "local, causal": (near <= 3) & past, "tiled, masked": past}
    if name.startswith("grouped"):
        k, v = k[:, :1], v[:, :1]
    scores = q @ k.transpose(-2, -1) / D**0.5
    if name in masks:
        scores = scores.masked_fill(~masks[name], -torch.inf)
    return scores.softmax(dim=-1) @ v


def qkv(*shape):
    return [drawn(*(shape or (B, H, L, D))).double() + n for n in range(3)]


@pytest.mark.parametrize("name", ATTENTION)
def test_transforms_of_attention(name):
    """grad, vmap, forward mode and a Hessian agree with the definition's; the layer's with its own finite difference."""
    attention, (q, k, v) = ATTENTION[name], qkv()
    exact = ATTENTION["a grouped layer"] if name.startswith("a grouped layer") else lambda *x: by_definition(name, *x)
    ordinary = q.clone().requires_grad_()
    (expected,) = torch.autograd.grad(exact(ordinary, k, v).square().sum(), ordinary)
    torch.testing.assert_close(grad(lambda q: attention(q, k, v).square().sum())(q), expected, atol=1e-10, rtol=0)

    many = torch.stack([q, 2 * q, -q])
    rows = torch.stack([exact(one, k, v) for one in many])
    torch.testing.assert_close(vmap(attention, (0, None, None))(many, k, v), rows, atol=1e-10, rtol=0)

    tangent, step = drawn(B, H, L, D).double().flip(-1), 1e-6
    slope = (exact(q + step * tangent, k, v) - exact(q - step * tangent, k, v)) / (2 * step)
    torch.testing.assert_close(jvp(lambda q: attention(q, k, v), (q,), (tangent,))[1], slope, atol=1e-7, rtol=1e-5)
    with forward_ad.dual_level():
        moved = forward_ad.unpack_dual(attention(forward_ad.make_dual(q, tangent), k, v)).tangent
    torch.testing.assert_close(moved, slope, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("name", ATTENTION)
def test_gradients_of_each_example_and_second_derivatives(name):
    attention, (q, k, v) = ATTENTION[name], qkv()
    many = torch.stack([q, 2 * q])
    each = vmap(grad(lambda q: attention(q, k, v).square().sum()))(many)
    for one, found in zip(many, each, strict=True):
        torch.testing.assert_close(found, grad(lambda q: attention(q, k, v).square().sum())(one), atol=1e-10, rtol=0)
    curved = hessian(lambda s: attention(s * q, k, v).square().sum())(torch.tensor(0.7, dtype=torch.float64))
    slope = grad(lambda s: attention(s * q, k, v).square().sum())
    at = torch.tensor(0.7, dtype=torch.float64)
    torch.testing.assert_close(curved, (slope(at + 1e-5) - slope(at - 1e-5)) / 2e-5, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("way", ["plain", "explicit", "fused"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "relative", "rotary", "alibi"])
def test_tensors_are_made_where_the_input_is(way, positions):
    """Not on PyTorch's default device, which is the GPU of somebody who computes this model on the CPU."""
    model = computed(way, build(positions=positions, dropout=0.1)).train()
    with torch.device("meta"):
        loss, tokens = translation_loss(model, *(torch.full((2, n), 5, device="cpu") for n in (S, TARGET_LEN, TARGET_LEN)))
        loss.backward()
    assert tokens == 2 * TARGET_LEN and all(parameter.grad.device.type == "cpu" for parameter in model.parameters())


def test_transforms_of_the_linear_layer():
    layer, x, tangent = FastLinear(IN, OUT), drawn(T, IN), drawn(T, IN).flip(0)
    weight, bias = (parameter.detach() for parameter in layer.parameters())
    plain = torch.nn.Linear(IN, OUT)
    plain.load_state_dict(layer.state_dict())
    close = {"atol": 2e-3, "rtol": 1e-4}
    torch.testing.assert_close(grad(lambda x: layer(x).square().sum())(x), grad(lambda x: plain(x).square().sum())(x), **close)
    torch.testing.assert_close(vmap(layer)(drawn(3, T, IN)), plain(drawn(3, T, IN)), **close)
    torch.testing.assert_close(jacrev(lambda x: layer(x).sum(0))(x), weight[:, None].expand(OUT, T, IN), **close)
    for with_gradients in (True, False):
        with torch.set_grad_enabled(with_gradients):
            torch.testing.assert_close(jvp(layer, (x,), (tangent,))[1], tangent @ weight.t(), **close)
            with forward_ad.dual_level():
                moved = forward_ad.unpack_dual(layer(forward_ad.make_dual(x, tangent))).tangent
            torch.testing.assert_close(moved, tangent @ weight.t(), **close)

    def loss(model, parameters, x):
        return functional_call(model, parameters, (x,)).square().sum()

    ours, theirs = ({name: parameter.detach() for name, parameter in model.named_parameters()} for model in (layer, plain))
    found = vmap(grad(lambda p, x: loss(layer, p, x)), (None, 0))(ours, drawn(3, T, IN))
    wanted = vmap(grad(lambda p, x: loss(plain, p, x)), (None, 0))(theirs, drawn(3, T, IN))
    assert found["weight"].shape == (3, OUT, IN) and found["bias"].shape == (3, *bias.shape)
    for name in wanted:
        torch.testing.assert_close(found[name], wanted[name], **close)


# ---------------------------------------------------------------- nothing at all


@combinations(positions=SIX, num_kv_heads=(None, 1), way=WAYS)
def test_a_model_over_no_sentences_and_no_words(positions, num_kv_heads, way):
    model = Transformer(
        TransformerConfig(
            vocab_size=31,
            d_model=12,
            num_heads=3,
            num_kv_heads=num_kv_heads,
            d_ff=13,
            num_encoder_layers=1,
            num_decoder_layers=2,
            max_len=23,
            positions=positions,
        )
    )
    model = computed(way, model)
    for rows, source, target in ((0, 7, 5), (2, 7, 0), (2, 0, 5), (0, 0, 0)):
        logits = model(torch.full((rows, source), 3), torch.full((rows, target), 3))
        assert logits.shape == (rows, target, 31) and logits.isfinite().all()


# ---------------------------------------------------------------- float16

NARROW = {name: ATTENTION[name] for name in ("explicit", "fused", "local", "local, causal", "tiled", "tiled, masked", "grouped, explicit")}


@combinations(name=NARROW, scale=(1.0, 300.0, 3000.0), autocast=(False, True))
def test_scores_beyond_float16_are_those_of_float32(name, scale, autocast):
    """float16 ends at 65,504; scores of 90,000 and of 9 million are finite in float32, and so are their gradients."""
    q, k, v = (
        (x * factor).half() for x, factor in zip((drawn(B, H, L, D), drawn(B, H, L, D).flip(2), drawn(B, H, L, D)), (scale, scale, 1.0))
    )
    exact = by_definition(name, q.double(), k.double(), v.double())
    tensors = [x.clone().requires_grad_() for x in (q, k, v)]
    with torch.autocast("cpu", dtype=torch.float16, enabled=autocast):
        output = NARROW[name](*tensors)
    assert output.dtype == torch.float16
    torch.testing.assert_close(output.double(), exact, atol=5e-3, rtol=5e-3)
    output.sum().backward()
    assert all(x.grad.isfinite().all() for x in tensors) and tensors[2].grad.any()


def test_an_allowed_score_below_float16_is_not_mistaken_for_a_hidden_one():
    """In float16 a hidden score stood at -65,504: a key with a lower one lost all its weight to the hidden, which then lost it too."""
    q, k = torch.full((1, 1, 1, 4), -450.0).half(), torch.full((1, 1, 3, 4), 100.0).half()  # scores of -90,000
    v = torch.tensor([[2.0], [3.0], [5.0]]).half()[None, None]
    mask = torch.tensor([[True, False, False]])
    output, weights = explicit_attention(q, k, v, mask=mask)
    assert output.item() == 2.0 and weights.tolist() == [[[[1.0, 0.0, 0.0]]]]
